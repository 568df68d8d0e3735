"""Schedules: which wave of a work-group runs on, and when its loads come, as text that repeats a run.

An emulated device runs the waves of a work-group in turns from barrier to barrier, wave 0 first, and does
each access when it is issued. Hardware promises neither. A schedule is a list of deviations from that plain
order, each of which hardware may make too: a wave stops before an instruction until the others have had their
turn, an access stays in flight until a wait requires it, the waves or the work-groups take their turns in
another order. A kernel whose results depend on none of that gives the same bits under every schedule; for one
with a race or a missing wait, a schedule with another result is the proof (`workbench.check.schedules`).

A schedule applies to every launch on an emulated device inside a `with schedule(...)` block, in this process
and in those that it starts; else HIPKITTENS_SCHEDULE has it. It goes before late loads
(`workbench.lateness`). The sanitizer looks at the order itself and ignores it.
"""

from __future__ import annotations

import json
import os
import random
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from workbench.errors import UsageError
from workbench.settings import value_of

VARIABLE = "HIPKITTENS_SCHEDULE"
LOG_VARIABLE = "HIPKITTENS_SCHEDULE_LOG"
PLAIN = "plain"
REVERSE = "reverse"
MIXED = "mixed"
MOST_WAVES = 16
"""Waves whose order a schedule can set: those of the largest work-group, if they have 64 lanes."""


@dataclass(frozen=True, slots=True)
class Points:
    """The instructions of a kernel at which a schedule can deviate from the plain order.

    Attributes:
        kernel: symbol of the kernel.
        accesses: code object addresses of the instructions whose effect can come late.
        lds: those of them that access LDS through its queue.
        stops: code object addresses of the instructions before which a wave can let the others run.
        waves: waves of a full work-group.
        groups: work-groups of the launch.
    """

    kernel: str
    accesses: tuple[int, ...]
    lds: frozenset[int]
    stops: tuple[int, ...]
    waves: int
    groups: int


@dataclass(frozen=True, slots=True)
class Selection:
    """A set of instructions: by address, all, those that access LDS or memory, or a part drawn by a seed.

    Attributes:
        addresses: code object addresses.
        kind: "all", "lds", "memory", or "" for the addresses alone.
        percent: 1 to 100; each instruction is selected with this probability; 0 for no draw.
    """

    addresses: tuple[int, ...] = ()
    kind: str = ""
    percent: int = 0

    def __bool__(self) -> bool:
        return bool(self.addresses or self.kind or self.percent)

    def __str__(self) -> str:
        if self.percent:
            return f"{self.percent}%"
        return self.kind or ",".join(f"{address:#x}" for address in self.addresses)

    def of(self, candidates: Iterable[int], lds: frozenset[int], draw: str) -> tuple[int, ...]:
        """The selected ones of the candidates.

        Args:
            lds: the instructions that access LDS.
            draw: seed of the draw.
        """
        if self.percent:
            chances = ((a, random.Random(f"{draw} {a}").random()) for a in candidates)
            return tuple(a for a, chance in chances if 100 * chance < self.percent)
        if self.kind:
            return tuple(a for a in candidates if self.kind == "all" or (a in lds) == (self.kind == "lds"))
        wanted = set(self.addresses)
        return tuple(a for a in candidates if a in wanted)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Deviations from the plain order; `str` gives the text that `schedule` and HIPKITTENS_SCHEDULE read.

    Attributes:
        hold: instructions before which a wave stops until the other waves have had a turn.
        late: instructions whose accesses stay in flight until a wait requires their effect.
        order: waves that take their turns first, in this order; the others follow by number.
        groups: "reverse": work-groups run from the last to the first; "mixed": at a stop of a wave other
            work-groups have their turns, too; "": one after the other.
        waves: the waves that `hold` and `late` apply to; empty for all.
        group: linear number of the only work-group with deviations; None for all.
        kernel: symbol of the only kernel with deviations; "" for all.
        seed: seed of the draws.
    """

    hold: Selection = Selection()
    late: Selection = Selection()
    order: tuple[int, ...] = ()
    groups: str = ""
    waves: tuple[int, ...] = ()
    group: int | None = None
    kernel: str = ""
    seed: int = 0

    def __str__(self) -> str:
        parts = []
        if self.kernel:
            parts.append(f"kernel={self.kernel}")
        if self.group is not None:
            parts.append(f"group={self.group}")
        if self.waves:
            parts.append(f"waves={','.join(map(str, self.waves))}")
        if self.order:
            is_reverse = self.order == _REVERSED
            parts.append(f"order={REVERSE if is_reverse else ','.join(map(str, self.order))}")
        if self.groups:
            parts.append(f"groups={self.groups}")
        if self.hold:
            parts.append(f"hold={self.hold}")
        if self.late:
            parts.append(f"late={self.late}")
        if self.hold.percent or self.late.percent:
            parts.append(f"seed={self.seed}")
        return " ".join(parts) or PLAIN

    def for_kernel(self, kernel: str) -> Schedule:
        """This schedule if it applies to the kernel, else the plain one."""
        return self if self.kernel in ("", kernel) else Schedule()

    def held_at(self, points: Points) -> tuple[int, ...]:
        """Addresses of the instructions before which waves stop."""
        return self.hold.of(points.stops, points.lds, f"hold {self.seed}")

    def late_at(self, points: Points) -> tuple[int, ...]:
        """Addresses of the instructions whose accesses come late."""
        return self.late.of(points.accesses, points.lds, f"late {self.seed}")

    def turns(self) -> tuple[int, ...]:
        """The numbers of all waves in the order of their turns."""
        return (*self.order, *(wave for wave in range(MOST_WAVES) if wave not in self.order))


_REVERSED = tuple(reversed(range(MOST_WAVES)))
_GRAMMAR = (
    "expected 'plain', or a list such as 'group=0 waves=1 order=2,0 hold=0x1f40 late=0x1f48': hold= and "
    "late= take addresses, all, lds, memory or a percentage (with seed=), order= waves or reverse, groups= "
    "reverse or mixed, kernel= a symbol"
)


@lru_cache(maxsize=256)
def parsed(text: str, origin: str = "schedule") -> Schedule:
    """The schedule of a text.

    Args:
        origin: origin of the text, for the message.

    Raises:
        UsageError: it is no schedule.
    """

    def refuse(what: str) -> UsageError:
        return UsageError(f"{origin} is {text!r}: {what}; {_GRAMMAR}")

    def numbers(value: str) -> tuple[int, ...]:
        parts = value.split(",")
        if not all(part.isdecimal() and int(part) < MOST_WAVES for part in parts):
            raise refuse(f"{value!r} is no list of waves from 0 to {MOST_WAVES - 1}")
        result = tuple(map(int, parts))
        if len(set(result)) != len(result):
            raise refuse(f"{value!r} names a wave twice")
        return result

    def number(value: str) -> int:
        if not value.isdecimal():
            raise refuse(f"{value!r} is no number")
        return int(value)

    def selection(value: str) -> Selection:
        if value in ("all", "lds", "memory"):
            return Selection(kind=value)
        if match := re.fullmatch(r"(\d{1,3})%", value):
            if not 1 <= int(match[1]) <= 100:
                raise refuse(f"{value!r} is not between 1% and 100%")
            return Selection(percent=int(match[1]))
        parts = value.split(",")
        if not all(re.fullmatch(r"0x[0-9a-fA-F]+", part) for part in parts):
            raise refuse(f"{value!r} names no instructions")
        return Selection(tuple(sorted({int(part, 16) for part in parts})))

    def order_of_groups(value: str) -> str:
        if value not in (REVERSE, MIXED):
            raise refuse(f"groups={value} is neither {REVERSE} nor {MIXED}")
        return value

    readers: dict[str, tuple[str, Callable[[str], object]]] = {
        "hold": ("hold", selection),
        "late": ("late", selection),
        "order": ("order", lambda value: _REVERSED if value == REVERSE else numbers(value)),
        "groups": ("groups", order_of_groups),
        "waves": ("waves", numbers),
        "group": ("group", number),
        "kernel": ("kernel", str),
        "seed": ("seed", number),
    }
    fields: dict[str, object] = {}
    if text.strip() == PLAIN:
        return Schedule()
    for part in text.split():
        name, equals, value = part.partition("=")
        if not equals or name not in readers or not value:
            raise refuse(f"{part!r} is no part of a schedule")
        attribute, read = readers[name]
        if attribute in fields:
            raise refuse(f"{name}= is there twice")
        fields[attribute] = read(value)
    if not fields:
        raise refuse("it is empty")
    return Schedule(**fields)  # type: ignore[arg-type]


def default_schedule() -> Schedule | None:
    """The schedule of launches; None for the plain order on all threads.

    Raises:
        UsageError: HIPKITTENS_SCHEDULE is no schedule.
    """
    text = value_of(VARIABLE)
    return parsed(text, VARIABLE) if text else None


@contextmanager
def schedule(text: str | Schedule) -> Iterator[None]:
    """Runs the launches on emulated devices in a `with` block under a schedule.

    It applies to this process, and through its environment to the processes that the block starts. A launch
    under a schedule runs on one thread.

    Args:
        text: the schedule, such as `Proof.schedule`; "plain" for no deviation.

    Raises:
        UsageError: the text is no schedule.
    """
    with _environment(VARIABLE, str(parsed(str(text)))):
        yield


@contextmanager
def _environment(name: str, value: str) -> Iterator[None]:
    before = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


@contextmanager
def logged() -> Iterator[Callable[[], list[Points]]]:
    """Collects the points of the kernels that run under a schedule, here and in processes of the block.

    Yields:
        a function that returns them, each kernel with its largest launch.
    """
    with tempfile.TemporaryDirectory(prefix="schedule-") as folder:
        file = Path(folder, "kernels.jsonl")
        file.touch()

        def read() -> list[Points]:
            kernels: dict[tuple[str, tuple[int, ...]], Points] = {}
            for line in file.read_text().splitlines():
                record = json.loads(line)
                points = Points(
                    record["kernel"],
                    tuple(record["accesses"]),
                    frozenset(record["lds"]),
                    tuple(record["stops"]),
                    record["waves"],
                    record["groups"],
                )
                key = points.kernel, points.accesses
                if key not in kernels or kernels[key].groups < points.groups:
                    kernels[key] = points
            return list(kernels.values())

        with _environment(LOG_VARIABLE, str(file)):
            yield read


def note(points: Points) -> None:
    """Writes a launch's points for `logged`, if a block or a parent process asks for them."""
    path = value_of(LOG_VARIABLE)
    if not path:
        return
    record = {
        "kernel": points.kernel,
        "accesses": points.accesses,
        "lds": sorted(points.lds),
        "stops": points.stops,
        "waves": points.waves,
        "groups": points.groups,
    }
    # One write per line: processes append to the file side by side.
    with open(path, "a") as file:
        file.write(json.dumps(record) + "\n")
