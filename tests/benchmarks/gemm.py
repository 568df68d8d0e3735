"""Emulated GEMM against the CPU's own: wall time, MFMA rate and ratio to torch.matmul, in one run.

    python tests/benchmarks/gemm.py [--size 512] [--device emulated:gfx950] [--repeat 7]

The wall time is this computer's clock around the whole call (arguments, launch, result); it says how long a
person waits for the emulated device, and nothing about a GPU.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch

import workbench as wb


def median_seconds(call: Callable[[], object], repeat: int) -> float:
    """Median wall time of `call` in seconds over `repeat` runs, after one run that is not counted."""
    call()
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the emulated bf16 GEMM against torch.matmul.")
    parser.add_argument("--size", type=int, default=512, help="M = N = K (default 512)")
    parser.add_argument("--kernel", default="gemm/gemm_bf16", help="name of a GEMM of the kernel library")
    parser.add_argument("--device", default="emulated:gfx950")
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    n = options.size
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(n, n, generator=generator).to(torch.bfloat16)
    b = torch.randn(n, n, generator=generator).to(torch.bfloat16)
    gemm = wb.kernels[options.kernel]
    start = time.perf_counter()
    gemm(a, b, device=options.device)
    first = time.perf_counter() - start
    emulated = median_seconds(lambda: gemm(a, b, device=options.device), options.repeat)
    a32, b32 = a.float(), b.float()
    single = median_seconds(lambda: a32 @ b32.T, options.repeat)
    half = median_seconds(lambda: a @ b.T, options.repeat)
    flops = 2 * n**3
    print(f"{options.kernel} {n}x{n}x{n} bf16 on {options.device}, {torch.get_num_threads()} torch threads")
    print(f"  first call, with compile or cache  {first * 1e3:10.1f} ms")
    for label, seconds in (
        ("emulated", emulated),
        ("torch.matmul fp32", single),
        ("torch.matmul bf16", half),
    ):
        rate = flops / seconds / 1e9
        print(f"  {label:20} median of {options.repeat:<4} {seconds * 1e3:9.2f} ms {rate:8.1f} GFLOP/s")
    print(f"  emulated / torch fp32 {emulated / single:6.2f}x, emulated / torch bf16 {emulated / half:6.2f}x")


if __name__ == "__main__":
    main()
