"""tinygrad's own driver, which has nothing of AMD's, on the emulated one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import needs
import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="AMD's driver is Linux's")


@needs.tinygrad
def test_tinygrad_runs_with_its_own_driver() -> None:
    program = Path(__file__).with_name("tinygrad_program.py")
    command = [sys.executable, "-m", "workbench", "exec", "--driver", "--device", "MI300X", "--"]
    # Neither its cache of compiled kernels, nor its worker processes, which would compile for themselves.
    variables = {"DEV": "AMD:LLVM", "CACHELEVEL": "0", "PARALLEL": "0"}
    folders = [str(program.parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
    variables["PYTHONPATH"] = os.pathsep.join(folders)
    ended = subprocess.run(
        [*command, sys.executable, str(program)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ended.returncode == 0, ended.stderr
    target, difference = ended.stdout.split()
    assert target == "gfx942"
    # Exponents of up to 30 are sums of 50 products in floats.
    assert float(difference) < 1e-5
