"""The result of a check."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.display import Shown
from workbench.errors import VerificationError
from workbench.operators import Shape


@dataclass(frozen=True)
class CheckResult(Shown):
    """The result of `Exercise.check` for one answer.

    Attributes:
        exercise: name of the exercise, such as "04.2".
        passed: True if the answer is right on all shapes.
        sentence: the fault and its place; for an answer that passed, the references that it was compared
            with.
        shape: problem with the fault; None if there is none, or if nothing could be launched.
    """

    exercise: str
    passed: bool
    sentence: str
    shape: Shape | None = None

    def check(self) -> CheckResult:
        """This result, if the answer passed.

        Raises:
            VerificationError: the answer did not pass; the message gives the fault.
        """
        if not self.passed:
            raise VerificationError(str(self))
        return self

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return f"{self.exercise}: {'passed' if self.passed else 'not yet'}. {self.sentence}"

    __repr__ = __str__
