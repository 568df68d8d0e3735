"""The same results from code for CPUs without this one's widest vectors and half precision."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.mark.skipif(platform.machine() != "x86_64", reason="levels are an x86-64 notion")
@pytest.mark.skipif("HIPKITTENS_CPU" in os.environ, reason="a level is chosen already")
def test_without_512_bit_vectors() -> None:
    tests = [str(HERE / name) for name in ("test_vector.py", "test_packed.py", "test_operands.py")]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "HIPKITTENS_CPU": "x86-64-v3"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert result.returncode == 0, result.stdout[-3000:]
