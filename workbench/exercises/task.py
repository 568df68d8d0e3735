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
"""Number of hints of an exercise: where to look, what to think of, how to write it."""


@dataclass(frozen=True)
class Mistake:
    """A common mistake, recognized by the values that it computes.

    Attributes:
        sentence: description of the fault, without the answer.
        result: what a kernel with this mistake computes: takes the reference's arguments, returns results
            like it.
    """

    sentence: str
    result: Callable[..., Any]


@dataclass(frozen=True)
class Limit:
    """Limit of a launch's cost: right values alone do not show that a kernel does what the task requires.

    Attributes:
        sentence: fault to report above the limit, without the answer; `{found}` and `{most}` are figures.
        cost: returns the cost of a profiled launch on the emulated device.
        most: returns the limit for a shape.
    """

    sentence: str
    cost: Callable[[ProfileResult], float]
    most: Callable[[Shape], float]

    def broken(self, profile: ProfileResult, shape: Shape) -> str:
        """The sentence if a launch costs more; otherwise ""."""
        cost, most = self.cost(profile), self.most(shape)
        return "" if cost <= most else self.sentence.format(found=f"{cost:,.0f}", most=f"{most:,.0f}")


@dataclass(frozen=True)
class Task:
    """Definition of an exercise.

    Attributes:
        name: notebook and number, such as "04.2".
        title: a few words.
        task: text of the task, with the kernel's arguments.
        hints: three hints, each more explicit than the one before.
        inputs: returns the arguments that the kernel reads, for a shape and a seeded generator.
        outputs: returns the tensors that it writes, empty, for a shape.
        launch: returns grid and block for a shape, and bytes of dynamic shared memory if it uses any.
        reference: function of the inputs that it has parameters for; returns the outputs by name.
        shapes: problems of the check, the first small: the sanitizer runs it.
        mistakes: common mistakes.
        kernel: name of the kernel to write.
        axes: names of the dimensions of each output.
        tiles: size of a tile along each dimension, by the dimension's name.
        tolerance: bounds to use instead of the data type's.
        limits: limits of costs for a launch at the last shape.
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
