"""Collections of exercises: one file each, in the package's course or in a teacher's folder."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from workbench.display import Shown
from workbench.errors import ExerciseError, UnknownExercise
from workbench.exercises.definition import Exercise

COURSE = Path(__file__).parent / "course"
"""The exercises of the tutorials."""


class Exercises(Shown, Sequence[Exercise]):
    """Exercises in their order; a notebook shows how far the reader is."""

    def __init__(self, members: Sequence[Exercise]) -> None:
        self._found = tuple(members)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self._found[index]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Exercise]:
        return iter(self._found)

    @property
    def passed(self) -> int:
        """Number of exercises that the reader has passed."""
        return sum(exercise.progress.passed for exercise in self)

    def __str__(self) -> str:
        head = f"{self.passed} of {len(self)} exercises passed"
        return "\n".join(
            [head, *(f"  {exercise.name}  {exercise.title}: {exercise.progress}" for exercise in self)]
        )

    __repr__ = __str__


def exercises(notebook: str = "", *, folder: str | Path = COURSE) -> Exercises:
    """Lists the exercises with your progress.

    Args:
        notebook: only those of this notebook, such as "04".
        folder: a teacher's own folder, with a file for each exercise (docs/exercises.md).

    Raises:
        UnknownExercise: the notebook has none.
        ExerciseError: a file of the folder defines none.
    """
    names = sorted(_files(Path(folder)))
    selected = [name for name in names if name.startswith(notebook)]
    if not selected:
        notebooks = sorted({name.partition(".")[0] for name in names})
        raise UnknownExercise(
            f"notebook {notebook!r} has no exercises; these have: {', '.join(notebooks) or 'none'}"
        )
    return Exercises([exercise(name, folder=folder) for name in selected])


def exercise(name: str, *, folder: str | Path = COURSE) -> Exercise:
    """Finds an exercise by its name, such as "04.2": notebook and number.

    Args:
        name: name of the exercise.
        folder: see `exercises`.

    Raises:
        UnknownExercise: there is no such exercise; the message lists similar names.
        ExerciseError: the file defines no exercise.
    """
    files = _files(Path(folder))
    if name not in files:
        close = difflib.get_close_matches(str(name), files, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else f"there are {', '.join(files) or 'none'}"
        raise UnknownExercise(f"there is no exercise {name!r}; {hint}")
    path = files[name]
    return _loaded(path, path.stat().st_mtime_ns)


def _files(folder: Path) -> dict[str, Path]:
    """Files by the exercise's name: e04_2.py is 04.2."""
    return {path.stem[1:].replace("_", "."): path for path in sorted(folder.glob("e[0-9]*_[0-9]*.py"))}


@cache
def _loaded(path: Path, changed: int) -> Exercise:
    spec = importlib.util.spec_from_file_location(f"exercises_{path.parent.name}_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look for their module there
    spec.loader.exec_module(module)
    loaded = getattr(module, "exercise", None)
    name = path.stem[1:].replace("_", ".")
    if not isinstance(loaded, Exercise):
        raise ExerciseError(f"{path} must define `exercise`, an Exercise; it is {type(loaded).__name__}")
    if loaded.name != name:
        raise ExerciseError(
            f"{path} names its exercise {loaded.name!r}; expected {name!r}, as the file's name"
        )
    return loaded
