"""Gradients of experts' layers of 8-bit and 4-bit numbers: products of bf16 by the same lists, over scales.

Elements of 8 bits and fewer are exact in bf16; their products with a scale are rounded once. Codes of
integers and of fp4 have no gradients, but their scales do.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import torch

from workbench.operators import Gradient
from workbench.operators.gradient import Call
from workbench_kernels.families.experts_backward import SUM, dots, of_activation, scaled
from workbench_kernels.families.gemm_backward import EPILOGUE, GROUPED, OF_GROUPS
from workbench_kernels.references.experts import int4


@dataclass(frozen=True)
class Ragged:
    """A ragged list: expert e has entries offsets[e] to offsets[e + 1], entry i is token gather[i] / top_k.

    Attributes:
        call: function that calls operators.
        offsets, gather, top_k: as the operators take them.
        tokens: rows of A.
    """

    call: Call
    offsets: torch.Tensor
    gather: torch.Tensor | None
    top_k: int
    tokens: int

    def owners(self, entries: int) -> torch.Tensor:
        """The expert of each entry."""
        places = torch.arange(entries, dtype=self.offsets.dtype, device=self.offsets.device)
        return torch.searchsorted(self.offsets, places, right=True) - 1

    def rows(self, a: torch.Tensor) -> torch.Tensor:
        """The row of each entry."""
        return a if self.gather is None else a[self.gather.long() // self.top_k]

    def of_tokens(self, dz: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        """dz B_eᵀ of entries, summed over the entries of a token."""
        rows: torch.Tensor = self.call(GROUPED, dz, b, self.offsets, layout="nt")
        if self.gather is None:
            return rows
        ids = rows.new_zeros(self.tokens * self.top_k, rows.shape[1])
        ids = ids.index_put((self.gather.long(),), rows, accumulate=True)
        return ids if self.top_k == 1 else self.call(SUM, ids, self.top_k)

    def of_matrices(self, a: torch.Tensor, dz: torch.Tensor) -> torch.Tensor:
        """Aᵀ dz of each expert, where a has a row for each token."""
        products: torch.Tensor = self.call(OF_GROUPS, self.rows(a), dz, self.offsets)
        return products

    def of_bias(self, dz: torch.Tensor) -> torch.Tensor:
        """Sums of each expert's rows: a product with ones, whose rows are multiples of 16 bytes."""
        sums: torch.Tensor = self.call(OF_GROUPS, dz.new_ones(dz.shape[0], 8), dz, self.offsets)
        return sums[:, 0].float()


def by_expert(values: torch.Tensor, owners: torch.Tensor, experts: int) -> torch.Tensor:
    """Sums of each expert's values, in a fixed order."""
    mask = owners[:, None] == torch.arange(experts, device=owners.device)
    return torch.where(mask, values[:, None], 0.0).sum(0)


def of_swiglu(dc: torch.Tensor, y: torch.Tensor, alpha: float) -> torch.Tensor:
    """Gradient of y from that of x sigmoid(alpha x) (z + 1), where x and z are adjacent columns of y."""
    grad, (gate, linear) = dc.float(), y.float().unflatten(-1, (-1, 2)).unbind(-1)
    open_ = torch.sigmoid(alpha * gate)
    of_gate = grad * (linear + 1) * open_ * (1 + alpha * gate * (1 - open_))
    return torch.stack((of_gate, grad * gate * open_), -1).flatten(-2).to(dc.dtype)


def block_sums(x: torch.Tensor, size: int, dim: int) -> torch.Tensor:
    """Sums of blocks of consecutive elements along a dimension; the last block may be shorter."""
    x = x.movedim(dim, -1)
    padded = torch.nn.functional.pad(x, (0, -x.shape[-1] % size))
    blocks: torch.Tensor = padded.unflatten(-1, (-1, size))
    return blocks.sum(-1).movedim(-1, dim)


def _of_bytes(
    call: Call,
    needs_grad: Set[str],
    a: torch.Tensor,
    b: torch.Tensor,
    offsets: torch.Tensor,
    gather: torch.Tensor | None,
    top_k: int,
    scale_a: torch.Tensor | None,
    scale_b: torch.Tensor | None,
    bias: torch.Tensor | None,
    swiglu: bool,
    alpha: float,
    dc: torch.Tensor,
) -> dict[str, torch.Tensor]:
    lists = (offsets, gather, top_k)
    ragged = Ragged(call, *lists, a.shape[0])
    dz, gradients = dc, {}
    if swiglu:
        dz = of_swiglu(dc, call("moe_gemm/a8w8", a, b, *lists, scale_a, scale_b, bias), alpha)
    if "bias" in needs_grad:
        gradients["bias"] = ragged.of_bias(dz)
    owners = ragged.owners(dz.shape[0])
    gradients |= _of_scales(call, "moe_gemm/a8w8", needs_grad, (a, b, *lists), (scale_a, scale_b), dz, owners)
    of_sums = scaled(dz, scale_a, None if scale_b is None else scale_b[owners, None])
    if "a" in needs_grad:
        gradients["a"] = ragged.of_tokens(of_sums, b.to(dz.dtype)).to(a.dtype)
    if "b" in needs_grad:
        gradients["b"] = ragged.of_matrices(a.to(dz.dtype), of_sums).to(b.dtype)
    return gradients


def _of_scales(
    call: Call,
    name: str,
    needs_grad: Set[str],
    operands: tuple[object, ...],
    scales: tuple[torch.Tensor | None, torch.Tensor | None],
    dz: torch.Tensor,
    owners: torch.Tensor,
) -> dict[str, torch.Tensor]:
    """Gradients of a scale of A and of one of each expert: products with the sums that are multiplied by the
    other."""
    scale_a, scale_b = scales
    gradients = {}
    if scale_a is not None and "scale_a" in needs_grad:
        gradients["scale_a"] = (
            dots(dz, call(name, *operands, torch.ones_like(scale_a), scale_b)).sum().view(1)
        )
    if scale_b is not None and "scale_b" in needs_grad:
        products = dots(dz, call(name, *operands, scale_a, torch.ones_like(scale_b)))
        gradients["scale_b"] = by_expert(products, owners, scale_b.shape[0])
    return gradients


def _of_blocks(
    call: Call,
    needs_grad: Set[str],
    a: torch.Tensor,
    b: torch.Tensor,
    blocks_a: torch.Tensor,
    blocks_b: torch.Tensor,
    offsets: torch.Tensor,
    gather: torch.Tensor | None,
    top_k: int,
    group_k: int,
    group_n: int,
    bias: torch.Tensor | None,
    dc: torch.Tensor,
) -> dict[str, torch.Tensor]:
    ragged = Ragged(call, offsets, gather, top_k, a.shape[0])
    k, n = b.shape[1:]
    of_a = blocks_a.repeat_interleave(group_k, -1)[:, :k]
    of_b = blocks_b.repeat_interleave(group_k, 1)[:, :k].repeat_interleave(group_n, 2)[..., :n]
    gradients = {"bias": ragged.of_bias(dc)} if "bias" in needs_grad else {}
    if needs_grad & {"a", "blocks_a"}:
        grad = ragged.of_tokens(dc, (b.float() * of_b).to(dc.dtype)).float()
        if "a" in needs_grad:
            gradients["a"] = (grad * of_a).to(a.dtype)
        if "blocks_a" in needs_grad:
            gradients["blocks_a"] = block_sums(grad * a.float(), group_k, -1)
    if needs_grad & {"b", "blocks_b"}:
        grad = ragged.of_matrices((a.float() * of_a).to(dc.dtype), dc).float()
        if "b" in needs_grad:
            gradients["b"] = (grad * of_b).to(b.dtype)
        if "blocks_b" in needs_grad:
            gradients["blocks_b"] = block_sums(block_sums(grad * b.float(), group_k, 1), group_n, 2)
    return gradients


def _of_nibbles(
    call: Call,
    needs_grad: Set[str],
    a: torch.Tensor,
    b: torch.Tensor,
    blocks_b: torch.Tensor,
    offsets: torch.Tensor,
    gather: torch.Tensor | None,
    top_k: int,
    group_k: int,
    zero: torch.Tensor | None,
    scale_a: torch.Tensor | None,
    dc: torch.Tensor,
) -> dict[str, torch.Tensor]:
    gradients, k = {}, a.shape[1]
    if scale_a is not None and "scale_a" in needs_grad:
        unit = call(
            *("moe_gemm/a8w4", a, b, blocks_b, offsets, gather, top_k, group_k, zero),
            torch.ones_like(scale_a),
        )
        gradients["scale_a"] = dots(dc, unit).sum().view(1)
    if needs_grad & {"blocks_b", "zero"}:
        ragged = Ragged(call, offsets, gather, top_k, a.shape[0])
        grad = ragged.of_matrices(a.to(dc.dtype), scaled(dc, scale_a)).float()
        if "zero" in needs_grad:
            gradients["zero"] = -block_sums(grad, group_k, 1) * blocks_b
        if "blocks_b" in needs_grad:
            less = torch.full_like(blocks_b, 8.0) if zero is None else zero
            numbers = int4(b).float() - less.repeat_interleave(group_k, 1)[:, :k]
            gradients["blocks_b"] = block_sums(grad * numbers, group_k, 1)
    return gradients


def _of_fp4(
    call: Call,
    needs_grad: Set[str],
    a: torch.Tensor,
    b: torch.Tensor,
    powers_a: torch.Tensor,
    powers_b: torch.Tensor,
    offsets: torch.Tensor,
    gather: torch.Tensor | None,
    top_k: int,
    scale_a: torch.Tensor | None,
    scale_b: torch.Tensor | None,
    swiglu: bool,
    alpha: float,
    dc: torch.Tensor,
) -> dict[str, torch.Tensor]:
    operands, dz = (a, b, powers_a, powers_b, offsets, gather, top_k), dc
    if swiglu:
        dz = of_swiglu(dc, call("moe_gemm/a4w4", *operands, scale_a, scale_b), alpha)
    owners = Ragged(call, offsets, gather, top_k, a.shape[0]).owners(dz.shape[0])
    return _of_scales(call, "moe_gemm/a4w4", needs_grad, operands, (scale_a, scale_b), dz, owners)


def _of_fp4_list(
    call: Call,
    needs_grad: Set[str],
    a: torch.Tensor,
    b: torch.Tensor,
    powers_a: torch.Tensor,
    powers_b: torch.Tensor,
    sorted_token_ids: torch.Tensor,
    expert_ids: torch.Tensor,
    num_tokens_post_padded: torch.Tensor,
    top_k: int,
    weights: torch.Tensor | None,
    activation: str,
    scale_a: torch.Tensor | None,
    scale_b: torch.Tensor | None,
    dc: torch.Tensor,
) -> dict[str, torch.Tensor]:
    name, none = "moe_gemm/mxfp4", (None, "none")
    lists = (sorted_token_ids, expert_ids, num_tokens_post_padded, top_k)
    operands, gradients, dz = (a, b, powers_a, powers_b, *lists), {}, dc
    if activation != "none":
        dz = of_activation(call, dc, call(name, *operands, weights, "none", scale_a, scale_b), activation)
    if weights is not None and "weights" in needs_grad:
        gradients["weights"] = dots(dz, call(name, *operands, *none, scale_a, scale_b))
    dz = scaled(dz, None if weights is None else weights[:, None])
    block, count = sorted_token_ids.shape[0] // expert_ids.shape[0], a.shape[0] * top_k
    # Ids that are padding, or past the list, go to an extra slot.
    places = torch.arange(sorted_token_ids.shape[0], device=a.device)
    real = (places < num_tokens_post_padded) & (sorted_token_ids >= 0) & (sorted_token_ids < count)
    ids = torch.where(real, sorted_token_ids.long(), count)
    owners = ids.new_full((count + 1,), -1)
    owners = owners.scatter(0, ids, expert_ids.long().repeat_interleave(block))[:count]
    return gradients | _of_scales(call, name, needs_grad, (*operands, *none), (scale_a, scale_b), dz, owners)


BYTES = Gradient(("moe_gemm/a8w8", GROUPED, OF_GROUPS, SUM), _of_bytes)
BLOCKS = Gradient((GROUPED, OF_GROUPS, SUM), _of_blocks)
NIBBLES = Gradient(("moe_gemm/a8w4", OF_GROUPS), _of_nibbles)
FP4 = Gradient(("moe_gemm/a4w4",), _of_fp4)
FP4_LIST = Gradient(("moe_gemm/mxfp4", EPILOGUE), _of_fp4_list)
