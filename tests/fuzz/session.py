"""A user's short session as a program whose results do not depend on interrupts and damage.

python -m tests.fuzz.session # once; prints a digest of all results
python -m tests.fuzz.session ROUNDS     # again and again, through that many interrupts
"""

from __future__ import annotations

import hashlib
import sys

import torch

import workbench as wb

SOURCE = """
#include "kittens.cuh"
using namespace kittens;
using plane = gl<float, 1, 1, 64, 64>;
__global__ __launch_bounds__(64) void scaled(const plane x, plane out, float by) {
    rt_fl<64, 64> tile;
    load(tile, x, {0, 0, 0, 0});
    mul(tile, tile, by);
    store(out, tile, {0, 0, 0, 0});
}
"""


def session(number: int) -> str:
    """Compiles, runs, verifies, profiles and sanitizes; `number` makes the source a new one.

    Returns:
        A digest of the results, of the modelled time and of the counters, which do not depend on `number`.
    """
    digest = hashlib.sha256()
    x = torch.arange(64 * 64, dtype=torch.float32).view(64, 64)
    for target in ("gfx942", "gfx950"):
        module = wb.compile(f"{SOURCE}// {number}\n", arch=target, name="scaled.hip")
        out = torch.empty_like(x)
        kernel = module["scaled"]
        kernel[1, 64](x, out, 0.5)
        assert torch.equal(out, x * 0.5)
        profile = wb.profile(kernel[1, 64], x, out, 0.5)
        assert not wb.sanitize(kernel[1, 64], x, out, 0.5).findings
        digest.update(out.numpy().tobytes())
        digest.update(repr((profile.time, sorted(profile.counters.items()))).encode())
    wb.verify("activations/silu", shape={"rows": 4, "cols": 512}, device="emulated:gfx950").check()
    return digest.hexdigest()


def main(rounds: int) -> None:
    """Prints `round N` at the beginning of a round, after which it may be interrupted, and `interrupted`."""
    number, expected = 0, ""
    for interrupts in range(rounds):
        try:
            print("round", interrupts, flush=True)
            while True:
                number += 1
                digest = session(number)
                assert digest == (expected or digest), "another result than before"
                expected = digest
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    print("ended", session(0), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(int(sys.argv[1]))
    else:
        print(session(0))
