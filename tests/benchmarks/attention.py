"""Attention's forward pass on the emulated device against PyTorch's in bf16 on the same cores, in one run.

    OMP_WAIT_POLICY=PASSIVE python tests/benchmarks/attention.py [--shape 2 4 1024 128] [--full]
        [--threads 1 2] [--repeat 5]

Wall and processor time of whole calls, medians, the two sides in turns; PyTorch gets as many threads as the
device. On a busy computer the ratios of processor time are the ones to look at. Goal: no slower than
`scaled_dot_product_attention`, causal, at the shape that is the default. Without OMP_WAIT_POLICY PyTorch's
threads spin on a core while the device's turn has begun.
"""

from __future__ import annotations

import argparse
import os

import torch
from turns import in_turns

import workbench as wb


def main() -> None:
    parser = argparse.ArgumentParser(description="Time attention against PyTorch.")
    parser.add_argument("--shape", type=int, nargs=4, default=[2, 4, 1024, 128], metavar=("B", "H", "N", "D"))
    parser.add_argument("--full", action="store_true", help="not causal")
    parser.add_argument("--devices", nargs="+", default=["emulated:gfx950", "emulated:gfx942"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    batch, heads, tokens, dim = options.shape
    causal = not options.full
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(batch, tokens, heads, dim, generator=generator).bfloat16() for _ in range(3))
    theirs = [x.transpose(1, 2).contiguous() for x in (q, k, v)]
    forward = wb.kernels["attention/forward"]
    print(f"B={batch} H={heads} N={tokens} D={dim} {'causal' if causal else 'full'}, bf16")
    for name in options.devices:
        for threads in options.threads:
            os.environ["HIPKITTENS_THREADS"] = str(threads)
            torch.set_num_threads(threads)
            calls = (
                lambda name=name: forward(q, k, v, causal=causal, device=name),
                lambda: torch.nn.functional.scaled_dot_product_attention(*theirs, is_causal=causal),
            )
            emulated, eager = in_turns(calls, options.repeat)
            print(
                f"  {name}, {threads} thread(s)  emulated {emulated.wall * 1e3:7.1f} ms  "
                f"PyTorch {eager.wall * 1e3:7.1f} ms  {emulated.wall / eager.wall:5.2f}x by wall, "
                f"{emulated.processor / eager.processor:5.2f}x by processor"
            )


if __name__ == "__main__":
    main()
