"""Modules: state dicts are exchangeable, and results are those of PyTorch's modules."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from workbench import nn
from workbench.errors import ArgumentError, UsageError

BF16 = {"dtype": torch.bfloat16}
BOUNDS = {"rtol": 1.6e-2, "atol": 1e-2}


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(7)


def _swap(ours: torch.nn.Module, theirs: torch.nn.Module) -> None:
    """Random parameters through both state dicts."""
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    ours.load_state_dict(theirs.state_dict())
    theirs.load_state_dict(ours.state_dict())
    assert list(ours.state_dict()) == list(theirs.state_dict())


def _same(
    ours: torch.nn.Module, theirs: torch.nn.Module, x: torch.Tensor, bounds: dict[str, float] = BOUNDS
) -> None:
    """Results and gradients of our modules equal those of theirs in float64."""
    x.requires_grad_()
    result = ours(x)
    wide = theirs.double()
    leaf = x.detach().double().requires_grad_()
    expected = wide(leaf)
    torch.testing.assert_close(result.double(), expected, **bounds)
    upstream = torch.randn_like(result)
    result.backward(upstream)
    expected.backward(upstream.double())
    scale = float(leaf.grad.abs().max())
    torch.testing.assert_close(x.grad.double(), leaf.grad, rtol=3e-2, atol=2e-2 * scale)
    parameters = dict(wide.named_parameters())
    for name, parameter in ours.named_parameters():
        wanted_grad = parameters[name].grad
        scale = float(wanted_grad.abs().max())
        torch.testing.assert_close(parameter.grad.double(), wanted_grad, rtol=3e-2, atol=2e-2 * scale)


@pytest.mark.parametrize("settings", [{}, {"eps": 1e-3}, {"elementwise_affine": False}])
@pytest.mark.parametrize("name", ["RMSNorm", "LayerNorm"])
def test_norms(name: str, settings: dict[str, Any]) -> None:
    ours, theirs = (getattr(kind, name)((3, 64), **settings) for kind in (nn, torch.nn))
    _swap(ours, theirs)
    _same(ours, theirs, torch.randn(2, 5, 3, 64), {"rtol": 1e-4, "atol": 1e-4})


@pytest.mark.parametrize("bias", [False, True])
def test_linear(bias: bool) -> None:
    ours, theirs = nn.Linear(64, 48, bias, **BF16), torch.nn.Linear(64, 48, bias, **BF16)
    _swap(ours, theirs)
    _same(ours, theirs, torch.randn(2, 5, 64).bfloat16(), {"rtol": 1.6e-2, "atol": 3e-2})


@pytest.mark.parametrize(("weights", "off"), [("fp8", 0.04), ("mxfp4", 0.2)])
def test_quantized_linear(weights: str, off: float) -> None:
    theirs = torch.nn.Linear(256, 144).bfloat16()
    ours = nn.Linear.from_float(theirs, weights)
    x = torch.randn(3, 256).bfloat16()
    result, expected = ours(x).double(), theirs.double()(x.double())
    assert ((result - expected).norm() / expected.norm()) < off
    again = nn.Linear(256, 144, weights=weights)
    assert not torch.equal(again(x).double(), result)
    again.load_state_dict(ours.state_dict())
    assert torch.equal(again(x).double(), result)
    scale = {"fp8": "weight_scale_inv", "mxfp4": "weight_scale"}[weights]
    assert list(ours.state_dict()) == ["weight", scale, "bias"]


def test_linear_refuses() -> None:
    with pytest.raises(UsageError, match="weights is 'fp4'; expected one of bf16, fp8, mxfp4"):
        nn.Linear(64, 64, weights="fp4")
    with pytest.raises(UsageError, match="in_features is 40; expected a multiple of 32"):
        nn.Linear(40, 64, weights="mxfp4")


class Mlp(torch.nn.Module):
    """An independent version of transformers' LlamaMLP."""

    def __init__(self, hidden: int, between: int, **kind: Any) -> None:
        super().__init__()
        self.gate_proj = torch.nn.Linear(hidden, between, bias=False, **kind)
        self.up_proj = torch.nn.Linear(hidden, between, bias=False, **kind)
        self.down_proj = torch.nn.Linear(between, hidden, bias=False, **kind)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down_proj(torch.nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


def test_swiglu() -> None:
    ours, theirs = nn.SwiGLU(64, 96), Mlp(64, 96, **BF16)
    _swap(ours, theirs)
    _same(ours, theirs, torch.randn(7, 64).bfloat16(), {"rtol": 3e-2, "atol": 2e-1})


def test_attention_is_multihead_attention() -> None:
    theirs = torch.nn.MultiheadAttention(128, 2, batch_first=True, **BF16)
    torch.nn.init.normal_(theirs.in_proj_bias)
    ours = nn.Attention(128, 2, bias=True, causal=True)
    ours.load_state_dict(theirs.state_dict())
    x = torch.randn(2, 20, 128).bfloat16()
    again = torch.nn.MultiheadAttention(128, 2, batch_first=True, **BF16)
    again.load_state_dict(ours.multihead_state_dict())
    mask = torch.ones(20, 20).triu(1).bool()
    expected, _ = again.double()(*[x.double()] * 3, attn_mask=mask)
    torch.testing.assert_close(ours(x).double(), expected, rtol=1.6e-2, atol=2e-2)


def test_grouped_attention_with_rotary_embedding() -> None:
    rotary = nn.RotaryEmbedding(64, 32).bfloat16()
    assert rotary.cos.dtype == torch.float32
    assert not rotary.state_dict()
    module = nn.Attention(128, 4, heads_kv=2, head_dim=64, rotary=rotary)
    assert sorted(module.state_dict()) == [f"{name}_proj.weight" for name in "koqv"]
    x = torch.randn(1, 9, 128).bfloat16()
    positions = torch.randperm(32)[:9]
    result = module(x, positions)

    def heads(weight: torch.Tensor) -> torch.Tensor:
        return (x.double() @ weight.double().T).unflatten(-1, (-1, 64)).transpose(1, 2)

    def turn(x: torch.Tensor) -> torch.Tensor:
        a, b = x.chunk(2, -1)
        frequencies = 10000.0 ** (-torch.arange(32).double() / 32)
        cos, sin = (f(positions.double()[:, None] * frequencies) for f in (torch.cos, torch.sin))
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)

    q, k, v = (heads(getattr(module, f"{name}_proj").weight.detach()) for name in "qkv")
    expected = torch.nn.functional.scaled_dot_product_attention(
        turn(q), turn(k), v, is_causal=True, enable_gqa=True
    )
    expected = expected.transpose(1, 2).flatten(2) @ module.o_proj.weight.detach().double().T
    torch.testing.assert_close(result.double(), expected, rtol=1.6e-2, atol=2e-2)


@pytest.mark.parametrize("names", [("w1", "w3", "w2"), ("gate_proj", "up_proj", "down_proj")])
def test_experts_load_either_kind_of_checkpoint(names: tuple[str, str, str]) -> None:
    layers = [Mlp(64, 96, **BF16) for _ in range(4)]
    checkpoint = {"gate.weight": torch.randn(4, 64).bfloat16()}
    for n, layer in enumerate(layers):
        parts = zip(names, (layer.gate_proj, layer.up_proj, layer.down_proj), strict=True)
        checkpoint |= {f"experts.{n}.{name}.weight": part.weight.detach() for name, part in parts}
    module = nn.MoE(64, 96, experts=4, top_k=2)
    module.load_state_dict(checkpoint)
    back = module.per_expert_state_dict(names)
    assert back.keys() == checkpoint.keys()
    assert all(torch.equal(back[key], checkpoint[key]) for key in back)
    assert list(module.state_dict()) == ["gate.weight", "experts.gate_up_proj", "experts.down_proj"]

    x = torch.randn(2, 9, 64).bfloat16()
    logits = module.gate(x).flatten(0, 1).float()
    shares = torch.zeros_like(logits)
    best = logits.topk(2)
    shares.scatter_(1, best.indices, best.values.softmax(-1))
    rows = x.flatten(0, 1).double()
    expected = sum(shares[:, n, None].double() * layer.double()(rows) for n, layer in enumerate(layers))
    torch.testing.assert_close(module(x).flatten(0, 1).double(), expected, rtol=1.6e-2, atol=1e-2)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy_loss(reduction: str) -> None:
    settings = {"ignore_index": 3, "reduction": reduction}
    x = torch.randn(2, 10, 5)
    target = torch.randint(0, 10, (2, 5))
    target[0, 0] = 3
    ours, theirs = (kind.CrossEntropyLoss(**settings) for kind in (nn, torch.nn))
    first, second = (x.clone().requires_grad_() for _ in range(2))
    result, expected = ours(first, target), theirs(second, target)
    torch.testing.assert_close(result, expected)
    result.sum().backward()
    expected.sum().backward()
    torch.testing.assert_close(first.grad, second.grad)
    with pytest.raises(ArgumentError, match=r"target\[0\] is 10"):
        ours(x[:, :, 0], torch.tensor([10, 0]))
    with pytest.raises(UsageError, match="label_smoothing"):
        nn.CrossEntropyLoss(label_smoothing=0.1)(x, target)
