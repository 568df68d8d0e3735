"""Gradients of products by products: every layout, operands that a batch shares, and no needless results."""

from __future__ import annotations

import itertools
import os
import random
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.kernel import recording

SEED = os.environ["HIPKITTENS_TEST_SEED"]


def normal(draw: random.Random, *dims: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(draw.randrange(1 << 30))
    return torch.randn(*dims, generator=generator).bfloat16()


def assert_near(got: torch.Tensor, same: torch.Tensor, truth: torch.Tensor, label: str) -> None:
    """An error of at most twice PyTorch's in the same precision, and of a rounding of the largest element."""
    assert got.dtype == same.dtype
    assert got.shape == truth.shape
    bound = 2 * (same.double() - truth).abs().max() + 2**-8 * truth.abs().max()
    assert (got.double() - truth).abs().max() <= bound, label


def check(name: str, inputs: dict[str, Any], names: list[str]) -> None:
    """Gradients of some inputs against autograd of the reference, in bf16 and in float64."""
    spec = wb.kernels[name]

    def through(function: Any, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
        wide = {k: v.to(dtype) if isinstance(v, torch.Tensor) else v for k, v in inputs.items()}
        leaves = {k: wide[k].detach().clone().requires_grad_() for k in names}
        out = function(**{**wide, **leaves})
        upstream = torch.randn(out.shape, generator=torch.Generator().manual_seed(3)).bfloat16()
        return torch.autograd.grad(out, list(leaves.values()), upstream.to(dtype))

    actual = through(spec, torch.bfloat16)
    pairs = zip(
        *(actual, through(spec.reference, torch.bfloat16), through(spec.reference, torch.float64), names),
        strict=True,
    )
    for got, same, truth, leaf in pairs:
        assert_near(got, same, truth, f"d{leaf} of {name}, wanted {names}")


@pytest.mark.parametrize("layout", ["nt", "nn", "tn"])
def test_layouts_and_epilogues(layout: str) -> None:
    """Batches with a matrix B each or one for all; sizes that are no multiple of 16 bytes."""
    draw = random.Random(f"{SEED} {layout}")
    kinds = list(itertools.product((False, True), (False, True), (0, 1, 2)))
    for batch, shared, bias in draw.sample(kinds, 2):
        m, n, k = (8 * draw.randint(1, 9) for _ in range(3))
        m, n, k = {"nt": (m + 1, n + 3, k), "nn": (m + 5, n, k), "tn": (m, n, k + 1)}[layout]
        of_a = (3,) if batch else ()
        of_b = of_a if not shared else ()
        inputs: dict[str, Any] = {
            "a": normal(draw, *of_a, *((m, k) if layout[0] == "n" else (k, m))),
            "b": normal(draw, *of_b, *((k, n) if layout[1] == "n" else (n, k))) / k**0.5,
            "layout": layout,
            "alpha": draw.choice((1.0, 0.5)),
            "activation": draw.choice(("none", "gelu", "silu", "relu", "gelu_tanh")),
        }
        if bias:
            inputs["bias"] = normal(draw, *((3, 1, n) if bias == 2 and of_b else (n,)))
        if draw.randrange(2):
            inputs["gate"] = normal(draw, *of_a, m, n)
        if draw.randrange(2):
            inputs |= {"residual": normal(draw, *of_a, m, n), "beta": draw.choice((1.0, -2.0))}
        leaves = [name for name, value in inputs.items() if isinstance(value, torch.Tensor)]
        check("gemm/bf16", inputs, draw.sample(leaves, draw.randint(1, len(leaves))))


def test_what_is_not_wanted_is_not_computed() -> None:
    draw = random.Random(SEED)
    gemm = wb.kernels["gemm/bf16"]
    a, b, bias, c = (normal(draw, *dims) for dims in ((40, 64), (48, 64), (48,), (40, 48)))
    for names, backward in (
        (["a"], 1),
        (["b"], 1),
        (["a", "b"], 2),
        (["residual"], 0),
        (["bias"], 2),
        (["a", "b", "bias"], 4),
    ):
        inputs = {"a": a, "b": b, "bias": bias, "residual": c}
        leaves = {name: t.clone().requires_grad_(name in names) for name, t in inputs.items()}
        result = gemm(**leaves)
        with recording() as launches:
            result.sum().backward()
        assert len(launches) == backward, f"{names}: {[kernel.name for kernel, _ in launches]}"


def test_second_derivatives_are_of_kernels_too() -> None:
    """A gradient is computed by operators, so it can be differentiated."""
    draw = random.Random(SEED)
    a, b = (normal(draw, *dims).requires_grad_() for dims in ((24, 32), (16, 32)))
    (da,) = torch.autograd.grad(wb.kernels["gemm/bf16"](a, b).float().square().sum(), a, create_graph=True)
    (got,) = torch.autograd.grad(da.float().sum(), b)
    wide = [x.detach().double().requires_grad_() for x in (a, b)]
    (truth,) = torch.autograd.grad((wide[0] @ wide[1].mT).square().sum(), wide[0], create_graph=True)
    (expected,) = torch.autograd.grad(truth.sum(), wide[1])
    torch.testing.assert_close(got.double(), expected, rtol=2e-2, atol=2e-2 * expected.abs().max().item())


def test_compiles_with_its_gradient() -> None:
    draw = random.Random(SEED)
    gemm = wb.kernels["gemm/bf16"]
    a, b, bias = (normal(draw, *dims) for dims in ((24, 32), (19, 32), (19,)))

    def grads(function: Any) -> tuple[torch.Tensor, ...]:
        leaves = [x.clone().requires_grad_() for x in (a, b, bias)]
        return torch.autograd.grad(function(*leaves).sum(), leaves)

    def layer(a: torch.Tensor, b: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        return gemm(a, b, bias=bias, activation="gelu")

    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    for got, expected in zip(grads(compiled), grads(layer), strict=True):
        assert torch.equal(got, expected)
