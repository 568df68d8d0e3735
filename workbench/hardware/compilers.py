"""Compares this computer's compilers on the same kernels: registers, spills, times, bits."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from workbench.hardware import bits
from workbench.hardware.operators import smallest, spread, written
from workbench.hardware.section import Answer, Case, Compared, Plan, Section
from workbench.operators import kernels
from workbench.profile import time
from workbench.toolchain import find_compiler
from workbench.toolchain.search import other_compilers

if TYPE_CHECKING:
    from workbench.runtime import Device

_KERNELS, _QUICK = 8, 2


def _cases(plan: Plan) -> list[Case]:
    best = find_compiler(plan.arch)
    # Each candidate is queried, so only once for all kernels.
    others = other_compilers(best, plan.arch)
    return [
        Case(
            f"{case.name} by {compiler.version}",
            {**case.about, "compiler": compiler.version},
            {"HIPKITTENS_COMPILER": str(compiler.path)},
        )
        for case in smallest(spread(plan, _QUICK if plan.quick else _KERNELS), plan.arch)
        for compiler in others
    ]


def _measure(case: Case, device: Device, folder: Path) -> Answer:
    spec = kernels[case.about["operator"]]
    full = spec.shape(case.about["shape"], arch=device.arch)
    results = written(spec, full, device)
    used = [step.kernel.resources for step in spec.steps_of(full, arch=device.arch)]
    timed = time(spec, shape=full, device=device)
    return {
        "us": timed.median.value,
        "origin": str(timed.origin),
        "compiler": find_compiler(device.arch).version,
        "registers": max(resources.total_vgprs for resources in used),
        "spills": sum(resources.vgpr_spills + resources.sgpr_spills for resources in used),
        "types": bits.keep(folder, results),
    }


def _compare(subject: Answer, reference: Answer, subject_folder: Path, reference_folder: Path) -> Compared:
    """The other compiler's code on the examined device, beside the usual compiler's on the emulated one."""
    wrong, total, distances = bits.differing(subject["types"], subject_folder, reference_folder)
    text = (
        f"{subject['compiler']}: {subject['us']:,.4g} us, {subject['registers']} registers, "
        f"{subject['spills']} spills; {reference['compiler']}: {reference['registers']} registers, "
        f"{reference['spills']} spills"
    )
    if not wrong:
        return True, f"{text}; all {total:,} results have the same bits"
    return False, f"{text}; other bits: {bits.distance_text(distances)}"


SECTION = Section(
    "compilers",
    "The same kernels by every compiler of this computer",
    0.06,
    _cases,
    _measure,
    _compare,
    nothing="no second compiler was found; ROCm's hipcc is one, and so is a clang with AMDGPU and lld",
)
