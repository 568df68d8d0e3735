"""The file `hipcc` that makefiles start, in a folder of the user's choice.

The package installs no such console script: in the environment of a GPU machine it would precede ROCm's.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from workbench import paths
from workbench.errors import UsageError
from workbench.toolchain.candidates import STAND_IN

_TEXT = """#!/bin/sh
{mark}: {about}
PYTHONPATH={root}${{PYTHONPATH:+:$PYTHONPATH}} exec {python} -P -m {module} "$@"
"""


def stand_in(module: str, about: str) -> str:
    """A script that replaces one of ROCm's programs; its second line marks it as the workbench's.

    Args:
        module: Python module with its first arguments, such as "workbench hipcc"; the script's arguments
            follow.
        about: description of the script.
    """
    root = shlex.quote(str(Path(paths.__file__).resolve().parent.parent))
    return _TEXT.format(
        mark=STAND_IN, about=about, root=root, python=shlex.quote(sys.executable), module=module
    )


def hipcc() -> str:
    """The text of the script `hipcc`."""
    return stand_in(
        "workbench hipcc", "compiles for the emulated device, and starts ROCm's where there is one"
    )


def install(folder: str | None) -> Path:
    """Write the file `hipcc`.

    Args:
        folder: folder for the script; None for the environment's folder of programs.

    Returns:
        path of the script.

    Raises:
        UsageError: another hipcc exists there, or the folder is not writable.
    """
    path = Path(folder or Path(sys.prefix) / "bin").absolute() / "hipcc"
    if path.exists() and STAND_IN.encode() not in path.read_bytes():
        raise UsageError(f"{path} exists and is not the workbench's; choose another folder")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(hipcc())
        path.chmod(0o755)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}; choose another folder") from None
    return path
