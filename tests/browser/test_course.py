"""Journeys through the course: a student completes notebook 04, a teacher adds an exercise.

Each at 1440 x 900 or 1024 x 700, light or dark (`LOOKS`).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from conftest import Lab, Server

pytestmark = pytest.mark.timeout(1800)

ROOT = Path(__file__).parents[2]
NOTEBOOK = json.loads((ROOT / "notebooks" / "04_attention.ipynb").read_text())
SOLUTIONS = json.loads((ROOT / "notebooks" / "solutions.ipynb").read_text())
PAGE = (ROOT / "docs" / "exercises.md").read_text()

WRONG = {
    "04.1": [("mul(l, l, 0.6931471805599453f)", "//", "to base 2")],
    "04.2": [
        (" + more / BLOCK", "", "begins at key 0"),
        ("        if (block == last) make_causal_t(s, s, -INFINITY);\n", "", "is not masked"),
    ],
    "04.3": [("head / (g.q.depth() / g.k.depth())", "head % g.k.depth()", "in turn (0, 1, 0, 1)")],
    "04.4": [("ceil_div(keys, BLOCK)", "keys / BLOCK", "last block is left out")],
}
"""First answers of students, by exercise: part of the solution, its replacement, and the expected message."""

SCALE = """\
%%hipkittens mine
#include <hip/hip_runtime.h>
__global__ void scale(const float *x, float *out, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * x[i];
}"""


def sources(notebook: Any) -> list[str]:
    """Texts of its code cells."""
    return ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]


def solution(name: str) -> str:
    """The cell of a solution, under the student's file name."""
    magic = f"%%hipkittens solution_{name.replace('.', '_')}"
    (source,) = [text for text in sources(SOLUTIONS) if text.startswith(magic)]
    return source.replace(magic, "%%hipkittens mine", 1)


def to_end(lab: Lab) -> None:
    """Runs all cells."""
    lab.command("notebook:run-all-cells")
    for number in range(lab.cells.count()):
        if lab.text(number).strip():
            lab.finish(number)


def added(lab: Lab) -> int:
    """A new cell at the notebook's end."""
    count = int(lab.cells.count())
    lab.editor(count - 1).click()
    lab.command("notebook:insert-cell-below")
    lab.until(lambda: lab.cells.count() == count + 1, "the new cell")
    return count


def test_student(lab: Lab, server: Server, look: tuple[int, int, bool]) -> None:
    document = json.loads(json.dumps(NOTEBOOK))
    history = f"%env HIPKITTENS_HISTORY=student-{look[0]}-{look[2]}.sqlite\n"
    (first, *_) = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    first["source"] = history + "".join(first["source"])
    (server.folder / "04_attention.ipynb").write_text(json.dumps(document))
    lab.open_beside_sidebar("04_attention.ipynb")
    lab.theme(dark=look[2])
    lab.run(0)
    lab.says(lab.output(0).last, "0 of 4 exercises passed", "not tried yet")
    lab.cell(0).scroll_into_view_if_needed()
    lab.seen(look, "student-head")
    to_end(lab)
    tasks = [number for number in range(lab.cells.count()) if lab.text(number).startswith('wb.exercise("04.')]
    for number in tasks:
        lab.output(number).last.scroll_into_view_if_needed()
        lab.seen(look, f"student-task-{number}")
    # The demonstration, on a kernel that is not an answer, counts as a try.
    kernel, check = added(lab), added(lab)
    for name, mistakes in WRONG.items():
        lab.write(check, f'wb.exercise("{name}").check(mine)')
        for number, (right, wrong, sentence) in enumerate(mistakes, 1):
            assert solution(name).count(right) == 1
            lab.write(kernel, solution(name).replace(right, wrong))
            lab.run(kernel)
            lab.run(check)
            lab.says(lab.output(check).last, "not yet", sentence)
            if name == "04.2":
                hint = added(lab)
                lab.write(hint, f'wb.exercise("{name}").hint()')
                lab.run(hint)
                lab.says(lab.output(hint).last, f"Hint {number}")
                lab.seen(look, f"student-mistake-{number}")
                lab.command("notebook:delete-cell")
        lab.write(kernel, solution(name))
        lab.run(kernel)
        lab.run(check)
        lab.says(
            lab.output(check).last, "passed", "Right on 3 shapes" if name != "04.1" else "Right on 2 shapes"
        )
        assert right not in lab.output(check).last.inner_text(), "a check does not show the answer"
    lab.seen(look, "student-passed")
    # The progress is at the top, also in another kernel.
    lab.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.restartKernel()")
    lab.idle()
    lab.run(0)
    head = lab.output(0).last
    lab.says(head, "4 of 4 exercises passed", "passed: 4 tries, 2 hints")
    lab.cell(0).scroll_into_view_if_needed()
    lab.seen(look, "student-end")
    wide = "dom => dom.scrollWidth <= dom.clientWidth + 1"
    assert head.locator(".wb").first.evaluate(wide), "the table of exercises is cut"
    assert [text for text in lab.complaints if "hipkittens" in text.lower()] == []


def test_teacher(lab: Lab, server: Server, look: tuple[int, int, bool]) -> None:
    (text,) = re.findall(r"```python\n(\"\"\"my_course.*?)```", PAGE, re.DOTALL)
    folder = f"course_{look[0]}_{'dark' if look[2] else 'light'}"
    (server.folder / folder).mkdir(exist_ok=True)
    file, show, kernel, check = range(4)
    cells = [
        f"%%writefile {folder}/e21_1.py\n{text.replace('21.1', '21.2')}",
        f'%load_ext workbench\nimport workbench as wb\nwb.exercises(folder="{folder}")',
        SCALE.replace("factor * x", "factor + x"),
        f'wb.exercise("21.1", folder="{folder}").check(mine)',
    ]
    lab.open_beside_sidebar(server.notebook(f"{folder}.ipynb", cells))
    lab.theme(dark=look[2])
    lab.run(file)
    lab.run(show)
    # The file's name and the exercise's do not match: the message says which is wrong.
    lab.says(lab.output(show).last, "ExerciseError", "'21.2'", "'21.1'")
    lab.seen(look, "teacher-wrong")
    lab.write(file, f"%%writefile {folder}/e21_1.py\n{text}")
    lab.run(file)
    lab.run(show)
    lab.says(lab.output(show).last, "0 of 1 exercises passed", "Scale a vector")
    lab.run(kernel)
    lab.run(check)
    lab.says(lab.output(check).last, "The factor is added, not multiplied.")
    # A student leaves out the edge: none of the file's mistakes fits, but the place of the error does.
    lab.write(kernel, SCALE.replace("if (i < n)", "if (i < n / 256 * 256)"))
    lab.run(kernel)
    lab.run(check)
    lab.says(
        lab.output(check).last, "element 768 to 999 (tile 3, the last, of which only 232 of 256 are there)"
    )
    lab.seen(look, "teacher-edge")
    lab.write(kernel, SCALE)
    lab.run(kernel)
    lab.run(check)
    lab.says(lab.output(check).last, "passed", "Right on 2 shapes")
    lab.run(show)
    lab.says(lab.output(show).last, "1 of 1 exercises passed", "3 tries")
    lab.seen(look, "teacher-done")
