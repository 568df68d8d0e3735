"""Kernels of a model, compiled before its first call."""

from __future__ import annotations

import pytest
import torch

from workbench import nn, ops
from workbench.kernel import recording
from workbench.targets import TILE_TARGETS


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.RMSNorm(64, dtype=torch.bfloat16)
        self.mlp = nn.SwiGLU(64, 96)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.mlp(self.norm(x))


@pytest.mark.parametrize("backward", [False, True])
def test_what_a_model_launches_was_compiled(backward: bool) -> None:
    block, x = Block(), torch.randn(2, 5, 64).bfloat16().requires_grad_()
    with recording() as launches:
        operators = ops.precompile(block, x, backward=backward)
    assert not launches
    assert x.grad is None
    compiled = {name for each in operators for name in each.kernels}
    with recording() as launches:
        out = block(x)
        if backward:
            out.sum().backward()
    assert {kernel.name for kernel, _ in launches} <= compiled
    assert len({(each.name, *each.shape.items()) for each in operators}) == len(operators)


def test_a_function_for_every_target() -> None:
    x = torch.randn(3, 64)
    operators = ops.precompile(lambda x: ops.silu(x) + ops.silu(x), x, archs=TILE_TARGETS)
    assert [(each.name, each.arch) for each in operators] == [
        ("activations/silu", arch) for arch in TILE_TARGETS
    ]


def test_what_looks_at_values_is_refused() -> None:
    with pytest.raises((NotImplementedError, RuntimeError), match="meta"):
        ops.precompile(lambda x: x.tolist(), torch.ones(3))
