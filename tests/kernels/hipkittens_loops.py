"""HipKittens' own kernels beside ours: main loops, from the machine code of one compiler.

    python tests/kernels/hipkittens_loops.py CHECKOUT         # writes docs/hipkittens_loops.md
    python tests/kernels/hipkittens_loops.py CHECKOUT --print

CHECKOUT is a folder with HipKittens' main branch. Its sources are compiled with its own headers, for gfx950,
and nothing of them is kept. A pair is a record in `PAIRS`; a column is one in `COLUMNS`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hipkittens_sources as theirs
from gemm_table import compiler_name
from main_loop import Loop, loop_of

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.kernel import Kernel

DOCS = Path(__file__).resolve().parents[2] / "docs" / "hipkittens_loops.md"
ARCH = "gfx950"

HEAD = """# HipKittens' main loops and ours

HipKittens' own sources with its own headers, and our operators, for gfx950, compiled by {compiler}; written
by `python tests/kernels/hipkittens_loops.py CHECKOUT`. Of each kernel the loop with the most matrix
instructions, or, where there are none, all its instructions. Scratch is bytes of a lane. The figures on the
right are instructions for each matrix instruction of the size of 16x16x32 (32x32x16 counts as two and
16x16x128 as four), or for each 16 bytes that a lane loads or stores; waits are `s_waitcnt`, `s_nop`,
`s_setprio` and `s_sleep`. **Bold** is more than theirs, by a tenth and by 0.02.

"""

FOOT = """
Where theirs is better, and by what:

- Waits. In a turn of 16 matrix instructions the GEMMs of 8 waves have a wait and two changes of priority, and
  one wait of the compiler's; theirs have fewer, in loops of a thousand matrix instructions. In attention the
  compiler waits before each operand from shared memory; theirs waits by hand.
- Attention, backward: theirs adds dQ by atomics of two bf16, which round at each addition; ours adds floats,
  one a lane: 64 of the 80 loads. Theirs pins its registers by hand (`art`), which leaves 0.42 scalar and 0.15
  waiting instructions where the compiler's allocation of ours has 0.56 and 0.66.
- Rotary: ours computes addresses of strided views, at scalar cost, once a work-group.

Where ours is: none keeps anything in scratch memory; of theirs both GEMMs of fp8 do with this compiler.
LayerNorm and rotary take a quarter to a half of the vector instructions, and a sixth to a half of the
registers.

Bank conflicts in ours: none in these loops but the turning of dS in backward
([kernel_costs.md](kernel_costs.md)); in theirs they are not counted here.
"""


@dataclass(frozen=True)
class Pair:
    """A kernel of HipKittens and the operator that computes the same."""

    title: str
    source: str
    """Path in the checkout."""
    operator: str
    shape: dict[str, Any]
    step: str = ""
    kernel: str = ""
    """A part of the name of theirs, where a source has several kernels with loops."""


ATTENTION = {"batch": 1, "queries": 512, "keys": 512, "heads": 4, "heads_kv": 2, "dim": 128, "dim_v": 128}
PAIRS = (
    Pair(
        "GEMM of bf16, 8 waves",
        "kernels/gemm/bf16fp32/mi350x/256_256_64_32_with16x32.cpp",
        "gemm/bf16:ping_pong",
        {"m": 512, "n": 512, "k": 512},
    ),
    Pair(
        "GEMM of fp8, 8 waves",
        "kernels/gemm/fp8fp32/FP8_8wave/8_wave.cu",
        "gemm/fp8:ping_pong",
        {"m": 512, "n": 512, "k": 512},
    ),
    Pair(
        "GEMM of fp8, 4 waves",
        "kernels/gemm/fp8fp32/FP8_4wave/4_wave.cu",
        "gemm/fp8:interleave",
        {"m": 512, "n": 512, "k": 512},
    ),
    Pair("attention, forward", "kernels/attn/gqa/kernel.cpp", "attention/forward:ping_pong", ATTENTION),
    Pair(
        "attention, forward, causal",
        "kernels/attn/gqa_causal/kernel.cpp",
        "attention/forward:ping_pong",
        {**ATTENTION, "causal": 1},
    ),
    Pair(
        "attention, backward: dK, dV, dQ by atomics",
        "kernels/attn/gqa_backwards/attn_bkwd_non_causal.cpp",
        "attention/backward:atomics",
        ATTENTION,
        "keys",
    ),
    Pair(
        "LayerNorm with residual",
        "kernels/layernorm/kernel.cpp",
        "normalization/fused_add_layernorm",
        {"rows": 4096, "cols": 128},
    ),
    Pair(
        "rotary",
        "kernels/rotary/kernel.cpp",
        "rotary/rope",
        {"batch": 4, "heads": 32, "tokens": 1024, "dim": 128},
    ),
)


@dataclass(frozen=True)
class Row:
    """One side of a pair: the kernel and what is counted of it."""

    kernel: Kernel
    loop: Loop

    @property
    def unit(self) -> float:
        """Matrix instructions by their work, or 16 bytes that a lane moves."""
        total = 0.0
        for each in self.loop.instructions:
            if "mfma" in each.opcode:
                rows, _, k = (int(size) for size in each.opcode.split("f32_")[1].split("_")[0].split("x"))
                total += rows * rows * k / (16 * 16 * 32)
        if total:
            return total
        sizes = {"dwordx4": 1, "dwordx3": 0.75, "dwordx2": 0.5, "dword": 0.25, "short": 0.125, "b128": 1}
        for each in self.loop.instructions:
            if each.opcode.startswith(("buffer_", "global_")):
                words = each.opcode.split("_")
                total += next((size for name, size in sizes.items() if name in words), 0)
        return total

    def count(self, *kinds: str) -> float:
        return sum(self.loop.kinds[kind] for kind in kinds) / self.unit

    def opcodes(self, start: str) -> float:
        return sum(i.opcode.startswith(start) for i in self.loop.instructions) / self.unit


COLUMNS: tuple[tuple[str, Callable[[Row], float]], ...] = (
    ("VALU", lambda row: row.count("valu", "agpr copy")),
    ("SALU", lambda row: row.count("salu", "branch")),
    ("LDS", lambda row: row.count("lds")),
    ("loads", lambda row: row.count("direct load", "memory")),
    ("waits", lambda row: row.count("wait") - row.opcodes("s_barrier")),
    ("barriers", lambda row: row.opcodes("s_barrier")),
    ("all", lambda row: (len(row.loop.instructions) - row.loop.kinds["mfma"]) / row.unit),
)


def counted(kernel: Kernel) -> Row:
    """A kernel with its main loop, or whole where no matrix instruction is in a loop."""
    loop = loop_of(kernel)
    if loop is None or not loop.kinds["mfma"]:
        loop = Loop(list(kernel.instructions))
    return Row(kernel, loop)


def of_theirs(checkout: Path, pair: Pair) -> Row:
    """HipKittens' kernel: of a source's kernels the one with the most matrix instructions, or the longest."""
    source = theirs.Source("main", checkout, checkout / pair.source, ARCH, ())
    module = theirs._compile(source, [checkout / "include"])
    rows = [counted(module[name]) for name in module.kernels if pair.kernel in name]
    return max(rows, key=lambda row: (row.loop.kinds["mfma"], len(row.loop.instructions)))


def of_ours(pair: Pair) -> Row:
    spec = wb.kernels[pair.operator]
    steps = spec.steps_of(spec.shape(pair.shape, arch=ARCH), arch=ARCH)
    return counted(next(each.kernel for each in steps if each.step.name == pair.step or not pair.step))


def cells(title: str, row: Row, least: Row | None) -> str:
    resources = row.kernel.resources
    texts = [title, str(resources.vgprs), str(resources.agprs), str(resources.scratch)]
    texts.append(str(row.loop.kinds["mfma"] or "none"))
    for _, value in COLUMNS:
        text = f"{value(row):.2f}"
        worse = least is not None and value(row) > max(1.1 * value(least), value(least) + 0.02)
        texts.append(f"**{text}**" if worse else text)
    return "| " + " | ".join(texts) + " |"


def lines(checkout: Path) -> Iterator[str]:
    """Two lines a pair."""
    for pair in PAIRS:
        try:
            their = of_theirs(checkout, pair)
            yield cells(f"{pair.title}: HipKittens", their, None)
        except (WorkbenchError, OSError) as error:
            their = None
            said = str(error).splitlines()[0]
            yield f"| {pair.title}: HipKittens, {said} |" + " |" * (4 + len(COLUMNS))
        yield cells(f"{pair.title}: `{pair.operator}`", of_ours(pair), their)


def page(checkout: Path) -> str:
    heads = ["kernel", "VGPR", "AGPR", "scratch", "MFMAs in the loop", *(head for head, _ in COLUMNS)]
    table = [f"| {' | '.join(heads)} |", "|" + " --- |" * len(heads)]
    for line in lines(checkout):
        print(line, file=sys.stderr, flush=True)
        table.append(line)
    return HEAD.format(compiler=compiler_name()) + "\n".join(table) + "\n" + FOOT


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/hipkittens_loops.md.")
    parser.add_argument("checkout", type=Path, help="a folder with HipKittens' main branch")
    parser.add_argument("--print", action="store_true", help="show it instead of writing it")
    options = parser.parse_args()
    if not (options.checkout / "include" / "kittens.cuh").exists():
        parser.error(
            f"{options.checkout} has no include/kittens.cuh; give a checkout of HipKittens' main branch"
        )
    made = page(options.checkout.resolve())
    if options.print:
        print(made)
    else:
        DOCS.write_text(made)


if __name__ == "__main__":
    main()
