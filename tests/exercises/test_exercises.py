"""Names, hints, progress, places, and a teacher's own exercise."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.check.compare import compare
from workbench.display import html_of
from workbench.errors import ExerciseError, UnknownExercise, UsageError
from workbench.events import hub
from workbench.exercises import CheckResult, Limit, checking, progress
from workbench.exercises.costs import counter, executed, is_atomic
from workbench.history import recorder
from workbench.profile.loops import is_load

PAGE = Path(__file__).parents[2] / "docs" / "exercises.md"

SCALE = """#include <hip/hip_runtime.h>
__global__ void scale(const float *x, float *out, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * x[i];
}
"""


@pytest.fixture(autouse=True)
def own_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A separate history file, for a reader who has done nothing yet."""
    file = tmp_path / "runs.sqlite"
    monkeypatch.setenv("HIPKITTENS_HISTORY", str(file))
    monkeypatch.setattr(progress, "_of_process", {})
    hub.clear()  # a recorder that starts writes the runs of earlier tests
    yield file
    recorder.stop()


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """The folder with the exercise that the page shows a teacher."""
    (text,) = re.findall(r"```python\n(\"\"\"my_course.*?)```", PAGE.read_text(), re.DOTALL)
    folder = tmp_path / "my_course"
    folder.mkdir()
    (folder / "e21_1.py").write_text(text)
    return folder


def checked(course: Path, *replaced: str) -> str:
    source = SCALE.replace(*replaced) if replaced else SCALE
    result = wb.exercise("21.1", folder=course).check(wb.compile(source, name="answer"))
    assert result.passed == (not replaced)
    return result.sentence


@pytest.mark.parametrize("cost", [executed(is_load), counter("SQ_INSTS_VMEM_RD")])
def test_a_limit_is_reported_where_values_are_right(course: Path, cost: Callable[..., float]) -> None:
    loads = 16  # 1000 numbers at the last shape, 64 at a time
    answer = wb.compile(SCALE, name="answer")
    asked = wb.exercise("21.1", folder=course)

    def at_most(most: int) -> CheckResult:
        limit = Limit("{found} loads, {most} are enough.", cost, lambda shape: most * shape["n"] / 1000)
        return replace(asked, limits=[limit]).check(answer)

    assert at_most(loads).passed
    result = at_most(loads - 1)
    assert result.sentence == "The values are right; at n=1000: 16 loads, 15 are enough."
    assert result.shape == {"n": 1000}
    with pytest.raises(wb.errors.VerificationError):
        result.check()


def test_only_what_is_asked_for_is_executed(course: Path) -> None:
    profile = wb.profile(
        wb.compile(SCALE, name="answer")["scale"][4, 256],
        *(torch.zeros(1000), torch.empty(1000), 3.0, 1000),
        device="emulated",
    )
    assert executed(is_load)(profile) == 16
    assert executed(lambda instruction: "global_" in instruction.mnemonic)(profile) == 32
    assert executed(is_atomic)(profile) == 0


def test_a_teacher_s_exercise(course: Path) -> None:
    assert [exercise.name for exercise in wb.exercises(folder=course)] == ["21.1"]
    assert checked(course) == "Right on 2 shapes, and the sanitizer finds nothing."
    assert checked(course, "factor *", "factor +").endswith("The factor is added, not multiplied.")
    edge = checked(course, "if (i < n)", "if (i < n / 256 * 256)")
    assert "At n=1000" in edge
    assert "element 768 to 999 (tile 3, the last, of which only 232 of 256 are there)" in edge
    assert "past the end of argument" in checked(course, "if (i < n)", "")
    assert "cannot be launched" in checked(course, "int n", "int m, int n")
    assert "cannot be launched" in checked(course, "float factor", "double factor, float other")


def test_a_kernel_that_writes_to_its_input(course: Path) -> None:
    source = SCALE.replace("const float *x", "float *x").replace(
        "if (i < n)", "if (i < n) x[i] += 0.0f, x[i] *= 1.5f;"
    )
    result = wb.exercise("21.1", folder=course).check(wb.compile(source, name="answer"))
    assert "input x" in result.sentence


def test_unknown_names(course: Path) -> None:
    with pytest.raises(UnknownExercise, match=r"did you mean 04\.\d"):
        wb.exercise("4.2")
    with pytest.raises(KeyError, match=r"there are 21\.1"):
        wb.exercise("none", folder=course)
    with pytest.raises(UnknownExercise, match="these have: 01, 02"):
        wb.exercises("99")


def test_files_that_define_none(course: Path) -> None:
    (course / "e21_2.py").write_text("exercise = 1\n")
    with pytest.raises(ExerciseError, match="must define `exercise`"):
        wb.exercise("21.2", folder=course)
    (course / "e21_3.py").write_text((course / "e21_1.py").read_text())
    with pytest.raises(ExerciseError, match=r"expected '21\.3'"):
        wb.exercise("21.3", folder=course)


def test_what_is_no_answer(course: Path) -> None:
    with pytest.raises(UsageError, match="got a str"):
        wb.exercise("21.1", folder=course).check("scale")  # type: ignore[arg-type]


def test_three_hints_each_the_next() -> None:
    exercise = wb.exercise("04.2")
    assert [exercise.hint().number for _ in range(4)] == [1, 2, 3, 3]
    assert exercise.hint(1).text == exercise.hints[0]
    assert exercise.progress.hints == 3
    with pytest.raises(UsageError, match="1 to 3"):
        exercise.hint(4)


def test_progress_is_stored(own_history: Path, course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exercise = wb.exercise("21.1", folder=course)
    assert str(exercise.progress) == "not tried yet"
    assert not own_history.exists(), "who only looks makes no file"
    checked(course, "factor *", "factor +")
    exercise.hint()
    checked(course)
    checked(course, "factor *", "factor +")
    recorder.stop()
    monkeypatch.setattr(progress, "_of_process", {})  # another process
    assert str(exercise.progress) == "passed: 3 tries, 1 hint"
    exercises = wb.exercises(folder=course)
    assert repr(exercises).startswith("1 of 1 exercises passed")
    assert "passed: 3 tries" in html_of(exercises)


@pytest.mark.parametrize("harm", ["off", "locked", "damaged", "other values"])
def test_no_history_does_no_harm(
    harm: str, own_history: Path, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = None
    if harm == "off":
        monkeypatch.setenv("HIPKITTENS_HISTORY", "off")
    elif harm == "damaged":
        own_history.write_bytes(b"no database " * 100)
    else:
        progress.Progress.note("21.1", hints=1)
        lock = sqlite3.connect(own_history)
        if harm == "locked":
            recorder.stop()
            lock.execute("BEGIN EXCLUSIVE")
        else:
            lock.execute("UPDATE setting SET value = '[1]'")
            lock.commit()
    checked(course)
    assert wb.exercise("21.1", folder=course).progress.passed
    if lock is not None:
        lock.close()


def test_what_a_notebook_shows(course: Path) -> None:
    exercise = wb.exercise("21.1", folder=course)
    assert "Scale a vector" in html_of(exercise)
    assert "Hint 1" in html_of(exercise.hint())
    right = exercise.check(wb.compile(SCALE, name="answer"))
    assert "passed" in html_of(right)
    assert "21.1: passed" in repr(right)


def test_a_place_in_words() -> None:
    exercise = wb.exercise("04.3")
    expected = torch.zeros(2, 4, 50, 64, dtype=torch.float64)

    def described(got: torch.Tensor) -> str:
        return checking.error_location(exercise, compare(got, expected), got, expected)

    got = expected.float()
    got[1, :, 32:] = 1
    assert (
        "in 4,608 of 25,600 elements, all at batch 1, query 32 to 49 (tile 1, the last, of which"
        in described(got)
    )
    got = expected.float()
    got[:, ::2] = float("nan")
    assert "was never written or is NaN" in described(got)
    assert "all at 2 of 4 places of head, from 0 on" in described(got)
    assert "every element" in described(expected.float() + 1)


def test_hints_and_shapes_are_asked_for() -> None:
    from dataclasses import replace

    with pytest.raises(UsageError, match="expected 3"):
        replace(wb.exercise("04.1"), hints=("one",))
    with pytest.raises(UsageError, match="no shapes"):
        replace(wb.exercise("04.1"), shapes=[])
