"""How sure a finding of an audit is."""

from __future__ import annotations

from enum import StrEnum


class Certainty(StrEnum):
    """How sure a finding is; `sentence` says what that rests on."""

    PROVEN = "proven"
    CERTAIN = "certain"
    HARDWARE_RULE = "hardware rule"

    @property
    def sentence(self) -> str:
        """What the certainty rests on."""
        return _SENTENCES[self]

    @property
    def level(self) -> str:
        """Level of a SARIF result."""
        return _LEVELS[self]


_SENTENCES = {
    Certainty.PROVEN: "A run gives a wrong or another result when waves and loads are ordered in a way "
    "that the hardware allows. Of several findings in a kernel, at least one is the cause.",
    Certainty.CERTAIN: "The instruction set's rules for waits, barriers and memory do not order or define "
    "the accesses, whatever the result was in the runs that were tried.",
    Certainty.HARDWARE_RULE: "A published rule of the hardware or of LLVM asks for more distance between two "
    "instructions; docs/sanitizer.md names the rule and its source.",
}
_LEVELS = {Certainty.PROVEN: "error", Certainty.CERTAIN: "warning", Certainty.HARDWARE_RULE: "note"}

ORDER = ("race", "missing wait")
"""Categories of findings that another order of waves or loads can turn into another result."""


def certainty_of(category: str, is_proven: bool) -> Certainty:
    """Certainty of a finding.

    Args:
        category: as in `workbench.runtime.findings.Finding`.
        is_proven: whether a run of the kernel gave another result in another order, or the finding's repair
            made a wrong result right.
    """
    if category == "hazard":
        return Certainty.HARDWARE_RULE
    return Certainty.PROVEN if is_proven and category in ORDER else Certainty.CERTAIN


__all__ = ["ORDER", "Certainty", "certainty_of"]
