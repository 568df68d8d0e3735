"""Norms and rotary embeddings of a training step by Liger-Kernel and by ours, modelled in one run.

    python tests/benchmarks/training_liger.py [--model llama-1b] [--device MI355X] [--write]

Needs `pip install hipkittens-workbench[triton,training] liger-kernel`. Both compute the same gradients from
the same tensors in bf16, which is checked on a few rows first. `--write` puts the table into
`docs/training.md`.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import marked
import torch

import workbench as wb
from workbench.training.forecast import step_of
from workbench.training.models import MODELS

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "training.md"
BEGIN, END = "<!-- liger begins -->", "<!-- liger ends -->"
Tensors = list[torch.Tensor]


@dataclass(frozen=True)
class Part:
    """A kind of module.

    Attributes:
        operator: our operator of its forward pass.
        ours, theirs: `(tensors) -> results`, differentiable.
        drawn: `(batch, tokens, configuration) -> tensors`.
    """

    name: str
    operator: str
    ours: Callable[..., Tensors]
    theirs: Callable[..., Tensors]
    drawn: Callable[[int, int, dict[str, int]], Tensors]


def drawn(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


def norms(batch: int, tokens: int, config: dict[str, int]) -> Tensors:
    width = config["hidden_size"]
    return [drawn(batch * tokens, width, seed=1), drawn(width, seed=2)]


def heads(batch: int, tokens: int, config: dict[str, int]) -> Tensors:
    dim = config["head_dim"]
    counts = config["num_attention_heads"], config["num_key_value_heads"]
    angles = torch.rand(tokens, dim // 2, generator=torch.Generator().manual_seed(3)) * 6
    tables = [torch.cat((t, t), -1).bfloat16()[None] for t in (angles.cos(), angles.sin())]
    return [*(drawn(batch, count, tokens, dim, seed=count) for count in counts), *tables]


def our_norm(x: torch.Tensor, weight: torch.Tensor) -> Tensors:
    return [wb.ops.rms_norm(x, weight, 1e-5)]


def liger_norm(x: torch.Tensor, weight: torch.Tensor) -> Tensors:
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction

    # As for a training step: the gradient may not be written over what comes in, which others read.
    return [LigerRMSNormFunction.apply(x, weight, 1e-5, 0.0, "llama", False)]


def our_rope(q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Tensors:
    half = cos.shape[-1] // 2
    tables = [each[0, :, :half].contiguous() for each in (cos, sin)]
    return [wb.ops.rope(each, *tables, torch.arange(q.shape[2])) for each in (q, k)]


def liger_rope(q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Tensors:
    from liger_kernel.ops.rope import LigerRopeFunction

    return list(LigerRopeFunction.apply(q.clone(), k.clone(), cos, sin))


PARTS = (
    Part("RMSNorm", "normalization/rmsnorm", our_norm, liger_norm, norms),
    Part("rotary embedding of q and k", "rotary/rope", our_rope, liger_rope, heads),
)


def both_ways(function: Callable[..., Tensors], tensors: Tensors) -> Tensors:
    """Results, and gradients of their sum of squares by the first two tensors."""
    given = [t.detach().clone().requires_grad_(i < 2) for i, t in enumerate(tensors)]
    made = function(*given)
    torch.autograd.backward(made, [t.detach().clone() for t in made])
    return [*(t.detach() for t in made), *(t.grad for t in given[:2] if t.grad is not None)]


def row(part: Part, model: str, count: int) -> str:
    """A row of the table: one module both ways, and all `count` of a step."""
    chosen = MODELS[model]
    few, many = part.drawn(1, 32, chosen.options), part.drawn(chosen.batch, chosen.span, chosen.options)
    for own, other in zip(both_ways(part.ours, few), both_ways(part.theirs, few), strict=True):
        torch.testing.assert_close(other.float(), own.float(), rtol=2e-2, atol=2e-2 * own.abs().max().item())
    us = [wb.time(both_ways, function, many).median.value for function in (part.ours, part.theirs)]
    return (
        f"| {part.name} | {count} | {us[0]:.1f} us | {us[1]:.1f} us | {us[0] / us[1]:.2f} | "
        f"{count * us[0] / 1000:.2f} ms | {count * us[1] / 1000:.2f} ms |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="llama-1b", choices=[n for n in MODELS if n.startswith("llama")])
    parser.add_argument("--device", default="MI355X")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    calls = Counter(call.operator for call in step_of(options.model).calls)
    found = []
    with wb.triton(f"emulated:{options.device}", cuda_means_cpu=True):
        for part in PARTS:
            # One module turns q and k.
            count = calls[part.operator] // (2 if part.operator.startswith("rotary") else 1)
            found.append(row(part, options.model, count))
            print(found[-1], flush=True)
    text = "\n".join(
        [
            BEGIN,
            "`python tests/benchmarks/training_liger.py --write`: "
            f"{options.model}, {options.device} (modelled).",
            "",
            "| module | in a step | ours, both passes | Liger | ratio | ours, a step | Liger, a step |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            *found,
            END,
        ]
    )
    if options.write:
        marked.put(DOCUMENT, text)


if __name__ == "__main__":
    main()
