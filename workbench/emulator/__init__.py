"""The emulated device: runs AMD GPU machine code on the CPU, behind the HIP C ABI.

The translator turns a kernel's machine code into native code, block by block; the native library built here
holds what is better written in C: memory, LDS and matrix operations, and the driver that runs work-groups.
"""

from __future__ import annotations

import ctypes
from functools import cache
from pathlib import Path

from workbench import native

NATIVE_FOLDER = Path(__file__).resolve().parent / "native"


@cache
def native_library() -> ctypes.CDLL:
    """The emulator's C part, built at first use and kept in the workbench's cache.

    Raises:
        CompilerNotFound: the C compiler of the ziglang wheel is missing.
        ToolchainError: the C sources do not compile here; the message has the compiler's words.
    """
    path = native.build(
        "hkemu",
        sorted(NATIVE_FOLDER.glob("*.c")),
        depends=sorted(NATIVE_FOLDER.glob("*.h")),
    )
    return ctypes.CDLL(str(path))
