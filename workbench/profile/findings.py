"""Advice on a kernel: each finding with its evidence, its place and its modelled gain.

`profile.rules.RULES` is the table of rules. What a change would gain is not guessed but modelled: the same
launch again, with the change (`profile.what_if`). A rule whose change gains less than `WORTH` says nothing,
or, of a fault that its counters show (`Rule.wastes`), what hides it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING

from workbench.display import Shown
from workbench.errors import ProfilerError
from workbench.origin import Figure, Origin
from workbench.profile.facts import Facts, Profiled, Seen, loop_words
from workbench.profile.machine import untimed
from workbench.profile.rules import RULES, Rule

if TYPE_CHECKING:
    from workbench.profile.model import TimeModel

WORTH = 1.05
"""Gains below this are not worth a reader's time."""


_HIDERS: Mapping[str, str] = {
    **dict.fromkeys(("vmem", "l1", "l2", "infinity", "hbm", "WAIT_MEMORY", "MEMORY_QUEUE"), "memory"),
    **dict.fromkeys(("mfma", "MATRIX_BUSY"), "matrix instructions"),
    **dict.fromkeys(("valu", "VECTOR_BUSY"), "vector instructions"),
    **dict.fromkeys(("lds", "WAIT_LDS", "LDS_PORT"), "LDS"),
    "launch": "the launch",
}
"""What a launch spends its time on, by `TimeModel.bound`; what is not here is called other waits."""


@dataclass(frozen=True)
class Finding:
    """One piece of advice.

    Attributes:
        rule, title: short name of the rule, and the fault.
        evidence: figures by description.
        what: the remedy.
        place: source file and line; None for the launch as a whole, or without debug info.
        gain: modelled speed-up of the launch as a factor, with the model's error.
        inlined: file and line of the header whose code was inlined there; None if nothing was inlined.
        follows: True if it follows from another finding of the same launch (`Rule.explains`); it comes after
            that.
    """

    rule: str
    title: str
    evidence: dict[str, Figure]
    what: str
    place: tuple[str, int] | None
    gain: Figure
    inlined: tuple[str, int] | None = None
    follows: bool = False

    @property
    def header(self) -> str:
        """File and line of the header that the code was inlined from; "" if it was not inlined."""
        return f"{PurePath(self.inlined[0]).name} line {self.inlined[1]}" if self.inlined else ""

    @property
    def where(self) -> str:
        """The place in parentheses after a space; "" without one."""
        inner = f", inlined from {self.header}" if self.header else ""
        return f" (line {self.place[1]} of {self.place[0]}{inner})" if self.place else ""

    @property
    def seen(self) -> str:
        """The evidence as text."""
        return "Seen: " + ", ".join(f"{name} {figure}" for name, figure in self.evidence.items())

    def __str__(self) -> str:
        return (
            f"{self.title}{self.where}: {self.gain.value:.2f} times as fast without it "
            f"({self.gain.provenance}). {self.what} {self.seen}"
        )


@dataclass(frozen=True)
class HiddenFault:
    """A fault that the counters show and that costs (nearly) no time, since the launch spends it elsewhere.

    Attributes:
        finding: the fault; its gain is below `WORTH`.
        behind: what the launch spends its time on meanwhile; "" if that is the unit that shows the fault.
        cost: time that the launch would save without the fault, in us.
        time: of the launch, in us.
    """

    finding: Finding
    behind: str
    cost: Figure
    time: Figure

    @property
    def sentence(self) -> str:
        """What hides the fault, and the time that it costs."""
        hides = f"hidden behind {self.behind} here" if self.behind else "costs hardly any time here"
        return f"{hides}: {self.cost.value:.2g} of {self.time.value:.4g} us"

    def __str__(self) -> str:
        finding = self.finding
        return f"{finding.title}{finding.where}: {self.sentence} ({self.time.provenance}). {finding.seen}"


class Advice(Shown, Sequence[Finding]):
    """Findings in order of gain, the largest first; consequences come after their cause.

    Attributes:
        name: name of the profiled kernel or operator.
        hidden: faults that cost no time in this launch, which are not among the findings.
    """

    def __init__(self, name: str, findings: Sequence[Finding], hidden: Sequence[HiddenFault] = ()) -> None:
        self.name = name
        self.hidden = tuple(hidden)
        self._findings = tuple(sorted(findings, key=lambda finding: (finding.follows, -finding.gain.value)))

    def __len__(self) -> int:
        return len(self._findings)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self._findings[index]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._findings)

    def __repr__(self) -> str:
        lines = [f"{self.name}:", *(f"  {entry}" for entry in (*self._findings, *self.hidden))]
        if not self._findings:
            lines[0] = f"{self.name}: no rule found a change worth {WORTH:g} times"
        return "\n".join(lines)


def summed(name: str, parts: Sequence[tuple[Advice, float]]) -> Advice:
    """Advice on an operator of several launches, with gains relative to the whole operator.

    Args:
        name: name of the operator.
        parts: advice on each launch, and its seconds.
    """
    whole = sum(seconds for _, seconds in parts)
    findings, hidden = [], []
    for advice, seconds in parts:
        hidden += [_of_launch(fault, advice.name) for fault in advice.hidden]
        for finding in advice:
            gain = whole / (whole - seconds + seconds / finding.gain.value)
            if gain >= WORTH:
                title = f"{advice.name}: {finding.title}"
                findings.append(replace(finding, title=title, gain=replace(finding.gain, value=gain)))
    return Advice(name, findings, hidden)


def _of_launch(fault: HiddenFault, name: str) -> HiddenFault:
    return replace(fault, finding=replace(fault.finding, title=f"{name}: {fault.finding.title}"))


def advise(profile: Profiled) -> Advice:
    """Advice on a profiled launch; empty for a GPU's profile, which cannot be modelled again.

    Raises:
        ProfilerError: its times are not modelled, so that no gain can be.
    """
    if not profile.has_time:
        raise ProfilerError(f"{profile.name}: there is no advice, since {untimed(profile.machine)}")
    if profile.model is None or profile.again is None or profile.model.simulation is None:
        return Advice(profile.name, ())
    facts, model = Facts(profile), profile.model
    findings, hidden = [], []
    for rule in RULES:
        seen = rule.look(facts)
        if seen is None:
            continue
        seconds = profile.again.model(seen.change).seconds
        gain = model.seconds / seconds
        if gain < WORTH and not rule.wastes:
            continue
        finding = _finding(rule, seen, gain, model, profile.again.places)
        if gain >= WORTH:
            findings.append(finding)
            continue
        cost = replace(model.time, value=1e6 * max(0.0, model.seconds - seconds))
        behind = _HIDERS.get(model.bound, "other waits")
        hidden.append(HiddenFault(finding, "" if behind == rule.wastes else behind, cost, model.time))
    seen_by = {finding.rule for finding in findings}
    explained = {other for rule in RULES if rule.key in seen_by for other in rule.explains}
    # If a launch is short because its kernel is, advice about the kernel itself comes first.
    last = explained | ({"launch"} if len(findings) > 1 else set())
    ordered = [replace(finding, follows=finding.rule in last) for finding in findings]
    return Advice(profile.name, ordered, hidden)


def _finding(
    rule: Rule,
    seen: Seen,
    gain: float,
    model: TimeModel,
    places_of: Callable[[int], Sequence[tuple[str, int]]],
) -> Finding:
    places = places_of(seen.address) if seen.address is not None else []
    place = places[-1] if places else None
    inlined = places[0] if len(places) > 1 and places[0][0] != places[-1][0] else None
    words = partial(loop_words, over_k=seen.over_k)
    evidence = {words(name): figure for name, figure in seen.evidence.items()}
    figure = Figure(gain, "times", Origin.MODELLED, model.source, model.error)
    return Finding(rule.key, words(rule.title), evidence, words(seen.what), place, figure, inlined)
