"""Reports about a list's programs, by commands that end in every way."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import hip_programs
import pytest
from hip_programs import ListError, Program


@pytest.mark.parametrize(
    ("build", "run", "expected", "builds", "why"),
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
        ("true", "echo '20 passed, 0 failed'", "", True, ""),
        ("true", "echo '10 passed, 10 failed'", "", True, "10 passed"),
        ("true", "echo done", "PASSED", True, "does not say 'PASSED'"),
    ],
)
def test_what_became_of_a_program(
    build: str, run: str, expected: str, builds: bool, why: str, tmp_path: Path
) -> None:
    program = Program("name", build=build, run=run, expected=expected)
    result = hip_programs.attempt(program, tmp_path, os.environ)
    assert result["builds"] is builds
    assert result["runs"] is not bool(why)
    assert result.get("why", "").startswith(why)


def test_one_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    program = Program("n", build="true", run="sleep 60 & sleep 60")
    result = hip_programs.attempt(program, tmp_path, os.environ, timeout=1)
    assert result["why"] == "not done after 1 s"


def test_a_row_names_the_targets() -> None:
    good = {"builds": True, "runs": True}
    bad = {"builds": True, "runs": False, "why": "a|b"}
    assert hip_programs.row("x", {"gfx942": good, "gfx950": good}) == "| x | yes | yes |  |"
    assert hip_programs.row("x", {"gfx942": good, "gfx950": bad}) == "| x | yes | gfx942 | `a\\|b` |"
    assert hip_programs.row("x", {"gfx942": bad, "gfx950": bad}) == "| x | yes | no | `a\\|b` |"


LIST = """
collection = "mine"
folder = "checkout"

[[program]]
name = "a/sources"
folder = "a"
sources = ["main.cpp", "two words.cpp"]
flags = ["-DGREETING=\\"hello you\\""]
args = ["and you"]
expected = "hello you, and you"

[[program]]
name = "a/commands"
folder = "a"
build = "ls main.cpp && echo $TARGET > target"
run = "grep gfx950 target"
"""


def test_of_a_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is built in a copy, and its results are added to the stored ones."""
    folder = tmp_path / "checkout" / "a"
    folder.mkdir(parents=True)
    (folder / "main.cpp").write_text(
        "#include <cstdio>\nconst char* greeting();\n"
        'int main(int, char** words) { std::printf("%s, %s\\n", greeting(), words[1]); }\n'
    )
    (folder / "two words.cpp").write_text("const char* greeting() { return GREETING; }\n")
    (tmp_path / "list.toml").write_text(LIST)
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- programs -->\nold\n<!-- end of programs -->\nbehind\n")
    store = replace(hip_programs.STORE, data=tmp_path / "data.json", page=page)
    words = [str(tmp_path / "list.toml"), "--target", "gfx950"]

    hip_programs.main([*words, "commands"], store)
    assert "| mine | 1 | 1 | 1 |" in capsys.readouterr().out
    assert "old" in page.read_text()

    hip_programs.main([*words, "--write", "commands"], store)
    hip_programs.main([*words, "--write", "sources"], store)
    written = page.read_text()
    assert "| mine | 2 | 2 | 2 |" in written
    assert "a/commands" not in written, "it runs"
    assert sorted(json.loads((tmp_path / "data.json").read_text())["mine"]) == ["a/commands", "a/sources"]
    assert written.endswith("behind\n")
    assert sorted(path.name for path in folder.iterdir()) == ["main.cpp", "two words.cpp"]


def test_a_launch_that_failed_is_the_reason_of_a_wrong_result(tmp_path: Path) -> None:
    for lines, why in (
        ("12 mismatches", "12 mismatches"),
        (
            "mismatch at: 0\nhipkittens: kernel k read 4 bytes past the end",
            "kernel k read 4 bytes past the end",
        ),
    ):
        program = hip_programs.Program("p", build="true", run=f"printf '{lines}\n'")
        assert hip_programs.attempt(program, tmp_path, dict(os.environ)).get("why") == why


PROGRAM = 'collection = "c"\n[[program]]\nname = "p"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("collection = ", "list.toml: "),
        ("[[program]]\n", "`collection` is missing"),
        ('collection = "c"\n', "`program` is missing"),
        ('collection = "c"\nprogram = ["p"]\n', "a table is wanted"),
        ('collection = "c"\nfolder = "none"\nprogram = []\n', "is no folder"),
        ('collection = "c"\n[[program]]\n', "program 1: `name` is missing"),
        (f'{PROGRAM}source = "x"', "program 1: no key `source`; there are name, folder, sources"),
        (f'{PROGRAM}sources = "x"', "`sources` is 'x', wanted is a list"),
        (f"{PROGRAM}sources = [1]", "wanted is a list of strings"),
        (PROGRAM, "program 'p': give either `sources` or `build`"),
        (f'{PROGRAM}build = "x"\nsources = ["x"]', "give either `sources` or `build`"),
        (f'{PROGRAM}build = "x"\nflags = ["x"]', "`flags` belong into its `build`"),
        (f'{PROGRAM}build = "x"\nrun = "x"\nargs = ["x"]', "`args` belong into its `run`"),
        (f'{PROGRAM}build = "x"\nexpected = "("', "`expected` is no pattern"),
        (f'{PROGRAM}build = "x"\n[[program]]\nname = "p"\nbuild = "x"', "two programs are called 'p'"),
    ],
)
def test_errors_of_a_list(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "list.toml").write_text(text)
    with pytest.raises(ListError) as error:
        hip_programs.read(tmp_path / "list.toml")
    assert says in str(error.value)
