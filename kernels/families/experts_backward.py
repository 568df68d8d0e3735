"""Gradients of experts' layers: products over the same lists with transposed matrices, and sums over rows."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import torch

from workbench.operators import Gradient
from workbench.operators.gradient import Call
from workbench_kernels.families.gemm_backward import EPILOGUE, OF_GROUPS, of_epilogue

LIST, SUM = "moe_gemm/bf16", "moe_misc/sum"


@dataclass(frozen=True)
class Lists:
    """A list of ids in blocks of one expert each, with the numbers of experts and of valid ids.

    Attributes:
        call: function that calls operators.
        ids, owners, padded: as the operators take them.
        experts, valid: how many there are.
    """

    call: Call
    ids: torch.Tensor
    owners: torch.Tensor
    padded: torch.Tensor
    experts: int
    valid: int

    def multiply(self, a: torch.Tensor, b: torch.Tensor, top_k: int, layout: str) -> torch.Tensor:
        """Row i is row (token of id i / top_k) of a times its expert's matrix; padded with zeros."""
        along = a.shape[-1]
        if along % 32:
            a = torch.nn.functional.pad(a, (0, -along % 32))
            pad = (0, -along % 32) if layout == "nt" else (0, 0, 0, -along % 32)
            b = torch.nn.functional.pad(b, pad)
        cols = b.shape[1 if layout == "nt" else 2]
        if cols % 16:
            b = torch.nn.functional.pad(b, (0, 0, 0, -cols % 16) if layout == "nt" else (0, -cols % 16))
        rows: torch.Tensor = self.call(
            LIST, a, b, self.ids, self.owners, self.padded, top_k, None, "none", layout
        )
        return rows[:, :cols].contiguous() if cols % 16 else rows

    def products(self, left: torch.Tensor, of_left: int, right: torch.Tensor, of_right: int) -> torch.Tensor:
        """leftᵀ right of each expert, summed over its ids; id i stands for row i / of_left of left."""
        block = self.ids.shape[0] // self.owners.shape[0]
        places = torch.arange(self.ids.shape[0], device=self.ids.device)
        none = (places >= self.padded) | (self.ids < 0) | (self.ids >= self.valid)
        key = torch.where(self.owners < 0, self.experts, self.owners).long()
        none |= (key == self.experts).repeat_interleave(block)
        # Blocks by expert; the unused ones hold zeros, and may belong to any expert.
        order = key.argsort(stable=True)
        ids, none = (x.unflatten(0, (-1, block))[order].flatten() for x in (self.ids.long(), none))
        ids = ids.masked_fill(none, 0)
        counts = torch.zeros(self.experts + 1, dtype=torch.int64, device=ids.device)
        ends = block * counts.scatter_add(0, key, torch.ones_like(key)).cumsum(0)
        offsets = torch.cat((torch.zeros_like(ends[:1]), ends[: self.experts - 1], ends[-1:])).int()
        rows = (
            x[ids // of_x].masked_fill(none[:, None], 0.0) for x, of_x in ((left, of_left), (right, of_right))
        )
        matrices: torch.Tensor = self.call(OF_GROUPS, *rows, offsets)
        return matrices

    def summed(self, rows: torch.Tensor, top_k: int) -> torch.Tensor:
        """Rows of ids, summed to one per token."""
        sums: torch.Tensor = rows if top_k == 1 else self.call(SUM, rows, top_k)
        return sums


def _of_list(
    call: Call,
    needs_grad: Set[str],
    a: torch.Tensor,
    b: torch.Tensor,
    sorted_token_ids: torch.Tensor,
    expert_ids: torch.Tensor,
    num_tokens_post_padded: torch.Tensor,
    top_k: int,
    weights: torch.Tensor | None,
    activation: str,
    layout: str,
    dc: torch.Tensor,
) -> dict[str, torch.Tensor]:
    lists = Lists(call, sorted_token_ids, expert_ids, num_tokens_post_padded, b.shape[0], a.shape[0] * top_k)
    gradients, sums, dz = {}, None, dc
    if activation != "none" or "weights" in needs_grad:
        sums = lists.multiply(a, b, top_k, layout)
    if activation != "none" and sums is not None:
        z = sums if weights is None else scaled(sums, weights[:, None])
        dz = of_activation(call, dc, z, activation)
    if weights is not None:
        if "weights" in needs_grad and sums is not None:
            gradients["weights"] = dots(dz, sums)
        dz = scaled(dz, weights[:, None])
    if "a" in needs_grad:
        gradients["a"] = lists.summed(lists.multiply(dz, b, 1, "nn" if layout == "nt" else "nt"), top_k)
    if "b" in needs_grad:
        operands = (dz, 1, a, top_k) if layout == "nt" else (a, top_k, dz, 1)
        gradients["b"] = lists.products(*operands)
    return gradients


def dots(dz: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    """Dot products of rows, in float."""
    return (dz.float() * rows.float()).sum(-1)


def scaled(dz: torch.Tensor, *scales: torch.Tensor | None) -> torch.Tensor:
    """dz times factors of rows and of columns."""
    for scale in scales:
        dz = dz if scale is None else (dz * scale).to(dz.dtype)
    return dz


def of_activation(call: Call, dc: torch.Tensor, z: torch.Tensor, activation: str) -> torch.Tensor:
    if activation != "silu_and_mul":
        return of_epilogue(call, {"z"}, dc, z, None, activation)["z"]
    gate, up = (half.contiguous() for half in z.chunk(2, -1))
    results = of_epilogue(call, {"z", "gate"}, dc, gate, up, "silu")
    return torch.cat((results["z"], results["gate"]), -1)


def _of_layers(
    call: Call,
    needs_grad: Set[str],
    a: torch.Tensor,
    w1: torch.Tensor,
    w2: torch.Tensor,
    sorted_token_ids: torch.Tensor,
    expert_ids: torch.Tensor,
    num_tokens_post_padded: torch.Tensor,
    top_k: int,
    weights: torch.Tensor | None,
    dc: torch.Tensor,
) -> dict[str, torch.Tensor]:
    """Recomputes the hidden columns along with their gradients."""
    lists = Lists(call, sorted_token_ids, expert_ids, num_tokens_post_padded, w1.shape[0], a.shape[0] * top_k)
    gate, up = (half.contiguous() for half in lists.multiply(a, w1, top_k, "nt").chunk(2, -1))
    dhidden = unweighted = lists.multiply(dc, w2, 1, "nn")
    if weights is not None:
        dhidden = (unweighted * weights[:, None]).to(dc.dtype)
    parts = {
        *(("z", "gate") if needs_grad & {"a", "w1"} else ()),
        *(("c",) if needs_grad & {"w2", "weights"} else ()),
    }
    results, gradients = of_epilogue(call, parts, dhidden, gate, up, "silu"), {}
    if "weights" in needs_grad:
        gradients["weights"] = dots(results["c"], unweighted)
    if "w2" in needs_grad:
        weighted = dc if weights is None else scaled(dc, weights[:, None])
        gradients["w2"] = lists.products(weighted, 1, results["c"], 1)
    if "z" in parts:
        dz = torch.cat((results["z"], results["gate"]), -1)
        if "a" in needs_grad:
            gradients["a"] = lists.summed(lists.multiply(dz, w1, 1, "nn"), top_k)
        if "w1" in needs_grad:
            gradients["w1"] = lists.products(dz, 1, a, top_k)
    return gradients


OF_LIST = Gradient((LIST, OF_GROUPS, EPILOGUE, SUM), _of_list)
OF_LAYERS = Gradient((LIST, OF_GROUPS, EPILOGUE, SUM), _of_layers)
