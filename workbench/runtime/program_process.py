"""The process that a HIP program runs in: loads the HIP library, then the program, and calls its main.

    python -m workbench.runtime.program_process PARENT DEVICE LIBRARY NAME [ARGUMENTS...]

The emulated device is Python, so Python comes first and the program is a library in it. What the program
prints, reads and returns, its destructors and its exit are as in a process of its own. It dies with its
parent, whose process id comes first.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys

from workbench.runtime import device

_PR_SET_PDEATHSIG = 1


def _die_with(parent: int, libc: ctypes.CDLL) -> None:
    """A signal when the parent ends, however it does; it may have ended before it was asked for."""
    libc.prctl(ctypes.c_int(_PR_SET_PDEATHSIG), ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> int:
    parent, device_name, library, name, *arguments = sys.argv[1:]
    libc = ctypes.CDLL(None)
    _die_with(int(parent), libc)

    def write(text: str, to_stderr: bool) -> None:
        # Through C's own buffers, so that host and device output keep their order.
        stream = ctypes.c_void_p.in_dll(libc, "stderr" if to_stderr else "stdout")
        data = text.encode("utf-8", "surrogateescape")
        libc.fwrite(data, ctypes.c_size_t(1), ctypes.c_size_t(len(data)), stream)

    device(device_name).enter_program(write)
    try:
        program = ctypes.CDLL(library)
    except OSError as error:
        print(f"{name} does not load: {error}", file=sys.stderr)
        return 127
    entry = program.main
    # The program's own handlers, and the system's for what it does wrong; Ctrl-C ends it.
    faulthandler.disable()
    strings = [os.fsencode(text) for text in (name, *arguments)]
    vector = (ctypes.c_char_p * (len(strings) + 1))(*strings, None)
    environment = ctypes.c_void_p.in_dll(libc, "environ")
    entry.restype = ctypes.c_int
    code = entry(ctypes.c_int(len(strings)), vector, environment)
    sys.stdout.flush()
    # Destructors of the program call HIP; they run here, while Python still answers.
    libc.exit(ctypes.c_int(code))
    raise AssertionError("exit came back")


if __name__ == "__main__":
    sys.exit(main())
