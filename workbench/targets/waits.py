"""Counters of a wave's requests under way, and the instructions that wait until few enough are left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum


class Request(Enum):
    """What an instruction requests that arrives later, by the counter that may count it."""

    LOAD = "vector memory load"
    STORE = "vector memory store"
    LDS = "LDS access"
    SCALAR = "scalar load"
    MESSAGE = "message"
    EXPORT = "export"
    SAMPLE = "image sample"
    RAY = "ray intersection"
    ASYNC = "asynchronous copy to or from LDS"
    TENSOR = "copy of a tensor's tile to or from LDS"


@dataclass(frozen=True)
class WaitCounter:
    """A counter.

    Attributes:
        name: the ISA's name: "vmcnt".
        requests: what it counts.
        fields: by opcode of each instruction that can wait for it, the count's place in the instruction's
            16 bits: pieces of (lowest bit, width), the count's low bits first; none if the instruction waits
            until no request is left.
    """

    name: str
    requests: frozenset[Request]
    fields: Mapping[str, tuple[tuple[int, int], ...]]

    def count(self, opcode: str, field: int) -> int | None:
        """Requests that may be left after a wait; None if it does not wait for this counter: all ones."""
        pieces = self.fields.get(opcode)
        if pieces is None:
            return None
        count = shift = 0
        for low, width in pieces:
            count |= (field >> low & (1 << width) - 1) << shift
            shift += width
        return None if pieces and count == (1 << shift) - 1 else count

    def field(self, opcode: str, count: int) -> int:
        """The bits of `count` at their places in a wait."""
        field = 0
        for low, width in self.fields[opcode]:
            field |= (count & (1 << width) - 1) << low
            count >>= width
        return field

    def wait(self, count: int | None = None) -> str:
        """A wait for it in assembly, such as "s_waitcnt vmcnt(0)"; without `count`, "s_waitcnt vmcnt"."""
        opcode = next(iter(self.fields))
        if opcode == "s_waitcnt":
            return f"{opcode} {self.name}" + ("" if count is None else f"({count})")
        return opcode if count is None else f"{opcode} {count}"

    def no_wait(self, opcode: str) -> int:
        """The count, all ones, by which a wait leaves this counter alone."""
        return (1 << sum(width for _, width in self.fields[opcode])) - 1


@dataclass(frozen=True)
class WaitCounters:
    """The counters of a target, in the order in which an assembler prints them."""

    counters: tuple[WaitCounter, ...]

    def __iter__(self) -> Iterator[WaitCounter]:
        return iter(self.counters)

    def __getitem__(self, name: str) -> WaitCounter:
        return next(counter for counter in self.counters if counter.name == name)

    def of(self, request: Request) -> WaitCounter | None:
        """The counter of a request; None if the target has no such requests."""
        return next((counter for counter in self.counters if request in counter.requests), None)

    def left(self, opcode: str, field: int) -> dict[str, int]:
        """By name of each counter that a wait waits for, the requests that may be left after it."""
        counts = ((counter.name, counter.count(opcode, field)) for counter in self.counters)
        return {name: count for name, count in counts if count is not None}


GFX9_WAIT = "s_waitcnt"
"""The instruction with the counts of all of `GFX9_WAITS`."""

GFX9_WAITS = WaitCounters(
    (
        WaitCounter("vmcnt", frozenset((Request.LOAD, Request.STORE)), {GFX9_WAIT: ((0, 4), (14, 2))}),
        WaitCounter("expcnt", frozenset((Request.EXPORT,)), {GFX9_WAIT: ((4, 3),)}),
        WaitCounter(
            "lgkmcnt",
            frozenset((Request.LDS, Request.SCALAR, Request.MESSAGE)),
            {GFX9_WAIT: ((8, 4),)},
        ),
    )
)
"""vmcnt has six bits, 3:0 and 15:14, expcnt three, 6:4, lgkmcnt four, 11:8 (CDNA3 ISA guide, S_WAITCNT)."""

GFX11_WAITS = WaitCounters(
    (
        WaitCounter(
            "vmcnt", frozenset((Request.LOAD,)), {"s_waitcnt": ((10, 6),), "s_waitcnt_vmcnt": ((0, 6),)}
        ),
        WaitCounter(
            "expcnt", frozenset((Request.EXPORT,)), {"s_waitcnt": ((0, 3),), "s_waitcnt_expcnt": ((0, 3),)}
        ),
        WaitCounter(
            "lgkmcnt",
            frozenset((Request.LDS, Request.SCALAR, Request.MESSAGE)),
            {"s_waitcnt": ((4, 6),), "s_waitcnt_lgkmcnt": ((0, 6),)},
        ),
        WaitCounter("vscnt", frozenset((Request.STORE,)), {"s_waitcnt_vscnt": ((0, 6),)}),
    )
)
"""Three counters in s_waitcnt, and an instruction for one of the four, whose count has a register beside it
(RDNA3 ISA guide, "Data dependency resolution", S_WAITCNT; widths: LLVM, AMDGPUBaseInfo.cpp)."""

_IDLE = "s_wait_idle"
"""gfx12's wait for all that is under way."""


def _own(name: str, width: int, *requests: Request, joint: tuple[str, int] | None = None) -> WaitCounter:
    """A counter with an instruction of its own, and one for two counters with its count at a bit of it."""
    fields: dict[str, tuple[tuple[int, int], ...]] = {f"s_wait_{name}": ((0, width),)}
    if joint is not None:
        fields[joint[0]] = ((joint[1], width),)
    fields[_IDLE] = ()
    return WaitCounter(name, frozenset(requests), fields)


_LOAD_AND_LDS, _STORE_AND_LDS = "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt"
_DS = WaitCounter(
    "dscnt",
    frozenset((Request.LDS,)),
    {"s_wait_dscnt": ((0, 6),), _LOAD_AND_LDS: ((0, 6),), _STORE_AND_LDS: ((0, 6),), _IDLE: ()},
)
GFX12_WAITS = WaitCounters(
    (
        _own("loadcnt", 6, Request.LOAD, joint=(_LOAD_AND_LDS, 8)),
        _own("samplecnt", 6, Request.SAMPLE),
        _own("bvhcnt", 3, Request.RAY),
        _own("kmcnt", 5, Request.SCALAR, Request.MESSAGE),
        _own("expcnt", 3, Request.EXPORT),
        _own("storecnt", 6, Request.STORE, joint=(_STORE_AND_LDS, 8)),
        _DS,
    )
)
"""A counter each, and two instructions that wait for two (RDNA4 ISA guide, "Data dependency resolution";
widths: LLVM, AMDGPUBaseInfo.cpp)."""
GFX1250_WAITS = WaitCounters(
    (
        *GFX12_WAITS.counters,
        _own("asynccnt", 6, Request.ASYNC),
        _own("tensorcnt", 6, Request.TENSOR),
        _own("xcnt", 6),
    )
)
"""Those of gfx12, and counters of copies beside registers (LLVM, AMDGPUUsage, "Memory Model GFX125x"). xcnt
counts translations of addresses: it matters where an access is replayed after a page fault, never here."""
