"""abi.h for Python: its structures, numbers and functions, read by cffi.

A number is an attribute of this module under its name in C, without HK_: `abi.MAX_ROWS`, `abi.FAULT_ADDRESS`,
`abi.SAN_LOAD`. Structures come from `ffi`: `ffi.new("Launch *", {...})`, `offset("Wave", "scc")`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.toolchain.headers import declared

HEADER = Path(__file__).with_name("abi.h")

CData = Any
"""A structure of C, or a pointer; cffi checks its fields when they are used."""

ffi = declared(HEADER)
_numbers: Any = ffi.dlopen(None)


def __getattr__(name: str) -> int:
    for spelling in (f"HK_{name}", name):
        if name.isupper() and hasattr(_numbers, spelling):
            return int(globals().setdefault(name, getattr(_numbers, spelling)))
    raise AttributeError(f"abi.h has no number HK_{name} or {name}")


def offset(structure: str, *path: str | int) -> int:
    """Bytes from the start of a structure to a field, or to a field of a field."""
    return int(ffi.offsetof(structure, *path))


def address(data: Any) -> int:
    """Address of a structure, or of what a pointer points to."""
    return int(ffi.cast("uintptr_t", data))
