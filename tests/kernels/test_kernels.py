"""The kernels of the library: results, resources, shared memory, and refusals."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from tile_cases import in_turn

import workbench as wb
from workbench.errors import ShapeError
from workbench.runtime import LaunchOptions, device

EVERY = os.environ.get("HIPKITTENS_TEST_ALL", "0") != "0"
SEED = os.environ["HIPKITTENS_TEST_SEED"]

CATEGORIES = ("activations/", "gemm/", "normalization/", "rotary/")
KERNELS = [name for name in wb.kernels if name.startswith(CATEGORIES)]

FILLS_REGISTERS = ("gemm/mx",)
"""Without scaled matrix instructions, on gfx942, its waves take over half of the registers."""

SCALARS_IN_LANES = ("gemm/mx",)
"""On gfx942 the fp6 kernel needs more scalars than there are SGPRs. The others are kept in the lanes of one
VGPR, which has 64: no memory is accessed."""

MORE = {
    "normalization/rmsnorm": [{"rows": 1, "cols": 1}, {"rows": 70, "cols": 520}, {"rows": 9, "cols": 8191}],
    "activations/softmax": [
        {"rows": 1, "cols": 1, "dtype": "fp32"},
        {"rows": 70, "cols": 520, "dtype": "fp32"},
        {"rows": 5, "cols": 8191, "dtype": "bf16"},
    ],
    "gemm/bf16": [
        {"m": 1, "n": 1, "k": 8},
        {"m": 127, "n": 257, "k": 8},
        {"m": 300, "n": 66, "k": 200},
        {"m": 1200, "n": 1100, "k": 32},
    ],
}
"""Shapes in addition to the specs': smallest, odd, and with enough tiles for the order over chiplets."""


def smaller(shape: dict[str, object]) -> dict[str, object]:
    """A shape with fewer rows, if rows are independent."""
    rows = shape.get("rows")
    return {**shape, "rows": min(rows, 200)} if isinstance(rows, int) else shape


def in_turns(arch: str, name: str, shapes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Shapes that a run compiles: one, for one of the targets, by the seed; all in `make test-product`."""
    if EVERY:
        return list(shapes)
    if not in_turn(name, arch):
        pytest.skip("it is the other target's turn")
    return random.Random(f"{SEED} {name}").sample(shapes, min(1, len(shapes)))


@pytest.mark.parametrize("name", KERNELS)
def test_verifies(arch: str, name: str) -> None:
    spec = wb.kernels[name]
    for shape in [*in_turns(arch, name, spec.shapes), *in_turns(arch, name, MORE.get(name, ()))]:
        result = wb.verify(spec, shape=smaller(shape), device=f"emulated:{arch}", seed=11)
        assert result.passed, f"{shape}: {result}"


@pytest.mark.parametrize("name", KERNELS)
def test_resources(arch: str, name: str) -> None:
    """No vector spills, no scratch for any shape; enough waves, or steps ahead, to hide memory's latency."""
    spec = wb.kernels[name]
    for shape in in_turns(arch, name, spec.shapes):
        for ready in spec.steps_of(shape, arch=arch):
            launch = ready.step.launch(spec.shape(shape), arch)
            resources = ready.kernel.resources_at(launch.block[0], launch.dynamic_shared)
            assert resources.scratch == 0
            assert resources.vgpr_spills == 0
            assert resources.sgpr_spills <= (64 if arch == "gfx942" and name in SCALARS_IN_LANES else 0)
            # Prefetched steps of K of a GEMM hide latency like other waves, and fill the LDS on purpose.
            ahead = name.startswith("gemm/") and resources.occupancy.limit == "LDS"
            alone = ahead or (arch == "gfx942" and name in FILLS_REGISTERS)
            assert alone or resources.occupancy.waves_per_simd >= 2, f"{shape}: {resources}"


def test_gemm_has_no_bank_conflicts(arch: str) -> None:
    """Neither the loads into shared memory nor the reads of the operands have bank conflicts."""
    spec = wb.kernels["gemm/bf16"]
    for shape in ({"m": 128, "n": 128, "k": 128}, {"m": 64, "n": 64, "k": 96}):
        inputs = spec.make_inputs(shape)
        _, (record,) = spec.run(
            inputs, device=device(f"emulated:{arch}"), options=LaunchOptions(profile=True)
        )
        assert record.counters is not None
        assert record.counters["lds_bank_conflict"] == 0


def test_gradients_of_norms_have_no_bank_conflicts(arch: str) -> None:
    """Neither the sums over a work-group's waves nor those over work-groups."""
    spec = wb.kernels["normalization/rmsnorm_backward"]
    inputs = spec.make_inputs({"rows": 40, "cols": 1024})
    _, records = spec.run(inputs, device=device(f"emulated:{arch}"), options=LaunchOptions(profile=True))
    assert [record.counters["lds_bank_conflict"] for record in records if record.counters] == [0, 0]


def test_softmax_keeps_infinities_and_nans(arch: str) -> None:
    """As PyTorch: a NaN or a row of -inf gives NaN in its own row only, -inf gives zero."""
    x = torch.randn(8, 200, generator=torch.Generator().manual_seed(1))
    x[1, 3] = float("nan")
    x[2, 5:9] = float("-inf")
    x[3] = float("-inf")
    x[4, 7] = 1e30
    got = wb.kernels["activations/softmax"].run({"x": x}, device=device(f"emulated:{arch}"))[0]["out"]
    torch.testing.assert_close(got, torch.softmax(x, -1), equal_nan=True)


def test_rmsnorm_takes_any_leading_dimensions(arch: str) -> None:
    x = torch.randn(2, 3, 5, 256, generator=torch.Generator().manual_seed(2)).bfloat16()
    weight = torch.ones(256, dtype=torch.bfloat16)
    spec = wb.kernels["normalization/rmsnorm"]
    result = spec.run({"x": x, "weight": weight, "eps": 1e-3}, device=device(f"emulated:{arch}"))[0]["out"]
    assert result.shape == x.shape
    expected = spec.reference(x.float(), weight.float(), 1e-3)
    torch.testing.assert_close(result.float(), expected, rtol=8e-3, atol=1e-3)


def test_layernorm_without_weight_and_bias(arch: str) -> None:
    x = torch.randn(9, 300, generator=torch.Generator().manual_seed(2))
    spec = wb.kernels["normalization/layernorm"]
    result = spec.run(spec.bind(x), device=device(f"emulated:{arch}"))[0]["out"]
    torch.testing.assert_close(result, torch.nn.functional.layer_norm(x, (300,)), rtol=1e-5, atol=1e-5)


def test_layernorm_of_nearly_equal_numbers(arch: str) -> None:
    """Rounding errors of the mean are divided by the deviation: the error is bounded by each row's own."""
    if not in_turn("nearly equal", arch):
        pytest.skip("takes turns on targets")
    eps, rows = 1e-5, 400
    apart = torch.logspace(-4, 0, rows)[:, None]
    x = 5 + apart * torch.randn(rows, 2, generator=torch.Generator().manual_seed(random.randrange(1000)))
    got = wb.kernels["normalization/layernorm"](x, None, None, eps, device=device(f"emulated:{arch}"))
    wide = x.double()
    expected = torch.nn.functional.layer_norm(wide, (2,), eps=eps)
    deviation = (wide.var(-1, keepdim=True, correction=0) + eps).sqrt()
    bound = torch.finfo(x.dtype).eps * (wide.abs().amax(-1, keepdim=True) / deviation + 4 * expected.abs())
    assert ((got - expected).abs() <= bound).all()


@pytest.mark.parametrize(
    ("name", "tensors", "says"),
    [
        ("gemm/bf16", ((16, 60), (16, 60)), "k is 60; expected a multiple of 8"),
        ("gemm/bf16", ((16, 64), (64, 16)), "with the same K"),
        ("normalization/rmsnorm", ((4, 40000), (40000,)), "cols is 40000; supported is 1 to 32768"),
        ("normalization/rmsnorm", ((4, 128), (64,)), r"weight is \(64,\) torch.bfloat16; expected \(128,\)"),
    ],
)
def test_shapes_refused(name: str, tensors: tuple[tuple[int, ...], ...], says: str) -> None:
    with pytest.raises(ShapeError, match=says):
        wb.kernels[name](*(torch.zeros(dims, dtype=torch.bfloat16) for dims in tensors))


def test_softmax_of_other_types_refused() -> None:
    with pytest.raises(ShapeError, match=r"torch.bfloat16, torch.float16, torch.float32"):
        wb.kernels["activations/softmax"](torch.zeros(4, 4, dtype=torch.float64))


@pytest.mark.parametrize("x", [torch.tensor(1.0), torch.ones(1)])
def test_what_has_one_element_is_named(x: torch.Tensor) -> None:
    single = torch.ones(1, dtype=torch.bfloat16)
    with pytest.raises(ShapeError, match=r"mul_add: x is .*; expected two elements or more"):
        wb.kernels["feed_forward/mul_add"](x.bfloat16(), single, single, device="emulated:gfx942")
