"""Runs of HipKittens' kernels by their Makefiles: copies with other sizes, results, the page's table."""

from __future__ import annotations

import re
from pathlib import Path

import compatibility_tables
import hipkittens_makefiles
import hipkittens_runs
import hipkittens_sources
import pytest
from hipkittens_runs import Kernel, Size, Task

MAKEFILE = """
SRC ?= kernel.cpp
include ../common.mk
"""
COMMON = """
tk_kernel: $(SRC)
\t$(HIPCXX) $(SRC) -I$(THUNDERKITTENS_ROOT)/include -DN=$(N) -o tk_kernel
"""
SOURCE = "#define ROWS 8192\nconstexpr int COLS = 4096; // wide\nconstexpr int HALF = COLS / 2;\n"
COMPILER = """#!/bin/sh
echo "#!/bin/sh" > tk_kernel
echo "cat $PWD/$1; echo $2 $3; echo Correctness: PASSED" >> tk_kernel
chmod +x tk_kernel
"""


def test_a_source_has_other_numbers_and_nothing_else() -> None:
    text = hipkittens_runs.with_numbers(SOURCE, {"ROWS": 64, "COLS": 32})
    assert text == SOURCE.replace("8192", "64").replace("4096", "32")


@pytest.mark.parametrize("name", ["DEPTH", "HALF", "ROW"])
def test_a_constant_that_no_number_defines_is_an_error(name: str) -> None:
    with pytest.raises(ValueError, match=f"no constant {name}"):
        hipkittens_runs.with_numbers(SOURCE, {name: 64})


@pytest.mark.parametrize("own_headers", [True, False])
def test_attempt(own_headers: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy has the size and the Makefiles above it; the checkout stays as it was."""
    checkout, programs = tmp_path / "checkout", tmp_path / "bin"
    folder = checkout / "kernels" / "norm"
    for made in (folder, checkout / "include", programs):
        made.mkdir(parents=True)
    (folder / "Makefile").write_text(MAKEFILE)
    (folder.parent / "common.mk").write_text(COMMON)
    (folder / "kernel.cpp").write_text(SOURCE)
    (programs / "hipcc").write_text(COMPILER)
    (programs / "hipcc").chmod(0o755)
    seen = []

    def outcome(text: str) -> dict[str, object]:
        seen.append(text)
        return {"result": "right", "text": "as expected"}

    monkeypatch.setattr(hipkittens_sources, "outcome", outcome)
    size = Size("64 rows", {"ROWS": 64}, {"N": 3})
    kernel = Kernel("june", "kernels/norm/kernel.cpp", (size, size))
    result = hipkittens_runs.attempt(kernel, size, checkout, "gfx950", own_headers, programs, 20)
    assert result == {"result": "right", "text": "as expected"}
    root = checkout if own_headers else hipkittens_runs.KERNELS
    assert seen == [SOURCE.replace("8192", "64") + f"-I{root}/include -DN=3\nCorrectness: PASSED\n"]
    assert (folder / "kernel.cpp").read_text() == SOURCE
    assert not (folder / "tk_kernel").exists()


@pytest.mark.parametrize(
    ("printed", "result", "text"),
    [
        (
            "  atol: 1e-1 -> 0 / 9 failures -> PASS\n\nCorrectness: PASSED",
            "right",
            "-> 0 / 9 failures",
        ),
        (
            "  atol: 1e-1 -> 3 / 9 failures -> FAIL\n\nCorrectness FAILED",
            "wrong",
            "-> 3 / 9 failures",
        ),
        ("Mismatch at (row=0, col=1)\nCorrectness: FAILED", "wrong", "Mismatch at (row=0, col=1)"),
        ("Correctness check:\nCorrectness: PASSED", "right", "passed"),
    ],
)
def test_outcome_of_a_kernels_own_check(printed: str, result: str, text: str) -> None:
    found = hipkittens_sources.outcome(printed)
    assert found["result"] == result
    assert str(found["text"]).endswith(text)


def test_a_program_that_finds_its_result_wrong_is_wrong(tmp_path: Path) -> None:
    """Whatever its exit status."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho Correctness FAILED\nexit 1\n")
    program.chmod(0o755)
    assert hipkittens_makefiles._run(program, {})["result"] == "wrong"


def test_table() -> None:
    """A row for each kernel, with all its results; a cause where one is not right."""
    tasks = [Task("june", "a/kernel.cpp", size, own) for size in ("64", "128") for own in (True, False)]
    result = {"text": "o: 1e-3", "date": "2026-07-01", "commit": "abcd"}
    results = {task.key: {**result, "result": "right"} for task in tasks}
    results[tasks[2].key] = {**result, "result": "wrong", "text": "o: 0.5 | off"}
    table = hipkittens_runs.table(tasks, results, {"june": "gfx950"}, 100)
    assert "| june | abcd | 2026-07-01 |" in table
    assert "| june | its own | 1 | 1 | 0 | 0 | 0 | 0 |" in table
    assert "| june | ours | 2 | 0 | 0 | 0 | 0 | 0 |" in table
    row = "| june | a/kernel.cpp | gfx950 | 64; 128 | right, wrong | right, right | `o: 0.5 \\| off` |"
    assert table.splitlines()[-1] == row
    del results[tasks[3].key], results[tasks[2].key]
    table = hipkittens_runs.table(tasks, results, {"june": "gfx950"}, 100)
    row = "| june | a/kernel.cpp | gfx950 | 64; 128 | right, not run | right, not run | `o: 1e-3` |"
    assert table.splitlines()[-1] == row


@pytest.mark.parametrize(
    ("tests", "common"), [("tests/unit/cdna4", "tests/unit/common"), ("tests/unit", "tests/unit")]
)
def test_unit_tests_of_either_layout(tests: str, common: str, tmp_path: Path) -> None:
    """One folder for all targets, or one for each beside what they share."""
    for folder in ("include", f"{tests}/warp", f"{common}/testing_commons"):
        (tmp_path / folder).mkdir(parents=True)
    path = tmp_path / tests / "warp" / "maps.cu"
    path.write_text("#ifdef TEST_WARP_MAPS\nstatic void device_func() {}\n#endif\n")
    (source,) = hipkittens_runs.unit_tests(tmp_path, "june", "gfx950")
    test = hipkittens_sources.unit_test(source)
    assert source.path == path
    assert test.include == [tmp_path / tests, tmp_path / common / "testing_commons"]
    assert f'#include "{tmp_path / common}/unit_tests.cu"' in test.text
    assert test.switches == ("TEST_WARP", "TEST_WARP_MAPS")


def test_kernels_have_two_sizes() -> None:
    assert all(first.name != second.name for first, second in (k.sizes for k in hipkittens_runs.RUNS))


def test_the_page_has_every_kernel() -> None:
    """Each row of the stored table has a result for each size and library, and a check or a cause."""
    rows = {}
    for line in compatibility_tables.section("runs").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))]
        if len(cells) == 7 and cells[2].startswith("gfx"):
            rows[cells[0], cells[1]] = cells[3:]
    for kernel in hipkittens_runs.RUNS:
        sizes, own, ours, checked = rows[kernel.branch, kernel.path]
        assert sizes == "; ".join(size.name for size in kernel.sizes)
        for results in (own.split(", "), ours.split(", ")):
            assert len(results) == 2
            assert set(results) <= set(hipkittens_runs.KINDS)
        assert checked
