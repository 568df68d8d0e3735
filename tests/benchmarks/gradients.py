"""First gradients of the tests' tiny models beside float64's: ours, PyTorch's, and what bf16 allows at best.

    python tests/benchmarks/gradients.py [--families llama ...] [--write]

The limit is what is left if everything is computed in float64, and only what modules, rotary embedding and
attention hand on is rounded to bf16, once, forward and backward. `--write` puts the table into
`docs/training.md`.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

import marked
import torch

from workbench.integrations.transformers import use

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


def limit(family: str) -> Any:
    """A model of a family in float64 that hands on numbers of bf16."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    def attention(module: Any, q: Any, k: Any, v: Any, *args: Any, **kwargs: Any) -> Any:
        return rounded(sdpa_attention_forward(module, rounded(q), rounded(k), rounded(v), *args, **kwargs))

    AttentionInterface.register(ROUNDED, attention)
    AttentionMaskInterface.register(ROUNDED, sdpa_mask)
    model = make(family, torch.float64)
    model.set_attn_implementation(ROUNDED)
    for module in model.modules():
        module.register_forward_hook(lambda module, given, made: rounded(made))
    return model


def lowest(family: str) -> dict[str, tuple[float, str]]:
    """The lowest cosine over a family's parameters, and whose it is."""
    ours = make(family)
    use(ours)
    models = {"ours": ours, "PyTorch bf16": make(family), "bf16's limit": limit(family)}
    _, wanted = step(make(family, torch.float64), batch())
    found = {}
    for name, model in models.items():
        of = cosines(step(model, batch())[1], wanted)
        parameter = min(of, key=lambda each: of[each])
        found[name] = (of[parameter], parameter)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", choices=list(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lines = ["| | ours | PyTorch bf16 | bf16's limit | ours, of |", "| --- | ---: | ---: | ---: | --- |"]
    for family in options.families:
        found = lowest(family)
        name = FAMILIES[family][1].removesuffix("Config")
        values = " | ".join(f"{cosine:.6f}" for cosine, _ in found.values())
        lines.append(f"| {name} | {values} | `{found['ours'][1]}` |")
        print(lines[-1], flush=True)
    if options.write:
        marked.put(DOCUMENT, "\n".join([BEGIN, *lines, END]))


if __name__ == "__main__":
    main()
