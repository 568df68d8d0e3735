"""Exercises of the tutorials: tasks with hints that check a reader's code (docs/exercises.md).

`task` says what an exercise asks, `definition` is what a reader holds, `checking` says what is wrong with an
answer, `progress` keeps how far a reader is, `course` has the exercises, each in a file of its own.
"""

from __future__ import annotations

from workbench.exercises.collection import Exercises, exercise, exercises
from workbench.exercises.definition import Exercise, Hint
from workbench.exercises.results import CheckResult
from workbench.exercises.task import Limit, Mistake

__all__ = ["CheckResult", "Exercise", "Exercises", "Hint", "Limit", "Mistake", "exercise", "exercises"]
