"""Habits of warps of 32 lanes: the note at the line, its fix, and code without the habit."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import workbench as wb
from workbench.paths import include_dir
from workbench.toolchain import Diagnostic
from workbench.toolchain.compilation import check_device
from workbench.toolchain.mistakes import ACCEPTED, unsaid
from workbench.toolchain.mistakes.cell_text import Cell
from workbench.toolchain.options import CompileOptions

ROOT = Path(__file__).parents[2]
MASK, LANE, SUM = "A mask of lanes in 32 bits", "A lane of a warp of 32", "A reduction over 32 lanes"
BIT, FULL = "A lane's bit in 32 bits", "A full mask of 32 lanes"
VOTED = "bool any = __any(p); "
# (habit, body, the place of the note, the body after the fix)
HABITS = (
    (MASK, "unsigned m = __ballot(p > 0);", "__ballot(", "unsigned long long m = __ballot(p > 0);"),
    (MASK, "int m = __activemask();", "__activemask", "unsigned long long m = __activemask();"),
    (MASK, "uint32_t m{__ballot(p)};", "__ballot", ""),
    (MASK, "unsigned m; m = __ballot(p);", "__ballot", ""),
    (MASK, "auto m = (unsigned)__ballot(p);", "__ballot", ""),
    (MASK, "auto m = static_cast<uint32_t>(__match_any_sync(~0ull, p));", "__match", ""),
    (MASK, "int n = __popc(__ballot(p));", "__popc", "int n = __popcll(__ballot(p));"),
    (
        MASK,
        "int n = __ffs(__ballot_sync(~0ull, p)) - 1;",
        "__ffs",
        "int n = __ffsll(__ballot_sync(~0ull, p)) - 1;",
    ),
    (
        FULL,
        "v += __shfl_sync(0xffffffffull, v, 0);",
        "0xffffffffull",
        "v += __shfl_sync(0xffffffffffffffffull, v, 0);",
    ),
    (
        BIT,
        "int rank = __popcll(__ballot(p) & ((1u << lane) - 1));",
        "1u",
        "int rank = __popcll(__ballot(p) & ((1ull << lane) - 1));",
    ),
    (
        LANE,
        VOTED + "int lane = threadIdx.x & 31;",
        "threadIdx.x & 31",
        VOTED + "int lane = threadIdx.x & 63;",
    ),
    (
        LANE,
        VOTED + "int warp = threadIdx.x >> 5;",
        "threadIdx.x >> 5",
        VOTED + "int warp = threadIdx.x >> 6;",
    ),
    (
        LANE,
        VOTED + "int tid = threadIdx.x; if (tid % 32 == 0) out[tid / 32] = any;",
        "tid % 32",
        VOTED + "int tid = threadIdx.x; if (tid % 64 == 0) out[tid / 32] = any;",
    ),
    (
        SUM,
        "for (int o = 16; o > 0; o >>= 1) v += __shfl_down(v, o);",
        "16",
        "for (int o = 32; o > 0; o >>= 1) v += __shfl_down(v, o);",
    ),
    (
        SUM,
        "for (unsigned o = 16; o; o /= 2) { float other = __shfl_xor(v, o); v = max(v, other); }",
        "16",
        "for (unsigned o = 32; o; o /= 2) { float other = __shfl_xor(v, o); v = max(v, other); }",
    ),
    (
        SUM,
        "for (int o = 1; o < 32; o <<= 1) v += __shfl_xor_sync(~0ull, v, o);",
        "32",
        "for (int o = 1; o < 64; o <<= 1) v += __shfl_xor_sync(~0ull, v, o);",
    ),
    (
        SUM,
        " ".join(f"v += __shfl_down(v, {step});" for step in (16, 8, 4, 2, 1)),
        "16",
        "",
    ),
)


def source(body: str) -> str:
    return (
        "#include <hip/hip_runtime.h>\n"
        f"__global__ void k(float *out, float v, int p) {{ {body} out[0] = v + p; }}"
    )


def notes(text: str) -> tuple[Diagnostic, ...]:
    return unsaid(Cell(text), "cell.hip")


@pytest.mark.parametrize(("habit", "body", "at", "mended"), HABITS, ids=[habit[1][:40] for habit in HABITS])
def test_a_habit_has_one_note_at_its_place(habit: str, body: str, at: str, mended: str) -> None:
    text = source(body)
    (note,) = notes(text)
    assert (note.mistake, note.severity, note.line) == (habit, "note", 2)
    line = text.split("\n")[1]
    assert line[note.column - 1 :].startswith(at), line[note.column - 1 :]
    assert len(note.message) < 240
    for fix in note.fixits:
        line = line[: fix.column - 1] + fix.text + line[fix.end_column - 1 :]
    assert bool(note.fixits) == bool(mended)
    if mended:
        assert line == source(mended).split("\n")[1]
        assert not notes(source(mended))


RIGHT = (
    "unsigned long long m = __ballot(p); int n = __popcll(m);",
    "unsigned low = __ballot(p) & 0xffff; unsigned high = __ballot(p) >> 32;",
    "bool some = __ballot(p) != 0;",
    "for (int o = 16; o > 0; o /= 2) v += __shfl_down(v, o, 32);",
    "for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(~0ull, v, o, 32); int l = threadIdx.x & 31;",
    "v += __shfl_xor(v, 32); for (int o = 16; o > 0; o /= 2) v += __shfl_xor(v, o);",
    "for (int o = warpSize / 2; o > 0; o /= 2) v += __shfl_down(v, o);",
    "for (int o = 16; o > 0; o /= 2) v += o;",
    VOTED + "int col = threadIdx.x % 32, row = threadIdx.x / 32;",
    "int laneId = threadIdx.x % 32; out[laneId] = v;",
    VOTED + "int laneId = threadIdx.x % 320;",
    VOTED + "unsigned bit = 1u << p;",
    "// unsigned m = __ballot(p); for (int o = 16; o > 0; o /= 2) v += __shfl_down(v, o);",
    'printf("unsigned m = __ballot(p); int lane = threadIdx.x & 31;"); bool any = __any(p);',
    VOTED + "/* int laneId = threadIdx.x & 31; */",
)


@pytest.mark.parametrize("body", RIGHT)
def test_what_means_64_lanes_or_halves_has_none(body: str) -> None:
    assert not notes(source(body).replace("{ //", "{\n//") + "\n")


def test_lanes_of_a_matrix_instruction_have_none() -> None:
    body = "v4 d = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(a, b, c, 0, 0, 0); int laneId = threadIdx.x % 32;"
    assert not notes(source(VOTED + body))


def test_every_habit_is_tested() -> None:
    assert {habit[0] for habit in HABITS} == {
        mistake.name for mistake in ACCEPTED if mistake.severity == "note"
    }


def test_headers_kernels_and_notebooks_have_none() -> None:
    files = [path for path in include_dir().parent.rglob("*") if path.suffix in (".cuh", ".cpp", ".py")]
    files += (ROOT / "workbench/toolchain/include").rglob("*.h")
    files += (ROOT / "workbench/lab/templates").glob("*.md")
    texts = {path.name: path.read_text() for path in files}
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        for number, cell in enumerate(json.loads(path.read_text())["cells"]):
            texts[f"{path.name}, cell {number}"] = "".join(cell["source"])
    assert len(texts) > 200
    places = [(name, note.text) for name, text in texts.items() for note in notes(text)]
    assert [place for place in places if ": note: " in place[1]] == []


def test_a_note_comes_with_the_result_and_as_one_types() -> None:
    text = source("unsigned m = __ballot(p); out[1] = m;")
    result = wb.compile(text, arch="gfx950", name="cell.hip").result
    assert result is not None
    typed = check_device(text, CompileOptions("gfx950", name="cell.hip"))
    for diagnostics in (result.diagnostics, typed):
        assert [(note.severity, note.line, note.mistake) for note in diagnostics] == [("note", 2, MASK)]
        assert re.search(
            r"__ballot gives a mask of 64 lanes, unsigned keeps those of lanes 0 to 31", str(diagnostics[0])
        )
