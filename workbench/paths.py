"""Folders that ship with the package, kernels and their headers, and ROCm's standard folder.

In a checkout the kernels are at the top level, where a reader looks for them; in an installed wheel they are
inside the package.
"""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent

SYSTEM = Path("/")
"""Root of the file system in which ROCm, Debian's packages and lists of devices are looked up."""


def rocm_dir() -> Path:
    """Folder that AMD's packages install ROCm in."""
    return SYSTEM / "opt" / "rocm"


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


def pages_dir() -> Path | None:
    """Folder with `docs/` and `notebooks/`, which only a checkout has; None in an installed wheel."""
    root = _PACKAGE.parent
    return root if (root / "docs" / "howto").is_dir() and (root / "notebooks").is_dir() else None
