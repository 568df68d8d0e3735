"""Modules on the kernels, with the state dicts of the corresponding modules of PyTorch and Hugging Face.

    from workbench import nn
    norm = nn.RMSNorm(4096).bfloat16()
    norm.load_state_dict(llama.model.norm.state_dict())

Parameters have the names that `torch.nn` or `transformers` give them; `Attention` and `MoE` also load under
other names. Weights of fp8 and mxfp4 have the names of published checkpoints.
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
