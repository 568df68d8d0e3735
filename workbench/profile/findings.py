"""Advice on a kernel: each finding with its evidence, its place and its modelled gain.

`profile.rules.RULES` is the table of rules. The gain of a change is not guessed but modelled: the same launch
again, with the change (`profile.what_if`). A rule whose change gains less than `WORTH` stays silent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from workbench.display import Shown
from workbench.origin import Figure, Origin
from workbench.profile.facts import Facts, Profiled
from workbench.profile.rules import RULES

WORTH = 1.05
"""Gains below this are not worth a reader's time."""


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

    def __str__(self) -> str:
        inner = f", inlined from {self.header}" if self.header else ""
        where = f" (line {self.place[1]} of {self.place[0]}{inner})" if self.place else ""
        seen = ", ".join(f"{name} {figure}" for name, figure in self.evidence.items())
        return (
            f"{self.title}{where}: {self.gain.value:.2f} times as fast without it ({self.gain.told}). "
            f"{self.what} Seen: {seen}"
        )


class Advice(Shown, Sequence[Finding]):
    """Findings in order of gain, the largest first; consequences come after their cause.

    Attributes:
        name: name of the profiled kernel or operator.
    """

    def __init__(self, name: str, findings: Sequence[Finding]) -> None:
        self.name = name
        self._findings = tuple(sorted(findings, key=lambda finding: (finding.follows, -finding.gain.value)))

    def __len__(self) -> int:
        return len(self._findings)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self._findings[index]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self._findings)

    def __repr__(self) -> str:
        if not self._findings:
            return f"{self.name}: no rule found a change that would make it {WORTH:g} times as fast or faster"
        return "\n".join((f"{self.name}:", *(f"  {finding}" for finding in self._findings)))


def summed(name: str, parts: Sequence[tuple[Advice, float]]) -> Advice:
    """Advice on an operator of several launches, with gains relative to the whole operator.

    Args:
        name: name of the operator.
        parts: advice on each launch, and its seconds.
    """
    whole = sum(seconds for _, seconds in parts)
    findings = []
    for advice, seconds in parts:
        for finding in advice:
            gain = whole / (whole - seconds + seconds / finding.gain.value)
            if gain >= WORTH:
                title = f"{advice.name}: {finding.title}"
                findings.append(replace(finding, title=title, gain=replace(finding.gain, value=gain)))
    return Advice(name, findings)


def advise(profile: Profiled) -> Advice:
    """Advice on a profiled launch; empty for a GPU's profile, which cannot be modelled again."""
    if profile.model is None or profile.again is None or profile.model.simulation is None:
        return Advice(profile.name, ())
    facts = Facts(profile)
    base = profile.model.seconds
    findings = []
    for rule in RULES:
        seen = rule.look(facts)
        if seen is None:
            continue
        gain = base / profile.again.model(seen.change).seconds
        if gain < WORTH:
            continue
        places = profile.again.places(seen.address) if seen.address is not None else []
        figure = Figure(gain, "times", Origin.MODELLED, facts.model.source, facts.model.error)
        place = places[-1] if places else None
        inlined = places[0] if len(places) > 1 and places[0][0] != places[-1][0] else None
        findings.append(Finding(rule.key, rule.title, seen.evidence, seen.what, place, figure, inlined))
    seen_by = {finding.rule for finding in findings}
    explained = {other for rule in RULES if rule.key in seen_by for other in rule.explains}
    # If a launch is short because its kernel is, advice about the kernel itself comes first.
    last = explained | ({"launch"} if len(findings) > 1 else set())
    return Advice(profile.name, [replace(finding, follows=finding.rule in last) for finding in findings])
