"""Models to train, by name: tiny ones for two cores, published sizes for a GPU.

Tokens are bytes: numbers 0 to 255, and `MASK` for a word that is hidden.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.errors import UsageError

MASK = 256
TOKENS = 264
"""Number of tokens: bytes, `MASK`, and padding to a multiple of 8."""

_LLAMA_TINY = {
    "vocab_size": TOKENS,
    "hidden_size": 128,
    "intermediate_size": 384,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 64,
    "tie_word_embeddings": True,
    "bos_token_id": None,
    "eos_token_id": None,
}
_LLAMA_1B = {
    "vocab_size": 128256,
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_hidden_layers": 16,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": True,
    "rope_parameters": {"rope_type": "default", "rope_theta": 500000.0},
}
_NO_DROPOUT = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
_BERT_TINY = {
    "vocab_size": TOKENS,
    "hidden_size": 128,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    **_NO_DROPOUT,
}


@dataclass(frozen=True)
class Model:
    """A model that the script trains.

    Attributes:
        family: "Llama" or "Bert", the prefix of transformers' class names.
        head: suffix of the class name: "ForCausalLM" or "ForMaskedLM".
        options: options of its configuration.
        span: tokens of a sequence.
        batch: sequences of a step.
        rate: the highest learning rate.
        source: source of the sizes.
    """

    family: str
    head: str
    options: dict[str, Any]
    span: int
    batch: int
    rate: float
    source: str

    @property
    def masked(self) -> bool:
        """True if it predicts hidden words instead of the next one."""
        return self.head == "ForMaskedLM"

    def config(self) -> Any:
        """transformers' configuration, for sequences of `span` tokens."""
        transformers = _transformers()
        length = max(self.span, 512)
        return getattr(transformers, f"{self.family}Config")(**self.options, max_position_embeddings=length)

    def make(self) -> Any:
        """The model with random weights in float32, on PyTorch's default device."""
        kind: Callable[..., Any] = getattr(_transformers(), self.family + self.head)
        return kind(self.config())


MODELS = {
    "llama-tiny": Model("Llama", "ForCausalLM", _LLAMA_TINY, 64, 8, 4e-3, "made for two cores"),
    "bert-tiny": Model("Bert", "ForMaskedLM", _BERT_TINY, 64, 8, 4e-3, "made for two cores"),
    "llama-1b": Model("Llama", "ForCausalLM", _LLAMA_1B, 2048, 4, 4e-4, "Llama 3.2 1B's published sizes"),
    "bert-base": Model(
        "Bert", "ForMaskedLM", {"vocab_size": 30522, **_NO_DROPOUT}, 512, 32, 1e-4,
        "BERT base's published sizes (Devlin et al., arXiv:1810.04805), which are transformers' defaults",
    ),
}  # fmt: skip


def model_named(name: str) -> Model:
    """A model of `MODELS`.

    Raises:
        UsageError: there is no model of this name.
    """
    if name not in MODELS:
        raise UsageError(f"train: the model is {name!r}; expected one of {', '.join(MODELS)}")
    return MODELS[name]


def _transformers() -> Any:
    # Importing it takes seconds, and it is optional.
    from workbench.integrations.transformers.attention import library

    return library()
