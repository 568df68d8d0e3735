"""Damage to files, by the test's seed: a damaged file must never give another result."""

from __future__ import annotations

import random


def damaged(data: bytes, other: bytes) -> bytes:
    """The bytes flipped, truncated, removed, extended or overwritten in part, or those of another file."""
    place = random.randrange(len(data))
    changed = bytearray(data)
    way = random.randrange(6)
    if way == 0:
        for _ in range(random.choice((1, 1, 1, 2, 50))):
            changed[random.randrange(len(data))] ^= 1 << random.randrange(8)
    elif way == 1:
        del changed[place:]
    elif way == 2:
        changed += random.randbytes(random.randrange(1, 100))
    elif way == 3:
        changed[place : place + 16] = random.randbytes(16)
    elif way == 4:
        changed = bytearray(random.randbytes(random.randrange(200)))
    else:
        changed = bytearray(other)
    return bytes(changed)
