"""The table of bank conflicts: every shared tile with every register tile, on the emulated devices.

    python -m workbench.tiles.bank_conflicts --out bank_conflicts.md   # all pairs, both targets
    python -m workbench.tiles.bank_conflicts --only st_16x32_s         # one shared shape

One wave stores each pair and loads it back, in the smallest tile that fits both base shapes; larger tiles
repeat it. The trace of that launch shows what the LDS did.
"""

from __future__ import annotations

import argparse
import itertools
import math
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from workbench import toolchain
from workbench.codeobject.instructions import of_one_address
from workbench.dtypes import BF16, E4M3FN, FP16, FP32
from workbench.kernel import Module, compile, resolve_device
from workbench.launches import AccessKind, LaunchOptions
from workbench.operators import Launch
from workbench.targets import CONFLICT_RULES, TILE_TARGETS, ConflictRule, target
from workbench.tiles.elements import torch_dtype
from workbench.tiles.result import WaveAccess
from workbench.tiles.run import wave_access
from workbench.tiles.tile_type import vocabulary

ELEMENTS = {data_type.cpp: data_type.bits // 8 for data_type in (FP32, BF16, FP16, E4M3FN)}
"""Element types of the table and their bytes; other types behave like those of their size."""

MEANT_FOR: dict[str, dict[str, tuple[str, ...]]] = {
    "st_16x16_swizzled_s": {"row_l": ("rt_16x16_s",), "col_l": ("rt_16x16_s", "rt_32x16_4_s")},
    "st_16x32_s": {"row_l": ("rt_16x32_s",), "col_l": ("rt_16x32_s", "rt_16x32_4_s")},
    "st_32x16_s": {"row_l": ("rt_32x16_s",), "col_l": ("rt_32x16_4_s",)},
    "st_32x32_s": {
        "row_l": ("rt_32x16_s", "rt_16x32_s", "rt_32x32_8_s"),
        "col_l": ("rt_32x16_s", "rt_16x32_s", "rt_16x32_4_s", "rt_32x32_s", "rt_32x32_8_s"),
    },
    "st_32x32_swizzled_s": {"col_l": ("rt_16x32_4_s",)},
    "st_8x32_s": {"row_l": ("rt_16x32_s",), "col_l": ("rt_16x32_s", "rt_16x32_4_s")},
    "st_16x64_s": {"row_l": ("rt_16x32_s",)},
    "st_16x128_s": {"row_l": ("rt_16x128_s",)},
}
"""Base shapes of shared tiles, and of the register tiles that they are laid out for, by layout."""

ONE_BYTE: dict[str, tuple[str, ...]] = {
    "st_16x128_s": ("rt_32x64_s",),
    "st_16x64_s": ("rt_16x64_s", "rt_32x64_s", "rt_32x32_16_s"),
    "st_32x32_s": ("rt_32x64_s", "rt_32x32_16_s"),
}
"""The same only for 1-byte types, in the row layout: operands of matrix instructions with the longest K."""

NARROW: dict[str, tuple[tuple[str, str], ...]] = {
    "gfx950": (
        ("st_32x16_s", "rt_32x16_s"),
        ("st_32x32_s", "rt_32x16_s"),
        ("st_32x32_s", "rt_32x32_8_s"),
        ("st_8x32_s", "rt_16x32_s"),
        ("st_16x64_s", "rt_16x32_s"),
    ),
    "gfx942": (("st_8x32_s", "rt_16x32_s"), ("st_16x64_s", "rt_16x32_s")),
}
"""Pairs of `MEANT_FOR` that are not for 1-byte types in the row layout, by target.

There a lane holds 8 bytes of a row. On gfx950 a phase has 32 lanes, and each reads one half of a piece of 16
bytes: for `rt_32x16_s` and `rt_32x32_8_s` the same half of 32 pieces, 512 bytes over banks for 256, in any
order of pieces; and pieces stay whole, because a lane loads 16 bytes straight to shared memory. Two base
tiles of `st_8x32_s`, one above the other, have the same order and conflict. The order of `st_16x64_s` is for
16 bytes per lane.
"""

_BATCH = 24
"""Number of pairs in one code object: compilation needs memory in proportion."""

_SOURCE = """#include "kittens.cuh"
using namespace kittens;

template <typename T> struct memory { gl<T, -1, -1, -1, -1> x, out; };

/* Out of registers into shared memory and back; the barrier keeps the compiler from going past memory. */
template <typename ST, typename RT> __device__ inline void round_trip(const memory<typename ST::dtype> &g) {
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al((int *)&__shm[0]);
    ST &s = al.template allocate<ST>();
    RT stored, loaded;
    load(stored, g.x, {0, 0, 0, 0});
    store(s, stored);
    __syncthreads();
    load(loaded, s);
    store(g.out, loaded, {0, 0, 0, 0});
}
"""

_KERNEL = """__global__ __launch_bounds__({wave}) void {name}(const memory<{element}> g) {{
    round_trip<{shared}, {register}>(g);
}}
"""


@dataclass(frozen=True, order=True)
class Pair:
    """A shared tile and a register tile of the same size and type.

    Attributes:
        shared, register: base shapes of the shared and the register tile.
        layout: layout of the register tile.
        element: C++ name of the element type.
    """

    shared: str
    register: str
    layout: str
    element: str

    @property
    def size(self) -> tuple[int, int]:
        """Rows and columns of the smallest tile that consists of whole base tiles of both."""
        (a, b), (c, d) = _dims(self.shared), _dims(self.register)
        return math.lcm(a, c), math.lcm(b, d)

    def meant(self, arch: str) -> bool:
        """True if the shared tile is laid out for this register tile on a target."""
        narrow = ELEMENTS.get(self.element, 1) == 1 and self.layout == "row_l"
        if narrow and self.register in ONE_BYTE.get(self.shared, ()):
            return True
        if self.register not in MEANT_FOR.get(self.shared, {}).get(self.layout, ()):
            return False
        return not (narrow and (self.shared, self.register) in NARROW[arch])

    def types(self) -> tuple[str, str]:
        """The two C++ types."""
        rows, cols = self.size
        dims = f"{self.element}, {rows}, {cols}"
        return f"st<{dims}, {self.shared}>", f"rt<{dims}, {self.layout}, {self.register}>"


@dataclass(frozen=True)
class Direction:
    """The conflicts of a store or of a load.

    Attributes:
        accesses: number of accesses by opcode. An instruction with two addresses, such as ds_write2_b32,
            counts as two accesses of ds_write_b32, as the LDS serves it: whether the compiler joins two
            depends on the surrounding code.
        phases: phases of all accesses with active lanes.
        conflicts: SQ_LDS_BANK_CONFLICT: cycles beyond one per phase.
    """

    accesses: dict[str, int]
    phases: int
    conflicts: int

    @classmethod
    def from_accesses(cls, accesses: Sequence[WaveAccess]) -> Direction:
        return cls(
            dict(Counter(of_one_address(access.opcode) for access in accesses)),
            sum(len(a.phases) for a in accesses),
            sum(a.conflicts for a in accesses),
        )

    @property
    def cells(self) -> tuple[str, str, str]:
        """Cell of the table: accesses, phases, conflicts."""
        text = " + ".join(f"{count} `{opcode}`" for opcode, count in self.accesses.items())
        return text, str(self.phases), str(self.conflicts)


@dataclass(frozen=True)
class Entry:
    """A pair on a target."""

    arch: str
    pair: Pair
    load: Direction
    store: Direction


_LANES = max(target(name).wave_size for name in TILE_TARGETS)


@cache
def _dims(shape: str) -> tuple[int, int]:
    """Rows and columns from a base shape's name."""
    match = re.match(r"[sr]t_(\d+)x(\d+)_", shape)
    assert match is not None, shape
    return int(match[1]), int(match[2])


def pairs(elements: Iterable[str] = ELEMENTS) -> list[Pair]:
    """Every pair that exists: the lanes of a wave cannot lie along more columns than there are lanes."""
    names = vocabulary().names
    return [
        Pair(shared, register, layout, element)
        for shared, register, layout, element in itertools.product(
            names["st_shape"], names["rt_shape"], names["rt_layout"], elements
        )
        if layout == "row_l" or _dims(register)[1] <= _LANES
    ]


def count(selected: Sequence[Pair], arch: str) -> Iterator[Entry]:
    """Each pair's bank conflicts, counted by launches on a target."""
    for start in range(0, len(selected), _BATCH):
        batch = selected[start : start + _BATCH]
        kernels = [
            _KERNEL.format(
                name=f"pair_{n}",
                element=pair.element,
                shared=shared,
                register=register,
                wave=target(arch).wave_size,
            )
            for n, pair in enumerate(batch)
            for shared, register in (pair.types(),)
        ]
        module = compile(_SOURCE + "".join(kernels), arch=arch, name="banks.hip")
        for n, pair in enumerate(batch):
            yield _run(module, f"pair_{n}", pair, arch)


def _run(module: Module, kernel: str, pair: Pair, arch: str) -> Entry:
    import torch

    rows, cols = pair.size
    x = torch.zeros(rows, cols).to(torch_dtype(pair.element, arch))
    record = module[kernel].launch(
        Launch(1, target(arch).wave_size, x.nbytes),
        (),
        {"x": x, "out": torch.zeros_like(x)},
        device=resolve_device(f"emulated:{arch}"),
        options=LaunchOptions(trace=True),
    )

    def direction(kind: AccessKind) -> Direction:
        return Direction.from_accesses([wave_access(module, a) for a in record.accesses if a.kind is kind])

    return Entry(arch, pair, direction(AccessKind.LDS_READ), direction(AccessKind.LDS_WRITE))


HEAD = (
    "shared tile",
    "register tile",
    "layout",
    "elements",
    "load",
    "phases",
    "conflicts",
    "store",
    "phases",
    "conflicts",
)


def lines(entries: Sequence[Entry]) -> list[str]:
    """Rows of the table for one target's entries; types with the same results share one."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for entry in entries:
        pair = entry.pair
        key = (pair.shared, pair.register, pair.layout, *entry.load.cells, *entry.store.cells)
        rows.setdefault(key, []).append(pair.element)
    return [
        f"| {' | '.join((f'`{k[0]}`', f'`{k[1]}`', f'`{k[2]}`', ', '.join(elements), *k[3:]))} |"
        for k, elements in rows.items()
    ]


def compiler_version() -> str:
    """Text such as "clang 22": the compiler chooses the instructions, and with them the conflicts."""
    match = re.search(r"clang (?:version )?(\d+)", toolchain.find_compiler().version)
    return f"clang {match[1]}" if match else toolchain.find_compiler().version


def document(entries: Sequence[Entry]) -> str:
    """The page docs/bank_conflicts.md as text."""
    parts = [_INTRODUCTION.format(compiler=compiler_version())]
    head = f"| {' | '.join(HEAD)} |\n|{'|'.join([' --- '] * len(HEAD))}|"
    for title, meant in (("Shapes that are meant for each other", True), ("All other pairs", False)):
        parts.append(f"## {title}\n")
        for arch in TILE_TARGETS:
            mine = [e for e in entries if e.arch == arch and e.pair.meant(arch) == meant]
            if not mine:
                continue
            loads = sum(not e.load.conflicts for e in mine)
            stores = sum(not e.store.conflicts for e in mine)
            free = f"{loads} load and {stores} store without conflicts"
            parts.append(f"### {arch}\n\nOf {len(mine)} pairs, {free}.\n")
            parts.append("\n".join([head, *lines(mine)]) + "\n")
    return "\n".join(parts)


_INTRODUCTION = """# Bank conflicts of every pair of shared and register tiles

Made by `python -m workbench.tiles.bank_conflicts` with {compiler}. Counted by the emulated device, not
measured on a GPU, by the rules of `docs/bank_conflicts.md`: the instructions that the compiler made of a load
and a store, the phases in which the LDS serves them, and the cycles that they lose. An instruction with two
addresses, such as `ds_write2_b32`, counts as two. One wave moves the smallest tile that both shapes fit in.
"""


def rules() -> Iterator[str]:
    """The rules of conflicts as rows of a table."""
    for rule in CONFLICT_RULES:
        target = rule.target if rule.target != "any" else "any, where no rule above holds"
        widths = " or ".join(map(str, rule.widths))
        yield f"| {target} | {rule.kind} {widths} | {_phases_text(rule)} | {rule.banks} | {rule.source} |"


def _phases_text(rule: ConflictRule) -> str:
    """Text such as "8 of 8: lanes 0-3, 20-23; 4-7, 16-19; ..."."""
    count, size = len(rule.phases), len(rule.phases[0])
    summary = f"{count} of {size}"
    if all(phase == tuple(range(phase[0], phase[0] + size)) for phase in rule.phases):
        return f"{summary} in order"
    first = "; ".join(_spans(phase) for phase in rule.phases[: count // 2])
    return f"{summary}: lanes {first}; the same of lanes 32-63"


def _spans(lanes: Sequence[int]) -> str:
    """Ascending numbers as spans: "0-3, 20-23"."""
    ends = [n for n, lane in enumerate(lanes) if lane + 1 not in lanes]
    starts = [0, *(end + 1 for end in ends[:-1])]
    return ", ".join(f"{lanes[a]}-{lanes[b]}" for a, b in zip(starts, ends, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description="Count the bank conflicts of pairs of tiles.")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write there instead of to standard output")
    parser.add_argument("--only", metavar="SHAPE", help="one base shape of shared tiles")
    options = parser.parse_args()
    selected = [pair for pair in pairs() if options.only in (None, pair.shared)]
    if not selected:
        shapes = ", ".join(vocabulary().names["st_shape"])
        parser.error(f"no base shape {options.only!r} of shared tiles; there are {shapes}")
    entries = []
    for arch in TILE_TARGETS:
        for done, entry in enumerate(count(selected, arch), 1):
            entries.append(entry)
            print(f"\r{arch}: {done} of {len(selected)}", end="", file=sys.stderr)
        print(file=sys.stderr)
    text = document(entries)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
