"""How many times longer a sanitized launch takes: every kernel of the library, and loops of one kind.

    python tests/benchmarks/sanitizer_cost.py [--arch gfx950 gfx942] [--size 512] [--repeat 3] [--only gemm]
    python tests/benchmarks/sanitizer_cost.py --hipkittens CHECKOUT  # its hand-scheduled kernels

Both run on one thread; times are processor time of this process, least of the repeats, so that what else the
computer does shows little. Translation (once for each kernel, then cached) is in a column of its own.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch

import workbench as wb
from workbench.errors import ShapeError, UsageError
from workbench.operators import KernelSpec, Range
from workbench.operators.subject import resolve
from workbench.runtime import LaunchOptions
from workbench.targets import TILE_TARGETS

LIMIT = 20.0


# Loops of one kind of instruction: what costs the sanitizer most, without anything beside it.
LOOPS = r"""
#include <hip/hip_runtime.h>
typedef int i4 __attribute__((ext_vector_type(4)));
__global__ void lds_read(const int *in, int *out, int n) {
    __shared__ i4 s[2048];
    for (int i = threadIdx.x; i < 2048; i += 256) s[i] = i;
    __syncthreads();
    i4 a = 0;
    for (int k = 0; k < n; k++) {
#pragma unroll
        for (int j = 0; j < 8; j++) a += s[j * 256 + threadIdx.x];
        asm volatile("" ::: "memory");
    }
    out[blockIdx.x * 256 + threadIdx.x] = a.x;
}
__global__ void lds_write(const int *in, int *out, int n) {
    __shared__ i4 s[2048];
    i4 a = in[threadIdx.x];
    for (int k = 0; k < n; k++) {
#pragma unroll
        for (int j = 0; j < 8; j++) s[j * 256 + threadIdx.x] = a;
        asm volatile("" : "+v"(a)::"memory");
    }
    out[blockIdx.x * 256 + threadIdx.x] = s[threadIdx.x].x;
}
__global__ void lds_exchange(const int *in, int *out, int n) {
    __shared__ i4 s[2048];
    i4 a = in[threadIdx.x];
    for (int k = 0; k < n; k++) {
#pragma unroll
        for (int j = 0; j < 8; j++) s[j * 256 + threadIdx.x] = a + j;
        __syncthreads();
#pragma unroll
        for (int j = 0; j < 8; j++) a += s[j * 256 + (threadIdx.x ^ 64)];
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.x] = a.x;
}
__global__ void global_read(const int *in, int *out, int n) {
    i4 a = 0;
    const i4 *p = (const i4 *)in + threadIdx.x;
    for (int k = 0; k < n; k++) {
#pragma unroll
        for (int j = 0; j < 16; j++) a += p[256 * j];
        asm volatile("" ::: "memory");
    }
    out[blockIdx.x * 256 + threadIdx.x] = a.x;
}
__global__ void global_stream(const int *in, int *out, int n) {
    const i4 *p = (const i4 *)in;
    i4 *q = (i4 *)out;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n * 1024; i += gridDim.x * 256) q[i] = p[i] + 1;
}
__global__ void valu(const int *in, int *out, int n) {
    float x[8];
    for (int i = 0; i < 8; i++) x[i] = in[threadIdx.x + i];
    for (int k = 0; k < 4 * n; k++)
#pragma unroll
        for (int i = 0; i < 8; i++) x[i] = __builtin_fmaf(x[i], 0.99f, x[(i + 1) & 7]) * 0.5f + 1.0f;
    out[blockIdx.x * 256 + threadIdx.x] = x[0] + x[1] + x[2] + x[3] + x[4] + x[5] + x[6] + x[7];
}
__global__ void atomics(const int *in, int *out, int n) {
    for (int k = 0; k < n; k++) atomicAdd(out + ((threadIdx.x * 5 + k) & 1023), 1);
}
"""
LOOP_COUNT = 300
ELEMENTS = 1 << 21


class Run(Protocol):
    """A launch that can be repeated."""

    def run(self, options: LaunchOptions | None) -> object: ...


def loops(arch: str) -> Iterator[tuple[str, Run, str]]:
    """Name, launch and problem of each of LOOPS."""
    module = wb.compile(LOOPS, arch=arch, name="loops.hip")
    given = torch.ones(ELEMENTS, dtype=torch.int32)
    out = torch.zeros(ELEMENTS, dtype=torch.int32)
    for name in module:
        target = resolve(module[name][4, 256], (given, out, LOOP_COUNT), device=f"emulated:{arch}")
        yield name, target, f"n={LOOP_COUNT}"


def library(arch: str, size: int, only: str) -> Iterator[tuple[str, Run, str]]:
    """The same of every kernel of the library, each variant; operators of several kernels are left out."""
    specs: Mapping[str, KernelSpec] = wb.kernels
    names = (f"{name}:{variant}" for name, spec in specs.items() for variant in spec.variants or ("",))
    for name in sorted(name.removesuffix(":") for name in names if only in name):
        spec = specs[name]
        if arch in spec.targets:
            shape = shape_of(spec, arch, size)
            problem = " ".join(f"{key}={value}" for key, value in shape.items())
            # A variant may be for other shapes, or of several kernels.
            with contextlib.suppress(ShapeError, UsageError):
                target = resolve(name, shape=shape, device=f"emulated:{arch}")
                if target.only:
                    yield name, target, problem


@dataclass(frozen=True)
class ModuleCall:
    """A call of `dispatch_micro` of one of HipKittens' modules."""

    module: wb.HostModule
    arguments: tuple[torch.Tensor, ...]

    def run(self, options: LaunchOptions | None) -> None:
        with contextlib.ExitStack() as stack:
            if options is not None:
                stack.enter_context(wb.sanitizing())
            self.module.dispatch_micro(*self.arguments)


def hipkittens(checkout: Path, size: int) -> Iterator[tuple[str, Run, str]]:
    """Attention forward and the GEMMs of a checkout of HipKittens main, with its own headers; for gfx950."""
    heads, kv_heads = 64, 8
    for depth, file in ((64, "kernel_d64.cpp"), (128, "kernel.cpp")):
        shape = {"B": 1, "H": heads, "H_KV": kv_heads, "N": size // 2, "D": depth}
        q = torch.randn(1, size // 2, heads, depth).bfloat16()
        k, v = (torch.randn(1, size // 2, kv_heads, depth).bfloat16() for _ in range(2))
        sums = torch.zeros(1, heads, 1, size // 2)
        defines = [f"ATTN_{name}={value}" for name, value in shape.items()]
        module = hipkittens_module(checkout, f"attn/gqa/{file}", defines, size)
        yield f"attention d={depth}", ModuleCall(module, (q, k, v, torch.zeros_like(q), sums)), str(shape)
    for layout in ("16x32", "32x16"):
        side = 2 * size
        module = hipkittens_module(checkout, f"gemm/bf16fp32/mi350x/256_256_64_32_with{layout}.cpp", [], side)
        a, b = (torch.randn(side, side).bfloat16() for _ in range(2))
        yield f"GEMM {layout}", ModuleCall(module, (a, b, torch.zeros_like(a))), f"m=n=k={side}"


def hipkittens_module(checkout: Path, file: str, defines: list[str], size: int) -> wb.HostModule:
    """One of HipKittens' modules; a problem that its source fixes is made `size` each way."""
    path = checkout / "kernels" / file
    source = re.sub(r"^#define ([MNK]) \d+$", rf"#define \1 {size}", path.read_text(), flags=re.MULTILINE)
    include = [checkout / "include", path.parent]
    define = ["KITTENS_CDNA4", *defines]
    return wb.compile(source, host=True, include=include, define=define, arch="gfx950", name=path.name)


def shape_of(spec: KernelSpec, arch: str, size: int) -> dict[str, Any]:
    """The kernel's first shape with every dimension brought down to `size`, as far as it takes it."""
    shape = dict(spec.shape(dict(spec.shapes[0])))
    for name, parameter in spec.parameters.items():
        if isinstance(parameter, Range) and shape[name] > size:
            steps = -(-max(size - parameter.low, 0) // parameter.step)
            with contextlib.suppress(ShapeError):
                shape = spec.shape({**shape, name: parameter.low + steps * parameter.step}, arch=arch)
    return shape


def seconds(run: Callable[[], object], repeat: int) -> tuple[float, float]:
    """Processor time of the first run and the least of the others."""
    times = []
    for _ in range(repeat + 1):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return times[0], min(times[1:])


def measure(target: Run, repeat: int) -> tuple[float, float, float]:
    """Plain seconds, sanitized seconds, and what the first sanitized run takes longer."""
    _, plain = seconds(lambda: target.run(None), repeat)
    first, sanitized = seconds(lambda: target.run(LaunchOptions(sanitize=True)), repeat)
    return plain, sanitized, first - sanitized


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--arch", nargs="+", default=TILE_TARGETS)
    parser.add_argument("--size", type=int, default=512, help="largest dimension of a problem")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", default="", help="a part of the kernels' names")
    parser.add_argument("--hipkittens", type=Path, help="measure the kernels of this checkout instead")
    options = parser.parse_args()
    os.environ["HIPKITTENS_THREADS"] = "1"
    print(
        f"{'kernel':32} {'target':8} {'plain':>9} {'sanitized':>10} {'ratio':>6} {'translation':>12}  problem"
    )
    worst = 0.0
    for arch in options.arch if options.hipkittens is None else ["gfx950"]:
        if options.hipkittens is not None:
            cases = hipkittens(options.hipkittens, options.size)
        else:
            cases = itertools.chain(library(arch, options.size, options.only), loops(arch))
        for name, target, problem in cases:
            if options.only not in name:
                continue
            plain, sanitized, translation = measure(target, options.repeat)
            ratio = sanitized / plain
            worst = max(worst, ratio)
            print(
                f"{name:32} {arch:8} {1e3 * plain:7.1f}ms {1e3 * sanitized:8.1f}ms {ratio:5.1f}x "
                f"{translation:11.2f}s  {problem}",
                flush=True,
            )
    print(f"worst {worst:.1f}x; at most {LIMIT:g}x is wanted")
    return int(worst > LIMIT)


if __name__ == "__main__":
    raise SystemExit(main())
