"""Attention under the name "hipkittens" in transformers' AttentionInterface, with its masks."""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import torch

from workbench import ops
from workbench.errors import UsageError, WorkbenchError
from workbench.integrations.transformers.masks import Mask, of_matrix, recognised

NAME = "hipkittens"

_paths: weakref.WeakKeyDictionary[torch.nn.Module, str] = weakref.WeakKeyDictionary()


def name_modules(model: torch.nn.Module) -> None:
    """Lets errors name modules by their paths in `model`."""
    _paths.update({module: path or type(module).__name__ for path, module in model.named_modules()})


def path_of(module: torch.nn.Module) -> str:
    """Path of a module in its model; its class and layer if nobody has named it."""
    layer = getattr(module, "layer_idx", None)
    return _paths.get(module) or type(module).__name__ + ("" if layer is None else f" of layer {layer}")


@contextlib.contextmanager
def naming(module: torch.nn.Module) -> Iterator[None]:
    """Adds the module's path to errors raised in the block; their type stays."""
    try:
        yield
    except WorkbenchError as error:
        path = path_of(module)
        if error.args and isinstance(error.args[0], str) and not str(error).startswith(path):
            error.args = (f"{path}: {error.args[0]}", *error.args[1:])
        raise


def attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: Mask | torch.Tensor | None = None,
    dropout: float = 0.0,
    scaling: float | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """transformers' attention function, with `ops.flash_attention` or its kernel for packed sequences.

    Args:
        module: the layer; `module.is_causal` counts if neither a mask nor `is_causal` says so.
        query: [batch, heads, queries, dim] of bf16 or fp16; may be a view.
        key, value: [batch, heads_kv, keys, dim].
        attention_mask: from `mask`; or [batch, 1, queries, keys] of bool, or of numbers that are added to
            scores, zero or minus infinity.
        dropout: 0.
        sliding_window: keys this far away or more are hidden; a mask has its own window.
        softcap, s_aux: soft cap of logits, and a logit [heads] that counts in the denominator only.

    Returns:
        [batch, queries, heads, dim], zero for queries that are padding; and None for weights, which the
        kernel does not store.

    Raises:
        UsageError: dropout, a position bias or a mask that the kernel does not support, or a request for
            weights.
        ShapeError: a head dimension or a dtype that the kernel does not support. Both name the module.
    """
    with naming(module):
        if dropout:
            raise UsageError(
                f"attention dropout is {dropout:g}; expected 0, the kernel drops nothing: set the "
                "configuration's attention_dropout (attn_pdrop, attention_probs_dropout_prob) to 0"
            )
        if others.get("position_bias") is not None:
            raise UsageError("attention has a position bias; expected none: use another attn_implementation")
        if others.get("output_attentions"):
            raise UsageError("output_attentions is set; expected False: the kernel keeps no weights")
        batch, heads, queries, _ = query.shape
        pattern = attention_mask
        if pattern is None:
            causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
            pattern = Mask(bool(causal), sliding_window or 0)
        elif isinstance(pattern, torch.Tensor):
            pattern = of_matrix(pattern, batch, queries, key.shape[2])
        how: dict[str, Any] = {
            "window": pattern.window,
            "scale": scaling,
            "softcap": softcap or 0.0,
            "sinks": s_aux,
        }
        if pattern.packed is None:
            output = ops.flash_attention(query, key, value, pattern.causal, layout="bhnd", **how).out
            return output.transpose(1, 2), None
        packed = pattern.packed
        q = query.transpose(1, 2).flatten(0, 1)[packed.queries]
        k, v = (states.transpose(1, 2).flatten(0, 1)[packed.keys] for states in (key, value))
        out = ops.flash_attention_varlen(
            q, k, v, packed.cu_seqlens_q, packed.cu_seqlens_k, pattern.causal, **how
        ).out
        rows = out.new_zeros(batch * queries, heads, out.shape[-1])
        return rows.index_copy(0, packed.queries, out).unflatten(0, (batch, queries)), None


def mask(
    batch_size: int,
    q_length: int,
    kv_length: int,
    q_offset: int | torch.Tensor = 0,
    kv_offset: int = 0,
    mask_function: Callable[..., Any] | None = None,
    attention_mask: torch.Tensor | None = None,
    device: torch.device | str = "cpu",
    **_: Any,
) -> Mask:
    """transformers' mask function: makes the mask for `attention`.

    Raises:
        UsageError: the kernels do not support the mask.
    """
    from transformers.masking_utils import bidirectional_mask_function, causal_mask_function

    offset = int(q_offset)
    function: Callable[..., Any] = mask_function or causal_mask_function
    plain = {causal_mask_function: True, bidirectional_mask_function: False}.get(function)
    aligned = offset + q_length == kv_offset + kv_length
    if torch.device(device).type == "meta":
        # There are no values to look at, so assume that nothing is padding.
        attention_mask = None
    if plain is not None and attention_mask is None and (aligned or not plain):
        return Mask(plain)
    keys = torch.ones(batch_size, kv_length, dtype=torch.bool, device=device)
    if attention_mask is not None:
        padding = attention_mask[:, kv_offset : kv_offset + kv_length].to(device, torch.bool)
        keys = torch.nn.functional.pad(padding, (0, kv_length - padding.shape[1]))
    queries = keys.new_ones(batch_size, q_length)
    if q_length == kv_length:
        queries = keys
    elif offset:
        at = slice(offset - kv_offset, offset - kv_offset + q_length)
        queries[:, : keys[:, at].shape[1]] = keys[:, at]

    def visible(b: int, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        b_at, head = torch.tensor(b, device=device), torch.tensor(0, device=device)
        seen: torch.Tensor = function(b_at, head, q[:, None] + offset, k[None, :] + kv_offset)
        return seen

    return recognised(visible, queries, keys)


def library() -> Any:
    """The transformers package.

    Raises:
        UsageError: transformers is not installed.
    """
    try:
        import transformers
    except ImportError as error:
        raise UsageError(
            f"transformers cannot be imported ({error}); expected version 5: "
            "pip install 'hipkittens-workbench[training]'"
        ) from error
    return transformers


def register() -> None:
    """Makes `attn_implementation="hipkittens"` known to transformers."""
    transformers = library()
    transformers.AttentionInterface.register(NAME, attention)
    transformers.AttentionMaskInterface.register(NAME, mask)
