"""Models of transformers on our operators against the originals: formulas in float64, kernels in bf16."""

from __future__ import annotations

from importlib import import_module
from types import SimpleNamespace
from typing import Any

import needs
import pytest
import torch
from transformer_models import FAMILIES, REPLACED, batch, cosines, make, step

from workbench.errors import ShapeError, UsageError

pytestmark = needs.transformers
HK = "workbench.integrations.transformers"
transformers, hk = needs.DeferredModule("transformers"), needs.DeferredModule(HK)
embeddings = needs.DeferredModule(f"{HK}.embedding")
CALLERS = [*(f"{HK}.{name}" for name in ("use", "attention", "replacements")), "workbench.nn.loss"]


@pytest.fixture
def by_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    replacements = import_module(f"{HK}.replacements")

    class Formulas(replacements.References):  # type: ignore[name-defined,misc]
        """PyTorch formulas in any dtype, in place of the operators that the replacements call."""

        def flash_attention(self, q: Any, k: Any, v: Any, causal: bool, layout: str, **how: Any) -> Any:
            assert layout == "bhnd"
            result = super().__getattr__("flash_attention")(
                *(t.transpose(1, 2) for t in (q, k, v)), causal, **how
            )
            return SimpleNamespace(out=result.out.transpose(1, 2))

    for caller in CALLERS:
        monkeypatch.setattr(import_module(caller), "ops", Formulas())


@pytest.mark.usefixtures("by_formula")
@pytest.mark.parametrize("family", FAMILIES)
def test_formulas(family: str) -> None:
    """In float64 loss and gradients equal the original's; all is replaced, and undo restores it."""
    model, inputs = make(family, torch.float64), batch()
    loss, gradients = step(model, inputs)
    before = model(**inputs).logits.detach()
    with hk.use(model) as used:
        assert {row.replaced for row in used.rows if row.replaced} == REPLACED[family]
        assert not [row for row in used.rows if not row.replaced]
        ours, our_gradients = step(model, inputs)
    # transformers computes losses and norms in float32.
    assert ours == pytest.approx(loss, rel=1e-6)
    largest = max(gradient.abs().max().item() for gradient in gradients.values())
    for name, expected in gradients.items():
        allowed = 1e-5 * max(expected.abs().max().item(), 1e-6 * largest)
        assert (our_gradients[name] - expected).abs().max() <= allowed, name
    assert torch.equal(model(**inputs).logits, before)
    again = step(model, inputs)[1]
    assert all(torch.equal(again[name], gradient) for name, gradient in gradients.items())
    assert not [m for m in model.modules() if "forward" in vars(m)]


@pytest.mark.parametrize("family", FAMILIES)
def test_kernels(family: str) -> None:
    """In bf16 gradients are at least as close to float64's direction as PyTorch's in bf16."""
    inputs = batch()
    _, expected = step(make(family, torch.float64), inputs)
    _, theirs = step(make(family), inputs)
    model = make(family)
    hk.use(model)
    _, ours = step(model, inputs)
    our_cosines, reference = cosines(ours, expected), cosines(theirs, expected)
    assert our_cosines
    for name, cosine in our_cosines.items():
        assert cosine >= min(0.9999, reference[name] - 1e-4), name


@pytest.mark.usefixtures("by_formula")
def test_packed_sequences() -> None:
    """Positions that start over begin another sequence."""
    model = make("llama", torch.float64)
    ids = batch(padded=False)["input_ids"][:1]
    positions = torch.cat([torch.arange(11), torch.arange(8)])[None]
    inputs = {"input_ids": ids, "labels": ids, "position_ids": positions, "use_cache": False}
    expected = step(model, inputs)[0]
    with hk.use(model):
        assert step(model, inputs)[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.usefixtures("by_formula")
def test_generation_with_a_cache() -> None:
    model = make("llama", torch.float64).eval()
    ids = batch(padded=False)["input_ids"]
    mask = torch.ones_like(ids)
    mask[0, :5] = 0
    how = {"attention_mask": mask, "max_new_tokens": 4, "do_sample": False, "pad_token_id": 0}
    expected = model.generate(ids, **how)
    with hk.use(model):
        assert torch.equal(model.generate(ids, **how), expected)


@pytest.mark.usefixtures("by_formula")
def test_a_module_that_computes_something_else_is_left() -> None:
    class Doubling(transformers.models.llama.modeling_llama.LlamaMLP):  # type: ignore[name-defined,misc]
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(x)

    model = make("llama", torch.float64)
    for layer in model.model.layers:
        layer.mlp.__class__ = Doubling
    loss, _ = step(model, batch())
    with hk.use(model) as used:
        left = [row for row in used.rows if row.kind == "Doubling"]
        assert [(row.replaced, row.by) for row in left] == [("", "computes something other than the kernel")]
        assert step(model, batch())[0] == pytest.approx(loss, rel=1e-6)


@pytest.mark.usefixtures("by_formula")
def test_checkpointing_gives_the_same_gradients() -> None:
    model, inputs = make("llama", torch.float64), batch()
    hk.use(model)
    loss, gradients = step(model, inputs)
    model.gradient_checkpointing_enable({"use_reentrant": False})
    again, recomputed = step(model, inputs)
    assert again == loss
    assert all(torch.equal(recomputed[name], gradient) for name, gradient in gradients.items())


def test_a_row_that_many_tokens_take_has_their_sum() -> None:
    """In bf16 a sequential sum of 4,096 ones ends at 256; a padded row has none."""
    weight = torch.zeros(3, 8, dtype=torch.bfloat16, requires_grad=True)
    ids = torch.cat([torch.zeros(4096), torch.ones(3), torch.full((5,), 2)]).long()[None]
    embeddings.embedding(ids, weight, padding=1).sum().backward()
    assert weight.grad is not None
    assert weight.grad.tolist() == [[4096.0] * 8, [0.0] * 8, [5.0] * 8]


def test_wrong_models() -> None:
    with pytest.raises(UsageError, match="expected a PreTrainedModel"):
        hk.use(torch.nn.Linear(2, 2))
    model = make("llama")
    hk.use(model)
    with pytest.raises(UsageError, match="has the kernels already"):
        hk.use(model)
    small = make("llama", head_dim=32)
    with pytest.raises(UsageError, match=r"model\.layers\.0\.self_attn: the head dimension is 32; expected"):
        hk.use(small)
    assert not [m for m in small.modules() if "forward" in vars(m)]


def test_a_model_without_attention() -> None:
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], num_labels=2)
    with pytest.raises(UsageError, match="ResNetForImageClassification has no module that calls attention"):
        hk.use(transformers.ResNetForImageClassification(config))


def test_wrong_calls_name_the_module() -> None:
    model = make("llama", attention_dropout=0.1)
    hk.use(model)
    with pytest.raises(UsageError, match=r"model\.layers\.0\.self_attn: attention dropout is 0\.1"):
        hk.attention(model.model.layers[0].self_attn, *(torch.zeros(1, 2, 4, 64),) * 3, dropout=0.1)
    wide = make("llama", torch.float32)
    hk.use(wide)
    with pytest.raises(ShapeError, match=r"model\.layers\.0\.self_attn\.q_proj: .*float32"):
        wide(**batch())
    layer, heads = wide.model.layers[1].self_attn, (torch.zeros(1, 2, 4, 64),) * 3
    with pytest.raises(UsageError, match=r"model\.layers\.1\.self_attn: attention mask has the shape"):
        hk.attention(layer, *heads, torch.ones(1, 1, 4, 5, dtype=torch.bool))
