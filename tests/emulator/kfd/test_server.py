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
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from workbench.emulator.kfd.library import ffi, shared

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="AMD's driver is Linux's")

SERVE = """
import socket, sys
from workbench import targets
from workbench.emulator.kfd import server
from workbench.emulator.node import clock
from workbench.emulator.node.device import device_name, node, show_first
from workbench.runtime import emulated
clock.model = emulated.launch_model
server._MOST_UNTIMED, server._SECONDS_TO_END = 100, 0.2
show_first(device_name(targets.product("MI300X")), alone=True)
server.Server(socket.socket(fileno=int(sys.argv[1])), node(), lambda: print("ended")).serve()
"""
HELLO, MAP, UNMAP, QUEUE, QUEUE_END, CODE = range(1, 7)
BASE, SIZE, RING = 0x1000_0000_0000, 1 << 17, 4096
CONTROL, CONTROL_BYTES = shared.CONTROL_OFFSET, shared.CONTROL_BYTES
UNTIMED, FAULT, EVENTS = (ffi.offsetof("Control", name) for name in ("untimed", "fault_address", "events"))
EVENT_BYTES = ffi.sizeof("Event")
EXCEPTION, MEMORY = 3, 8
S_BRANCH_BACK, S_ENDPGM = 0xBF82_FFFF, 0xBF81_0000
# v_mov_b32 v0, 0; v_mov_b32 v1, 1; global_store_dword v0, v1, s[0:1]
STORE_1 = 0x7E00_0280, 0x7E02_0281, 0xDC70_8000, 0x0000_0100
# s_load_dwordx2 s[2:3], s[0:1], 0; s_waitcnt lgkmcnt(0); s_load_dwordx4 s[4:7], s[2:3], 0; and the wait again
LOAD_16_BYTES = 0xC006_0080, 0, 0xBF8C_C07F, 0xC00A_0101, 0, 0xBF8C_C07F
KERNEL, SIGNAL = SIZE - 1024, SIZE - 512
SECONDS = 120  # The device may have to build its native library first.
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
        deadline = time.monotonic() + SECONDS
        while not struct.unpack_from("<I", self.bytes, place + 12)[0]:
            assert self.server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.002)

    def connect(self) -> None:
        """Makes the device map the memory at BASE."""
        assert self.ask(HELLO, 0, 0, 0, 0, CONTROL, file=self.file) == 0
        assert self.ask(MAP, 1, 0, BASE, SIZE, CONTROL + CONTROL_BYTES, file=self.file) == 0

    def kernel(self, *words: int) -> None:
        """Writes a kernel of these instructions, with its arguments' address in s[0:1], to BASE + KERNEL."""
        self.write(KERNEL, struct.pack("<IIIIq20xIIIH6x", 0, 0, 256, 0, 256, 0, 0, 2 << 1, 1 << 3))
        self.write(KERNEL + 256, struct.pack(f"<{len(words)}I", *words))

    def buffer(self, at: int, words: Sequence[int]) -> bytes:
        """Writes PM4 packets to BASE + at; returns the AQL packet that runs them."""
        self.write(at, struct.pack(f"<{len(words)}I", *words))
        address = BASE + at
        indirect = pm4(0x3F, address & 0xFFFF_FFFF, address >> 32, len(words))
        return struct.pack("<5I", 1 << 16, *indirect)

    def word(self, at: int) -> int:
        """The 64 bits at BASE + at."""
        return int(struct.unpack_from("<Q", self.bytes, CONTROL + CONTROL_BYTES + at)[0])

    def runs(self, packets: Sequence[bytes]) -> int:
        """Runs AQL packets through a ring that may be shorter; returns the queue's number."""
        last = struct.pack("<8Q", 3, *[0] * 6, BASE + SIGNAL)
        self.write(SIGNAL, struct.pack("<qq", 1, 1))
        number = self.queue(True, b"", (1 << 64) - 1)
        ring = number * 2 * RING
        deadline = time.monotonic() + SECONDS
        for index, packet in enumerate([*packets, last]):
            while index - self.word(ring + RING + 8) >= RING // 64:
                assert time.monotonic() < deadline
                time.sleep(0.001)
            self.write(ring + index * 64 % RING, packet.ljust(64, b"\0"))
            self.write(ring + RING, struct.pack("<Q", index + 1))
            self.bytes[CONTROL + 8 * number : CONTROL + 8 * number + 8] = struct.pack("<Q", index)
        while self.word(SIGNAL + 8):
            assert self.server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.002)
        return number

    def messages(self) -> str:
        """Ends the program; returns what the device has said."""
        self.connection.close()
        out, messages = self.server.communicate(timeout=30)
        assert (self.server.returncode, out) == (0, "ended\n"), messages
        return messages


def dispatch(
    *,
    block: int = 64,
    grid: int = 64,
    descriptor: int = BASE + KERNEL,
    arguments: int = BASE,
    signal: int = 0,
) -> bytes:
    """A packet that launches a kernel."""
    fields = 2, 1, block, 1, 1, grid, 1, 1, 0, 0, descriptor, arguments, 0, signal
    return struct.pack("<HH3H2xIIIIIQQQQ", *fields)


def pm4(operation: int, *words: int) -> list[int]:
    """A PM4 packet of type 3."""
    return [3 << 30 | len(words) - 1 << 16 | operation << 8, *words]


def register(number: int, value: int) -> list[int]:
    """A packet that sets a register."""
    return pm4(0x79, number - 0xC000, value)


@pytest.fixture
def program(request: pytest.FixtureRequest) -> Iterator[Program]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    root = str(Path(__file__).resolve().parents[3])
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            env={**os.environ, "PYTHONPATH": root, "HIPKITTENS_EVENT_TIMES": "host"}
            | getattr(request, "param", {}),
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
    assert struct.unpack_from("<Q", program.bytes, CONTROL + FAULT)[0] & ~0xFFF == WILD
    # A PM4 buffer that names itself, one that is shorter than its packet, and data that is no word long.
    loop = BASE + SIZE - 64
    indirect = struct.pack("<IQI", 3 << 30 | 2 << 16 | 0x3F << 8, loop, 4)
    program.write(SIZE - 64, indirect)
    program.fails(struct.pack("<I", 1 << 16) + indirect, EXCEPTION)
    program.fails(struct.pack("<II", 1 << 16, 3 << 30 | 9 << 16 | 0x3C << 8), EXCEPTION)
    program.fails(struct.pack("<III", 1 << 16, 3 << 30 | 0x37 << 8, 5 << 8), EXCEPTION)
    # Kernels that are nowhere, of no work-items, with arguments that are nowhere, and with such a signal.
    program.fails(dispatch(descriptor=WILD), EXCEPTION)
    program.fails(dispatch(block=0), EXCEPTION)
    program.kernel(S_ENDPGM)
    program.fails(dispatch(arguments=WILD), EXCEPTION)
    program.fails(dispatch(signal=WILD), MEMORY)
    # An SDMA queue that rings for more than it ever had still ends.
    number = program.queue(False, bytes(RING), (1 << 64) - 1)
    began = time.monotonic()
    assert program.ask(QUEUE_END, 0, number) == 0
    assert time.monotonic() - began < 5

    messages = program.messages()
    for name in ("PM4 packet 0x3f", "PM4 packet 0x3c", "PM4 packet 0x37"):
        assert name in messages
    assert f"names the kernel at {WILD:#x}, far from every allocation" in messages
    assert "expected at least 1 in each dimension" in messages
    assert f", 256 bytes, would be at {WILD:#x}, far from every allocation" in messages
    assert messages.count(f"accessed {WILD + MAILBOX:#x}, far from every allocation") == 2
    assert "Traceback" not in messages


def test_counters_are_selected_and_read_by_packets(program: Program) -> None:
    """What tinygrad's driver sends with PMC=1, on an emulated MI300X."""
    program.connect()
    program.kernel(*STORE_1, S_ENDPGM)
    control, waves, vector, grbm, index = 0xD808, 0xD9C0, 0xD9C1, 0xD840, 0xC200
    start = [
        *register(control, 0),
        *register(waves, 4),
        *register(vector, 0xF << 24 | 26),
        *register(grbm, 2),
    ]
    start += register(control, 1)
    results = 0x9000
    stop = register(control, 1 << 10 | 1)
    # The first instance, the second one, and all of them.
    for instance, place in ((0, 0), (1, 32), (1 << 29 | 1 << 30 | 1 << 31, 64)):
        stop += register(index, instance)
        for at, counter in enumerate((0xD1C0, 0xD1C1, 0xD1C2, 0xD1C3, 0xD040, 0xD041)):
            stop += pm4(
                0x40, 2 << 8 | 4, counter, 0, BASE + results + place + 4 * at & 0xFFFF_FFFF, BASE >> 32
            )
    begin, end = program.buffer(0x8000, start), program.buffer(0x8800, stop)
    kernel = dispatch(grid=3 * 64)
    program.runs([kernel, begin, kernel, kernel, end])
    first, second, everywhere = (
        [program.word(results + place + at) for at in (0, 8, 16)] for place in (0, 32, 64)
    )
    assert first[:2] == [2 * 3, 2 * 3 * 2]
    assert first[2] > 0
    assert second == [0, 0, 0]
    assert everywhere == first

    # An event that is not counted is named at the next launch.
    place = CONTROL + EVENTS + EVENT_BYTES * EXCEPTION
    program.bytes[place : place + EVENT_BYTES] = struct.pack("<IIIIQ", 1, EXCEPTION, 0, 0, 1)
    program.runs([program.buffer(0x8000, register(waves, 5))])
    program.fails(kernel, EXCEPTION)
    assert (
        "has selected event 5 of block SQ, which the emulated device does not count on gfx942"
        in program.messages()
    )


def test_loads_reach_the_end_of_a_page(program: Program) -> None:
    program.connect()
    three_words, page = BASE + 2 * SIZE, 4096
    assert program.ask(MAP, 1, 0, three_words, 12, CONTROL + CONTROL_BYTES, file=program.file) == 0
    program.kernel(*LOAD_16_BYTES, S_ENDPGM)
    program.write(0x9000, struct.pack("<Q", three_words))
    program.runs([dispatch(arguments=BASE + 0x9000)])
    program.write(0x9000, struct.pack("<Q", three_words + page - 8))
    program.fails(dispatch(arguments=BASE + 0x9000), MEMORY)
    assert f"read 16 bytes at {three_words + page - 8:#x}" in program.messages()


@pytest.mark.parametrize("program", [{"HIPKITTENS_EVENT_TIMES": "modelled"}], indirect=True)
def test_a_thousand_launches_leave_no_list(program: Program) -> None:
    program.connect()
    program.kernel(S_ENDPGM)
    program.runs([dispatch()] * 1000)
    assert struct.unpack_from("<I", program.bytes, CONTROL + UNTIMED)[0] <= 100
    assert program.messages() == ""


@pytest.mark.parametrize("program", [{"HIPKITTENS_TIMEOUT": "2"}], indirect=True)
def test_a_queue_is_destroyed_while_its_kernel_runs(program: Program) -> None:
    program.connect()
    program.kernel(*STORE_1, S_BRANCH_BACK, S_ENDPGM)
    flag = 0x9000
    number = program.queue(True, dispatch(arguments=BASE + flag, signal=BASE + SIGNAL), 0)
    deadline = time.monotonic() + SECONDS
    while not program.word(flag):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert program.ask(QUEUE_END, 0, number) == 0
    # Other queues serve on, and memory stays until the kernel has ended.
    program.runs([])
    assert program.ask(UNMAP, 0, 0, BASE, SIZE) == 0
    assert "stopped after its time limit of 2 s" in program.messages()
