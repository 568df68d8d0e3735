"""Launches as data: the records that you request from a launch, and its results.

The emulated device fills these records and the runtime passes them on; on a GPU a launch reports only its
time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from workbench.approximation import Approximation
from workbench.display import Shown
from workbench.lateness import Lateness
from workbench.origin import Figure

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

Dim = tuple[int, int, int]
"""(x, y, z)."""

DWORD = 4
"""Granularity of host memory for reads of a kernel, in bytes: reading past the end of a tensor in the same
dword is harmless."""


class BufferLabel(NamedTuple):
    """A buffer of a launch, in the words of an error message.

    Attributes:
        text: description, such as "argument 'x' (float32 tensor 100)".
        element: bytes of an element, the first of which is at the buffer's start; 0 if it has no elements
            of one size.
    """

    text: str
    element: int = 0


class AccessKind(IntEnum):
    """Memory and direction of an access."""

    LDS_READ = 1
    LDS_WRITE = 2
    GLOBAL_READ = 3
    GLOBAL_WRITE = 4
    TO_LDS = 5
    """The LDS side of a load straight to LDS; its global side is a GLOBAL_READ of the same instruction."""


@dataclass(frozen=True, slots=True)
class Phase:
    """Lanes that the LDS serves in the same cycle, if without conflicts.

    Attributes:
        lanes: all lanes of the phase, active or not, ascending.
        cycles: cycles of the phase; those beyond the first are bank conflicts. 0 if no lane was active.
        conflicting_banks: banks with more than one access.
    """

    lanes: tuple[int, ...]
    cycles: int
    conflicting_banks: frozenset[int] = frozenset()

    @property
    def conflicts(self) -> int:
        return max(0, self.cycles - 1)


@dataclass(frozen=True, slots=True)
class Access:
    """One memory instruction of one wave; an instruction with two addresses is two accesses.

    Attributes:
        kind: type of the access.
        pc: code object address of the instruction.
        group: linear index of the work-group.
        wave: index of the wave in its work-group.
        bytes: bytes of each lane.
        addresses: by active lane, ascending: device address, or byte offset in the work-group's LDS.
        banks: LDS banks of 4 bytes that serve it; 0 for global memory and loads straight to LDS.
        phases: phases in order; empty if `banks` is 0.
        measured: True if the phases agree with a hardware counter; else they are modelled.
    """

    kind: AccessKind
    pc: int
    group: int
    wave: int
    bytes: int
    addresses: dict[int, int]
    banks: int = 0
    phases: tuple[Phase, ...] = ()
    measured: bool = False

    @property
    def conflicts(self) -> int:
        """SQ_LDS_BANK_CONFLICT of the instruction: cycles beyond the first of each phase."""
        return sum(phase.conflicts for phase in self.phases)


LIMIT = 1 << 23
"""Lines to record per launch and thread, 8 bytes each; for more lines, fewer sets are sampled."""


@dataclass(frozen=True, slots=True)
class Watched:
    """Memory whose writers to record: `count` elements of `element` bytes from address `base`.

    `name` says what it is.
    """

    base: int
    element: int
    count: int
    name: str = ""


@dataclass(frozen=True, slots=True)
class TrafficOptions:
    """Traffic to record in addition to the counts by instruction.

    Attributes:
        lines: the lines that each wave touches, for `Traffic.replay`.
        watched: memory for which the work-group that wrote each element is recorded.
        tensors: also watch the launch's contiguous tensors of at most this many elements.
        limit: maximum number of recorded lines; beyond it only those of some sets are kept.
    """

    lines: bool = True
    watched: tuple[Watched, ...] = ()
    tensors: int = 0
    limit: int = LIMIT


@dataclass(frozen=True, slots=True)
class Site:
    """Totals of one instruction over all of its executions.

    Attributes:
        lds_cycles, lds_bank_conflict: LDS cycles, and the part of them due to bank conflicts.
        lds_bytes: bytes that lanes read from or wrote to LDS.
        bytes: bytes that lanes loaded from or stored to global memory.
        accesses: distinct 64-byte pieces, summed over the executions.
        line_bytes: bytes of distinct 128-byte lines, summed over the executions.
    """

    lds_cycles: int = 0
    lds_bank_conflict: int = 0
    lds_bytes: int = 0
    bytes: int = 0
    accesses: int = 0
    line_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """Sizes of the modelled caches.

    Attributes:
        xcds, units: number of dies (XCDs), and of compute units in each.
        l1_bytes: size of a compute unit's vector cache.
        l2_bytes: size of a die's L2.
        mall_bytes: size of the Infinity Cache that all dies share.
        l1_ways, l2_ways, mall_ways: associativity of each cache; lines have 128 bytes.
    """

    xcds: int
    units: int
    l1_bytes: int
    l2_bytes: int
    mall_bytes: int
    l1_ways: int = 16
    l2_ways: int = 16
    mall_ways: int = 16


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """Counts of the modelled caches of one die.

    Attributes:
        l1_reads, l1_read_hits: lines that loads requested from L1, and hits among them.
        l2_reads, l2_writes, l2_atomics: requests to L2: reads of a line, writes of 64 bytes, atomics.
        l2_hits, l2_misses: hits and misses of all requests.
        l2_read_hits: hits of the reads.
        fabric_reads: reads of 128 bytes from L2 to the Infinity Cache.
        fabric_writes_32, fabric_writes_64: writes of 32 and 64 bytes from L2.
        mall_read_hits, mall_read_misses: reads that hit the Infinity Cache, and reads that went to HBM.
        memory_bytes_written: bytes from the Infinity Cache to HBM, including dirty lines left at the end.
    """

    l1_reads: int = 0
    l1_read_hits: int = 0
    l2_reads: int = 0
    l2_writes: int = 0
    l2_atomics: int = 0
    l2_hits: int = 0
    l2_misses: int = 0
    l2_read_hits: int = 0
    fabric_reads: int = 0
    fabric_writes_32: int = 0
    fabric_writes_64: int = 0
    mall_read_hits: int = 0
    mall_read_misses: int = 0
    memory_bytes_written: int = 0

    @property
    def l2_requests(self) -> int:
        return self.l2_hits + self.l2_misses

    @property
    def l2_hit_rate(self) -> float | None:
        """0 to 1; None if there were no requests to L2."""
        return self.l2_hits / self.l2_requests if self.l2_requests else None

    @classmethod
    def total(cls, parts: Iterable[CacheCounts]) -> CacheCounts:
        """The sum of the counts of several dies."""
        counts = list(parts)
        return cls(**{f.name: sum(getattr(p, f.name) for p in counts) for f in fields(cls)})


@dataclass(frozen=True, slots=True)
class Replayed:
    """Outcome of a replay.

    Attributes:
        dies: cache counts of each die; multiplied by 2**`sampling` if only some sets were replayed.
        sampling: one set in 2**`sampling` was replayed; 0 for all.
        levels: by code object address of an instruction: how many of its replayed lines L1, L2, the Infinity
            Cache and HBM served; writes count for L2.
    """

    dies: tuple[CacheCounts, ...]
    sampling: int
    levels: Mapping[int, tuple[int, ...]] = field(default_factory=dict, repr=False)

    @property
    def total(self) -> CacheCounts:
        return CacheCounts.total(self.dies)


class Traffic(Protocol):
    """Memory traffic of one launch.

    Attributes:
        group_total, waves: work-groups of the launch, and waves of one.
        watched: memory whose writers are known.
    """

    group_total: int
    waves: int
    watched: tuple[Watched, ...]

    def sites(self) -> dict[int, Site]:
        """Totals of each instruction, by code object address; instructions that did nothing are absent."""

    def writers(self, index: int = 0) -> npt.NDArray[np.int64]:
        """[elements] the work-group that wrote each element of `TrafficOptions.watched[index]`; -1 for none.

        If several did, the highest number.
        """

    def replay(
        self,
        hierarchy: Hierarchy,
        groups_per_unit: int,
        order: Sequence[int] | None = None,
        rounds: int = 1,
        first: int | None = None,
        limit: int | None = None,
    ) -> Replayed:
        """Replays the lines that the waves touched in a model of a GPU's caches.

        Args:
            hierarchy: the caches.
            groups_per_unit: work-groups that a compute unit holds at once.
            order: work-groups in dispatch order; None for order by number.
            rounds: number of consecutive launches; the result is that of the last, which finds in the
                Infinity Cache what the others left there. L1 and L2 are empty at the start of each.
            first: replay only this many work-groups, from the first; None for all.
            limit: maximum number of lines to replay, if less than recorded.

        Raises:
            UsageError: the lines were not recorded or have been released; `order` is not a permutation, or
                came with `first`.
            LaunchError: there was not enough memory.
        """

    def release(self) -> None:
        """Frees the lines and the record of writers, but not the counts by instruction."""


STEP: Sequence[tuple[str, str]] = (
    ("block", "i4"),
    ("place", "u4"),
    ("lds_cycles", "u2"),
    ("lines", "u2"),
    ("turns", "u2"),
    ("bytes", "u2"),
)
"""Fields of a wave's steps, as NumPy names types. `block`: index of a basic block that it ran, or -1 for the
cost of a memory instruction of the previous block: `place`, the instruction's dword in the code; `lds_cycles`
that LDS served it; distinct 128-byte `lines` that it touched; `turns` of L1, which takes sixteen lanes of a
dword at once if they lie in one 64-byte piece, otherwise a piece of four lanes; `bytes` of all its lanes."""


@dataclass(frozen=True, slots=True)
class StepOptions:
    """Selects the work-groups whose steps a launch records.

    Attributes:
        groups: maximum number of recorded work-groups, spread over the launch from the first to the last.
        alone_from: in launches of at least this many work-groups only the recorded ones and `also` run;
            memory that the others would write stays unchanged. None to run all.
        also: further work-groups to run in that case.
    """

    groups: int = 24
    alone_from: int | None = None
    also: tuple[int, ...] = ()

    def is_alone(self, total: int) -> bool:
        """True if the other of `total` work-groups do not run."""
        return self.alone_from is not None and total >= self.alone_from

    def chosen(self, total: int) -> tuple[int, ...]:
        """Work-groups by number, ascending: all if there are no more than requested.

        They follow a golden-ratio sequence, so that they do not coincide with the period of a grid.
        """
        if total <= self.groups:
            return tuple(range(total))
        places = {0, total - 1}
        turn = 0
        while len(places) < self.groups:
            turn += 1
            places.add(int(total * (turn * 0.6180339887498949 % 1.0)))
        return tuple(sorted(places))


@dataclass(frozen=True, slots=True)
class WaveSteps:
    """The recorded steps of one wave.

    Attributes:
        steps: [steps] of the type `STEP`.
        cut: True if later steps are missing because there were too many.
    """

    steps: npt.NDArray[np.void]
    cut: bool


class Steps(Protocol):
    """The recorded steps of waves through a kernel.

    Attributes:
        group_total, waves: number of work-groups in the launch, and of waves in each.
        groups: work-groups whose steps are recorded.
        hashes: [work-groups] hash of the path; equal if all waves took the same path.
        executed: [work-groups] number of basic blocks that its waves ran; 0 if it did not run.
        is_whole: True if all work-groups ran.
        text: code object address of the code's first byte.
        blocks: instruction addresses of each basic block.
    """

    group_total: int
    waves: int
    is_whole: bool
    text: int
    groups: tuple[int, ...]
    hashes: npt.NDArray[np.uint64]
    executed: npt.NDArray[np.uint64]
    blocks: tuple[tuple[int, ...], ...]

    def waves_of(self, group: int) -> tuple[WaveSteps, ...]:
        """Steps of the waves of a work-group in `groups`; those that ran nothing are absent.

        Raises:
            LaunchError: there was not enough memory to record them.
        """

    def release(self) -> None:
        """Frees the data that only `waves_of` needs, once it has been read."""


@dataclass(frozen=True, slots=True)
class TapeOptions:
    """Selects the work-group of which a launch records every change of state.

    Attributes:
        group: its linear number, or (x, y, z). It runs alone: memory that the others would write stays
            unchanged.
        wave, skip: the tape begins when this wave has executed `skip` instructions.
        bytes: limit on the tape's size in this computer's memory; later events are dropped.
    """

    group: int | Dim = 0
    wave: int = 0
    skip: int = 0
    bytes: int = 1 << 30


EVENT: Sequence[tuple[str, str]] = (("at", "u8"), ("accesses", "u8"), ("block", "i4"), ("wave", "u4"))
"""Fields of a tape's events. `block`: what `wave` ran; `accesses`: of memory, before it."""


@dataclass(slots=True)
class Held:
    """Contents of the registers and LDS that the waves of a work-group hold.

    Attributes:
        scalars: [waves, 130] by their number in instructions; then SCC and MODE.
        rows: [waves, registers, lanes] vector registers, AGPRs after the VGPRs.
        lds: [bytes].
        scratch: [waves, dwords, lanes].
    """

    scalars: npt.NDArray[np.uint32]
    rows: npt.NDArray[np.uint32]
    lds: npt.NDArray[np.uint8]
    scratch: npt.NDArray[np.uint32]

    @property
    def wave_size(self) -> int:
        """Lanes of a wave."""
        return int(self.rows.shape[2])

    def exec(self, wave: int) -> int:
        """A wave's mask of active lanes: as many registers as it has lanes, from number 126 on."""
        words = self.scalars[wave, 126 : 126 + self.wave_size // 32]
        return sum(int(word) << 32 * place for place, word in enumerate(words))


class Change(NamedTuple):
    """Change of a register by one event, or of 64 bytes of memory on the chip.

    Attributes:
        kind: "scalar", "row", "lds" or "scratch".
        place: number of a scalar or a row, or of 64 bytes of the LDS or of the wave's scratch.
        bits: the exclusive or of before and after: one number, one for each lane, or 16.
    """

    kind: str
    place: int
    bits: npt.NDArray[np.uint32]


class Tape(Protocol):
    """Every step of the waves of one work-group, instruction by instruction, in the order of execution.

    Attributes:
        group: linear number of the work-group.
        events: events of type `EVENT`.
        blocks: instruction addresses of each block: one instruction, or loads that execute as one.
        accesses: memory accesses, as in `LaunchRecord.accesses`, including those before the tape began.
        cut: True if the tape was full before the end.
        acc_offset: number of the vector register that is AGPR 0.
    """

    group: int
    blocks: tuple[tuple[int, ...], ...]
    acc_offset: int

    @property
    def events(self) -> npt.NDArray[np.void]: ...

    @property
    def accesses(self) -> Sequence[Access]: ...
    @property
    def cut(self) -> bool: ...

    def begin(self) -> Held:
        """The registers and the memory on the chip before the first event."""

    def changes(self, event: int) -> tuple[Change, ...]:
        """The registers and the memory on the chip that an event changed."""

    def move(self, held: Held, start: int, end: int) -> None:
        """Turns the state before event `start` into that before event `end`, in either direction."""


AFTER_RACE = "after race"
READS_OUTSIDE = "reads outside"


@dataclass(frozen=True, slots=True)
class RawFinding:
    """One faulty instruction, as the sanitizer reports it: without source lines.

    Attributes:
        category: "missing wait", "race", "uninitialised", "out of bounds", "misaligned", "hazard", "missed
            barrier"; "note" for remarks that are not errors.
        message: the fault and the remedy.
        pc: code object address of the instruction.
        other_pc: the instruction on the other side (the load, the other access); None if there is none.
        workgroup, wave, lane: where it occurred first; lane is None if it concerns the whole wave.
        address: device address, or byte offset in LDS; None if there is none.
        count: number of occurrences.
        kind: equal for findings of one kind, which is narrower than a category: the counter of a wait, the
            rule of a hazard, the memory that is accessed. It begins with `READS_OUTSIDE` for reads of an
            address (`address`) that is in no memory. `AFTER_RACE`: an uninitialised value from an access
            that is part of a race, or that nothing waited for.
    """

    category: str
    message: str
    pc: int
    other_pc: int | None
    workgroup: tuple[int, int, int]
    wave: int
    lane: int | None
    address: int | None
    count: int
    kind: str = ""


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """Observations of a launch, which only an emulated device can make, and its time limit.

    Attributes:
        count: count the executions of every instruction.
        profile: count bytes, cache lines and LDS conflicts too; slower.
        timeout: seconds after which the launch is stopped; None for HIPKITTENS_TIMEOUT, or else 600 s.
            Launches on a GPU have no limit.
        sanitize: look for missing waits, races and uninitialised values; slower, on one thread.
        trace: record every memory access, lane by lane; for small launches, on one thread.
        traffic: record memory traffic, by instruction and line, for a model of the caches; slower.
        steps: record the path of some work-groups' waves, block by block, for a model of the compute units.
            Then only these are profiled, unless `profile` is True.
        tape: record every step of one work-group; it runs alone, and nothing else is observed.
        numerics: "exact" or "fast" (`workbench.numerics`); None for the default.
        shared_bounds: handling of accesses beyond the kernel's shared memory: "hardware" continues as a GPU
            does, and notes them; "exact" stops the launch. None for HIPKITTENS_SHARED_BOUNDS, or else
            "hardware".
        approximate: errors of transcendental instructions (`workbench.approximation`); None for the default.
        late: when loads complete (`workbench.lateness`); None for the default, which is at once.
    """

    count: bool = False
    profile: bool = False
    timeout: float | None = None
    sanitize: bool = False
    trace: bool = False
    traffic: TrafficOptions | None = None
    steps: StepOptions | None = None
    tape: TapeOptions | None = None
    numerics: str | None = None
    shared_bounds: str | None = None
    approximate: Approximation | None = None
    late: Lateness | None = None

    @property
    def observed(self) -> bool:
        """True if more than the launch's time is requested."""
        asked = self.traffic is not None or self.steps is not None or self.tape is not None
        return self.count or self.profile or self.sanitize or self.trace or asked


FEW_LINES = 1 << 21
"""Lines to record per thread of a launch that is only timed: enough for hit rates."""

TIMED = LaunchOptions(count=True, traffic=TrafficOptions(limit=FEW_LINES), steps=StepOptions())
"""Options for a launch that counts what a model of its time needs."""

COUNTED = replace(TIMED, profile=True, traffic=TrafficOptions())
"""Options for a launch that counts all of a profile's counters; its time can be modelled too."""


@dataclass(frozen=True, slots=True)
class LaunchTimes:
    """Modelled time of a launch, in seconds.

    Attributes:
        cold: time with empty caches.
        warm: time of a repetition, which finds the first run's data in the Infinity Cache.
        overhead: part of both that does not grow with the work.
        units: share of the compute units that have work, 0 to 1.
        bytes: bytes that a cold launch moves between the Infinity Cache and HBM.
    """

    cold: float
    warm: float
    overhead: float
    units: float
    bytes: int


class LaunchModel(Protocol):
    """Models the times of launches.

    Attributes:
        gap: seconds that events show in addition to a launch's own time, as in a benchmark's loop.
        graph_gap: the same for a graph, once for all of its launches.
    """

    gap: float
    graph_gap: float

    def times(self, code: bytes, record: LaunchRecord, argument_bytes: int) -> LaunchTimes:
        """Times of a launch recorded with the options of `TIMED`; the call consumes the record.

        Args:
            code: the code object that the kernel is from.
            argument_bytes: bytes of the memory that its arguments point to.
        """

    def counters(self, code: bytes, record: LaunchRecord, argument_bytes: int) -> Mapping[str, Figure]:
        """Counters of a launch that recorded what `COUNTED` requests, by rocprof's names.

        Arguments as for `times`.
        """


@dataclass(frozen=True)
class ForeignLaunch:
    """A launch that code other than the workbench's requested from HIP, with everything needed to repeat it.

    Attributes:
        code: ELF with the kernel.
        kernel: symbol name of the kernel.
        grid: work-groups in x, y, z.
        block: work-items of a work-group.
        dynamic_shared: bytes of LDS that the launch added.
        cooperative: True if its work-groups may wait for each other.
        arguments: bytes of the explicit arguments.
        device: name of the device.
    """

    code: bytes = field(repr=False)
    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_shared: int
    cooperative: bool
    arguments: bytes = field(repr=False)
    device: str


@dataclass(frozen=True, repr=False)
class LaunchRecord(Shown):
    """A launch that has ended.

    Attributes:
        kernel: the kernel's symbol name.
        grid: work-groups in x, y, z.
        block: work-items of a work-group.
        dynamic_shared: bytes of LDS that the launch added.
        device: name of the device.
        wall_seconds: time on this computer's clock until the kernel's end.
        translation_seconds: part of it that the emulated device spent translating the kernel to native code;
            much less if the translation was cached.
        elapsed: microseconds by HIP events; None on an emulated device, whose clock is not a GPU's.
        counts: executions (by waves) of each instruction, by its address in the code object; None unless
            requested.
        counters: address-dependent counts by the names of Counters in `native/abi.h`; empty unless requested.
        findings: findings of the sanitizer; `wb.sanitize` adds source lines.
        notes: faults that a GPU ignores, in words: the first access beyond the kernel's shared memory.
        accesses: every memory access in order; empty unless requested.
        traffic: memory traffic; None unless requested.
        steps: steps of some work-groups' waves; None unless requested.
        tape: every step of one work-group; None unless requested.
        shown: values of `show(...)` in the kernel, tensors by name; None unless compiled with `show`.
    """

    kernel: str
    grid: Dim
    block: Dim
    dynamic_shared: int
    device: str
    wall_seconds: float
    translation_seconds: float = 0.0
    elapsed: Figure | None = None
    counts: dict[int, int] | None = field(default=None, repr=False)
    counters: dict[str, int] = field(default_factory=dict, repr=False)
    findings: tuple[RawFinding, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = field(default=(), repr=False)
    accesses: tuple[Access, ...] = field(default=(), repr=False)
    traffic: Traffic | None = field(default=None, repr=False, compare=False)
    steps: Steps | None = field(default=None, repr=False, compare=False)
    tape: Tape | None = field(default=None, repr=False, compare=False)
    shown: Mapping[str, Any] | None = field(default=None, repr=False, compare=False)

    def asked_by(self, options: LaunchOptions) -> LaunchRecord:
        """The same record, without records for a model that these options did not request."""
        return replace(
            self,
            counts=self.counts if options.count else None,
            counters=self.counters if options.profile else {},
            traffic=None,
            steps=None,
        )

    def but(self, **fields: Any) -> LaunchRecord:
        """A copy with these fields instead; each launch makes some, so that nothing is checked."""
        copy = object.__new__(type(self))
        vars(copy).update(vars(self), **fields)
        return copy

    def __repr__(self) -> str:
        time = f", {self.elapsed}" if self.elapsed is not None else ""
        return (
            f"{self.kernel} on {self.device}: grid {_dim(self.grid)}, block {_dim(self.block)}{time}, "
            f"{self.wall_seconds:.3g} s of this computer"
        )


def _dim(dim: Dim) -> str:
    return " x ".join(map(str, dim))
