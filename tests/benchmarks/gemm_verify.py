"""Verify the GEMMs of the library at the sizes that are too slow for every test run.

    python tests/benchmarks/gemm_verify.py [--kernel gemm/bf16:ping_pong] [--device emulated:gfx950]

Cubes of 512, 1024 and 2048 and rectangles, whole tiles and parts of them, each against the product in
float64. One line a size; the exit code is 1 where one is wrong.
"""

from __future__ import annotations

import argparse
import sys
import time

import workbench as wb

KERNELS = [
    "gemm/bf16",
    "gemm/bf16:ping_pong",
    "gemm/bf16:interleave",
    "gemm/fp8:ping_pong",
]
DEVICES = ["emulated:gfx950", "emulated:gfx942"]
SIZES = [
    (512, 512, 512),
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (2048, 512, 1024),
    (256, 2048, 4096),
    (1000, 1432, 784),
]
"""M, N and K."""


def main() -> None:
    parser = argparse.ArgumentParser(description="Verify the GEMMs at large sizes.")
    parser.add_argument("--kernel", action="append", help=f"one of {', '.join(KERNELS)}; all by default")
    parser.add_argument("--device", action="append", help=f"by default {' and '.join(DEVICES)}")
    options = parser.parse_args()
    wrong = 0
    for kernel in options.kernel or KERNELS:
        for device in options.device or DEVICES:
            for m, n, k in SIZES:
                start = time.perf_counter()
                result = wb.verify(kernel, shape={"m": m, "n": n, "k": k}, device=device)
                seconds = time.perf_counter() - start
                wrong += not result.passed
                verdict = "passes" if result.passed else f"FAILS: {result}"
                print(f"{kernel} {m}x{n}x{k} on {device}: {verdict} ({seconds:.1f} s)", flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
