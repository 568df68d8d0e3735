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
from workbench.emulator.kfd.library import ffi, load_queues, shared
from workbench.emulator.node.allocations import Allocation, MemoryKind
from workbench.emulator.node.device import Node
from workbench.errors import KernelFault, WorkbenchError

_MESSAGE_BYTES = ffi.sizeof("Message")
_PACKET_BYTES = 64
_MAP_FIXED_NOREPLACE = 0x100000
_SECONDS_TO_END = 10.0
# So many launches are on the model's list until their times are worked out, whether or not somebody asks.
_MOST_UNTIMED = 1 << 14


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
        self._ended = ended
        self._queues = load_queues()
        self._device = PacketDevice(node, self._queues.hkd_registers())
        self._threads: dict[int, tuple[Any, threading.Thread]] = {}
        self._control: Any = None
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = ctypes.c_void_p
        self._answers = {
            shared.MESSAGE_HELLO: self._hello,
            shared.MESSAGE_MAP: self._map,
            shared.MESSAGE_UNMAP: self._unmap,
            shared.MESSAGE_QUEUE: self._begin_queue,
            shared.MESSAGE_QUEUE_END: self._end_queue,
            shared.MESSAGE_CODE: self._note_code,
            shared.MESSAGE_TIMES: self._settle,
        }

    def serve(self) -> None:
        """Answers the process until it ends."""
        self._queues.hkd_begin()
        while True:
            try:
                content, files, _, _ = socket.recv_fds(self._connection, _MESSAGE_BYTES, 1)
            except OSError:
                break
            if len(content) != _MESSAGE_BYTES:
                break
            try:
                answer = self._answer(ffi.from_buffer("Message *", content), files[0] if files else -1)
            except (OSError, OverflowError, ValueError, WorkbenchError) as error:
                answer = (error.errno if isinstance(error, OSError) else None) or errno.EINVAL
                _say(f"a message of the program's driver cannot be answered: {error}")
            finally:
                for file in files:
                    os.close(file)
            with suppress(OSError):
                self._connection.send(struct.pack("<i", answer))
        self._ended()

    def _answer(self, message: Any, file: int) -> int:
        """Does what a message asks for; returns an errno, 0 if all is well."""
        answer = self._answers.get(message.kind)
        if answer is None or (self._control is None) != (message.kind == shared.MESSAGE_HELLO):
            return errno.EINVAL
        return answer(message, file) or 0

    def _hello(self, message: Any, file: int) -> int | None:
        if _bytes_of(file) < message.offset + shared.CONTROL_BYTES:
            return errno.EINVAL
        page = mmap.mmap(file, shared.CONTROL_BYTES, offset=message.offset)
        self._control = ffi.from_buffer("Control *", page)
        return None

    def _map(self, message: Any, file: int) -> int | None:
        base, size = message.base, message.size
        # Memory behind the file's end would end this process at the first access.
        if not size or _bytes_of(file) < message.offset + size:
            return errno.EINVAL
        protection, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED | _MAP_FIXED_NOREPLACE
        place, length, offset = ctypes.c_void_p(base), ctypes.c_size_t(size), ctypes.c_long(message.offset)
        if self._libc.mmap(place, length, protection, flags, file, offset) != base:
            error = ctypes.get_errno() or errno.EEXIST
            _say(
                f"{size} bytes at {base:#x} of the program cannot be mapped at the same address in the "
                f"device's process: {os.strerror(error)}. Run it again; addresses are random."
            )
            return error
        is_device = message.what == shared.MEMORY_DEVICE
        kind = MemoryKind.DEVICE if is_device else MemoryKind.REGISTERED
        # The driver's memory is in pages, and compilers load more than the program has asked for.
        device = 0 if is_device else None
        if not self._node.memory.adopt(Allocation(base, size, kind, device, granularity=mmap.PAGESIZE)):
            self._libc.munmap(place, length)
            return errno.EEXIST
        return None

    def _unmap(self, message: Any, file: int) -> int | None:
        base, size = message.base, message.size
        allocation = self._node.memory.at(base)
        if allocation is None or allocation.size != size:
            return errno.EINVAL
        with self._node.launch_lock:
            self._device.kernels.forget(base, size)
            self._node.memory.abandon(allocation)
            self._libc.munmap(ctypes.c_void_p(base), ctypes.c_size_t(size))
        return None

    def _note_code(self, message: Any, file: int) -> None:
        self._device.kernels.add_file(os.pread(file, min(message.size, _bytes_of(file)), 0))

    def _begin_queue(self, message: Any, file: int) -> int | None:
        number, size, is_aql = message.id, message.size, message.what
        write_pointer, read_pointer = message.write_pointer, message.read_pointer
        is_ring = size >= _PACKET_BYTES and size % _PACKET_BYTES == 0
        if number >= shared.MOST_QUEUES or number in self._threads or not is_ring:
            return errno.EINVAL
        queue = self._queues.hkd_queue(
            self._control, is_aql, number, message.base, size, read_pointer, write_pointer
        )
        if queue == ffi.NULL:
            return errno.ENOMEM
        address = queue_of(write_pointer, read_pointer) if is_aql else 0
        thread = threading.Thread(target=self._run, args=(number, queue, address), daemon=True)
        self._threads[number] = queue, thread
        thread.start()
        return None

    def _end_queue(self, message: Any, file: int) -> int | None:
        if message.id not in self._threads:
            return errno.EINVAL
        queue, thread = self._threads.pop(message.id)
        self._queues.hkd_end(queue)
        thread.join(_SECONDS_TO_END)
        if not thread.is_alive():
            self._queues.hkd_free(queue)
        return None

    def _settle(self, message: Any = None, file: int = -1) -> None:
        """Puts modelled times into the signals of the launches that do not have them yet."""
        with self._node.launch_lock:
            corrections, gap = self._device.corrections()
            self._queues.hkd_settle(ffi.new("int64_t[]", corrections), len(corrections), gap)
        self._control.untimed = self._device.untimed

    def _run(self, number: int, queue: Any, address: int) -> None:
        """Runs the packets of a queue until it ends or one fails."""
        place = ffi.new("uint64_t *")
        link = TICKS_PER_SECOND / self._device.product.host_link_bytes_per_second
        text, accessed = "", None
        while not text:
            work = self._queues.hkd_next(queue, link, place)
            if work == shared.WORK_NONE:
                return
            try:
                if work == shared.WORK_KERNEL:
                    # In one step, so that launches of all queues end in the order of their times.
                    with self._node.launch_lock:
                        ticks = self._device.run(place[0], address)
                        self._control.untimed = self._device.untimed
                        work = self._queues.hkd_done(queue, ticks, place)
                    if self._device.untimed >= _MOST_UNTIMED:
                        self._settle()
                elif work == shared.WORK_UNKNOWN:
                    name = ffi.string(ffi.cast("char *", place[0])).decode()
                    text = f"the emulated device has no {name}"
                if work == shared.WORK_FAULT:
                    if self._threads.get(number, (None,))[0] is not queue:
                        return  # Destroyed, and with it the memory of its packets.
                    accessed = place[0]
                    text = f"a packet of queue {number} accessed {self._device.place(accessed)}"
            except WorkbenchError as error:
                accessed = error.memory_address if isinstance(error, KernelFault) else None
                text = str(error)
            except Exception:
                text = f"the emulated device failed; please report this:\n{traceback.format_exc()}"
        self._stop(text, accessed)

    def _stop(self, text: str, address: int | None) -> None:
        """Reports a failure: to the person, and as AMD's driver would to the program.

        Args:
            address: address of an access to memory; None for any other failure.
        """
        _say(text)
        if address is not None:
            self._control.fault_address = address
        event = shared.EVENT_EXCEPTION if address is None else shared.EVENT_MEMORY
        self._queues.hkd_set_events(self._control, event)


def _bytes_of(file: int) -> int:
    """Length of a file; 0 without one."""
    return os.fstat(file).st_size if file >= 0 else 0


def _say(text: str) -> None:
    print(f"hipkittens: {text}", file=sys.stderr, flush=True)


__all__ = ["Server"]
