"""A wheel for one kind of machine, with the native libraries in it, where HIPKITTENS_WHEEL names the machine.

`make wheels` builds the libraries first; see `workbench/prebuilt.py`. Without the variable the wheel is for
every machine, and makes them at the first launch.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

GLIBC = "manylinux_2_28"
"""The glibc that the libraries are linked for: workbench/toolchain/zig.py's."""


class Prebuilt(BuildHookInterface[Any]):
    """Puts build/prebuilt/<machine> into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """
        Raises:
            FileNotFoundError: the libraries are not there.
        """
        machine = os.environ.get("HIPKITTENS_WHEEL")
        if not machine or version == "editable":
            return
        folder = Path(self.root, "build", "prebuilt", machine)
        if not any(folder.glob("*.so")):
            raise FileNotFoundError(f"{folder} has no libraries: run `make wheels`")
        build_data["force_include"][str(folder)] = "workbench/_prebuilt"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{GLIBC}_{machine}"
