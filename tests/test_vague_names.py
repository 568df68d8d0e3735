"""Names that count as vague, scopes that do not count, and the limit for a folder."""

from __future__ import annotations

from pathlib import Path

import pytest
import vague_names

SAMPLE = """
made = 1

def long(given, rows):
    first = given
    kept = first
    return kept

def short(one):
    each = one
    return each

class Holder:
    wanted: int = 0
    rows = [what for what in ()]

    def long(self):
        pick = lambda told: told
        for shown in ():
            pick(shown)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "kernels" / "node_modules").mkdir(parents=True)
    (tmp_path / "kernels" / "sample.py").write_text(SAMPLE)
    (tmp_path / "kernels" / "node_modules" / "other.py").write_text("found = 1\n")
    (tmp_path / "tests").mkdir()
    return tmp_path


def test_scopes_of_three_lines_are_left_out(tree: Path) -> None:
    names = list(vague_names.bindings(tree / "kernels" / "sample.py"))
    assert {(name.scope, name.name) for name in names if name.vague} == {
        ("", "made"),
        ("long", "given"),
        ("long", "kept"),
        ("Holder", "wanted"),
        ("Holder.long", "shown"),
    }
    assert {name.name for name in names if not name.vague} == {"rows", "first", "self", "pick"}


def test_a_folder_fails_at_the_limit(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert vague_names.check(tree, ["kernels"]) == 1
    output = capsys.readouterr().out
    assert "kernels: 50.00 % of 10 names are vague (5)" in output
    assert "5  kernels/sample.py" in output
    assert "node_modules" not in output

    below = [f"name_{i} = 0\n" for i in range(49)]
    (tree / "tests" / "few.py").write_text("".join([*below, "found = 0\n"]))
    assert vague_names.check(tree, ["tests"]) == 1, "2 % is too much"
    (tree / "tests" / "few.py").write_text("".join([*below, "found = 0\n", "rows = 0\n"]))
    assert vague_names.check(tree, ["tests"]) == 0


def test_a_file_fails_at_its_own_limit(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clear = [f"name_{i} = 0\n" for i in range(200)]
    (tree / "tests" / "many.py").write_text("".join(clear))
    vague = ["found = 0\n", "made = 0\n"]
    (tree / "tests" / "few.py").write_text("".join([*clear[:18], *vague]))
    assert vague_names.check(tree, ["tests"]) == 0, "twenty names are too few for a limit"
    (tree / "tests" / "few.py").write_text("".join([*clear[:18], *vague, "known = 0\n"]))
    assert vague_names.check(tree, ["tests"]) == 1
    assert "tests/few.py: 14.3 % are vague; a file's limit is 10 %" in capsys.readouterr().out
    (tree / "tests" / "few.py").write_text("".join([*clear[:19], *vague]))
    assert vague_names.check(tree, ["tests"]) == 0
