"""Which rounding of a flash attention costs a gradient how much: each put into float64 by itself.

    python tests/benchmarks/gradient_roundings.py [--family bert] [--write]

P are a softmax's weights, O its result, dS = P (dP - delta) the gradient of its scores, delta = rowsum(dO O).
`--write` puts the table into `docs/training.md`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import marked
import torch
from gradients import DOCUMENT, rounded, wide
from transformer_models import FAMILIES, batch, cosines, make, step

BEGIN, END = "<!-- roundings begin -->", "<!-- roundings end -->"
NAME = "roundings"
HANDED, P, DS, DELTA = "what modules and attention hand on", "P", "dS", "O in delta"
TRIES = ((HANDED,), (P,), (DS,), (DELTA,), (HANDED, P, DS), (HANDED, P, DS, DELTA))


class _Attention(torch.autograd.Function):
    """softmax(q kᵀ scale) v and its gradients as flash attentions have them, with some tensors in bf16."""

    @staticmethod
    def forward(
        ctx: Any,
        q: torch.Tensor,
        k: torch.Tensor,
        v: torch.Tensor,
        mask: torch.Tensor | None,
        scale: float,
        of: Callable[[str, torch.Tensor], torch.Tensor],
        told: list[str],
    ) -> torch.Tensor:
        scores = q @ k.mT * scale
        p = (scores if mask is None else scores.masked_fill(~mask, -torch.inf)).softmax(-1)
        out = of(P, p) @ v
        ctx.save_for_backward(q, k, v, p, of(DELTA, out))
        ctx.scale, ctx.of, ctx.told = scale, of, told
        return out

    @staticmethod
    def backward(ctx: Any, dout: torch.Tensor) -> Any:
        q, k, v, p, out = ctx.saved_tensors
        ds = p * (dout @ v.mT - (dout * out).sum(-1, keepdim=True))
        apart = (k - k.mean(-2, keepdim=True)).norm()
        terms = (ds.abs() @ k.abs()).norm() / (ds @ k).norm()
        ctx.told.append(
            f"keys have a norm of {k.norm():.1f}, and of {apart:.1f} without their mean; dQ is what is left "
            f"of terms {terms:.0f} times as large."
        )
        ds = ctx.of(DS, ds)
        dv = ctx.of(P, p).mT @ dout
        return ds @ k * ctx.scale, ds.mT @ q * ctx.scale, dv, None, None, None, None


def gradients(family: str, roundings: tuple[str, ...]) -> tuple[dict[str, torch.Tensor], str]:
    """Of a family in float64 but for some roundings, and what is to tell of its last layer."""
    from transformers.masking_utils import sdpa_mask

    told: list[str] = []

    def of(name: str, x: torch.Tensor) -> torch.Tensor:
        return x.bfloat16().to(x.dtype) if name in roundings else x

    def handed(made: Any) -> Any:
        return rounded(made) if HANDED in roundings else made

    def attention(module: Any, q: Any, k: Any, v: Any, mask: Any, scaling: float, **_: Any) -> Any:
        groups = q.shape[1] // k.shape[1]
        q, k, v = handed(q), *(handed(each).repeat_interleave(groups, 1) for each in (k, v))
        made = _Attention.apply(q, k, v, mask, scaling, of, told)  # type: ignore[no-untyped-call]
        return handed(made).transpose(1, 2), None

    model = wide(family, NAME, attention, sdpa_mask, handed)
    return step(model, batch())[1], told[0]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--family", choices=list(FAMILIES), default="bert")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    _, wanted = step(make(options.family, torch.float64), batch())
    # What is computed otherwise, and rounds nothing, is the same.
    exact, told = gradients(options.family, ())
    assert min(cosines(exact, wanted).values()) > 1 - 1e-9
    lines = [
        f"`python tests/benchmarks/gradient_roundings.py --write`: {FAMILIES[options.family][0]}. "
        f"In its last layer {told}",
        "",
        "| in bf16, all else in float64 | lowest cosine | of |",
        "| --- | ---: | --- |",
    ]
    for roundings in TRIES:
        of = cosines(gradients(options.family, roundings)[0], wanted)
        name = min(of, key=lambda each: of[each])
        lines.append(f"| {', '.join(roundings)} | {of[name]:.6f} | `{name}` |")
    text = "\n".join([BEGIN, *lines, END])
    print(text)
    if options.write:
        marked.put(DOCUMENT, text)


if __name__ == "__main__":
    main()
