"""How long a kernel's machine code takes to become native code: cold, from the disk cache, and by size.

    python tests/benchmarks/translation.py [--sizes 4000 10000 20000 50000] [--repeat 3] [--cpu-time]

The code is a mix of vector and scalar instructions, LDS and global memory, with a branch after every 23.
Goals: 4,000 instructions under 1 s cold and under 0.1 s cached; linear to 50,000.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable

from workbench.codeobject import CodeObject
from workbench.emulator.translate.translator import Translation, translate
from workbench.toolchain import CompileOptions, compile_device

_MIX = (
    *("v_add_f32_e32 v{a}, v{b}, v{c}", "v_fma_f32 v{a}, v{b}, v{c}, v{a}", "v_mul_f32_e32 v{a}, s{s}, v{b}"),
    *("v_lshlrev_b32_e32 v{a}, 3, v{b}", "v_xor_b32_e32 v{a}, v{b}, v{c}", "s_add_u32 s{s}, s{s}, 5"),
    *(
        "v_cmp_gt_f32_e32 vcc, v{a}, v{b}",
        "v_cndmask_b32_e32 v{a}, v{b}, v{c}, vcc",
        "s_and_b32 s{s}, s{s}, 255",
    ),
    *("v_max_f32_e32 v{a}, v{b}, v{c}", "v_add_u32_e32 v{a}, v{b}, v{c}", "v_cvt_f32_i32_e32 v{a}, v{b}"),
    *("v_pk_add_f16 v{a}, v{b}, v{c}", "v_exp_f32_e32 v{a}, v{b}", "ds_read_b32 v{a}, v{b} offset:{o}"),
    *("v_sub_f32_e32 v{a}, v{b}, v{c}", "v_mov_b32_e32 v{a}, s{s}", "global_load_dword v{a}, v{b}, s[8:9]"),
    *("s_waitcnt vmcnt(0) lgkmcnt(0)", "v_and_b32_e32 v{a}, v{b}, v{c}", "v_mul_lo_u32 v{a}, v{b}, v{c}"),
    *("ds_write_b32 v{b}, v{a} offset:{o}", "s_cmp_lg_u32 s{s}, 0", "s_cbranch_scc0 1f\\n1:"),
)


def code_of(size: int, salt: int) -> CodeObject:
    """A code object of about `size` instructions, other ones for each salt."""
    lines = []
    for i in range(size):
        n = i * 7919 + salt
        text = _MIX[i % len(_MIX)].format(a=n % 32, b=n // 3 % 32, c=n // 5 % 32, s=16 + n % 8, o=n % 64 * 4)
        lines.append(f'"{text}\\n"')
    clobbers = (
        ", ".join(f'"v{i}"' for i in range(32)) + ', "s16", "s17", "s18", "s19", "s20", "s21", "s22", "s23"'
    )
    source = (
        'extern "C" __attribute__((global)) void run(int *p) {\n'
        f'asm volatile({" ".join(lines)} ::: {clobbers}, "vcc", "scc", "memory");\n}}\n'
    )
    result = compile_device(
        source, CompileOptions("gfx950", name="translation.hip", debug=False), use_cache=False
    )
    return CodeObject.from_bytes(result.code_object)


def seconds_of(code: CodeObject, clock: Callable[[], float]) -> tuple[float, Translation]:
    """Time of one translation."""
    start = clock()
    result = translate(code, "run")
    return clock() - start, result


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the translator.")
    parser.add_argument("--sizes", type=int, nargs="+", default=[4000, 10_000, 20_000, 50_000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--cpu-time", action="store_true", help="processor time instead of wall time")
    options = parser.parse_args()
    clock = time.process_time if options.cpu_time else time.perf_counter
    seconds_of(code_of(100, 0), clock)  # tables, LLVM and the native library are read once a process
    folder = tempfile.mkdtemp(prefix="translation")
    before = os.environ.get("HIPKITTENS_CACHE")
    try:
        print("instructions  blocks     cold   us/instruction   cached")
        for size in options.sizes:
            codes = [code_of(size, salt) for salt in range(1, options.repeat + 1)]
            os.environ["HIPKITTENS_CACHE"] = folder
            cold, cached = [], []
            for code in codes:
                seconds, translation = seconds_of(code, clock)
                cold.append(seconds)
                cached.append(seconds_of(code, clock)[0])
            if before is None:
                del os.environ["HIPKITTENS_CACHE"]
            else:
                os.environ["HIPKITTENS_CACHE"] = before
            a, b = statistics.median(cold), statistics.median(cached)
            print(f"{size:12}{len(translation.blocks):8}{a:8.2f} s{a / size * 1e6:12.0f}{b * 1e3:14.0f} ms")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
