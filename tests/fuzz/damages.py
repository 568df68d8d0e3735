"""Damage to code objects: to bytes, the file's end, sections, code, metadata, debug info."""

from __future__ import annotations

import io
import math
import random
import struct
from collections.abc import Callable
from typing import Any

import msgpack
from elftools.elf.elffile import ELFFile

from tests.codeobject.conftest import metadata_of, with_metadata

EDGES = (0, 1, -1, 0x7F, 0x80, 1 << 31, (1 << 32) - 1, 1 << 32, 1 << 63, (1 << 64) - 1)


def flips(generator: random.Random, data: bytes) -> bytes:
    """A few bits anywhere, or only in the headers."""
    changed = bytearray(data)
    limit = min(len(data), generator.choice((64, 0x400, len(data), len(data))))
    for _ in range(generator.choice((1, 2, 8, 64))):
        changed[generator.randrange(limit)] ^= 1 << generator.randrange(8)
    return bytes(changed)


def truncation(generator: random.Random, data: bytes) -> bytes:
    """Only the file's beginning; often only the last bytes are missing, so that it can still be read."""
    gone = generator.choice((1, 16, 64 * 8, len(data) // 8, len(data)))
    return data[: -generator.randrange(1, gone + 1)]


def swapped_sections(generator: random.Random, data: bytes) -> bytes:
    """Two sections with each other's content, name, or whole header."""
    changed = bytearray(data)
    (table,), (size, count) = struct.unpack_from("<Q", data, 40), struct.unpack_from("<HH", data, 58)
    first, other = (table + size * number for number in generator.sample(range(1, count), 2))
    kind = generator.randrange(3)
    if kind == 2:
        (at, length), (to, room) = (struct.unpack_from("<QQ", data, place + 24) for place in (first, other))
        some = min(length, room)
        changed[at : at + some], changed[to : to + some] = data[to : to + some], data[at : at + some]
    else:
        part = 4 if kind else size
        changed[first : first + part], changed[other : other + part] = (
            data[other : other + part],
            data[first : first + part],
        )
    return bytes(changed[: len(data)])


def random_words(generator: random.Random, data: bytes) -> bytes:
    """Instruction words of the code replaced by random words, or by others of the code."""
    start, size = _section(data, ".text")
    changed = bytearray(data)
    for _ in range(generator.choice((1, 2, 8, size // 4))):
        place, other = (start + 4 * generator.randrange(size // 4) for _ in range(2))
        word = generator.randbytes(4) if generator.random() < 0.5 else data[other : other + 4]
        changed[place : place + 4] = word
    return bytes(changed)


def descriptors(generator: random.Random, data: bytes) -> bytes:
    """Damages the kernel descriptors of a code object."""
    return _overwritten(generator, data, ".rodata")


def debug_info(generator: random.Random, data: bytes) -> bytes:
    """Sections of the debug info: numbers, offsets, abbreviations, line programs."""
    names = [section.name for section in _elf(data).iter_sections() if section.name.startswith(".debug")]
    for name in generator.sample(names, generator.randrange(1, len(names))):
        data = _overwritten(generator, data, name)
    return data


def metadata(generator: random.Random, data: bytes) -> bytes:
    """The record of kernels and arguments: other values, other kinds of values, more, less, or noise."""
    record = metadata_of(data)
    for _ in range(generator.choice((1, 1, 2, 5, 20))):
        holder: Any = record
        key: Any = generator.choice([*record, "amdhsa.printf"])
        while isinstance(holder.get(key) if isinstance(holder, dict) else holder[key], (dict, list)):
            if not holder[key] or generator.random() < 0.1:
                break
            holder = holder[key]
            key = generator.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        way = generator.random()
        if way < 0.15 and isinstance(holder, dict):
            holder.pop(key, None)
        elif way < 0.3 and isinstance(holder, list):
            holder.append(holder[key])
        elif way < 0.35 and isinstance(holder, dict):
            holder[_value(generator, 3)] = holder.pop(key, None)
        else:
            holder[key] = _value(generator)
    packed = msgpack.packb(record, strict_types=False)
    if generator.random() < 0.1:
        packed = flips(generator, packed)
    if generator.random() < 0.05:
        packed = generator.randbytes(generator.randrange(200))
    return with_metadata(data, packed)


WAYS: dict[Callable[[random.Random, bytes], bytes], float] = {
    flips: 0.1,
    truncation: 0.05,
    swapped_sections: 0.1,
    random_words: 0.2,
    descriptors: 0.15,
    metadata: 0.2,
    debug_info: 0.2,
}
"""Kinds with their share of the cases: rarely those that break the whole file, since they hide the rest."""


def damaged(generator: random.Random, data: bytes) -> bytes:
    """A code object, damaged in one way or in two."""
    (way,) = generator.choices(list(WAYS), list(WAYS.values()))
    data = way(generator, data)
    return flips(generator, data) if generator.random() < 0.1 else data


def _value(generator: random.Random, kinds: int = 6) -> Any:
    """A random value for a record of the metadata; the first three kinds can be keys."""
    way = generator.randrange(kinds)
    if way == 0:
        return generator.choice((*EDGES, -(1 << 63), generator.getrandbits(32)))
    if way == 1:
        return generator.choice(
            ("", "\0", "by_value", "global_buffer", "hidden_queue_ptr", "x" * 5000, "\ud7ff{}")
        )
    if way == 2:
        return generator.choice((b"", b"\xff\xfe", None, True, False, math.nan, math.inf, 0.5))
    if way == 3:
        return [_value(generator) for _ in range(generator.randrange(4))]
    if way == 4:
        return {_value(generator, 3): _value(generator) for _ in range(generator.randrange(4))}
    value: Any = 0
    for _ in range(generator.choice((3, 400))):
        value = [value]
    return value


def _overwritten(generator: random.Random, data: bytes, name: str) -> bytes:
    """A section with some bytes changed, to random values or to the edges of a number's range."""
    start, size = _section(data, name)
    changed = bytearray(data)
    for _ in range(generator.choice((1, 2, 8, 64)) if size else 0):
        place = start + generator.randrange(size)
        width = generator.choice((1, 1, 2, 4, 8))
        new = generator.choice((generator.choice(EDGES), generator.getrandbits(64))) & (1 << 8 * width) - 1
        changed[place : place + width] = new.to_bytes(width, "little")
    return bytes(changed[: len(data)])


def _elf(data: bytes) -> ELFFile:
    return ELFFile(io.BytesIO(data))


def _section(data: bytes, name: str) -> tuple[int, int]:
    """Offset and size of a section in the file, in bytes; zeros if there is no such section."""
    section = _elf(data).get_section_by_name(name)
    return (section["sh_offset"], section["sh_size"]) if section is not None else (0, 0)
