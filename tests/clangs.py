"""Compilers for tests: the workbench's, and the clangs of the ziglang wheels in HIPKITTENS_TEST_CLANGS."""

from __future__ import annotations

import os
from pathlib import Path

FOLDERS = "HIPKITTENS_TEST_CLANGS"


def zigs() -> list[Path]:
    """The zig of each ziglang wheel in the folders of `FOLDERS`, or in their own folders."""
    folders = filter(None, os.environ.get(FOLDERS, "").split(os.pathsep))
    return [p for folder in folders for n in ("", "*/") for p in sorted(Path(folder).glob(f"{n}ziglang/zig"))]


def compilers() -> list[str]:
    """Values of HIPKITTENS_COMPILER: "" for the workbench's choice, then each of `zigs`."""
    return ["", *map(str, zigs())]
