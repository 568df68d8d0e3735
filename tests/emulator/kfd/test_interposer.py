"""The library in the program's process, with a device that this test plays."""

from __future__ import annotations

import ast
import os
import secrets
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
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

# A buffer without an address, exported as a file, imported, and mapped for the device from its second page
# on; what the driver must refuse; and what the program wrote to the buffer through the node.
EXPORTED = """
import errno, fcntl, mmap, os, struct
kfd, node = os.open("/dev/kfd", os.O_RDWR), os.open("/dev/dri/renderD128", os.O_RDWR)
ALLOCATE, EXPORT = (3 << 30 | ord("K") << 8 | number for number in (0x16, 0x24))
IMPORT, CLOSE, FIND, MAP = (3 << 30 | ord("d") << 8 | number for number in (0x2e, 0x09, 0x41, 0x48))
def ask(file, number, layout, *fields):
    a = bytearray(struct.pack(layout, *fields))
    try:
        fcntl.ioctl(file, number, a)
    except OSError as error:
        return errno.errorcode[error.errno]
    return struct.unpack(layout, a)
buffer = ask(kfd, ALLOCATE, "<QQQQII", 0, 16384, 0, 0, 4711, 1)[2]
file = ask(kfd, EXPORT, "<QII", buffer, 0, 0)[2]
print(os.lseek(file, 0, os.SEEK_END), ask(kfd, EXPORT, "<QII", buffer + 1, 0, 0))
gem = ask(node, IMPORT, "<IIi", 0, 0, file)[0]
other = os.memfd_create("other")
os.ftruncate(other, 16384)
print(ask(node, IMPORT, "<IIi", 0, 0, other))
os.close(file)
offset = ask(node, FIND, "<Q", gem)[0]
with mmap.mmap(node, 16384, offset=offset) as memory:
    memory[5000] = 7
with mmap.mmap(node, 4096, offset=offset + 4096) as memory:
    print(memory[5000 - 4096], ask(node, FIND, "<Q", gem + 1))
def map(operation, address, offset, size):
    return ask(node, MAP, "<IIIIQQQQQIIQ", gem, 0, operation, 0, address, offset, size, 0, 0, 0, 0, 0)
wrong = (1, 0x10000, 8192, 12288), (1, 0x10000, 0, 0), (1, 0x10800, 0, 4096), (4, 0x10000, 0, 4096)
print(*(map(*numbers) for numbers in wrong), offset)
map(1, 0x20000, 4096, 8192)
map(2, 0x20000, 4096, 8192)
ask(node, CLOSE, "<II", gem, 0)
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


@contextmanager
def device_of(folder: Path, source: str = PROGRAM) -> Iterator[tuple[subprocess.Popen[str], socket.socket]]:
    """A started program and the device's end of its connection, which closes with the context."""
    topology.write(folder, targets.product("MI300X"))
    name = f"hipkittens-{secrets.token_hex(8)}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
        listener.bind(f"\0{name}")
        listener.listen(1)
        listener.settimeout(30)
        program = started(folder, name, source)
        connection, _ = listener.accept()
        connection.settimeout(30)
        with connection:
            yield program, connection


def test_a_wait_ends_with_the_device(tmp_path: Path) -> None:
    with device_of(tmp_path) as (program, connection):
        connection.recv(64)
        connection.send(struct.pack("<i", 0))
        assert program.stdout is not None
        # Too many events, and numbers that no event has, are refused.
        assert program.stdout.readline() == "1 EINVAL EINVAL\n"
    out, messages = program.communicate(timeout=30)
    # The exception is what ends a program with AMD's runtime.
    assert out == "EIO 0\n", messages
    assert messages.count("the emulated driver's device has ended") == 1


def run(folder: Path, source: str) -> tuple[list[tuple[int, ...]], str, str]:
    """What a program asks of the device, which agrees to all: kind, what, id, base, size and offset; and
    its output."""
    messages = []
    with device_of(folder, source) as (program, connection):
        while message := connection.recv(64):
            messages.append(struct.unpack_from("<IIQQQQ", message))
            connection.send(struct.pack("<i", 0))
    return messages, *program.communicate(timeout=30)


def test_exported_memory_is_mapped_where_the_program_wants_it(tmp_path: Path) -> None:
    messages, out, refused = run(tmp_path, EXPORTED)
    *said, offset = out.split()
    assert said == ["16384", "EINVAL", "EINVAL", "7", "ENOENT", *(["EINVAL"] * 4)], refused
    assert "no operation of DRM_AMDGPU_GEM_VA 0x4" in refused
    (hello, *_), mapped, ended = messages
    assert (hello, mapped[0], ended[0]) == (HELLO, MAP, UNMAP)
    assert mapped[3:5] == ended[3:5] == (0x20000, 8192)
    assert mapped[5] == int(offset) + 4096


def test_memory_that_the_program_has_unmapped_is_no_longer_the_devices(tmp_path: Path) -> None:
    messages, *output = run(tmp_path, REPLACED)
    assert output == ["", ""]
    (hello, *_), shared, ended, buffer = messages
    assert (hello, shared[0], ended[0], buffer[0]) == (HELLO, MAP, UNMAP, MAP)
    assert shared[3:5] == ended[3:5] == buffer[3:5]


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
