"""Replaces a model's modules with kernels, and restores them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from functools import wraps
from types import MethodType
from typing import Any

import torch

from workbench import ops
from workbench.errors import UsageError
from workbench.integrations.transformers.attention import NAME, library, name_modules, naming
from workbench.integrations.transformers.replacements import (
    GLOBALS,
    LOSSES,
    REPLACEMENTS,
    own_globals,
    with_globals,
)
from workbench.integrations.used import Row, Used
from workbench.operators.registry import kernels

_USED = "_hipkittens_used"


def use(model: torch.nn.Module) -> Used:
    """Replaces the modules of a transformers model by kernels, as Liger-Kernel does.

    Norms, rotary embedding, gated layers, linear layers, routers, experts, attention and the loss are
    replaced if ours computes the same, which is first tried on random numbers. The model keeps its
    parameters: it is trained, saved and loaded as before.

        used = use(model)
        print(used)      # what was replaced by what, and what was not, and why
        used.undo()      # or: with use(model): ...

    Args:
        model: a PreTrainedModel, in bf16 or fp16, or in float32 under `torch.autocast`.

    Raises:
        UsageError: the model has no attention that goes through transformers' AttentionInterface, a head
            dimension that the kernel does not support, attention dropout, or the kernels already. The message
            names the module.
    """
    if not isinstance(model, library().PreTrainedModel):
        raise UsageError(
            f"use: the model is a {type(model).__name__}; expected a PreTrainedModel of transformers; in "
            "other models, replace layers with those of workbench.nn"
        )
    if hasattr(model, _USED):
        raise UsageError(f"use: {type(model).__name__} has the kernels already; call undo() of use's result")
    name_modules(model)
    _check_attention(model)
    rows: list[Row] = []
    back: list[Callable[[], None]] = []
    # Compared before anything is changed, so that modules run as in the model.
    plans = [(path, module, *_plan(module)) for path, module in _outermost(model)]
    for path, module, forward, row in plans:
        rows.append(Row(path, type(module).__name__, *row))
        if forward is not None:
            back.append(_patch(module, forward))
    loss = _loss(model)
    if loss is not None:
        name, ours = loss
        rows.append(Row("loss_function", name, "loss", "cross_entropy"))
        back.append(_set(model, "_loss_function", ours))
    before = model.config._attn_implementation
    model.set_attn_implementation(NAME)
    back.append(lambda: model.set_attn_implementation(before))
    layers = [path for path, module in model.named_modules() if _is_attention(module)]
    by = "flash_attention, flash_attention_varlen"
    kinds = {type(model.get_submodule(path)).__name__ for path in layers}
    rows += [Row(path, next(iter(kinds)), "attention", by) for path in layers]
    back.append(_set(model, _USED, True))
    return Used(model, _grouped(rows), back)


def _is_attention(module: torch.nn.Module) -> bool:
    """True if the module calls attention through the interface."""
    written, _ = own_globals(module)
    return "ALL_ATTENTION_FUNCTIONS" in getattr(getattr(written, "__code__", None), "co_names", ())


def _check_attention(model: Any) -> None:
    layers = {path: module for path, module in model.named_modules() if _is_attention(module)}
    if not layers:
        raise UsageError(
            f"use: {type(model).__name__} has no module that calls attention through transformers' "
            "AttentionInterface; expected at least one"
        )
    dims = kernels["attention/forward"].parameters["dim"]
    for path, module in layers.items():
        dim = getattr(module, "head_dim", getattr(module, "attention_head_size", None))
        with naming(module):
            if isinstance(dim, int) and dim not in dims:
                raise UsageError(f"{path}: the head dimension is {dim}; expected {dims}")


def _outermost(model: torch.nn.Module) -> list[tuple[str, torch.nn.Module]]:
    """Modules with their paths, without the children of modules that are replaced as a whole."""
    modules: list[tuple[str, torch.nn.Module]] = []
    skipped: tuple[str, ...] = ()
    seen: set[int] = set()
    for path, module in model.named_modules():
        if id(module) in seen or any(path.startswith(f"{prefix}.") for prefix in skipped):
            continue
        seen.add(id(module))
        modules.append((path, module))
        if _replacement(module) is not None:
            skipped = (*skipped, path)
    return modules


def _replacement(module: torch.nn.Module) -> Any:
    return next(
        (
            replacement
            for replacement in REPLACEMENTS
            if replacement.fits(module) and replacement.agrees(module)
        ),
        None,
    )


def _plan(module: torch.nn.Module) -> tuple[Callable[..., Any] | None, tuple[str, str]]:
    """Replacement of a module's forward, and its name in the table; None if nothing fits."""
    replacement = _replacement(module)
    if replacement is not None:
        return (lambda self, *inputs: replacement.forward(self, ops, *inputs)), (
            replacement.name,
            replacement.by,
        )
    written, names = own_globals(module)
    fitting = [name for name in names if GLOBALS[name][2](written.__globals__[name])]
    if fitting:
        replaced = [GLOBALS[name] for name in fitting]
        return with_globals(written, fitting), (
            ", ".join(t[0] for t in replaced),
            ", ".join(t[1] for t in replaced),
        )
    if any(candidate.fits(module) for candidate in REPLACEMENTS):
        return None, ("", "computes something other than the kernel")
    if names:
        return None, ("", f"{', '.join(names)} of this model is not the kernel's function")
    if list(module.children()) or not list(module.parameters(recurse=False)):
        return None, ("", "")
    return None, ("", "no kernel of this kind")


def _patch(module: torch.nn.Module, forward: Callable[..., Any]) -> Callable[[], None]:
    """Replaces a module's forward; returns a function that restores it."""

    @wraps(type(module).forward)
    def named(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        with naming(self):
            return forward(self, *args, **kwargs)

    return _set(module, "forward", MethodType(named, module))


def _set(module: Any, name: str, value: Any) -> Callable[[], None]:
    """Sets an attribute of an object itself; returns a function that restores the old one."""
    held = vars(module)
    had, before = name in held, held.get(name)
    held[name] = value

    def back() -> None:
        if had:
            held[name] = before
        else:
            del held[name]

    return back


def _loss(model: Any) -> tuple[str, Callable[..., Any]] | None:
    """The loss function that a model calls, if we have it."""
    written, _ = own_globals(model)
    if "loss_function" not in getattr(getattr(written, "__code__", None), "co_names", ()):
        return None
    name = getattr(model.loss_function, "__name__", "")
    return (name, LOSSES[name]) if name in LOSSES else None


def _grouped(rows: list[Row]) -> tuple[Row, ...]:
    """One row for the same module of all layers; unreplaced containers are not listed."""
    counts = Counter(
        Row(re.sub(r"\.\d+(?=\.|$)", ".*", r.path), r.kind, r.replaced, r.by) for r in rows if r.by
    )
    return tuple(Row(r.path, r.kind, r.replaced, r.by, count) for r, count in counts.items())
