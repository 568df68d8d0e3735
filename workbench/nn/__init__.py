"""Modules on the kernels, with the state dicts of PyTorch's and Hugging Face's modules of the same meaning.

    from workbench import nn
    norm = nn.RMSNorm(4096).bfloat16()
    norm.load_state_dict(llama.model.norm.state_dict())

Parameters have the names that `torch.nn` or `transformers` give them; `Attention` and `MoE` load their other
names too. Weights of fp8 and mxfp4 have those of the checkpoints that are published.
"""

from __future__ import annotations

from workbench.nn.attention import Attention, RotaryEmbedding
from workbench.nn.experts import MoE
from workbench.nn.linear import Linear
from workbench.nn.loss import CrossEntropyLoss
from workbench.nn.norms import LayerNorm, RMSNorm
from workbench.nn.swiglu import SwiGLU

__all__ = [
    "Attention",
    "CrossEntropyLoss",
    "LayerNorm",
    "Linear",
    "MoE",
    "RMSNorm",
    "RotaryEmbedding",
    "SwiGLU",
]
