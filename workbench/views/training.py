"""Lists the modules of a model that run on the kernels, and the breakdown of a training step's time."""

from __future__ import annotations

from markupsafe import Markup

from workbench.display import shows
from workbench.integrations.used import Used
from workbench.operators.parameters import shape_text
from workbench.profile.training_step import PHASES, StepProfile
from workbench.theme import SERIES
from workbench.views.badge import badge
from workbench.views.markup import block, bold, tag
from workbench.views.table import Table, number

ROW_HEIGHT, WIDTH = 20, 1000
"""Pixels of the flame chart's rows; units of its width."""

CHARACTERS = 7.2
"""Units of a character in it."""


@shows(Used)
def used_html(used: Used) -> Markup:
    """A row for each kind of module."""
    head = ("module", "class", "count", "replaced", "by")
    return block(Table(head, [(r.path, r.kind, r.count, r.replaced or "left", r.by) for r in used.rows]))


@shows(StepProfile)
def step_html(step: StepProfile) -> Markup:
    """The flame chart, and a row for each operator of a module."""
    head = ("share", "time (us)", "calls", "operator", "pass", "module", "bound by", "shape")
    rows = [
        (
            *(number(100 * r.share, ".1f"), number(r.time.value, ",.4g"), r.calls, r.operator, r.phase),
            *(r.module, r.bound, shape_text(r.shape)),
        )
        for r in step.rows
    ]
    title = tag(
        "div", bold(f"{len(step.calls)} calls on {step.device}: {step.total}"), " ", badge(step.total.origin)
    )
    return block(title, flame(step), Table(head, rows))


def flame(step: StepProfile) -> Markup:
    """The step as a flame chart: passes, modules in modules (all layers as one), operators at the tips."""
    sums: dict[tuple[str, ...], float] = {}
    for row in step.rows:
        path = (row.phase, *row.module.split("."), row.operator)
        for depth in range(1, len(path) + 1):
            sums[path[:depth]] = sums.get(path[:depth], 0.0) + row.time.value
    whole, parts = step.total.value or 1.0, []
    deepest = max(map(len, sums))
    start: dict[tuple[str, ...], float] = {(): 0.0}
    used: dict[tuple[str, ...], float] = {}
    for path in sorted(sums, key=lambda p: (len(p), _order(p, sums))):
        at = start[path[:-1]] + used.get(path[:-1], 0.0)
        used[path[:-1]] = used.get(path[:-1], 0.0) + sums[path]
        start[path] = at
        x, width = (WIDTH * value / whole for value in (at, sums[path]))
        name = path[-1] if len(path[-1]) * CHARACTERS < width else ""
        hue = SERIES[PHASES.index(path[0])] if path[0] in PHASES else SERIES[3]
        parts.append(
            Markup(
                '<g><title>{}: {:,.1f} us, {:.1%}</title><rect x="{:.2f}" y="{}" width="{:.2f}" height="{}" '
                'fill="{}" fill-opacity="{}" stroke="var(--jp-layout-color0, white)"/>'
                '<text x="{:.2f}" y="{}" font-size="12" fill="currentColor">{}</text></g>'
            ).format(
                *(" / ".join(path), sums[path], sums[path] / whole),
                *(
                    x,
                    (len(path) - 1) * ROW_HEIGHT,
                    width,
                    ROW_HEIGHT - 1,
                    hue,
                    0.25 if len(path) % 2 else 0.4,
                ),
                *(x + 3, len(path) * ROW_HEIGHT - 6, name),
            )
        )
    height = deepest * ROW_HEIGHT
    return Markup('<svg viewBox="0 0 {} {}" width="100%" role="img" aria-label="{}">{}</svg>').format(
        WIDTH, height, "a step's time by pass, module and operator", Markup("").join(parts)
    )


def _order(path: tuple[str, ...], sums: dict[tuple[str, ...], float]) -> tuple[object, ...]:
    """Passes in order, and within one thing its largest part first."""
    phase = PHASES.index(path[0]) if path[0] in PHASES else len(PHASES)
    return (phase, *(value for i in range(2, len(path) + 1) for value in (-sums[path[:i]], path[i - 1])))
