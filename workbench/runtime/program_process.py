"""The process that a HIP program runs in: loads the HIP library, then the program, and calls its main.

    python -m workbench.runtime.program_process PARENT DEVICE LIBRARY NAME [ARGUMENTS...]

The emulated device is Python, so Python comes first and the program is a library in it. What the program
prints, reads and returns, its destructors and its exit are as in its own process. It ends with its parent,
whose process id comes first, unless a shell started it, through `start`.
"""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from workbench.codeobject.bundle import bundle_entries, fat_binary_of_host, plain_target
from workbench.errors import CodeObjectError, WorkbenchError
from workbench.runtime import Device, device, device_for
from workbench.runtime.registry import look_again
from workbench.targets import runs_on

_PR_SET_PDEATHSIG = 1
_NOT_STARTED = 127
_STREAM_NAMES = ("__stdoutp", "__stderrp") if sys.platform == "darwin" else ("stdout", "stderr")
"""Symbols of stdout and stderr in the C library."""


def _die_with(parent: int, libc: ctypes.CDLL) -> None:
    """Requests a signal when the parent ends, for whatever reason; it may already have ended."""
    # macOS has no counterpart.
    if sys.platform == "linux":
        libc.prctl(ctypes.c_int(_PR_SET_PDEATHSIG), ctypes.c_ulong(signal.SIGKILL))
    if os.getppid() != parent:
        os.kill(os.getpid(), signal.SIGKILL)


def main() -> NoReturn:
    parent, device_name, library, name, *arguments = sys.argv[1:]
    _die_with(int(parent), ctypes.CDLL(None))
    _run(device(device_name), library, name, arguments)


def start() -> NoReturn:
    """Continue with a program that the workbench's hipcc linked: its file, name and arguments follow -c."""
    library, name, *arguments = sys.argv[1:]
    try:
        _run(device_of(Path(library)), library, name, arguments)
    except WorkbenchError as error:
        sys.exit(f"hipkittens: {error}")


def device_of(library: Path) -> Device:
    """The default device if the program has code for it or none at all, or one that it has code for."""
    try:
        entries = bundle_entries(fat_binary_of_host(library.read_bytes()))
    except CodeObjectError:
        return device()
    known = [name for entry in entries if entry.content for name in runs_on(plain_target(entry.arch))]
    if os.environ.get("HIPKITTENS_DEVICE") or not known or device().arch in known:
        return device()
    return device_for(known[0])


def enter(chosen: Device, libc: ctypes.CDLL, libraries: Mapping[str, Path] | None = None) -> None:
    """Makes a device serve this process's HIP calls, and print kernels' output and faults.

    Args:
        chosen: the device that the program sees as number 0.
        libc: the C library of the process.
        libraries: HIP's libraries, if the process has already loaded them; see `emulator.hip.load_all`.
    """

    def write(text: str, to_stderr: bool) -> None:
        # Through C's own buffers, so that host and device output keep their order.
        stream = ctypes.c_void_p.in_dll(libc, _STREAM_NAMES[to_stderr])
        data = text.encode("utf-8", "surrogateescape")
        libc.fwrite(data, ctypes.c_size_t(1), ctypes.c_size_t(len(data)), stream)

    chosen.enter_program(write, libraries)
    # The device is number 0 now, and the only one.
    look_again()


def _run(target: Device, library: str, name: str, arguments: Sequence[str]) -> NoReturn:
    libc = ctypes.CDLL(None)
    # Messages about this process name the program, not its loader.
    sys.argv[:] = [name, *arguments]
    enter(target, libc)
    # Python ends after the program's destructors, which are registered later.
    at_exit = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: atexit._run_exitfuncs())
    libc.__cxa_atexit(at_exit, None, None)
    try:
        program = ctypes.CDLL(library)
    except OSError as error:
        print(f"{name} does not load: {error}", file=sys.stderr, flush=True)
        # This is not Python's own end, after which nothing may call `at_exit`.
        os._exit(_NOT_STARTED)
    # hipcc's programs have a special name for it, since `main` may be hidden.
    entry = program.hipkittens_main if hasattr(program, "hipkittens_main") else program.main
    # The program's own handlers apply, and the system's for its faults; Ctrl-C ends it.
    faulthandler.disable()
    strings = [os.fsencode(text) for text in (name, *arguments)]
    vector = (ctypes.c_char_p * (len(strings) + 1))(*strings, None)
    environment = ctypes.c_void_p.in_dll(libc, "environ")
    entry.restype = ctypes.c_int
    code = entry(ctypes.c_int(len(strings)), vector, environment)
    sys.stdout.flush()
    # Its output is written before destructors run, its own and those of other libraries.
    libc.fflush(None)
    # Destructors of the program call HIP; they run here, while Python still answers.
    libc.exit(ctypes.c_int(code))
    raise AssertionError("exit came back")


if __name__ == "__main__":
    main()
