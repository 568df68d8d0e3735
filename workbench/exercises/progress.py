"""The reader's progress, stored in the history of runs, or without one in this process."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from workbench.errors import HistoryError
from workbench.history import recorder

_of_process: dict[str, Progress] = {}


@dataclass(frozen=True)
class Progress:
    """The reader's progress in one exercise.

    Attributes:
        passed: True if an answer has passed.
        tries: number of checked answers.
        hints: number of hints shown.
    """

    passed: bool = False
    tries: int = 0
    hints: int = 0

    @classmethod
    def read(cls, exercise: str) -> Progress:
        """Progress in the exercise of this name; that of this process if the file cannot be read."""
        remembered = _of_process.get(exercise, cls())
        try:
            recording = recorder.start()
            # A reader who only looks creates no file.
            if recording is None or not recording.path.is_file():
                return remembered
            stored = json.loads(recording.store.setting(_key(exercise)) or "{}")
            # A locked file can still be read, without the latest progress.
            return cls(
                stored["passed"] is True or remembered.passed,
                max(int(stored["tries"]), remembered.tries),
                max(int(stored["hints"]), remembered.hints),
            )
        except (HistoryError, ValueError, TypeError, KeyError):
            return remembered

    @classmethod
    def note(cls, exercise: str, *, tries: int = 0, hints: int = 0, passed: bool = False) -> None:
        """Adds to the progress; an exercise that has passed once stays passed."""
        before = cls.read(exercise)
        after = cls(before.passed or passed, before.tries + tries, before.hints + hints)
        _of_process[exercise] = after
        try:
            recording = recorder.start()
            if recording is not None:
                recording.store.keep_setting(_key(exercise), json.dumps(asdict(after)))
        except HistoryError:
            pass  # Answers are checked even without a file.

    def __str__(self) -> str:
        if not self.tries:
            return "not tried yet"
        tries = f"{self.tries} {'try' if self.tries == 1 else 'tries'}"
        hints = f", {self.hints} {'hint' if self.hints == 1 else 'hints'}" if self.hints else ""
        return f"{'passed' if self.passed else 'not yet'}: {tries}{hints}"


def _key(exercise: str) -> str:
    return f"exercise {exercise}"
