"""Advice as HTML: each finding with its place, remedy and estimated gain, the greatest gain first."""

from __future__ import annotations

from markupsafe import Markup

from workbench.display import shows
from workbench.profile.findings import WORTH, Advice, Finding, HiddenFault
from workbench.views.badge import badge, badges
from workbench.views.markup import block, bold, details, tag

MANY = 3
"""Number of findings shown open; a click opens the others."""


@shows(Advice)
def advice_html(advice: Advice) -> Markup:
    """The findings on a launch."""
    return block(tag("div", bold(f"advice: {advice.name}")), advice_list(advice))


def advice_list(advice: Advice, *, brief: bool = False) -> Markup:
    """The findings as a list, without a heading.

    Args:
        brief: leave out the expected error of modelled gains; the line above the list has it already.
    """
    hidden = Markup("").join(_hidden(fault, brief) for fault in advice.hidden)
    if not advice:
        message = f"No rule found a change that the model gives {WORTH:g} times or more for."
        return tag("div", message, kind="wb-dim") + hidden
    entries = [_entry(finding, brief) for finding in advice]
    markup = tag("ol", *entries[:MANY], kind="wb-advice")
    if len(entries) > MANY:
        more = Markup('<ol class="wb-advice" start="{}">{}</ol>').format(
            MANY + 1, Markup("").join(entries[MANY:])
        )
        markup += details(f"{len(entries) - MANY} more", more)
    return markup + hidden


def _entry(finding: Finding, brief: bool) -> Markup:
    gain = Markup('<b title="{}">{} times as fast</b> without it').format(
        "by the model: the same launch again, with the change", f"{finding.gain.value:.2f}"
    )
    head = Markup("{}: {} {}").format(_title(finding), gain, badge(finding.gain, brief=brief))
    evidence = tag("div", _evidence(finding), kind="wb-dim")
    return tag("li", tag("div", head), tag("div", finding.what), evidence)


def _hidden(fault: HiddenFault, brief: bool) -> Markup:
    """A fault that costs no time, on one line: nothing is to be done about it."""
    head = Markup("{}: {} {}").format(_title(fault.finding), fault.sentence, badge(fault.time, brief=brief))
    return tag("div", Markup("{}. {}").format(head, _evidence(fault.finding)), kind="wb-dim")


def _title(finding: Finding) -> Markup:
    where = f", line {finding.place[1]}" if finding.place else ""
    where += f" ({finding.header})" if finding.header else ""
    return bold(finding.title) + where


def _evidence(finding: Finding) -> Markup:
    seen = ", ".join(
        f"{name} {_amount(figure.value)} {figure.unit}".rstrip() for name, figure in finding.evidence.items()
    )
    return Markup("{} {}").format(seen, badges(finding.evidence.values()))


def _amount(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
