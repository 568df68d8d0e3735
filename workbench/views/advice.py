"""Advice as a table: what is wrong and where, what to do, and what that would gain."""

from __future__ import annotations

from markupsafe import Markup

from workbench.display import shows
from workbench.profile.advice import Advice, Finding
from workbench.views.badge import badge
from workbench.views.markup import block, tag
from workbench.views.table import Table

HEAD = ("what", "line", "times as fast without", "what to do", "evidence")


@shows(Advice)
def advice_html(advice: Advice) -> Markup:
    """The findings, the greatest gain first."""
    if not advice:
        return block(tag("div", repr(advice), kind="wb-dim"))
    return block(Table(HEAD, map(_row, advice), caption=f"advice: {advice.name}"))


def _row(found: Finding) -> tuple[str | Markup, ...]:
    seen = Markup(", ").join(
        Markup("{} {:g} {} {}").format(name, figure.value, figure.unit, badge(figure))
        for name, figure in found.evidence.items()
    )
    gain = Markup("{} {}").format(f"{found.gain.value:.2f}", badge(found.gain))
    return (found.title, str(found.place[1]) if found.place else "", gain, found.what, seen)
