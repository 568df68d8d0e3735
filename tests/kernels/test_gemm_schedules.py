"""The GEMMs with the two schedules: results, costs of their main loops, and the sanitizer's findings."""

from __future__ import annotations

import dataclasses
import os
import random
import re
from pathlib import Path

import gemm_table
import pytest
import torch
from main_loop import main_loop
from tile_cases import in_turn, some

import workbench as wb
from workbench.errors import ShapeError
from workbench.operators import KernelSpec
from workbench.origin import Origin
from workbench.runtime import LaunchOptions, device

KERNELS = gemm_table.KERNELS

EVERYTHING = os.environ.get("HIPKITTENS_TEST_ALL", "0") != "0"
SEED = os.environ["HIPKITTENS_TEST_SEED"]

SHAPES = [
    {"m": 512, "n": 512, "k": 512},
    {"m": 256, "n": 768, "k": 320},
    {"m": 1, "n": 8, "k": 64},
    {"m": 257, "n": 264, "k": 72},
    {"m": 200, "n": 312, "k": 136},
    {"m": 130, "n": 520, "k": 1000},
]
"""A cube, whole tiles with an odd number of steps, the smallest, and parts of tiles and of steps: of bf16."""


def shape_in_elements(spec: KernelSpec, shape: dict[str, int]) -> dict[str, int]:
    """A shape of bf16 in the kernel's elements: steps along K keep their number of bytes."""
    return {**shape, "k": 2 * shape["k"]} if "fp8" in spec.name else shape


@pytest.fixture(params=KERNELS)
def spec(request: pytest.FixtureRequest) -> KernelSpec:
    return wb.kernels[request.param]


def aligned(tensor: torch.Tensor) -> torch.Tensor:
    """The same at an address that is a multiple of 256, as a GPU's allocations are."""
    room = torch.empty(tensor.nbytes + 256, dtype=torch.uint8)
    skip = -room.data_ptr() % 256
    copy = room[skip : skip + tensor.nbytes].view(tensor.dtype).view(tensor.shape)
    return copy.copy_(tensor)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: "x".join(str(v) for v in s.values()))
def test_verifies(arch: str, spec: KernelSpec, shape: dict[str, int]) -> None:
    if not in_turn(f"{spec.name} {shape}", arch):
        pytest.skip("the other target's turn")
    result = wb.verify(spec, shape=shape_in_elements(spec, shape), device=f"emulated:{arch}", seed=7)
    assert result.passed, result


LARGER = [(KERNELS[0], "gfx950"), (KERNELS[1], "gfx942"), (KERNELS[2], "gfx950"), (KERNELS[3], "gfx950")]


@pytest.mark.parametrize(("name", "on"), LARGER if EVERYTHING else random.Random(SEED).sample(LARGER, 2))
def test_larger_cube(name: str, on: str) -> None:
    side = {"m": 1024, "n": 1024, "k": 1024}
    result = wb.verify(name, shape=side, device=f"emulated:{on}", seed=9)
    assert result.passed, result


def test_many_tiles() -> None:
    """35 tiles: a run of four for each XCD and three more, in windows, the last one partial."""
    shape = {"m": 7 * 256, "n": 5 * 256, "k": 64}
    result = wb.verify(KERNELS[0], shape=shape, device="emulated:gfx950", seed=8)
    assert result.origin is Origin.COUNTED
    assert result.passed, result


def test_resources(arch: str, spec: KernelSpec) -> None:
    """All LDS for the number of work-groups, half or all registers of a SIMD's lane, nothing spilled."""
    kernel = spec.kernel(arch=arch)
    launch = spec.launch(spec.shape(), arch)
    resources = kernel.resources_at(launch.block[0], launch.dynamic_shared)
    waves_per_simd = launch.block[0] // 64 // 4
    assert resources.scratch == resources.vgpr_spills == resources.sgpr_spills == 0
    assert resources.total_vgprs <= 512 // waves_per_simd
    assert resources.occupancy.waves_per_simd == waves_per_simd
    assert launch.dynamic_shared == {"gfx950": 131072, "gfx942": 65536}[arch]
    assert resources.agprs == (256 if "interleave" in spec.name else 0)


def test_main_loop(arch: str, spec: KernelSpec) -> None:
    """Between matrix instructions there are only accesses of memory and waits: no address is computed."""
    loop = main_loop(spec.kernel(arch=arch))
    kinds = loop.kinds
    assert kinds["branch"] == 1, "straight code but for the loop itself"
    assert kinds["valu"] == kinds["agpr copy"] == kinds["scratch"] == kinds["memory"] == 0, kinds
    # M0 for each run of loads, where the next columns are, and the loop's own count.
    runs = {"gfx950": 8, "gfx942": 8 if "ping_pong" in spec.name else 16}[arch]
    assert kinds["salu"] <= runs + 4, kinds
    # fp8 on gfx950 has half the matrix instructions, each twice as long.
    longer = 2 if "fp8" in spec.name and arch == "gfx950" else 1
    assert kinds["lds"] / kinds["mfma"] <= longer * (0.375 if "ping_pong" in spec.name else 0.25), kinds
    if "interleave" in spec.name:
        assert loop.longest_gap() <= 4, (
            "a run of loads, or a strip of 16 rows, between two matrix instructions"
        )


@pytest.mark.parametrize("layout", ["nt", "nn", "tn", "tt"] if EVERYTHING else ["nt", "tn"])
def test_scaled_matrix_instructions_spill_nothing(layout: str) -> None:
    """Two waves on a SIMD have room for the epilogue's stages too. Scales are in LDS behind the operands."""
    spec = wb.kernels["gemm/mx:ping_pong"]
    shape = spec.shape({"format": "e4m3", "layout": layout, "bias": 1, "activation": "gelu"})
    kernel, launch = spec.kernel(shape, arch="gfx950"), spec.launch(shape, "gfx950")
    resources = kernel.resources_at(launch.block[0], launch.dynamic_shared)
    assert resources.scratch == resources.vgpr_spills == resources.sgpr_spills == 0
    assert resources.occupancy.waves_per_simd == 2
    assert launch.dynamic_shared == 131072 + 16384


def test_a_scale_of_255_makes_its_row_nan() -> None:
    """Also where K has an odd number of steps, so that the first step is zeros before the first column."""
    m, n, k = 264, 264, 384
    codes = torch.full((m, k), 1.0).to(torch.float8_e4m3fn)
    scale_a = torch.full((m, k // 32), 127, dtype=torch.uint8)
    scale_b = torch.full((n, k // 32), 126, dtype=torch.uint8)
    # The end of row 6 is next to the first scales of row 7.
    scale_a[6, -1] = 255
    got = wb.kernels["gemm/mx:ping_pong"](
        codes, codes[:n], scale_a, scale_b, format="e4m3", device="emulated:gfx950"
    )
    expected = torch.full((m, n), k / 2)
    expected[6] = torch.nan
    assert torch.equal(got.float().nan_to_num(-1), expected.nan_to_num(-1))


def test_scales_of_blocks_are_added_beside_matrix_instructions(arch: str) -> None:
    """For each number of a turn one addition, not packed, which would wait for the other wave's matrix
    instructions; of addresses only the scales'; nothing is spilled. Scales come by a load for each 64 rows,
    on gfx950 by one to shared memory."""
    spec = wb.kernels["gemm/fp8_block:ping_pong"]
    kernel = spec.kernel(spec.shape(), arch=arch)
    resources = kernel.resources_at(512, 0)
    assert resources.scratch == resources.vgpr_spills == resources.sgpr_spills == 0
    loop = main_loop(kernel)
    additions = [i for i in loop.instructions if "fma" in i.opcode and "mfma" not in i.opcode]
    assert {i.opcode for i in additions} <= {"v_fma_f32", "v_fmac_f32"}
    # 8 turns of 64 x 32 of C by 64 lanes.
    assert len(additions) == 8 * 64 * 32 // 64
    loads = {"gfx950": (0, 17), "gfx942": (4, 32)}[arch]
    assert (loop.kinds["memory"], loop.kinds["direct load"]) == loads
    assert loop.kinds["valu"] <= len(additions) + 12


def test_table_in_the_docs() -> None:
    """docs/gemm.md matches today's compiled kernels: a run checks one of them."""
    text = Path(gemm_table.DOCS).read_text()
    compiler = gemm_table.compiler_name()
    stated = re.search(r"compiled by (clang \d+)", text)
    assert stated is not None
    if stated[1] != compiler:
        pytest.skip(f"the table is of {stated[1]}; this is {compiler}")
    for row in gemm_table.rows(some("table", gemm_table.KERNELS)):
        assert row in text, "run python tests/kernels/gemm_table.py"


def test_no_bank_conflicts_and_whole_lines(arch: str, spec: KernelSpec) -> None:
    """No bank conflict; a load asks for whole 128-byte lines, for 64 on gfx942, which has 32 columns."""
    where = device(f"emulated:{arch}")
    tensors = spec.make_inputs(shape_in_elements(spec, {"m": 256, "n": 256, "k": 512}), seed=1, device=where)
    inputs = {name: aligned(x) if isinstance(x, torch.Tensor) else x for name, x in tensors.items()}
    out = aligned(torch.zeros(256, 256, dtype=torch.bfloat16))
    _, (record,) = spec.run(inputs, {"c": out}, device=where, options=LaunchOptions(profile=True))
    counters = record.counters
    assert counters is not None
    assert counters["lds_bank_conflict"] == 0
    line = {"gfx950": 128, "gfx942": 64}[arch]
    # In addition to the operands, each wave reads the scales of the rows of its part of C.
    scales = counters["global_bytes_read"] - 2 * 256 * 512 * 2
    assert (scales > 0) == ("fp8" in spec.name), "each operand once"
    if not scales:
        assert counters["global_bytes_read"] == line * counters[f"global_read_lines_{line}"]
    assert counters["global_bytes_written"] == 64 * counters["global_write_lines_64"]


@pytest.mark.parametrize("shape", [{"m": 512, "n": 256, "k": 320}, {"m": 300, "n": 136, "k": 72}])
def test_sanitizer_finds_nothing(arch: str, spec: KernelSpec, shape: dict[str, int]) -> None:
    if not in_turn(f"{spec.name} sanitized {shape}", arch):
        pytest.skip("the other target's turn")
    result = wb.sanitize(spec, shape=shape_in_elements(spec, shape), device=f"emulated:{arch}")
    assert not result.findings, result


ACROSS: dict[tuple[str, str, int], tuple[float, float]] = {
    ("nn", "gfx950", 2): (0.5, 0),
    ("nn", "gfx950", 1): (0.5, 0),
    ("nn", "gfx942", 2): (0.25, 0.25),
    ("nn", "gfx942", 1): (0.625, 0.5),
    ("tn", "gfx950", 2): (0.75, 0),
    ("tn", "gfx950", 1): (0.75, 0),
    ("tn", "gfx942", 2): (0.25, 0.75),
    ("tn", "gfx942", 1): (0.75, 1.55),
}
"""Limits where rows run across K: LDS reads and vector instructions for each matrix instruction, by layout,
target and bytes of an element. gfx942 has no reads that transpose."""

NUMBERS = {"gemm/bf16:ping_pong": 2, "gemm/fp8:ping_pong": 1, "gemm/int8:ping_pong": 1}
"""Bytes of an element."""


def drawn_across(layout: str) -> tuple[str, str]:
    """The kernel and the target of a layout in a run: each is a GEMM to compile and to sanitize."""
    draw = random.Random(f"{SEED} {layout}")
    return draw.choice(sorted(NUMBERS)), draw.choice(("gfx942", "gfx950"))


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("layout", ["nn", "tn"])
def test_rows_across_k(arch: str, layout: str, name: str) -> None:
    """Results with parts of tiles and of steps; no spills, no address in the loop, no bank conflict."""
    if not EVERYTHING and drawn_across(layout) != (name, arch):
        pytest.skip("the seed chooses another one")
    spec = wb.kernels[name]
    if NUMBERS[name] == 2:
        sizes = [{"m": 264, "n": 264, "k": 71 if layout == "tn" else 72}, {"m": 136, "n": 520, "k": 328}]
    else:
        sizes = [{"m": 272, "n": 272, "k": 144}, {"m": 144, "n": 528, "k": 656, "gate": 1}]
    for shape in sizes if not EVERYTHING else [*sizes, {"m": 512, "n": 768, "k": 512, "batch": 2}]:
        result = wb.verify(spec, shape={**shape, "layout": layout}, device=f"emulated:{arch}", seed=7)
        assert result.passed, result
    whole = spec.shape({"m": 256, "n": 256, "k": 256, "layout": layout})
    kernel = spec.kernel(whole, arch=arch)
    resources = kernel.resources_at(512, 0)
    assert resources.scratch == resources.vgpr_spills == resources.sgpr_spills == 0
    kinds = main_loop(kernel).kinds
    assert kinds["memory"] == 0, kinds
    assert kinds["salu"] <= 16, kinds
    # fp8 on gfx950 has half the matrix instructions, each twice as long.
    count = kinds["mfma"] * (2 if arch == "gfx950" and "fp8" in name else 1)
    assert count == 128, kinds
    lds, vector = ACROSS[layout, arch, NUMBERS[name]]
    assert kinds["lds"] <= lds * count, kinds
    assert kinds["valu"] <= vector * count, kinds
    where = device(f"emulated:{arch}")
    profiled = LaunchOptions(profile=True)
    _, (record,) = spec.run(spec.make_inputs(whole, seed=1, device=where), device=where, options=profiled)
    assert record.counters is not None
    assert record.counters["lds_bank_conflict"] == 0
    report = wb.sanitize(spec, shape={**whole, "k": 208, "n": 144}, device=f"emulated:{arch}")
    assert not report.findings, report


PINGPONG, INTERLEAVE, *_ = KERNELS
END = "if constexpr (turn % 2 == 1) schedule::end_stage<"
BROKEN = {
    "a wait for one half too few in the loop": (
        PINGPONG,
        "IN_FLIGHT = 5 *",
        "IN_FLIGHT = 6 *",
        "missing wait",
    ),
    "a wait for one half too few at the end": (
        PINGPONG,
        "constexpr (t + 2 < 8) wait_vmcnt<(5 - t)",
        "constexpr (t + 2 < 8) wait_vmcnt<(6 - t)",
        "missing wait",
    ),
    "a slot overwritten early": (PINGPONG, "t + 7>{}, in.a.loads", "t + 9>{}, in.a.loads", "race"),
    "a stage that ends a half early": (INTERLEAVE, f"{END}4 *", f"{END}5 *", "missing wait"),
    "a barrier too few": (INTERLEAVE, END, END.replace("% 2", "% 4"), "missing wait"),
    "accumulators read at once": (INTERLEAVE, "settle_agpr(c[i][j]);", "", "hazard"),
}
"""Changes that remove waiting: the kernel, the replaced text, its replacement, and the finding."""


IN_TURN = BROKEN if EVERYTHING else random.Random(SEED).sample(sorted(BROKEN), 2)
"""Each is a GEMM to compile and to sanitize; the seed chooses two per run."""


@pytest.mark.parametrize("change", IN_TURN)
def test_sanitizer_finds_a_broken_schedule(change: str) -> None:
    """There are no superfluous waits and barriers."""
    name, old, new, category = BROKEN[change]
    spec = wb.kernels[name]
    schedule = spec.name.partition(":")[2]
    header = (wb.kernels.root / "families" / f"gemm_{schedule}.cuh").read_text()
    assert header.count(old) == 1
    header = header.replace("#pragma once\n", "").replace(old, new)
    source = spec.read_source().replace('#include "families/gemm.cuh"\n', "")
    broken = dataclasses.replace(spec, source=header + source)
    result = wb.sanitize(broken, shape={"m": 256, "n": 256, "k": 320}, device="emulated:gfx942")
    assert category in {f.category for f in result.findings}, result


@pytest.mark.parametrize(
    ("name", "k", "n", "says"),
    [
        (PINGPONG, 56, 64, "k is 56; this implementation supports 64 or more"),
        (INTERLEAVE, 56, 64, "k is 56; this implementation supports 64 or more"),
        (INTERLEAVE, 64, 60, "n is 60; expected a multiple of 8"),
    ],
)
def test_shapes_refused(name: str, k: int, n: int, says: str) -> None:
    with pytest.raises(ShapeError, match=says):
        wb.kernels[name](torch.zeros(64, k, dtype=torch.bfloat16), torch.zeros(n, k, dtype=torch.bfloat16))


@pytest.mark.parametrize(
    ("name", "layout", "says"),
    [
        (PINGPONG, "nn", "n is 64; this implementation supports 128 or more in layout 'nn'"),
        (PINGPONG, "tn", "m is 64; this implementation supports 128 or more in layout 'tn'"),
        (INTERLEAVE, "nn", "layout is 'nn'; this implementation supports 'nt'"),
    ],
)
def test_layouts_refused(name: str, layout: str, says: str) -> None:
    square = torch.zeros(64, 64, dtype=torch.bfloat16)
    with pytest.raises(ShapeError, match=says):
        wb.kernels[name](square, square, layout=layout)


@pytest.mark.parametrize(
    ("k", "n", "scales", "says"),
    [
        (136, 64, 64, "k is 136; supported is 128 to 1048576 in steps of 16"),
        (64, 64, 64, "k is 64; supported is 128 to"),
        (128, 60, 60, "n is 60; supported is 8 to"),
        (128, 64, 1, r"scale_b is \(1,\); expected \(64,\) and \(64,\)"),
    ],
)
def test_shapes_refused_in_fp8(k: int, n: int, scales: int, says: str) -> None:
    a, b = torch.zeros(64, k).to(torch.float8_e4m3fn), torch.zeros(n, k).to(torch.float8_e4m3fn)
    with pytest.raises(ShapeError, match=says):
        wb.kernels["gemm/fp8:ping_pong"](a, b, torch.ones(64), torch.ones(scales))


def test_scales_belong_to_their_rows(arch: str) -> None:
    """Exact: with ones in fp8, C(i, j) is K scale_a(i) scale_b(j), scales being powers of two."""
    m, n, k = 70, 136, 128
    fp8 = torch.float8_e4m3fn if arch == "gfx950" else torch.float8_e4m3fnuz
    scale_a = torch.exp2(torch.arange(m).remainder(7).float() - 3)
    scale_b = torch.exp2(torch.arange(n).remainder(5).float() - 2)
    ones = [torch.ones(rows, k).to(fp8) for rows in (m, n)]
    got = wb.kernels["gemm/fp8:ping_pong"](*ones, scale_a, scale_b, device=f"emulated:{arch}")
    assert torch.equal(got.float(), k * scale_a[:, None] * scale_b)
