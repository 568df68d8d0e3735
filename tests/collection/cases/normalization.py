"""Cases of normalization."""

from __future__ import annotations

from collection.case import Case, Draw, Make, empty
from torch.nn import functional

from workbench.collection.bindings.normalization import WIDTHS


def rmsnorm(cols: int) -> Make:
    def make(draw: Draw) -> Case:
        x, w = draw.normal(3, 2, cols), draw.normal(cols)
        return Case(
            {"x": x, "w": w, "out": empty(3, 2, cols), "eps": 1e-5, "N": 6},
            {"out": functional.rms_norm(x.double(), (cols,), w.double(), 1e-5)},
        )

    return make


def fused_add_rmsnorm(cols: int) -> Make:
    def make(draw: Draw) -> Case:
        x, res, w = draw.normal(5, cols), draw.normal(5, cols), draw.normal(cols)
        h = x.double() + res.double()
        return Case(
            {
                **{"x": x, "res": res, "w": w, "out": empty(5, cols), "res_out": empty(5, cols)},
                **{"eps": 1e-5, "N": cols},
            },
            {"out": functional.rms_norm(h, (cols,), w.double(), 1e-5), "res_out": h},
        )

    return make


def layernorm(draw: Draw) -> Case:
    x, w, b = draw.normal(5, 130), draw.normal(130), draw.normal(130)
    return Case(
        {"x": x, "w": w, "b": b, "out": empty(5, 130), "eps": 1e-5, "N": 5},
        {"out": functional.layer_norm(x.double(), (130,), w.double(), b.double(), 1e-5)},
    )


def fused_add_layernorm(draw: Draw) -> Case:
    x, res, w, b = draw.normal(5, 130), draw.normal(5, 130), draw.normal(130), draw.normal(130)
    h = x.double() + res.double()
    return Case(
        {
            **{"x": x, "res": res, "w": w, "b": b, "out": empty(5, 130), "res_out": empty(5, 130)},
            **{"eps": 1e-5, "N": 5},
        },
        {"out": functional.layer_norm(h, (130,), w.double(), b.double(), 1e-5), "res_out": h},
    )


def rmsnorm_pad(draw: Draw) -> Case:
    x, w = draw.normal(5, 100), draw.normal(100)
    normed = functional.rms_norm(x.double(), (100,), w.double(), 1e-5)
    return Case(
        {"x": x, "w": w, "out": empty(5, 128), "eps": 1e-5, "N": 5}, {"out": functional.pad(normed, (0, 28))}
    )


def fused_add_rmsnorm_pad(draw: Draw) -> Case:
    x, res, w = draw.normal(5, 100), draw.normal(5, 100), draw.normal(100)
    h = x.double() + res.double()
    normed = functional.rms_norm(h, (100,), w.double(), 1e-5)
    return Case(
        {
            **{"x": x, "res": res, "w": w, "out": empty(5, 256), "res_out": empty(5, 100)},
            **{"eps": 1e-5, "N": 100},
        },
        {"out": functional.pad(normed, (0, 156)), "res_out": h},
    )


NAMES = {"rmsnorm_fwd": rmsnorm, "fused_add_rmsnorm_fwd": fused_add_rmsnorm}

SAMPLED = frozenset(f"rmsnorm_tk.{name}_{cols}" for name in NAMES for cols in WIDTHS)
"""Functions that differ only in a width; the thin tests take one of them."""

CASES: dict[str, Make] = {
    **{f"rmsnorm_tk.{name}": make(96) for name, make in NAMES.items()},
    **{f"rmsnorm_tk.{name}_{cols}": make(cols) for name, make in NAMES.items() for cols in WIDTHS},
    "layernorm_tk.layernorm_fwd": layernorm,
    "layernorm_tk.fused_add_layernorm_fwd": fused_add_layernorm,
    "fused_add_rmsnorm_pad_tk.rmsnorm_pad": rmsnorm_pad,
    "fused_add_rmsnorm_pad_tk.fused_add_rmsnorm_pad": fused_add_rmsnorm_pad,
}
