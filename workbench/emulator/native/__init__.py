"""The emulated device's C part: instructions (ops), the driver (run), observers (observe)."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path
from typing import Any

from workbench.emulator.native import abi
from workbench.toolchain.native import build as build_native

NATIVE_FOLDER = Path(__file__).resolve().parent


_ONE_WAVE_SIZE = {
    64: ("lds_transpose.c", "matrix.c", "matrix_exact.c", "matrix_scaled.c", "matrix_sparse.c"),
    32: ("copies.c",),
}
"""Sources of instructions that only waves of one size have: their layouts count on its lanes."""


def _sources(lanes: int) -> list[Path]:
    others = [pattern for size, patterns in _ONE_WAVE_SIZE.items() if size != lanes for pattern in patterns]
    files = sorted(NATIVE_FOLDER.rglob("*.c"))
    return [path for path in files if not any(path.match(pattern) for pattern in others)]


def build(lanes: int = abi.MAX_LANES) -> str:
    """Path of the library for waves of a size, which is built unless the cache has it.

    Raises what `native_library` raises.
    """
    path = build_native(
        "hkemu",
        _sources(lanes),
        flags=(f"-DHK_LANES={lanes}",),
        include=NATIVE_FOLDER,
        depends=sorted(NATIVE_FOLDER.rglob("*.h")),
    )
    return str(path)


@cache
def native_library(lanes: int = abi.MAX_LANES) -> Any:
    """The functions that abi.h declares, built at first use and kept in the workbench's cache.

    Args:
        lanes: lanes of a wave. A launch, with all that records it, needs the library of its kernel's waves;
            what concerns the process (interrupts, memory) is the same in every library, and uses the default.

    Raises:
        CompilerNotFound: the C compiler of the ziglang wheel is missing.
        ToolchainError: the C sources do not compile here; the message quotes the compiler.
    """
    return abi.ffi.dlopen(build(lanes))


@cache
def operations(lanes: int = abi.MAX_LANES) -> ctypes.CDLL:
    """The same library, to look up what generated code calls by name: abi.h does not declare operations.

    Raises:
        CompilerNotFound, ToolchainError: see `native_library`.
    """
    return ctypes.CDLL(build(lanes))


@cache
def function_address(name: str, lanes: int = abi.MAX_LANES) -> int | None:
    """Address of a function that generated code calls; None if the library has no such function."""
    function = getattr(operations(lanes), name, None)
    return ctypes.cast(function, ctypes.c_void_p).value if function is not None else None
