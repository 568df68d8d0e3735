"""Output of the package in IPython in a terminal, in a separate process."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import workbench

TYPED = """\
%load_ext workbench
import workbench as wb
profile = wb.profile("activations/softmax", shape={"rows": 16, "cols": 128})
wb.dashboard()
profile.figure
wb.verify("activations/softmax", shape={"rows": 16, "cols": 128})
exit
"""


def test_a_terminal_prints_each_thing_once_as_text(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "IPYTHONDIR": str(tmp_path),
        "HIPKITTENS_DEVICE": "emulated:gfx950",
        "PYTHONPATH": str(Path(workbench.__file__).parents[1]),
        # Opening a browser would be an error.
        "BROWSER": "/bin/false",
    }
    run = subprocess.run(
        [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=NoColor"],
        input=TYPED,
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    output = run.stdout
    assert "Traceback" not in output + run.stderr
    # Only once, although a verification followed.
    assert output.count("<Dashboard of ") == 1
    assert len(re.findall(r"^Dashboard of ", output, re.MULTILINE)) == 1
    assert "Where the time goes: " in output
    assert "  HBM bandwidth " in output
    assert "scatter" not in output, "the boxes of a diagram are no values"
    assert "on emulated:gfx950, seed 0: passed" in output
