"""Triton kernels of many kinds, for the tests of the driver."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def scaled(x, out, scale, shift, invert, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at) * scale + shift
    tl.store(out + at, tl.where(invert, -value, value))


@triton.jit
def softmax(x, out, stride, cols, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + at, mask=at < cols, other=-float("inf"))
    power = tl.exp(value - tl.max(value, 0))
    tl.store(out + row * cols + at, power / tl.sum(power, 0), mask=at < cols)


@triton.jit
def matmul(a, b, c, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        left = tl.load(
            a + rows[:, None] * am + (k + depth)[None, :] * ak,
            mask=(rows[:, None] < M) & ((k + depth)[None, :] < K),
            other=0.0,
        )
        right = tl.load(
            b + (k + depth)[:, None] * bk + cols[None, :] * bn,
            mask=((k + depth)[:, None] < K) & (cols[None, :] < N),
            other=0.0,
        )
        total += tl.dot(left, right)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c + rows[:, None] * N + cols[None, :], total, mask=inside)


tuned_matmul = triton.autotune(
    configs=[
        triton.Config({"BM": 32, "BN": 32, "BK": 32}, num_warps=4),
        triton.Config({"BM": 16, "BN": 16, "BK": 32}, num_warps=1),
    ],
    key=["M", "N", "K"],
)(matmul)


@triton.jit
def layer_norm_weights(dy, x, dw, lock, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """A sum over rows by many programs, one at a time under a lock."""
    first, at = tl.program_id(0) * ROWS, tl.arange(0, BLOCK)
    part = tl.zeros((BLOCK,), tl.float32)
    for r in range(ROWS):
        inside = (at < cols) & (first + r < rows)
        where = (first + r) * cols + at
        part += tl.load(dy + where, mask=inside, other=0.0) * tl.load(x + where, mask=inside, other=0.0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    total = tl.load(dw + at, mask=at < cols, other=0.0) + part
    tl.store(dw + at, total, mask=at < cols)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def attention(q, k, v, out, scale, N: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    head = tl.program_id(1) * N * D
    rows, depth = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    query = tl.load(q + head + rows[:, None] * D + depth[None, :])
    most = tl.full((BM,), -float("inf"), tl.float32)
    weight = tl.zeros((BM,), tl.float32)
    total = tl.zeros((BM, D), tl.float32)
    for start in range(0, N, BN):
        cols = start + tl.arange(0, BN)
        key = tl.load(k + head + cols[None, :] * D + depth[:, None])
        score = tl.dot(query, key) * scale
        higher = tl.maximum(most, tl.max(score, 1))
        power, rescale = tl.exp(score - higher[:, None]), tl.exp(most - higher)
        value = tl.load(v + head + cols[:, None] * D + depth[None, :])
        total = total * rescale[:, None] + tl.dot(power.to(value.dtype), value)
        weight, most = weight * rescale + tl.sum(power, 1), higher
    tl.store(
        out + head + rows[:, None] * D + depth[None, :], (total / weight[:, None]).to(out.dtype.element_ty)
    )


@triton.jit
def grouped_matmul(addresses, SIZE: tl.constexpr):
    """Multiplies a and b of the program's group into c; a tensor holds the addresses of all."""
    group = tl.program_id(0)
    a = tl.load(addresses + 3 * group).to(tl.pointer_type(tl.float16))
    b = tl.load(addresses + 3 * group + 1).to(tl.pointer_type(tl.float16))
    c = tl.load(addresses + 3 * group + 2).to(tl.pointer_type(tl.float32))
    at = tl.arange(0, SIZE)
    where = at[:, None] * SIZE + at[None, :]
    tl.store(c + where, tl.dot(tl.load(a + where), tl.load(b + where)))


@triton.jit
def described(x, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    r, c = tl.program_id(0) * ROWS, tl.program_id(1) * COLS
    out.store([r, c], x.load([r, c]) * 2)


@triton.jit
def dot_scaled(a, a_scale, b, b_scale, out, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    blocks = tl.arange(0, K // 32)
    left = tl.load(a + m[:, None] * K + k[None, :])
    right = tl.load(b + k[:, None] * N + n[None, :])
    left_scale = tl.load(a_scale + m[:, None] * (K // 32) + blocks[None, :])
    right_scale = tl.load(b_scale + n[:, None] * (K // 32) + blocks[None, :])
    total = tl.dot_scaled(left, left_scale, "e4m3", right, right_scale, "e4m3")
    tl.store(out + m[:, None] * N + n[None, :], total)


@triton.jit
def atomics(x, sums, least, most, bits, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.atomic_add(sums, tl.sum(value, 0))
    tl.atomic_min(least, tl.min(value, 0))
    tl.atomic_max(most, tl.max(value, 0))
    tl.atomic_or(bits, 1 << tl.program_id(0))


@triton.jit
def more_atomics(x, added, ored, anded, xored, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.atomic_add(added + at % 8, value.to(added.dtype.element_ty), sem="relaxed")
    tl.atomic_or(ored + at % 8, value)
    tl.atomic_and(anded + at % 8, value)
    tl.atomic_xor(xored + at % 8, value)


@triton.jit
def exchanges(x, swapped, before, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.store(before + at, tl.atomic_xchg(swapped + at, value))
    tl.atomic_cas(swapped + at, value, -value)


@triton.jit
def ordered(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.sort(tl.load(x + at)))


@triton.jit
def running(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.cumsum(tl.load(x + at), 0))


@triton.jit
def gathered(x, index, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.gather(tl.load(x + at), tl.load(index + at), 0))


@triton.jit
def random(out, seed, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.rand(seed, at))


@triton.jit
def assembly(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(
        "v_bfrev_b32 $0, $1", "=v,v", [tl.load(x + at)], dtype=tl.int32, is_pure=True, pack=1
    )
    tl.store(out + at, value)


@triton.jit
def printing(x, BLOCK: tl.constexpr):
    tl.device_print("seen", tl.load(x + tl.arange(0, BLOCK)))


@triton.jit
def asserting(x, BLOCK: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK))
    tl.device_assert(value < 100, "too large")


@triton.jit
def summed(parts, out, BLOCK: tl.constexpr):
    """Takes a tuple of tensors."""
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(parts[0] + at) + tl.load(parts[1] + at))


@triton.jit
def copied(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at))
