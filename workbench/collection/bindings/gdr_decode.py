"""The gated delta rule, token after token."""

from __future__ import annotations

from workbench.collection.record import Function, Given, PortModule, Use
from workbench.errors import ArgumentError

_FLAGS = ("use_g", "use_gk", "use_gv", "use_qk_l2norm", "is_beta_headwise", "use_initial_state")


def _sizes_told(given: Given) -> None:
    """T, B, H, HV, K and V are those of the tensors."""
    for name, size in (("T", "T"), ("B", "B"), ("H", "H"), ("HV", "G"), ("K", "K"), ("V", "V")):
        if given[name] != given.sizes[size]:
            raise ArgumentError(f"{name} is {given[name]}; the tensors say {given.sizes[size]}")
    if given["is_beta_headwise"]:
        raise ArgumentError("is_beta_headwise is True; expected False, a beta for each token and head")


_FUSED_RECURRENT = Function(
    name="fused_recurrent_fwd",
    arguments={
        **{"q": "real [B T H K]", "k": "real [B T H K]", "v": "real [B T G V]"},
        **{"g": "fp32 [B T G] or none", "gk": "fp32 [B T G K] or none", "gv": "fp32 [B T G V] or none"},
        **{"beta": "fp32 [B T G] or none", "o": "real [B T G V]"},
        **{"h0": "fp32 [N G K V] or none", "ht": "fp32 [N G K V]", "cu_seqlens": "i32 [N+1] or none"},
        **{"scale": "float", "T": "int", "B": "int", "H": "int", "HV": "int", "K": "int", "V": "int"},
        **dict.fromkeys(_FLAGS, "bool"),
    },
    defaults={"use_g": True, **dict.fromkeys(_FLAGS[1:5], False), "use_initial_state": True},
    uses=[
        Use(
            "gated_delta/recurrent",
            {
                **{"q": "q", "k": "k", "v": "v", "beta": "beta", "cu_seqlens": "cu_seqlens"},
                "g": lambda given: given["g"] if given["use_g"] else None,
                "gk": lambda given: given["gk"] if given["use_gk"] else None,
                "gv": lambda given: given["gv"] if given["use_gv"] else None,
                "initial_state": lambda given: given["h0"] if given["use_initial_state"] else None,
                "scale": "scale",
                "use_qk_l2norm": "use_qk_l2norm",
            },
            {"o": "o", "last_state": "ht"},
        )
    ],
    checks=[_sizes_told],
    differs="Columns of the state are a multiple of 16, its rows 64, 128 or 256; no beta for each column.",
)

MODULES = (
    PortModule(
        row=54,
        name="fused_recurrent_tk",
        functions=[_FUSED_RECURRENT],
        doc="h *= exp(g); u = beta (v - hᵀ k); h += k uᵀ; o = scale hᵀ q.",
    ),
)
