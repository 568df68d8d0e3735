"""Five hundred cases of the fuzzers, of every kind; the long campaign is `python -m tests.fuzz`."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.cases import KINDS

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(1800)
def test_every_case_ends_well() -> None:
    seed = random.randrange(1 << 31)
    command = [sys.executable, "-m", "tests.fuzz", "--count", "500", "--seconds", "1500", "--seed", str(seed)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"seed {seed}: 500 cases" in result.stdout
    for kind in KINDS:
        assert f"  {kind}: " in result.stdout, f"no case of {kind!r}"
