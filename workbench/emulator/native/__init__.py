"""The emulated device's C part: instructions (ops), the driver (run), observers (observe)."""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from workbench.emulator.native import build

NATIVE_FOLDER = Path(__file__).resolve().parent


@cache
def native_library() -> ctypes.CDLL:
    """The emulator's C part, built at first use and kept in the workbench's cache.

    Raises:
        CompilerNotFound: the C compiler of the ziglang wheel is missing.
        ToolchainError: the C sources do not compile here; the message has the compiler's words.
    """
    path = build.build(
        "hkemu",
        sorted(NATIVE_FOLDER.rglob("*.c")),
        include=NATIVE_FOLDER,
        depends=sorted(NATIVE_FOLDER.rglob("*.h")),
    )
    return ctypes.CDLL(str(path))
