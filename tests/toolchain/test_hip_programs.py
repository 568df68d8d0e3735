"""What is told of other people's programs, by commands that end in every way."""

from __future__ import annotations

import os
from pathlib import Path

import hip_programs
import pytest
from hip_program_list import Program


@pytest.mark.parametrize(
    ("build", "run", "says", "builds", "why"),
    [
        ("true", "echo PASSED", "PASSED", True, ""),
        ("echo 'x.hip:3: error: no such name' >&2; exit 1", "true", "", False, "no such name"),
        (
            "true",
            "echo 'hipkittens: it wrote past the end' >&2; exit 3",
            "",
            True,
            "exit status 3: it wrote past",
        ),
        ("true", "echo 'Validation failed: 3 wrong'", "", True, "Validation failed: 3 wrong"),
        ("true", "echo 'mismatches: 0'", "", True, ""),
        ("true", "echo done", "PASSED", True, "does not say 'PASSED'"),
    ],
)
def test_what_became_of_a_program(
    build: str, run: str, says: str, builds: bool, why: str, tmp_path: Path
) -> None:
    program = Program("collection", "name", ".", build, run, says)
    told = hip_programs.attempt(program, tmp_path, os.environ)
    assert told["builds"] is builds
    assert told["runs"] is not bool(why)
    assert told.get("why", "").startswith(why)


def test_one_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    program = Program("c", "n", ".", "true", "sleep 60 & sleep 60")
    told = hip_programs.attempt(program, tmp_path, os.environ, timeout=1)
    assert told["why"] == "not done after 1 s"


def test_a_row_names_the_targets() -> None:
    good = {"builds": True, "runs": True}
    bad = {"builds": True, "runs": False, "why": "a|b"}
    assert hip_programs.row("x", {"gfx942": good, "gfx950": good}) == "| x | yes | yes |  |"
    assert hip_programs.row("x", {"gfx942": good, "gfx950": bad}) == "| x | yes | gfx942 | `a\\|b` |"
    assert hip_programs.row("x", {"gfx942": bad, "gfx950": bad}) == "| x | yes | no | `a\\|b` |"


def test_a_list_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "own.py"
    own.write_text(
        "from hip_program_list import Program\n"
        "COLLECTIONS = {'mine': lambda _: [Program('mine', 'a/one', 'a', 'ls x', 'grep -q kept x')]}\n"
    )
    (tmp_path / "checkouts" / "mine" / "a").mkdir(parents=True)
    (tmp_path / "checkouts" / "mine" / "a" / "x").write_text("kept")
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- programs -->\nold\n<!-- end of programs -->\nbehind\n")
    monkeypatch.setattr(hip_programs, "DATA", tmp_path / "data.json")
    monkeypatch.setattr(hip_programs, "PAGE", page)
    hip_programs.main([str(tmp_path / "checkouts"), "--list", str(own), "--target", "gfx950"])
    assert "| mine | 1 | 1 | 1 |" in page.read_text()
    assert "### mine" in page.read_text()
    assert "| a/one | yes | yes |  |" in page.read_text()
