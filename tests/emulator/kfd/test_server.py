"""The device's process survives malformed messages and packets, and says what is wrong with them."""

from __future__ import annotations

import array
import errno
import mmap
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="AMD's driver is Linux's")

SERVE = """
import socket, sys
from workbench import targets
from workbench.emulator.kfd.server import Server
from workbench.emulator.node.device import device_name, node, show_first
show_first(device_name(targets.product("MI300X")), alone=True)
Server(socket.socket(fileno=int(sys.argv[1])), node(), lambda: print("ended")).serve()
"""
HELLO, MAP, UNMAP, QUEUE, QUEUE_END, CODE = range(1, 7)
BASE, SIZE, RING = 0x1000_0000_0000, 1 << 17, 4096
CONTROL, CONTROL_BYTES = 0x10000, 0x40000
EVENTS, EVENT_BYTES = 8216, 24
EXCEPTION, MEMORY = 3, 8
S_ENDPGM = 0xBF81_0000
WILD = 0x7000_0000_0000
MAILBOX = 16  # Of amd_signal_t, which the device reads first.


class Program:
    """What a program's process has of the device: a socket, a file of memory, and the page of state."""

    def __init__(self, server: subprocess.Popen[str], connection: socket.socket) -> None:
        self.server = server
        self.connection = connection
        self.file = os.memfd_create("memory")
        os.ftruncate(self.file, CONTROL + CONTROL_BYTES + SIZE)
        self.bytes = mmap.mmap(self.file, 0)
        self.queues = 0

    def ask(self, kind: int, *fields: int, file: int | None = None) -> int:
        """The errno that the device answers; fields are shared.h's, from `what` on."""
        message = struct.pack("<IIQQQQQQ", kind, *fields, *[0] * (7 - len(fields)))
        right = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file or 0]))
        self.connection.sendmsg([message], [right] if file is not None else [])
        answer = self.connection.recv(4)
        assert len(answer) == 4, "the device's process has ended"
        return int(struct.unpack("<i", answer)[0])

    def write(self, at: int, data: bytes) -> None:
        """Writes into the memory at BASE + at."""
        place = CONTROL + CONTROL_BYTES + at
        self.bytes[place : place + len(data)] = data

    def queue(self, is_aql: bool, packets: bytes, doorbell: int) -> int:
        """A new queue with these packets in its ring; returns its number."""
        number, place = self.queues, self.queues * 2 * RING
        self.queues += 1
        self.write(place, packets)
        self.write(place + RING, struct.pack("<QQ", 1, 0))
        self.bytes[CONTROL + 8 * number : CONTROL + 8 * number + 8] = struct.pack("<Q", doorbell)
        ring = BASE + place
        assert self.ask(QUEUE, is_aql, number, ring, RING, 0, ring + RING + 8, ring + RING) == 0
        return number

    def fails(self, packet: bytes, event: int) -> None:
        """Runs an AQL packet and waits until the device sets an event of this type."""
        place = CONTROL + EVENTS + EVENT_BYTES * event
        self.bytes[place : place + EVENT_BYTES] = struct.pack("<IIIIQ", 1, event, 0, 0, 1)
        self.queue(True, packet.ljust(64, b"\0"), 0)
        deadline = time.monotonic() + 30
        while not struct.unpack_from("<I", self.bytes, place + 12)[0]:
            assert self.server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def messages(self) -> str:
        """Ends the program; returns what the device has said."""
        self.connection.close()
        out, messages = self.server.communicate(timeout=30)
        assert (self.server.returncode, out) == (0, "ended\n"), messages
        return messages


@pytest.fixture
def program() -> Iterator[Program]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    root = str(Path(__file__).resolve().parents[3])
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": root, "HIPKITTENS_EVENT_TIMES": "host"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    ours.settimeout(60)
    program = Program(server, ours)
    try:
        yield program
    finally:
        ours.close()
        server.kill()
        server.communicate()
        program.bytes.close()
        os.close(program.file)


def test_malformed_messages_and_packets_are_named(program: Program) -> None:
    ask, file = program.ask, program.file
    assert ask(QUEUE, 1, 0, BASE, RING) == errno.EINVAL  # Before HELLO.
    assert ask(HELLO) == errno.EINVAL
    assert ask(HELLO, 0, 0, 0, 0, 1 << 40, file=file) == errno.EINVAL
    assert ask(HELLO, 0, 0, 0, 0, CONTROL, file=file) == 0
    assert ask(99) == errno.EINVAL
    assert ask(MAP, 1, 0, BASE, SIZE + 1, CONTROL + CONTROL_BYTES, file=file) == errno.EINVAL
    assert ask(MAP, 1, 0, BASE, SIZE, CONTROL + CONTROL_BYTES) == errno.EINVAL  # No file.
    assert ask(MAP, 1, 0, BASE, SIZE, CONTROL + CONTROL_BYTES, file=file) == 0
    assert ask(UNMAP, 0, 0, BASE, 4096) == errno.EINVAL
    for number, size in ((1024, RING), (0, 0), (0, 100)):
        assert ask(QUEUE, 1, number, BASE, size, 0, BASE, BASE) == errno.EINVAL
    assert ask(QUEUE_END, 0, 7) == errno.EINVAL
    assert ask(CODE, 0, 0, 0, 1 << 62, file=file) == 0

    # A barrier with a signal that is nowhere.
    program.fails(struct.pack("<8Q", 3, 0, 0, 0, 0, 0, 0, WILD), MEMORY)
    assert struct.unpack_from("<Q", program.bytes, CONTROL + 8208)[0] & ~0xFFF == WILD
    # A PM4 buffer that names itself, one that is shorter than its packet, and data that is no word long.
    loop = BASE + SIZE - 64
    indirect = struct.pack("<IQI", 3 << 30 | 2 << 16 | 0x3F << 8, loop, 4)
    program.write(SIZE - 64, indirect)
    program.fails(struct.pack("<I", 1 << 16) + indirect, EXCEPTION)
    program.fails(struct.pack("<II", 1 << 16, 3 << 30 | 9 << 16 | 0x3C << 8), EXCEPTION)
    program.fails(struct.pack("<III", 1 << 16, 3 << 30 | 0x37 << 8, 5 << 8), EXCEPTION)
    # Kernels that are nowhere, of no work-items, with arguments that are nowhere, and with such a signal.
    program.fails(struct.pack("<HH3H2xIIIIIQQ", 2, 1, 64, 1, 1, 64, 1, 1, 0, 0, WILD, 0), EXCEPTION)
    program.fails(struct.pack("<HH3H2xIIIIIQQ", 2, 1, 0, 1, 1, 64, 1, 1, 0, 0, BASE, 0), EXCEPTION)
    kernel = SIZE - 1024
    program.write(kernel, struct.pack("<IIIIq", 0, 0, 256, 0, 256))
    program.write(kernel + 256, struct.pack("<I", S_ENDPGM))
    for arguments, signal, event in ((WILD, 0, EXCEPTION), (BASE, WILD, MEMORY)):
        fields = (2, 1, 64, 1, 1, 64, 1, 1, 0, 0, BASE + kernel, arguments, 0, signal)
        program.fails(struct.pack("<HH3H2xIIIIIQQQQ", *fields), event)
    # An SDMA queue that rings for more than it ever had still ends.
    number = program.queue(False, bytes(RING), (1 << 64) - 1)
    began = time.monotonic()
    assert program.ask(QUEUE_END, 0, number) == 0
    assert time.monotonic() - began < 5

    messages = program.messages()
    for name in ("PM4 packet 0x3f", "PM4 packet 0x3c", "PM4 packet 0x37"):
        assert name in messages
    assert f"names the kernel at {WILD:#x}, where no memory is mapped" in messages
    assert "expected at least 1 in each dimension" in messages
    assert f"256 bytes of arguments at {WILD:#x}, where no memory is mapped" in messages
    assert messages.count(f"accessed {WILD + MAILBOX:#x}") == 2
    assert "Traceback" not in messages
