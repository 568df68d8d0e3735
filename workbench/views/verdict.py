"""The first line of every report: correctness, speed, distance from the roof, and the limit."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from workbench.events import hub, shape_of
from workbench.profile.results import ProfileResult
from workbench.views.badge import badge, unknown
from workbench.views.markup import NOTHING, bold, tag

RIGHT = {
    True: tag("span", "✓ verified", kind="wb-ok"),
    False: tag("span", "✗ wrong", kind="wb-bad"),
    None: tag("span", "not verified", kind="wb-dim"),
}


def verdict(result: ProfileResult, verified: bool | Verification | None) -> Markup:
    """One line of HTML, plus one for each remark on the grid.

    Args:
        verified: True if the last verification of the same code passed, or that verification itself; None if
            there was none.
    """
    if not result.has_time:
        parts = [_mark(verified), Markup.escape(result.untimed)]
    else:
        duration = Markup("{} us {}").format(bold(f"{result.time.value:.4g}"), badge(result.time))
        parts = [_mark(verified), duration]
    if (roof := result.of_roof) is not None and roof.share is not None:
        parts.append(Markup("{} of the roof ({})").format(bold(f"{roof.share:.0%}"), roof.metric.name))
    if result.model is not None:
        parts.append(Markup("limited by {}").format(bold(result.model.bound_text)))
    if result.has_time and (error := unknown([result.time])):
        parts.append(error)
    line = tag("div", Markup(" · ").join(parts), kind="wb-verdict")
    return NOTHING.join([line, *(tag("div", remark, kind="wb-warn") for remark in result.remarks)])


def _mark(verified: bool | Verification | None) -> Markup:
    if not isinstance(verified, Verification):
        return RIGHT[verified]
    if verified.stale:
        outcome = "verified" if verified.passed else "wrong"
        return tag("span", f"not verified since its code changed ({outcome}{verified})", kind="wb-dim")
    return Markup("{}{}").format(RIGHT[verified.passed], str(verified))


@dataclass(frozen=True)
class Verification:
    """The last verification of a profiled kernel in this process.

    Attributes:
        passed: True if the result was right.
        reference: name of the reference; "" if it has none.
        seconds: Unix time.
        stale: True if the kernel's code has changed since.
    """

    passed: bool
    reference: str
    seconds: float
    stale: bool

    def __str__(self) -> str:
        reference = f" against {self.reference}" if self.reference else ""
        return f"{reference} at {time.strftime('%H:%M:%S', time.localtime(self.seconds))}"


def last_verification(result: ProfileResult) -> Verification | None:
    """The last verification of the same code on the same device, else of the kernel before its code changed.

    A module that is verified under its operator's name and profiled under its kernel's is one code.
    """
    subject = (result.name, _sizes(result.shape))
    before: Verification | None = None
    for event in reversed(hub.history()):
        if event.kind != "verify" or event.data["device"] != result.device:
            continue
        data = event.data
        same_name = (event.name, _sizes(shape_of(data))) == subject
        stale = data["code"] != result.code
        if (same_name and not stale) or (result.code and not stale and not _sized(result, data)):
            return Verification(bool(data["passed"]), data.get("reference", ""), event.seconds, False)
        if before is None and stale and event.name == result.name:
            before = Verification(bool(data["passed"]), data.get("reference", ""), event.seconds, True)
    return before


def _sized(result: ProfileResult, data: Mapping[str, Any]) -> bool:
    """Whether both name a shape: then one code at two shapes was verified at one of them only."""
    return bool(result.shape) and bool(shape_of(data))


def _sizes(shape: object) -> str:
    return str(sorted((str(k), str(v)) for k, v in dict(shape).items()))  # type: ignore[call-overload]
