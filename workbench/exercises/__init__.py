"""Exercises of the tutorials: tasks with hints that check a reader's code (docs/exercises.md).

`task` defines what an exercise asks for, `definition` is the object that a reader uses, `checking` says what
is wrong with an answer, `progress` stores the reader's progress, and `course` has the exercises, one per
file.
"""

from __future__ import annotations

from workbench.exercises.collection import Exercises, exercise, exercises
from workbench.exercises.definition import Exercise, Hint
from workbench.exercises.results import CheckResult
from workbench.exercises.task import Limit, Mistake

__all__ = ["CheckResult", "Exercise", "Exercises", "Hint", "Limit", "Mistake", "exercise", "exercises"]
