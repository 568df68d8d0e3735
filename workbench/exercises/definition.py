"""The exercise object that a reader uses: it checks answers and gives hints."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.display import Shown
from workbench.errors import UsageError
from workbench.exercises import checking
from workbench.exercises.progress import Progress
from workbench.exercises.results import CheckResult
from workbench.exercises.task import HINTS, Task
from workbench.kernel import Kernel, Module


@dataclass(frozen=True)
class Hint(Shown):
    """One hint of an exercise.

    Attributes:
        number: 1 to 3.
        text: text of the hint.
    """

    number: int
    text: str

    def __str__(self) -> str:
        return f"Hint {self.number} of {HINTS}: {self.text}"

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Exercise(Task, Shown):
    """A task that checks answers; `Task` has its fields."""

    def check(self, answer: Module | Kernel) -> CheckResult:
        """Runs an answer on the exercise's own shapes and says in a sentence what is wrong with it.

        Args:
            answer: the kernel, or the module with it.

        Raises:
            UsageError: `answer` is neither.
        """
        result = checking.check(self, answer)
        Progress.note(self.name, tries=1, passed=result.passed)
        return result

    def hint(self, number: int | None = None) -> Hint:
        """The next hint, or one by its number; after the third, the third again.

        Raises:
            UsageError: there is no hint of this number.
        """
        if number is not None and number not in range(1, HINTS + 1):
            raise UsageError(f"exercise {self.name}: got hint {number!r}; expected 1 to {HINTS}")
        used = Progress.read(self.name).hints
        selected = number or min(used + 1, HINTS)
        if selected > used:
            Progress.note(self.name, hints=selected - used)
        return Hint(selected, self.hints[selected - 1])

    @property
    def progress(self) -> Progress:
        """The reader's progress."""
        return Progress.read(self.name)

    def __str__(self) -> str:
        return f"{self.name} {self.title} ({self.progress})\n{self.task}"

    __repr__ = __str__
