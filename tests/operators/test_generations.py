"""An operator that is written for a target runs on the others of its generation."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.targets import KNOWN, LIBRARY_TARGETS, for_generations, further_of_generations

FURTHER = further_of_generations(LIBRARY_TARGETS)


def test_every_target_of_rdna3_is_one_of_a_generation() -> None:
    assert FURTHER == ("gfx1101", "gfx1102", "gfx1103", "gfx1151")
    assert for_generations({"gfx1100": 5, "gfx950": 7}) == {
        "gfx950": 7,
        **dict.fromkeys(("gfx1100", *FURTHER), 5),
    }
    assert further_of_generations(record.name for record in KNOWN) == ()


def test_an_operator_names_them() -> None:
    assert f"gfx1100, {', '.join(FURTHER)};" in repr(wb.kernels["gemm/bf16"])
    assert "gfx1101" not in repr(wb.kernels["activations/softmax_backward"])


@pytest.mark.parametrize("arch", FURTHER)
def test_an_operator_runs_there(arch: str) -> None:
    result = wb.verify("normalization/layernorm", shape={"rows": 4, "cols": 256}, device=f"emulated:{arch}")
    assert result.passed, str(result)


def test_an_operator_for_cdna_is_refused() -> None:
    with pytest.raises(WorkbenchError, match="is written for gfx950, gfx942, not for gfx1151"):
        wb.verify("activations/softmax_backward", shape={"rows": 4, "cols": 64}, device="emulated:gfx1151")
