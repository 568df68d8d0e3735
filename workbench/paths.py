"""Folders that ship with the package: kernels and their headers.

In a checkout the kernels are at the top level, where a reader looks for them; in an installed wheel they are
inside the package.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def kernels_dir() -> Path:
    """Folder of the kernel library: `include/`, `families/`, `references/` and `<category>/<operator>.py`."""
    installed = _PACKAGE / "_kernels"
    return installed if installed.is_dir() else _PACKAGE.parent / "kernels"


def include_dir() -> Path:
    """Folder to give the compiler so that `#include "kittens.cuh"` is found."""
    return kernels_dir() / "include"


def hip_include_dir() -> Path:
    """Folder of the portable HIP headers, for compilers without ROCm."""
    return _PACKAGE / "toolchain" / "include"
