"""What `show` costs: a launch compiled with `--show` beside the same launch without.

    python tests/benchmarks/showing.py [--arch gfx950] [--times 21]

The kernel is the first half of attention over blocks of keys, with one `show` of the logits in its loop: a
tile of 4 KB for each wave and trip. Times are the process's own, of all its threads, so that others on the
machine count little; a ratio is the median over rounds, in each of which all launches are made in turn.
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import torch

import workbench as wb

SOURCE = """#include "kittens.cuh"
using namespace kittens;
constexpr int D = 64, BLOCK = 32;
struct attend_globals {
    gl<bf16, -1, -1, -1, D> q, k, out;
};
__global__ __launch_bounds__(64) void attend(const attend_globals g) {
    const int tile = blockIdx.x, head = blockIdx.y;
    rt_bf<BLOCK, D, row_l, rt_32x16_s> q, k;
    rt_fl<BLOCK, BLOCK, col_l, rt_32x32_s> s, sum;
    load(q, g.q, {0, head, tile, 0});
    zero(sum);
    for (int block = 0; block < g.k.rows() / BLOCK; block++) {
        load(k, g.k, {0, head, block, 0});
        zero(s);
        mma_ABt(s, k, q, s);
        SHOWN
        exp2(s, s);
        add(sum, sum, s);
    }
    rt_fl<BLOCK, BLOCK, row_l, rt_32x32_s> turned;
    transpose(turned, sum);
    store(g.out, turned, {0, head, tile, 0});
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="gfx950")
    parser.add_argument("--times", type=int, default=21)
    options = parser.parse_args()
    heads, tokens = 4, 512
    q, k, out = (0.1 * torch.randn(1, heads, tokens, 64) for _ in range(3))
    arguments = {"q": q.bfloat16(), "k": k.bfloat16(), "out": out.bfloat16()}
    grid = (tokens // 32, heads)

    def kernel(shown: str, show: bool) -> Any:
        source = SOURCE.replace("SHOWN", shown)
        return wb.compile(source, arch=options.arch, name="attend.hip", show=show)["attend"]

    without, compiled, showing = kernel("", False), kernel("show(s);", False), kernel("show(s);", True)
    every = range(grid[0] * grid[1])

    def all_groups() -> None:
        with wb.showing(groups=every):
            showing[grid, 64](**arguments)

    launches = {
        "no show in the source": lambda: without[grid, 64](**arguments),
        "show, compiled without --show": lambda: compiled[grid, 64](**arguments),
        "--show, the first four of 64 work-groups": lambda: showing[grid, 64](**arguments),
        "--show, all 64 work-groups": all_groups,
    }
    took: dict[str, list[float]] = {name: [] for name in launches}
    for turn in range(options.times + 1):
        for name, launch in launches.items():
            started = time.process_time()
            launch()
            if turn:  # the first one translates the code
                took[name].append(time.process_time() - started)
    base = took["no show in the source"]
    print(f"{options.arch}, {grid[0] * grid[1]} waves of {tokens // 32} trips")
    for name, each in took.items():
        ratio = statistics.median(a / b for a, b in zip(each, base, strict=True))
        print(f"{name:42} {1e3 * statistics.median(each):8.2f} ms  {ratio:5.2f} x")
    registers = [(each.resources.vgprs, each.resources.sgprs) for each in (without, compiled, showing)]
    print(f"VGPR, SGPR: {registers[0]} without, {registers[1]} compiled out, {registers[2]} with --show")
    one = {
        name: wb.profile(each[grid, 64], **arguments)["SQ_INSTS_VALU"].value
        for name, each in (("without", without), ("with --show", showing))
    }
    print("vector instructions: " + ", ".join(f"{count:,.0f} {name}" for name, count in one.items()))


if __name__ == "__main__":
    main()
