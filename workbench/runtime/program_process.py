"""The process that a HIP program runs in: loads the HIP library, then the program, and calls its main.

    python -m workbench.runtime.program_process DEVICE LIBRARY NAME [ARGUMENTS...]

The emulated device is Python, so Python comes first and the program is a library in it. What the program
prints, reads and returns, its destructors and its exit are as in a process of its own.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import sys


def main() -> int:
    device, library, name, *arguments = sys.argv[1:]
    libc = ctypes.CDLL(None)
    if device.startswith("emulated:"):
        _emulate(device, libc)
    else:
        _use_gpu(device)
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


def _emulate(device: str, libc: ctypes.CDLL) -> None:
    from workbench.emulator.hip import calls, load
    from workbench.emulator.node import console
    from workbench.emulator.node.device import show_only

    show_only(device)
    load()

    def write(text: str, to_stderr: bool) -> None:
        # Through C's own buffers, so that host and device output keep their order.
        stream = ctypes.c_void_p.in_dll(libc, "stderr" if to_stderr else "stdout")
        data = text.encode("utf-8", "surrogateescape")
        libc.fwrite(data, ctypes.c_size_t(1), ctypes.c_size_t(len(data)), stream)

    console.writer = write
    calls.failure_listeners.append(lambda error: write(f"hipkittens: {error}\n", True))


def _use_gpu(device: str) -> None:
    from workbench.runtime import library

    os.environ.setdefault("HIP_VISIBLE_DEVICES", device.removeprefix("gpu:"))
    found = library.find_library()
    if found is None:
        raise SystemExit("no libamdhip64.so found: is ROCm installed?")
    ctypes.CDLL(found, mode=ctypes.RTLD_GLOBAL)


if __name__ == "__main__":
    sys.exit(main())
