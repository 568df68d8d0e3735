"""Code objects of every installed clang, optimised or not and in every format that it writes.

Different releases choose different instructions, kernel descriptors and hidden arguments for one source.
The sources need no header. clang 16 and 17 are not tested at -O0: they reload registers from AGPRs before
they restore EXEC.

Clangs that no package manager here has are inside older ziglang wheels; HIPKITTENS_TEST_CLANGS names folders
of them (docs/host_programs.md has the commands).
"""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
from clangs import FOLDERS, zigs

import workbench as wb
from workbench.toolchain import zig

VERSIONS = range(15, 31)

SOURCE = """
#define kernel extern "C" __attribute__((global, amdgpu_flat_work_group_size(1, 1024))) void
#define device __attribute__((device))
#define shared __attribute__((shared))
typedef float float4_ __attribute__((ext_vector_type(4)));
typedef __attribute__((ext_vector_type(4))) short short4_;

device int thread() { return __builtin_amdgcn_workitem_id_x(); }
device int group() { return __builtin_amdgcn_workgroup_id_x(); }
device int size() { return __builtin_amdgcn_workgroup_size_x(); }
device void barrier() {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}

__attribute__((noinline)) device int collatz(unsigned n) {
  int steps = 0;
  while (n != 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  return steps;
}

device int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};

// Calls, loops that lanes leave at different times, device globals, division by a run-time number.
kernel integers(int *out, const int *x, int n, int divisor) {
  int i = group() * size() + thread();
  if (i < n) out[i] = collatz(x[i]) * 10 + table[i % 8] + x[i] / divisor - (x[i] * 7919ll >> 3) % 1000;
}

// A private array indexed at run time, which lives in scratch memory.
kernel scratch(int *out, const int *x, int n) {
  int i = group() * size() + thread();
  int local[40];
  for (int k = 0; k < 40; ++k) local[k] = k * k + i;
  if (i < n) out[i] = local[x[i] % 40] + local[(x[i] * 3) % 40];
}

// LDS, barriers and an atomic.
kernel reverse_and_sum(float *out, float *sum, const float *x, int n) {
  shared static float tile[256];
  int i = group() * size() + thread();
  tile[thread()] = i < n ? x[i] : 0;
  barrier();
  if (i < n) {
    out[i] = tile[255 - thread()] * 2 + tile[thread()];
    __hip_atomic_fetch_add(sum, x[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  }
}

kernel doubles(double *out, const double *x, int n) {
  int i = group() * size() + thread();
  if (i < n) out[i] = x[i] / (1 + x[i] * x[i]) + (double)(long long)(x[i] * 1e6) + (float)x[i];
}

// 16 x 16 x 16 in f16: lane l holds row (column) l % 16, k = 4 (l / 16) + i.
typedef __attribute__((ext_vector_type(4))) _Float16 half4_;
kernel matrix(float *out, const _Float16 *a, const _Float16 *b) {
  int l = thread();
  half4_ x = *(const half4_ *)(a + (l % 16) * 16 + 4 * (l / 16));
  half4_ y = *(const half4_ *)(b + (l % 16) * 16 + 4 * (l / 16));
  float4_ d = {0, 0, 0, 0};
  d = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, d, 0, 0, 0);
  for (int i = 0; i < 4; ++i) out[(4 * (l / 16) + i) * 16 + l % 16] = d[i];
}
"""

OBJECTS = {15: ("4",), 16: ("4", "5"), 19: ("4", "5", "6")}
"""Formats by the first compiler that writes them."""

# -O2 differs little from -O3; it runs only with more compilers.
LEVELS = ("-O0", "-O1", *(("-O2",) if os.environ.get(FOLDERS) else ()), "-O3")
WHEELS = {17: "0.12.1", 18: "0.13.0", 19: "0.14.1", 20: "0.15.2", 21: "0.16.0", 22: "0.17.1"}
"""ziglang wheels by the clang inside."""


@dataclass(frozen=True)
class Clang:
    """A clang with the AMDGPU target: its command, and its lld if it would not find one."""

    command: tuple[str, ...]
    version: int
    linker: str | None = None

    def run(self, arguments: list[str], folder: Path) -> None:
        """Compile SOURCE; `folder` is for what that needs."""
        tools: list[str] = []
        if self.linker is not None:
            # Versions start one of the two names.
            for name in ("lld", "ld.lld"):
                script = folder / name
                script.write_text(f'#!/bin/sh\n[ "$1" = -flavor ] && shift 2\nexec {self.linker} "$@"\n')
                script.chmod(0o755)
            tools = [f"-B{folder}"]
        environment = dict(os.environ)
        if tools:
            environment["PATH"] = f"{folder}{os.pathsep}{environment['PATH']}"
        subprocess.run(
            [*self.command, *tools, *arguments], input=SOURCE, text=True, check=True, env=environment
        )


def programs() -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Commands that may be a clang, each with an lld unless its folder has one."""
    for name in ("clang++", *(f"clang++-{n}" for n in VERSIONS)):
        path = shutil.which(name)
        if path is not None and shutil.which("lld", path=str(Path(path).resolve().parent)) is not None:
            yield (path,), None
    for program in filter(None, [*zigs(), zig.program()]):
        yield (str(program), "clang"), f'"{program}" ld.lld'


def clangs() -> list[Clang]:
    """One clang of each version; an installed one takes precedence over a wheel's."""
    by_version: dict[int, Clang] = {}
    for command, linker in programs():
        answer = subprocess.run([*command, "--version"], capture_output=True, text=True).stdout
        version = re.search(r"clang version (\d+)", answer)
        targets = subprocess.run([*command, "--print-targets"], capture_output=True, text=True).stdout
        if not version or int(version[1]) not in VERSIONS or "amdgcn" not in targets:
            continue
        if linker is None or int(version[1]) not in by_version:
            by_version[int(version[1])] = Clang(command, int(version[1]), linker)
    return [clang for _, clang in sorted(by_version.items())]


def targets_of(version: int) -> list[str]:
    return ["gfx90a", *(["gfx942"] if version >= 17 else []), *(["gfx950"] if version >= 20 else [])]


def missing(version: int) -> str:
    """Why a version is not tested, and what would change that."""
    wheel = WHEELS.get(version)
    how = (
        f"pip install --no-deps --target FOLDER/{wheel} ziglang=={wheel}, {FOLDERS}=FOLDER"
        if wheel
        else f"apt-get install clang-{version} lld-{version}"
    )
    return f"clang {version} is not installed ({how})"


CLANGS = clangs()
CASES = [
    pytest.param(clang, target, level, objects, id=f"clang{clang.version}-{target}{level}-v{objects}")
    for clang in CLANGS
    for target in targets_of(clang.version)
    for objects in OBJECTS[max(v for v in OBJECTS if v <= clang.version)]
    # Every level with the newest format, the extremes with others.
    for level in (
        LEVELS if objects == OBJECTS[max(v for v in OBJECTS if v <= clang.version)][-1] else ("-O0", "-O3")
    )
    if not (clang.version in (16, 17) and level == "-O0")
] + [
    pytest.param(None, "", "", "", id=f"clang{version}", marks=pytest.mark.skip(reason=missing(version)))
    for version in range(15, 23)
    if version not in {clang.version for clang in CLANGS}
]


@pytest.mark.parametrize(("clang", "target", "level", "objects"), CASES)
def test_runs(clang: Clang, target: str, level: str, objects: str, tmp_path: Path) -> None:
    output = tmp_path / "code.o"
    clang.run(
        [
            *("-x", "hip", f"--offload-arch={target}", "--offload-device-only", "--no-gpu-bundle-output"),
            *("-nogpulib", "-nogpuinc", f"-mcode-object-version={objects}", level, "-ffp-contract=off"),
            *("-std=c++17", "-", "-o", str(output)),
        ],
        tmp_path,
    )
    module = wb.load(output)
    assert module.arch.partition(":")[0] == target
    seed = random.randrange(1 << 32)
    print("seed", seed)
    generator = torch.Generator().manual_seed(seed)
    n = 700
    x = torch.randint(1, 5000, (n,), generator=generator, dtype=torch.int32)
    i = torch.arange(n, dtype=torch.int32)

    out = torch.zeros(n, dtype=torch.int32)
    module["integers"][3, 256](out, x, n, 13)
    table = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6], dtype=torch.int32)
    expected = [collatz(int(v)) * 10 + int(v) // 13 - (int(v) * 7919 >> 3) % 1000 for v in x]
    assert torch.equal(out, torch.tensor(expected, dtype=torch.int32) + table[i % 8])

    module["scratch"][3, 256](out, x, n)
    assert torch.equal(out, (x % 40) ** 2 + (x * 3 % 40) ** 2 + 2 * i)

    f = torch.randint(-50, 50, (n,), generator=generator).float()
    reversed_, total = torch.zeros(n), torch.zeros(1)
    module["reverse_and_sum"][3, 256](reversed_, total, f, n)
    padded = torch.cat([f, torch.zeros(768 - n)]).view(3, 256)
    assert torch.equal(reversed_, (padded.flip(1) * 2 + padded).view(-1)[:n])
    assert total.item() == f.sum().item()

    d = torch.randn(n, generator=generator, dtype=torch.float64) * 50
    out64 = torch.zeros_like(d)
    module["doubles"][3, 256](out64, d, n)
    torch.testing.assert_close(
        out64, d / (1 + d * d) + (d * 1e6).trunc() + d.float().double(), rtol=1e-15, atol=0
    )

    a, b = (torch.randint(-8, 9, (16, 16), generator=generator).half() for _ in "ab")
    product = torch.zeros(16, 16)
    module["matrix"][1, 64](product, a, b)
    assert torch.equal(product, a.float() @ b.float().T)


def collatz(n: int) -> int:
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps
