"""Emulated GEMM against the CPU's own: wall and processor time and their ratios to torch.matmul, in one run.

    python tests/benchmarks/gemm.py [--size 512] [--device emulated:gfx950] [--threads 1 2] [--exact]

Times are this computer's around the whole call (arguments, launch, result), the sides in turns; they say how
long a person waits for the emulated device, and nothing about a GPU. PyTorch gets as many threads as the
device. Processor time is that of all threads: on a busy computer its ratios are the ones to look at.
Goal for 2048: no slower than 2 times torch.matmul in bf16, faster than in fp32. With --exact the same GEMM
with `numerics=exact` takes its turns too; goal: at most 4 times the fast one.
"""

from __future__ import annotations

import argparse
import os
import time

import torch
from turns import in_turns

import workbench as wb


def main() -> None:
    parser = argparse.ArgumentParser(description="Time the emulated bf16 GEMM against torch.matmul.")
    parser.add_argument("--size", type=int, default=512, help="M = N = K (default 512)")
    parser.add_argument("--kernel", default="gemm/bf16", help="name of a GEMM of the kernel library")
    parser.add_argument("--device", default="emulated:gfx950")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--exact", action="store_true", help="with exact numerics, too")
    options = parser.parse_args()
    n = options.size
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(n, n, generator=generator).to(torch.bfloat16)
    b = torch.randn(n, n, generator=generator).to(torch.bfloat16)
    a32, b32 = a.float(), b.float()
    gemm = wb.kernels[options.kernel]
    start = time.perf_counter()
    gemm(a, b, device=options.device)
    print(f"{options.kernel} {n}x{n}x{n} bf16 on {options.device}, median of {options.repeat}")
    print(f"first call, with compile or cache {(time.perf_counter() - start) * 1e3:.1f} ms")
    sides = {
        "emulated": lambda: gemm(a, b, device=options.device),
        "torch.matmul fp32": lambda: a32 @ b32.T,
        "torch.matmul bf16": lambda: a @ b.T,
    }
    if options.exact:
        exact = f"{options.device},numerics=exact"
        gemm(a, b, device=exact)
        sides["emulated, exact"] = lambda: gemm(a, b, device=exact)
    alone = None
    for threads in options.threads:
        os.environ["HIPKITTENS_THREADS"] = str(threads)
        torch.set_num_threads(threads)
        times = dict(zip(sides, in_turns(list(sides.values()), options.repeat), strict=True))
        emulated = times["emulated"]
        print(
            f"{threads} thread(s)            wall    GFLOP/s   processor  emulated is, by wall  by processor"
        )
        for name, side in times.items():
            print(
                f"  {name:18}{side.wall * 1e3:9.1f} ms{2 * n**3 / side.wall / 1e9:8.1f}"
                f"{side.processor * 1e3:10.1f} ms{emulated.wall / side.wall:19.2f}x"
                f"{emulated.processor / side.processor:14.2f}x"
            )
        if options.exact:
            slow = times["emulated, exact"]
            print(
                f"  exact takes {slow.wall / emulated.wall:.2f}x the fast mode by wall, "
                f"{slow.processor / emulated.processor:.2f}x by processor"
            )
        if alone is None:
            alone = emulated
        else:
            print(
                f"  scaling {alone.wall / emulated.wall:.2f}x by wall; the same work takes "
                f"{emulated.processor / alone.processor:.2f} of the processor time"
            )


if __name__ == "__main__":
    main()
