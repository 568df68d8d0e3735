"""The simulation's C side: its structures and functions, read by cffi from unit.h."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from workbench.toolchain.headers import declared
from workbench.toolchain.native import build as build_native

FOLDER = Path(__file__).resolve().parent

CData = Any
"""A structure of C, or a pointer; cffi checks its fields when they are used."""

ffi = declared(FOLDER / "unit.h")
_numbers: Any = ffi.dlopen(None)


def number(name: str) -> int:
    """A number of unit.h, by its name without SIM_."""
    return int(getattr(_numbers, f"SIM_{name}"))


def build() -> Path:
    """Path of the library, which is built unless the cache has it; raises what `library` raises."""
    sources = sorted(FOLDER.glob("*.c"))
    return build_native("hksim", sources, include=FOLDER, depends=sorted(FOLDER.glob("*.h")))


@cache
def library() -> Any:
    """The functions of unit.h, built at first use and kept in the workbench's cache.

    Raises:
        CompilerNotFound: the C compiler of the ziglang wheel is missing.
        ToolchainError: the C sources do not compile here; the message quotes the compiler.
    """
    return ffi.dlopen(str(build()))
