"""Proof that a kernel's result depends on timing: a small schedule under which the result is another one.

The sanitizer says what hardware does not promise. `prove` shows what that does: it runs the kernel under
schedules (`workbench.schedules`), each of which hardware may follow, until an output differs from the plain
order's, and then removes what is not needed for a difference (Zeller and Hildebrandt, "Simplifying and
Isolating Failure-Inducing Input", IEEE TSE 2002). The order of the tries is fixed, simple ones first; the
draws of the others follow from a seed.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import torch

from workbench.errors import KernelFault, UsageError
from workbench.schedules import (
    MIXED,
    MOST_WAVES,
    REVERSE,
    Points,
    Schedule,
    Selection,
    logged,
    parsed,
    schedule,
)

SHRINKING_RUNS = 64
"""Most runs that make a schedule smaller."""

_SIMPLE = (
    "late=all",
    f"order={REVERSE}",
    "hold=all",
    "late=lds hold=all",
    "late=memory",
    f"order={REVERSE} late=all",
    f"groups={REVERSE}",
    f"groups={MIXED} hold=all",
    f"order={REVERSE} late=lds hold=all",
    "late=memory hold=all",
    "late=all hold=all",
    "waves=0 late=all hold=all",
    "waves=0 late=memory hold=all",
)
"""Schedules that are tried first: each races of a kind, in all waves at all instructions."""

Run = Callable[[], Sequence[torch.Tensor]]
Change = Callable[[Schedule], Schedule]


@dataclass(frozen=True, slots=True)
class Proof:
    """A schedule under which a kernel's result differs from the plain order's.

    Attributes:
        schedule: its text, which `with wb.schedule(text)` and HIPKITTENS_SCHEDULE repeat.
        differences: elements of the outputs whose bits differ; 0 if a fault ended the run.
        elements: elements of the outputs.
        tried: schedules that were tried until the first difference.
        runs: runs in all, with those that made the schedule smaller.
        fault: message of the fault that ended the run under the schedule; "" if none did.
    """

    schedule: str
    differences: int
    elements: int
    tried: int
    runs: int = 0
    fault: str = ""

    def __str__(self) -> str:
        if self.fault:
            return f"under schedule '{self.schedule}' the launch fails: {self.fault}"
        return f"under schedule '{self.schedule}' {self.differences} of {self.elements} results differ"


@dataclass(frozen=True, slots=True)
class _Difference:
    """How a run differs from that in the plain order: elements, or a fault."""

    count: int = 0
    fault: str = ""

    def __bool__(self) -> bool:
        return bool(self.count or self.fault)


def prove(run: Run, *, tries: int = 32, seed: int = 0, seconds: float = math.inf) -> Proof | None:
    """Looks for a schedule under which a kernel's result differs from that in the plain order.

    None means that no schedule made a difference in these tries, not that none can.

    Args:
        run: executes the kernel from fresh, equal inputs, here or in a process that it starts, and returns
            its outputs.
        tries: schedules to try. Up to `SHRINKING_RUNS` further runs make the first one with a difference
            smaller.
        seed: seed of the schedules that are drawn.
        seconds: wall time after which no further schedule is tried, and none is made smaller any more; the
            first is tried in any case.

    Raises:
        UsageError: two runs in the plain order differ; `run` returns no tensors, or launches nothing on an
            emulated device; `tries` is not positive.
        KernelFault: the run in the plain order faults.
    """
    if tries < 1:
        raise UsageError(f"prove: tries is {tries}; expected a positive number of schedules")
    end = time.monotonic() + seconds
    with logged() as points:
        expected = _bits(run, Schedule())
        if not points():
            raise UsageError(
                "prove: run() launched nothing on an emulated device; a schedule orders only its waves"
            )
        trial = _Trial(run, expected, end)
        _repeats(trial, Schedule(), _Difference())
        for count, candidate in enumerate(_candidates(tries, seed), 1):
            if count > 1 and trial.is_late():
                return None
            difference = trial.difference(candidate)
            if difference:
                smallest, difference = _shrunk(trial, candidate, difference, points())
                # Results that change by themselves would prove anything.
                _repeats(trial, Schedule(), _Difference())
                _repeats(trial, smallest, difference)
                elements = sum(len(tensor) for tensor in expected)
                return Proof(
                    str(smallest), difference.count, elements, count, trial.runs + 1, difference.fault
                )
    return None


def _repeats(trial: _Trial, candidate: Schedule, difference: _Difference) -> None:
    """Makes sure that another run under a schedule gives the same results.

    Raises:
        UsageError: it does not.
    """
    again = trial.difference(candidate)
    if again.count != difference.count or bool(again.fault) != bool(difference.fault):
        order = "in the plain order" if candidate == Schedule() else f"under schedule '{candidate}'"
        raise UsageError(
            f"prove: two runs {order} differ; expected run() to start from equal inputs, and outputs whose "
            "every element the kernel writes"
        )


class _Trial:
    """Runs under schedules, compared with the plain order's bits.

    Attributes:
        runs: number of runs.
    """

    def __init__(self, run: Run, expected: Sequence[torch.Tensor], end: float) -> None:
        self._run = run
        self._expected = expected
        self._end = end
        self.runs = 0

    def is_late(self) -> bool:
        """Whether the time of the search is over."""
        return time.monotonic() > self._end

    def difference(self, candidate: Schedule) -> _Difference:
        self.runs += 1
        try:
            outputs = _bits(self._run, candidate)
        except KernelFault as fault:
            return _Difference(fault=str(fault))
        if [tensor.shape for tensor in outputs] != [tensor.shape for tensor in self._expected]:
            raise UsageError("prove: run() returns outputs of other shapes in another run")
        pairs = zip(outputs, self._expected, strict=True)
        return _Difference(sum(int((a != b).any(-1).sum()) for a, b in pairs))


def _bits(run: Run, candidate: Schedule) -> list[torch.Tensor]:
    """The outputs of a run under a schedule, each as [elements, bytes]."""
    with schedule(candidate):
        outputs = run()
    if not isinstance(outputs, Sequence) or not outputs:
        raise UsageError(f"prove: run() returned {type(outputs).__name__}; expected a sequence of tensors")
    for output in outputs:
        if not isinstance(output, torch.Tensor):
            raise UsageError(
                f"prove: run() returned a {type(output).__name__} among its outputs, not a tensor"
            )
    flat = (output.detach().cpu().contiguous().clone().reshape(-1) for output in outputs)
    return [output.view(torch.uint8).reshape(len(output), output.element_size()) for output in flat]


def _candidates(tries: int, seed: int) -> Iterator[Schedule]:
    """Schedules to try: the simple ones, then draws of instructions, waves and orders."""
    yield from map(parsed, _SIMPLE[:tries])
    for number in range(len(_SIMPLE), tries):
        draw = random.Random(f"{seed} {number}")
        order = tuple(draw.sample(range(MOST_WAVES), MOST_WAVES)) if draw.random() < 0.7 else ()
        yield Schedule(
            hold=Selection(percent=draw.choice((5, 20, 50))),
            late=draw.choice(
                (Selection(), Selection(percent=10), Selection(percent=50), Selection(kind="lds"))
            ),
            order=order,
            waves=draw.choice(((), (0,), (1,), (0, 2))),
            groups=draw.choice(("", "", REVERSE, MIXED)),
            seed=seed * 1000 + number,
        )


@dataclass(frozen=True, slots=True)
class _Item:
    """One deviation at an instruction: a late access, or a stop."""

    is_late: bool
    address: int


def _shrunk(
    trial: _Trial, found: Schedule, difference: _Difference, launched: Sequence[Points]
) -> tuple[Schedule, _Difference]:
    """A smaller schedule that still makes a difference, and that difference."""
    smaller = _Shrinking(trial, found, difference)
    kernels = list(dict.fromkeys(points.kernel for points in launched))
    if not found.kernel and len(kernels) > 1:
        smaller.try_each(lambda s, k=kernel: replace(s, kernel=k) for kernel in kernels)  # type: ignore[misc]
    smaller.try_each([lambda s: replace(s, groups="")] if found.groups else [])
    smaller.try_each([lambda s: replace(s, late=Selection())] if found.late else [])
    smaller.try_each([lambda s: replace(s, hold=Selection())] if found.hold else [])
    smaller.try_each([lambda s: replace(s, order=())] if found.order else [])
    run = [points for points in launched if smaller.best.kernel in ("", points.kernel)]
    waves, groups = max(p.waves for p in run), max(p.groups for p in run)
    if smaller.best.groups != REVERSE and groups > 1:
        numbers = dict.fromkeys((0, groups // 2, groups - 1))
        smaller.try_each(lambda s, n=n: replace(s, group=n) for n in numbers)  # type: ignore[misc]
    if smaller.best.order:
        numbers = dict.fromkeys(wave for wave in smaller.best.order if wave < waves)
        present = tuple(numbers)
        shorter = [present[:count] for count in range(1, len(present))]
        smaller.try_each(lambda s, o=o: replace(s, order=o) for o in (*shorter, present))  # type: ignore[misc]
    if waves > 1 and (smaller.best.hold or smaller.best.late):
        smaller.try_each(lambda s, n=n: replace(s, waves=(n,)) for n in range(waves))  # type: ignore[misc]
    _fewer_instructions(smaller, run)
    return smaller.best, smaller.difference


class _Shrinking:
    """The smallest schedule so far that makes a difference.

    Attributes:
        best, difference: the schedule, and its difference.
    """

    def __init__(self, trial: _Trial, best: Schedule, difference: _Difference) -> None:
        self._trial = trial
        self._end = trial.runs + SHRINKING_RUNS
        self.best, self.difference = best, difference

    def accepts(self, candidate: Schedule) -> bool:
        """True if the candidate makes a difference; then it is the best one."""
        if candidate == self.best or self._trial.runs >= self._end or self._trial.is_late():
            return candidate == self.best
        difference = self._trial.difference(candidate)
        if difference:
            self.best, self.difference = candidate, difference
        return bool(difference)

    def try_each(self, changes: Sequence[Change] | Iterator[Change]) -> None:
        """Makes the first of these changes that leaves a difference."""
        for change in changes:
            if self.accepts(change(self.best)):
                return


def _fewer_instructions(smaller: _Shrinking, run: Sequence[Points]) -> None:
    """Leaves out instructions as long as a difference remains: delta debugging, by halves first."""
    start = smaller.best
    items = sorted(
        {_Item(True, address) for points in run for address in start.late_at(points)}
        | {_Item(False, address) for points in run for address in start.held_at(points)},
        key=lambda item: (item.address, item.is_late),
    )

    def accepts(part: Sequence[_Item]) -> bool:
        late = Selection(tuple(item.address for item in part if item.is_late))
        hold = Selection(tuple(item.address for item in part if not item.is_late))
        return smaller.accepts(replace(start, late=late, hold=hold, seed=0))

    if len(items) > 1:
        pieces = 2
        while len(items) > 1:
            size = -(-len(items) // pieces)
            parts = [items[at : at + size] for at in range(0, len(items), size)]
            rests = [items[:at] + items[at + size :] for at in range(0, len(items), size)]
            tried = (*parts, *rests) if pieces == 2 else (*rests, *parts)
            remaining = next(
                (part for part in tried if part and len(part) < len(items) and accepts(part)), None
            )
            if remaining is not None:
                pieces = 2 if remaining in parts else max(pieces - 1, 2)
                items = remaining
            elif pieces >= len(items):
                break
            else:
                pieces = min(2 * pieces, len(items))
    if (
        smaller.best.late.kind
        or smaller.best.late.percent
        or smaller.best.hold.kind
        or smaller.best.hold.percent
    ):
        # The text names the instructions even if none could be left out.
        accepts(items)
