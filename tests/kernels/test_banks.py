"""Shared memory without bank conflicts: counted by the emulated device, by phases measured on gfx950.

Which shapes are meant for each other, and the table of all, stand in workbench/layout/bank_conflicts.py.
"""

from __future__ import annotations

import random as drawn

import pytest
import torch
from test_shared import ALLOCATE, CORNER
from tile_cases import DTYPES, FP8, Batch, c_type, distinct, random

from workbench.tiles import bank_conflicts
from workbench.tiles.bank_conflicts import ARCHES, MEANT_FOR, NARROW, ONE_BYTE, Pair


def sides(shape: str) -> tuple[int, int]:
    """Rows and columns, which a base shape's name has."""
    rows, cols = shape.split("_")[1].split("x")
    return int(rows), int(cols)


def cases(batch: Batch, arch: str, dtype: torch.dtype, statement: str) -> None:
    """A case for each pair of shapes; `statement` uses shared tile `s`, register tile `a`, layouts x, out."""
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
    for st_shape, rt_shape, layout in pairs:
        rows, cols = (max(side, least) for side, least in zip(sides(rt_shape), (32, 64), strict=True))
        cols = max(cols, sides(st_shape)[1])
        x = random(rows, cols).to(dtype) if one_byte else distinct(rows, cols, dtype)
        batch.add(
            f"{st_shape} {rt_shape} {layout}",
            f"""{ALLOCATE} using tile = st<{c_type(x)}, {rows}, {cols}, {st_shape}>;
            tile &s = al.allocate<tile>();
            rt<{c_type(x)}, {rows}, {cols}, {layout}, {rt_shape}> a;
            {statement}""",
            x=x,
            shared=rows * cols * x.element_size(),
            wanted={"out": x},
        )


def check(batch: Batch, arch: str) -> None:
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
    )
    check(batch, arch)


def test_shapes_meant_for_each_other_exist() -> None:
    known = set(bank_conflicts.pairs())
    meant = [
        Pair(shared, register, layout, element)
        for shared, by_layout in MEANT_FOR.items()
        for layout, registers in by_layout.items()
        for register in registers
        for element in bank_conflicts.ELEMENTS
    ]
    assert set(meant) <= known
    for arch in ARCHES:
        others = {p for p in known if p.meant(arch)} - set(meant)
        assert {(p.shared, p.register) for p in others} == {
            (shared, register) for shared, registers in ONE_BYTE.items() for register in registers
        }
        assert all(p.element == "fp8e4m3" and p.layout == "row_l" for p in others)
        assert sum(not p.meant(arch) for p in meant) == len(NARROW[arch])


def page_lines() -> dict[str, list[str]]:
    """Rows of the page's tables by target."""
    if not bank_conflicts.page().is_file():
        pytest.skip("an installation without the documentation")
    text = bank_conflicts.page().read_text(encoding="utf-8")
    made_with = f"with {bank_conflicts.compiler_version()};"
    if made_with not in text:
        pytest.skip(f"the page was not made {made_with.rstrip(';')}, which chooses other instructions")
    found: dict[str, list[str]] = {arch: [] for arch in ARCHES}
    arch = ""
    for line in text.splitlines():
        if line.startswith("### "):
            arch = line.removeprefix("### ")
        elif line.startswith("| `st_"):
            found[arch].append(line)
    return found


def test_page_has_every_pair() -> None:
    wanted = {(p.shared, p.register, p.layout, p.element) for p in bank_conflicts.pairs()}
    for rows in page_lines().values():
        cells = [[cell.strip(" `") for cell in row.split("|")[1:]] for row in rows]
        found = [(*c[:3], element) for c in cells for element in c[3].split(", ")]
        assert len(found) == len(set(found))
        assert set(found) == wanted


def test_page_is_what_the_library_does(arch: str) -> None:
    """Some of the pairs, others in every run: each gives the row that the page has."""
    rows = page_lines()[arch]
    pairs = bank_conflicts.pairs()
    groups = sorted({(p.shared, p.register, p.layout) for p in pairs if p.meant(arch)})
    others = sorted({(p.shared, p.register, p.layout) for p in pairs} - set(groups))
    chosen = set(drawn.sample(groups, 3) + drawn.sample(others, 3))
    wanted = [p for p in pairs if (p.shared, p.register, p.layout) in chosen]
    entries = list(bank_conflicts.count(wanted, arch))
    for meant in (True, False):
        for line in bank_conflicts.lines([e for e in entries if e.pair.meant(arch) == meant]):
            assert line in rows, "run python -m workbench.tiles.bank_conflicts"


def test_types_of_one_size_move_alike(arch: str) -> None:
    """fp8e5m2, which the page leaves out, is as fp8e4m3."""
    for shared, register, layout in (
        ("st_16x128_s", "rt_16x128_s", "row_l"),
        ("st_16x32_s", "rt_16x32_s", "col_l"),
        ("st_16x16_s", "rt_32x32_8_s", "row_l"),
    ):
        both = [Pair(shared, register, layout, element) for element in ("fp8e4m3", "fp8e5m2")]
        first, second = bank_conflicts.count(both, arch)
        assert (first.load, first.store) == (second.load, second.store)
