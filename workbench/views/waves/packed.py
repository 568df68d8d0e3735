"""A timeline as columns for the page that draws it: 100,000 spans take two megabytes.

A lane has two tracks. On one are instructions, as long as their unit is busy with them; where they overlap,
the later one is on top. On the other are stalls. The segments of a track never overlap, so whoever draws them
needs no order and can add up what lies under a pixel.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench.codeobject import printer
from workbench.profile.simulation.unit import KINDS, REASONS
from workbench.profile.timelines import Span, Timeline
from workbench.views.waves.hues import DOES, FAMILIES, OF_KIND, OF_REASON, PALE

WORK, STALL = 0, 1
"""Tracks of a lane."""

_KIND = {kind: i for i, kind in enumerate(KINDS)}
_REASON = {reason: i for i, reason in enumerate(REASONS)}


@dataclass(frozen=True)
class Packed:
    """The columns of one timeline.

    Attributes:
        header: the rest as JSON: names, lanes, code, barriers, and the index of the first entry of each lane
            and track.
        columns: columns by name. Spans, lane by lane in the order of their starts: `start`, `cycles`, `op`
            (index into `header["ops"]`), `cause` (index of an operation, or of a lane after a barrier; -1 for
            none), `kind`, `reason`. Segments, track by track: `begin`, `end`, `span`.
    """

    header: dict[str, Any]
    columns: dict[str, npt.NDArray[Any]] = field(repr=False)

    def data(self) -> bytes:
        """The columns one after the other, each at a multiple of 4 bytes, as `header["at"]` says."""
        return b"".join(_padded(column) for column in self.columns.values())


def pack(line: Timeline) -> Packed:
    """The columns of a timeline."""
    addresses = sorted(line.code)
    op_of = {address: i for i, address in enumerate(addresses)}
    spans = sorted(line.spans, key=lambda span: (span.lane, span.start))
    columns: dict[str, npt.NDArray[Any]] = {
        "start": np.fromiter((s.start for s in spans), np.float32, len(spans)),
        "cycles": np.fromiter((s.cycles for s in spans), np.float32, len(spans)),
        "op": np.fromiter((op_of[s.address] for s in spans), np.uint32, len(spans)),
        "cause": np.fromiter((_cause(s, op_of) for s in spans), np.int32, len(spans)),
    }
    kinds = np.fromiter((_KIND[s.kind] for s in spans), np.uint8, len(spans))
    reasons = np.fromiter((_REASON[s.reason] if s.reason else 0 for s in spans), np.uint8, len(spans))
    first = _starts([s.lane for s in spans], len(line.lanes))
    tracks: list[int] = [0]
    segments: list[tuple[float, float, int]] = []
    for lane in range(len(line.lanes)):
        indices = range(first[lane], first[lane + 1])
        for part in (_work(spans, indices), _stalls(spans, indices)):
            segments += part
            tracks.append(len(segments))
    columns["begin"] = np.array([s[0] for s in segments], np.float32)
    columns["end"] = np.array([s[1] for s in segments], np.float32)
    columns["span"] = np.array([s[2] for s in segments], np.uint32)
    columns["kind"], columns["reason"] = kinds, reasons
    used = sorted(set(columns["op"].tolist()))
    header = {
        "name": line.name,
        "device": line.device,
        "kernel": line.kernel.name,
        "clock_hz": line.clock_hz,
        "cycles": line.cycles,
        "lost": line.lost,
        "provenance": line.provenance,
        "lanes": [[lane.group, lane.wave, lane.simd, lane.start, lane.end] for lane in line.lanes],
        "ops": _operations(line, addresses, {*used, *columns["cause"].tolist()}),
        "barriers": _barriers(line),
        "first": first,
        "tracks": tracks,
        "count": len(spans),
        "segments": len(segments),
        "at": places(columns),
    }
    return Packed(header, columns)


def content(timelines: Sequence[Packed]) -> tuple[dict[str, Any], bytes]:
    """What waves.js shows: the timelines' headers with their meanings, and all columns."""
    columns = [timeline.data() for timeline in timelines]
    headers = [
        {**timeline.header, "bytes": len(part)} for timeline, part in zip(timelines, columns, strict=True)
    ]
    return {"meanings": meanings(), "timelines": headers}, b"".join(columns)


def meanings() -> dict[str, Any]:
    """Hues and words of kinds and reasons by their number, the same for all timelines."""
    return {
        "families": [{"name": f.name, "hue": f.hue, "waits": bool(f.reasons)} for f in FAMILIES],
        "kinds": [[DOES[kind], OF_KIND[kind]] for kind in KINDS],
        "reasons": [[text, OF_REASON.get(reason, -1)] for reason, text in REASONS.items()],
        "pale": PALE,
        "barrier": _REASON["AT_BARRIER"],
    }


def _cause(span: Span, op_of: dict[int, int]) -> int:
    if span.waits_for is None:
        return -1
    return span.waits_for if span.reason == "AT_BARRIER" else op_of.get(span.waits_for, -1)


def _starts(lanes: Sequence[int], count: int) -> list[int]:
    """Start of each lane's spans, and the end of the last lane's."""
    return [int(i) for i in np.searchsorted(np.array(lanes, dtype=np.int64), np.arange(count + 1))]


def _work(spans: Sequence[Span], indices: Iterable[int]) -> list[tuple[float, float, int]]:
    """Segments of a lane's instructions; under a later one an earlier one is not seen."""
    segments: list[tuple[float, float, int]] = []
    busy: list[tuple[float, int]] = []
    now = 0.0

    def until(time: float) -> None:
        nonlocal now
        while busy and now < time:
            end, span = busy[-1]
            if end > now:
                segments.append((now, min(end, time), span))
                now = min(end, time)
            if end <= time:
                busy.pop()

    for i in indices:
        span = spans[i]
        if span.reason or span.cycles <= 0:
            continue
        until(span.start)
        now = span.start
        busy = [entry for entry in busy if entry[0] > now]
        busy.append((span.start + span.cycles, i))
    until(float("inf"))
    return segments


def _stalls(spans: Sequence[Span], indices: Iterable[int]) -> list[tuple[float, float, int]]:
    return [(spans[i].start, spans[i].start + spans[i].cycles, i) for i in indices if spans[i].reason]


def _barriers(line: Timeline) -> list[list[float]]:
    """(cycle, group) of each time that a work-group's waves go on after a barrier."""
    times = {
        (round(span.start + span.cycles), line.lanes[span.lane].group)
        for span in line.spans
        if span.reason == "AT_BARRIER"
    }
    # Waves of a group continue within a turn or two of each other.
    barriers: list[list[float]] = []
    last: dict[int, int] = {}
    for time, group in sorted(times):
        if time - last.get(group, -1000) > 16:
            barriers.append([time, group])
        last[group] = time
    return barriers


def _operations(line: Timeline, addresses: Sequence[int], used: set[int]) -> list[list[Any]]:
    """[address, text, file, line] of each operation; of those that no span has, the address alone."""
    module = line.kernel.module
    operations: list[list[Any]] = []
    is_own = cache(module.is_own_source)
    for i, address in enumerate(addresses):
        if i not in used:
            operations.append([address])
            continue
        places = module.places_of(address)
        file, number = places[-1] if places else ("", 0)
        in_cell = bool(places) and is_own(file)
        text = printer.text(module.instruction(address))
        operations.append([address, text, file.replace("\\", "/").rpartition("/")[2], number, in_cell])
    return operations


def places(columns: dict[str, npt.NDArray[Any]]) -> dict[str, list[Any]]:
    """Name: [type, first byte, entries]."""
    table, at = {}, 0
    for name, column in columns.items():
        table[name] = [column.dtype.str[1:], at, len(column)]
        at += len(_padded(column))
    return table


def _padded(column: npt.NDArray[Any]) -> bytes:
    data = column.tobytes()
    return data + bytes(-len(data) % 4)
