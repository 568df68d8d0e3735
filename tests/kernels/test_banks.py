"""Shared memory without bank conflicts: counted by the emulated device, by phases measured on gfx950.

workbench/tiles/bank_conflicts.py has the matching shapes and the table of all.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from test_shared import ALLOCATE, CORNER
from tile_cases import DTYPES, FP8, Batch, c_type, distinct, random

from workbench.targets import TILE_TARGETS
from workbench.tiles import bank_conflicts
from workbench.tiles.bank_conflicts import MEANT_FOR, NARROW, ONE_BYTE, Pair


def sides(shape: str) -> tuple[int, int]:
    """Rows and columns, which a base shape's name has."""
    rows, cols = shape.split("_")[1].split("x")
    return int(rows), int(cols)


WRITTEN = ("st_32x32_swizzled_s", "rt_32x32_s", "row_l")
"""Pairs of shapes of 2-byte elements, for reading by columns."""


def cases(
    batch: Batch,
    arch: str,
    dtype: torch.dtype,
    statement: str,
    also: Sequence[tuple[str, str, str]] = (),
) -> None:
    """A case for each pair of shapes and those of `also`; `statement` uses shared tile `s`, register tile `a`
    and layouts x, out."""
    one_byte = dtype.itemsize == 1
    pairs = [
        (st_shape, rt_shape, layout)
        for st_shape, by_layout in MEANT_FOR.items()
        for layout, rt_shapes in by_layout.items()
        for rt_shape in rt_shapes
        if not (one_byte and layout == "row_l" and (st_shape, rt_shape) in NARROW[arch])
    ]
    if one_byte:
        pairs += [(st_shape, rt_shape, "row_l") for st_shape in ONE_BYTE for rt_shape in ONE_BYTE[st_shape]]
    for st_shape, rt_shape, layout in [*pairs, *also]:
        rows, cols = (max(side, least) for side, least in zip(sides(rt_shape), (32, 64), strict=True))
        cols = max(cols, sides(st_shape)[1])
        x = random(rows, cols).to(dtype) if one_byte else distinct(rows, cols, dtype)
        batch.add(
            f"{c_type(x)} {st_shape} {rt_shape} {layout}",
            f"""{ALLOCATE} using tile = st<{c_type(x)}, {rows}, {cols}, {st_shape}>;
            tile &s = al.allocate<tile>();
            rt<{c_type(x)}, {rows}, {cols}, {layout}, {rt_shape}> a;
            {statement}""",
            x=x,
            shared=rows * cols * x.element_size(),
            expected={"out": x},
            one_target=one_byte and layout == "row_l",
        )


def check(batch: Batch, arch: str) -> None:
    batch.take_turns(arch)
    counters = batch.run(arch, profile=True)
    conflicts = {what: c["lds_bank_conflict"] for what, c in counters.items() if c["lds_bank_conflict"]}
    assert not conflicts


@pytest.mark.parametrize("dtype", [*DTYPES, "fp8e4m3"])
def test_loads_have_no_conflicts(arch: str, batch: Batch, dtype: str) -> None:
    cases(
        batch,
        arch,
        DTYPES.get(dtype, FP8[arch]),
        f"""group<1>::load(s, g.x, {CORNER}); wait_and_barrier();
        load(a, s); store(g.out, a, {CORNER});""",
    )
    check(batch, arch)


@pytest.mark.parametrize("dtype", [*DTYPES, "fp8e4m3"])
def test_stores_have_no_conflicts(arch: str, batch: Batch, dtype: str) -> None:
    cases(
        batch,
        arch,
        DTYPES.get(dtype, FP8[arch]),
        f"""load(a, g.x, {CORNER}); store(s, a); wait_and_barrier();
        group<1>::store(g.out, s, {CORNER});""",
        [WRITTEN] if dtype in ("bf16", "half") else (),
    )
    check(batch, arch)


def test_columns_of_rows_across_k(arch: str, batch: Batch) -> None:
    """`load_columns` and `columns_in_turn` transpose, and read without conflicts."""
    cases = [("bf16", "rt_16x32_s", 64, 48, 32, False)]
    if arch == "gfx950":
        cases.append(("fp8e4m3", "rt_16x128_s", 128, 48, 80, False))
    else:
        cases.append(("half", "rt_16x32_s", 64, 64, 64, True))
        cases.append(("fp8e4m3", "rt_16x64_s", 64, 32, 96, True))
    for element, shape, rows, columns, first, in_turn in cases:
        if element == "fp8e4m3":
            x = distinct(rows, 128, torch.float32).to(torch.uint8).view(FP8[arch])
        else:
            x = distinct(rows, 128, DTYPES[element])
        read = f"load_columns(a, s, {first});"
        if in_turn:
            read = f"columns_in_turn<decltype(a), tile> kept; kept.fetch(s, {first}); kept.sort(a);"
        expected = x[:, first : first + columns].T
        if in_turn:
            expected = expected.reshape(16, columns // 16, rows).transpose(0, 1).reshape(columns, rows)
        batch.add(
            f"{element} from column {first}{' in turn' * in_turn}",
            f"""{ALLOCATE} using tile = st<{element}, {rows}, 128, st_32x128_s>;
            tile &s = al.allocate<tile>();
            rt<{element}, {columns}, {rows}, row_l, {shape}> a;
            group<1>::load(s, g.x, {CORNER}); wait_and_barrier();
            {read} store(g.out, a, {CORNER});""",
            x=x,
            shared=x.nbytes,
            expected={"out": expected.contiguous()},
        )
    check(batch, arch)


def test_shapes_meant_for_each_other_exist() -> None:
    pairs = set(bank_conflicts.pairs())
    meant = [
        Pair(shared, register, layout, element)
        for shared, by_layout in MEANT_FOR.items()
        for layout, registers in by_layout.items()
        for register in registers
        for element in bank_conflicts.ELEMENTS
    ]
    assert set(meant) <= pairs
    for arch in TILE_TARGETS:
        others = {p for p in pairs if p.meant(arch)} - set(meant)
        assert {(p.shared, p.register) for p in others} == {
            (shared, register) for shared, registers in ONE_BYTE.items() for register in registers
        }
        assert all(p.element == "fp8e4m3" and p.layout == "row_l" for p in others)
        assert sum(not p.meant(arch) for p in meant) == len(NARROW[arch])


def test_the_page_has_the_rules() -> None:
    page = Path(__file__).parents[2] / "docs" / "bank_conflicts.md"
    rows = [line for line in page.read_text().splitlines() if line.startswith(("| gfx950 | ", "| any"))]
    assert [row for row in rows if any(kind in row for kind in ("read", "write", "transpose"))] == list(
        bank_conflicts.rules()
    )


def test_the_table_says_what_was_counted(arch: str) -> None:
    """A matching pair, and one that does not match: 16 rows of 128 bytes by columns use the same bank."""
    clean = Pair("st_16x32_s", "rt_16x32_s", "row_l", "bf16")
    bad = Pair("st_16x32_s", "rt_16x16_s", "row_l", "bf16")
    entries = list(bank_conflicts.count([clean, bad], arch))
    text = bank_conflicts.document(entries)
    assert entries[0].load.conflicts == 0
    meant, others = text.split("## All other pairs")
    for entry, part in zip(entries, (meant, others), strict=True):
        (row,) = bank_conflicts.lines([entry])
        assert row in part
        assert f" {entry.load.conflicts} |" in row


def test_types_of_one_size_move_alike(arch: str) -> None:
    """fp8e5m2, which the page omits, is like fp8e4m3."""
    for shared, register, layout in (
        ("st_16x128_s", "rt_16x128_s", "row_l"),
        ("st_16x32_s", "rt_16x32_s", "col_l"),
        ("st_16x16_s", "rt_32x32_8_s", "row_l"),
    ):
        both = [Pair(shared, register, layout, element) for element in ("fp8e4m3", "fp8e5m2")]
        first, second = bank_conflicts.count(both, arch)
        assert (first.load, first.store) == (second.load, second.store)
