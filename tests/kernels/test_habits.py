"""Every operator with PyTorch's habits: open sizes, views, out=, no rows, autocast, functorch, tracing."""

from __future__ import annotations

import os

import habits
import pytest
import torch

import workbench as wb
from workbench.errors import ShapeError
from workbench.targets import TILE_TARGETS

SEED = os.environ["HIPKITTENS_TEST_SEED"]


@pytest.mark.parametrize("habit", habits.HABITS)
@pytest.mark.parametrize(("name", "arch"), [(name, arch) for name in wb.kernels for arch in TILE_TARGETS])
def test_habit(name: str, arch: str, habit: str) -> None:
    if arch not in wb.kernels[name].targets or not habits.cases.has_turn(name, arch, SEED):
        pytest.skip(f"{name} has its turn on the other target")
    try:
        habits.HABITS[habit](habits.Call(wb.kernels[name], arch, SEED))
    except habits.Missing as reason:
        pytest.skip(str(reason))
    except ShapeError as reason:
        # Not all operators take empty tensors yet; those that do not raise an error.
        if habit != "no rows":
            raise
        pytest.xfail(f"refused: {reason}")


@pytest.mark.parametrize("transform", ["grad", "vjp", "jacrev"])
def test_functorch_differentiates_as_autograd_does(transform: str) -> None:
    spec, x, weight = wb.kernels["normalization/rmsnorm"], torch.randn(3, 64), torch.rand(64)
    for call in (spec, spec.operator.overload):
        leaf = x.clone().requires_grad_()
        (expected,) = torch.autograd.grad((call(leaf, weight) ** 2).sum(), leaf)
        if transform == "vjp":
            result, back = torch.func.vjp(lambda x: call(x, weight), x)  # noqa: B023
            (got,) = back(2 * result)
        else:
            got = getattr(torch.func, transform)(lambda x: (call(x, weight) ** 2).sum())(x)  # noqa: B023
        torch.testing.assert_close(got, expected)
        rows = torch.vmap(torch.func.grad(lambda row: (call(row, weight) ** 2).sum()))(x[:, None])  # noqa: B023
        torch.testing.assert_close(rows[:, 0], expected)


def test_forward_mode_is_refused_by_name() -> None:
    spec, x, weight = wb.kernels["normalization/rmsnorm"], torch.randn(3, 64), torch.rand(64)
    for call in (spec, spec.operator.overload):
        with pytest.raises(NotImplementedError, match="normalization/rmsnorm has no rule of forward-mode"):
            torch.func.jvp(lambda x: call(x, weight), (x,), (x,))  # noqa: B023
        with torch.autograd.forward_ad.dual_level():
            dual = torch.autograd.forward_ad.make_dual(x, x)
            with pytest.raises(NotImplementedError, match="use reverse mode"):
                call(dual, weight)


def test_an_export_takes_other_sizes() -> None:
    class Layer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.rand(64))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return wb.kernels["activations/silu"](wb.kernels["normalization/rmsnorm"](x, self.weight)) + x

    layer = Layer()
    rows = torch.export.Dim("rows", min=2, max=4096)
    exported = torch.export.export(layer, (torch.randn(4, 64),), dynamic_shapes=({0: rows},)).module()
    for count in (2, 7, 100):
        x = torch.randn(count, 64)
        torch.testing.assert_close(exported(x), layer(x))


def test_autocast_follows_pytorchs_rules() -> None:
    gemm, norm = wb.kernels["gemm/bf16"], wb.kernels["normalization/rmsnorm"]
    x, weight = torch.randn(64, 64, dtype=torch.bfloat16), torch.randn(64, 64, requires_grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = gemm(x, weight)
        assert result.dtype == torch.nn.functional.linear(x, weight).dtype == torch.bfloat16
        result.float().square().sum().backward()
        assert norm(x, torch.ones(64)).dtype == torch.float32
    assert weight.grad is not None
    assert weight.grad.dtype == torch.float32
    with torch.no_grad():
        torch.testing.assert_close(result, gemm(x, weight.bfloat16()))
    with torch.autocast("cpu", dtype=torch.float16):
        assert gemm(x, weight.detach()).dtype == torch.float16


def test_out_is_refused_where_it_cannot_be() -> None:
    spec, x, weight = wb.kernels["normalization/rmsnorm"], torch.randn(3, 64), torch.rand(64)
    with pytest.raises(wb.errors.ArgumentError, match="not differentiated"):
        spec(x.requires_grad_(), weight, out=torch.empty(3, 64))
    with torch.no_grad():
        assert spec(x, weight, out=torch.empty(3, 64)).shape == (3, 64)
        with pytest.raises(wb.errors.ArgumentError, match="'out' is"):
            spec(x, weight, out=torch.empty(3, 65))
        with pytest.raises(wb.errors.ArgumentError, match="has 2 of its 1 outputs"):
            spec(x, weight, out=(torch.empty(3, 64), torch.empty(3, 64)))


def test_meta_beside_others_is_refused() -> None:
    spec, x, weight = wb.kernels["normalization/rmsnorm"], torch.randn(3, 64), torch.rand(64)
    for call in (spec, spec.operator.overload):
        with pytest.raises(wb.errors.ArgumentError, match="on meta"):
            call(x.to("meta"), weight)
