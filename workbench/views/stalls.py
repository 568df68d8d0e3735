"""The tree of a launch's time as HTML: branches that unfold, with bars in the timeline's hues."""

from __future__ import annotations

from dataclasses import replace

from markupsafe import Markup

from workbench.display import shows
from workbench.origin import Origin
from workbench.profile.stalls import Branch
from workbench.theme import INK
from workbench.views.badge import badge
from workbench.views.markup import NOTHING, block, bold, classed, details, tag
from workbench.views.waves.hues import FAMILIES, OF_REASON

OPEN = 0.15
"""Branches with at least this share of the whole are open at first."""

_BAR = Markup('<i style="display:block;height:100%;width:{:.1f}%;background:{}"></i>')


@shows(Branch)
def tree_html(tree: Branch) -> Markup:
    """The tree under its heading."""
    head = tag("div", bold("where the time goes"), " ", badge(Origin.MODELLED))
    return block(head, tag("div", _branch(tree, 0), kind="wb-tree"))


def waves_html(tree: Branch) -> Markup:
    """The tree with SIMDs and waves, down to source lines: instructions are in the other one."""
    return details("by SIMD and wave", tag("div", _branch(without_instructions(tree), 0), kind="wb-tree"))


def without_instructions(branch: Branch) -> Branch:
    """The branch without what is under source lines."""
    parts = tuple(without_instructions(part) for part in branch.parts if part.address is None)
    return replace(branch, parts=parts)


def _branch(branch: Branch, depth: int) -> Markup:
    row = _row(branch)
    if not branch.parts:
        return tag("div", row, kind="wb-leaf")
    parts = NOTHING.join(_branch(part, depth + 1) for part in branch.parts)
    opened = depth < 2 or (branch.share >= OPEN and depth < 4)
    start = Markup("<details{}{}>").format(classed("wb-branch"), Markup(" open") if opened else "")
    return start + tag("summary", row, kind="wb-stem") + parts + Markup("</details>")


def _row(branch: Branch) -> Markup:
    hue = FAMILIES[OF_REASON[branch.reason]].hue if branch.reason in OF_REASON else INK
    name = tag("code" if branch.address is not None else "span", branch.name)
    load = NOTHING
    if branch.waits_for:
        address, place = branch.waits_for[0]
        where = f"line {place[1]}" if place is not None else hex(address)
        load = tag("span", f"← the load of {where}", kind="wb-dim")
    bar = tag("span", _BAR.format(min(100.0, 100 * branch.share), hue), kind="wb-bar")
    share = tag("span", f"{100 * branch.share:.1f} %", kind="wb-share")
    return tag("span", Markup(" ").join([bar, share, name, load]), kind="wb-row")
