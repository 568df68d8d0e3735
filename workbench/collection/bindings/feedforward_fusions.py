"""Feed-forward layers, and operations around attention: the cache's rows, parts of heads, a x + b."""

from __future__ import annotations

from workbench.collection.record import Call, Function, PortModule, Use


def _layer(name: str, operator: str, activation: str, gated: bool) -> Function:
    """A feed-forward layer; M, N and K are those of the tensors."""
    return Function(
        name=name,
        arguments={
            "x": "bf16 [M K]",
            "w1": "bf16 [2*H K]" if gated else "bf16 [H K]",
            "w2": "bf16 [H K]",
            "out": "bf16 [M K]",
            **{"M": "int", "N": "int", "K": "int"},
        },
        uses=[
            Use(
                operator,
                {"x": "x", "w1": "w1", "w2": "w2", "activation": lambda _: activation},
                {"out": "out"},
            )
        ],
        differs="Both products, at any size; M, N and K are those of the tensors."
        + ("" if gated else " The port does the first product only."),
    )


def _kv_cache(dtype: str, block: int) -> Function:
    rows, cache = f"{dtype} [B H 1 128]", f"{dtype}|fp8 [P H {block} 128]"
    return Function(
        name=f"dispatch_{dtype}_128_{block}",
        arguments={
            **{"k": rows, "v": rows, "key_cache": cache, "value_cache": cache},
            "slot_mapping": "i32 [B] or i32 [1 1 1 B]",
            **{"B": "int", "H_kv": "int", "k_scale": "float", "v_scale": "float"},
        },
        uses=[
            Use(
                "feed_forward/kv_cache",
                {
                    **{"k": "k", "v": "v", "key_cache": "key_cache", "value_cache": "value_cache"},
                    **{"k_scale": "k_scale", "v_scale": "v_scale"},
                    "slots": lambda call: call["slot_mapping"].flatten(),
                },
            )
        ],
        differs="It skips slots below 0; the cache may be fp8.",
    )


def _mul_add(dtype: str, size: int) -> Function:
    def operand(name: str, call: Call) -> object:
        return call[name].flatten()[:1] if call[f"{name}_is_scalar"] else call[name]

    return Function(
        name=f"dispatch_{dtype}_{size}",
        arguments={
            **{
                "x": f"{dtype} [*S]",
                "a": f"{dtype} [*S] or {dtype} [1]",
                "b": f"{dtype} [*S] or {dtype} [1]",
            },
            **{"out": f"{dtype} [*S]", "total": "int", "a_is_scalar": "bool", "b_is_scalar": "bool"},
        },
        uses=[
            Use(
                "feed_forward/mul_add",
                {
                    "x": "x",
                    "a": lambda call: operand("a", call),
                    "b": lambda call: operand("b", call),
                },
                {"out": "out"},
            )
        ],
        differs="Any size.",
    )


def _concat(dtype: str, left: int, right: int) -> Function:
    def rows(heads: str, cols: int) -> str:
        return f"{dtype} [B {heads} 1 {cols}]"

    return Function(
        name=f"dispatch_{dtype}_{left}_{right}",
        arguments={
            **{"q1": rows("Q", left), "q2": rows("Q", right), "k1": rows("H", left), "k2": rows("H", right)},
            **{"q_out": rows("Q", left + right), "k_out": rows("H", left + right)},
            **{"B": "int", "H_q": "int", "H_kv": "int", "QH_PER_KH": "int"},
        },
        uses=[
            Use(
                "feed_forward/qk_concat",
                {name: name for name in ("q1", "q2", "k1", "k2")},
                {"q": "q_out", "k": "k_out"},
            )
        ],
    )


def _latent(name: str, weights: str, scale: str) -> Function:
    """AITER's function, whose outputs come after its inputs."""
    return Function(
        name=name,
        arguments={
            **{"q_nope": "bf16 [QH B P]", "w_k": weights, "w_k_scale": scale, "q_pe": "bf16 [B QH D]"},
            **{"k_nope": "bf16 [T KH R]", "k_rope": "bf16 [T KH D]", "kv_cache": "bf16|fp8 [C KH W]"},
            **{"slot_mapping": "i32|i64 [T]", "positions": "i32|i64 [T]"},
            **{"cos": "fp32|bf16 [L D/2]", "sin": "fp32|bf16 [L D/2]"},
            **{"q_out": "bf16 [B QH W]", "k_pe_out": "bf16 [T KH D]"},
            **{"k_scale": "float", "is_neox": "bool"},
        },
        defaults={"k_scale": 1.0, "is_neox": False},
        uses=[
            Use(
                "feed_forward/bmm_rope_kv_cache",
                {
                    **{name: name for name in ("q_nope", "w_k", "w_k_scale", "q_pe", "k_nope", "k_rope")},
                    **{"kv_cache": "kv_cache", "cos": "cos", "sin": "sin", "k_scale": "k_scale"},
                    "slots": lambda call: call["slot_mapping"].long(),
                    "positions": lambda call: call["positions"].long(),
                    "interleaved": lambda call: not call["is_neox"],
                },
                {"q_out": "q_out", "k_pe": "k_pe_out"},
            )
        ],
        differs="The port is a stub without functions. Names and order of inputs are AITER's, and "
        "outputs follow. Queries are not rounded to the weights' format.",
    )


_TYPES = ("bf16", "fp16")

MODULES = (
    PortModule(
        row=28,
        name="ff_fused_gated_tk",
        functions=[_layer(f"dispatch_{n}", "feed_forward/gated", "silu", True) for n in (4096, 8192)],
        doc="((x Wgᵀ) * silu(x Wuᵀ)) W2, with w1 = [Wg; Wu].",
    ),
    PortModule(
        row=29,
        name="ff_fused_ungated_tk",
        functions=[
            _layer(f"dispatch_{n}{also}", "feed_forward/ungated", activation, False)
            for n in (4096, 8192)
            for also, activation in (("", "silu"), ("_no_activation", "none"))
        ],
        doc="silu(x W1ᵀ) W2, or without an activation.",
    ),
    PortModule(
        row=30,
        name="fused_bmm_rope_kv_cache_tk",
        functions=[
            _latent("fused_fp4_bmm_rope_cat_and_cache_mla", "u8 [QH R P/2]", "u8 [QH R P/32]"),
            _latent("fused_fp8_bmm_rope_cat_and_cache_mla", "fp8 [QH R P]", "fp32 [1]"),
        ],
        doc="Latent attention before a step: absorbed weights, rotary embedding, the cache's rows.",
    ),
    PortModule(
        row=31,
        name="fused_kv_cache_tk",
        functions=[_kv_cache(dtype, block) for dtype in _TYPES for block in (16, 32)],
        doc="Writes keys and values of new tokens to a paged cache.",
    ),
    PortModule(
        row=32,
        name="fused_mul_add_tk",
        functions=[_mul_add(dtype, size) for dtype in _TYPES for size in (4096, 8192)],
        doc="a x + b.",
    ),
    PortModule(
        row=33,
        name="fused_qk_concat_tk",
        functions=[
            _concat(dtype, left, right)
            for dtype in _TYPES
            for left, right in ((64, 64), (128, 128), (64, 128))
        ],
        doc="Queries and keys, each joined from two parts.",
    ),
)
