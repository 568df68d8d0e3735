"""The definition of an exercise: its task, hints, reference, and common mistakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError
from workbench.operators import Bounds, Shape

if TYPE_CHECKING:
    import torch

    from workbench.profile.results import ProfileResult

Tensors = Mapping[str, Any]

HINTS = 3
"""Hints of an exercise: where to look, what to think of, how to write it."""


@dataclass(frozen=True)
class Mistake:
    """A common mistake, recognized by the values that it gives.

    Attributes:
        sentence: what is wrong, without the answer.
        result: what a kernel with this mistake computes: the reference's arguments, the reference's results.
    """

    sentence: str
    result: Callable[..., Any]


@dataclass(frozen=True)
class Limit:
    """Limit of a launch's cost: right values alone do not show that a kernel does what was asked.

    Attributes:
        sentence: what is wrong where it costs more, without the answer; `{found}` and `{most}` are figures.
        cost: of a profiled launch on the emulated device.
        most: what it may be, for a shape.
    """

    sentence: str
    cost: Callable[[ProfileResult], float]
    most: Callable[[Shape], float]

    def broken(self, profile: ProfileResult, shape: Shape) -> str:
        """The sentence where a launch costs more; else ""."""
        cost, most = self.cost(profile), self.most(shape)
        return "" if cost <= most else self.sentence.format(found=f"{cost:,.0f}", most=f"{most:,.0f}")


@dataclass(frozen=True)
class Task:
    """An exercise.

    Attributes:
        name: notebook and number, such as "04.2".
        title: a few words.
        task: what is asked, with the kernel's arguments.
        hints: three, each saying more than the one before.
        inputs: the arguments that the kernel reads, for a shape and a seeded generator.
        outputs: the tensors that it writes, empty, for a shape.
        launch: grid and block for a shape, and bytes of dynamic shared memory where there is some.
        reference: function of the inputs that it has parameters for; gives the outputs by name.
        shapes: problems of the check, the first small: the sanitizer runs it.
        mistakes: what readers get wrong.
        kernel: name of the kernel that is asked for.
        axes: of each output, what its dimensions are called.
        tiles: by dimension, how many of it a tile has.
        tolerance: bounds instead of those by data type.
        limits: costs of a launch at the last shape that an answer keeps to.
    """

    name: str
    title: str
    task: str
    hints: Sequence[str]
    inputs: Callable[[Shape, torch.Generator], Tensors]
    outputs: Callable[[Shape], Mapping[str, torch.Tensor]]
    launch: Callable[[Shape], tuple[Any, ...]]
    reference: Callable[..., Any]
    shapes: Sequence[Shape]
    mistakes: Sequence[Mistake] = ()
    kernel: str = "kernel"
    axes: Mapping[str, Sequence[str]] = field(default_factory=dict)
    tiles: Mapping[str, int] = field(default_factory=dict)
    tolerance: Bounds | None = None
    limits: Sequence[Limit] = ()

    def __post_init__(self) -> None:
        if len(self.hints) != HINTS:
            raise UsageError(f"exercise {self.name} has {len(self.hints)} hints; expected {HINTS}")
        if not self.shapes:
            raise UsageError(f"exercise {self.name} has no shapes; expected at least one to check")
