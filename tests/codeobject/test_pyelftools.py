"""pyelftools is imported without Python's debugger."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = """
import sys
assert sys.path[0] == ""
import workbench.codeobject
assert "elftools" in sys.modules
assert "code" not in sys.modules
sys.path.remove("")
import pdb
pdb.Pdb
"""


def test_a_code_py_of_the_user_does_not_run(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text("raise SystemExit('code.py ran')")
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=tmp_path, check=True, timeout=120)
