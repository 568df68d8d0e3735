"""Replacements of transformers' modules: one record for each kind.

A record's `forward` is written once, on functions named as in `workbench.ops`. Before a module is replaced,
the record runs on small random tensors in float64, with the operators' own PyTorch references for those
functions, and must give the same as the module. So a model's own kind of norm or gated layer is never
replaced by another, whatever the name of its class.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import FunctionType
from typing import Any

import torch
from torch.func import functional_call

from workbench import nn, ops
from workbench.errors import UsageError
from workbench.integrations.transformers.embedding import embedding
from workbench.operators.functions import by_function
from workbench.operators.registry import kernels
from workbench.ops.function import returned

HIDDEN, BETWEEN, EXPERTS, TOP_K, ROWS = 8, 16, 4, 2, 3
"""Sizes of the random inputs and parameters for comparisons."""


class References:
    """The functions of `workbench.ops`, computed by the operators' references, in any dtype."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        spec = kernels[by_function(kernels)[name]]

        def call(*args: Any, **kwargs: Any) -> Any:
            result = spec.reference(**spec.bind(*args, **kwargs))
            kind = returned(spec)
            return result if kind is torch.Tensor else kind(*result)

        return call


@dataclass(frozen=True)
class Replacement:
    """The replacement for one kind of module.

    Attributes:
        name: name of the kind, for the table.
        by: the functions of `workbench.ops` that it calls.
        fits: returns True if a module has the necessary parts.
        forward: `(module, ops, *inputs)`, on the module's own parameters.
        drawn: returns the sizes of the parameters to draw by name, for a comparison.
        inputs: returns inputs for this comparison.
        whole: True if the module's children are no longer called.
    """

    name: str
    by: str
    fits: Callable[[torch.nn.Module], bool]
    forward: Callable[..., Any]
    drawn: Callable[[torch.nn.Module], Mapping[str, tuple[int, ...]]]
    inputs: Callable[[torch.nn.Module], tuple[torch.Tensor, ...]] = field(
        default=lambda module: (_random(ROWS, HIDDEN),)
    )
    whole: bool = True

    def agrees(self, module: torch.nn.Module) -> bool:
        """True if it computes what the module computes, on random numbers in float64."""
        key = (self.name, type(module), *_plain(module))
        if key not in _agreed:
            _agreed[key] = self._compare(module)
        return _agreed[key]

    def _compare(self, module: torch.nn.Module) -> bool:
        sizes = self.drawn(module)
        if sizes.keys() != dict(module.named_parameters()).keys():
            return False
        drawn = {name: _random(*size, seed=i) for i, (name, size) in enumerate(sizes.items(), 2)}
        inputs = self.inputs(module)

        class Ours(torch.nn.Module):
            def __init__(self, theirs: torch.nn.Module) -> None:
                super().__init__()
                self.theirs = theirs

            def forward(self, forward: Callable[..., Any], *arguments: torch.Tensor) -> Any:
                return forward(self.theirs, References(), *arguments)

        held = {f"theirs.{name}": tensor for name, tensor in drawn.items()}
        training = module.training
        module.eval()
        try:
            with torch.no_grad(), _as_written(module):
                theirs = functional_call(module, drawn, inputs)
                ours = functional_call(Ours(module), held, (self.forward, *inputs))
        except (RuntimeError, AttributeError, TypeError, ValueError, IndexError):
            # The inputs differ, so it is another kind of module.
            return False
        finally:
            module.train(training)
        pairs = zip(_tensors(theirs), _tensors(ours), strict=False)
        # Compares formulas, not rounding: some modules always compute in float32.
        return len(_tensors(theirs)) == len(_tensors(ours)) and all(
            a.shape == b.shape and torch.allclose(a.double(), b.double(), rtol=1e-5, atol=1e-6)
            for a, b in pairs
        )


_agreed: dict[Any, bool] = {}


@contextlib.contextmanager
def _as_written(module: torch.nn.Module) -> Iterator[None]:
    """Experts run with the code of their class: transformers' other implementations lack float64."""
    config: Any = getattr(module, "config", None)
    before = getattr(config, "_experts_implementation_internal", None)
    if before is None:
        yield
        return
    config._experts_implementation_internal = "eager"
    try:
        yield
    finally:
        config._experts_implementation_internal = before


def _plain(module: torch.nn.Module) -> tuple[Any, ...]:
    """Further inputs to the meaning of a module's class: its activation, its plain attributes."""
    values = sorted((k, v) for k, v in vars(module).items() if isinstance(v, (bool, int, float, str)))
    names = tuple(name for name, _ in module.named_parameters())
    acts = tuple(type(v).__name__ for v in (*module.children(), *vars(module).values()) if callable(v))
    return (*values, names, acts)


def _tensors(results: Any) -> list[torch.Tensor]:
    return (
        [results]
        if isinstance(results, torch.Tensor)
        else [tensor for tensor in results if tensor is not None]
    )


def _random(*size: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _rows(x: torch.Tensor) -> torch.Tensor:
    return x.reshape(-1, x.shape[-1])


def _activation(function: Any) -> str | None:
    """The kernels' name for an activation, by what it computes; None if they have none."""
    if not callable(function):
        return None
    x = torch.linspace(-4, 4, 33, dtype=torch.float64)
    gelu = torch.nn.functional.gelu
    references = {
        "silu": torch.nn.functional.silu(x),
        "relu": x.relu(),
        "gelu": gelu(x),
        "gelu_tanh": gelu(x, approximate="tanh"),
    }
    values = function(x)
    return next(
        (name for name, reference in references.items() if torch.allclose(values, reference, atol=1e-7)), None
    )


def _linear(calls: Any, x: torch.Tensor, weight: torch.Tensor, bias: Any = None, **more: Any) -> torch.Tensor:
    """x Wᵀ + bias of rows, and what follows it; the leading shape is that of x."""
    result: torch.Tensor = calls.gemm(_rows(x), weight, bias=bias, **more)
    return result.view(*x.shape[:-1], -1)


def _eps(module: torch.nn.Module) -> float:
    return float(getattr(module, "variance_epsilon", getattr(module, "eps", None)) or 0.0)


def _rms(module: Any, calls: Any, x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = calls.rms_norm(x, module.weight, _eps(module))
    return result


def _rms_from_one(module: Any, calls: Any, x: torch.Tensor) -> torch.Tensor:
    # The weight is an offset from one: 1 + w would lose a small w in bf16, so everything is float32, as in
    # the model.
    wide = torch.promote_types(x.dtype, torch.float32)
    result: torch.Tensor = calls.rms_norm(x.to(wide), 1.0 + module.weight.to(wide), _eps(module))
    return result.to(x.dtype)


def _layer_norm(module: Any, calls: Any, x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = calls.layer_norm(x, module.weight, module.bias, module.eps)
    return result


def _gated(module: Any, calls: Any, x: torch.Tensor) -> torch.Tensor:
    gate, up, down = module.gate_proj, module.up_proj, module.down_proj
    rows = _rows(x)
    factor = calls.gemm(rows, up.weight, bias=up.bias)
    between = calls.gemm(
        rows, gate.weight, bias=gate.bias, activation=_activation(module.act_fn), gate=factor
    )
    return _linear(calls, between, down.weight, down.bias).view(x.shape)


def _gated_fused(module: Any, calls: Any, x: torch.Tensor) -> torch.Tensor:
    both = _linear(calls, x, module.Wi.weight, module.Wi.bias)
    between = getattr(calls, f"{_activation(module.act)}_and_mul")(both)
    return _linear(calls, module.drop(between), module.Wo.weight, module.Wo.bias)


def _dense_activation(module: Any, calls: Any, x: torch.Tensor) -> torch.Tensor:
    name = _activation(module.intermediate_act_fn)
    return _linear(calls, x, module.dense.weight, module.dense.bias, activation=name)


def _conv1d_mlp(module: Any, calls: Any, x: torch.Tensor) -> torch.Tensor:
    up, down = module.c_fc, module.c_proj
    between = _linear(calls, x, up.weight, up.bias, layout="nn", activation=_activation(module.act))
    result: torch.Tensor = module.dropout(_linear(calls, between, down.weight, down.bias, layout="nn"))
    return result


def _conv1d(module: Any, calls: Any, x: torch.Tensor) -> torch.Tensor:
    return _linear(calls, x, module.weight, module.bias, layout="nn")


def _plain_linear(module: Any, calls: Any, x: torch.Tensor) -> torch.Tensor:
    return _linear(calls, x, module.weight, module.bias)


def _experts(
    module: Any, calls: Any, x: torch.Tensor, expert_ids: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    experts, top_k = module.gate_up_proj.shape[0], expert_ids.shape[-1]
    ids = expert_ids.int()
    block = nn.experts.BLOCK
    # Every expert may start a new block.
    spare = min(experts, ids.numel()) * (block - 1)
    length = -(-(ids.numel() + spare) // block) * block
    lists = calls.moe_align_block_size(ids, experts, block, length)
    outputs = calls.fused_moe(
        x, module.gate_up_proj, module.down_proj, *lists, top_k, weights.float().flatten()
    )
    summed: torch.Tensor = calls.moe_sum(outputs, top_k)
    return summed


def _router(module: Any, calls: Any, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    logits = calls.gemm(_rows(x), module.weight)
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
    topk = calls.moe_topk(wide, module.top_k, score="softmax")
    return logits, topk.values, topk.indices.long()


def _embedding(module: Any, calls: Any, ids: torch.Tensor) -> torch.Tensor:
    return embedding(ids, module.weight, module.padding_idx)


def _embedding_scaled(module: Any, calls: Any, ids: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = _embedding(module, calls, ids) * module.embed_scale.to(module.weight.dtype)
    return result


def _is_embedding(module: torch.nn.Module) -> bool:
    """True for an embedding whose gradient is a plain sum, and whose weights a call does not change."""
    plain = isinstance(module, torch.nn.Embedding) and module.max_norm is None
    return plain and not module.scale_grad_by_freq and not module.sparse


def _has(*names: str) -> Callable[[torch.nn.Module], bool]:
    return lambda module: all(hasattr(module, name) for name in names)


def _linears(module: torch.nn.Module, *names: str) -> bool:
    """True if the children are plain linear layers, without adapters around them."""
    return all(type(getattr(module, name, None)) is torch.nn.Linear for name in names)


def _sizes(module: torch.nn.Module, **weights: tuple[int, int]) -> dict[str, tuple[int, ...]]:
    """Sizes of linear children's weights, and of their biases if they have any."""
    sizes: dict[str, tuple[int, ...]] = {}
    for name, size in weights.items():
        sizes[f"{name}.weight"] = size
        if getattr(module, name).bias is not None:
            sizes[f"{name}.bias"] = size[:1]
    return sizes


def _vectors(module: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    return {name: (HIDDEN,) for name, _ in module.named_parameters(recurse=False)}


def _own_sizes(module: torch.nn.Module) -> dict[str, tuple[int, ...]]:
    """Sizes of all parameters of a module, by name."""
    return {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}


def _is_norm(module: torch.nn.Module) -> bool:
    names = [name for name, _ in module.named_parameters()]
    return names == ["weight"] and "RMSNorm" in type(module).__name__ and not list(module.children())


def _is_conv1d(module: torch.nn.Module) -> bool:
    return type(module).__name__ == "Conv1D" and _has("nf", "weight", "bias")(module)


def _ids(module: torch.nn.Module) -> tuple[torch.Tensor, ...]:
    return (torch.arange(ROWS)[None] % module.num_embeddings,)  # type: ignore[operator]


SUMMED = "PyTorch, gradients summed in float32"

REPLACEMENTS = (
    Replacement("RMSNorm", "rms_norm", _is_norm, _rms, _vectors),
    Replacement("RMSNorm, weight from 1", "rms_norm (float32)", _is_norm, _rms_from_one, _vectors),
    Replacement(
        "LayerNorm", "layer_norm", lambda m: type(m) is torch.nn.LayerNorm and len(m.normalized_shape) == 1,
        _layer_norm, _own_sizes, lambda m: (_random(ROWS, *m.normalized_shape),),  # type: ignore[misc]
    ),
    Replacement(
        "gated MLP", "gemm with activation and gate, gemm",
        lambda m: _linears(m, "gate_proj", "up_proj", "down_proj")
        and _activation(getattr(m, "act_fn", None)) is not None,
        _gated,
        lambda m: _sizes(
            m, gate_proj=(BETWEEN, HIDDEN), up_proj=(BETWEEN, HIDDEN), down_proj=(HIDDEN, BETWEEN)
        ),
    ),
    Replacement(
        "gated MLP, one product", "gemm, gelu_and_mul, gemm",
        lambda m: _linears(m, "Wi", "Wo") and hasattr(m, "drop")
        and _activation(getattr(m, "act", None)) in nn.swiglu.GATES,
        _gated_fused,
        lambda m: _sizes(m, Wi=(2 * BETWEEN, HIDDEN), Wo=(HIDDEN, BETWEEN)),
    ),
    Replacement(
        "Linear with activation", "gemm with activation",
        lambda m: _linears(m, "dense") and _activation(getattr(m, "intermediate_act_fn", None)) is not None,
        _dense_activation,
        lambda m: _sizes(m, dense=(BETWEEN, HIDDEN)),
    ),
    Replacement(
        "MLP of Conv1D", "gemm with activation, gemm",
        lambda m: _has("c_fc", "c_proj", "act", "dropout")(m) and _is_conv1d(m.get_submodule("c_fc"))
        and _activation(m.act) is not None,
        _conv1d_mlp, _own_sizes, lambda m: (_random(ROWS, m.c_fc.nx),),  # type: ignore[arg-type,union-attr]
    ),
    Replacement(
        "experts", "moe_align_block_size, fused_moe, moe_sum",
        _has("gate_up_proj", "down_proj", "num_experts"),
        _experts,
        lambda m: {"gate_up_proj": (EXPERTS, 2 * BETWEEN, HIDDEN), "down_proj": (EXPERTS, HIDDEN, BETWEEN)},
        lambda m: (
            _random(ROWS, HIDDEN), torch.tensor([[0, 1], [3, 1], [2, 0]]), _random(ROWS, TOP_K, seed=9).abs(),
        ),
    ),
    Replacement(
        "router", "gemm, moe_topk", _has("top_k", "num_experts", "weight", "hidden_dim"), _router,
        lambda m: {"weight": (m.num_experts, m.hidden_dim)},  # type: ignore[dict-item]
        lambda m: (_random(ROWS, m.hidden_dim),),  # type: ignore[arg-type]
    ),
    Replacement(
        "Linear", "gemm", lambda m: type(m) is torch.nn.Linear, _plain_linear,
        lambda m: {name: (BETWEEN, HIDDEN)[: p.dim()] for name, p in m.named_parameters()},
    ),
    Replacement(
        "Conv1D", "gemm", _is_conv1d, _conv1d, _own_sizes,
        lambda m: (_random(ROWS, m.nx),),  # type: ignore[arg-type]
    ),
    Replacement("embedding", SUMMED, _is_embedding, _embedding, _own_sizes, _ids),
    Replacement(
        "embedding, scaled", SUMMED, lambda m: _is_embedding(m) and hasattr(m, "embed_scale"),
        _embedding_scaled, _own_sizes, _ids,
    ),
)  # fmt: skip
"""The first that fits and agrees is used."""


def rotary(
    calls: Any, q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """transformers' apply_rotary_pos_emb with `ops.rope`: the halves of a head are rotated against each
    other.

    Args:
        q, k: [batch, heads, tokens, dim].
        cos, sin: [batch or 1, tokens, turned], both halves alike.
    """
    half, (rows, tokens) = cos.shape[-1] // 2, cos.shape[:2]
    tables = [tensor[..., :half].reshape(-1, half).contiguous() for tensor in (cos, sin)]
    # A table with one row has its tokens in order, and needs no positions.
    places = None if rows == 1 else torch.arange(rows * tokens, device=cos.device).view(rows, tokens)
    return tuple(calls.rope(tensor, *tables, places) for tensor in (q, k))


@cache
def is_rotary(theirs: Callable[..., Any]) -> bool:
    """True if a model's apply_rotary_pos_emb agrees with `rotary` on random numbers in float64."""
    q, k, angles = _random(2, 4, ROWS, HIDDEN), _random(2, 2, ROWS, HIDDEN), _random(2, ROWS, HIDDEN // 2)
    cos, sin = (torch.cat((half, half), -1) for half in (angles.cos(), angles.sin()))
    try:
        expected = theirs(q, k, cos, sin)
    except (RuntimeError, TypeError, ValueError):
        return False
    actual = rotary(References(), q, k, cos, sin)
    return all(torch.allclose(a.double(), b, atol=1e-6) for a, b in zip(expected, actual, strict=True))


def _rotary_call(
    q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, unsqueeze_dim: int = 1
) -> tuple[torch.Tensor, torch.Tensor]:
    if unsqueeze_dim != 1:
        raise UsageError(f"rotary embedding: unsqueeze_dim is {unsqueeze_dim}; expected 1: heads, tokens")
    return rotary(ops, q, k, cos, sin)


def cross_entropy(
    logits: torch.Tensor, labels: torch.Tensor, items: torch.Tensor | int | None = None, ignored: int = -100
) -> torch.Tensor:
    """The mean loss of rows of logits, or their sum over `items`; logits stay in their dtype."""
    loss = ops.cross_entropy(_rows(logits), labels.reshape(-1).to(logits.device), ignored).loss.sum()
    return loss / ((labels != ignored).sum() if items is None else items)


def causal_loss(
    logits: torch.Tensor,
    labels: torch.Tensor,
    vocab_size: int,
    num_items_in_batch: torch.Tensor | int | None = None,
    ignore_index: int = -100,
    shift_labels: torch.Tensor | None = None,
    **_: Any,
) -> torch.Tensor:
    """transformers' ForCausalLMLoss: each token's logits against the next label."""
    if shift_labels is None:
        shift_labels = torch.nn.functional.pad(labels, (0, 1), value=ignore_index)[..., 1:]
    return cross_entropy(logits, shift_labels, num_items_in_batch, ignore_index)


def masked_loss(
    logits: torch.Tensor,
    labels: torch.Tensor,
    vocab_size: int,
    num_items_in_batch: torch.Tensor | int | None = None,
    ignore_index: int = -100,
    **_: Any,
) -> torch.Tensor:
    """Loss of masked language models, as transformers' ForMaskedLMLoss."""
    return cross_entropy(logits, labels, num_items_in_batch, ignore_index)


LOSSES = {"ForCausalLMLoss": causal_loss, "ForMaskedLMLoss": masked_loss}
"""Losses by the names of transformers' own."""

GLOBALS: dict[str, tuple[str, str, Callable[[Any], bool], Any]] = {
    "apply_rotary_pos_emb": ("rotary embedding", "rope", is_rotary, _rotary_call),
    "CrossEntropyLoss": (
        "loss", "cross_entropy", lambda theirs: theirs is torch.nn.CrossEntropyLoss, nn.CrossEntropyLoss
    ),
}  # fmt: skip
"""Functions and classes that a module's forward takes from its file: description for the table, names of the
functions that replace them, a check that theirs is the expected one, and ours."""


def own_globals(module: torch.nn.Module) -> tuple[FunctionType, list[str]]:
    """A module's forward in its original form, and which of `GLOBALS` it uses."""
    written = inspect.unwrap(type(module).forward)
    if not isinstance(written, FunctionType):
        return written, []
    used = [n for n in GLOBALS if n in written.__code__.co_names and n in written.__globals__]
    return written, used


def with_globals(written: FunctionType, names: list[str]) -> FunctionType:
    """The same code with ours in place of those globals, only for one module."""
    changed = {**written.__globals__, **{name: GLOBALS[name][3] for name in names}}
    function = FunctionType(
        written.__code__, changed, written.__name__, written.__defaults__, written.__closure__
    )
    function.__kwdefaults__ = written.__kwdefaults__
    return function
