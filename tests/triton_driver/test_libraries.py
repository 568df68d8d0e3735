"""Published Triton libraries on the emulated devices, as their users call them, against PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.nn import functional

pytest.importorskip("triton")

import workbench as wb
from workbench.targets import TILE_TARGETS


@pytest.fixture(params=TILE_TARGETS)
def arch(request: pytest.FixtureRequest) -> Iterator[str]:
    with wb.triton(f"emulated:{request.param}", cuda_means_cpu=True):
        yield request.param


def drawn(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def close(actual: torch.Tensor, expected: torch.Tensor, atol: float = 1e-4) -> None:
    torch.testing.assert_close(actual.float(), expected.float(), rtol=1e-4, atol=atol)


def test_liger_rms_norm_and_its_gradients(arch: str) -> None:
    ops = pytest.importorskip("liger_kernel.ops.rms_norm")
    x, weight = drawn(16, 256).requires_grad_(), drawn(256, seed=2).requires_grad_()
    ours = ops.LigerRMSNormFunction.apply(x, weight, 1e-6, 0.0, "llama", False)
    our_gradients = torch.autograd.grad(ours, (x, weight), drawn(16, 256, seed=3))
    expected = functional.rms_norm(x, (256,), weight, 1e-6)
    close(ours, expected)
    gradients = torch.autograd.grad(expected, (x, weight), drawn(16, 256, seed=3))
    for mine, theirs in zip(our_gradients, gradients, strict=True):
        close(mine, theirs)


def test_liger_row_wise_operators(arch: str) -> None:
    pytest.importorskip("liger_kernel")
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction
    from liger_kernel.ops.softmax import LigerSoftmaxFunction
    from liger_kernel.ops.swiglu import LigerSiLUMulFunction

    x, gate, weight, bias = drawn(16, 256), drawn(16, 256, seed=2), drawn(256, seed=3), drawn(256, seed=4)
    close(
        LigerLayerNormFunction.apply(x, weight, bias, 1e-6),
        functional.layer_norm(x, (256,), weight, bias, 1e-6),
    )
    close(LigerSoftmaxFunction.apply(x), x.softmax(-1))
    close(LigerSiLUMulFunction.apply(gate, x), functional.silu(gate) * x)


def test_liger_cross_entropy(arch: str) -> None:
    ops = pytest.importorskip("liger_kernel.ops.cross_entropy")
    x, target = drawn(16, 256), torch.arange(16) * 7
    loss = ops.LigerCrossEntropyFunction.apply(
        x.clone().requires_grad_(), target, None, -100, 0.0, 0.0, "mean", None, False
    )[0]
    close(loss, functional.cross_entropy(x, target))


def test_fla_gated_delta_rule(arch: str) -> None:
    pytest.importorskip("fla")
    from fla.ops.gated_delta_rule import chunk_gated_delta_rule, fused_recurrent_gated_delta_rule
    from fla.ops.gated_delta_rule.naive import naive_recurrent_gated_delta_rule

    q, v = drawn(1, 64, 2, 32), drawn(1, 64, 2, 32, seed=3)
    k = functional.normalize(drawn(1, 64, 2, 32, seed=2), dim=-1)
    beta, g = drawn(1, 64, 2, seed=4).sigmoid(), functional.logsigmoid(drawn(1, 64, 2, seed=5))
    expected, _ = naive_recurrent_gated_delta_rule(q, k, v, beta, g, scale=1.0)
    result, _ = fused_recurrent_gated_delta_rule(q, k, v, g, beta=beta, scale=1.0)
    close(result, expected)
    halves = [part.bfloat16() for part in (q, k, v)]
    result, _ = chunk_gated_delta_rule(*halves, g, beta=beta.bfloat16(), scale=1.0)
    close(result, expected, atol=0.1)
