"""The notebooks are one path, in the order of docs/learn.md: times, exercises, where to go next."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import nbformat
import pytest

import workbench as wb
from workbench.errors import UnknownExercise

ROOT = Path(__file__).parents[2]
NOTEBOOKS = ROOT / "notebooks"

LEARN = (ROOT / "docs" / "learn.md").read_text()
PATH = re.findall(r"^\| \[.*?\]\(\.\./notebooks/(\d\d_\w+\.ipynb)\) \|", LEARN, re.MULTILINE)


def cells(name: str, kind: str) -> list[str]:
    notebook = nbformat.read(NOTEBOOKS / name, as_version=4)
    return [str(cell.source) for cell in notebook.cells if cell.cell_type == kind]


def test_the_path_has_every_notebook() -> None:
    assert sorted(PATH) == sorted(path.name for path in NOTEBOOKS.glob("[0-9]*.ipynb"))
    assert sorted(PATH) == PATH


@pytest.mark.parametrize("name", PATH)
def test_head(name: str) -> None:
    first = cells(name, "markdown")[0]
    assert first.startswith(f"# {int(name[:2])}. ")
    assert re.search(r"\*\*Read \d+ min, run \d+ min", first), "how long it takes"


@pytest.mark.parametrize(("name", "following"), list(itertools.pairwise(PATH)))
def test_the_end_says_where_to_go_next(name: str, following: str) -> None:
    last = nbformat.read(NOTEBOOKS / name, as_version=4).cells[-1]
    assert last.cell_type == "markdown"
    assert re.search(rf"^Next: .*\]\({following}\)", last.source, re.MULTILINE)


@pytest.mark.parametrize("name", PATH)
def test_exercises_are_asked_and_progress_is_at_the_head(name: str) -> None:
    number, code = name[:2], cells(name, "code")
    try:
        asked = [exercise.name for exercise in wb.exercises(number)]
    except UnknownExercise:
        assert not any("wb.exercise" in cell for cell in code)
        return
    assert f'wb.exercises("{number}")' in code[0]
    assert [cell for cell in code if cell.startswith('wb.exercise("')] == [
        f'wb.exercise("{exercise}")' for exercise in asked
    ]


@pytest.mark.parametrize("name", PATH)
def test_links_lead_somewhere(name: str) -> None:
    text = re.sub(r"`[^`]*`", "", "\n".join(cells(name, "markdown")))  # no link is in code
    links = re.findall(r"\]\(([^)#\s]+)", text)
    assert [link for link in links if "://" not in link and not (NOTEBOOKS / link).exists()] == []


@pytest.mark.parametrize("name", PATH)
def test_sections_are_numbered(name: str) -> None:
    if name.startswith("20"):
        return
    heads = re.findall(r"^## (.*)$", "\n".join(cells(name, "markdown")), re.MULTILINE)
    assert [head.partition(".")[0] for head in heads] == [str(n) for n in range(1, len(heads) + 1)]
