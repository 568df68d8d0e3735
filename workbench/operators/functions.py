"""Names of operators as functions: `rms_norm` for `normalization/rmsnorm`, as is usual in the field."""

from __future__ import annotations

from collections.abc import Iterable

NAMESPACE = "hipkittens"
"""Namespace of operators in PyTorch: `torch.ops.hipkittens`."""

NAMES = {
    "attention/backward": "flash_attention_backward",
    "attention/backward_packed": "flash_attention_varlen_backward",
    "attention/decode": "paged_attention",
    "attention/forward": "flash_attention",
    "attention/forward_packed": "flash_attention_varlen",
    "attention_paged/unified_attn_sparse_mla": "sparse_mla",
    "feed_forward/gated": "gated_mlp",
    "feed_forward/kv_cache": "reshape_and_cache",
    "feed_forward/ungated": "mlp",
    "gated_delta/causal_conv1d_split": "causal_conv1d_split",
    "gated_delta/causal_conv1d_update": "causal_conv1d_update",
    "gated_delta/chunk": "chunk_gated_delta_rule",
    "gated_delta/l2_norm": "l2_norm",
    "gated_delta/l2_norm_backward": "l2_norm_backward",
    "gated_delta/recurrent": "recurrent_gated_delta_rule",
    "gated_delta/sigmoid_gated_recurrent": "sigmoid_gated_delta_rule",
    "gemm/bf16": "gemm",
    "gemm/bf16_accumulate": "gemm_accumulate",
    "gemm/bf16_gated": "gemm_gated",
    "gemm/grouped": "grouped_gemm",
    "gemm/grouped_variable_k": "grouped_gemm_variable_k",
    "moe_gemm/end_to_end": "fused_moe",
    "normalization/fused_add_layernorm": "fused_add_layer_norm",
    "normalization/fused_add_layernorm_backward": "fused_add_layer_norm_backward",
    "normalization/fused_add_rmsnorm": "fused_add_rms_norm",
    "normalization/fused_add_rmsnorm_backward": "fused_add_rms_norm_backward",
    "normalization/fused_add_rmsnorm_pad": "fused_add_rms_norm_pad",
    "normalization/layernorm": "layer_norm",
    "normalization/layernorm_backward": "layer_norm_backward",
    "normalization/rmsnorm": "rms_norm",
    "normalization/rmsnorm_backward": "rms_norm_backward",
    "normalization/rmsnorm_pad": "rms_norm_pad",
    "quantization/fused_rmsnorm_mx_quant": "fused_rms_norm_mx_quant",
    "quantization/fused_rmsnorm_quant": "fused_rms_norm_quant",
}
"""Names of functions in `workbench.ops` that differ from the names of the operators' files."""

_PREFIXES = {
    **dict.fromkeys(("activations", "attention", "attention_paged", "feed_forward"), ""),
    **dict.fromkeys(("normalization", "quantization", "rotary"), ""),
    **dict.fromkeys(("moe_misc", "moe_routing"), "moe_"),
}
"""Name prefixes for categories whose own name does not describe the computation."""


def function_name(operator: str) -> str:
    """The function of an operator such as `gemm/fp8`."""
    if operator in NAMES:
        return NAMES[operator]
    category, _, stem = operator.partition("/")
    return _PREFIXES.get(category, f"{category}_") + stem


def by_function(operators: Iterable[str]) -> dict[str, str]:
    """Operators by their functions' names."""
    return {function_name(name): name for name in operators}
