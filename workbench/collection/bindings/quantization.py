"""Quantization of rows: int8 for each, fp8 and mxfp4 after RMSNorm."""

from __future__ import annotations

from workbench.collection.convert import as_fp8, own_fp8
from workbench.collection.record import Call, Function, PortModule, Use
from workbench.errors import ArgumentError

_BLOCKS = (128, 64, 32)
"""Columns that may share a scale."""


def _block(call: Call) -> int:
    """Columns of a block, from the numbers of columns and of scales."""
    cols, scales = call.sizes["N"], call.sizes["G"]
    blocks = [block for block in _BLOCKS if block <= cols and -(-cols // block) == scales]
    if not blocks:
        raise ArgumentError(
            f"scales has {scales} columns for {cols} of x; expected one for each "
            f"{', '.join(map(str, _BLOCKS[:-1]))} or {_BLOCKS[-1]} of them"
        )
    return blocks[0]


_PER_TOKEN = Function(
    name="per_token_quant_fwd",
    arguments={"x": "real [*M N]", "out": "i8 [*M N]", "scales": "fp32 [*M 1]"},
    uses=[Use("quantization/per_token_quant", {"x": "x"}, {"out": "out", "scales": "scales"})],
    differs="Scales assume a magnitude of at least 1e-10; the scale of a row with NaN or infinity is NaN.",
)

_FP8 = Function(
    name="fused_rmsnorm_fp8_quant_fwd",
    arguments={
        **{"x": "real [*M N]", "w": "real [N]", "out": "u8|fp8 [*M N]", "scales": "fp32 [*M G]"},
        "eps": "float",
    },
    uses=[
        Use(
            "quantization/fused_rmsnorm_quant",
            {"x": "x", "weight": "w", "eps": "eps", "format": own_fp8, "block": _block},
            {"out": as_fp8("out"), "scales": "scales"},
        )
    ],
    differs="The target's own e4m3: largest number 448 on gfx950, 240 on gfx942.",
)

_MXFP4 = Function(
    name="fused_rmsnorm_mxfp4_quant_fwd",
    arguments={
        **{"x": "real [*M N]", "w": "real [N]", "out": "u8 [*M H]", "scales": "u8 [*M G]"},
        "eps": "float",
    },
    uses=[
        Use(
            "quantization/fused_rmsnorm_mx_quant",
            {"x": "x", "weight": "w", "eps": "eps"},
            {"out": "out", "scales": "scales"},
        )
    ],
)

MODULES = (
    PortModule(row=69, name="quant_tk", functions=[_PER_TOKEN], doc="Rows to int8, with a scale for each."),
    PortModule(
        row=70,
        name="fused_fp8_quant_tk",
        functions=[_FP8],
        doc="RMSNorm, then fp8 with a scale for each block.",
    ),
    PortModule(
        row=71,
        name="fused_mxfp4_quant_tk",
        functions=[_MXFP4],
        doc="RMSNorm, then fp4 with a power of two for each 32 columns.",
    ),
)
