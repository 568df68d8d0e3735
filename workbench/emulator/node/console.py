"""Output of kernels: reads the records that printf and assert leave in a launch's buffer.

The device side, with the layout of a record, is toolchain/include/hip/device/console.h. Records are shown
when the kernel has ended, in the order of work-groups and within one as they were made, so that the same
launch prints the same whatever the thread count.
"""

from __future__ import annotations

import ctypes
import re
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workbench.events import hub

SYMBOL = "hipkittens_console"
"""The variable of a code object that holds the buffer's address."""

HOSTCALLS_SYMBOL = "hipkittens_hostcalls"
"""The variable that holds the address of the buffer of hostcalls, for code that uses printf's result."""

BYTES = 16 << 20
"""Size of the buffer in bytes; memory is committed only as far as kernels print."""

LOST = f"hipkittens: the kernel printed more than {BYTES >> 20} MB; the rest is lost\n"
"""Text shown in place of output beyond the limit."""

_HEAD_WORDS = 2
_ROOM_WORDS = BYTES // 8 - _HEAD_WORDS
_RECORD_WORDS = 3
_PRINT, _ASSERTION = 1, 2
_INTEGER, _REAL, _TEXT = 1, 2, 3
_CONVERSION = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d+)?)?"
    r"(?P<length>hh|h|ll|l|q|j|z|t|L)?(?P<kind>[diouxXeEfFgGaAcspn%])"
)
# More padding than anyone wants to see, but cheap to produce.
_WIDEST = 4096
_BITS = {"hh": 8, "h": 16, None: 32}

Value = int | float | str | None
"""An argument of printf; None for a text at an unreadable address."""


def _print(text: str, to_stderr: bool) -> None:
    # Kernels print bytes; a text stream rejects bytes that are not UTF-8.
    text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    stream = sys.stderr if to_stderr else sys.stdout
    stream.write(text)
    stream.flush()
    hub.publish("print", "device", {"text": text})


writer: Callable[[str, bool], None] = _print
"""Shows a text, on standard error if the second argument says so."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """An assertion that failed.

    Attributes:
        group, item: linear indices of the work-group and of the work-item in it.
        condition, file, line, function: as the assert macro knows them.
    """

    group: int
    item: int
    condition: str
    file: str
    line: int
    function: str


def prepare(address: int) -> None:
    """Empty a buffer of BYTES zero bytes at a device address."""
    header = (ctypes.c_uint64 * _HEAD_WORDS).from_address(address)
    header[0], header[1] = 0, _ROOM_WORDS


def drain(address: int) -> tuple[str, list[Assertion]]:
    """The text that a launch's work-items printed and the assertions that failed; empties the buffer."""
    header = (ctypes.c_uint64 * _HEAD_WORDS).from_address(address)
    used = header[0]
    if used == 0:
        return "", []
    # Kernels can write anything here: sizes in the buffer are not trusted.
    words = min(used, _ROOM_WORDS)
    content = ctypes.string_at(address + 8 * _HEAD_WORDS, 8 * words)
    ctypes.memset(address + 8 * _HEAD_WORDS, 0, 8 * words)
    prepare(address)
    printed: list[tuple[int, str]] = []
    assertions: list[Assertion] = []
    for kind, group, item, reader in _records(content):
        try:
            if kind == _PRINT:
                printed.append((group, reader.formatted()))
            elif kind == _ASSERTION:
                line = reader.word()
                texts = [reader.text() for _ in range(3)]
                assertions.append(Assertion(group, item, texts[0], texts[1], line, texts[2]))
        except _DamagedRecord:
            printed.append((group, "hipkittens: a record of printf was overwritten by the kernel\n"))
    printed.sort(key=lambda entry: entry[0])
    assertions.sort(key=lambda entry: (entry.group, entry.item))
    text = "".join(entry for _, entry in printed)
    if used > _ROOM_WORDS:
        text += LOST
    return text, assertions


def printed_bytes(address: int, record: int) -> int:
    """Bytes that one record of the buffer prints; -1 if it is not a complete record of printf.

    Args:
        address: the buffer's.
        record: device address of the record's head.
    """
    start, end = address + 8 * _HEAD_WORDS, address + BYTES
    if not start <= record <= end - 8 * _RECORD_WORDS or record % 8:
        return -1
    head = ctypes.c_uint64.from_address(record).value
    size = 8 * (head & 0xFFFFFFFF)
    if head >> 32 != _PRINT or size < 8 * _RECORD_WORDS or record + size > end:
        return -1
    try:
        return bytes_of(_Reader(ctypes.string_at(record, size), 8 * _RECORD_WORDS, size).formatted())
    except _DamagedRecord:
        return -1


def bytes_of(text: str) -> int:
    """Bytes of a text that a kernel prints."""
    return len(text.encode("utf-8", "surrogateescape"))


class _DamagedRecord(Exception):
    """A record's own words claim more than it has room for."""


class _Reader:
    """The words of one record after its head."""

    def __init__(self, content: bytes, start: int, end: int) -> None:
        self._content = content
        self._at = start
        self._end = end

    def _take(self, size: int) -> bytes:
        start, self._at = self._at, self._at + size
        if self._at > self._end:
            raise _DamagedRecord
        return self._content[start : self._at]

    def word(self) -> int:
        return int.from_bytes(self._take(8), "little")

    def text(self) -> str:
        length = self.word()
        return self._take(-(-length // 8) * 8)[:length].decode("utf-8", "surrogateescape")

    def values(self) -> Iterator[Value]:
        while self._at < self._end:
            tag = self.word()
            if tag == _TEXT:
                yield self.text()
            elif tag == _REAL:
                yield struct.unpack("<d", struct.pack("<Q", self.word()))[0]
            else:
                yield self.word()

    def formatted(self) -> str:
        return format_text(self.text(), list(self.values()))


def _records(content: bytes) -> Iterator[tuple[int, int, int, _Reader]]:
    position = 0
    while position + 8 * _RECORD_WORDS <= len(content):
        head, group, item = struct.unpack_from("<QQQ", content, position)
        size = 8 * (head & 0xFFFFFFFF)
        end = position + size
        # A wave that was stopped after it reserved space leaves no length; nothing after it can be found.
        if size < 8 * _RECORD_WORDS or end > len(content):
            return
        yield head >> 32, group, item, _Reader(content, position + 8 * _RECORD_WORDS, end)
        position = end


def text_conversions(text: str) -> Iterator[bool]:
    """For each argument that a format takes, whether it is a text."""
    for match in _CONVERSION.finditer(text):
        if match["kind"] == "%":
            continue
        for starred in ("width", "precision"):
            if match[starred] == "*":
                yield False
        yield match["kind"] == "s"


def format_text(text: str, values: list[Value]) -> str:
    """The text that C's printf would print for a format and its arguments.

    Args:
        values: integers as 64-bit patterns, floats, texts (None for a null pointer). A conversion without an
            argument stays as it is.
    """
    # C's widths, precisions and %c count bytes, so each byte becomes a Latin-1 character.
    left = iter(_latin(value) if isinstance(value, str) else value for value in values)
    missing = object()

    def number(field: str | None) -> int | None:
        if field != "*":
            return min(int(field), _WIDEST) if field else None
        value = next(left, 0)
        return max(-_WIDEST, min(_signed(value, 32), _WIDEST)) if isinstance(value, int) else 0

    def replace(match: re.Match[str]) -> str:
        kind = match["kind"]
        if kind == "%":
            return "%"
        width = number(match["width"])
        has_precision = "." in match[0]
        precision = number(match["precision"]) if has_precision else None
        if has_precision and precision is None:
            precision = 0
        if precision is not None and precision < 0:
            precision = None
        value = next(left, missing)
        if value is missing:
            return match[0]
        if kind == "n":
            return ""
        flags = match["flags"]
        if width is not None and width < 0:
            flags, width = flags + "-", -width
        specification = "%" + "".join(dict.fromkeys(flags))
        specification += str(width) if width is not None else ""
        return _convert(kind, match["length"], specification, precision, value)

    formatted = _CONVERSION.sub(replace, _latin(text))
    return formatted.encode("latin-1").decode("utf-8", "surrogateescape")


def _latin(text: str) -> str:
    return text.encode("utf-8", "surrogateescape").decode("latin-1")


def _convert(kind: str, length: str | None, specification: str, precision: int | None, value: object) -> str:
    dotted = specification + (f".{precision}" if precision is not None else "")
    if kind == "s":
        return (dotted + "s") % ("(null)" if value is None else value)
    if isinstance(value, str) or value is None:
        # A text in place of a number has no value to print.
        value = 0
    assert isinstance(value, int | float)
    if kind in "eEfFgGaA":
        real: float = value if isinstance(value, float) else struct.unpack("<d", struct.pack("<Q", value))[0]
        if kind not in "aA":
            return str((dotted + kind) % real)
        plain = real.hex()
        return (specification + "s") % (plain.upper() if kind == "A" else plain)
    bits: int = value if isinstance(value, int) else struct.unpack("<Q", struct.pack("<d", value))[0]
    size = _BITS.get(length, 64)
    if kind == "c":
        return (specification + "c") % chr(bits & 0xFF)
    if kind == "p":
        return (specification.replace("#", "") + "s") % (f"{bits:#x}" if bits else "(nil)")
    if kind in "di":
        return (dotted + "d") % _signed(bits, size)
    unsigned: int = bits & (2**size - 1)
    # A number without a sign has none to print.
    specification, dotted = (text.replace("+", "").replace(" ", "") for text in (specification, dotted))
    if kind == "o":
        plain, dotted = (text.replace("#", "") for text in (specification, dotted))
        digits = (dotted + "o") % unsigned
        if "#" in specification and not digits.lstrip().startswith("0"):
            # C raises the precision until the first digit is a zero.
            digits = f"{plain}.{len(f'{unsigned:o}') + 1}o" % unsigned
        return digits
    if kind == "u":
        return (dotted.replace("#", "") + "d") % unsigned
    return (dotted.replace("#", "" if unsigned == 0 else "#") + kind) % unsigned


def _signed(value: int, bits: int) -> int:
    value &= 2**bits - 1
    return value - 2**bits if value >> (bits - 1) else value
