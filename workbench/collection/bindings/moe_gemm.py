"""Mixtures of experts: rows of tokens times the matrices of their experts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.collection.convert import described_by, integers, strides
from workbench.collection.record import Call, Function, PortModule, Use, Value

if TYPE_CHECKING:
    import torch

_INTS = ("N", "K", "num_valid_tokens", "top_k")
_LISTS = {"topk_weights": "fp32 [*W]", "sorted_token_ids": "i32 [ids]", "expert_ids": "i32 [blocks]"}
_PADDED = {"num_tokens_post_padded": "i32 [1] or i32 []"}


def _weights(call: Call) -> torch.Tensor | None:
    return call["topk_weights"].flatten() if call["mul_routed_weight"] else None


def _rows(call: Call) -> torch.Tensor:
    """The rows of C that ids name; the port's C has one row per entry of the list, and the others stay."""
    rows: torch.Tensor = call["C"][: call["num_valid_tokens"]]
    return rows


def _valid_tokens(call: Call) -> None:
    described_by(call, "num_valid_tokens", call["A"].shape[0] * call["top_k"], "rows of A times top_k")


def _names(*groups: str) -> dict[str, str]:
    """Arguments that are integers, by names such as "stride_am"."""
    return {name: "int" for group in groups for name in group.split()}


def _by_blocks(name: str, activation: str, doc: str, *, half: bool = False) -> Function:
    """A function of bf16 by a list of blocks."""
    return Function(
        name=name,
        arguments={
            **{"A": "bf16 [T K]", "B": "bf16 [E K N]", "C": f"bf16 [P {'N/2' if half else 'N'}]"},
            **_LISTS,
            **_PADDED,
            **_names(*_INTS),
            **_names("stride_am stride_ak stride_be stride_bk stride_bn stride_cm stride_cn"),
            "mul_routed_weight": "bool",
        },
        uses=[
            Use(
                "moe_gemm/bf16",
                {
                    **{"a": "A", "b": "B", "sorted_token_ids": "sorted_token_ids"},
                    **{"expert_ids": "expert_ids", "top_k": "top_k", "weights": _weights},
                    "num_tokens_post_padded": lambda call: call["num_tokens_post_padded"].reshape(1),
                    "activation": lambda call: activation,
                },
                {"c": _rows},
            )
        ],
        checks=[
            _valid_tokens,
            strides("A", "stride_am stride_ak"),
            strides("B", "stride_be stride_bk stride_bn"),
            strides("C", "stride_cm stride_cn"),
        ],
        differs=doc,
    )


_END_TO_END = Function(
    name="moe_e2e",
    arguments={
        **{"A": "bf16 [T K]", "W1": "bf16 [E N K]", "W2": "bf16 [E K N/2]", "C": "bf16 [P K]"},
        **_LISTS,
        **_PADDED,
        **_names(*_INTS),
        **_names("stride_am stride_ak stride_w1e stride_w1n stride_w1k"),
        **_names("stride_w2e stride_w2n stride_w2k stride_cm"),
        "mul_routed_weight": "bool",
    },
    uses=[
        Use(
            "moe_gemm/end_to_end",
            {
                **{"a": "A", "w1": "W1", "w2": "W2", "sorted_token_ids": "sorted_token_ids"},
                **{"expert_ids": "expert_ids", "top_k": "top_k", "weights": _weights},
                "num_tokens_post_padded": lambda call: call["num_tokens_post_padded"].reshape(1),
            },
            {"c": _rows},
        )
    ],
    checks=[
        _valid_tokens,
        strides("A", "stride_am stride_ak"),
        strides("W1", "stride_w1e stride_w1n stride_w1k"),
    ],
    differs="Weights are by id, as elsewhere; the port's crashes.",
)

_RAGGED = {
    **{"GatherIndx": "i32 [R] or none", "ExptHist": "i32 [E]", "ExptOffs": "i32 [E] or i32 [E+1]"},
    "ExptData": "i32 [*D] or none",
}


def _offsets(call: Call) -> torch.Tensor:
    """First entries of experts, and the number of entries."""
    import torch

    first, sizes = call["ExptOffs"], call["ExptHist"]
    return torch.cat([first[: len(sizes)], first[len(sizes) - 1 : len(sizes)] + sizes[-1:]])


def _one_behind_the_other(call: Call) -> None:
    """Checks that the experts' entries have no gaps, as in the port's lists."""
    ends = call["ExptHist"].cumsum(0)
    described_by(call, "ExptOffs", [0, *ends[:-1].tolist()], "sums of ExptHist", count=len(ends))


_ENTRIES: dict[str, Value] = {"offsets": _offsets, "gather": "GatherIndx", "top_k": "n_expts_act"}
_STRIDES = "stride_ym stride_yn stride_xm stride_xk stride_we stride_wk stride_wn"


def _checks() -> list[Any]:
    return [
        _one_behind_the_other,
        strides("Y", "stride_ym stride_yn"),
        strides("X", "stride_xm stride_xk"),
        strides("W", "stride_we stride_wk stride_wn"),
    ]


_A8W8 = Function(
    name="moe_a8w8",
    arguments={
        **{"X": "i8|bf16 [T K] or fp8 [T K]", "W": "i8|bf16 [E K N] or fp8 [E K N]"},
        **{"Y": "bf16 [R N] or bf16 [R N/2]", "X_scale": "fp32 [1] or fp32 [] or none"},
        **{"W_scale": "fp32 [E] or none", "bias": "fp32 [E N] or none"},
        **_RAGGED,
        **_names("N K grid_m grid_n n_expts_act", _STRIDES),
        **{"apply_swiglu": "bool", "swiglu_alpha": "float"},
    },
    uses=[
        Use(
            "moe_gemm/a8w8",
            {
                "a": lambda call: integers("X", call),
                "b": lambda call: integers("W", call),
                **_ENTRIES,
                "scale_a": lambda call: None if call["X_scale"] is None else call["X_scale"].reshape(1),
                **{"scale_b": "W_scale", "bias": "bias", "alpha": "swiglu_alpha"},
                "swiglu": lambda call: bool(call["apply_swiglu"]),
            },
            {"c": "Y"},
        )
    ],
    checks=_checks(),
    differs="With apply_swiglu Y has N / 2 columns, as AITER's; the port leaves that to another kernel.",
)

_A8W8_BLOCKSCALE = Function(
    name="moe_a8w8_blockscale",
    arguments={
        **{"X": "i8|bf16 [T K] or fp8 [T K]", "W": "i8|bf16 [E K N] or fp8 [E K N]", "Y": "bf16 [R N]"},
        **{"X_scale": "fp32 [T k]", "W_scale": "fp32 [E k n]", "bias": "fp32 [E N] or none"},
        **_RAGGED,
        **_names("N K group_k group_n grid_m grid_n n_expts_act", _STRIDES),
        **_names("stride_xsm stride_xsk stride_wse stride_wsk stride_wsn"),
    },
    uses=[
        Use(
            "moe_gemm/a8w8_blockscale",
            {
                "a": lambda call: integers("X", call),
                "b": lambda call: integers("W", call),
                **{"blocks_a": "X_scale", "blocks_b": "W_scale", "bias": "bias"},
                **_ENTRIES,
                **{"group_k": "group_k", "group_n": "group_n"},
            },
            {"c": "Y"},
        )
    ],
    checks=[
        *_checks(),
        strides("X_scale", "stride_xsm stride_xsk"),
        strides("W_scale", "stride_wse stride_wsk stride_wsn"),
    ],
)

_A8W4 = Function(
    name="moe_a8w4",
    arguments={
        **{"X": "i8|bf16 [T K]", "W": "u8 [E K/2 N]", "Y": "bf16 [R N]"},
        **{
            "X_scale": "fp32 [1] or fp32 [] or none",
            "W_scale": "fp32 [E k N]",
            "W_zp": "fp32 [E k N] or none",
        },
        **_RAGGED,
        **_names("N K group_size grid_m grid_n n_expts_act", _STRIDES, "stride_wse stride_wsk stride_wsn"),
        "has_zero_point": "bool",
    },
    uses=[
        Use(
            "moe_gemm/a8w4",
            {
                "a": lambda call: integers("X", call),
                **{"b": "W", "blocks_b": "W_scale"},
                **_ENTRIES,
                "group_k": "group_size",
                "zero": lambda call: call["W_zp"] if call["has_zero_point"] else None,
                "scale_a": lambda call: None if call["X_scale"] is None else call["X_scale"].reshape(1),
            },
            {"c": "Y"},
        )
    ],
    checks=[*_checks(), strides("W_scale", "stride_wse stride_wsk stride_wsn")],
)

_A4W4 = Function(
    name="moe_a4w4",
    arguments={
        **{"X": "u8 [T K/2]", "W": "u8 [E K/2 N]", "Y": "bf16 [R N] or bf16 [R N/2]"},
        **{"X_mx_scale": "u8 [T K/32]", "W_mx_scale": "u8 [E K/32 N]"},
        **{"X_static_scale": "fp32 [1] or fp32 [] or none", "W_static_scale": "fp32 [E] or none"},
        **_RAGGED,
        **_names("N K grid_m grid_n n_expts_act", _STRIDES),
        "apply_swiglu": "bool",
    },
    uses=[
        Use(
            "moe_gemm/a4w4",
            {
                **{"a": "X", "b": "W", "powers_a": "X_mx_scale", "powers_b": "W_mx_scale"},
                **_ENTRIES,
                "scale_a": lambda call: (
                    None if call["X_static_scale"] is None else call["X_static_scale"].reshape(1)
                ),
                "scale_b": "W_static_scale",
                "swiglu": lambda call: bool(call["apply_swiglu"]),
            },
            {"c": "Y"},
        )
    ],
    checks=_checks(),
    differs=_A8W8.differs,
)


def _mxfp4(name: str, activation: str, *, half: bool = False) -> Function:
    """A function of mxfp4 by a list of blocks; it counts the whole list."""

    def padded(call: Call) -> torch.Tensor:
        ids: torch.Tensor = call["sorted_token_ids"]
        return ids.new_tensor([len(ids)])

    def scale(call: Call) -> torch.Tensor | None:
        return None if call["A_scale"] is None else call["A_scale"].reshape(1)

    return Function(
        name=name,
        arguments={
            **{"A": "u8 [T K/2]", "B": "u8 [E K/2 N]", "C": f"bf16 [P {'N/2' if half else 'N'}]"},
            **{"A_mx_scale": "u8 [T K/32]", "B_mx_scale": "u8 [E K/32 N]"},
            **{"A_scale": "fp32 [1] or fp32 [] or none", "B_scale": "fp32 [E] or none"},
            **_LISTS,
            **_names(*_INTS),
            "mul_routed_weight": "bool",
            **_names("stride_am stride_ak stride_be stride_bk stride_bn stride_cm stride_cn"),
            **_names("stride_amxm stride_amxk stride_bmxe stride_bmxk stride_bmxn grid_m grid_n"),
        },
        uses=[
            Use(
                "moe_gemm/mxfp4",
                {
                    **{"a": "A", "b": "B", "powers_a": "A_mx_scale", "powers_b": "B_mx_scale"},
                    **{"sorted_token_ids": "sorted_token_ids", "expert_ids": "expert_ids"},
                    **{"num_tokens_post_padded": padded, "top_k": "top_k", "weights": _weights},
                    **{"scale_a": scale, "scale_b": "B_scale", "activation": lambda call: activation},
                },
                {"c": _rows},
            )
        ],
        checks=[
            _valid_tokens,
            strides("A", "stride_am stride_ak"),
            strides("B", "stride_be stride_bk stride_bn"),
            strides("C", "stride_cm stride_cn"),
            strides("A_mx_scale", "stride_amxm stride_amxk"),
            strides("B_mx_scale", "stride_bmxe stride_bmxk stride_bmxn"),
        ],
    )


MODULES = (
    PortModule(
        row=34,
        name="moe_op_tk",
        functions=[_by_blocks("moe_gemm", "none", "")],
        doc="Row id of C is A[id / top_k] B[expert], perhaps times the id's weight, by blocks of ids.",
    ),
    PortModule(
        row=35,
        name="moe_op_gelu_tk",
        functions=[_by_blocks("moe_gelu", "gelu_tanh", "")],
        doc="gelu, computed with tanh, of what moe_op_tk computes.",
    ),
    PortModule(
        row=36,
        name="moe_op_silu_fused_tk",
        functions=[_by_blocks("moe_silu_fused", "silu_and_mul", "", half=True)],
        doc="silu of the first half of what moe_op_tk computes times the second.",
    ),
    PortModule(
        row=37,
        name="moe_op_e2e_tk",
        functions=[_END_TO_END],
        doc="Both layers of experts: (silu(A W1_gateᵀ) * (A W1_upᵀ)) W2ᵀ.",
    ),
    PortModule(
        row=38,
        name="moe_op_gemm_a8w8_tk",
        functions=[_A8W8],
        doc="Experts' entries one after the other, in int8 or fp8; a scale for X and one for each expert.",
    ),
    PortModule(
        row=39,
        name="moe_op_gemm_a8w8_blockscale_tk",
        functions=[_A8W8_BLOCKSCALE],
        doc="Like moe_op_gemm_a8w8_tk, with block scales.",
    ),
    PortModule(
        row=40,
        name="moe_op_gemm_a8w4_tk",
        functions=[_A8W4],
        doc="Like moe_op_gemm_a8w8_tk, with 4-bit integers, zero points and scales of groups in W.",
    ),
    PortModule(
        row=41,
        name="moe_op_gemm_a4w4_tk",
        functions=[_A4W4],
        doc="Like moe_op_gemm_a8w8_tk, for mxfp4.",
    ),
    PortModule(
        row=42,
        name="moe_op_mxfp4_tk",
        functions=[_mxfp4("moe_mxfp4", "none")],
        doc="Like moe_op_tk, for mxfp4.",
    ),
    PortModule(
        row=43,
        name="moe_op_mxfp4_silu_fused_tk",
        functions=[_mxfp4("moe_mxfp4_silu_fused", "silu_and_mul", half=True)],
        doc="Like moe_op_silu_fused_tk, for mxfp4.",
    ),
)
