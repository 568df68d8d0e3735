"""ROCm's hostcalls: requests to the host by running kernels built with ROCm's device libraries.

A wave takes a packet from the free stack of a buffer that all waves share, fills in a service and eight words
per lane, pushes it on the ready stack, rings a doorbell and spins on the packet's ready flag until the host
has put two words per lane into it (`__ockl_hostcall_internal` of the device libraries, which printf and
assert of hipcc call). Here a packet is answered by the thread that runs its wave, at the end of the wave's
turn: atomics.c notes which wave has pushed, and dispatch.c calls back. So the order of what a work-group
prints depends only on the kernel.

The layouts are those of the device libraries of ROCm 5 to 7, of rocclr's devhostcall.hpp, and for printf's
messages of devhcmessages.hpp.
"""

from __future__ import annotations

import ctypes
import re
import struct
from collections.abc import Callable, Iterator
from ctypes import c_uint32
from dataclasses import dataclass, field

import numpy as np

from workbench.emulator.native import abi
from workbench.emulator.native.abi import CData, ffi
from workbench.emulator.node.allocations import Allocation, Memory, MemoryKind
from workbench.emulator.node.console import (
    BYTES,
    Assertion,
    Value,
    bytes_of,
    format_text,
    printed_bytes,
    text_conversions,
)

FUNCTION_CALL, PRINTF, DEVICE_MEMORY, SANITIZER = 1, 2, 3, 4
"""Numbers of ROCm's services."""

PRINTED_BYTES = 0x68690001
"""A service of the workbench's own headers: how many bytes a record of `console` prints."""

ARGUMENT = "hidden_hostcall_buffer"
PRINTF_ARGUMENT = "hidden_printf_buffer"
"""Kinds of hidden arguments, as code objects name them."""

_SLOT_WORDS = 8
_PAYLOAD_WORDS = abi.MAX_LANES * _SLOT_WORDS
_READY = 1
_HEADER_BYTES = ffi.sizeof("HostcallHeader")
# A message's descriptor: whether it begins and ends here, the number of words that follow, its id.
_BEGIN, _END = 1, 2
_LENGTH_SHIFT, _LENGTH_MASK = 5, 7
_ID_SHIFT = 8
# Cost of a message in addition to its words, so that even empty messages reach the limit.
_MESSAGE_BYTES = 64
_TO_STDERR = 1
# Output of assert in HIP's headers before it traps. Output of Triton's device_assert before its trap.
_TRITON_ASSERTION = re.compile(r"device assertion failed: '(.*)', in (\S+) at (.*):(\d+)\s*$", re.DOTALL)
_ASSERTION = "%s:%u: %s: Device-side assertion `%s' failed.\n"
_PAGE = 4096


# An amd_signal_t without kind or event: the device adds to its value and interrupts nobody.
_SIGNAL_OFFSET, _SIGNAL_BYTES = 64, 64


class Buffer:
    """The buffer in device memory.

    Args:
        packets: minimum number of packets.
    """

    def __init__(self, memory: Memory, packets: int) -> None:
        self.packets = 1 << max(1, (packets - 1).bit_length())
        headers = _SIGNAL_OFFSET + _SIGNAL_BYTES
        payloads = -(-(headers + self.packets * _HEADER_BYTES) // _PAGE) * _PAGE
        size = payloads + self.packets * _PAYLOAD_WORDS * 8
        self.allocation: Allocation = memory.map_apart(size, MemoryKind.HOSTCALL)
        self._headers = self.address + headers
        self._payloads = self.address + payloads
        # Packet i lies on packet i - 1. Packet 0 gets a tag: no tag and no index is the null pointer.
        words = _HEADER_BYTES // 8
        self._free = np.zeros(words * self.packets, dtype=np.int64)
        self._free[::words] = np.arange(-1, self.packets - 1)
        self._free[0], self._free[words] = 0, self.packets

    @property
    def address(self) -> int:
        return self.allocation.base

    def empty(self) -> None:
        """Frees all packets, as at the start of a launch."""
        ctypes.memmove(self._headers, self._free.ctypes.data, self._free.nbytes)
        buffer = ffi.cast("HostcallBuffer *", self.address)
        buffer.headers, buffer.payloads = self._headers, self._payloads
        buffer.doorbell = self.address + _SIGNAL_OFFSET
        ctypes.memset(buffer.doorbell, 0, _SIGNAL_BYTES)
        buffer.free_stack = buffer.index_mask = self.packets - 1
        buffer.ready_stack = 0

    def header(self, pointer: int) -> CData:
        """A packet's `HostcallHeader`, by a pointer with its tag."""
        index = pointer & (self.packets - 1)
        return ffi.cast("HostcallHeader *", self._headers + index * _HEADER_BYTES)

    def slots(self, pointer: int) -> CData:
        """A packet's words: eight per lane."""
        index = pointer & (self.packets - 1)
        return ffi.cast("uint64_t *", self._payloads + index * _PAYLOAD_WORDS * 8)


@dataclass(slots=True)
class _Message:
    """The part of a printf that a lane has sent so far."""

    words: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Printed:
    """A complete message; `item` is the work-item in its group, `assertion` the text of an assertion."""

    group: int
    text: str
    to_stderr: bool
    assertion: Assertion | None = None


class Listener:
    """Answers one launch's hostcalls and collects its output.

    Args:
        console: address of the buffer of `console`; 0 if the kernel has none.
        wave_size: lanes of the kernel's waves.

    Attributes:
        buffer: address and size of the hostcall buffer.
        callback: function that answers the waves, as Launch.serve.
        error: an error in this code, to be raised when the launch has ended.
    """

    def __init__(self, buffer: Buffer, console: int, wave_size: int) -> None:
        self._console = console
        self._wave_size = wave_size
        self.buffer = buffer.address, buffer.allocation.size
        self._buffer = buffer
        self._messages: dict[int, _Message] = {}
        self._next_message = 1
        self._room = BYTES
        self._lost = False
        self._printed: list[_Printed] = []
        self.error: BaseException | None = None
        self.callback = ffi.callback("int32_t(uint64_t, uint32_t, uint64_t)", self._serve)

    def _serve(self, group: int, wave: int, pointer: int) -> int:
        """0 if the packet was answered; otherwise the number of a service that does not exist, or -1."""
        try:
            header = self._buffer.header(pointer)
            service = int(header.service)
            if service != PRINTF and not (service == PRINTED_BYTES and self._console):
                return service or -1
            slots = self._buffer.slots(pointer)
            for lane in range(self._wave_size):
                if header.lanes >> lane & 1:
                    at = lane * _SLOT_WORDS
                    item = wave * self._wave_size + lane
                    words = list(slots[at : at + _SLOT_WORDS])
                    if service == PRINTED_BYTES:
                        slots[at] = printed_bytes(self._console, words[0]) & (2**64 - 1)
                    else:
                        slots[at] = self._receive(group, item, words)
                    slots[at + 1] = 0
            header.control &= ~_READY
        except BaseException as error:
            self.error = self.error or error
            return -1
        return 0

    def _receive(self, group: int, item: int, slot: list[int]) -> int:
        """One part of a message; the descriptor for the next part, or after the last one printf's result."""
        descriptor = slot[0]
        number = descriptor >> _ID_SHIFT
        if descriptor & _BEGIN:
            number = self._begin()
            descriptor = (descriptor & ~_BEGIN) & ((1 << _ID_SHIFT) - 1) | number << _ID_SHIFT
        message = self._messages.get(number)
        if message is None:
            # No room, or no begin before it: the device libraries do neither.
            return 2**64 - 1 if descriptor & _END else 0
        words = slot[1 : 1 + (descriptor >> _LENGTH_SHIFT & _LENGTH_MASK)]
        if 8 * len(words) <= self._room:
            self._room -= 8 * len(words)
            message.words += words
        else:
            self._lost = True
        if not descriptor & _END:
            return descriptor
        del self._messages[number]
        printed = _message(group, item, message.words)
        if not self._lost:
            self._printed.append(printed)
        return bytes_of(printed.text)

    def _begin(self) -> int:
        """The number of a new message, 0 if there is no room for one."""
        if self._room < _MESSAGE_BYTES:
            self._lost = True
            return 0
        self._room -= _MESSAGE_BYTES
        number = self._next_message
        self._next_message += 1
        self._messages[number] = _Message()
        return number

    def take(self) -> tuple[list[_Printed], bool]:
        """Messages in the order of work-groups, and whether there were more than fit."""
        printed, self._printed = self._printed, []
        printed.sort(key=lambda entry: entry.group)
        return printed, self._lost


def _message(group: int, item: int, words: list[int]) -> _Printed:
    """A complete message, decoded from its words: stream, format, and arguments."""
    content = struct.pack(f"<{len(words)}Q", *words)
    to_stderr = bool(words and words[0] & _TO_STDERR)
    text, position = _text_at(content, 8)
    values: list[Value] = []
    for is_text in text_conversions(text):
        if position >= len(content):
            break
        if is_text:
            value, position = _text_at(content, position)
            values.append(value)
        else:
            values.append(struct.unpack_from("<Q", content, position)[0])
            position += 8
    assertion = None
    if to_stderr and text == _ASSERTION and len(values) == 4:
        file, line, function, condition = values
        assert isinstance(line, int)
        assertion = Assertion(group, item, str(condition), str(file), line & 0xFFFFFFFF, str(function))
    output = format_text(text, values)
    if to_stderr and (failed := _TRITON_ASSERTION.match(output)):
        condition, function, file, at = failed.groups()
        assertion = Assertion(group, item, condition, file, int(at), function)
    return _Printed(group, output, to_stderr, assertion)


def _text_at(content: bytes, position: int) -> tuple[str, int]:
    """A zero-terminated text, and where the next word after it begins."""
    end = content.find(b"\0", position)
    end = len(content) if end < 0 else end
    text = content[position:end].decode("utf-8", "surrogateescape")
    return text, position + (end - position + 8) // 8 * 8


# printf through a buffer

PRINTF_BYTES = BYTES
"""Size of the buffer behind hidden_printf_buffer, its head included."""

_HEAD_BYTES = 8
# First word of a record: the stream, whether the format is named by its hash, and the record's size in bytes.
_CONSTANT_FORMAT = 2
_SIZE_SHIFT = 2


def prepare_printf(address: int) -> None:
    """Set up an empty buffer of PRINTF_BYTES zero bytes: the bytes used, and the size."""
    head = (c_uint32 * 2).from_address(address)
    head[0], head[1] = 0, PRINTF_BYTES


def printf_formats(entries: object) -> dict[int, str]:
    """Formats by hash, from a code object's `amdhsa.printf`: "0:0:<hash>,<format>"."""
    formats: dict[int, str] = {}
    for entry in entries if isinstance(entries, list | tuple) else ():
        head, comma, text = str(entry).partition(",")
        number = head.rpartition(":")[2]
        if comma and head.startswith("0:0:"):
            try:
                formats[int(number, 16)] = text
            except ValueError:
                continue
    return formats


def drain_printf(
    address: int, formats: dict[int, str], text_of: Callable[[int], str | None]
) -> list[tuple[str, bool]]:
    """Empties the buffer: returns each printed text, and True with those for standard error.

    A record is its first word of four bytes, the format (its hash, or itself) and the arguments; texts are
    zero-terminated, and everything after the first word is in steps of eight bytes. If the compiler did not
    know the format, the arguments of %s are addresses.

    Args:
        formats: formats by hash.
        text_of: returns the text at a device address.
    """
    used = min(int(c_uint32.from_address(address).value), PRINTF_BYTES - _HEAD_BYTES)
    if not used:
        return []
    content = ctypes.string_at(address + _HEAD_BYTES, used)
    ctypes.memset(address, 0, _HEAD_BYTES + used)
    prepare_printf(address)
    return list(_records(content, formats, text_of))


def _records(
    content: bytes, formats: dict[int, str], text_of: Callable[[int], str | None]
) -> Iterator[tuple[str, bool]]:
    position = 0
    while position + 4 <= len(content):
        first = struct.unpack_from("<I", content, position)[0]
        size = first >> _SIZE_SHIFT
        # A wave that was stopped after it reserved space leaves no size; nothing after it can be found.
        if size < 4 or position + size > len(content):
            return
        record = content[position + 4 : position + size]
        position += size
        is_constant = bool(first & _CONSTANT_FORMAT)
        if is_constant:
            number = struct.unpack_from("<Q", record)[0] if len(record) >= 8 else 0
            text, at = formats.get(number, ""), 8
        else:
            text, at = _text_at(record, 0)
        values: list[Value] = []
        for is_text in text_conversions(text):
            if at + 8 > len(record):
                break
            if is_text and is_constant:
                value, at = _text_at(record, at)
                values.append(value)
            else:
                word = struct.unpack_from("<Q", record, at)[0]
                values.append(text_of(word) if is_text else word)
                at += 8
        yield format_text(text, values), bool(first & _TO_STDERR)


__all__ = [
    "ARGUMENT",
    "DEVICE_MEMORY",
    "FUNCTION_CALL",
    "PRINTED_BYTES",
    "PRINTF",
    "PRINTF_ARGUMENT",
    "PRINTF_BYTES",
    "SANITIZER",
    "Buffer",
    "Listener",
    "drain_printf",
    "prepare_printf",
    "printf_formats",
]
