"""Mutants change code that runs, and each file has tests that could find them."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from itertools import islice
from pathlib import Path

import mutate
import pytest

C = """\
#include <stdint.h>  // 1 + 2
static_assert(sizeof(int) == 4);
template <int N> int f(const int &x, int *y) {
    /* x < 3 */
    if (x < 3 && *y == 0x10) return x + 1;
    return 5;
}
"""
PYTHON = """\
def f(a, b):
    "1 + 2"
    if a.cmp("olt", b):
        return a << 3
    return b and True
"""


def lines(mutants: list[mutate.Mutant], source: str) -> list[str]:
    return sorted(mutant.applied(source).splitlines()[mutant.line(source)].strip() for mutant in mutants)


def test_mutants_of_c() -> None:
    assert lines(list(mutate.c_mutants("f.c", C)), C) == [
        "if (!(x < 3 && *y == 0x10)) return x + 1;",
        "if (x < 3 && *y != 0x10) return x + 1;",
        "if (x < 3 && *y == 0x10) return x + 2;",
        "if (x < 3 && *y == 0x10) return x - 1;",
        "if (x < 3 && *y == 0x11) return x + 1;",
        "if (x < 3 || *y == 0x10) return x + 1;",
        "if (x < 4 && *y == 0x10) return x + 1;",
        "if (x <= 3 && *y == 0x10) return x + 1;",
        "return 6;",
    ]


def test_mutants_of_python() -> None:
    mutants = list(mutate.python_mutants("f.py", PYTHON))
    assert lines(mutants, PYTHON) == [
        'if (not (a.cmp("olt", b))):',
        'if a.cmp("ole", b):',
        "return a << 4",
        "return a >> 3",
        "return b and False",
        "return b or True",
    ]
    for mutant in mutants:
        ast.parse(mutant.applied(PYTHON))


@pytest.mark.parametrize("area", mutate.AREAS)
def test_the_seed_draws_of_every_kind(area: str) -> None:
    first, again, other = (list(islice(mutate.mutants(area, mutate.ROOT, seed), 60)) for seed in (1, 1, 2))
    assert first == again != other
    assert {mutant.kind for mutant in first} == {"operator", "constant", "condition"}


@pytest.mark.parametrize("area", mutate.AREAS)
def test_every_file_has_tests(area: str) -> None:
    for pattern in mutate.AREAS[area]:
        paths = [str(path.relative_to(mutate.ROOT)) for path in mutate.ROOT.glob(pattern)]
        assert paths
        for path in paths:
            tests = mutate.tests_of(mutate.Mutant(path, 0, 0, "", ""), mutate.ROOT)
            assert tests
            assert all((mutate.ROOT / test.partition("::")[0]).exists() for test in tests)


def test_code_that_compiles_is_told_from_what_does_not(tmp_path: Path) -> None:
    """A mutant of a header, of C or of Python that does not compile is not counted."""
    tree = tmp_path / "tree"
    mutate.copy_of_the_tree(tree)
    for path, good in (
        ("kernels/include/ops/warp/register/vec/maps.cuh", "template <"),
        ("workbench/emulator/native/ops/math.c", "static inline"),
        ("workbench/emulator/semantics/vector_move.py", "def "),
    ):
        source = (tree / path).read_text()
        start = source.index(good)
        assert mutate.is_code(mutate.Mutant(path, start, start, "", "constant"), tree), path
        mutant = mutate.Mutant(path, start, start + len(good), "@@", "constant")
        with mutate.mutated(tree, mutant):
            assert not mutate.is_code(mutant, tree), path


SUITE = {
    "subject.py": "def twice(x):\n    return x * 2\n\n\ndef unused(x):\n    return x * 2\n",
    "conftest.py": "def pytest_addoption(parser):\n    parser.addoption('--tier')\n",
    "test_subject.py": """\
import subject


def test_that_fails_anyway():
    assert subject.twice(3) == 5


def test_twice():
    assert subject.twice(3) == 6
""",
    # In a process of its own: `killer` forks, and moves to the tree.
    "../kill.py": """\
import os, sys
from pathlib import Path
import mutate

tree = Path(sys.argv[1])
os.chdir(tree)
sys.path.insert(0, str(tree))
turns = mutate.Turns(tree.parent)
source = (tree / "subject.py").read_text()
for mutant in mutate.python_mutants("subject.py", source):
    if mutant.kind == "operator":
        print(mutate.killer(mutant, tree, turns, 1, ["test_subject.py"]))
print(turns.broken, (tree / "subject.py").read_text() == source)
""",
}


def test_a_test_that_fails_without_a_mutant_kills_none(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    tree.mkdir()
    for name, text in SUITE.items():
        (tree / name).write_text(text)
    command = [sys.executable, str(tmp_path / "kill.py"), str(tree)]
    environment = {**os.environ, "PYTHONPATH": str(mutate.ROOT / "tests")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=tree)
    killed, survivor, state = done.stdout.splitlines()
    assert killed == "('test', 'test_subject.py::test_twice - assert 5 == 6')"
    assert survivor == "None"
    assert state == "{'test_subject.py::test_that_fails_anyway'} True"
