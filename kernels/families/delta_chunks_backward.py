"""The gradient of the chunked gated delta rule.

Of a chunk with the state S before it and S' behind it, sums G of its decays, D = exp(G), R = exp(G_last - G)
and F_ij = exp(G_i - G_j) of tokens j up to i:

    X = tril(F * K Kᵀ, -1), U = (1 + beta X)^-1 beta (V - D K S), P = tril(F * Q Kᵀ),
    O = scale (D Q S + P U), S' = exp(G_last) S + (R K)ᵀ U.

Gradients go back from chunk to chunk by dS = exp(G_last) dS' - wᵀ dU + scale (D Q)ᵀ dO with
dU = scale Pᵀ dO + R K dS', w = (1 + beta X)^-1 beta D K. That is what `gated_delta/chunk_states` computes, of
sequences whose chunks come in reverse, two for each: one subtracts, one adds. All else is a chunk's own:
products of `gemm/bf16` for operands of 16 bits, and PyTorch's for those of float32, which have no GEMM here.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

import torch

from workbench.operators import Gradient
from workbench.operators.gradient import Call
from workbench_kernels.references.delta_chunks import at_most

PRODUCT = "gemm/bf16"
PREPARE, STATES, SUMS = (f"gated_delta/chunk_{name}" for name in ("prepare", "states", "cumsum"))
UNIT, OF_UNIT = "gated_delta/l2_norm", "gated_delta/l2_norm_backward"


@dataclass(frozen=True)
class Chunks:
    """Positions of tokens if each chunk has room for all of its tokens.

    Attributes:
        size: tokens of a chunk.
        starts: int64 [sequences + 1], the first chunk of each sequence.
        at: int64 [chunks, size], tokens; arbitrary where there is none.
        there: bool [chunks, size], whether there is one.
        places: int64 [tokens], positions of tokens within all chunks.
        back: int64 [chunks], the chunks of each sequence in reverse.
    """

    size: int
    starts: torch.Tensor
    at: torch.Tensor
    there: torch.Tensor
    places: torch.Tensor
    back: torch.Tensor

    @classmethod
    def from_sequences(cls, x: torch.Tensor, cu_seqlens: torch.Tensor | None, size: int) -> Chunks:
        """Chunks of x [batch, tokens, ..], from consecutive batches or sequences."""
        batch, tokens = x.shape[:2]
        if cu_seqlens is None:
            first = torch.arange(batch + 1, device=x.device) * tokens
            count = batch * -(-tokens // size)
        else:
            first = cu_seqlens.long()
            count = at_most(tokens, cu_seqlens.shape[0] - 1, size)
        lengths = first[1:] - first[:-1]
        starts = torch.nn.functional.pad((-(-lengths // size)).cumsum(0), (1, 0))
        numbers = torch.arange(count, device=x.device)
        # Chunks after those of the last sequence have no tokens.
        owner = (torch.searchsorted(starts, numbers, right=True) - 1).clamp(max=lengths.shape[0] - 1)
        inner = (numbers - starts[owner])[:, None] * size + torch.arange(size, device=x.device)
        there = inner < lengths[owner][:, None]
        at = torch.where(there, first[owner][:, None] + inner, 0)
        every = torch.arange(batch * tokens, device=x.device)
        mine = (torch.searchsorted(first, every, right=True) - 1).clamp(max=lengths.shape[0] - 1)
        places = starts[mine] * size + every - first[mine]
        used = numbers < starts[-1]
        back = torch.where(used, starts[owner] + starts[owner + 1] - 1 - numbers, numbers)
        return cls(size, starts, at, there, places, back)

    def take(self, x: torch.Tensor, groups: int = 1) -> torch.Tensor:
        """[batch, tokens, heads, ..] as [chunks, heads * groups, size, ..], zeros for missing tokens."""
        rows = x.flatten(0, 1)[self.at]
        rows = rows.masked_fill(~self.there.view(*self.there.shape, *[1] * (x.dim() - 2)), 0)
        return rows.transpose(1, 2).repeat_interleave(groups, 1).contiguous()

    def give(self, x: torch.Tensor, batch: int, groups: int = 1) -> torch.Tensor:
        """The inverse, summed over the groups of a head."""
        rows = x.transpose(1, 2).flatten(0, 1)[self.places]
        if groups > 1:
            rows = rows.unflatten(1, (-1, groups)).sum(2)
        tokens: torch.Tensor = rows.unflatten(0, (batch, -1))
        return tokens


@dataclass(frozen=True)
class Pass:
    """Building blocks of the gradient; tensors of chunks are [chunks, heads, size, ..].

    Attributes:
        call: function that calls operators.
        dtype: of operands.
    """

    call: Call
    dtype: torch.dtype

    def dot(self, a: torch.Tensor, b: torch.Tensor, layout: str) -> torch.Tensor:
        """The product of each head of each chunk, in float; a and b stored as `layout` says."""
        heads = a.shape[:2]
        left, right = (x.to(self.dtype).flatten(0, 1).contiguous() for x in (a, b))
        if self.dtype == torch.float32:
            left = left.mT if layout == "tn" else left
            right = right.mT if layout == "nt" else right
            flat = left @ right
        else:
            # Layouts of the GEMM name how B is stored: "nt" is A Bᵀ, "nn" A B, "tn" Aᵀ B.
            flat = self.call(PRODUCT, left, right, layout=layout).float()
        product: torch.Tensor = flat.unflatten(0, heads)
        return product

    def reversed_states(
        self,
        chunks: Chunks,
        subtracts: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
        adds: tuple[torch.Tensor, torch.Tensor],
        ends: torch.Tensor,
        last: torch.Tensor,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """dS' of each chunk, dU, and the gradient of the first states.

        Args:
            subtracts: w, R K and scale Pᵀ dO.
            adds: D Q and scale dO.
            ends: G_last [chunks, heads].
            last: gradients of the last states.
        """
        w, forgotten, du = subtracts
        queries, grads = adds

        def both(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
            """Chunks in reverse, each taken from the chunk before that of the other, as [1, tokens, heads,
            ..]."""
            pairs = torch.stack((first, second), 1)[chunks.back].to(self.dtype)
            return pairs.transpose(2, 3).flatten(0, 2)[None].contiguous()

        decays = ends[:, None, :, None].expand(-1, 2, -1, chunks.size).clone()
        decays[:, 1] = 0
        results = self.call(
            STATES,
            both(-w, queries),
            both(-forgotten, torch.zeros_like(forgotten)),
            both(du, grads),
            decays[chunks.back].transpose(2, 3).flatten(0, 2)[None].contiguous(),
            last,
            (2 * chunks.size * chunks.starts).int(),
            chunks.size,
        )
        count = w.shape[0]
        states = results["h"][0, : 2 * count].unflatten(0, (-1, 2))[:, 0][chunks.back]
        pairs = results["corrections"][0].unflatten(0, (count, 2, chunks.size))[:, 0]
        return states, pairs.transpose(1, 2)[chunks.back], results["last_state"]


@dataclass(frozen=True)
class Decays:
    """Decays of chunks, computed from their sums G, each [chunks, heads, ..].

    Attributes:
        last: int64 [.., 1], position of each chunk's last token.
        ends: G_last [.., 1].
        decay: exp(G) [.., size, 1].
        rest: exp(G_last - G) [.., size, 1].
        apart: F [.., size, size], zero above the diagonal.
    """

    last: torch.Tensor
    ends: torch.Tensor
    decay: torch.Tensor
    rest: torch.Tensor
    apart: torch.Tensor

    @classmethod
    def from_sums(cls, chunks: Chunks, sums: torch.Tensor) -> Decays:
        """From the sums [chunks, heads, size], where missing tokens count as the last token."""
        last = chunks.there.sum(1).sub(1).clamp(min=0)[:, None, None].expand(-1, sums.shape[1], 1)
        ends = sums.gather(2, last)
        sums = torch.where(chunks.there[:, None], sums, ends)
        apart = (sums[..., :, None] - sums[..., None, :]).tril().exp().tril()
        return cls(last, ends, sums.exp()[..., None], (ends - sums).exp()[..., None], apart)


def _rule(
    call: Call,
    needs_grad: Set[str],
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    initial_state: torch.Tensor | None,
    cu_seqlens: torch.Tensor | None,
    scale: float | None,
    use_qk_l2norm: bool,
    chunk: int,
    do: torch.Tensor,
    dlast_state: torch.Tensor,
) -> dict[str, torch.Tensor]:
    groups, batch = v.shape[2] // q.shape[2], q.shape[0]
    scale = q.shape[3] ** -0.5 if scale is None else scale
    lengths: dict[str, Mapping[str, torch.Tensor]] = {}
    if use_qk_l2norm:
        lengths = {name: call(UNIT, x.contiguous()) for name, x in (("q", q), ("k", k))}
        q, k = lengths["q"]["y"], lengths["k"]["y"]
    prepared = call(PREPARE, k, v, beta, g, cu_seqlens, chunk)
    w, u, g_sums = (prepared[name] for name in ("w", "u", "sums"))
    forward = call(STATES, k, w, u, g_sums, initial_state, cu_seqlens, chunk)

    by, chunks = Pass(call, q.dtype), Chunks.from_sequences(q, cu_seqlens, chunk)
    queries, keys = (chunks.take(x, groups).float() for x in (q, k))
    grads = scale * chunks.take(do).float()
    u, w, inverse = (chunks.take(x).float() for x in (forward["corrections"], w, prepared["inverse"]))
    before = forward["h"].flatten(0, 1)
    decays = Decays.from_sums(chunks, chunks.take(g_sums))
    decay, rest, apart = decays.decay, decays.rest, decays.apart

    inside = by.dot(queries, keys, "nt") * apart
    forgotten = rest * keys
    after, du, dinitial = by.reversed_states(
        chunks,
        (w, forgotten, by.dot(inside, grads, "tn")),
        (decay * queries, grads),
        decays.ends[..., 0],
        dlast_state.contiguous(),
    )
    gradients = {"initial_state": dinitial} if "initial_state" in needs_grad else {}
    if not needs_grad & {"q", "k", "v", "g", "beta"}:
        return gradients

    solved = by.dot(inverse, du, "tn")
    strengths = chunks.take(beta)[..., None]
    dy = strengths * solved
    if "v" in needs_grad:
        gradients["v"] = chunks.give(dy, batch).to(v.dtype)
    among = (by.dot(keys, keys, "nt") * apart).tril(-1)
    if "beta" in needs_grad:
        values = chunks.take(v).float()
        error = values - decay * by.dot(keys, before, "nn") - by.dot(among, u, "nn")
        gradients["beta"] = chunks.give((solved * error).sum(-1), batch)
    if not needs_grad & {"q", "k", "g"}:
        return gradients
    of_inside = by.dot(grads, u, "nt").tril()
    of_among = -strengths * by.dot(solved, u, "nt").tril(-1)
    from_queries = decay * by.dot(grads, before, "nt")
    from_keys = decay * by.dot(dy, before, "nt")
    to_states = rest * by.dot(u, after, "nt")
    if "q" in needs_grad:
        dq = chunks.give(from_queries + by.dot(of_inside * apart, keys, "nn"), batch, groups).to(q.dtype)
        gradients["q"] = _of_length(call, dq, lengths.get("q"))
    if "k" in needs_grad:
        pairs = of_among * apart
        dk = by.dot(of_inside * apart, queries, "tn") + by.dot(pairs + pairs.mT, keys, "nn")
        dk = chunks.give(dk + to_states - from_keys, batch, groups).to(k.dtype)
        gradients["k"] = _of_length(call, dk, lengths.get("k"))
    if "g" in needs_grad:
        changes = of_inside * inside + of_among * among
        carried = (keys * to_states).sum(-1)
        dsums = (
            (queries * from_queries - keys * from_keys).sum(-1) + changes.sum(-1) - changes.sum(-2) - carried
        )
        of_end = carried.sum(-1) + decays.ends[..., 0].exp() * (before.float() * after.float()).sum((-1, -2))
        dsums = dsums.scatter_add(2, decays.last, of_end[..., None])
        gradients["g"] = call(SUMS, chunks.give(dsums, batch).contiguous(), cu_seqlens, chunk, reverse=True)
    return gradients


def _of_length(call: Call, grad: torch.Tensor, unit: Mapping[str, torch.Tensor] | None) -> torch.Tensor:
    """Gradient of the input of the division by lengths, if there was one."""
    gradient: torch.Tensor = (
        grad if unit is None else call(OF_UNIT, unit["y"], unit["rstd"], grad.contiguous())
    )
    return gradient


CHUNK = Gradient((PREPARE, STATES, PRODUCT, SUMS, UNIT, OF_UNIT), _rule)
