"""Times of every operator at up to three sizes, compared with the timing model's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.hardware.operators import smallest_first, spread
from workbench.hardware.section import Answer, Case, Compared, Plan, Section
from workbench.operators import shape_text
from workbench.profile import time

if TYPE_CHECKING:
    from workbench.runtime import Device

_QUICK = 10
_MOST = 4e11
"""Operations of the largest problem: the emulated device runs it too."""


def _cases(plan: Plan) -> list[Case]:
    specs = spread(plan, _QUICK) if plan.quick and not plan.operators else plan.specs()
    sizes: list[list[Case]] = [[], [], []]
    for spec in specs:
        shapes = [s for s in smallest_first(spec, plan.arch) if spec.work(s).get("flops", 0) <= _MOST]
        picked = [*shapes[-1:], *shapes[:1], *shapes[len(shapes) // 2 :][:1]]
        distinct = [shape for n, shape in enumerate(picked) if shape not in picked[:n]]
        for place, shape in zip(sizes, distinct, strict=False):
            about = {"operator": spec.name, "shape": dict(shape)}
            place.append(Case(f"{spec.name} {shape_text(shape)}", about))
    # Each operator's largest first: those say most if there is no time for all.
    return [case for place in sizes for case in place]


def _measure(case: Case, device: Device, folder: Path) -> Answer:
    timing = time(case.about["operator"], shape=case.about["shape"], device=device)
    answer: dict[str, Any] = {
        "us": timing.median.value,
        "low": timing.low.value,
        "high": timing.high.value,
        "origin": str(timing.origin),
        "quantity": timing.quantity,
        "launches": max(1, len(timing.steps)),
    }
    # The time that a clock around the launch would show, as for the GPU.
    if timing.events is not None:
        answer["by events"] = timing.events.value
    if timing.median.error is not None:
        answer["expected"] = [timing.median.error.low, timing.median.error.high]
        answer["kind"] = timing.median.error.kind
    return answer


def _compare(subject: Answer, reference: Answer, subject_folder: Path, reference_folder: Path) -> Compared:
    measured = subject["us"]
    modelled = reference["by events"] if subject["origin"] != "modelled" else reference["us"]
    ratio = modelled / measured
    text = f"{subject['origin']} {measured:,.4g} us, modelled {modelled:,.4g} us: {ratio:.2f} of it"
    if "expected" not in reference:
        return None, text
    low, high = reference["expected"]
    return low <= ratio <= high, f"{text} (stated: {low:.2f} to {high:.2f})"


SECTION = Section(
    "times",
    "Times of every operator compared with the model's",
    0.2,
    _cases,
    _measure,
    _compare,
    alone=True,
)
