"""The emulated device's C part: instructions (ops), the driver (run), observers (observe)."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

from workbench.emulator.native import abi
from workbench.toolchain.native import build as build_native

NATIVE_FOLDER = Path(__file__).resolve().parent


def build() -> str:
    """Path of the library, which is built unless the cache has it; raises what `native_library` raises."""
    path = build_native(
        "hkemu",
        sorted(NATIVE_FOLDER.rglob("*.c")),
        include=NATIVE_FOLDER,
        depends=sorted(NATIVE_FOLDER.rglob("*.h")),
    )
    return str(path)


@cache
def native_library() -> Any:
    """The functions that abi.h declares, built at first use and kept in the workbench's cache.

    Raises:
        CompilerNotFound: the C compiler of the ziglang wheel is missing.
        ToolchainError: the C sources do not compile here; the message quotes the compiler.
    """
    library = abi.ffi.dlopen(build())
    # cffi looks a function up at its first use, with its lock held, which it also holds while it parses a
    # type. An object that is collected meanwhile frees its memory by a call, so all are looked up now.
    for name in dir(library):
        getattr(library, name)
    return library


@cache
def operations() -> ctypes.CDLL:
    """The same library, to look up what generated code calls by name: abi.h does not declare operations.

    Raises:
        CompilerNotFound, ToolchainError: see `native_library`.
    """
    return ctypes.CDLL(build())


@cache
def function_address(name: str) -> int | None:
    """Address of a function that generated code calls; None if the library has no such function."""
    function = getattr(operations(), name, None)
    return ctypes.cast(function, ctypes.c_void_p).value if function is not None else None
