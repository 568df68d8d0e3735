"""A process that loaded the HIP library without the workbench: any program, or another language's runtime.

The library's first call starts Python, unless the process has it, and runs `start`; see
`emulator/hip/library.c`.
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
    if alone:
        tally.first_launch.append(_leave_early)


_LEAVE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: tally.leave())


def _leave_early() -> None:
    """Has `exit` call `tally.leave` before any library's destructor runs.

    Once the loader has run a library's destructor, loading another library that needs it runs its constructor
    again, which GCC's libgomp answers with `abort`; the time model loads PyTorch, which needs libgomp. A
    handler comes first only if it is registered after the loader's own, which is between the constructors of
    libraries and `main`. The first call may be in a constructor, so the first launch registers it.
    """
    ctypes.CDLL(None).__cxa_atexit(_LEAVE, None, None)


__all__ = ["start"]
