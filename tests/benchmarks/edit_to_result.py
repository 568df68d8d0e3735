"""How long a person waits from running a small kittens cell to its result: cold, and cached.

    python tests/benchmarks/edit_to_result.py [--repeat 5]
    python tests/benchmarks/edit_to_result.py --first-ever

Cold means a source that was never compiled (a constant in it changes each time) in a process that has run
a kernel before. The first one ever, with an empty cache, also builds what is built once for each machine:
native code, a precompiled header.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable

import torch

import workbench as wb
from workbench.emulator.native import build

SOURCE = """
#include "kittens.cuh"
using namespace kittens;
struct globals {
    gl<bf16, 1, 1, -1, 64> x, out;
};
__global__ void scale(const globals g) {
    rt_bf<16, 64> tile;
    load(tile, g.x, {0, 0, (int)blockIdx.x, 0});
    mul(tile, tile, bf16(CONSTANT));
    store(g.out, tile, {0, 0, (int)blockIdx.x, 0});
}
"""


def run(constant: float, tag: int = 0) -> float:
    """Seconds from the source text to a checked result.

    `constant` is exact in bf16; `tag` goes into a comment and so makes a source that no cache has seen.

    Raises:
        AssertionError: the result is wrong.
    """
    x = torch.ones(32, 64, dtype=torch.bfloat16)
    out = torch.empty_like(x)
    start = time.perf_counter()
    module = wb.compile(f"// {tag}\n" + SOURCE.replace("CONSTANT", f"{constant}f"), arch="gfx950")
    module["scale"][2, 64](x=x, out=out)
    seconds = time.perf_counter() - start
    assert torch.equal(out, torch.full_like(out, constant)), "the result is wrong"
    return seconds


def processor_seconds() -> float:
    """Of this process and of those that it has waited for."""
    of = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in of)


def first_ever() -> None:
    """Prints what a machine on which nothing has run takes to its first result."""
    os.environ.pop("ZIG_GLOBAL_CACHE_DIR", None)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["HIPKITTENS_CACHE"] = folder
        steps: dict[str, Callable[[], object]] = {"native library": build, "then the cell": lambda: run(1.0)}
        for name, step in steps.items():
            start, before = time.perf_counter(), processor_seconds()
            step()
            wall, processor = time.perf_counter() - start, processor_seconds() - before
            print(f"{name:22s} {wall:7.2f} s, {processor:.2f} s of the processor")


def main() -> None:
    parser = argparse.ArgumentParser(description="Time a small cell from edit to result.")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--first-ever", action="store_true", help="with an empty cache")
    options = parser.parse_args()
    if options.first_ever:
        first_ever()
        return
    print(f"first in this process   {run(1.0):7.2f} s")
    tag = time.time_ns()
    cold = [run(2.0 + i, tag + i) for i in range(options.repeat)]
    cached = [run(2.0 + i, tag + i) for i in range(options.repeat)]
    print(f"cold, median of {options.repeat}       {statistics.median(cold):7.2f} s")
    print(f"cached, median of {options.repeat}     {statistics.median(cached):7.2f} s")


if __name__ == "__main__":
    main()
