"""Five row-wise operators of Liger-Kernel beside ours, in one run. Times are modelled, counters counted.

    python tests/benchmarks/against_liger.py [--device MI355X] [--rows 4096] [--cols 4096] [--write]

Needs `pip install hipkittens-workbench[triton] liger-kernel`. Both compute the same from the same tensors in
bf16, which is checked before. `--write` puts the table into `docs/triton.md`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import marked
import torch

import workbench as wb

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "triton.md"
BEGIN, END = "<!-- liger begins -->", "<!-- liger ends -->"


@dataclass(frozen=True)
class Pair:
    """An operator of ours and Liger's function.

    Attributes:
        name: of ours.
        inputs: by name, `(rows, columns) -> tensors`.
        theirs: Liger's forward pass on the same tensors.
        result: the output of ours that is compared; "" where it has one.
    """

    name: str
    inputs: Callable[[int, int], dict[str, Any]]
    theirs: Callable[..., torch.Tensor]
    result: str = ""


def drawn(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed)).bfloat16()


def rms_norm(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    from liger_kernel.ops.rms_norm import rms_norm_forward

    return rms_norm_forward(x, weight, 1e-5, 0.0, "llama", None)[0]


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    from liger_kernel.ops.layer_norm import layer_norm_forward

    return layer_norm_forward(x, weight, bias, 1e-5)[0]


def softmax(x: torch.Tensor) -> torch.Tensor:
    from liger_kernel.ops.softmax import LigerSoftmaxFunction

    return LigerSoftmaxFunction.apply(x)


def silu_and_mul(x: torch.Tensor) -> torch.Tensor:
    from liger_kernel.ops.swiglu import swiglu_forward

    gate, up = (half.contiguous() for half in x.chunk(2, -1))
    return swiglu_forward(gate, up)[-1]


def gelu_tanh_and_mul(x: torch.Tensor) -> torch.Tensor:
    from liger_kernel.ops.geglu import geglu_forward

    gate, up = (half.contiguous() for half in x.chunk(2, -1))
    return geglu_forward(gate, up)[-1]


PAIRS = (
    Pair("normalization/rmsnorm", lambda r, c: {"x": drawn(r, c), "weight": drawn(c, seed=2)}, rms_norm),
    Pair(
        "normalization/layernorm",
        lambda r, c: {"x": drawn(r, c), "weight": drawn(c, seed=2), "bias": drawn(c, seed=3)},
        layer_norm,
    ),
    Pair("activations/softmax", lambda r, c: {"x": drawn(r, c)}, softmax),
    Pair("activations/silu_and_mul", lambda r, c: {"x": drawn(r, 2 * c)}, silu_and_mul),
    Pair("activations/gelu_tanh_and_mul", lambda r, c: {"x": drawn(r, 2 * c)}, gelu_tanh_and_mul),
)
HEAD = (
    "operator",
    "whose",
    "modelled",
    "may be off",
    "vector instructions",
    "vector memory",
    "LDS",
    "HBM read",
    "written",
    "VGPR",
    "waves/SIMD",
)
COUNTERS = ("SQ_INSTS_VALU", "SQ_INSTS_VMEM", "SQ_INSTS_LDS")


def row(who: str, name: str, profile: Any) -> list[str]:
    """A row of the table."""
    figure = profile.time
    bytes_moved = [profile.counters.get(key) for key in ("FETCH_SIZE", "WRITE_SIZE")]
    return [
        name,
        who,
        f"{figure.value:.1f} {figure.unit}",
        figure.error.short if figure.error is not None else "",
        *(f"{profile.counters[key].value:,.0f}" if key in profile.counters else "0" for key in COUNTERS),
        *("" if moved is None else f"{moved.value:,.0f} {moved.unit}" for moved in bytes_moved),
        f"{profile.resources.vgprs}",
        f"{profile.resources.occupancy.waves_per_simd:g}",
    ]


def measure(pair: Pair, rows: int, cols: int, device: str) -> list[list[str]]:
    """Rows of ours and of Liger's, once both are known to compute the same."""
    spec, given = wb.kernels[pair.name], pair.inputs(rows, cols)
    small = pair.inputs(16, cols)
    ours = spec(**small)
    ours = ours[pair.result] if pair.result else ours
    torch.testing.assert_close(pair.theirs(**small).float(), ours.float(), rtol=2e-2, atol=2e-2)
    mine = wb.profile(spec, **given, device=device)
    theirs = wb.profile(pair.theirs, **given)
    return [row("ours", pair.name, mine), row("Liger", "", theirs)]


def document(rows: Sequence[Sequence[str]], size: str, device: str) -> str:
    table = [f"| {' | '.join(HEAD)} |", f"| --- | --- |{' ---: |' * (len(HEAD) - 2)}"]
    table += [f"| {' | '.join(cells)} |" for cells in rows]
    about = f"`python tests/benchmarks/against_liger.py --write`: {size}, bf16, {device} (emulated)."
    return "\n".join([BEGIN, about, "", *table, END])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="MI355X")
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--cols", type=int, default=4096)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    device = f"emulated:{options.device}"
    found: list[list[str]] = []
    with wb.triton(device, cuda_means_cpu=True):
        for pair in PAIRS:
            found += measure(pair, options.rows, options.cols, device)
            print("\n".join(" | ".join(cells) for cells in found[-2:]), flush=True)
    text = document(found, f"{options.rows:,} x {options.cols:,}", options.device)
    if options.write:
        marked.put(DOCUMENT, text)


if __name__ == "__main__":
    main()
