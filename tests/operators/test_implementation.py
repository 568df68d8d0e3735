"""Implementations that operators choose for a shape and a target, and repeatable calls of them."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
import torch

import workbench as wb
from workbench import ops
from workbench.errors import ArgumentError, ShapeError, WorkbenchError
from workbench.operators import KernelSpec, Launch, Range, Variant

MOST_RETURNS = 8


SOURCE = """#include <hip/hip_runtime.h>
extern "C" __global__ void add(const float *x, const float *y, float *out, float by) {
    out[threadIdx.x] = x[threadIdx.x] + by * y[threadIdx.x];
}
"""


def added(**changes: Any) -> KernelSpec:
    fields: dict[str, Any] = {
        "name": "maps/added",
        "source": SOURCE,
        "entry": "add",
        "launch": lambda shape, arch: Launch(1, shape["n"]),
        "parameters": {"n": Range(1, 64)},
        "shapes": [{"n": 8}],
        "inputs": lambda shape, generator: {name: torch.ones(shape["n"]) for name in "xy"},
        "outputs": lambda shape, inputs: {"out": ((shape["n"],), torch.float32)},
        "reference": lambda x, y, by=2.0: x + by * y,
        "shape_of": lambda x, y, by: {"n": x.numel()},
    }
    return KernelSpec(**(fields | changes))


def choosing() -> KernelSpec:
    def check(shape: Any, arch: str) -> None:
        if shape["n"] == 3:
            raise ShapeError("wide takes no 3")

    wide = Variant(
        lambda shape, arch: shape["n"] > 8,
        check=check,
        define=lambda shape, arch: {"WIDE": shape["n"]},
        launch=lambda shape, arch: Launch(2, shape["n"]),
        entry="add",
    )
    return added(variants={"wide": wide})


def test_equal_shapes_have_one_implementation() -> None:
    spec = choosing()
    narrow, wide = spec.implementation({"n": 8}, arch="gfx950"), spec.implementation({"n": 9}, arch="gfx950")
    assert (narrow.name, wide.name) == ("maps/added", "maps/added:wide")
    assert narrow.spec is spec
    assert wide.spec is spec.variant("wide")
    assert spec.implementation({"n": 9}, arch="gfx950") is wide
    assert spec.implementation({"n": 9}, arch="gfx942") is not wide
    (step,) = wide.steps
    assert wide.macros(step) == {"WIDE": 9}
    assert step.launch(wide.shape, wide.arch).grid == (2, 1, 1)
    assert not wide.is_prepared, "nothing was compiled so far"


def test_a_variant_refuses_by_its_own_check() -> None:
    implementation = choosing().variant("wide").implementation({"n": 9}, arch="gfx950")
    implementation.check()
    with pytest.raises(ShapeError, match="wide takes no 3"):
        choosing().variant("wide").implementation({"n": 3}, arch="gfx950")


def test_a_target_that_the_tile_library_has_not() -> None:
    with pytest.raises(WorkbenchError, match="is written for gfx950, gfx942, not for gfx90a"):
        added().steps_of(arch="gfx90a")


def test_a_prepared_call_runs_again_on_the_tensors_that_it_has() -> None:
    spec, device = added(), wb.device("emulated:gfx950")
    x, y = torch.arange(8.0), torch.ones(8)
    call = spec.prepare(spec.bind(x, y), {"n": 8}, device)
    assert set(call.tensors) == {"x", "y", "by", "out"}
    for _ in range(2):
        x += 1
        (record,) = call.run()
        assert record.device == device.name
        assert torch.equal(call.outputs["out"], x + 2 * y)


def test_wrong_outputs_and_places_are_refused_before_anything_runs() -> None:
    spec = added()
    x = torch.ones(8)
    with pytest.raises(ArgumentError, match=r"maps/added has no output 'result'; it has out"):
        spec.run({"x": x, "y": x}, {"result": x})
    with pytest.raises(ArgumentError, match="argument 'y' is a tensor on meta; expected one on cpu"):
        spec(x, x.to("meta"))
    assert not spec.implementation({"n": 8}).is_prepared


def _holds_a_tensor(value: Any, depth: int = 2) -> bool:
    if isinstance(value, torch.Tensor) or type(value).__name__ == "Call":
        return True
    values = value.values() if isinstance(value, dict) else value
    parts = depth and isinstance(value, dict | list | tuple | type({}.values()))
    return bool(parts) and any(_holds_a_tensor(part, depth - 1) for part in values)


def walk(function: Any, *args: torch.Tensor) -> list[str]:
    """Modules between a call and its launch, in the order of the frames with a tensor."""
    visits: list[str] = []
    frames: list[tuple[FrameType, str]] = []
    launched = False

    def visit(module: str) -> None:
        if not launched and visits[-1:] != [module]:
            visits.append(module)

    def follow(frame: FrameType, event: str, _: Any) -> None:
        nonlocal launched
        module = str(frame.f_globals.get("__name__", ""))
        name = frame.f_code.co_name
        if event == "call" and module.startswith("workbench.") and not name.startswith("<"):
            if name in ("launch", "launch_packed") or any(map(_holds_a_tensor, frame.f_locals.values())):
                visit(module)
                frames.append((frame, module))
                launched |= module == "workbench.kernel.kernel"
        elif event == "return" and frames and frames[-1][0] is frame:
            frames.pop()
            if frames:
                visit(frames[-1][1])

    before = sys.getprofile()
    sys.setprofile(follow)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    return visits


@pytest.mark.parametrize("call", [1, 2, 4])
def test_the_way_of_a_tensor_to_its_launch_is_short(call: int) -> None:
    """Counts the returns to a module of a first call, one that creates a plan, and one by that plan."""
    spec = wb.kernels["normalization/rmsnorm"]
    spec.read_tuning_again()  # frees its plans
    x, weight = torch.randn(3, 64), torch.randn(64)
    for _ in range(call - 1):
        ops.rms_norm(x, weight)
    modules = walk(ops.rms_norm, x, weight)
    assert modules[-1] == "workbench.kernel.kernel"
    assert len(modules) - len(set(modules)) <= MOST_RETURNS, modules
