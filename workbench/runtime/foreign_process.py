"""A process that loaded the HIP library without the workbench: any program, or another language's runtime.

The library's first call starts Python, unless the process has it, and runs `start`; if it started Python, the
end of the process runs `leave`. See `emulator/hip/library.c`.
"""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from workbench.runtime import tally
from workbench.runtime.program_process import device_of, enter


def start(folder: str, alone: bool) -> None:
    """Makes this Python process answer the calls to HIP libraries in a folder.

    Args:
        folder: folder of `libamdhip64.so` and `libhiprtc.so`, as the process loaded them.
        alone: True if this Python was started only for these calls; `sys.argv` is then set to the program's
            arguments.
    """
    program = Path("/proc/self/exe")
    if alone:
        words = Path("/proc/self/cmdline").read_bytes().split(b"\0")[:-1]
        sys.argv[:] = [os.fsdecode(word) for word in words]
    libraries = {name: Path(folder) / f"lib{name}.so" for name in ("amdhip64", "hiprtc")}
    enter(device_of(program), ctypes.CDLL(None), libraries)


def leave() -> None:
    """Does what the end of the process needs other libraries for, before any library's destructor has run."""
    tally.leave()


__all__ = ["leave", "start"]
