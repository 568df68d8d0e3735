"""A process that loaded the HIP library without the workbench: any program, or another language's runtime.

The library's first call starts Python, unless the process has one, and runs `start`; `emulator/hip/library.c`
says how.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from workbench.runtime.program_process import device_of, enter


def start(folder: str, alone: bool) -> None:
    """Has the HIP libraries of a folder answered by this Python.

    Args:
        folder: of `libamdhip64.so` and `libhiprtc.so`, as the process loaded them.
        alone: whether this Python was begun for them; its `sys.argv` is the program's then.
    """
    program = Path("/proc/self/exe")
    if alone:
        words = Path("/proc/self/cmdline").read_bytes().split(b"\0")[:-1]
        sys.argv[:] = [os.fsdecode(word) for word in words]
    libraries = {name: Path(folder) / f"lib{name}.so" for name in ("amdhip64", "hiprtc")}
    enter(device_of(program), ctypes.CDLL(None), libraries)


__all__ = ["start"]
