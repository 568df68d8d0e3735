"""Which tests run when: `make test-quick` for an edit, `make test` for a commit, `make test-all` for all.

    python tests/tiers.py    # what test-quick runs

`make test` leaves out what costs much and finds little beside the rest: of the tests below one in so many
runs, drawn by the run's seed, so that all have their turn. docs/tests.md has what each part costs.
"""

from __future__ import annotations

import hashlib

from workers import group

ONE_OF: tuple[tuple[str, int], ...] = ()
"""Beginnings of tests' names, each with how many share a turn; the first that fits counts. 0: none runs."""

QUICK = ()
"""Files and folders."""


def runs(test: str, tier: str, seed: str) -> bool:
    """Whether a test, by its node id, runs in a tier, `test` or `all`, with a seed."""
    if tier == "all":
        return True
    share = next((share for start, share in ONE_OF if test.startswith(start)), 1)
    if share < 2:
        return share == 1
    # What shares a compilation is drawn as one.
    whole = group(test)
    drawn = test if whole == test.partition("::")[0] else whole
    return int.from_bytes(hashlib.sha256(f"{seed} {drawn}".encode()).digest()[:4], "big") % share == 0


if __name__ == "__main__":
    print(*QUICK)
