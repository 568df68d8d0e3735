"""Every operator of the catalogue: whether it agrees with PyTorch, and in every bit with emulation."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.check.verify import verify
from workbench.errors import ShapeError
from workbench.hardware import bits
from workbench.hardware.section import Answer, Case, Compared, Plan, Section
from workbench.operators import KernelSpec, Shape, kernels

if TYPE_CHECKING:
    import torch

    from workbench.runtime import Device

_QUICK = 24
"""Operators of the short form."""


def smallest_first(spec: KernelSpec, arch: str) -> list[Shape]:
    """The operator's shapes that the target supports, those with the least work first."""
    shapes: list[Shape] = []
    for shape in (*spec.shapes, {}):
        try:
            full = spec.shape(shape, arch=arch)
        except ShapeError:
            continue
        if full not in shapes:
            shapes.append(full)
    return sorted(shapes, key=lambda full: spec.work(full).get("flops", 0) + spec.work(full).get("bytes", 0))


def smallest(specs: Sequence[KernelSpec], arch: str) -> list[Case]:
    """A case of each operator that the target supports, at the shape with the least work."""
    shapes = {spec.name: smallest_first(spec, arch)[:1] for spec in specs}
    return [
        Case(name, {"operator": name, "shape": dict(shape)})
        for name, candidates in shapes.items()
        for shape in candidates
    ]


def written(spec: KernelSpec, full: Shape, device: Device) -> dict[str, torch.Tensor]:
    """Outputs and inputs written in place, by name, of a run on fresh inputs."""
    inputs = spec.make_inputs(full, device=device)
    outputs, _ = spec.run(inputs, shape=full, device=device)
    return {**outputs, **{name: inputs[name] for name in spec.mutates}}


def spread(plan: Plan, most: int) -> list[KernelSpec]:
    """At most this many operators, from every category."""
    specs = plan.specs()
    return specs if len(specs) <= most else [specs[n * len(specs) // most] for n in range(most)]


def _cases(plan: Plan) -> list[Case]:
    return smallest(spread(plan, _QUICK) if plan.quick and not plan.operators else plan.specs(), plan.arch)


def _measure(case: Case, device: Device, folder: Path) -> Answer:
    import torch

    spec, shape = kernels[case.about["operator"]], case.about["shape"]
    checked = verify(spec, shape=shape, device=device)
    full = spec.shape(shape, arch=device.arch)
    runs = [
        {name: tensor.detach().cpu().contiguous() for name, tensor in written(spec, full, device).items()}
        for _ in range(2)
    ]
    first, second = (
        {name: tensor.reshape(-1).view(torch.uint8) for name, tensor in run.items()} for run in runs
    )
    opcodes = {
        instruction.record.opcode
        for step in spec.steps_of(full, arch=device.arch)
        for instruction in step.kernel.instructions
    }
    return {
        "passed": bool(checked.passed),
        "text": "; ".join(str(output) for output in checked.outputs.values()),
        "largest error": max((output.max_error for output in checked.outputs.values()), default=0.0),
        "repeats": all(torch.equal(first[name], second[name]) for name in first),
        "opcodes": sorted(opcodes),
        "types": bits.keep(folder, runs[0]),
    }


def _compare(subject: Answer, reference: Answer, subject_folder: Path, reference_folder: Path) -> Compared:
    wrong, total, distances = bits.differing(subject["types"], subject_folder, reference_folder)
    verdict = "right against PyTorch" if subject["passed"] else f"WRONG: {subject['text']}"
    if not subject["repeats"]:
        verdict += "; two runs differ"
    if not wrong:
        return bool(subject["passed"]), f"{verdict}; all {total:,} results have the emulated device's bits"
    return bool(subject["passed"]), f"{verdict}; other bits: {bits.distance_text(distances)}"


SECTION = Section(
    "operators",
    "Every operator: compared with PyTorch, and its bits with the emulated device's",
    0.3,
    _cases,
    _measure,
    _compare,
)
