"""Modules of a training step by Liger-Kernel and by ours: norms, rotary, SwiGLU and the loss, modelled.

    python tests/benchmarks/training_liger.py [--model llama-1b] [--device MI355X] [--write]

Needs `pip install hipkittens-workbench[triton,training] liger-kernel`. Both compute the same gradients from
the same tensors in bf16, which is checked on a few rows first. `--write` puts the table into
`docs/training.md`; rows are kept in --keep as soon as they are there.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import marked
import torch

import workbench as wb
from workbench.profile.training_step import StepProfile
from workbench.training.forecast import step_of
from workbench.training.models import MODELS

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "training.md"
BEGIN, END = "<!-- liger begins -->", "<!-- liger ends -->"
Tensors = list[torch.Tensor]


@dataclass(frozen=True)
class Part:
    """A kind of module.

    Attributes:
        operator: one of ours that the step calls as often as this.
        ours, theirs: `(tensors) -> results`, differentiable by those of the first two that are no integers.
        drawn: `(batch, tokens, configuration) -> tensors`.
        around: what `ours` has in it and Liger's launches have not: its time is taken off.
        narrow: sizes that Liger's launches do not depend on, small, for those run in full.
        calls: how many calls of `operator` are one of these.
        shares: such a module of a step is so many of what is timed, which has fewer rows.
    """

    name: str
    operator: str
    ours: Callable[..., Tensors]
    theirs: Callable[..., Tensors]
    drawn: Callable[[int, int, dict[str, int]], Tensors]
    around: Callable[..., Tensors] | None = None
    narrow: Mapping[str, int] = field(default_factory=dict)
    calls: int = 1
    shares: int = 1


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
    places = torch.arange(q.shape[2], device=q.device)
    return [wb.ops.rope(each, *tables, places) for each in (q, k)]


def liger_rope(q: torch.Tensor, k: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> Tensors:
    from liger_kernel.ops.rope import LigerRopeFunction

    return list(LigerRopeFunction.apply(q.clone(), k.clone(), cos, sin))


def gates(batch: int, tokens: int, config: dict[str, int]) -> Tensors:
    """Rows, what their gate multiplies, and the gate's weight."""
    rows, width, between = batch * tokens, config["hidden_size"], config["intermediate_size"]
    weight = drawn(between, width, seed=3) / width**0.5
    return [drawn(rows, width, seed=1), drawn(rows, between, seed=2), weight]


def our_gate(x: torch.Tensor, up: torch.Tensor, weight: torch.Tensor) -> Tensors:
    return [wb.ops.gemm(x, weight, activation="silu", gate=up)]


def our_product(x: torch.Tensor, up: torch.Tensor, weight: torch.Tensor) -> Tensors:
    return [wb.ops.gemm(x, weight)]


def liger_gate(x: torch.Tensor, up: torch.Tensor, weight: torch.Tensor) -> Tensors:
    from liger_kernel.ops.swiglu import LigerSiLUMulFunction

    return [LigerSiLUMulFunction.apply(torch.nn.functional.linear(x, weight), up)]


def factors(batch: int, tokens: int, config: dict[str, int]) -> Tensors:
    """A gate, and what it multiplies."""
    return [drawn(batch * tokens, config["intermediate_size"], seed=seed) for seed in (1, 2)]


def our_product_of_two(gate: torch.Tensor, up: torch.Tensor) -> Tensors:
    # Side by side, as one product of both makes them.
    return [wb.ops.silu_and_mul(torch.cat((gate, up), -1))]


def liger_product_of_two(gate: torch.Tensor, up: torch.Tensor) -> Tensors:
    from liger_kernel.ops.swiglu import LigerSiLUMulFunction

    # It writes the gradients over both.
    return [LigerSiLUMulFunction.apply(gate.clone(), up.clone())]


LOSS_SHARES = 4
"""Logits of all rows of llama-1b are 2 GB, each more than once in memory here."""


def losses(batch: int, tokens: int, config: dict[str, int]) -> Tensors:
    rows, words = max(1, batch * tokens // LOSS_SHARES), config["vocab_size"]
    labels = torch.randint(words, (rows,), generator=torch.Generator().manual_seed(2))
    return [drawn(rows, words, seed=1), labels]


def our_loss(logits: torch.Tensor, labels: torch.Tensor) -> Tensors:
    return [wb.ops.cross_entropy(logits, labels, -100).loss.sum() / len(labels)]


def liger_loss(logits: torch.Tensor, labels: torch.Tensor) -> Tensors:
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

    # It writes the gradient over its logits.
    return [LigerCrossEntropyFunction.apply(logits.clone(), labels, None)[0]]


PARTS = (
    Part("RMSNorm", "normalization/rmsnorm", our_norm, liger_norm, norms),
    Part("rotary embedding of q and k", "rotary/rope", our_rope, liger_rope, heads, calls=2),
    Part(
        "SwiGLU: silu(gate) up", "gemm/epilogue_backward", our_gate, liger_gate, gates,
        around=our_product, narrow={"hidden_size": 32},
    ),
    Part(
        "the same with the gate kept", "gemm/epilogue_backward",
        our_product_of_two, liger_product_of_two, factors,
    ),
    Part("cross-entropy", "activations/cross_entropy", our_loss, liger_loss, losses, shares=LOSS_SHARES),
)  # fmt: skip


def both_ways(function: Callable[..., Tensors], tensors: Tensors) -> Tensors:
    """Results, and gradients by the first two tensors: of a loss, else of the results' sum of squares."""
    given = [
        t.detach().clone().requires_grad_(i < 2 and t.is_floating_point()) for i, t in enumerate(tensors)
    ]
    made = function(*given)
    torch.autograd.backward(made, [t.detach().clone() if t.dim() else torch.ones_like(t) for t in made])
    return [*(t.detach() for t in made), *(t.grad for t in given[:2] if t.grad is not None)]


def calls_of(function: Callable[..., Tensors], tensors: Tensors, device: str) -> StepProfile:
    """The calls of our operators both ways; nothing is computed."""
    with wb.profile_step(device) as step:
        both_ways(function, [t.to("meta") for t in tensors])
    return step


def our_time(part: Part, tensors: Tensors, device: str) -> float:
    """Microseconds both ways, each operator by itself, without what is around."""
    step = calls_of(part.ours, tensors, device)
    counts = Counter(call.what for call in step.calls)
    if part.around is not None:
        counts.subtract(call.what for call in calls_of(part.around, tensors, device).calls)
    first = {call.what: call for call in step.calls}
    return sum(n * step.time_of(first[what]).median.value for what, n in counts.items() if n)


def row(part: Part, model: str, count: int, device: str) -> str:
    """A row of the table: one module both ways, and all `count` of a step."""
    chosen = MODELS[model]
    few = part.drawn(1, 32, chosen.options)
    run = part.drawn(chosen.batch, chosen.span, {**chosen.options, **part.narrow})
    # Outside of Triton's context, in which "meta" does not keep its device.
    ours = our_time(part, part.drawn(chosen.batch, chosen.span, chosen.options), device)
    with wb.triton(f"emulated:{device}", cuda_means_cpu=True):
        for own, other in zip(both_ways(part.ours, few), both_ways(part.theirs, few), strict=True):
            near = 2e-2 * own.abs().max().item()
            torch.testing.assert_close(other.float(), own.float(), rtol=2e-2, atol=near)
        theirs = wb.time(both_ways, part.theirs, run).median.value
    us = [part.shares * each for each in (ours, theirs)]
    return (
        f"| {part.name} | {count} | {us[0]:,.1f} us | {us[1]:,.1f} us | {us[0] / us[1]:.2f} | "
        f"{count * us[0] / 1000:.2f} ms | {count * us[1] / 1000:.2f} ms |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", default="llama-1b", choices=[n for n in MODELS if n.startswith("llama")])
    parser.add_argument("--device", default="MI355X")
    parser.add_argument("--keep", type=Path, default=Path("build/training_liger.json"))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    kept = json.loads(options.keep.read_text()) if options.keep.exists() else {}
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    rows = kept.setdefault(f"{options.model} {options.device}", {})
    calls = Counter(call.operator for call in step_of(options.model).calls)
    for part in PARTS:
        if part.name not in rows:
            count = calls[part.operator] // part.calls
            rows[part.name] = row(part, options.model, count, options.device)
            options.keep.write_text(json.dumps(kept))
        print(rows[part.name], flush=True)
    text = "\n".join(
        [
            BEGIN,
            "`python tests/benchmarks/training_liger.py --write`: "
            f"{options.model}, {options.device} (modelled).",
            "",
            "| module | in a step | ours, both passes | Liger | ratio | ours, a step | Liger, a step |",
            "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
            *(rows[part.name] for part in PARTS),
            END,
        ]
    )
    if options.write:
        marked.put(DOCUMENT, text)


if __name__ == "__main__":
    main()
