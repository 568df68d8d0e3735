"""The comparison itself, against results made wrong on purpose."""

from __future__ import annotations

import math
from typing import assert_type

import pytest
import torch

import workbench as wb
from workbench.check.compare import BAD_LUCK, FLASH_FACTOR, compare, flash_factor, most_outside
from workbench.check.results import VerifyResult, VerifyResults
from workbench.check.verify import verify
from workbench.errors import UsageError, VerificationError
from workbench.operators import TOLERANCES, FlashRule, Tolerance
from workbench.origin import Origin


def noise(*shape, dtype=torch.float64, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype)


def test_rounding_to_bf16_passes_both_checks():
    expected = noise(64, 48)
    got = expected.to(torch.bfloat16)
    result = compare(got, expected, pytorch=expected.to(torch.bfloat16))
    assert result.passed
    assert result.flash_passed is True
    assert result.max_error == (got.double() - expected).abs().max().item()
    assert result.mean_error == pytest.approx((got.double() - expected).abs().mean().item())


def test_one_wrong_element_is_found():
    expected = noise(8, 16, 4)
    got = expected.float()
    got[3, 5, 2] += 0.5
    result = compare(got, expected, pytorch=expected.float())
    assert not result.elementwise_passed
    assert result.flash_passed is False
    assert result.mismatches == 1
    assert result.first[0].index == (3, 5, 2)
    assert result.max_error == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("count", [32, 1000, 400_000])
def test_as_many_elements_are_outside_as_chance_has_it(count):
    """Numbers that are rounded to either side of a midpoint, each with the same small probability."""
    share = 2e-3
    outside = torch.binomial(
        torch.full((100_000,), float(count)), torch.tensor(share), torch.Generator().manual_seed(count)
    )
    assert (outside > most_outside(share, count)).double().mean().item() <= 2 * BAD_LUCK
    assert most_outside(share, count) <= share * count + 6 * max(share * count, 1) ** 0.5
    assert most_outside(0, count) == 0


def test_flash_rule_of_few_elements_is_not_broken_by_luck():
    """Errors as large as PyTorch's, independent of them: twice is too little for one, and right for many."""
    draws, generator = 100_000, torch.Generator().manual_seed(1)
    for count in (1, 3, 8, 14):
        errors, reference = torch.rand(2, draws, count, generator=generator, dtype=torch.float64).amax(-1)
        broken = (errors > flash_factor(count) * reference).double().mean().item()
        assert broken <= 2 * BAD_LUCK, count
    assert flash_factor(1) > flash_factor(2) > flash_factor(13) > FLASH_FACTOR == flash_factor(14)
    alone = compare(torch.tensor([1.001]), torch.tensor([1.0]), pytorch=torch.tensor([1.0001]))
    assert alone.flash_passed is True
    assert not alone.passed


@pytest.mark.parametrize(("rows", "passes"), [(2, True), (14, False)])
def test_flash_rule_counts_rows_whose_elements_share_an_error(rows: int, passes: bool) -> None:
    truth = torch.zeros(40, 64)
    truth[:rows] = 1
    rule = FlashRule("one error a row", FLASH_FACTOR, by_row=True)
    result = compare(truth * 1.005, truth, pytorch=truth * 1.001, tolerance=(0.1, 0.1), rule=rule)
    assert result.passed is passes
    assert ("one error a row" in str(result)) is passes
    assert not compare(truth * 1.005, truth, pytorch=truth * 1.001, tolerance=(0.1, 0.1)).passed


def test_flash_rule_of_what_is_left_of_larger_numbers():
    """Rounding errors in float32 of values around one, unless the bounds exclude them."""
    expected = 1e-6 * noise(256)
    for dtype in (torch.float32, torch.bfloat16):
        got, worse, pytorch = ((expected + error).to(dtype) for error in (3e-7, 7e-7, 3e-8))
        assert compare(got, expected, pytorch=pytorch).flash_passed is True
        assert compare(got, expected, pytorch=pytorch, tolerance=(1.6e-2, 1e-6)).flash_passed is False
        assert compare(worse, expected, pytorch=pytorch).flash_passed is False


def test_the_inequality_of_the_flash_rule_is_true() -> None:
    def inequality(got: float, pytorch: float) -> str:
        expected = torch.full((64,), 0.25, dtype=torch.float64)
        result = compare(
            (expected + got).float(), expected, pytorch=(expected + pytorch).float(), tolerance=(1, 1)
        )
        return str(result).split("FlashAttention rule ")[1]

    step = 2.0**-25
    assert inequality(step, step) == "holds: 2.98e-08 <= 2 x PyTorch's 2.98e-08"
    # Rounding alone: four units in the last place of 1.
    assert inequality(4 * step, step) == "holds: 1.19e-07 <= 2 x PyTorch's 2.98e-08 + 4.77e-07 for rounding"
    assert inequality(0.25, step) == "BROKEN: 0.25 > 2 x PyTorch's 2.98e-08 + 4.77e-07 for rounding"


def test_flash_rule_catches_what_the_tolerance_lets_through():
    expected = noise(1024)
    got = (expected + 0.009).to(torch.bfloat16)
    pytorch = (expected + 0.001).float()
    result = compare(got, expected, pytorch=pytorch.to(torch.bfloat16), tolerance=(0.1, 0.1))
    assert result.elementwise_passed
    exact = compare(got, expected, pytorch=got, tolerance=(0.1, 0.1))
    assert exact.flash_bound == pytest.approx(2 * exact.max_error, rel=1e-4)
    worse = (expected + 0.2).to(torch.bfloat16)
    assert compare(worse, expected, pytorch=got, tolerance=(1, 1)).flash_passed is False


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_nonfinite_results_never_pass(bad):
    expected = noise(32)
    got = expected.float()
    got[7] = bad
    result = compare(got, expected, pytorch=got, tolerance=Tolerance(1e9, 1e9))
    assert result.nonfinite_mismatches == 1
    assert not result.passed
    assert result.error[7] == math.inf
    assert result.unwritten == (1 if math.isnan(bad) else 0)


@pytest.mark.parametrize("special", [math.nan, math.inf, -math.inf])
def test_nonfinite_references_want_the_same(special):
    expected = noise(32)
    expected[5] = special
    assert compare(expected.float(), expected, pytorch=expected.float()).passed
    got = expected.float()
    got[5] = 1.0
    assert compare(got, expected, tolerance=(1e9, 1e9)).nonfinite_mismatches == 1


def test_a_reference_beyond_the_range_needs_infinity():
    expected = torch.tensor([1e6, -1e6, 2.0], dtype=torch.float64)
    got = torch.tensor([math.inf, -math.inf, 2.0], dtype=torch.float16)
    assert compare(got, expected, pytorch=got).passed
    assert not compare(-got, expected, pytorch=got).passed


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e4m3fnuz, torch.float8_e5m2])
def test_fp8_is_compared_after_upcast(dtype):
    expected = noise(256)
    got = expected.to(dtype)
    result = compare(got, expected, pytorch=got)
    assert result.passed
    assert result.dtype in TOLERANCES
    assert result.max_error == (got.float().double() - expected).abs().max().item()


def test_integers_must_be_equal():
    expected = torch.tensor([1, 2, 2**62 + 1])
    assert compare(expected.clone(), expected).passed
    # The difference is lost in a double; the comparison must not use one.
    result = compare(torch.tensor([1, 2, 2**62]), expected)
    assert result.mismatches == 1
    assert result.flash_passed is None
    assert compare(torch.tensor([True, False]), torch.tensor([True, True])).mismatches == 1


def test_shapes_must_agree():
    with pytest.raises(VerificationError, match=r"out has shape \(2, 3\), its reference \(3, 2\)"):
        compare(torch.zeros(2, 3), torch.zeros(3, 2))


def softmax(x):
    return torch.softmax(x, -1)


def test_plain_functions():
    def inputs(generator):
        return {"x": torch.randn(16, 64, generator=generator).to(torch.bfloat16)}

    result = verify(softmax, softmax, inputs=inputs)
    assert result.passed, str(result)
    assert result.origin is Origin.MEASURED
    assert result.outputs["out"].pytorch_error is not None
    broken = verify(lambda x: softmax(x) * 1.2, softmax, inputs=inputs)
    assert not broken.passed
    with pytest.raises(VerificationError, match="FAILED"):
        broken.check()
    assert "✗ failed" in broken._repr_html_()


def test_an_overwritten_input_fails():
    def kernel(x):
        result = x * 2
        x.zero_()
        return result

    result = verify(kernel, lambda x: x * 2, inputs={"x": torch.ones(4)})
    assert result.outputs["out"].passed
    assert result.inputs_changed == ("x",)
    assert not result.passed
    assert "input x was overwritten" in str(result)


@pytest.mark.parametrize(
    "make", [lambda x: torch.empty_like(x), lambda x: torch.empty(4), lambda x: x.new_empty(4)]
)
def test_what_a_function_does_not_write_cannot_pass(make):
    def first_half(x):
        out = make(x)
        out[:2] = x[:2] * 2
        return out

    x = torch.zeros(4)
    result = verify(first_half, lambda x: x * 2, inputs={"x": x})
    assert result.worst.nonfinite_mismatches == 2
    assert torch.empty(4, requires_grad=True).requires_grad
    with pytest.raises(VerificationError, match="out"):
        result.check()


def test_several_outputs():
    def both(x):
        return {"low": x.min(-1).values, "high": x.max(-1).values}

    result = verify(both, both, inputs={"x": torch.arange(12.0).reshape(3, 4)})
    assert set(result.outputs) == {"low", "high"}
    assert result.passed


def test_usage_errors_name_the_expected_value():
    with pytest.raises(UsageError, match="expected a KernelSpec"):
        verify(softmax)


def test_error_map_shows_where():
    def broken(x):
        result = x.clone()
        result[300, 17] += 1.0
        return result

    result = verify(broken, lambda x: x, inputs={"x": torch.zeros(512, 100)})
    figure = result.figure
    z = figure.data[0].z
    assert len(z) == 128
    assert z[300 // 4][17] == 1.0
    assert "FAILED" in figure.layout.title.text


LAUNCHED = """
#include <hip/hip_runtime.h>
__global__ void halve(const float *x, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] / 2;
}
"""


def test_a_launch_is_verified_by_the_tensors_that_it_writes():
    module = wb.compile(LAUNCHED, arch="gfx950", name="halve.hip")
    inputs = {"x": torch.randn(100), "out": torch.zeros(100), "n": 100}
    result = wb.verify(module["halve"][2, 64], lambda x: x / 2, inputs=inputs, outputs="out").check()
    assert result.name == "halve"
    assert len(result.records) == 1
    assert not inputs["out"].any(), "what the caller has stays as it was"
    half = wb.verify(module["halve"][1, 64], lambda x: x / 2, inputs=inputs, outputs=("out",))
    assert half.worst.nonfinite_mismatches == 36
    with pytest.raises(UsageError, match="expected the names of the tensors that the launch writes"):
        wb.verify(module["halve"][2, 64], lambda x: x / 2, inputs=inputs)


def test_a_function_that_launches_is_verified_where_it_ran():
    module = wb.compile(LAUNCHED, arch="gfx950", name="halve.hip")

    def halved(x):
        out = torch.empty_like(x)
        module["halve"][-(-x.numel() // 64), 64](x=x, out=out, n=x.numel())
        return out

    result = wb.verify(halved, lambda x: x / 2, inputs={"x": torch.randn(100)}).check()
    assert (result.name, result.origin, len(result.records)) == ("halved", Origin.COUNTED, 1)
    assert result.device.startswith("emulated:")
    assert result.code == module.digest


def test_nothing_launched():
    inputs = {"x": torch.randn(100), "out": torch.zeros(100), "n": 100}
    with pytest.raises(UsageError, match="nothing was launched"):
        wb.verify(lambda **_: None, lambda x: x, inputs=inputs, outputs=("out",))


def test_one_comparison_is_a_result_and_several_are_results() -> None:
    """For type checkers too: mypy checks the types that are asserted here."""
    function, inputs = torch.relu, {"input": torch.ones(4)}
    single = assert_type(verify(function, torch.relu, inputs=inputs), VerifyResult)
    assert isinstance(single, VerifyResult)
    again = assert_type(verify(function, torch.relu, inputs=inputs, numerics="fast"), VerifyResult)
    assert isinstance(again, VerifyResult)
    both = assert_type(verify(function, torch.relu, inputs=inputs, numerics=("fast", "exact")), VerifyResults)
    assert isinstance(both, VerifyResults)
    assert len(both) == 2
    with pytest.raises(UsageError, match="shapes is \\[\\]"):
        assert_type(verify("activations/softmax", shapes=[]), VerifyResults)
