"""The gated feed-forward layer."""

from __future__ import annotations

from collections.abc import Callable

import torch

from workbench import ops
from workbench.errors import UsageError
from workbench.nn.linear import Linear

GATES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "silu": lambda x: ops.silu_and_mul(x),
    "gelu": lambda x: ops.gelu_and_mul(x),
    "gelu_tanh": lambda x: ops.gelu_tanh_and_mul(x),
}


class SwiGLU(torch.nn.Module):
    """down(activation(gate(x)) * up(x)), with the GEMM kernels and `ops.silu_and_mul`.

    Args:
        hidden_size: columns of x and of the result.
        intermediate_size: columns in between.
        bias: True if the three layers have a bias.
        activation: "silu", "gelu" or "gelu_tanh".
        device, dtype: device and dtype of the parameters; bf16 if dtype is None.

    State dict: `gate_proj`, `up_proj`, `down_proj`, as in transformers' LlamaMLP.
    """

    def __init__(
        self,
        hidden_size: int,
        intermediate_size: int,
        bias: bool = False,
        activation: str = "silu",
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        if activation not in GATES:
            raise UsageError(f"SwiGLU: activation is {activation!r}; expected one of {', '.join(GATES)}")
        self.activation = activation
        self.gate_proj = Linear(hidden_size, intermediate_size, bias, device, dtype)
        self.up_proj = Linear(hidden_size, intermediate_size, bias, device, dtype)
        self.down_proj = Linear(intermediate_size, hidden_size, bias, device, dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[..., hidden_size] to the same."""
        hidden = GATES[self.activation](torch.cat((self.gate_proj(x), self.up_proj(x)), -1))
        result: torch.Tensor = self.down_proj(hidden)
        return result
