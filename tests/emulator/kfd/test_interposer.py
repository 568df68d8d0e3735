"""The library in the program's process, with a device that this test plays."""

from __future__ import annotations

import ast
import os
import secrets
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from workbench import targets
from workbench.emulator.kfd import topology
from workbench.emulator.kfd.library import build_interposer

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="AMD's driver is Linux's")

HELLO, MAP, UNMAP = range(1, 4)
# A copy of the file under another number; an event of each of two types, and a wait for the first one without
# a limit; then the second one's state.
PROGRAM = """
import ctypes, errno, fcntl, os, struct
kfd = os.dup2(os.open("/dev/kfd", os.O_RDWR), 200)
CREATE, WAIT = (3 << 30 | ord("K") << 8 | number for number in (0x08, 0x0c))
def event(kind):
    a = bytearray(struct.pack("<QIIIIII", 0, 0, kind, 0, 0, 0, 0))
    fcntl.ioctl(kfd, CREATE, a)
    return struct.unpack_from("<I", a, 24)[0]
def wait(number, milliseconds, count=1):
    data = ctypes.create_string_buffer(48)
    struct.pack_into("<I", data, 40, number)
    a = bytearray(struct.pack("<QIIII", ctypes.addressof(data), count, 0, milliseconds, 9))
    try:
        fcntl.ioctl(kfd, WAIT, a)
    except OSError as error:
        return errno.errorcode[error.errno]
    return struct.unpack_from("<I", a, 20)[0]
signal, exception = event(0), event(3)
print(wait(signal, 1), wait(4096, 1), wait(signal, 1, 4097), flush=True)
print(wait(signal, 0xffffffff), wait(exception, 0xffffffff))
"""

# Memory that the program has registered and unmapped without a word to the driver, and a buffer in its place.
REPLACED = """
import ctypes, fcntl, mmap, os, struct
kfd = os.open("/dev/kfd", os.O_RDWR)
ALLOCATE, MAP = (3 << 30 | ord("K") << 8 | number for number in (0x16, 0x18))
VRAM, USERPTR = 1, 4
def allocate(base, flags):
    a = bytearray(struct.pack("<QQQQII", base, 8192, 0, base, 4711, flags))
    fcntl.ioctl(kfd, ALLOCATE, a)
    return struct.unpack_from("<Q", a, 16)[0]
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
base = libc.mmap(None, 8192, 3, 0x22, -1, ctypes.c_long(0))
allocate(base, USERPTR)
libc.munmap(ctypes.c_void_p(base), 8192)
devices = (ctypes.c_uint32 * 1)(4711)
fcntl.ioctl(kfd, MAP, bytearray(struct.pack("<QQII", allocate(base, VRAM), ctypes.addressof(devices), 1, 0)))
"""


def started(folder: Path, name: str, source: str = PROGRAM) -> subprocess.Popen[str]:
    variables = {
        **os.environ,
        "LD_PRELOAD": str(build_interposer()),
        "HIPKITTENS_DRIVER": str(folder),
        "HIPKITTENS_DRIVER_SOCKET": name,
    }
    command = [sys.executable, "-I", "-S", "-c", source]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=variables, stdout=pipe, stderr=pipe, text=True)


def test_a_wait_ends_with_the_device(tmp_path: Path) -> None:
    topology.write(tmp_path, targets.product("MI300X"))
    name = f"hipkittens-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f"\0{name}")
        listener.listen(1)
        listener.settimeout(30)
        program = started(tmp_path, name)
        connection, _ = listener.accept()
        with connection:
            connection.recv(64)
            connection.send(struct.pack("<i", 0))
            assert program.stdout is not None
            # Too many events, and numbers that no event has, are refused.
            assert program.stdout.readline() == "1 EINVAL EINVAL\n"
    out, messages = program.communicate(timeout=30)
    # The exception is what ends a program with AMD's runtime.
    assert out == "EIO 0\n", messages
    assert messages.count("the emulated driver's device has ended") == 1


def test_memory_that_the_program_has_unmapped_is_no_longer_the_devices(tmp_path: Path) -> None:
    topology.write(tmp_path, targets.product("MI300X"))
    name = f"hipkittens-{secrets.token_hex(8)}"
    messages = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f"\0{name}")
        listener.listen(1)
        listener.settimeout(30)
        program = started(tmp_path, name, REPLACED)
        connection, _ = listener.accept()
        connection.settimeout(30)
        with connection:
            while message := connection.recv(64):
                messages.append(struct.unpack_from("<IIQQQ", message))
                connection.send(struct.pack("<i", 0))
    assert program.communicate(timeout=30) == ("", "")
    (hello, *_), shared, ended, buffer = messages
    assert (hello, shared[0], ended[0], buffer[0]) == (HELLO, MAP, UNMAP, MAP)
    assert shared[3:] == ended[3:] == buffer[3:]


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    _, messages = started(tmp_path, "nobody").communicate(timeout=30)
    assert f"{tmp_path}/facts cannot be read" in messages
    assert "HIPKITTENS_DRIVER has to be mounted" in messages


def test_a_device_that_does_not_answer_is_named(tmp_path: Path) -> None:
    topology.write(tmp_path, targets.product("MI300X"))
    _, messages = started(tmp_path, "nobody").communicate(timeout=30)
    assert "device does not answer (Connection refused)" in messages
    assert "exec --driver" in messages


def test_the_device_is_in_the_class_that_programs_list(tmp_path: Path) -> None:
    topology.write(tmp_path, targets.product("MI300X"))
    listing = "import os; print(os.listdir('/sys/class/kfd/kfd/topology/nodes'))"
    program = started(tmp_path, "nobody", listing)
    out, messages = program.communicate(timeout=30)
    assert sorted(ast.literal_eval(out)) == ["0", "1"], messages
