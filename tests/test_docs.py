"""Documents and docstrings name only files, modules, commands, make targets and variables that exist."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from workbench.__main__ import main
from workbench.operators import kernels

ROOT = Path(__file__).parents[1]

DOCUMENTS = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
)

EXAMPLES = {"workbench_kernels.references.x"}
"""Placeholder names."""


@cache
def texts() -> tuple[tuple[Path, str], ...]:
    """Documents, and the docstrings of the package."""
    return (*((path, path.read_text()) for path in DOCUMENTS), *_docstrings())


def _docstrings() -> Iterator[tuple[Path, str]]:
    for path in _sources("workbench", ".py"):
        for node in ast.walk(ast.parse(path.read_text())):
            kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            if isinstance(node, kinds) and (text := ast.get_docstring(node)):
                yield path, text


def _sources(folder: str, *suffixes: str) -> Iterator[Path]:
    for path in (ROOT / folder).rglob("*"):
        if path.suffix in suffixes and "node_modules" not in path.parts:
            yield path


def named(pattern: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Matches of a pattern, each with its file."""
    for path, text in texts():
        for match in re.finditer(pattern, text):
            yield str(path.relative_to(ROOT)), match


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", document.read_text())
    files = {link.partition("#")[0] for link in links if "://" not in link} - {""}
    assert sorted(link for link in files if not (document.parent / link).exists()) == []


def test_paths_are_there() -> None:
    # Outside backticks, tests/... and kernels/... may be another repository's.
    ours = (
        r"(?<![\w/.-])(?:(?:workbench|docs)/[\w./-]*\w|(?<=`)(?:tests|kernels|notebooks)/[\w./-]*\w(?=[`:]))"
    )
    wrong = {(where, match[0]) for where, match in named(ours) if not (ROOT / match[0]).exists()}
    assert sorted(wrong) == []


def test_the_architecture_s_paths_are_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    paths = {*re.findall(r"`([\w.-]+/[\w./-]*)`", text)}
    assert len(paths) > 30
    assert sorted(p for p in paths if not ((ROOT / "workbench" / p).exists() or (ROOT / p).exists())) == []


def test_dotted_names_are_there() -> None:
    assert len(kernels)  # from then on there is workbench_kernels
    wrong = set()
    for where, match in named(r"(?<![\w./-])workbench(?:_kernels)?(?:\.[A-Za-z_]\w*)+(?!\w*[/(*])"):
        if match[0] not in EXAMPLES and not _is_there(match[0]):
            wrong.add((where, match[0]))
    assert sorted(wrong) == []


def _is_there(name: str) -> bool:
    """True for the name of a module, or of something in one."""
    home, _, last = name.rpartition(".")
    for module in (name, home):
        try:
            imported = import_module(module)
        except ModuleNotFoundError:
            continue
        return module == name or hasattr(imported, last)
    return False


def test_commands_are_there() -> None:
    commands: dict[str, str] = {
        match[1]: where for where, match in named(r"python -m workbench ([a-z][\w-]*)")
    }
    assert {"doctor", "bench", "hipcc", "install-hipcc"} <= commands.keys()
    for command, where in commands.items():
        try:
            status = main([command, "--help"])
        except SystemExit as ended:
            status = ended.code
        assert status == 0, f"{where}: {command}"


def test_modules_that_are_run_are_programs() -> None:
    wrong = set()
    for where, match in named(r"-m (workbench(?:\.\w+)+)"):
        file = ROOT.joinpath(*match[1].split("."))
        program = file / "__main__.py" if file.is_dir() else file.with_suffix(".py")
        if not program.exists() or (not file.is_dir() and "__main__" not in program.read_text()):
            wrong.add((where, match[1]))
    assert sorted(wrong) == []


def test_make_has_the_targets() -> None:
    targets = {*re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)}
    mentions = {(where, match[1]) for where, match in named(r"(?:`|^)make ([a-z][\w-]*)")}
    assert mentions
    assert sorted(mention for mention in mentions if mention[1] not in targets) == []


def test_environment_variables_are_read() -> None:
    files = [*_sources("workbench", ".py"), *_sources("tests", ".py"), *_sources("notebooks", ".py")]
    code = (ROOT / "Makefile").read_text() + "".join(path.read_text() for path in files)
    read = {*re.findall(r"""["'{](HIPKITTENS_\w+)|\b(HIPKITTENS_\w+)=""", code)}
    names = {name for pair in read for name in pair}
    mentions = {(where, match[0]) for where, match in named(r"\bHIPKITTENS_[A-Z0-9_]*[A-Z0-9]\b")}
    assert mentions
    assert sorted(mention for mention in mentions if mention[1] not in names) == []


def test_the_changelog_has_a_line_an_entry() -> None:
    text = (ROOT / "CHANGELOG.md").read_text()
    assert "<!-- releases -->\n" in text, "towncrier writes below it"
    _, *versions = re.split(r"^## ", text, flags=re.MULTILINE)
    *later, first = [version.strip().splitlines() for version in versions]
    assert len(first) < 60, "the first release lists what there is, on a page"
    for head, *lines in later:
        sections = [line for line in lines if line.startswith("#")]
        assert sections == [s for s in ("### Added", "### Changed", "### Fixed") if s in sections], head
    for head, *lines in [*later, first[:1] + first[3:]]:
        wrong = [line for line in lines if line and not line.startswith(("### ", "- "))]
        assert wrong == [], f"{head}: an entry is one line"
        assert [line for line in lines if len(line) > 220] == [], f"{head}: a short one"
