"""Cases of plain matrix products."""

from __future__ import annotations

import torch
from collection.case import Case, Draw, Make, empty


def a16w16(draw: Draw) -> Case:
    a, b = draw.normal(20, 136), draw.normal(24, 136)
    return Case({"A": a, "B": b, "C": empty(20, 24)}, {"C": a.double() @ b.double().T}, atol=5e-2)


def scaled(a: str, b: str, element: str) -> Make:
    """A8W8 with scales of these names."""

    def make(draw: Draw) -> Case:
        if element == "fp8":
            left, right = draw.normal(20, 144, dtype=draw.fp8), draw.normal(24, 144, dtype=draw.fp8)
        else:
            dtype = torch.int8 if element == "int8" else torch.bfloat16
            left, right = (draw.integers(-128, 128, rows, 144, dtype=dtype) for rows in (20, 24))
        of_rows, of_cols = draw.uniform(20), draw.uniform(24)
        sums = left.double() @ right.double().T
        return Case(
            {"A": left, "B": right, a: of_rows, b: of_cols, "C": empty(20, 24)},
            {"C": sums * of_rows.double()[:, None] * of_cols.double()},
            atol=5e-2,
        )

    return make


def narrow(draw: Draw, element: str, rows: int, cols: int) -> torch.Tensor:
    """Random numbers of 8 bits, or whole numbers in bf16."""
    if element == "fp8":
        return draw.normal(rows, cols, dtype=draw.fp8)
    return draw.integers(-128, 128, rows, cols, dtype=torch.int8 if element == "int8" else torch.bfloat16)


E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6])
"""Values of the codes of fp4."""


def fp4(draw: Draw, *dims: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Packed fp4 and its values."""
    packed = draw.integers(0, 256, *dims[:-1], dims[-1] // 2, dtype=torch.uint8)
    codes = torch.stack([packed & 15, packed >> 4], -1).flatten(-2).long()
    return packed, E2M1[codes].double()


def powers(draw: Draw, *dims: int) -> tuple[torch.Tensor, torch.Tensor]:
    """e8m0 scales, each for 32 columns, and the factor of each column."""
    scale = draw.integers(124, 131, *dims, dtype=torch.uint8)
    return scale, torch.exp2(scale.double() - 127).repeat_interleave(32, -1)


def blocks(scale: torch.Tensor, k: int) -> torch.Tensor:
    """A factor for each of k columns from scales of 128 columns."""
    return scale.double().repeat_interleave(128, -1)[..., :k]


def atomic(dtype: torch.dtype) -> Make:
    def make(draw: Draw) -> Case:
        a, b = draw.normal(20, 136), draw.normal(24, 136)
        return Case(
            {"A": a, "B": b, "C": empty(20, 24, dtype=dtype)}, {"C": a.double() @ b.double().T}, atol=0.1
        )

    return make


def gated(draw: Draw) -> Case:
    a, b = draw.normal(20, 136), draw.normal(48, 136) / 8
    left, right = (a.double() @ half.double().T for half in b.chunk(2))
    out = left * torch.nn.functional.silu(right)
    return Case({"A": a, "B": b, "C": empty(20, 24)}, {"C": out}, atol=5e-2)


def a16w8(element: str, by_squares: bool) -> Make:
    def make(draw: Draw) -> Case:
        a, b = draw.normal(20, 272), narrow(draw, element, 136, 272)
        scale = draw.uniform(2, 3) if by_squares else draw.uniform(136, 3)
        factors = blocks(scale.repeat_interleave(128, 0)[:136] if by_squares else scale, 272)
        out = a.double() @ (b.double() * factors).T
        return Case({"A": a, "B": b, "C": empty(20, 136), "b_scale": scale}, {"C": out}, atol=1.0)

    return make


def a16wfp4(packed: bool) -> Make:
    def make(draw: Draw) -> Case:
        a, (codes, values) = draw.normal(20, 128), fp4(draw, 24, 128)
        scale, factors = powers(draw, 24, 4)
        if not packed:
            scale = draw.uniform(24, 4)
            factors, codes = scale.double().repeat_interleave(32, -1), values.bfloat16()
        out = a.double() @ (values * factors).T
        return Case({"A": a, "B": codes, "C": empty(20, 24), "b_scales": scale}, {"C": out}, atol=0.2)

    return make


def a8w8_blockscale(element: str, by_squares: bool) -> Make:
    def make(draw: Draw) -> Case:
        a, b = narrow(draw, element, 20, 272), narrow(draw, element, 136, 272)
        of_a, scale = draw.uniform(20, 3), draw.uniform(2, 3) if by_squares else draw.uniform(3, 136)
        of_b = blocks(scale.repeat_interleave(128, 0)[:136] if by_squares else scale.T, 272)
        out = (a.double() * blocks(of_a, 272)) @ (b.double() * of_b).T
        arguments = {"A": a, "B": b, "C": empty(20, 136), "a_scale": of_a, "b_scale": scale}
        return Case(arguments, {"C": out}, atol=1.0 if element == "fp8" else 2e3)

    return make


def a8wfp4(element: str, packed: bool) -> Make:
    def make(draw: Draw) -> Case:
        a, (codes, values) = narrow(draw, element, 20, 128), fp4(draw, 24, 128)
        of_a, (scale, factors) = draw.uniform(20), powers(draw, 24, 4)
        more = {"b_scale": scale if packed else None}
        out = (a.double() * of_a.double()[:, None]) @ (values * (factors if packed else 1)).T
        b = codes if packed else values.bfloat16()
        return Case({"A": a, "B": b, "a_scale": of_a, "C": empty(20, 24), **more}, {"C": out}, atol=2.0)

    return make


def afp4wfp4(packed: bool) -> Make:
    def make(draw: Draw) -> Case:
        (a, left), (b, right) = fp4(draw, 20, 128), fp4(draw, 24, 128)
        if not packed:
            a, b = left.bfloat16(), right.bfloat16()
            none = {"a_scale": None, "b_scale": None}
            return Case({"A": a, "B": b, "C": empty(20, 24), **none}, {"C": left @ right.T}, atol=0.1)
        (of_a, factors_a), (of_b, factors_b) = powers(draw, 20, 4), powers(draw, 24, 4)
        out = (left * factors_a) @ (right * factors_b).T
        return Case(
            {"A": a, "B": b, "C": empty(20, 24), "a_scale": of_a, "b_scale": of_b}, {"C": out}, atol=0.5
        )

    return make


CASES: dict[str, Make] = {
    "gemm_a16w16_tk.dispatch": a16w16,
    **{
        f"gemm_a8w8_tk.dispatch{also}": scaled("scale_a", "scale_b", element)
        for element, also in (("int8", ""), ("fp8", ":fp8"), ("bf16", ":bf16"))
    },
    "gemm_a8w8_per_token_scale_tk.dispatch": scaled("a_scale", "b_scale", "int8"),
    "gemm_a16w16_atomic_tk.dispatch": atomic(torch.float32),
    "gemm_a16w16_atomic_tk.dispatch:bf16": atomic(torch.bfloat16),
    "gemm_a16w16_gated_tk.dispatch": gated,
    "gemm_a16w8_blockscale_tk.dispatch": a16w8("int8", by_squares=False),
    "gemm_a16w8_blockscale_tk.dispatch:fp8": a16w8("fp8", by_squares=True),
    "gemm_a16w8_blockscale_tk.dispatch:bf16": a16w8("bf16", by_squares=False),
    "gemm_a16wfp4_tk.dispatch": a16wfp4(packed=True),
    "gemm_a16wfp4_tk.dispatch:bf16": a16wfp4(packed=False),
    "gemm_a8w8_blockscale_tk.dispatch": a8w8_blockscale("int8", by_squares=False),
    "gemm_a8w8_blockscale_tk.dispatch:fp8": a8w8_blockscale("fp8", by_squares=True),
    "gemm_a8w8_blockscale_tk.dispatch:bf16": a8w8_blockscale("bf16", by_squares=False),
    "gemm_a8wfp4_tk.dispatch": a8wfp4("fp8", packed=True),
    "gemm_a8wfp4_tk.dispatch:int8": a8wfp4("int8", packed=True),
    "gemm_a8wfp4_tk.dispatch:bf16": a8wfp4("bf16", packed=False),
    "gemm_afp4wfp4_tk.dispatch": afp4wfp4(packed=True),
    "gemm_afp4wfp4_tk.dispatch:bf16": afp4wfp4(packed=False),
}

SAMPLED = [name for name in CASES if ":" in name and "a8w8_tk" not in name]
"""Variants of cases that the port takes; each run tests one of them."""
