"""Programs with AMD's own runtime on an emulated device: what `exec --driver` starts.

    python -m workbench.runtime.driver SOCKET DEVICE

is the process from which each process of a program gets a device of its own, by a fork.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import secrets
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import NoReturn

from workbench import targets
from workbench.cache import digest, tool_folder
from workbench.emulator.kfd import topology
from workbench.emulator.kfd.library import build_interposer, build_queues
from workbench.emulator.kfd.server import Server
from workbench.emulator.native import native_library
from workbench.emulator.node import clock
from workbench.emulator.node.device import device_name, node, show_first
from workbench.errors import ToolchainError
from workbench.runtime import emulated, reports, tally

_LIBRARY = "libhipkittens-driver.so"
_PR_SET_PDEATHSIG = 1
_SECONDS_TO_END = 60.0


def build() -> None:
    """Builds the C libraries unless the cache has them. Raises ToolchainError if they cannot be built."""
    build_interposer()
    build_queues()


def driver_folder(product: targets.Product) -> Path:
    """A folder with the library for LD_PRELOAD, and with the files of sysfs; written unless it exists.

    Raises:
        DeviceError: AMD's driver is not emulated for the product.
        ToolchainError: the library could not be built, or the folder could not be written.
    """
    library = build_interposer()
    root = tool_folder("driver")
    try:
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".partial-", dir=root) as scratch:
            partial = Path(scratch) / "driver"
            partial.mkdir()
            topology.write(partial, product)
            shutil.copyfile(library, partial / _LIBRARY)
            files = sorted(path for path in partial.rglob("*") if path.is_file() or path.is_symlink())
            key = digest(*(part for path in files for part in (path.name, _content(path))))[:16]
            folder = root / f"{product.name.lower()}-{key}"
            if not folder.is_dir():
                with contextlib.suppress(OSError):  # Another process was first.
                    partial.rename(folder)
                    partial.mkdir()
    except OSError as error:
        raise ToolchainError(
            f"{root} cannot be written ({error.strerror}); set HIPKITTENS_CACHE to a folder that can be"
        ) from None
    return folder


def _content(path: Path) -> bytes:
    return os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()


@contextlib.contextmanager
def driver(name: str, variables: MutableMapping[str, str]) -> Iterator[None]:
    """In this context, programs with these environment variables find the device through AMD's driver.

    Args:
        name: the product's name.
        variables: gets what they need.

    Raises as `driver_folder`.
    """
    folder = driver_folder(targets.product(name))
    variables["HIPKITTENS_DRIVER"] = str(folder)
    variables["HIPKITTENS_DRIVER_SOCKET"] = f"hipkittens-{secrets.token_hex(8)}"
    others = variables.get("LD_PRELOAD", "")
    # ROCr puts small allocations beside each other otherwise, where no access beyond one is noticed.
    variables.setdefault("HSA_DISABLE_FRAGMENT_ALLOCATOR", "1")
    # Only the server has the listener then: if it ends, programs notice.
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind("\0" + variables["HIPKITTENS_DRIVER_SOCKET"])
        listener.listen(64)
        command = [sys.executable, "-m", "workbench.runtime.driver", str(listener.fileno()), name]
        server = subprocess.Popen(
            command, pass_fds=[listener.fileno()], env=dict(variables), preexec_fn=_lay_out_low
        )
    variables["LD_PRELOAD"] = f"{folder / _LIBRARY}:{others}" if others else str(folder / _LIBRARY)
    try:
        yield
    finally:
        server.terminate()
        server.wait()


def _lay_out_low() -> None:
    """Makes the system map the memory of the next program from a third of the address space upwards.

    Other programs have theirs at the top, so that it can be mapped at the same addresses (Linux's
    arch/x86/mm/mmap.c: without a limit of the stack).
    """
    _, hard = resource.getrlimit(resource.RLIMIT_STACK)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, hard))
    _die_with_parent()


def _die_with_parent() -> None:
    ctypes.CDLL(None).prctl(ctypes.c_int(_PR_SET_PDEATHSIG), ctypes.c_ulong(signal.SIGTERM))


def _accept(listener: socket.socket, product: targets.Product) -> None:
    """Serves processes of this user until SIGTERM, each in a fork of this process."""
    while True:
        connection, _ = listener.accept()
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        user = struct.unpack("3i", credentials)[1]
        if user not in (0, os.getuid()):
            connection.close()
        elif os.fork() == 0:
            try:
                listener.close()
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                _serve(connection)
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        else:
            connection.close()
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                _say_if_killed(ended[1])


def _say_if_killed(status: int) -> None:
    """Reports a device's process that a signal has ended: nothing else does."""
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) != signal.SIGTERM:
        name = signal.strsignal(os.WTERMSIG(status))
        print(f"hipkittens: a process of the emulated device was ended by a signal: {name}", file=sys.stderr)


def _serve(connection: socket.socket) -> None:
    _die_with_parent()
    tally.keep(node(), clock.loaded_model)
    reporter = reports.reporter()
    if reporter is not None:
        node().watchers.append(reporter)
    Server(connection, node(), tally.leave).serve()
    os._exit(0)


def main() -> NoReturn:
    """Serves processes until SIGTERM, and then those that have not ended, for a while."""
    file, name = sys.argv[1:]
    product = targets.product(name)
    # Without it no time is modelled.
    clock.model = emulated.launch_model
    show_first(device_name(product), alone=True)
    node()
    native_library(product.target.wave_size)

    def end(number: int, frame: object) -> NoReturn:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with socket.socket(fileno=int(file)) as listener:
            _accept(listener, product)
    finally:
        deadline = time.monotonic() + _SECONDS_TO_END
        with contextlib.suppress(ChildProcessError):
            while time.monotonic() < deadline:
                process, status = os.waitpid(-1, os.WNOHANG)
                if process:
                    _say_if_killed(status)
                else:
                    time.sleep(0.005)
    raise AssertionError("accept came back")


if __name__ == "__main__":
    main()
