"""Tiny models of each family with random weights, and a step of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

COMMON = {
    "hidden_size": 128,
    "intermediate_size": 192,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "max_position_embeddings": 64,
    "vocab_size": 96,
}
GROUPED = {**COMMON, "num_key_value_heads": 1, "head_dim": 64}
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
SPECIAL = {f"{name}_token_id": 0 for name in ("pad", "bos", "eos", "cls", "sep")}
GPT2 = {
    **{"n_embd": 128, "n_head": 2, "n_layer": 2, "n_positions": 64, "vocab_size": 96},
    **{"attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0},
}

FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("LlamaForCausalLM", "LlamaConfig", GROUPED),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", GROUPED),
    "mistral": ("MistralForCausalLM", "MistralConfig", {**GROUPED, "sliding_window": 7}),
    "mixtral": (
        "MixtralForCausalLM", "MixtralConfig",
        {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2, "experts_implementation": "eager"},
    ),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", GROUPED),
    "bert": ("BertForMaskedLM", "BertConfig", {**COMMON, **NO_DROPOUT}),
    "modernbert": ("ModernBertForMaskedLM", "ModernBertConfig", {**COMMON, **SPECIAL, "local_attention": 8}),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", GPT2),
}  # fmt: skip
"""Class, configuration and its options."""

REPLACED: dict[str, set[str]] = {
    "llama": {"RMSNorm", "rotary embedding", "gated MLP", "Linear", "attention", "loss", "embedding"},
    "qwen3": {"RMSNorm", "rotary embedding", "gated MLP", "Linear", "attention", "loss", "embedding"},
    "mistral": {"RMSNorm", "rotary embedding", "gated MLP", "Linear", "attention", "loss", "embedding"},
    "mixtral": {
        "RMSNorm", "rotary embedding", "router", "experts", "Linear", "attention", "loss", "embedding",
    },
    "gemma": {
        "RMSNorm, weight from 1", "rotary embedding", "gated MLP", "Linear", "attention", "loss",
        "embedding, scaled",
    },
    "bert": {"LayerNorm", "Linear with activation", "Linear", "attention", "loss", "embedding"},
    "modernbert": {
        "LayerNorm", "rotary embedding", "gated MLP, one product", "Linear", "attention", "loss", "embedding",
    },
    "gpt2": {"LayerNorm", "MLP of Conv1D", "Conv1D", "Linear", "attention", "loss", "embedding"},
}  # fmt: skip
"""Modules that `use` must replace, by model."""


def make(family: str, dtype: torch.dtype = torch.bfloat16, **more: Any) -> Any:
    """A model in training mode, the same for each call."""
    import transformers

    kind, config, options = FAMILIES[family]
    torch.manual_seed(0)
    model = getattr(transformers, kind)(getattr(transformers, config)(**{**options, **more}))
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    # Rounded first, so that a wide model has the same weights as a narrow one.
    return model.bfloat16().to(dtype).train()


def batch(padded: bool = True) -> dict[str, torch.Tensor]:
    """Two sequences of 19 tokens; the second one is shorter."""
    ids = torch.randint(3, 96, (2, 19), generator=torch.Generator().manual_seed(3))
    mask = torch.ones_like(ids)
    if padded:
        mask[1, 13:] = 0
    return {"input_ids": ids, "attention_mask": mask, "labels": ids.masked_fill(mask == 0, -100)}


def step(model: Any, inputs: dict[str, torch.Tensor]) -> tuple[float, dict[str, torch.Tensor]]:
    """Loss, and gradients by parameter."""
    model.zero_grad()
    loss = model(**inputs).loss
    loss.backward()
    gradients = {n: p.grad.detach().clone() for n, p in model.named_parameters() if p.grad is not None}
    return loss.item(), gradients


def cosines(actual: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> dict[str, float]:
    """Cosines of gradients by parameter, without those that are zero but for rounding, as a key's bias."""
    largest = max(gradient.norm().item() for gradient in expected.values())
    cosine: Callable[..., torch.Tensor] = torch.nn.functional.cosine_similarity
    return {
        name: cosine(actual[name].double().flatten(), gradient.flatten(), 0).item()
        for name, gradient in expected.items()
        if gradient.norm() > 1e-9 * largest
    }
