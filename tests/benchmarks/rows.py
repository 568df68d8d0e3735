"""Row-wise kernels of the library on the emulated device against PyTorch's own operators, in one run.

    python tests/benchmarks/rows.py [--rows 16384] [--cols 1024] [--threads 1 2] [--repeat 7]

Wall time of whole calls, medians, the two sides in turns; PyTorch gets as many threads as the device.
Goal: no slower than 3 times PyTorch's eager operator.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

import torch

import workbench as wb


def in_turns(calls: list[Callable[[], object]], repeat: int) -> list[float]:
    """Median seconds of each call, one after the other in every round; the first round does not count."""
    seconds: list[list[float]] = [[] for _ in calls]
    for _ in range(repeat + 1):
        for call, times in zip(calls, seconds, strict=True):
            start = time.perf_counter()
            call()
            times.append(time.perf_counter() - start)
    return [statistics.median(times[1:]) for times in seconds]


def main() -> None:
    parser = argparse.ArgumentParser(description="Time row-wise kernels against PyTorch.")
    parser.add_argument("--rows", type=int, default=16384)
    parser.add_argument("--cols", type=int, default=1024)
    parser.add_argument("--device", default="emulated:gfx950")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=7)
    options = parser.parse_args()
    x = torch.randn(options.rows, options.cols, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    weight = torch.ones(options.cols, dtype=torch.bfloat16)
    rmsnorm, softmax = wb.kernels["normalization/rmsnorm"], wb.kernels["activations/softmax"]
    cases = {
        "rmsnorm": (
            lambda: rmsnorm(x, weight, device=options.device),
            lambda: torch.nn.functional.rms_norm(x, (options.cols,), weight, 1e-5),
        ),
        "softmax": (
            lambda: softmax(x, device=options.device),
            lambda: torch.softmax(x, -1),
        ),
    }
    print(f"{options.rows}x{options.cols} bf16 on {options.device}")
    first: dict[str, float] = {}
    for threads in options.threads:
        os.environ["HIPKITTENS_THREADS"] = str(threads)
        torch.set_num_threads(threads)
        for name, calls in cases.items():
            emulated, eager = in_turns(list(calls), options.repeat)
            scaling = first.setdefault(name, emulated) / emulated
            print(
                f"  {name:10}{threads} thread(s)  emulated {emulated * 1e3:8.1f} ms  "
                f"PyTorch {eager * 1e3:8.1f} ms  {emulated / eager:6.2f}x  scaling {scaling:4.2f}x"
            )


if __name__ == "__main__":
    main()
