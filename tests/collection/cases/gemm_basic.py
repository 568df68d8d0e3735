"""Plain matrix products."""

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


CASES: dict[str, Make] = {
    "gemm_a16w16_tk.dispatch": a16w16,
    **{
        f"gemm_a8w8_tk.dispatch{also}": scaled("scale_a", "scale_b", element)
        for element, also in (("int8", ""), ("fp8", ":fp8"), ("bf16", ":bf16"))
    },
    "gemm_a8w8_per_token_scale_tk.dispatch": scaled("a_scale", "b_scale", "int8"),
}
