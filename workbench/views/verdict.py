"""The first line of every report: correctness, speed, distance from the roof, and the limit."""

from __future__ import annotations

from markupsafe import Markup

from workbench.events import hub, shape_told
from workbench.profile.results import ProfileResult
from workbench.views.badge import badge, unknown
from workbench.views.markup import NOTHING, bold, tag

RIGHT = {
    True: tag("span", "✓ verified", kind="wb-ok"),
    False: tag("span", "✗ wrong", kind="wb-bad"),
    None: tag("span", "not verified", kind="wb-dim"),
}


def verdict(result: ProfileResult, verified: bool | None) -> Markup:
    """One line of HTML, plus one for each remark on the grid.

    Args:
        verified: True if the last verification of the same code passed; None if there was none.
    """
    time = Markup("{} us {}").format(bold(f"{result.time.value:.4g}"), badge(result.time))
    parts = [RIGHT[verified], time]
    if (roof := result.of_roof) is not None and roof.share is not None:
        parts.append(Markup("{} of the roof ({})").format(bold(f"{roof.share:.0%}"), roof.metric.name))
    if result.model is not None:
        parts.append(Markup("limited by {}").format(bold(result.model.bound_text)))
    if error := unknown([result.time]):
        parts.append(error)
    line = tag("div", Markup(" · ").join(parts), kind="wb-verdict")
    return NOTHING.join([line, *(tag("div", remark, kind="wb-warn") for remark in result.remarks)])


def verified_before(result: ProfileResult) -> bool | None:
    """Result of this process's last verification of the same code, shape and device; None without one."""
    subject = (result.name, result.device, result.code, _sizes(result.shape))
    for event in reversed(hub.history()):
        if event.kind == "verify":
            verification = event.data
            if (
                event.name,
                verification["device"],
                verification["code"],
                _sizes(shape_told(verification)),
            ) == subject:
                return bool(verification["passed"])
    return None


def _sizes(shape: object) -> str:
    return str(sorted((str(k), str(v)) for k, v in dict(shape).items()))  # type: ignore[call-overload]
