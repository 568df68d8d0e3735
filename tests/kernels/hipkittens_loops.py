"""HipKittens' kernels compared with ours: main loops, from the machine code of one compiler.

    python tests/kernels/hipkittens_loops.py CHECKOUT         # writes docs/hipkittens_loops.md
    python tests/kernels/hipkittens_loops.py CHECKOUT --print

CHECKOUT is a folder with HipKittens' main branch. Its sources are compiled with its own headers, for gfx950,
and nothing of them is stored. A pair is a record in `PAIRS`; a column is one in `COLUMNS`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import hipkittens_sources as theirs
from gemm_table import compiler_name
from main_loop import Loop, kind_of, loop_of

import workbench as wb
from workbench.codeobject.instruction import Instruction
from workbench.errors import WorkbenchError
from workbench.kernel import Kernel
from workbench.launches import LaunchOptions
from workbench.targets import target

DOCS = Path(__file__).resolve().parents[2] / "docs" / "hipkittens_loops.md"
ARCH = "gfx950"

HEAD = """# HipKittens' main loops and ours

HipKittens' own sources with its own headers, and our operators, for gfx950, compiled by {compiler}; written
by `python tests/kernels/hipkittens_loops.py CHECKOUT`.

For each kernel we take the loop with the most matrix instructions, and the shortest if several have as many:
our kernels have a second loop for blocks of keys that a mask cuts. A kernel without matrix instructions
counts everything that a wave executes: ours as the emulated device counted it, theirs with every instruction
once, the least possible. Scratch is bytes per lane. The figures on the right are instructions per matrix
instruction of 16x16x32 (32x32x16 counts as two, 16x16x128 as four), or per 16 bytes that a lane loads or
stores; waits are `s_waitcnt`, `s_nop`, `s_setprio` and `s_sleep`. **Bold** is more than theirs, by a tenth
and by 0.02.

"""

FOOT = """
Theirs is better in one place:

- Attention, backward: both pin their registers by hand (`art`) and add dQ once for 256 keys. Theirs adds it
  with atomics of two bf16, which round at each addition; ours adds floats, one per lane: 32 of the 44 loads.
  For 16 sequences of 1024 and 16 heads on an MI355X, we model 404 us including what comes before and after
  (typically 13% off), 850 TFLOP/s; theirs has 734, as published.

Ours is better elsewhere. Attention's main loop has two thirds of the instructions: one instruction scales and
subtracts the maximum of a block, and masks have their own loop. None of ours uses scratch memory; both of
their fp8 GEMMs do with this compiler. LayerNorm and rotary need a quarter to a half of the vector
instructions and a sixth to a half of the registers. Rotary uses as many scalar instructions, although its
views have strides: a wave computes addresses for the first of its four heads and adds to them for the others.

Our loops have no bank conflicts ([kernel_costs.md](kernel_costs.md)); we did not count theirs here.
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
    """A part of the name of their kernel, if a source has several with loops."""


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
        "attention/backward:pinned",
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
    """One side of a pair: the kernel and its counts."""

    kernel: Kernel
    loop: Loop
    often: Mapping[int, float] | None = None
    """Executions of an instruction by a wave, by address; if None, one each."""

    def sum(self, value: Callable[[Instruction], float]) -> float:
        """The sum of a value over all executed instructions."""
        often = self.often
        return sum(
            value(i) * (1.0 if often is None else often.get(i.address, 0.0)) for i in self.loop.instructions
        )

    @property
    def unit(self) -> float:
        """Matrix instructions by their work, or 16 bytes that a lane moves."""
        return self.sum(work_of) or self.sum(moved_by)

    def count(self, *kinds: str) -> float:
        return self.sum(lambda each: kind_of(each) in kinds) / self.unit

    def opcodes(self, start: str) -> float:
        return self.sum(lambda each: each.opcode.startswith(start)) / self.unit


def work_of(instruction: Instruction) -> float:
    """Work of a matrix instruction, in those of 16x16x32."""
    if "mfma" not in instruction.opcode:
        return 0.0
    rows, _, k = (int(size) for size in instruction.opcode.split("f32_")[1].split("_")[0].split("x"))
    return rows * rows * k / (16 * 16 * 32)


def moved_by(instruction: Instruction) -> float:
    """Times 16 bytes that a lane loads or stores."""
    sizes = {"dwordx4": 1, "dwordx3": 0.75, "dwordx2": 0.5, "dword": 0.25, "short": 0.125, "b128": 1}
    if not instruction.opcode.startswith(("buffer_", "global_")):
        return 0.0
    words = instruction.opcode.split("_")
    return next((size for name, size in sizes.items() if name in words), 0.0)


COLUMNS: tuple[tuple[str, Callable[[Row], float]], ...] = (
    ("VALU", lambda row: row.count("valu", "agpr copy")),
    ("SALU", lambda row: row.count("salu", "branch")),
    ("LDS", lambda row: row.count("lds")),
    ("loads", lambda row: row.count("direct load", "memory")),
    ("waits", lambda row: row.count("wait") - row.opcodes("s_barrier")),
    ("barriers", lambda row: row.opcodes("s_barrier")),
    ("all", lambda row: row.sum(lambda each: kind_of(each) != "mfma") / row.unit),
)


def counted(kernel: Kernel) -> Row:
    """A kernel with its main loop, or the whole kernel if no matrix instruction is in a loop."""
    loop = loop_of(kernel)
    if loop is None or not loop.kinds["mfma"]:
        loop = Loop(list(kernel.instructions))
    return Row(kernel, loop)


def of_theirs(checkout: Path, pair: Pair) -> Row:
    """HipKittens' kernel: of a source's kernels the one with the most matrix instructions, or the longest."""
    source = theirs.Source("main", checkout, checkout / pair.source, ARCH, ())
    module = theirs._kernels(theirs._compile(source, [checkout / "include"]))
    rows = [counted(module[name]) for name in module.kernels if pair.kernel in name]
    return max(rows, key=lambda row: (row.loop.kinds["mfma"], len(row.loop.instructions)))


def of_ours(pair: Pair) -> Row:
    spec = wb.kernels[pair.operator]
    shape = spec.shape(pair.shape, arch=ARCH)
    ready = list(spec.steps_of(shape, arch=ARCH))
    at = next(n for n, each in enumerate(ready) if each.step.name == pair.step or not pair.step)
    row = counted(ready[at].kernel)
    if row.loop.kinds["mfma"]:
        return row
    where = wb.device(f"emulated:{ARCH}")
    options = LaunchOptions(count=True)
    _, records = spec.run(spec.make_inputs(shape, device=where), shape=shape, device=where, options=options)
    record = records[at]
    waves = math.prod(record.grid) * -(-math.prod(record.block) // target(ARCH).wave_size)
    return replace(row, often={at: n / waves for at, n in (record.counts or {}).items()})


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
            message = str(error).splitlines()[0]
            yield f"| {pair.title}: HipKittens, {message} |" + " |" * (4 + len(COLUMNS))
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
    document = page(options.checkout.resolve())
    if options.print:
        print(document)
    else:
        DOCS.write_text(document)


if __name__ == "__main__":
    main()
