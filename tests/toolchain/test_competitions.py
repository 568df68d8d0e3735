"""Results of submissions to competitions, by a judge in the form of GPU MODE's."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import competitions
import pytest

TASK = """# name: doubling

files:
  - {"name": "submission.py", "source": "@SUBMISSION@"}
  - {"name": "utils.py", "source": "../utils.py"}
  - {"name": "eval.py", "source": "../eval.py"}

lang: "py"

description: |
  files:
    - {"name": "no.py"}

tests:
  - {"n": 2, "seed": 1}

  - {"n": 3, "seed": 2}

benchmarks:
  - {"n": 4, "seed": 3}
"""
JUDGE = """
import os, sys
from submission import double
from utils import WANTED

with os.fdopen(int(os.environ["POPCORN_FD"]), "w") as log:
    wrong = 0
    for number, line in enumerate(open(sys.argv[2])):
        n = int(line.split(";")[0].split(":")[1])
        good = double(n) == WANTED * n
        wrong += not good
        print(f"test.{number}.status: {'pass' if good else 'fail'}", file=log)
        if not good:
            print(f"test.{number}.error: {n} is not doubled", file=log)
sys.exit(112 if wrong else 0)
"""


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    (tmp_path / "problems" / "math" / "doubling").mkdir(parents=True)
    (tmp_path / "problems" / "math" / "doubling" / "task.yml").write_text(TASK)
    (tmp_path / "problems" / "math" / "utils.py").write_text("WANTED = 2\n")
    (tmp_path / "problems" / "math" / "eval.py").write_text(JUDGE)
    return tmp_path / "problems"


def submission(text: str, folder: Path, **further: object) -> dict[str, object]:
    (folder / "someone.py").write_text(text)
    return {
        "name": "someone",
        "language": "HIP",
        "problem": "math/doubling",
        "file": "someone.py",
        **further,
    }


def test_submissions_are_judged(problems: Path, tmp_path: Path) -> None:
    (tmp_path / "factor.txt").write_text("2")
    text = "factor = int(open('factor.txt').read())\ndef double(n): return factor * n\n"
    reads_a_file = submission(text, tmp_path, beside=["factor.txt"], cause="not of those that are right")
    result = competitions.attempt(reads_a_file, problems, tmp_path, "MI300X")
    assert result.pop("seconds") < 600
    assert result == {"language": "HIP", "problem": "math/doubling", "cases": 2, "right": 2}
    wrong = submission("def double(n): return 4", tmp_path, cause="a constant")
    result = competitions.attempt(wrong, problems, tmp_path, "MI300X")
    reasons = result["why"], result["cause"]
    assert (result["cases"], result["right"], *reasons) == (2, 1, "3 is not doubled", "a constant")


@pytest.mark.parametrize(
    ("log", "output", "status", "why"),
    [
        ("", "Traceback:\nImportError: no such\nhipkittens: 0 launches", 1, "ImportError: no such"),
        ("test.0.status: pass", "", None, "not done after 9 s"),
        ("", "hipkittens: a launch failed: kernel k", None, "a launch failed: kernel k"),
        ("test.0.status: fail\ntest.0.error: it differs", "", 112, "it differs"),
    ],
)
def test_why_one_is_not_right(log: str, output: str, status: int | None, why: str) -> None:
    assert competitions.judged(log, output, status, 2, 9)["why"] == why


def test_the_table_is_written(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- submissions -->\nold\n<!-- end of submissions -->\nbehind\n")
    store = replace(competitions.STORE, data=tmp_path / "data.json", page=page)
    result = {"language": "HIP", "problem": "p", "cases": 2, "right": 2, "seconds": 7}
    competitions.write("b", result, store)
    competitions.write("a", {**result, "language": "Triton", "right": 1, "why": "a|`b`"}, store)
    competitions.write("c", {**result, "right": 0, "why": "no", "cause": "its file"}, store)
    before, _, rest = page.read_text().partition("<!-- submissions -->\n")
    assert before == "before\n"
    assert rest.endswith("<!-- end of submissions -->\nbehind\n")
    assert [line for line in rest.splitlines() if line.endswith((" right.", " |"))] == [
        "HIP: 1 of 2 are right.",
        "Triton: 0 of 1 are right.",
        "| submission | problem | cases right | seconds | why not |",
        "| --- | --- | --- | --- | --- |",
        "| b (HIP) | p | 2 of 2 | 7 |  |",
        "| c (HIP) | p | 0 of 2 | 7 | `no`: its file |",
        "| a (Triton) | p | 1 of 2 | 7 | `a\\|b` |",
    ]


def test_the_page_has_the_stored_results() -> None:
    assert competitions.table(competitions.STORE.read()) in competitions.STORE.page.read_text()
