"""What a wheel has besides sources: native libraries for a kind of machine, and the stub of `workbench.ops`.

`make wheels` builds the libraries first; see `workbench/prebuilt.py`. Where HIPKITTENS_WHEEL names no machine
the wheel is for every machine, and makes them at the first launch.

The stub is written anew where PyTorch is there to read the specs. An isolated build has none: there the stub
of the source archive goes into the wheel, or a warning says that it is left out; only editors and type
checkers notice.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GLIBC = "manylinux_2_28"
"""The glibc that the libraries are linked for: workbench/toolchain/zig.py's."""


STUB = "workbench/ops/__init__.pyi"


class WheelContents(BuildHookInterface[Any]):
    """Writes the stub, and puts build/prebuilt/<machine> into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """
        Raises:
            FileNotFoundError: the libraries are not there.
        """
        self._write_stub()
        machine = os.environ.get("HIPKITTENS_WHEEL")
        if not machine or version == "editable":
            return
        folder = Path(self.root, "build", "prebuilt", machine)
        if not any(folder.glob("*.so")):
            raise FileNotFoundError(f"{folder} has no libraries: run `make wheels`")
        build_data["force_include"][str(folder)] = "workbench/_prebuilt"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{GLIBC}_{machine}"

    def _write_stub(self) -> None:
        if importlib.util.find_spec("torch") is None:
            reason = "PyTorch is not installed"
        else:
            command = [sys.executable, "-m", "workbench.ops.stub"]
            run = subprocess.run(command, cwd=self.root, capture_output=True, text=True)
            if run.returncode == 0:
                return
            reason = (run.stderr.strip().splitlines() or [f"exit status {run.returncode}"])[-1]
        have = "an older one is kept" if Path(self.root, STUB).exists() else "there is none"
        self.app.display_warning(
            f"{STUB} is not written anew ({reason}), {have}: `python -m workbench.ops.stub` writes it"
        )
