"""A training step's launches by module and pass, with their times, sums and traces."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

import workbench as wb
from workbench import nn
from workbench.errors import UsageError
from workbench.events import hub
from workbench.profile import timing
from workbench.profile.training_step import OUTSIDE
from workbench.views.training import flame

COPY = """
#include <hip/hip_runtime.h>
__global__ void copy(const float *x, float *y, int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) y[i] = x[i];
}
"""


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.mlp = nn.RMSNorm(64, dtype=torch.bfloat16), nn.SwiGLU(64, 128)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        output: torch.Tensor = x + self.mlp(self.norm(x))
        return output


class Model(torch.nn.Module):
    def __init__(self, checkpointing: bool = False) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(), Block()])
        self.checkpointing = checkpointing

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.checkpointing else layer(x)
        return x


def counted(checkpointing: bool) -> Counter[tuple[str, str, str]]:
    """Calls of a step on tensors of "meta" by module, pass and operator."""
    with torch.device("meta"):
        model = Model(checkpointing)
        x = torch.empty(32, 64, dtype=torch.bfloat16, requires_grad=True)
    with wb.profile_step() as step:
        model(x).sum().backward()
    assert all(call.launches == 0 for call in step.calls)
    return Counter((call.layer, call.phase, call.operator) for call in step.calls)


def test_modules_and_passes() -> None:
    counts = counted(checkpointing=False)
    for projection in ("gate_proj", "up_proj", "down_proj"):
        path = f"layers.*.mlp.{projection}"
        assert counts[path, "forward", "gemm/bf16"] == 2
        # Each product has two gradients, in each of two layers.
        assert counts[path, "backward", "gemm/bf16"] == 4
    assert counts["layers.*.mlp", "forward", "activations/silu_and_mul"] == 2
    assert counts["layers.*.mlp", "backward", "activations/silu_and_mul_backward"] == 2
    assert counts["layers.*.norm", "backward", "normalization/rmsnorm_backward"] == 2
    assert {phase for _, phase, _ in counts} == {"forward", "backward"}
    assert not [module for module, _, _ in counts if module == OUTSIDE]


def test_checkpointing_is_distinguished() -> None:
    plain, checkpointed = counted(checkpointing=False), counted(checkpointing=True)
    again = {(m, o): n for (m, phase, o), n in checkpointed.items() if phase == "recomputed"}
    assert again
    for (module, operator), count in again.items():
        assert plain[module, "forward", operator] == count
    assert {k: n for k, n in checkpointed.items() if k[1] != "recomputed"} == dict(plain)


@pytest.fixture(scope="module")
def step() -> wb.StepProfile:
    """A norm forward and backward, and a kernel without operator, called by a module and outside of one."""
    kernel = wb.compile(COPY)["copy"]
    y = torch.empty(1000)

    class Copying(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> None:
            kernel[4, 256](x, y, 1000)

    norm, copying = nn.RMSNorm(64, dtype=torch.bfloat16), Copying()
    x = torch.randn(32, 64).bfloat16().requires_grad_()
    with wb.profile_step() as step:
        norm(x).sum().backward()
        copying(torch.randn(1000))
        kernel[4, 256](y, torch.empty(1000), 1000)
    return step


def test_times_and_kernels_of_ones_own(step: wb.StepProfile) -> None:
    calls = [(c.module, c.phase, c.operator) for c in step.calls]
    assert calls == [
        ("RMSNorm", "forward", "normalization/rmsnorm"),
        ("RMSNorm", "backward", "normalization/rmsnorm_backward"),
        ("Copying", "forward", "copy"),
        (OUTSIDE, "forward", "copy"),
    ]
    shape = {"rows": 32, "cols": 64, "dtype": "bf16"}
    expected = wb.time("normalization/rmsnorm", shape=shape).median.value
    (norm,) = [row for row in step.rows if row.operator == "normalization/rmsnorm"]
    assert norm.time.value == pytest.approx(expected)
    assert norm.time.origin is wb.Origin.MODELLED
    assert sum(row.share for row in step.rows) == pytest.approx(1)
    assert sum(step.by_operator().values()) == pytest.approx(step.total.value)
    assert sum(step.by_module().values()) == pytest.approx(step.total.value)
    assert "rmsnorm_backward" in str(step)


def test_a_forecast_launches_a_call_once_per_target(monkeypatch: pytest.MonkeyPatch) -> None:
    with torch.device("meta"):
        norm = nn.RMSNorm(2048, dtype=torch.bfloat16)
        x = torch.empty(512, 2048, dtype=torch.bfloat16)
    with torch.no_grad(), wb.profile_step("MI300X") as step:
        norm(x)
    counted, ran = timing.counted, []

    def noted(*args: Any, **options: Any) -> Any:
        ran.append(args)
        return counted(*args, **options)

    monkeypatch.setattr(timing, "counted", noted)
    forecast = step.forecast(("MI300X", "MI325X", "MI355X"))
    expected = wb.time("normalization/rmsnorm", shape=step.calls[0].shape, device="emulated:MI325X").median
    ran.clear()
    first = forecast["MI300X"].total
    assert forecast["MI325X"].total.value == expected.value < first.value
    assert len(ran) == 1, "the other target's was counted, too, or one GPU's again"


def test_the_sum_is_off_as_its_parts_are(step: wb.StepProfile) -> None:
    """The ends of the sum's range are the sums of the parts' ends, as if all errors had one sign."""
    around = [t.error.around(t.value) for c in step.calls if (t := step.times[c.key].median).error]
    error = step.total.error
    assert error is not None
    low, high = error.around(step.total.value) or (0.0, 0.0)
    assert low == pytest.approx(sum(ends[0] for ends in around if ends))
    assert high == pytest.approx(sum(ends[1] for ends in around if ends))


def test_its_times_are_published_without_tensors(step: wb.StepProfile) -> None:
    events = []
    stop = hub.subscribe(lambda event: events.append(event) if event.kind == "step" else None)
    try:
        again = wb.StepProfile(step.calls, step.device)
        total = again.total.value
    finally:
        stop()
    (event,) = events
    assert event.data.total.value == total
    assert [c.key for c in event.data.calls] == [c.key for c in step.calls]
    assert all(call._again is None for call in event.data.calls)


def test_trace(step: wb.StepProfile, tmp_path: Path) -> None:
    """Slices are nested, and those of operators fill the step."""
    trace = json.loads(step.to_perfetto(tmp_path / "step.json").read_text())
    slices: list[dict[str, Any]] = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    tips = [e for e in slices if "args" in e]
    assert sum(e["dur"] for e in tips) == pytest.approx(step.total.value)
    for tip in tips:
        around = [
            e
            for e in slices
            if e["ts"] <= tip["ts"] + 1e-9 and e["ts"] + e["dur"] + 1e-9 >= tip["ts"] + tip["dur"]
        ]
        assert {e["name"] for e in around} >= {tip["cat"], tip["name"]}


def test_page(step: wb.StepProfile) -> None:
    page = step._repr_html_()
    for row in step.rows:
        assert row.operator in page
        assert f" / {row.operator}: " in flame(step)


def test_nothing_ran() -> None:
    with wb.profile_step() as step:
        pass
    with pytest.raises(UsageError, match="nothing was launched"):
        print(step)
