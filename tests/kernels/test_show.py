"""Values that `show` in a kernel records, against the loaded matrices, for the tile library's types."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import tile_cases
import torch

import workbench as wb
from workbench.emulator.node.device import node
from workbench.errors import CompileError, UsageError
from workbench.kernel import Launch
from workbench.kernel.show import Kind
from workbench.runtime import gpu
from workbench.runtime.backend import merged
from workbench.targets import TILE_TARGETS

HEAD = """#include "kittens.cuh"
using namespace kittens;
using halves = gl<bf16, -1, -1, -1, -1>;
using floats = gl<float, -1, -1, -1, -1>;
"""


def compiled(body: str, arch: str, parameters: str = "const halves x", **options: object) -> wb.Kernel:
    source = f"{HEAD}__global__ void k({parameters}) {{\n{body}\n}}\n"
    return wb.compile(source, arch=arch, name="shown.hip", show=True, **options)["k"]  # type: ignore[arg-type]


ELEMENTS = {**tile_cases.DTYPES, "fp8e4m3": None}


def exists(element: str, layout: str, shape: str) -> bool:
    """True if the 64 lanes fill such a base tile evenly, each with whole packed elements."""
    rows, cols, stride = tile_cases.SHAPES[shape]
    across, along = (rows, cols) if layout == "row_l" else (cols, rows)
    packing = 4 if element == "fp8e4m3" else 2
    return across <= 64 and along % (64 // across * stride) == 0 and stride % packing == 0


REGISTERS = [
    each for each in itertools.product(ELEMENTS, ("row_l", "col_l"), tile_cases.SHAPES) if exists(*each)
]


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_register_tiles_of_every_type(arch: str) -> None:
    """One kernel with a block for each type: a tile is loaded, shown, and compared with its source."""
    rows, cols = 64, 256
    body = []
    for element, layout, shape in REGISTERS:
        high, wide = 2 * tile_cases.SHAPES[shape][0], 2 * tile_cases.SHAPES[shape][1]
        body.append(
            f"{{ rt<{element}, {high}, {wide}, {layout}, {shape}> tile;\n"
            f'load(tile, {element}_x, {{0, 0, 0, 0}}); show(tile, "{element} {layout} {shape}"); }}'
        )
    parameters = ", ".join(f"const gl<{element}, -1, -1, -1, -1> {element}_x" for element in ELEMENTS)
    kernel = compiled("\n".join(body), arch, parameters)
    inputs = {}
    for element, dtype in ELEMENTS.items():
        if dtype is None:
            values = torch.randn(rows, cols).to(tile_cases.FP8[arch])
        else:
            values = tile_cases.distinct(rows, cols, dtype)
        inputs[element] = values
    display = kernel[1, 64](*inputs.values()).shown
    assert display is not None
    assert len(display) == len(REGISTERS)
    for element, layout, shape in REGISTERS:
        name = f"{element} {layout} {shape}"
        (moment,) = display.of(name)
        high, wide = 2 * tile_cases.SHAPES[shape][0], 2 * tile_cases.SHAPES[shape][1]
        assert moment.kind is Kind.REGISTER_TILE
        assert torch.equal(
            moment.values.view(torch.uint8), inputs[element][:high, :wide].contiguous().view(torch.uint8)
        ), name
        # Each lane has as many elements as any other, numbered without a gap.
        held: dict[int, set[int]] = {}
        for word in moment.places.flatten().tolist():
            held.setdefault(word & 0xFF, set()).add(word >> 8)
        assert held == {lane: set(range(high * wide // 64)) for lane in range(64)}, name


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_places_are_those_of_the_layout_explorer(arch: str) -> None:
    kernel = compiled(
        "rt_fl<32, 32, col_l, rt_32x32_s> t; load(t, x, {0, 0, 0, 0}); show(t);", arch, "const floats x"
    )
    display = kernel[1, 64](torch.randn(32, 32)).shown
    assert display is not None
    (moment,) = display.of("t")
    rows = wb.view_layout("rt_fl<32, 32, col_l, rt_32x32_s>", arch=arch).rows
    assert {(row.row, row.col): row.lane for row in rows} == {
        (r, c): moment.place(r, c).lane for r in range(32) for c in range(32)
    }


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_shared_tiles_and_vectors(arch: str) -> None:
    body = ["extern __shared__ alignment_dummy __shm[];"]
    for shape, (high, wide) in tile_cases.ST_SHAPES.items():
        body.append(
            f"{{ shared_allocator al((int *)&__shm[0]);\n"
            f"using tile = st<bf16, {2 * high}, {2 * wide}, {shape}>;\n"
            f"tile &s = al.allocate<tile>(); load(s, x, {{0, 0, 0, 0}}); wait_and_barrier();\n"
            f'show(s, "{shape}"); __syncthreads(); }}'
        )
    body.append(
        "shared_allocator al((int *)&__shm[0]); sv_bf<64> &v = al.allocate<sv_bf<64>>();\n"
        "load(v, x, {0, 0, 1, 1}); wait_and_barrier(); show(v);"
    )
    x = tile_cases.distinct(64, 256, torch.bfloat16)
    display = compiled("\n".join(body), arch)[1, 64, 1 << 15](x).shown
    assert display is not None
    for shape, (high, wide) in tile_cases.ST_SHAPES.items():
        (moment,) = display.of(shape)
        assert torch.equal(moment.values, x[: 2 * high, : 2 * wide]), shape
        bytes_ = sorted(moment.places.flatten().tolist())
        assert bytes_ == list(range(bytes_[0], bytes_[0] + 8 * high * wide, 2)), shape
    assert torch.equal(display["v"][0, 0, 0], x[1, 64:128])


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_register_vectors_and_numbers(arch: str) -> None:
    body = """rt_fl<32, 64> tile; load(tile, x, {0, 0, 0, 0});
    rt_fl<32, 64>::col_vec rows; rt_fl<32, 64>::row_vec cols; rv_fl<96> plain;
    row_sum(rows, tile); col_sum(cols, tile); load(plain, x, {0, 0, 1, 0});
    show(rows); show(cols); show(plain); show(threadIdx.x & 1 ? 1.5 : 0.25, "number");
    if (threadIdx.x < 3) show(bf16(2.0f), "of three");
    show((long)threadIdx.x - 5, "long");"""
    x = torch.randint(-8, 8, (32, 96)).float()
    display = compiled(body, arch, "const floats x")[1, 64](x).shown
    assert display is not None
    assert torch.equal(display["rows"][0, 0, 0], x[:, :64].sum(1))
    assert torch.equal(display["cols"][0, 0, 0], x[:, :64].sum(0))
    assert torch.equal(display["plain"][0, 0, 0], x[1])
    assert torch.equal(display["number"][0, 0, 0], torch.tensor([0.25, 1.5], dtype=torch.float64).repeat(32))
    assert display["long"][0, 0, 0].tolist() == [lane - 5 for lane in range(64)]
    (three,) = display.of("of three")
    assert three.lanes == 0b111
    assert three.values[:3].tolist() == [2.0, 2.0, 2.0]


def test_small_floats_are_numbers() -> None:
    body = "rt<fp4e2m1_2, 16, 64, row_l, rt_16x64_s> tile; load(tile, x, {0, 0, 0, 0}); show(tile);"
    x = torch.randint(0, 256, (16, 64), dtype=torch.uint8)
    display = compiled(body, "gfx950", "const gl<fp4e2m1_2, -1, -1, -1, -1> x")[1, 64](x).shown
    assert display is not None
    table = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    codes = torch.stack([x & 15, x >> 4], -1).flatten(-2).long()
    assert torch.equal(display["tile"][0, 0, 0], torch.where(codes > 7, -1.0, 1.0) * table[codes & 7])


LOOP = """for (int i = 0; i < 10; i++) {
    rt_bf<16, 16> tile; load(tile, x, {0, 0, i, (int)blockIdx.x});
    show(tile);
}"""


def test_groups_waves_and_trips_are_chosen() -> None:
    kernel = compiled(LOOP, "gfx950")
    x = tile_cases.distinct(160, 16 * 6, torch.bfloat16)
    all_of_four = kernel[6, 128](x).shown
    assert all_of_four is not None
    assert all_of_four["tile"].shape == (4, 2, 10, 16, 16)
    assert all_of_four.groups == (6, 4)
    with wb.showing(groups=[5, 1], waves=[1], trips=(3, 5)):
        some = kernel[6, 128](x).shown
    assert some is not None
    assert [(m.group, m.wave, m.trip) for m in some.of("tile")] == [
        (1, 1, 3),
        (1, 1, 4),
        (5, 1, 3),
        (5, 1, 4),
    ]
    for moment in some.of("tile"):
        r, c = 16 * moment.trip, 16 * moment.group
        assert torch.equal(moment.values, x[r : r + 16, c : c + 16])
        assert moment.place(3, 4).lane is not None


def test_what_cannot_be_shown_is_said() -> None:
    kernel = compiled(LOOP, "gfx950")
    x = torch.zeros(160, 16, dtype=torch.bfloat16)
    with (
        wb.showing(bytes=2000),
        pytest.raises(UsageError, match=r"needs 7,504 bytes for 1 of 1 work-groups.*2,000"),
    ):
        kernel[1, 64](x)
    with (
        wb.showing(groups=[1]),
        pytest.raises(UsageError, match=r"\[1\]: the launch has work-groups 0 to 0"),
    ):
        kernel[1, 64](x)
    display = kernel[1, 64](x).shown
    assert display is not None
    with pytest.raises(KeyError, match="'tiel' was not shown; shown: tile"):
        display["tiel"]
    with pytest.raises(UsageError, match=r"tile has shape \[16, 16\]; \[16, 0\] is not an element"):
        display.of("tile")[0].place(16, 0)
    for wrong in ({"groups": 0}, {"groups": []}, {"waves": [16]}, {"trips": (3, 3)}, {"bytes": 0}):
        with pytest.raises(UsageError, match=rf"ShowOptions\({next(iter(wrong))}="):
            wb.showing(**wrong).__enter__()  # type: ignore[arg-type]
    divergent = compiled(
        "rt_bf<16, 16> t; load(t, x, {0, 0, 0, 0});\nif (threadIdx.x < 9) show(t);", "gfx950"
    )
    with pytest.raises(UsageError, match=r"line 7: show\(...\) of a tile or a vector in divergent code"):
        divergent[1, 64](x)
    with pytest.raises(
        CompileError, match="show: takes a register or shared tile, a vector of either, or a number"
    ):
        compiled("show(x);", "gfx950")
    with pytest.raises(UsageError, match="show=True does not work with host=True"):
        wb.compile("", host=True, show=True)


def test_names_that_mean_several_tiles_are_told() -> None:
    kernel = compiled('show(1.0f, "a"); show(1, "a"); show(2.0f);', "gfx950")
    display = kernel[1, 64](torch.zeros(1, 1, dtype=torch.bfloat16)).shown
    assert display is not None
    with pytest.raises(UsageError, match="'a' is shown with several shapes or types"):
        display["a"]
    assert [m.values.dtype for m in display.of("a")] == [torch.float32, torch.int32]
    assert "2.0f" in display


@pytest.mark.usefixtures("gpu_machine")  # Its tensors are on the GPU, and nothing is copied.
def test_a_gpus_launch_shows_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the GPU's back end, which only uses HIP, with the emulator's HIP instead of AMD's."""
    where = wb.device("emulated:gfx950")
    kernel = compiled("rt_bf<32, 32> tile; load(tile, x, {0, 0, 0, 0}); show(tile);", "gfx950")
    x = torch.randn(32, 32).bfloat16()
    launches = []

    def launch(hip: Any, invocation: Any, call: Any) -> Any:
        launches.append(invocation.kernel)
        with node().memory.lent(merged(invocation.buffers), {}):
            return gpu.GpuBackend().launch(hip, invocation, call)

    monkeypatch.setattr(where.backend, "observes", False)
    monkeypatch.setattr(where.backend, "launch", launch)
    display = kernel.launch(Launch(1, 64), (x,), {}, device=where).shown
    assert display is not None
    assert len(launches) == 1
    assert torch.equal(display["tile"][0, 0, 0], x)
    assert "counted" not in display.of("tile")._repr_html_()


def test_without_show_there_is_nothing_of_it() -> None:
    body = "rt_bf<16, 16> t; load(t, x, {0, 0, 0, 0}); show(t); store(x, t, {0, 0, 0, 0});"
    source = f"{HEAD}__global__ void k(const halves x) {{ {body} }}\n"
    plain, bare = (wb.compile(text, arch="gfx950")["k"] for text in (source, source.replace("show(t); ", "")))
    assert [str(i) for i in plain.instructions] == [str(i) for i in bare.instructions]
    assert plain[1, 64](torch.zeros(16, 16, dtype=torch.bfloat16)).shown is None
