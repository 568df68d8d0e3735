"""Proofs by schedules on gfx1201: a fault changes a result, and a right kernel has no proof."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import workbench as wb
from tests.emulator.sanitizer.seeded_gfx12 import CASES, TARGET
from tests.emulator.sanitizer.test_seeded_gfx12 import SEEDED, modules  # noqa: F401
from workbench.check.schedules import prove

FAULTS = (
    "stores_waited_for_in_place_of_loads",
    "stores_do_not_push_loads",
    "loads_between_stores",
    "kmcnt",
    "scalar_overwritten",
    "joint_wait_for_loads_alone",
    "vmcnt",
    "lgkmcnt",
    "scalar_load_out_of_order",
    "lds_write_published",
    "lds_overwritten_before_read",
    "lds_read_after_write",
    "lds_write_after_read",
    "global_between_groups",
    "global_sum_without_atomic",
    "data_after_the_flag",
)


def _runner(name: str, fault: bool) -> Callable[[], list[torch.Tensor]]:
    case, kernel = CASES[name], SEEDED.compiled(name, fault)[f"{name}::k"]

    def run() -> list[torch.Tensor]:
        values, out = torch.arange(case.elements, dtype=torch.float32), torch.zeros(case.elements)
        launch = wb.Launch(case.grid, case.block)
        kernel.launch(launch, (values, out), {}, device=wb.device(f"emulated:{TARGET}"))
        return [values, out]

    return run


@pytest.mark.usefixtures("modules")
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_has_a_proof_that_repeats(name: str) -> None:
    run = _runner(name, fault=True)
    plain = run()
    proof = prove(run)
    assert proof is not None
    with wb.schedule(proof.schedule):
        results = run()
    differing = sum(
        int((a.view(torch.int32) != b.view(torch.int32)).sum()) for a, b in zip(results, plain, strict=True)
    )
    assert differing == proof.differences > 0
    assert prove(_runner(name, fault=False), tries=12) is None
