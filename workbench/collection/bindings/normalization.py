"""Normalization: RMSNorm, LayerNorm, sums with a residual, padded rows."""

from __future__ import annotations

from workbench.collection.convert import rows_or_columns
from workbench.collection.record import Function, PortModule, Use

WIDTHS = (128, 256, 512, 768, 1024, 1536, 2048, 2560, 3072, 3584, 4096, 5120, 7168, 8192)
"""Numbers of columns that the port is compiled for, each with its own functions."""

_ALL_ROWS = (
    "Computes all rows of x; the port computes N rows, and its page describes N as the number of columns."
)


def _rmsnorm(cols: str, suffix: str = "") -> tuple[Function, Function]:
    """RMSNorm, optionally of a sum."""
    matrix, vector, tail = f"real [*M {cols}]", f"real [{cols}]", {"eps": "float", "N": "int"}
    return (
        Function(
            name=f"rmsnorm_fwd{suffix}",
            arguments={"x": matrix, "w": vector, "out": matrix, **tail},
            uses=[Use("normalization/rmsnorm", {"x": "x", "weight": "w", "eps": "eps"}, {"out": "out"})],
            checks=[rows_or_columns("N")],
            differs=_ALL_ROWS,
        ),
        Function(
            name=f"fused_add_rmsnorm_fwd{suffix}",
            arguments={"x": matrix, "res": matrix, "w": vector, "out": matrix, "res_out": matrix, **tail},
            uses=[
                Use(
                    "normalization/fused_add_rmsnorm",
                    {"x": "x", "residual": "res", "weight": "w", "eps": "eps"},
                    {"out": "out", "residual_out": "res_out"},
                )
            ],
            checks=[rows_or_columns("N")],
            differs=_ALL_ROWS,
        ),
    )


_LAYERNORM = (
    Function(
        name="layernorm_fwd",
        arguments={
            **{"x": "real [*M D]", "w": "real [D]", "b": "real [D]", "out": "real [*M D]"},
            **{"eps": "float", "N": "int"},
        },
        uses=[
            Use(
                "normalization/layernorm",
                {"x": "x", "weight": "w", "bias": "b", "eps": "eps"},
                {"out": "out"},
            )
        ],
        checks=[rows_or_columns("N")],
        differs=_ALL_ROWS,
    ),
    Function(
        name="fused_add_layernorm_fwd",
        arguments={
            **{"x": "real [*M D]", "res": "real [*M D]", "w": "real [D]", "b": "real [D]"},
            **{"out": "real [*M D]", "res_out": "real [*M D]", "eps": "float", "N": "int"},
        },
        uses=[
            Use(
                "normalization/fused_add_layernorm",
                {"x": "x", "residual": "res", "weight": "w", "bias": "b", "eps": "eps"},
                {"out": "out", "residual_out": "res_out"},
            )
        ],
        checks=[rows_or_columns("N")],
        differs=_ALL_ROWS,
    ),
)

_PADDED = (
    Function(
        name="rmsnorm_pad",
        arguments={
            **{"x": "real [*M D]", "w": "real [D]", "out": "real [*M O]"},
            **{"eps": "float", "N": "int"},
        },
        uses=[
            Use(
                "normalization/rmsnorm_pad",
                {"x": "x", "weight": "w", "out_cols": lambda call: call.sizes["O"], "eps": "eps"},
                {"out": "out"},
            )
        ],
        checks=[rows_or_columns("N")],
        differs=_ALL_ROWS,
    ),
    Function(
        name="fused_add_rmsnorm_pad",
        arguments={
            **{"x": "real [*M D]", "res": "real [*M D]", "w": "real [D]"},
            **{"out": "real [*M O]", "res_out": "real [*M D]", "eps": "float", "N": "int"},
        },
        uses=[
            Use(
                "normalization/fused_add_rmsnorm_pad",
                {
                    **{"x": "x", "residual": "res", "weight": "w", "eps": "eps"},
                    "out_cols": lambda call: call.sizes["O"],
                },
                {"out": "out", "residual_out": "res_out"},
            )
        ],
        checks=[rows_or_columns("N")],
        differs=_ALL_ROWS,
    ),
)

MODULES = (
    PortModule(
        row=1,
        name="rmsnorm_tk",
        functions=[
            *_rmsnorm("D"),
            *(function for cols in WIDTHS for function in _rmsnorm(str(cols), f"_{cols}")),
        ],
        doc="x / sqrt(mean(x²) + eps) * w of rows, and of x + res, which is an output too.",
    ),
    PortModule(
        row=2,
        name="layernorm_tk",
        functions=_LAYERNORM,
        doc="(x - mean) / sqrt(variance + eps) * w + b of rows, and of x + res, which is an output too.",
    ),
    PortModule(
        row=3,
        name="fused_add_rmsnorm_pad_tk",
        functions=_PADDED,
        doc="RMSNorm of rows, and of x + res, into longer rows, whose ends are zero.",
    ),
)
