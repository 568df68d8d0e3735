"""The recipes of `docs/` are complete: a test carries out each in a copy of the tree."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent

import pytest

ROOT = Path(__file__).parents[2]
NOT_COPIED = shutil.ignore_patterns("node_modules", "labextension", "__pycache__", "lib", ".build", "site")

ANCHORS = {
    "workbench/magic_options.py": "\nOPTIONS = (\n",
    "workbench/magics/run.py": "    module.name = options.name\n",
    "workbench/profile/counters.py": "COUNTERS: Sequence[Counter] = (\n",
}
"""The line behind which a block of `docs/architecture.md` goes, by the file that the block names."""

USE = """
import sys
import torch
import workbench as wb
from IPython.core.interactiveshell import InteractiveShell

assert wb.__file__.startswith(sys.argv[1]), wb.__file__
cell = '''#include <hip/hip_runtime.h>
__global__ void scale(const float *x, float *out, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * x[i];
}
'''
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "workbench")
shell.run_cell_magic("hipkittens", "mine --names", cell)
print("completion:", shell.complete("", "%%hipkittens mine --na", 22)[1])
mine = shell.user_ns["mine"]
print("exercise:", wb.exercise("21.1").check(mine).passed)
n = 256
mine["scale"][1, 256](torch.ones(n), torch.empty(n), 3.0, n)
counters = wb.profile(mine["scale"], counters=["SQ_INSTS_SCALAR", "SQ_INSTS_SALU", "SQ_INSTS_SMEM"]).counters
values = {name: figure.value for name, figure in counters.items()}
assert values["SQ_INSTS_SCALAR"] == values["SQ_INSTS_SALU"] + values["SQ_INSTS_SMEM"] > 0
"""


def blocks(page: str, language: str = "python") -> list[str]:
    text = (ROOT / "docs" / page).read_text()
    fences = re.findall(r"^```(\w*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return [block for name, block in fences if name == language]


def run(tree: Path, *words: str, ok: bool = True) -> str:
    """Output of a Python program in a copy of the tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree), "HIPKITTENS_HISTORY": "off"}
    process = subprocess.run(
        [sys.executable, *words],
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert (process.returncode == 0) is ok, process.stdout
    return process.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this tree with an additional operator, exercise, option and counter."""
    tree = tmp_path_factory.mktemp("tree")
    for folder in ("workbench", "kernels", "tests", "docs"):
        shutil.copytree(ROOT / folder, tree / folder, ignore=NOT_COPIED)
    shutil.copy(ROOT / "pyproject.toml", tree)

    operator = tree / "kernels" / "vectors" / "axpy.py"
    operator.parent.mkdir()
    operator.write_text(blocks("writing_an_operator.md")[0])
    (exercise,) = (block for block in blocks("exercises.md") if "my_course/e21_1.py" in block)
    (tree / "workbench" / "exercises" / "course" / "e21_1.py").write_text(exercise)
    for block in blocks("architecture.md"):
        place, lines = block.split("\n", 1)
        path = re.match(r"# ([\w/.]+), in ", place)[1]
        source, anchor = tree / path, ANCHORS[path]
        text = source.read_text()
        assert text.count(anchor) == 1, path
        if anchor.endswith("(\n"):
            lines = lines.rstrip() + ",\n"  # an element of a tuple
        source.write_text(text.replace(anchor, anchor + indent(lines, "    ")))
    return tree


def test_the_operator_passes_the_tests_that_the_page_names(tree: Path) -> None:
    (command,) = (line for line in blocks("writing_an_operator.md", "")[-1].splitlines() if "pytest" in line)
    words = shlex.split(command)
    assert words[:3] == ["python", "-m", "pytest"]
    report = run(tree, *words[1:], "-p", "no:cacheprovider", "-W", "ignore")
    passed = re.search(r"(\d+) passed", report) or report.count(".")
    assert passed, report
    assert "failed" not in report


def test_option_counter_and_exercise_are_there(tree: Path) -> None:
    report = run(tree, "-c", USE, str(tree))
    assert re.search(r"^scale$", report, re.MULTILINE), report
    assert "completion: ['--names']" in report
    assert "exercise: True" in report


def test_what_is_generated_follows(tree: Path) -> None:
    """`make generated` writes the files that the recipes name."""
    files = [
        "docs/counters.md",
        "docs/kernels.md",
        "docs/reference/magics.md",
        "workbench/lab/src/options.ts",
    ]
    program = (
        "import sys; sys.path.insert(0, 'tests'); import generated; files = sys.argv[1:]; print(*sorted(file "
        "for file, _ in generated.stale(p for p in generated.DERIVED if not set(files).isdisjoint(p.files))))"
    )
    assert run(tree, "-c", program, *files).split() == files
