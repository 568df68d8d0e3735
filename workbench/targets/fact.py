"""A figure with its original statement and source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

_BASE_UNITS: Mapping[str, int] = {
    "": 1,
    "bits": 1,
    "bytes": 1,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "bytes/clock": 1,
    "operations/clock": 1,
    "TB/s": 10**12,
    "MHz": 10**6,
    "ns": 1,
    "ms": 1,
    "W": 1,
    "permille": 1,
    "cycles": 1,
    "%": 1,
}


class Fact(int):
    """A number of a data sheet: an integer in base units, with the original statement and its source.

    `Fact(5.3, "TB/s", "...")` computes as 5300000000000 and prints as "5.3 TB/s".

    Attributes:
        stated: value and unit as in the source.
        source: document and place, and why it was preferred if others disagree.
    """

    stated: str
    source: str

    def __new__(cls, value: float, unit: str, source: str) -> Self:
        """Args:
        value: as stated.
        unit: one of "", "bits", "bytes", "KiB", "MiB", "GiB", "bytes/clock", "operations/clock", "TB/s",
            "MHz", "ns", "ms", "W", "permille", "cycles", "%"; base units are bytes, bytes/s, Hz, ns, ms, W.
        source: document and place.
        """
        self = super().__new__(cls, round(value * _BASE_UNITS[unit]))
        self.stated = f"{value:,} {unit}".rstrip()
        self.source = source
        return self

    def __reduce__(self) -> tuple[object, ...]:
        value, _, unit = self.stated.partition(" ")
        return type(self), (float(value.replace(",", "")), unit, self.source)
