"""Row-wise kernels of the library on the emulated device against PyTorch's own operators, in one run.

    python tests/benchmarks/rows.py [--rows 16384] [--cols 1024] [--threads 1 2] [--repeat 7]

Wall and processor time of whole calls, medians, the two sides in turns; PyTorch gets as many threads as the
device. On a busy computer the ratios of processor time, that of all threads, are the ones to look at.
Goal: no slower than 3 times PyTorch's eager operator.
"""

from __future__ import annotations

import argparse
import os

import torch
from turns import Times, in_turns

import workbench as wb


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
    alone: dict[str, Times] = {}
    for threads in options.threads:
        os.environ["HIPKITTENS_THREADS"] = str(threads)
        torch.set_num_threads(threads)
        for name, calls in cases.items():
            emulated, eager = in_turns(calls, options.repeat)
            one = alone.setdefault(name, emulated)
            print(
                f"  {name:8} {threads} thread(s)  emulated {emulated.wall * 1e3:7.1f} ms  "
                f"PyTorch {eager.wall * 1e3:7.1f} ms  {emulated.wall / eager.wall:5.2f}x by wall, "
                f"{emulated.processor / eager.processor:5.2f}x by processor  "
                f"scaling {one.wall / emulated.wall:4.2f}x, "
                f"processor time {emulated.processor / one.processor:4.2f}x"
            )


if __name__ == "__main__":
    main()
