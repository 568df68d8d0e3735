"""First gradients of the tests' tiny models beside float64's: ours, PyTorch's, and what bf16 allows at best.

    python tests/benchmarks/gradients.py [--families llama ...] [--keep FILE] [--write]

The limit is what is left if everything is computed in float64, and only what modules, rotary embedding and
attention hand on is rounded to bf16, once, forward and backward. A flash attention keeps its result O in bf16
and takes from it what its backward pass begins with, delta = rowsum(dO O): each has a column with delta from
the rounded O, and one with delta from O as it is. `--write` puts the table into `docs/training.md`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import marked
import torch

from workbench import ops
from workbench.integrations.transformers import attention, use
from workbench.integrations.transformers.attention import mask
from workbench.integrations.transformers.replacements import References

TESTS = Path(__file__).resolve().parents[1]
sys.path.append(str(TESTS))
from transformer_models import FAMILIES, batch, cosines, make, step  # noqa: E402

DOCUMENT = TESTS.parent / "docs" / "training.md"
BEGIN, END = "<!-- gradients begin -->", "<!-- gradients end -->"
ROUNDED = "rounded"
"""Name of the attention that is computed in float64 on rounded queries, keys and values."""


class _Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        return x.bfloat16().to(x.dtype)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad.bfloat16().to(grad.dtype)


def rounded(made: Any) -> Any:
    """A module's result with its floating-point tensors as bf16 has them, and so their gradients."""
    if isinstance(made, torch.Tensor) and made.is_floating_point() and made.dim():
        return _Rounded.apply(made)  # type: ignore[no-untyped-call]
    return type(made)(map(rounded, made)) if type(made) in (tuple, list) else made


class _DeltaFrom(torch.autograd.Function):
    """A result of attention as it is, with delta from another one: the difference goes to the gradient of the
    softmax's logarithms, which the backward pass takes from delta."""

    @staticmethod
    def forward(ctx: Any, out: torch.Tensor, lse: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(out.double() - other)
        ctx.shape, ctx.dtype = lse.shape, lse.dtype
        return out.view_as(out)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        moved = (grad * ctx.saved_tensors[0]).sum(-1)
        # Packed sequences have tokens before heads in their result, and after them in the logarithms.
        return grad, (moved if moved.shape == ctx.shape else moved.mT).to(ctx.dtype), None


class Attention:
    """Functions of `calls`, which attention of the integration calls, with delta from another result.

    Args:
        calls: `ops`, or `References()`.
        rounded: whether delta is from the result in bf16; else from that of float64.
    """

    def __init__(self, calls: Any, rounded: bool) -> None:
        self.calls, self.rounded = calls, rounded

    def __getattr__(self, name: str) -> Any:
        def call(*given: Any, **how: Any) -> Any:
            made = getattr(self.calls, name)(*given, **how)
            wide = [t.detach().double() if t.is_floating_point() else t for t in given[:-1]]
            other = getattr(References(), name)(*wide, given[-1], **how).out
            other = other.bfloat16().double() if self.rounded else other
            return SimpleNamespace(out=_DeltaFrom.apply(made.out, made.lse, other))  # type: ignore[no-untyped-call]

        return call


def wide(
    family: str,
    name: str,
    attends: Callable[..., Any],
    masks: Callable[..., Any],
    hand_on: Callable[[Any], Any],
) -> Any:
    """A model of a family in float64, with an attention of this name, whose modules hand on what `hand_on`
    makes of their results."""
    from transformers import AttentionInterface, AttentionMaskInterface

    AttentionInterface.register(name, attends)
    AttentionMaskInterface.register(name, masks)
    model = make(family, torch.float64)
    model.set_attn_implementation(name)
    for module in model.modules():
        module.register_forward_hook(lambda module, given, made: hand_on(made))
    return model


def limit(family: str) -> Any:
    """A model of a family in float64 that hands on numbers of bf16."""

    def on_rounded(module: Any, q: Any, k: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        return rounded(attention(module, rounded(q), rounded(k), rounded(v), *args, **kwargs))

    return wide(family, ROUNDED, on_rounded, mask, rounded)


def on_kernels(family: str) -> Any:
    model = make(family)
    use(model)
    return model


COLUMNS: dict[str, tuple[Callable[[str], Any], Any]] = {
    "ours": (on_kernels, ops),
    "ours, delta from float64's O": (on_kernels, Attention(ops, rounded=False)),
    "PyTorch bf16": (make, ops),
    "limit, delta from rounded O": (limit, Attention(References(), rounded=True)),
    "bf16's limit": (limit, Attention(References(), rounded=False)),
}
"""What makes a model, and whose attention the integration calls."""


def lowest(family: str) -> dict[str, tuple[float, str]]:
    """The lowest cosine over a family's parameters, and whose it is."""
    _, wanted = step(make(family, torch.float64), batch())
    found = {}
    for name, (made, calls) in COLUMNS.items():
        with mock.patch.object(sys.modules[attention.__module__], "ops", calls):
            of = cosines(step(made(family), batch())[1], wanted)
        parameter = min(of, key=lambda each: of[each])
        found[name] = (of[parameter], parameter)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--keep", type=Path, default=Path("build/gradients.json"))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    rows = json.loads(options.keep.read_text()) if options.keep.exists() else {}
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"| | {' | '.join(COLUMNS)} | ours, of |", f"| --- |{' ---: |' * len(COLUMNS)} --- |"]
    for family in options.families:
        if family not in rows:
            rows[family] = lowest(family)
            options.keep.write_text(json.dumps(rows))
        name = FAMILIES[family][1].removesuffix("Config")
        values = " | ".join(f"{cosine:.6f}" for cosine, _ in rows[family].values())
        lines.append(f"| {name} | {values} | `{rows[family]['ours'][1]}` |")
        print(lines[-1], flush=True)
    if options.write:
        marked.put(DOCUMENT, "\n".join([BEGIN, *lines, END]))


if __name__ == "__main__":
    main()
