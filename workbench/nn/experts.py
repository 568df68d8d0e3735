"""A mixture of experts."""

from __future__ import annotations

import math
from typing import Any

import torch

from workbench import ops
from workbench.nn.linear import Linear

BLOCK = 64
"""Rows of a list of tokens that share an expert."""

NAMES = (("w1", "w3", "w2"), ("gate_proj", "up_proj", "down_proj"))
"""Checkpoints' names for an expert's layers gate, up and down: Mixtral's and Qwen's."""


class _Experts(torch.nn.Module):
    """Weights of all experts: gate's rows before up's."""

    def __init__(self, experts: int, hidden: int, between: int, **kind: Any) -> None:
        super().__init__()
        self.gate_up_proj = torch.nn.Parameter(torch.empty(experts, 2 * between, hidden, **kind))
        self.down_proj = torch.nn.Parameter(torch.empty(experts, hidden, between, **kind))
        for weight in (self.gate_up_proj, self.down_proj):
            bound = 1 / math.sqrt(weight.shape[-1])
            torch.nn.init.uniform_(weight, -bound, bound)


class MoE(torch.nn.Module):
    """Sends each token through the SwiGLU layers of its best experts, with `ops.moe_topk` and
    `ops.fused_moe`.

    A token's weights are the softmax of its `top_k` greatest logits; this equals the softmax of all logits,
    renormalized to a sum of one.

    Args:
        hidden_size: columns of x and of the result, a multiple of 32.
        intermediate_size: columns in between, a multiple of 32.
        experts: number of experts, at most 1024.
        top_k: number of experts per token, at most 32.
        device: device of the parameters, which are bf16.

    State dict: `gate.weight` [experts, hidden], `experts.gate_up_proj` [experts, 2 intermediate, hidden] and
    `experts.down_proj` [experts, hidden, intermediate], as for Mixtral in transformers 5. Checkpoints with a
    layer for each expert (`experts.0.w1.weight` of Mixtral, `experts.0.gate_proj.weight` of Qwen) load as
    well, and `per_expert_state_dict` returns one.
    """

    def __init__(
        self,
        hidden_size: int,
        intermediate_size: int,
        experts: int,
        top_k: int = 2,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        self.top_k, self.count = top_k, experts
        self.gate = Linear(hidden_size, experts, bias=False, device=device)
        self.experts = _Experts(experts, hidden_size, intermediate_size, device=device, dtype=torch.bfloat16)
        self.register_load_state_dict_pre_hook(_from_each_expert)  # type: ignore[no-untyped-call]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[..., hidden_size] to the same."""
        rows = x.reshape(-1, x.shape[-1])
        routes = ops.moe_topk(self.gate(rows), self.top_k, score="softmax")
        ids = routes.indices
        # Every expert may start a new block.
        spare = min(self.count, ids.numel()) * (BLOCK - 1)
        length = -(-(ids.numel() + spare) // BLOCK) * BLOCK
        lists = ops.moe_align_block_size(ids, self.count, BLOCK, length)
        outputs = ops.fused_moe(
            rows,
            self.experts.gate_up_proj,
            self.experts.down_proj,
            *lists,
            self.top_k,
            routes.values.float().flatten(),
        )
        return ops.moe_sum(outputs, self.top_k).view(x.shape)

    def per_expert_state_dict(self, names: tuple[str, str, str] = NAMES[0]) -> dict[str, torch.Tensor]:
        """The state dict with a layer for each expert: names of gate, up and down."""
        state = {"gate.weight": self.gate.weight.detach()}
        for n in range(self.count):
            gate, up = self.experts.gate_up_proj[n].detach().chunk(2)
            layers = (gate, up, self.experts.down_proj[n].detach())
            state |= {
                f"experts.{n}.{name}.weight": weight for name, weight in zip(names, layers, strict=True)
            }
        return state


def _from_each_expert(module: MoE, state: dict[str, Any], prefix: str, *_: Any) -> None:
    """Joins the layers of a checkpoint that has one for each expert."""
    for names in NAMES:
        keys = [[f"{prefix}experts.{n}.{name}.weight" for name in names] for n in range(module.count)]
        if all(key in state for layers in keys for key in layers):
            experts = [[state.pop(key) for key in layers] for layers in keys]
            gate_up = [torch.cat((gate, up)) for gate, up, _ in experts]
            state[f"{prefix}experts.gate_up_proj"] = torch.stack(gate_up)
            state[f"{prefix}experts.down_proj"] = torch.stack([down for _, _, down in experts])
