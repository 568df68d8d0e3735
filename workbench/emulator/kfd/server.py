"""The device's process: one for each process of a program, which it serves until that ends.

The program's memory is mapped at the program's own addresses. A thread per queue runs its packets.
"""

from __future__ import annotations

import ctypes
import errno
import mmap
import os
import socket
import struct
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from workbench.emulator.kfd.device import TICKS_PER_SECOND, PacketDevice, queue_of
from workbench.emulator.kfd.library import (
    WORK_FAULT,
    WORK_KERNEL,
    WORK_NONE,
    ffi,
    load_queues,
)
from workbench.emulator.node.allocations import Allocation, MemoryKind
from workbench.emulator.node.device import Node
from workbench.errors import KernelFault, WorkbenchError

# shared.h
_MESSAGE = struct.Struct("<IIQQQQQQ")
_HELLO, _MAP, _UNMAP, _QUEUE, _QUEUE_END, _CODE, _TIMES = range(1, 8)
_CONTROL_BYTES = 0x40000
_MOST_QUEUES = 1024
_UNTIMED_OFFSET = 8 * _MOST_QUEUES + 12
_FAULT_OFFSET = _UNTIMED_OFFSET + 4
_PACKET_BYTES = 64
_EVENT_EXCEPTION, _EVENT_MEMORY = 3, 8
_MEMORY_DEVICE = 1

_MAP_FIXED_NOREPLACE = 0x100000
_SECONDS_TO_END = 10.0


class Server:
    """Serves one process of a program.

    Args:
        connection: socket to the process.
        node: a node with one device.
        ended: called when the process has ended.
    """

    def __init__(self, connection: socket.socket, node: Node, ended: Callable[[], None]) -> None:
        self._connection = connection
        self._node = node
        self._device = PacketDevice(node)
        self._ended = ended
        self._queues = load_queues()
        self._threads: dict[int, tuple[Any, threading.Thread]] = {}
        self._control: mmap.mmap | None = None
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_void_p

    def serve(self) -> None:
        """Answers the process until it ends."""
        self._queues.hkd_begin()
        while True:
            try:
                message, files, _, _ = socket.recv_fds(self._connection, _MESSAGE.size, 1)
            except OSError:
                break
            if len(message) != _MESSAGE.size:
                break
            try:
                answer = self._handle(*_MESSAGE.unpack(message), file=files[0] if files else -1)
            except (OSError, OverflowError, ValueError) as error:
                answer = (error.errno if isinstance(error, OSError) else None) or errno.EINVAL
                _say(f"a message of the program's driver cannot be answered: {error}")
            finally:
                for file in files:
                    os.close(file)
            with suppress(OSError):
                self._connection.send(struct.pack("<i", answer))
        self._ended()

    def _handle(
        self,
        kind: int,
        what: int,
        number: int,
        base: int,
        size: int,
        offset: int,
        read_pointer: int,
        write_pointer: int,
        *,
        file: int,
    ) -> int:
        """Does what a message asks for; returns an errno, 0 if all is well."""
        length = os.fstat(file).st_size if file >= 0 else 0
        if kind == _HELLO:
            if self._control is not None or length < offset + _CONTROL_BYTES:
                return errno.EINVAL
            self._control = mmap.mmap(file, _CONTROL_BYTES, offset=offset)
        elif self._control is None:
            return errno.EINVAL
        elif kind == _MAP:
            # Memory behind the file's end would end this process at the first access.
            if not size or length < offset + size:
                return errno.EINVAL
            return self._map(base, size, offset, file, is_device=what == _MEMORY_DEVICE)
        elif kind == _UNMAP:
            return self._unmap(base, size)
        elif kind == _CODE:
            self._device.kernels.add_file(os.pread(file, min(size, length), 0))
        elif kind == _QUEUE:
            if (
                number >= _MOST_QUEUES
                or number in self._threads
                or size < _PACKET_BYTES
                or size % _PACKET_BYTES
            ):
                return errno.EINVAL
            queue = self._queues.hkd_queue(
                ffi.from_buffer(self._control), what, number, base, size, read_pointer, write_pointer
            )
            if queue == ffi.NULL:
                return errno.ENOMEM
            address = queue_of(write_pointer, read_pointer) if what else 0
            thread = threading.Thread(target=self._run, args=(queue, address), daemon=True)
            self._threads[number] = queue, thread
            thread.start()
        elif kind == _QUEUE_END:
            if number not in self._threads:
                return errno.EINVAL
            queue, thread = self._threads.pop(number)
            self._queues.hkd_end(queue)
            thread.join(_SECONDS_TO_END)
            if not thread.is_alive():
                self._queues.hkd_free(queue)
        elif kind == _TIMES:
            corrections, gap = self._device.corrections()
            self._queues.hkd_settle(ffi.new("int64_t[]", corrections), len(corrections), gap)
            self._count_untimed()
        else:
            return errno.EINVAL
        return 0

    def _count_untimed(self) -> None:
        assert self._control is not None
        struct.pack_into("<I", self._control, _UNTIMED_OFFSET, self._device.untimed)

    def _map(self, base: int, size: int, offset: int, file: int, *, is_device: bool) -> int:
        protection = mmap.PROT_READ | mmap.PROT_WRITE
        place, length = ctypes.c_void_p(base), ctypes.c_size_t(size)
        flags = mmap.MAP_SHARED | _MAP_FIXED_NOREPLACE
        if self._libc.mmap(place, length, protection, flags, file, ctypes.c_long(offset)) != base:
            error = ctypes.get_errno() or errno.EEXIST
            _say(
                f"{size} bytes at {base:#x} of the program cannot be mapped at the same address in the "
                f"device's process: {os.strerror(error)}. Run it again; addresses are random."
            )
            return error
        kind = MemoryKind.DEVICE if is_device else MemoryKind.REGISTERED
        if not self._node.memory.adopt(Allocation(base, size, kind, 0 if is_device else None)):
            self._libc.munmap(place, length)
            return errno.EEXIST
        return 0

    def _unmap(self, base: int, size: int) -> int:
        allocation = self._node.memory.at(base)
        if allocation is None or (allocation.base, allocation.end) != (base, base + size):
            return errno.EINVAL
        with self._node.launch_lock:
            self._device.kernels.forget(base, size)
            self._node.memory.abandon(allocation)
            self._libc.munmap(ctypes.c_void_p(base), ctypes.c_size_t(size))
        return 0

    def _run(self, queue: Any, address: int) -> None:
        """Runs the packets of a queue until it ends or one fails."""
        place = ffi.new("uint64_t *")
        link = TICKS_PER_SECOND / self._device.product.host_link_bytes_per_second
        while True:
            work = self._queues.hkd_next(queue, link, place)
            if work == WORK_NONE:
                return
            if work != WORK_KERNEL:
                self._stop(_strange(work, int(place[0])), int(place[0]) if work == WORK_FAULT else None)
                return
            try:
                ticks = self._device.run(int(place[0]), address)
                self._count_untimed()
            except WorkbenchError as error:
                accessed = error.memory_address if isinstance(error, KernelFault) else None
                self._stop(str(error), accessed)
                return
            except Exception:
                self._stop(f"the emulated device failed; please report this:\n{traceback.format_exc()}", None)
                return
            if self._queues.hkd_done(queue, ticks, place) != WORK_NONE:
                self._stop(_strange(WORK_FAULT, int(place[0])), int(place[0]))
                return

    def _stop(self, text: str, address: int | None) -> None:
        """Reports a failure: to the person, and as AMD's driver would to the program.

        Args:
            address: address of an access to memory; None for any other failure.
        """
        _say(text)
        assert self._control is not None
        if address is not None:
            struct.pack_into("<Q", self._control, _FAULT_OFFSET, address)
        event = _EVENT_EXCEPTION if address is None else _EVENT_MEMORY
        self._queues.hkd_set_events(ffi.from_buffer(self._control), event)


def _strange(work: int, number: int) -> str:
    if work == WORK_FAULT:
        return f"a packet of a queue accessed {number:#x}, where no memory is mapped"
    if number >= 0x10000:
        return f"the emulated device has no SDMA operation {number >> 8 & 0xFF}.{number & 0xFF}"
    if number >= 0x1000:
        return f"the emulated device has no AQL packet of type {number & 0xFF}"
    if number >= 0x100:
        return f"the emulated device has no AMD packet of format {number & 0xFF}"
    return f"the emulated device has no PM4 packet {number:#x}, or not with these operands"


def _say(text: str) -> None:
    print(f"hipkittens: {text}", file=sys.stderr, flush=True)


__all__ = ["Server"]
