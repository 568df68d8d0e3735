"""Our own Triton kernels for problems for which no library has one: a GEMM, attention.

They are plain, like those of Triton's tutorials, with tiles that suit CDNA; each function returns a call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
import triton
import triton.language as tl

LOG2_E = 1.4426950408889634


@triton.jit
def _gemm(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, WINDOW: tl.constexpr):
    """C = A Bᵀ, tiles in windows of rows, so that neighbouring programs share operands."""
    program, high, wide = tl.program_id(0), tl.cdiv(M, BM), tl.cdiv(N, BN)
    first = program // (WINDOW * wide) * WINDOW
    height = min(high - first, WINDOW)
    row, col = first + program % (WINDOW * wide) % height, program % (WINDOW * wide) // height
    rows, cols, depth = row * BM + tl.arange(0, BM), col * BN + tl.arange(0, BN), tl.arange(0, BK)
    left, right = a + rows[:, None] * K + depth[None, :], b + cols[None, :] * K + depth[:, None]
    total = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        total = tl.dot(tl.load(left), tl.load(right), total)
        left += BK
        right += BK
    tl.store(c + rows[:, None] * N + cols[None, :], total.to(c.dtype.element_ty))


@triton.jit
def _attention(
    q, k, v, out, scale, N, HEADS, SHARED,
    CAUSAL: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):  # fmt: skip
    """softmax(scale q kᵀ) v of (B, N, H, D), scale to base 2; SHARED heads of q have one of k and v."""
    block, head, batch = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rows, depth = block * BM + tl.arange(0, BM), tl.arange(0, D)
    pitch_q, pitch_k = HEADS * D, HEADS // SHARED * D
    at_q = (batch * N + rows[:, None]) * pitch_q + head * D + depth[None, :]
    query = tl.load(q + at_q)
    most = tl.full((BM,), -float("inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    end = min(N, (block + 1) * BM) if CAUSAL else N
    for start in range(0, end, BN):
        cols = start + tl.arange(0, BN)
        at_k = (batch * N + cols) * pitch_k + head // SHARED * D
        score = tl.dot(query, tl.load(k + at_k[None, :] + depth[:, None])) * scale
        if CAUSAL:
            score = tl.where(cols[None, :] <= rows[:, None], score, -float("inf"))
        higher = tl.maximum(most, tl.max(score, 1))
        power, rescale = tl.exp2(score - higher[:, None]), tl.exp2(most - higher)
        value = tl.load(v + at_k[:, None] + depth[None, :])
        total = tl.dot(power.to(value.dtype), value, total * rescale[:, None])
        weight, most = weight * rescale + tl.sum(power, 1), higher
    tl.store(out + at_q, (total / weight[:, None]).to(out.dtype.element_ty))


def gemm(inputs: Mapping[str, Any]) -> Callable[[], torch.Tensor]:
    """A Bᵀ; M and N are multiples of 128, K of 64."""
    a, b = inputs["a"], inputs["b"]
    (m, k), n = a.shape, b.shape[0]
    c = torch.empty(m, n, dtype=a.dtype, device=a.device)

    def call() -> torch.Tensor:
        _gemm[(m // 128 * (n // 128),)](a, b, c, m, n, k, BM=128, BN=128, BK=64, WINDOW=8, num_warps=4)
        return c

    return call


def attention(inputs: Mapping[str, Any]) -> Callable[[], torch.Tensor]:
    """Attention of as many queries as keys, a multiple of 128."""
    q, k, v = inputs["q"].contiguous(), inputs["k"].contiguous(), inputs["v"].contiguous()
    batch, tokens, heads, dim = q.shape
    out = torch.empty_like(q)
    scale = LOG2_E * (dim**-0.5 if inputs["scale"] is None else inputs["scale"])
    grid = (tokens // 128, heads, batch)

    def call() -> torch.Tensor:
        _attention[grid](
            q, k, v, out, scale, tokens, heads, heads // k.shape[2],
            CAUSAL=bool(inputs["causal"]), D=dim, BM=128, BN=64, num_warps=4,
        )  # fmt: skip
        return out

    return call
