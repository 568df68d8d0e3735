"""3,900 cases of the fuzzers, of every kind; a longer campaign is `python -m tests.fuzz --count 20000`."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz.cases import KINDS

ROOT = Path(__file__).parents[2]


CASES = 3900


@pytest.mark.timeout(1800)
def test_every_case_ends_well(in_this_tier: Callable[[int], int]) -> None:
    count, seed = in_this_tier(CASES), random.randrange(1 << 31)
    command = [sys.executable, "-m", "tests.fuzz", "--count", str(count), "--seconds", "1500"]
    result = subprocess.run(
        [*command, "--seed", str(seed)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"seed {seed}: {count} cases" in result.stdout
    for kind in KINDS:
        assert f"  {kind}: " in result.stdout, f"no case of {kind!r}"
