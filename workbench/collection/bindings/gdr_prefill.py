"""Records of the gated delta rule over whole sequences (prefill)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.collection import indices
from workbench.collection.convert import described_by, sizes_match
from workbench.collection.record import Call, Function, PortModule, Use
from workbench.errors import ArgumentError


def _check_strides(call: Call) -> None:
    x = call["x"]
    for name, stride in zip(("stride_x_dim", "stride_x_token"), x.stride(), strict=True):
        described_by(call, name, stride, f"the stride of x {tuple(x.shape)}")


_CONV_SPLIT = Function(
    name="causal_conv1d_fwd_split",
    arguments={
        **{
            "x": "real [D T]",
            "w": "real [D W]",
            "bias": "real [*Q1] or none",
            "query_start_loc": "i32 [N+1]",
        },
        **{"q_out": "real [T KD]", "k_out": "real [T KD]", "v_out": "real [T VD]"},
        **dict.fromkeys(("dim", "k_dim", "v_dim", "kernel_width", "total_tokens", "num_seqs"), "int"),
        **dict.fromkeys(("max_seqlen", "stride_x_dim", "stride_x_token"), "int"),
        **{"has_bias": "bool", "silu_activation": "bool"},
    },
    defaults={"has_bias": True, "silu_activation": True},
    uses=[
        Use(
            "gated_delta/causal_conv1d_split",
            {
                **{"x": "x", "weight": "w", "starts": "query_start_loc", "key_dim": "k_dim"},
                "bias": lambda call: call["bias"] if call["has_bias"] else None,
                "activation": lambda call: "silu" if call["silu_activation"] else "none",
            },
            {"q": "q_out", "k": "k_out", "v": "v_out"},
        )
    ],
    checks=[
        sizes_match(
            {
                **{"dim": "D", "k_dim": "KD", "v_dim": "VD", "kernel_width": "W"},
                **{"total_tokens": "T", "num_seqs": "N"},
            }
        ),
        _check_strides,
    ],
    differs="2 to 9 weights; bf16 and fp16 as well as floats; max_seqlen is not needed.",
)

_CHUNKS = "The port computes a product by one thread; keys of 64, 128 or 256, values a multiple of 16."
_OF_TOKENS = {"B": "B", "T": "T", "H": "H"}
_NUMBERS = dict.fromkeys(("B", "T", "H"), "int")


_MATRIX = "fp32 [B T H BT]"
"""One row for each token of each chunk."""


def _check_chunk(call: Call) -> None:
    """BT is a size that the operators support; B, T and H are those of the tensors."""
    if call["BT"] not in (16, 32, 64):
        raise ArgumentError(f"BT is {call['BT']}; expected 16, 32 or 64 tokens in a chunk")


def _g(call: Call) -> Any:
    return call["g"] if call["use_g"] else None


def _cumsum(name: str, columns: Mapping[str, str]) -> Function:
    """Sums of a number, or of a vector, for each token and head."""
    kind = " ".join(("B", "T", "H", *columns.values()))
    return Function(
        name=name,
        arguments={
            **{"s": f"fp32 [{kind}]", "o": f"fp32 [{kind}]"},
            **{**_NUMBERS, **dict.fromkeys(columns, "int"), "BT": "int"},
            **{"scale": "float", "has_scale": "bool", "reverse": "bool"},
        },
        defaults={"scale": 1.0, "has_scale": False, "reverse": False},
        uses=[
            Use(
                "gated_delta/chunk_cumsum",
                {
                    **{"x": "s", "chunk": "BT", "reverse": "reverse"},
                    "scale": lambda call: call["scale"] if call["has_scale"] else 1.0,
                },
                {"sums": "o"},
            )
        ],
        checks=[sizes_match({**_OF_TOKENS, **columns}), _check_chunk],
        differs="BT may also be 16; the port then sums in chunks of 64.",
    )


def _products(
    name: str, order: str, k: str, beta: str, sums: str, numbers: Mapping[str, str], *, optional: bool = False
) -> Function:
    """tril(beta_i k_i k_j exp(sums_i - sums_j), -1) of each chunk."""
    kinds = {
        **{k: "real [B T P K]", beta: "fp32 [B T H]", "A": _MATRIX},
        sums: f"fp32 [B T H]{' or none' if optional else ''}",
    }
    return Function(
        name=name,
        arguments={
            **{argument: kinds[argument] for argument in order.split()},
            **dict.fromkeys((*numbers, "BT"), "int"),
            **({"use_g": "bool"} if optional else {}),
        },
        uses=[
            Use(
                "gated_delta/chunk_products",
                {"k": k, "beta": beta, "g": _g if optional else sums, "chunk": "BT"},
                {"a": "A"},
            )
        ],
        checks=[sizes_match({**numbers, "BT": "BT"}), _check_chunk],
        differs=_CHUNKS + " k may have fewer heads than beta.",
    )


def _solve(name: str, a: str, to: str) -> Function:
    """(1 + tril(A, -1))^-1 of each chunk."""
    return Function(
        name=name,
        arguments={a: _MATRIX, to: _MATRIX, **_NUMBERS, "BT": "int"},
        uses=[
            Use(
                "gated_delta/chunk_inverse",
                # If the result goes to the same place, the matrix is read from a copy.
                {"a": (lambda call: call[a].clone()) if a == to else a},
                {"inverse": to},
            )
        ],
        checks=[sizes_match({**_OF_TOKENS, "BT": "BT"}), _check_chunk],
        differs="Blocks above the diagonal are set to zero; the port leaves them unchanged."
        if a != to
        else "",
    )


def _w_and_u(name: str, g: str, *, optional: bool = False) -> Function:
    """w = A (beta exp(g) k), u = A (beta v) of each chunk."""
    return Function(
        name=name,
        arguments={
            **{"k": "real [B T P K]", "v": "real [B T H V]", "beta": "fp32 [B T H]", "A": _MATRIX},
            g: f"fp32 [B T H]{' or none' if optional else ''}",
            **{"w": "real [B T H K]", "u": "real [B T H V]"},
            **{**_NUMBERS, "K": "int", "V": "int", "BT": "int"},
            **({"use_g": "bool"} if optional else {}),
        },
        uses=[
            Use(
                "gated_delta/chunk_representation",
                {"k": "k", "v": "v", "beta": "beta", "a": "A", "g": _g if optional else g},
                {"w": "w", "u": "u"},
            )
        ],
        checks=[sizes_match({**_OF_TOKENS, "K": "K", "V": "V", "BT": "BT"}), _check_chunk],
        differs=_CHUNKS,
    )


_PIPELINE = Function(
    name="chunk_pipeline",
    arguments={
        **{"k": "real [B T P K]", "v": "real [B T H V]", "g": "fp32 [B T H]", "g_cumsum": "fp32 [B T H]"},
        **{"beta": "fp32 [B T H]", "A": _MATRIX, "w": "real [B T H K]", "u": "real [B T H V]"},
        **{**_NUMBERS, "K": "int", "V": "int", "BT": "int"},
    },
    uses=[
        Use(
            "gated_delta/chunk_prepare",
            {"k": "k", "v": "v", "beta": "beta", "g": "g", "chunk": "BT"},
            {"sums": "g_cumsum", "inverse": "A", "w": "w", "u": "u"},
        )
    ],
    checks=[sizes_match({**_OF_TOKENS, "K": "K", "V": "V", "BT": "BT"}), _check_chunk],
    differs=_CHUNKS,
)
_CHUNK_CUMSUM = Function(
    name="chunk_cumsum",
    arguments={"g": "fp32 [B T H]", "g_cumsum": "fp32 [B T H]", **_NUMBERS, "BT": "int"},
    uses=[Use("gated_delta/chunk_cumsum", {"x": "g", "chunk": "BT"}, {"sums": "g_cumsum"})],
    checks=[sizes_match(_OF_TOKENS), _check_chunk],
)


def _result(name: str, switch: str, *dims: str) -> Callable[[Call], Any]:
    """A function that returns the caller's tensor for a result, or scratch where `switch` is False."""

    def result(call: Call) -> Any:
        import torch

        if call[switch]:
            return call[name]
        return torch.empty([call.sizes[dim] for dim in dims], device=call["k"].device)

    return result


_DELTA_H = Function(
    name="chunk_delta_h_fwd",
    arguments={
        **{"k": "real [B T P K]", "w": "real [B T H K]", "u": "real [B T H V]", "g": "fp32 [B T H] or none"},
        **{"h0": "fp32 [B H K V] or none", "h": "real [B NT H K V]", "v_new": "real [B T H V] or none"},
        "ht": "fp32 [B H K V] or none",
        **{**_NUMBERS, "K": "int", "V": "int", "BT": "int"},
        **dict.fromkeys(("use_g", "use_initial_state", "store_final_state", "save_new_value"), "bool"),
    },
    defaults={
        **{"use_g": True, "use_initial_state": False},
        **{"store_final_state": True, "save_new_value": True},
    },
    uses=[
        Use(
            "gated_delta/chunk_states",
            {
                **{"k": "k", "w": "w", "u": "u", "g": _g, "chunk": "BT"},
                "initial_state": lambda call: call["h0"] if call["use_initial_state"] else None,
            },
            {
                "h": "h",
                "corrections": _result("v_new", "save_new_value", "B", "T", "H", "V"),
                "last_state": _result("ht", "store_final_state", "B", "H", "K", "V"),
            },
        )
    ],
    checks=[sizes_match({**_OF_TOKENS, "K": "K", "V": "V"}), _check_chunk],
    differs=_CHUNKS,
)
_CHUNK_O = Function(
    name="chunk_fwd_o",
    arguments={
        **{"q": "real [B T P K]", "k": "real [B T P K]", "v": "real [B T H V]", "h": "real [B NT H K V]"},
        **{"g": "fp32 [B T H] or none", "o": "real [B T H V]", "scale": "float"},
        **{**_NUMBERS, "K": "int", "V": "int", "BT": "int", "use_g": "bool"},
    },
    defaults={"use_g": True},
    uses=[
        Use(
            "gated_delta/chunk_outputs",
            {"q": "q", "k": "k", "v": "v", "h": "h", "g": _g, "scale": "scale", "chunk": "BT"},
            {"o": "o"},
        )
    ],
    checks=[sizes_match({**_OF_TOKENS, "K": "K", "V": "V"}), _check_chunk],
    differs=_CHUNKS,
)
_CUMSUM_KKT = Function(
    name="fused_cumsum_kkt",
    arguments={
        **{"g": "fp32 [B T H]", "k": "real [B T P K]", "beta": "fp32 [B T H]", "g_cumsum": "fp32 [B T H]"},
        "A": _MATRIX,
        **{**_NUMBERS, "Hg": "int", "K": "int", "BT": "int"},
    },
    uses=[
        Use(
            "gated_delta/chunk_summed_products",
            {"k": "k", "beta": "beta", "g": "g", "chunk": "BT", "bounded": lambda _: True},
            {"sums": "g_cumsum", "a": "A"},
        )
    ],
    checks=[sizes_match({**_OF_TOKENS, "Hg": "P", "K": "K", "BT": "BT"}), _check_chunk],
    differs=_CHUNKS,
)
_GATING = Function(
    name="fused_gdn_gating",
    arguments={
        **{"A_log": "fp32 [H]", "a": "real [S H]", "b": "real [S H]", "dt_bias": "fp32 [H]"},
        **{"g": "fp32 [S H]", "beta": "fp32 [S H]", "S": "int", "H": "int"},
        **{"softplus_beta": "float", "softplus_threshold": "float"},
    },
    defaults={"softplus_beta": 1.0, "softplus_threshold": 20.0},
    uses=[
        Use(
            "gated_delta/gating",
            {
                **{"a_log": "A_log", "a": "a", "b": "b", "dt_bias": "dt_bias"},
                **{"softplus_beta": "softplus_beta", "softplus_threshold": "softplus_threshold"},
            },
            {"g": "g", "beta": "beta"},
        )
    ],
    checks=[sizes_match({"S": "S", "H": "H"})],
)
_L2_FORWARD = Function(
    name="l2norm_fwd",
    arguments={"x": "real [*M D]", "y": "real [*M D]", "rstd": "fp32 [*M]", "eps": "float"},
    defaults={"eps": 1e-6},
    uses=[Use("gated_delta/l2_norm", {"x": "x", "eps": "eps"}, {"y": "y", "rstd": "rstd"})],
)
_L2_BACKWARD = Function(
    name="l2norm_bwd",
    arguments={
        **{"y": "real [*M D]", "rstd": "fp32 [*M]", "dy": "real [*M D]", "dx": "real [*M D]"},
        "eps": "float",
    },
    defaults={"eps": 1e-6},
    uses=[Use("gated_delta/l2_norm_backward", {"y": "y", "rstd": "rstd", "dy": "dy"}, {"dx": "dx"})],
)


def _check_offsets(call: Call) -> None:
    """Checks that the offsets are those of the sequences' chunks."""
    starts = call["cu_seqlens"].tolist()
    offsets = indices.sums(indices.chunks(starts, max(call["chunk_size"], 1)))
    described_by(call, "N", len(starts) - 1, "the sequences of cu_seqlens")
    described_by(call, "chunk_offsets", offsets, "where each sequence's chunks begin", count=len(offsets))
    if offsets[-1] != call.sizes["C"]:
        raise ArgumentError(
            f"chunk_indices has {call.sizes['C']} rows; expected one for each of {offsets[-1]} chunks"
        )


_CHUNK_INDICES = Function(
    name="gpu_prepare_chunk_indices",
    arguments={
        **{"cu_seqlens": "i32 [N+1]", "chunk_indices": "i32 [C 2]", "chunk_offsets": "i32 [N+1]"},
        **{"N": "int", "chunk_size": "int"},
    },
    uses=[
        Use(
            "gated_delta/chunk_indices",
            {
                **{"cu_seqlens": "cu_seqlens", "chunk": "chunk_size"},
                "chunks": lambda call: call.sizes["C"],
            },
            {"indices": "chunk_indices"},
        )
    ],
    checks=[_check_offsets],
    differs="Offsets are computed again, and must equal those that are given.",
)
_FUNCTIONS = ("exp", "exp2", "log", "log2", "safe_exp", "softplus", "sigmoid", "silu")
_OPS = Function(
    name="test_ops",
    arguments={"input": "fp32 [*M]", **{f"out_{name}": "fp32 [*M]" for name in _FUNCTIONS}, "N": "int"},
    uses=[Use("gated_delta/elementary", {"x": "input"}, {name: f"out_{name}" for name in _FUNCTIONS})],
    checks=[lambda call: described_by(call, "N", call["input"].numel(), "the elements of input")],
)

MODULES = (
    PortModule(
        row=57,
        name="causal_conv1d_fwd_split_qkv_tk",
        functions=[_CONV_SPLIT],
        doc="Causal convolution of sequences, split into q, k and v.",
    ),
    PortModule(
        row=58,
        name="chunk_tk",
        functions=[
            _PIPELINE,
            _CHUNK_CUMSUM,
            _products(
                *("chunk_compute_A", "k g_cumsum beta A", "k", "beta", "g_cumsum"), {**_OF_TOKENS, "K": "K"}
            ),
            _solve("chunk_solve_tril", "A", "A"),
            _w_and_u("chunk_recompute_w_u", "g_cumsum"),
        ],
        doc="What does not depend on the state before each chunk, step by step or in one call.",
    ),
    PortModule(
        row=59,
        name="chunk_delta_h_tk",
        functions=[_DELTA_H],
        doc="States at the beginning of each chunk, and what each token adds.",
    ),
    PortModule(
        row=60,
        name="chunk_o_tk",
        functions=[_CHUNK_O],
        doc="Outputs of all tokens from their chunks' states.",
    ),
    PortModule(
        row=61,
        name="cumsum_tk",
        functions=[_cumsum("cumsum_scalar", {}), _cumsum("cumsum_vector", {"S": "S"})],
        doc="Cumulative sums within chunks.",
    ),
    PortModule(
        row=62,
        name="fused_cumsum_kkt_tk",
        functions=[_CUMSUM_KKT],
        doc="Cumulative sums within chunks, and k kᵀ with decay and strength.",
    ),
    PortModule(
        row=63,
        name="fused_gdn_gating_prefill_tk",
        functions=[_GATING],
        doc="g = -exp(A_log) softplus(a + dt_bias), beta = sigmoid(b).",
    ),
    PortModule(
        row=64,
        name="index_tk",
        functions=[*indices.FUNCTIONS, _CHUNK_INDICES],
        doc="Where sequences and their chunks are; all but the last function run on the host.",
    ),
    PortModule(
        row=65,
        name="l2norm_tk",
        functions=[_L2_FORWARD, _L2_BACKWARD],
        doc="Rows divided by their lengths, and the gradient.",
    ),
    PortModule(row=66, name="op_tk", functions=[_OPS], doc="Elementary functions of each element."),
    PortModule(
        row=67,
        name="solve_tril_tk",
        functions=[_solve("solve_tril", "A", "Ai")],
        doc="(I + tril(A, -1))^-1 of each chunk.",
    ),
    PortModule(
        row=68,
        name="wy_representation_tk",
        functions=[
            _products(
                *("chunk_scaled_dot_kkt", "k g beta A", "k", "beta", "g"),
                {**_OF_TOKENS, "K": "K"},
                optional=True,
            ),
            _w_and_u("recompute_w_u", "g", optional=True),
        ],
        doc="The triangular matrix of each chunk, and w and u from its inverse.",
    ),
)
