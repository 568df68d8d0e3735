"""Feed-forward layers and the operations around attention."""

from __future__ import annotations

import torch
from collection.case import Case, Draw, Make, empty


def layer(gated: bool, activated: bool = True) -> Make:
    def make(draw: Draw) -> Case:
        x, w1, w2 = draw.normal(20, 136), draw.normal(48 if gated else 24, 136) / 12, draw.normal(24, 136) / 5
        hidden = x.double() @ w1.double().T
        if gated:
            left, right = hidden.chunk(2, -1)
            hidden = left * torch.nn.functional.silu(right)
        elif activated:
            hidden = torch.nn.functional.silu(hidden)
        arguments = {"x": x, "w1": w1, "w2": w2, "out": empty(20, 136), "M": 20, "N": len(w1), "K": 136}
        return Case(arguments, {"out": hidden @ w2.double()}, atol=5e-2)

    return make


E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]


def latent(weights: str, *, neox: bool) -> Make:
    """Three tokens with queries, two with keys only, one of which has no slot."""

    def make(draw: Draw) -> Case:
        q_nope, q_pe, k_nope = draw.normal(2, 3, 128), draw.normal(3, 2, 32), draw.normal(5, 1, 64)
        k_rope, cache = draw.normal(5, 1, 32), draw.normal(9, 1, 96)
        slots, at = torch.tensor([8, 3, 0, -1, 5]), draw.integers(0, 7, 5)
        angles = 6 * draw.uniform(7, 16)
        if weights == "fp4":
            w = draw.integers(0, 256, 2, 64, 64, dtype=torch.uint8)
            scale = draw.integers(121, 128, 2, 64, 4, dtype=torch.uint8)
            code = torch.stack((w & 15, w >> 4), -1).flatten(2).long()
            sign = torch.where(code >= 8, -1.0, 1.0).double()
            numbers = sign * torch.tensor(E2M1).double()[code % 8]
            numbers = numbers * (2.0 ** (scale.double() - 127)).repeat_interleave(32, -1)
        else:
            w, scale = (20 * draw.normal(2, 64, 128)).to(draw.fp8), torch.tensor([0.03])
            numbers = w.double() * 0.03

        def turned(x: torch.Tensor) -> torch.Tensor:
            x, angle = x.double(), angles[at[: len(x)].long()].double()[:, None]
            a, b = x.chunk(2, -1) if neox else (x[..., ::2], x[..., 1::2])
            parts = (a * angle.cos() - b * angle.sin(), b * angle.cos() + a * angle.sin())
            return torch.cat(parts, -1) if neox else torch.stack(parts, -1).flatten(-2)

        expected = cache.double().clone()
        rows = torch.cat((k_nope.double(), turned(k_rope)), -1) / 2
        for token, slot in enumerate(slots.tolist()):
            if slot >= 0:
                expected[slot] = rows[token]
        plain = torch.einsum("hbp,hrp->bhr", q_nope.double(), numbers)
        return Case(
            {
                **{"q_nope": q_nope, "w_k": w, "w_k_scale": scale, "q_pe": q_pe, "k_nope": k_nope},
                **{"k_rope": k_rope, "kv_cache": cache, "slot_mapping": slots, "positions": at},
                **{"cos": angles.cos(), "sin": angles.sin(), "q_out": empty(3, 2, 96)},
                **{"k_pe_out": empty(5, 1, 32), "k_scale": 2.0, "is_neox": neox},
            },
            {
                "q_out": torch.cat((plain, turned(q_pe)), -1),
                "k_pe_out": turned(k_rope),
                "kv_cache": expected,
            },
            atol=5e-2,
        )

    return make


def kv_cache(dtype: torch.dtype, block: int, *dims: int) -> Make:
    """`dims` precede those of the slots."""

    def make(draw: Draw) -> Case:
        k, v = draw.normal(5, 3, 1, 128, dtype=dtype), draw.normal(5, 3, 1, 128, dtype=dtype)
        caches = [draw.normal(4, 3, block, 128, dtype=dtype) for _ in range(2)]
        slots = torch.tensor([3, block, 4 * block - 1, 0, -1], dtype=torch.int32)
        expected = [cache.double().clone() for cache in caches]
        for token, slot in enumerate(slots.tolist()[:-1]):
            for cache, rows, scale in zip(expected, (k, v), (0.5, 2.0), strict=True):
                cache[slot // block, :, slot % block] = rows[token, :, 0].double() / scale
        arguments = {
            **{
                "k": k,
                "v": v,
                "key_cache": caches[0],
                "value_cache": caches[1],
                "slot_mapping": slots.view(*dims, -1),
            },
            **{"B": 5, "H_kv": 3, "k_scale": 0.5, "v_scale": 2.0},
        }
        return Case(arguments, {"key_cache": expected[0], "value_cache": expected[1]})

    return make


def mul_add(dtype: torch.dtype) -> Make:
    def make(draw: Draw) -> Case:
        x, a, b = draw.normal(100, dtype=dtype), draw.normal(1, dtype=dtype), draw.normal(100, dtype=dtype)
        arguments = {"x": x, "a": a, "b": b, "out": empty(100, dtype=dtype), "total": 100}
        return Case(
            {**arguments, "a_is_scalar": True, "b_is_scalar": False},
            {"out": a.double() * x.double() + b.double()},
        )

    return make


def concat(dtype: torch.dtype, left: int, right: int) -> Make:
    def make(draw: Draw) -> Case:
        q1, q2, k1, k2 = (
            draw.normal(2, heads, 1, cols, dtype=dtype) for heads in (4, 2) for cols in (left, right)
        )
        q, k = torch.cat((q1, q2), -1).double(), torch.cat((k1, k2), -1).double()
        arguments = {
            **{"q1": q1, "q2": q2, "k1": k1, "k2": k2},
            **{"q_out": empty(*q.shape, dtype=dtype), "k_out": empty(*k.shape, dtype=dtype)},
            **{"B": 2, "H_q": 4, "H_kv": 2, "QH_PER_KH": 2},
        }
        return Case(arguments, {"q_out": q, "k_out": k})

    return make


TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}

LATENT = "fused_bmm_rope_kv_cache_tk.fused_{}_bmm_rope_cat_and_cache_mla"

CASES: dict[str, Make] = {
    LATENT.format("fp4"): latent("fp4", neox=False),
    LATENT.format("fp8"): latent("fp8", neox=True),
    **{f"ff_fused_gated_tk.dispatch_{n}": layer(gated=True) for n in (4096, 8192)},
    **{f"ff_fused_ungated_tk.dispatch_{n}": layer(gated=False) for n in (4096, 8192)},
    **{f"ff_fused_ungated_tk.dispatch_{n}_no_activation": layer(False, False) for n in (4096, 8192)},
    **{
        f"fused_kv_cache_tk.dispatch_{name}_128_{block}": kv_cache(dtype, block)
        for name, dtype in TYPES.items()
        for block in (16, 32)
    },
    "fused_kv_cache_tk.dispatch_bf16_128_16:four": kv_cache(torch.bfloat16, 16, 1, 1, 1),
    **{
        f"fused_mul_add_tk.dispatch_{name}_{size}": mul_add(dtype)
        for name, dtype in TYPES.items()
        for size in (4096, 8192)
    },
    **{
        f"fused_qk_concat_tk.dispatch_{name}_{left}_{right}": concat(dtype, left, right)
        for name, dtype in TYPES.items()
        for left, right in ((64, 64), (128, 128), (64, 128))
    },
}

SAMPLED = [name for name in CASES if "8192" in name or "fp16" in name]
"""Further sizes and types of each function."""
