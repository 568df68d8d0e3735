"""The table of matrix instructions and the register tiles that they take, from the library's headers.

python -m workbench.tiles.matrix_operands
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from workbench import dtypes, targets
from workbench.paths import include_dir
from workbench.toolchain.mistakes import types

PAGE = Path(__file__).resolve().parents[2] / "docs" / "matrix_operands.md"
TARGETS = (
    *reversed(targets.TILE_TARGETS),
    *(name for name in targets.LIBRARY_TARGETS if name not in targets.TILE_TARGETS),
)
LANES = {name: int(targets.wave_size(name)) for name in TARGETS}
_NEWEST = targets.TILE_TARGETS[0]
"""The target of the instructions that the header has for CDNA4 alone."""
_OF_MACRO = {f"KITTENS_{targets.target(name).generation}": name for name in TARGETS}
"""Targets by the macro of their part of the header."""

ELEMENTS = ("float", "bf16", "half", "fp8e4m3", "fp8e5m2", "int8")
"""Types whose instructions have no scales, in the order of the rows."""

_BITS = {dtype.cpp: dtype.bits for dtype in dtypes.TYPES}
BYTES = {name: _BITS[name] // 8 for name in ELEMENTS}
"""Bytes of an element."""

ALIKE = ("half", "fp8e5m2")
"""Types with the same rows as the previous one, except for the names of the instructions."""

_INSTRUCTION = re.compile(
    r"^struct mfma<(\w+), (\d+), (\d+)> .*?__builtin_amdgcn_(mfma|wmma)_(\w+?)_?(\d+x\d+x\d+)_?(\w*?)"
    r"(?:_1k|_w32(?:_gfx12)?)?\(",
    re.M | re.S,
)
_ANY_FLOAT = re.compile(r"__builtin_amdgcn_mfma_scale_(f32_(\d+)x\d+x(\d+)_f8f6f4)\(")
_FORMAT = re.compile(r"^inline constexpr int matrix_format<(\w+)> =", re.M)
_CDNA4 = re.compile(r"^#if defined\(KITTENS_CDNA4\)$.*?^#endif$", re.M | re.S)

_PART = re.compile(r"^#(?:el)?if defined\((KITTENS_\w+)\)$", re.M)
_REST_IS_ZERO = re.compile(
    r"requires\(mfma<T, (\d+), (\d+)>::exists && \(bytes == (\d+) \|\| bytes == (\d+)\)\)"
)
"""Fewer bytes of an operand that a lane may hold, of which the instruction takes the rest as zero."""

HEAD = """# Operands of matrix instructions

Which base shape of a register tile goes with which operand of which matrix instruction (MFMA, on gfx11 and
gfx12 WMMA), by type of the elements. The compiler's errors about `mma` name this page.

## Layouts

`mma_ABt(d, a, b, c)` multiplies M x K by N x K. The layouts are those of the function that you call, and the
sizes along K are equal:

| function | a | b | c and d |
| --- | --- | --- | --- |
| `mma_ABt` | M x K, `row_l` | N x K, `row_l` | M x N, either |
| `mma_AB` | M x K, `row_l` | K x N, `col_l` | M x N, either |
| `mma_AtB` | K x M, `col_l` | K x N, `col_l` | M x N, either |
| `mma_AtBt` | K x M, `col_l` | N x K, `row_l` | M x N, either |

## Base shapes

- a and b have the same element type, and **one base shape of a row of the table**;
- c and d have one type: elements of float (int for int8), and the base shape of the same row.

The shapes are written M (N) by K, as in the row layout. In the column layout K runs down, so exchange the
two numbers: where the table has `rt_16x32_s`, a tile in the column layout has `rt_32x16_s`. Both operands
put K in the same order: a lane holds as many neighbours of each, 4 in `rt_16x32_4_s` and 8 in `rt_16x32_s`.

Of type half all is as of bf16, and the instructions end in `_f16`; of fp8e5m2 as of fp8e4m3, with `_bf8_bf8`.
"2 x" is the number of instructions that one base tile takes.

`python -m workbench.tiles.matrix_operands` writes this page from the tile library's headers. Scaled formats
(mxfp8, fp6, fp4) are in [Low precision](../notebooks/09_low_precision.ipynb).
"""


@dataclass(frozen=True)
class Shape:
    """A base shape of a register tile: a row is an index along M or N, columns run along K."""

    name: str
    rows: int
    cols: int
    stride: int


@dataclass(frozen=True)
class Instruction:
    """A matrix instruction without scales.

    Attributes:
        element: C++ type of the operands' elements.
        side: rows and columns of the accumulator.
        width: bytes of an operand that a lane holds.
        mnemonic: mnemonic as in a listing.
        targets: the targets that have it.
    """

    element: str
    side: int
    width: int
    mnemonic: str
    targets: tuple[str, ...]


def shapes() -> tuple[Shape, ...]:
    """Base shapes that the library names, with the names that kernels use."""
    return tuple(Shape(name, *size) for name, size in types.shapes().by_name.items())


@cache
def instructions() -> tuple[Instruction, ...]:
    """Instructions that `mma` chooses among."""
    header = include_dir() / "ops/warp/register/tile/matrix_instructions.cuh"
    text = header.read_text(encoding="utf-8")
    newer = [match.span() for match in _CDNA4.finditer(text)]
    records = []
    for match in _INSTRUCTION.finditer(text):
        element, side, width, kind, result, size, suffix = match.groups()
        mnemonic = _mnemonic(kind, result, size, suffix)
        if kind == "wmma":
            part = [found[1] for found in _PART.finditer(text, 0, match.start())][-1]
            having: tuple[str, ...] = (_OF_MACRO[part],)
        else:
            is_newer = any(first <= match.start() < end for first, end in newer)
            having = (_NEWEST,) if is_newer else targets.TILE_TARGETS
        records.append(Instruction(element, int(side), int(width), mnemonic, having))
    for match in _REST_IS_ZERO.finditer(text):
        side, width, *fewer = (int(number) for number in match.groups())
        part = [found[1] for found in _PART.finditer(text, 0, match.start())][-1]
        records += [
            replace(record, width=less)
            for record in list(records)
            if (record.side, record.width, record.targets) == (side, width, (_OF_MACRO[part],))
            for less in fewer
        ]
    for name, side, depth in _ANY_FLOAT.findall(text):
        width = int(side) * int(depth) // LANES[_NEWEST]
        for element in set(_FORMAT.findall(text)) & set(BYTES):
            records.append(Instruction(element, int(side), width, _mnemonic("mfma", name), (_NEWEST,)))
    return tuple(records)


def _mnemonic(*parts: str) -> str:
    """An instruction's name in a listing, from the parts of its builtin's."""
    return "_".join(("v", *parts))


def instruction(element: str, shape: Shape, target: str) -> Instruction | None:
    """The instruction of `mma` for an operand: the widest that fits evenly, as `mfma_bytes` of its header."""
    width = shape.rows * shape.cols // LANES[target] * BYTES[element]
    fitting = [
        record
        for record in instructions()
        if (record.element, record.side) == (element, shape.rows)
        and target in record.targets
        and width % record.width == 0
    ]
    return max(fitting, key=lambda record: record.width, default=None)


def rows() -> list[tuple[str, ...]]:
    """Element type, operand's base shape, accumulator's, and instructions by target."""
    table = []
    for element in (name for name in BYTES if name not in ALIKE):
        for shape in shapes():
            cells = []
            for target in TARGETS:
                record = instruction(element, shape, target)
                if record is None:
                    cells.append("none")
                    continue
                count = shape.rows * shape.cols // LANES[target] * BYTES[element] // record.width
                cells.append((f"{count} x " if count > 1 else "") + f"`{record.mnemonic}`")
            if set(cells) != {"none"}:
                table.append((f"`{element}`", f"`{shape.name}`", f"`rt_{shape.rows}x{shape.rows}_s`", *cells))
    return table


def document() -> str:
    """The page, as Markdown."""
    head = ("type", "a and b", "c and d", *TARGETS)
    lines = [head, ["---"] * len(head), *rows()]
    return HEAD + "\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(document(), encoding="utf-8")
