"""Exercises, the reader's progress, hints and check results as HTML."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

from workbench.display import shows
from workbench.exercises import CheckResult, Exercise, Exercises, Hint
from workbench.views.markup import block, bold, code, tag
from workbench.views.table import Cell, Table


@shows(CheckResult)
def check_html(result: CheckResult) -> Markup:
    """The verdict and its sentence."""
    mark, kind = ("✓ passed", "wb-ok") if result.passed else ("✗ not yet", "wb-bad")
    return block(bold(result.exercise), " ", tag("span", mark, kind=kind), " ", _prose(result.sentence))


@shows(Hint)
def hint_html(hint: Hint) -> Markup:
    """A hint with its number."""
    return block(bold(f"Hint {hint.number}"), " ", _prose(hint.text))


@shows(Exercise)
def exercise_html(exercise: Exercise) -> Markup:
    """The task, and the reader's progress."""
    head = bold(f"{exercise.name} {exercise.title}")
    progress = tag("div", str(exercise.progress), kind="wb-dim")
    return block(head, tag("div", _prose(exercise.task)), progress)


def _prose(text: str) -> Markup:
    """Text as HTML: backticks become code, and lines broken inside a sentence are joined."""
    joined = re.sub(r"(?<![.:])\n", " ", text)
    parts = [code(part) if n % 2 else escape(part) for n, part in enumerate(re.split(r"`+", joined))]
    return Markup("").join(parts).replace("\n", Markup("<br>"))


@shows(Exercises)
def exercises_html(exercises: Exercises) -> Markup:
    """A row for each exercise."""
    caption = f"{exercises.passed} of {len(exercises)} exercises passed"
    return block(Table(("", "exercise", "progress"), map(_row, exercises), caption=caption))


def _row(exercise: Exercise) -> tuple[Cell | str, ...]:
    progress = exercise.progress
    kind = "wb-ok" if progress.passed else "wb-dim"
    text = f"✓ {progress}" if progress.passed else str(progress)
    return exercise.name, exercise.title, Cell(text, kind)
