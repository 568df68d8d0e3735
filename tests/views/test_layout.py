"""The layout explorer, which runs the library, against the documentation's own formulas."""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import workbench as wb
from tests.kernels.tile_cases import SHAPES, Batch, distinct
from workbench.errors import DeviceError, UsageError
from workbench.runtime import Device
from workbench.runtime.backend import Node
from workbench.runtime.gpu import GpuBackend
from workbench.targets import TILE_TARGETS
from workbench.theme import contrast
from workbench.tiles import LayoutResult, Row, view_layout
from workbench.tiles.elements import torch_dtype
from workbench.tiles.tile_type import TileType, vocabulary
from workbench.views.picture import svg_of
from workbench.views.picture.values import colour


def positions(shape: str, layout: str) -> tuple[np.ndarray, np.ndarray]:
    """Row and column in the base tile of each element that each lane holds, [element][lane].

    Written from the documentation: in the row layout lane l holds row l % rows, and the lanes of a row hold
    `stride` elements each in turn; in the column layout rows and columns change places.
    """
    rows, cols, stride = SHAPES[shape]
    across = rows if layout == "row_l" else cols
    element, lane = np.mgrid[: rows * cols // 64, :64]
    along = element // stride * (64 // across * stride) + lane // across * stride + element % stride
    return (lane % across, along) if layout == "row_l" else (along, lane % across)


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize(("element", "size"), [("fl", 4), ("bf", 2), ("fp8e4m3", 1), ("fp8e5m2", 1)])
def test_registers_are_those_of_the_documentation(arch: str, element: str, size: int) -> None:
    for shape, layout in (("rt_32x32_s", "col_l"), ("rt_16x32_s", "row_l"), ("rt_32x16_4_s", "col_l")):
        rows, cols, _ = SHAPES[shape]
        result = view_layout(f"rt_{element}<{rows}, {2 * cols}, {layout}, {shape}>", arch=arch)
        row, col = positions(shape, layout)
        per_lane = row.shape[0]
        expected = {
            (int(row[k, lane]), tile * cols + int(col[k, lane])): (lane, (tile * per_lane + k) * size)
            for tile in range(2)
            for k in range(per_lane)
            for lane in range(64)
        }
        got = {(r.row, r.col): (r.lane, r.register * 4 + r.register_byte) for r in result.rows}
        assert got == expected, (shape, layout)
        assert len(result.rows) == rows * 2 * cols
        assert result.summary == {}


def test_shared_memory_is_swizzled_as_documented() -> None:
    """st_16x32_s of 2-byte elements flips bit 5 of the byte offset in a base tile by bit 9."""
    result = view_layout("st_bf<32, 64, st_16x32_s>", arch="gfx950")
    for row in result.rows:
        base = (row.row // 16 * 2 + row.col // 32) * 16 * 32 * 2
        inside = (row.row % 16 * 32 + row.col % 32) * 2
        assert row.address == base + (inside ^ (inside >> 9 & 1) << 5)
        assert row.bank == row.address // 4 % 64
    assert len(result.rows) == 32 * 64


def cycles(rows: Iterable[Row], *, write: bool) -> dict[tuple[int, int], int]:
    """Cycles of each (access, phase): the most that one bank has to do, worked out from the rows alone."""
    asked: dict[tuple[int, int], dict[int, set[Any]]] = defaultdict(lambda: defaultdict(set))
    for row in rows:
        dword = row.address // 4
        asked[row.access, row.phase][row.bank].add((row.lane, dword) if write else dword)
    return {phase: max(map(len, banks.values())) for phase, banks in asked.items()}


CONFLICTS = [
    ("st_bf<64, 64, st_16x32_s>", "load", "rt_bf<16, 64>"),
    ("st_bf<32, 32, st_16x16_s>", "load", "rt_bf<32, 32, row_l, rt_32x16_s>"),
    ("st_fl<32, 32, st_16x16_s>", "store", "rt_fl<32, 32, col_l, rt_16x16_s>"),
    ("st_hf<32, 32, st_32x32_s>", "store", "rt_hf<32, 32, col_l, rt_32x32_s>"),
    ("st_bf<64, 64, st_16x32_s>", "load", "rt_bf<64, 64, row_l, rt_16x32_s>"),
    ("sv_fl<128>", "store", "rv_fl<128>"),
    ("sv_bf<64>", "load", "rt_bf<32, 64>::row_vec"),
    ("sv_bf<64>", "load", "rt_bf<64, 32>::col_vec"),
]


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize(("tile", "access", "register"), CONFLICTS)
def test_banks_phases_and_conflicts(arch: str, tile: str, access: str, register: str) -> None:
    """The rows explain the emulator's counts, cycle by cycle."""
    result = wb.view_layout(tile, access=access, register=register, arch=arch)
    worked_out = cycles(result.rows, write=access == "store")
    counted = {
        (n, p): phase.cycles for n, a in enumerate(result.accesses) for p, phase in enumerate(a.phases)
    }
    assert worked_out == counted
    assert result.conflicts == sum(c - 1 for c in counted.values())
    assert any(r.conflict for r in result.rows) == bool(result.conflicts)
    held = TileType.parse(register)
    assert {(r.row, r.col) for r in result.rows} >= {
        (r, c) for r in range(held.rows) for c in range(held.cols) if not held.is_vector
    }
    assert result.summary["SQ_LDS_BANK_CONFLICT"].value == result.conflicts
    confirmed = re.compile(r"ds_(read|write)(2|2st64)?_b64|ds_read_b(96|128)")
    measured = arch == "gfx950" and all(confirmed.fullmatch(a.opcode) for a in result.accesses)
    assert str(result.summary["SQ_LDS_BANK_CONFLICT"].origin) == ("counted" if measured else "modelled")


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_conflicts_are_those_of_a_kernel_that_nobody_traces(arch: str) -> None:
    x = distinct(32, 32, torch_dtype("bf16", arch))
    body = """extern __shared__ alignment_dummy __shm[]; shared_allocator al((int *)&__shm[0]);
    using tile = st_bf<32, 32, st_16x16_s>; tile &s = al.allocate<tile>();
    rt_bf<32, 32, row_l, rt_32x16_s> a; load(a, g.x, {0, 0, 0, 0}); store(s, a); wait_and_barrier();
    group<1>::store(g.out, s, {0, 0, 0, 0});"""
    batch = Batch()
    batch.add("stored", body, x=x, shared=2048, expected={"out": x})
    counters = batch.run(arch, profile=True)["stored"]
    types = {"tile": "st_bf<32, 32, st_16x16_s>", "access": "store"}
    stored = view_layout(**types, register="rt_bf<32, 32, row_l, rt_32x16_s>", arch=arch)
    read_back = view_layout(**types, group=1, arch=arch)
    assert counters["lds_bank_conflict"] == stored.conflicts + read_back.conflicts
    assert stored.conflicts > 0


def test_a_part_of_a_shared_tile() -> None:
    result = view_layout(
        "st_bf<64, 64, st_16x32_s>",
        access="load",
        register="rt_bf<16, 32, row_l, rt_16x32_s>",
        at=(2, 1),
        arch="gfx950",
    )
    assert {(r.row, r.col) for r in result.rows} == {(r, c) for r in range(32, 48) for c in range(32, 64)}
    whole = {(r.row, r.col): r.address for r in view_layout("st_bf<64, 64, st_16x32_s>", arch="gfx950").rows}
    assert all(r.address == whole[r.row, r.col] for r in result.rows)


def test_reads_that_transpose() -> None:
    result = view_layout(
        "st_bf<32, 32, st_32x32_s>", access="load", register="rt_bf<32, 32, col_l, rt_32x16_s>", arch="gfx950"
    )
    assert {a.opcode for a in result.accesses} == {"ds_read_b64_tr_b16"}
    _, col = positions("rt_32x16_s", "col_l")
    assert all(r.holder in set(range(64)) and r.col % 16 == int(col[0, r.holder]) for r in result.rows)
    assert any(r.holder != r.lane for r in result.rows)


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("access", ["load", "store"])
def test_global_memory(arch: str, access: str) -> None:
    result = view_layout("rt_fl<32, 64, row_l, rt_16x16_s>", access=access, columns=100, arch=arch)
    assert {(r.row, r.col): r.offset for r in result.rows} == {
        (r, c): (r * 100 + c) * 4 for r in range(32) for c in range(64)
    }
    row, col = positions("rt_16x16_s", "row_l")
    lane_of = {(int(row[k, lane]), int(col[k, lane])): lane for k in range(4) for lane in range(64)}
    assert all(r.lane == lane_of[r.row % 16, r.col % 16] for r in result.rows)
    assert result.summary["bytes requested"].value == 32 * 64 * 4
    assert result.conflicts == 0
    assert result.banks == 0


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_straight_to_shared_memory(arch: str) -> None:
    result = view_layout("st_bf<64, 64, st_16x32_s>", access="load", group=4, arch=arch)
    assert {a.bytes for a in result.accesses} == {16 if arch == "gfx950" else 4}
    assert {a.wave for a in result.accesses} == {0, 1, 2, 3}
    where = {(r.row, r.col): r.address for r in view_layout("st_bf<64, 64, st_16x32_s>", arch=arch).rows}
    assert {(r.row, r.col): r.address for r in result.rows} == where
    assert all(r.offset == (r.row * 64 + r.col) * 2 for r in result.rows)
    # The hardware puts the lanes of a wave side by side.
    for n, access in enumerate(result.accesses):
        first = {r.lane: r.address for r in reversed(result.rows) if r.access == n}
        assert first == {lane: first[0] + lane * access.bytes for lane in range(64)}


def test_types_are_read_from_the_headers() -> None:
    assert vocabulary().aliases["st_bf"] == ("st", "bf16")
    assert {"st_16x32_s", "st_8x32_s", "st_16x128_s"} <= set(vocabulary().names["st_shape"])
    assert set(SHAPES) <= set(vocabulary().names["rt_shape"])
    parsed = TileType.parse(" st<float,16,\n64, st_16x32_s > ")
    assert (parsed.kind, parsed.element, parsed.rows, parsed.cols) == ("st", "float", 16, 64)
    assert TileType.parse("rt_bf<1, 512, row_l, rt_rows_s<bf16, 512>>").cols == 512
    assert TileType.parse("rt_fl<32, 64>::col_vec") == TileType(
        "rv", "float", 32, 1, "rt_fl<32, 64>::col_vec"
    )


WRONG = [
    ({"tile": "st_bf[64, 64]"}, "not a tile type.*st_bf<64, 64, st_16x32_s>.*st_8x32_s"),
    ({"tile": "st_b<64, 64>"}, "no type st_b.*st_bf"),
    ({"tile": "st<long, 64, 64>"}, "'long' is not an element type.*bf16"),
    ({"tile": "st_bf<64>"}, "dimensions are 64; expected 2 positive numbers"),
    ({"tile": "st_bf<64, N>"}, "dimensions are 64, N"),
    ({"tile": "st_bf<64, 64, st_64x64_s>"}, "'st_64x64_s' is not a base shape of shared tiles.*st_32x32_s"),
    ({"tile": "rt_bf<64, 64, rt_16x16_s>"}, "'rt_16x16_s' is not a layout.*row_l, col_l"),
    ({"tile": "st_bf<64, 64, st_16x32_s, 3>"}, "1 arguments too many: 3"),
    ({"tile": "sv_bf<64>::row_vec"}, "only register tiles have a row_vec"),
    (
        {"tile": "rt_bf<16, 16>", "register": "rt_bf<16, 16>", "access": "load"},
        "register= and group= are for",
    ),
    ({"tile": "st_bf<64, 64>", "register": "rt_bf<64, 64>"}, 'say access="load" or "store"'),
    ({"tile": "st_bf<64, 64>", "access": "load"}, "say register=.*or group=4"),
    ({"tile": "st_bf<64, 64>", "access": "get", "group": 1}, 'expected "load", "store"'),
    ({"tile": "st_bf<64, 64>", "access": "load", "group": 17}, "from 1 to 16"),
    ({"tile": "st_bf<64, 64>", "access": "load", "register": "rv_bf<64>"}, "expected a register tile"),
    ({"tile": "st_bf<64, 64>", "access": "load", "register": "rt_bf<48, 64>"}, "48 x 64 and .* 64 x 64"),
    ({"tile": "sv_bf<64>", "access": "load", "register": "rv_bf<32>"}, "expected the same length"),
    (
        {"tile": "st_bf<64, 64>", "access": "load", "register": "rt_bf<32, 64>", "at": (2, 0)},
        "2 x 1 such parts",
    ),
    ({"tile": "rt_bf<64, 64>", "access": "load", "columns": 32}, "at least the tile's 64"),
    ({"tile": "rt_bf<512, 512>"}, "262,144 elements; at most 65,536"),
    # Faults that only the compiler finds.
    ({"tile": "st_bf<24, 32, st_16x32_s>"}, "refuses it: .*multiple of the base shape's"),
    ({"tile": "rt_bf<16, 128, col_l, rt_16x128_s>"}, "refuses it: .*no such layout"),
]


@pytest.mark.parametrize(("question", "message"), WRONG, ids=[m[:30] for _, m in WRONG])
def test_wrong_questions(question: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=re.compile(message, re.S)):
        view_layout(**question, arch="gfx950")


def test_a_gpu_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Device(Node("gpu:0", "gfx950", 0), GpuBackend())
    with pytest.raises(DeviceError, match='device="emulated:gfx950"'):
        view_layout("rt_bf<16, 16>", device=gpu)
    with pytest.raises(DeviceError, match="give one of the two"):
        view_layout("rt_bf<16, 16>", arch="gfx942", device="emulated:gfx950")


@pytest.fixture(scope="module")
def conflicting() -> LayoutResult:
    return view_layout("st_bf<64, 64, st_16x32_s>", "load", "rt_bf<16, 64>", arch="gfx950")


def test_figure(conflicting: LayoutResult) -> None:
    figure = conflicting.figure
    labels = [step.label for step in figure.layout.sliders[0].steps]
    phases = [phase for access in conflicting.accesses for phase in access.phases]
    # Lines break between types.
    lines = figure.layout.title.text.split("<br>")
    assert len(lines) > 1
    assert all(line.count("<") == line.count(">") for line in lines)
    assert len(labels) == len(figure.frames) == 1 + len(conflicting.accesses) + len(phases)
    assert labels[2].startswith(
        f"access 0, {conflicting.accesses[0].opcode}, phase 0 of 2: 32 lanes, 2 cycles"
    )
    lit = figure.frames[2].data
    rows = [r for r in conflicting.rows if (r.access, r.phase) == (0, 0)]
    tile, memory = np.asarray(lit[0].z), np.asarray(lit[1].z)
    in_tile, lanes = (
        {(y, x): text for y, row in enumerate(heatmap.text) for x, text in enumerate(row) if text.strip()}
        for heatmap in lit[:2]
    )
    assert in_tile == {(r.row, r.col): str(r.lane) for r in rows}
    assert {(int(y), int(x)) for y, x in np.argwhere(tile != 1)} == {(r.row, r.col) for r in rows}
    assert {(int(y), int(x)) for y, x in np.argwhere(memory == 2)} == {
        (r.address // 256, r.bank) for r in rows if r.conflict
    }
    in_memory = {(r.address // 256, r.bank): str(r.lane) for r in rows}
    assert lanes == in_memory
    modes = [button.label for button in figure.layout.updatemenus[0].buttons]
    assert modes[:3] == ["colour: lane", "colour: register", "colour: bank"]
    assert any(a.text == "counted" for a in figure.layout.annotations)
    # A button's arrays are encoded as plotly's script reads them.
    colours = figure.layout.updatemenus[0].buttons[2].args[0]["z"]
    bank = np.frombuffer(base64.b64decode(colours[0]["bdata"]), colours[0]["dtype"])
    there = bank.reshape([int(size) for size in colours[0]["shape"].split(",")])
    assert all(there[r.row, r.col] == r.bank for r in conflicting.rows)
    # A saved notebook has several, with each entry of a list on its own line.
    assert len(json.dumps(json.loads(figure.to_json()), indent=1)) < 400_000
    assert len(svg_of(figure)) < 100_000


def test_numbers_keep_their_size_in_a_narrow_page() -> None:
    """64 columns of numbers have 13 pixels each, whatever the page's width; few columns fill the page."""
    figure = view_layout("rt_bf<16, 64>", arch="gfx950").figure
    drawn = figure.layout.width - figure.layout.template.layout.margin.l - figure.layout.margin.r
    assert drawn / 64 >= 13
    assert view_layout("rt_bf<16, 32>", arch="gfx950").figure.layout.width is None


def test_numbers_are_read_whatever_the_menu_and_the_slider_say(conflicting: LayoutResult) -> None:
    """All cells share one ink, since the page cannot adapt it when the menu changes the colours."""
    figure = conflicting.figure
    cells, lanes = figure.data[0], figure.data[2]
    # Every cell has a colour in every mode, or the page's colour would be behind its number.
    for button in figure.layout.updatemenus[0].buttons:
        assert {z["dtype"] for z in button.args[0]["z"]} <= {"u1", "i2"}, button.label
    behind = set()
    without = view_layout("rt_bf<32, 64>", access="store", columns=128, arch="gfx950").figure
    for frame in (*figure.frames, *without.frames):
        for over in frame.data:
            veil = np.asarray(over.z)
            levels = {
                int(veil[y, x])
                for y, row in enumerate(over.text)
                for x, text in enumerate(row)
                if text.strip()
            }
            behind |= {lanes.colorscale[2 * value + 1][1] for value in levels}
            # Numbers are no larger than a cell: neighbours in a row and in a column have a text.
            assert all((*over.text[0][:2], over.text[1][0]))
    assert len(behind) == 3, "nothing, and the red of all accesses and of one"
    for over in behind:
        red, green, blue, opacity = colour(over)
        for _, below in cells.colorscale:
            mixed = np.array([red, green, blue]) * opacity + np.array(colour(below)[:3]) * (1 - opacity)
            seen = "#" + bytes(np.rint(255 * mixed).astype(np.uint8)).hex()
            assert contrast(lanes.textfont.color, seen) >= 4.5, (over, below)
    assert not lanes.textfont.shadow
    alone = view_layout("rt_fl<32, 32, col_l, rt_32x32_s>", arch="gfx950").figure.data[0]
    assert (alone.texttemplate, alone.textfont, alone.colorscale) == (
        "%{z}",
        lanes.textfont,
        cells.colorscale,
    )


def test_another_beginning(conflicting: LayoutResult) -> None:
    figure = conflicting.draw("bank", access=1, phase=0)
    number = figure.layout.sliders[0].active
    assert figure.layout.sliders[0].steps[number].label.startswith("access 1, ")
    assert "phase 0 of 2" in figure.layout.sliders[0].steps[number].label
    assert np.array_equal(figure.data[2].z, figure.frames[number].data[0].z)
    assert figure.layout.updatemenus[0].buttons[figure.layout.updatemenus[0].active].label == "colour: bank"
    banks = {(r.row, r.col): r.bank for r in conflicting.rows}
    assert all(np.asarray(figure.data[0].z)[place] == bank for place, bank in banks.items())
    with pytest.raises(UsageError, match="colour='wave'; here there are 'lane', 'register'"):
        conflicting.draw("wave")
    with pytest.raises(UsageError, match=r"access=4, phase=None; .* has accesses from 0 to 3"):
        conflicting.draw(access=4)


def test_figures_without_accesses_or_banks() -> None:
    alone = view_layout("rt_fl<32, 32, col_l, rt_32x32_s>", arch="gfx950").figure
    assert len(alone.data) == 2
    assert not alone.layout.sliders
    assert np.asarray(alone.data[0].z)[0, 0] == 0
    memory = view_layout("st_bf<32, 32, st_32x32_s>", arch="gfx942").figure
    assert np.asarray(memory.data[1].z).shape == (2048 // 128, 32)
    lines = view_layout("rt_bf<32, 64>", access="store", columns=128, arch="gfx950").figure
    assert np.asarray(lines.data[1].z).shape == ((31 * 256 + 128) // 128, 32)


def test_a_figure_stays_small(conflicting: LayoutResult, monkeypatch: pytest.MonkeyPatch) -> None:
    every = len(conflicting.figure.frames)
    monkeypatch.setattr("workbench.views.layout.figure.MAX_CELLS", 5 * (16 * 64 + 8 * 64))
    figure = conflicting.figure
    assert len(figure.frames) == len(figure.layout.sliders[0].steps) == 5 < every
    assert any(f"the first 5 of {every} positions" in a.text for a in figure.layout.annotations)
    with pytest.raises(UsageError, match="the first 4 of 12 positions can be drawn"):
        conflicting.draw(access=3)


def test_table_and_report(conflicting: LayoutResult, tmp_path: Any) -> None:
    text = conflicting._repr_html_()
    assert conflicting.accesses[0].opcode in text
    assert "counted" in text
    assert re.search(rf'wb-bad"[^>]*>{conflicting.conflicts}<', text)
    assert f"SQ_LDS_BANK_CONFLICT: {conflicting.conflicts} cycles (counted)" in str(conflicting)
    page = wb.report(tmp_path / "page.html", conflicting).read_text()
    assert "access 0" in page
    assert "Plotly.addFrames" in page
    assert "Plotly.animate(" not in page.rpartition("Plotly.addFrames")[2], "the slider stays where it is"
