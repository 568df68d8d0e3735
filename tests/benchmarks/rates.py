"""Instructions a second of the emulated device, by kind: vector ALU, LDS, global memory, MFMA.

    python tests/benchmarks/rates.py [--device emulated:gfx950] [--threads 1 2] [--repeat 5] [--only valu lds]

Each kernel runs a long loop of the instructions that are measured; how many a launch executes is counted by
the device itself, in a run of its own. Times are this computer's, medians; a second column of --threads tells
how work-groups scale.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from dataclasses import dataclass

import numpy as np

from workbench import runtime
from workbench.codeobject import CodeObject
from workbench.codeobject.decoder import decode
from workbench.toolchain import CompileOptions, compile_device

GROUPS = 16
BLOCK = 256
SHARED_BYTES = 8192
_HEAD = """
typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef int i2 __attribute__((ext_vector_type(2)));
typedef int i4 __attribute__((ext_vector_type(4)));
#define KERNEL extern "C" __attribute__((global)) void __attribute__((amdgpu_flat_work_group_size(256, 256)))
#define LANE __builtin_amdgcn_workitem_id_x()
#define GROUP __builtin_amdgcn_workgroup_id_x()
"""

_VALU = """
KERNEL run(float *data, int n) {
    float x[8]; unsigned h[8];
    for (int i = 0; i < 8; i++) { x[i] = data[LANE + i]; h[i] = LANE * 2654435761u + i; }
    for (int k = 0; k < n; k++) {
#pragma unroll
        for (int r = 0; r < 4; r++) {
#pragma unroll
            for (int i = 0; i < 8; i++) {
                h[i] ^= h[(i + 1) & 7] << 13;
                h[i] += h[(i + 3) & 7] >> 7;
                h[i] = h[i] & 0x00ff00ff | h[(i + 5) & 7] & 0xff00ff00;
                x[i] = __builtin_fmaf(x[i], 0.99f, x[(i + 1) & 7]);
                x[i] = x[i] * 0.5f + 1.0f;
                x[i] = __builtin_fmaxf(x[i], x[(i + 2) & 7] - 3.0f);
                x[i] = h[i] & 1 ? x[i] : -x[i];
                x[i] += (float)(int)h[i] * 1e-9f;
            }
        }
    }
    float total = 0;
    for (int i = 0; i < 8; i++) total += x[i] + h[i];
    data[GROUP * 256 + LANE] = total;
}
"""


_WIDE_MIX = (
    *("v_add_f32_e32 v{a}, v{b}, v{c}", "v_fma_f32 v{a}, v{b}, v{c}, v{a}", "v_xor_b32_e32 v{a}, v{b}, v{c}"),
    *("v_mul_f32_e32 v{a}, v{b}, v{c}", "v_lshlrev_b32_e32 v{a}, 3, v{b}", "v_add_u32_e32 v{a}, v{b}, v{c}"),
    *("v_max_f32_e32 v{a}, v{b}, v{c}", "v_and_b32_e32 v{a}, v{b}, v{c}", "v_pk_add_f16 v{a}, v{b}, v{c}"),
    *(
        "v_cvt_f32_i32_e32 v{a}, v{b}",
        "v_sub_f32_e32 v{a}, v{b}, v{c}",
        "v_pk_fma_f32 v[{e}:{f}], v[{g}:{h}]",
    ),
)


def _wide(count: int = 1500) -> str:
    """A loop of vector instructions over 250 registers, no two of the same in a row."""
    lines = []
    for i in range(count):
        a, b, c = (i * 97 % 250, i * 61 % 250, i * 29 % 250)
        e, g = a & ~1, b & ~1
        text = _WIDE_MIX[i % len(_WIDE_MIX)]
        if "pk_fma_f32" in text:
            text += ", v[{g}:{h}], v[{e}:{f}]"
        lines.append(text.format(a=a, b=b, c=c, e=e, f=e + 1, g=g, h=g + 1))
    body = "\\n".join(lines)
    clobbers = ", ".join(f'"v{i}"' for i in range(250))
    return f"""
KERNEL run(float *data, int n) {{
    for (int k = 0; k < n; k++) asm volatile("{body}" ::: {clobbers});
    data[GROUP * 256 + LANE] = n;
}}
"""


def _repeated(body: str, times: int = 32) -> str:
    return "".join(body.replace("OFFSET", str(16 * i)) for i in range(times))


_LDS = """
KERNEL run(float *data, int n) {
    unsigned place = (LANE & 63) * 16 + (LANE / 64) * 1024;
    i4 a = (i4)(int)LANE;
    for (int k = 0; k < n; k++) { BODY }
    data[GROUP * 256 + LANE] = a.x;
}
"""
_LDS_READ = _LDS.replace(
    "BODY",
    'asm volatile("'
    + _repeated("ds_read_b128 %0, %1 offset:OFFSET\\n")
    + 's_waitcnt lgkmcnt(0)" : "=v"(a) : "v"(place) : "memory");',
)
_LDS_WRITE = _LDS.replace(
    "BODY",
    'asm volatile("'
    + _repeated("ds_write_b128 %1, %0 offset:OFFSET\\n")
    + 's_waitcnt lgkmcnt(0)" :: "v"(a), "v"(place) : "memory");',
)

_GLOBAL = """
KERNEL run(float *data, int n) {
    unsigned place = LANE * 16;
    i4 a;
    for (int k = 0; k < n; k++) { BODY }
    data[GROUP * 256 + LANE] = a.x;
}
"""
_GLOBAL_READ = _GLOBAL.replace(
    "BODY",
    'asm volatile("'
    + _repeated("global_load_dwordx4 %0, %1, %2 offset:OFFSET\\n")
    + 's_waitcnt vmcnt(0)" : "=v"(a) : "v"(place), "s"(data) : "memory");',
)
_GLOBAL_WRITE = _GLOBAL.replace("i4 a;", "i4 a = 0;").replace(
    "BODY",
    'asm volatile("'
    + _repeated("global_store_dwordx4 %1, %0, %2 offset:OFFSET\\n")
    + 's_waitcnt vmcnt(0)" :: "v"(a), "v"(place), "s"(data) : "memory");',
)


def _mfma(mnemonic: str, accumulator: str, source: str) -> str:
    count = 4
    lines = "".join(f"{mnemonic} %{i}, %{count}, %{count + 1}, %{i}\\n" for i in range(count)) * 4
    outputs = ", ".join(f'"+v"(c[{i}])' for i in range(count))
    return f"""
KERNEL run(float *data, int n) {{
    {accumulator} c[{count}] = {{}};
    {source} a, b;
    for (int i = 0; i < sizeof(a) / 4; i++) {{ a[i] = 0x3c003c00 + (LANE & 63); b[i] = 0x38003800; }}
    for (int k = 0; k < n; k++) asm volatile("{lines}" : {outputs} : "v"(a), "v"(b));
    float total = 0;
    for (int i = 0; i < {count}; i++) total += c[i][0];
    data[GROUP * 256 + LANE] = total;
}}
"""


@dataclass(frozen=True)
class Benchmark:
    """A kernel and what is counted in it.

    Attributes:
        prefix: beginning of the mnemonics that count.
        loops: argument n of the kernel.
        flops: of one counted instruction.
        goal: millions a second a core, or GFLOP/s where there are flops.
    """

    name: str
    source: str
    prefix: str
    loops: int
    flops: int = 0
    goal: float = 0


BENCHMARKS = (
    Benchmark("valu mixed", _VALU, "v_", 400, goal=200),
    Benchmark("valu 250 registers", _wide(), "v_", 40, goal=200),
    Benchmark("lds read b128", _LDS_READ, "ds_read_b128", 400, goal=15),
    Benchmark("lds write b128", _LDS_WRITE, "ds_write_b128", 400, goal=15),
    Benchmark("global read b128", _GLOBAL_READ, "global_load_dwordx4", 400, goal=10),
    Benchmark("global write b128", _GLOBAL_WRITE, "global_store_dwordx4", 400, goal=10),
    *(
        Benchmark(f"mfma {kind} {shape}", _mfma(name, accumulator, source), name, 500, flops, 100)
        for kind, shape, name, accumulator, source, flops in (
            ("bf16", "16x16x32", "v_mfma_f32_16x16x32_bf16", "f4", "i4", 2 * 16 * 16 * 32),
            ("bf16", "32x32x16", "v_mfma_f32_32x32x16_bf16", "f16v", "i4", 2 * 32 * 32 * 16),
            ("f16", "16x16x32", "v_mfma_f32_16x16x32_f16", "f4", "i4", 2 * 16 * 16 * 32),
            ("f16", "32x32x16", "v_mfma_f32_32x32x16_f16", "f16v", "i4", 2 * 32 * 32 * 16),
            ("fp8", "16x16x32", "v_mfma_f32_16x16x32_fp8_fp8", "f4", "i2", 2 * 16 * 16 * 32),
            ("fp8", "32x32x16", "v_mfma_f32_32x32x16_fp8_fp8", "f16v", "i2", 2 * 32 * 32 * 16),
        )
    ),
)


def measure(
    benchmark: Benchmark, device: runtime.Device, threads: int, repeat: int, cpu_time: bool = False
) -> float:
    """Counted instructions a second of wall time, or of processor time: median over `repeat` launches."""
    code = compile_device(
        _HEAD + benchmark.source, CompileOptions(device.arch, name="rates.hip", debug=False)
    ).code_object
    function = device.load(code).function("run")
    data = np.zeros(GROUPS * BLOCK + 4096, np.float32)
    arguments = data.ctypes.data.to_bytes(8, "little") + benchmark.loops.to_bytes(4, "little")
    os.environ["HIPKITTENS_THREADS"] = str(threads)

    def launch(count: bool) -> runtime.LaunchRecord:
        return function.launch(
            *((GROUPS, 1, 1), (BLOCK, 1, 1), SHARED_BYTES, arguments),
            buffers=[(data.ctypes.data, data.nbytes)],
            options=runtime.LaunchOptions(count=count),
        )

    counts = launch(True).counts
    assert counts is not None
    text = CodeObject.from_bytes(code).text
    counted = sum(
        counts.get(instruction.address, 0)
        for instruction in decode(text.data, text.address, device.arch)
        if instruction.mnemonic.startswith(benchmark.prefix)
    )

    def seconds() -> float:
        start = time.process_time()
        record = launch(False)
        return time.process_time() - start if cpu_time else record.wall_seconds

    return counted / statistics.median(seconds() for _ in range(repeat))


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure instruction rates of the emulated device.")
    parser.add_argument("--device", default="emulated:gfx950")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", nargs="+", default=[""], help="names that begin so")
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="per second of processor time; scaling then shows what is kept of a core",
    )
    options = parser.parse_args()
    device = runtime.device(options.device)
    heads = "".join(f"{f'{count} thread(s)':>16}" for count in options.threads)
    print(f"{'':22}{heads}   scaling   goal a core")
    for benchmark in BENCHMARKS:
        if not benchmark.name.startswith(tuple(options.only)):
            continue
        rates = [
            measure(benchmark, device, threads, options.repeat, options.cpu_time)
            for threads in options.threads
        ]
        unit, factor = ("GFLOP/s", benchmark.flops / 1e9) if benchmark.flops else ("M/s", 1e-6)
        shown = "".join(f"{rate * factor:8.1f} {unit:7}" for rate in rates)
        print(f"{benchmark.name:22}{shown}   {rates[-1] / rates[0]:5.2f}x   {benchmark.goal:6.0f} {unit}")


if __name__ == "__main__":
    main()
