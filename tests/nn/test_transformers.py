"""State dicts and results against Hugging Face's modules: Llama, Mixtral, Qwen3. Skipped without them."""

from __future__ import annotations

from typing import Any

import needs
import pytest
import torch

from workbench import nn

pytestmark = needs.transformers
transformers = needs.DeferredModule("transformers")

SIZES = {
    "hidden_size": 128,
    "intermediate_size": 96,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "num_hidden_layers": 1,
    "max_position_embeddings": 64,
    "vocab_size": 32,
    "attn_implementation": "sdpa",
}
FAMILIES = ("llama", "mixtral", "qwen3", "qwen3_moe")


def layers_and_config(family: str) -> tuple[Any, Any]:
    """The module of a family's layers, and a small configuration."""
    layers = getattr(transformers.models, family)
    module = getattr(layers, f"modeling_{family}")
    prefix = "".join(part.title() for part in family.split("_"))
    more = {"num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2, "norm_topk_prob": True}
    config = getattr(transformers, f"{prefix}Config")(**SIZES, moe_intermediate_size=96, **more)
    return {name.removeprefix(prefix): value for name, value in vars(module).items()}, config


def swapped(ours: torch.nn.Module, theirs: torch.nn.Module) -> torch.nn.Module:
    """Their modules in bf16 with random weights, copied to ours and back by their state dicts."""
    torch.manual_seed(7)
    theirs = theirs.bfloat16()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    state = theirs.state_dict()
    ours.load_state_dict(state, strict=True)
    back = ours.state_dict()
    assert {name: (t.shape, t.dtype) for name, t in back.items()} == {
        name: (t.shape, t.dtype) for name, t in state.items()
    }
    theirs.load_state_dict(back, strict=True)
    assert all(torch.equal(back[name], state[name]) for name in state)
    return theirs.double()


def near(result: torch.Tensor, expected: torch.Tensor) -> None:
    """Asserts equality up to a few roundings to bf16 of the largest element."""
    assert result.shape == expected.shape
    assert (result.double() - expected).abs().max() <= 2**-6 * expected.abs().max()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(2, 9, 128, generator=torch.Generator().manual_seed(5)).bfloat16()


@pytest.mark.parametrize("family", FAMILIES)
def test_norm(family: str, x: torch.Tensor) -> None:
    theirs, _ = layers_and_config(family)
    ours = nn.RMSNorm(128, 1e-6, dtype=torch.bfloat16)
    wide = swapped(ours, theirs["RMSNorm"](128, 1e-6))
    near(ours(x), wide(x.double()))


@pytest.mark.parametrize("family", ["llama", "qwen3", "qwen3_moe"])
def test_mlp(family: str, x: torch.Tensor) -> None:
    theirs, config = layers_and_config(family)
    ours = nn.SwiGLU(128, 96)
    wide = swapped(ours, theirs["MLP"](config))
    near(ours(x), wide(x.double()))


@pytest.mark.parametrize("family", FAMILIES)
def test_attention_with_rotary_embedding(family: str, x: torch.Tensor) -> None:
    theirs, config = layers_and_config(family)
    rotary = nn.RotaryEmbedding(64, 64, base=config.rope_parameters["rope_theta"])
    embedding = theirs["RotaryEmbedding"](config)
    assert rotary.state_dict().keys() == embedding.state_dict().keys()
    positions = torch.tensor([[3, 4, 5, 6, 7, 8, 9, 10, 11]])
    angles = embedding(x.double(), positions)
    turn = theirs["apply_rotary_pos_emb"]
    heads = x.unflatten(-1, (2, 64)).transpose(1, 2)
    near(rotary(heads, positions[0]), turn(heads.double(), heads.double(), *angles)[0])

    qk_norm = config.rms_norm_eps if family.startswith("qwen3") else None
    ours = nn.Attention(128, 4, heads_kv=2, head_dim=64, rotary=rotary, qk_norm=qk_norm)
    wide = swapped(ours, theirs["Attention"](config, 0))
    expected, _ = wide(x.double(), position_embeddings=angles, attention_mask=None)
    near(ours(x, positions[0]), expected)


@pytest.mark.parametrize("family", ["mixtral", "qwen3_moe"])
def test_experts(family: str, x: torch.Tensor) -> None:
    theirs, config = layers_and_config(family)
    ours = nn.MoE(128, 96, experts=4, top_k=2)
    wide = swapped(ours, theirs["SparseMoeBlock"](config))
    near(ours(x), wide(x.double()))
