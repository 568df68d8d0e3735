"""Checks of answers, with a sentence on the error: a fault, a finding, a known mistake, or its place."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.check.compare import Comparison, compare
from workbench.check.references import widened
from workbench.check.sanitizer import sanitize
from workbench.check.verify import verify
from workbench.errors import (
    ArgumentError,
    KernelFault,
    LaunchError,
    UnknownKernel,
    UsageError,
    VerificationError,
    headline,
)
from workbench.events import hub
from workbench.exercises.results import CheckResult
from workbench.exercises.task import Task
from workbench.kernel import Kernel, Module, device_of
from workbench.operators import Shape, shape_text
from workbench.profile import ProfileResult, profile

if TYPE_CHECKING:
    import torch

SEED = 2024
"""Seed of the check's inputs, so that they are the same each time."""


def check(exercise: Task, answer: Module | Kernel) -> CheckResult:
    """Verifies an answer at each shape, and sanitizes it at the first.

    Raises:
        UsageError: the answer is neither a module nor a kernel.
    """
    try:
        kernel = _kernel(exercise, answer)
        for shape in exercise.shapes:
            wrong = _wrong(exercise, kernel, shape)
            if wrong:
                return CheckResult(exercise.name, False, f"At {shape_text(shape)}: {wrong}", shape)
        finding, note = _found(exercise, kernel, exercise.shapes[0])
        dear = "" if finding else _exceeded_limit(exercise, kernel, exercise.shapes[-1])
    except (ArgumentError, LaunchError, UnknownKernel) as error:
        return CheckResult(exercise.name, False, f"The kernel cannot be launched: {headline(error)}")
    if finding:
        shape = exercise.shapes[0]
        return CheckResult(exercise.name, False, f"The values are right here by luck: {finding}", shape)
    if dear:
        shape = exercise.shapes[-1]
        return CheckResult(
            exercise.name, False, f"The values are right; at {shape_text(shape)}: {dear}", shape
        )
    count = len(exercise.shapes)
    shapes = "one shape" if count == 1 else f"{count} shapes"
    return CheckResult(exercise.name, True, f"Right on {shapes}{note}.")


def _kernel(exercise: Task, answer: object) -> Kernel:
    if isinstance(answer, Kernel):
        return answer
    if not isinstance(answer, Module):
        raise UsageError(
            f"exercise {exercise.name}: got a {type(answer).__name__} to check; expected the module that "
            f"`%%hipkittens name` makes, or its kernel, name[{exercise.kernel!r}]"
        )
    return next(iter(answer.kernels.values())) if len(answer.kernels) == 1 else answer[exercise.kernel]


def _inputs(exercise: Task, shape: Shape) -> dict[str, Any]:
    import torch

    return dict(exercise.inputs(shape, torch.Generator().manual_seed(SEED)))


def _found(exercise: Task, kernel: Kernel, shape: Shape) -> tuple[str, str]:
    """The sanitizer's first finding in words, or a remark if there is none."""
    launch = kernel[exercise.launch(shape)]
    if not device_of((), kernel.arch).observes:
        return "", "; a GPU cannot look for races and missing waits, an emulated device does"
    with hub.muted():
        arguments = {**_inputs(exercise, shape), **exercise.outputs(shape)}
        result = sanitize(launch, **arguments)
    # A line that a person wrote says more than a line of the library.
    findings = sorted(result.findings, key=lambda finding: not finding.is_own)
    if findings:
        first = findings[0]
        return f"the sanitizer reports at {first.place} ({first.category}): {first.message}", ""
    return "", ", and the sanitizer finds nothing"


def _exceeded_limit(exercise: Task, kernel: Kernel, shape: Shape) -> str:
    """The sentence of the first limit that a launch breaks; "" if there is none, and on a GPU."""
    if not exercise.limits or not device_of((), kernel.arch).observes:
        return ""
    arguments = {**_inputs(exercise, shape), **exercise.outputs(shape)}
    with hub.muted():
        profiled = profile(kernel[exercise.launch(shape)], **arguments)
    assert isinstance(profiled, ProfileResult)
    return next((sentence for limit in exercise.limits if (sentence := limit.broken(profiled, shape))), "")


def _wrong(exercise: Task, kernel: Kernel, shape: Shape) -> str:
    """The error at a shape, as a sentence; "" if there is none."""
    launch = kernel[exercise.launch(shape)]
    inputs = _inputs(exercise, shape)
    outputs: dict[str, torch.Tensor] = {}
    unread = [name for name in inputs if name not in _parameters(exercise.reference)]
    rest = {name: inputs.pop(name) for name in unread}

    def answer(**arguments: Any) -> Mapping[str, torch.Tensor]:
        outputs.update(exercise.outputs(shape))
        launch(**arguments, **rest, **outputs)
        return outputs

    try:
        with hub.muted():
            result = verify(answer, exercise.reference, inputs=inputs, tolerance=exercise.tolerance)
    except KernelFault as fault:
        return headline(fault)
    except VerificationError as error:
        return headline(error)
    if result.inputs_changed:
        return f"the kernel writes to its input {result.inputs_changed[0]}."
    if result.passed:
        return ""
    wide = widened(inputs)
    named = _mistake(exercise, wide, outputs)
    if named:
        return named
    finding = _found(exercise, kernel, shape)[0]
    if finding:
        return f"{finding[0].upper()}{finding[1:]}"
    worst = result.worst
    return error_location(exercise, worst, outputs[worst.name], exercise.reference(**wide)[worst.name])


def _parameters(function: Callable[..., Any]) -> set[str]:
    return set(inspect.signature(function).parameters)


def _mistake(exercise: Task, wide: Mapping[str, Any], outputs: Mapping[str, torch.Tensor]) -> str:
    """The sentence of the first mistake that gives the same results as the answer."""
    for mistake in exercise.mistakes:
        taken = _parameters(mistake.result)
        wrong = mistake.result(**{name: value for name, value in wide.items() if name in taken})
        comparisons = [compare(outputs[n], wrong[n], tolerance=exercise.tolerance) for n in wrong]
        if all(comparison.elementwise_passed for comparison in comparisons):
            return mistake.sentence
    return ""


def error_location(exercise: Task, comparison: Comparison, got: torch.Tensor, expected: torch.Tensor) -> str:
    """A sentence on the place of an output's errors: the tile of a dimension, or its edge."""
    if not comparison.mismatches:
        return (
            f"{comparison.name} is close, but its largest error, {comparison.max_error:.3g}, is more than "
            f"{comparison.flash_factor:g} times that of PyTorch in the same precision, "
            f"{comparison.pytorch_error or 0:.3g}: something is rounded too early."
        )
    names = exercise.axes.get(comparison.name, [f"dimension {n}" for n in range(got.dim())])
    bounds = comparison.tolerance
    bad = ~((got.double() - expected).abs() <= bounds.atol + bounds.rtol * expected.abs())
    parts = []
    for axis, name in enumerate(names):
        others = [n for n in range(bad.dim()) if n != axis]
        at = (bad.any(dim=others) if others else bad).nonzero().flatten().tolist()
        if len(at) < got.shape[axis]:
            parts.append(_along(name, at, got.shape[axis], exercise.tiles.get(name, 0)))
    count, total = comparison.mismatches, got.numel()
    many = "every element" if count == total else f"{count:,} of {total:,} elements"
    verdict = "was never written or is NaN" if comparison.unwritten == count else "is wrong"
    if 0 < comparison.unwritten < count:
        many += f" ({comparison.unwritten:,} of them were never written or are NaN)"
    where = f", all at {', '.join(parts)}" if parts else ""
    return f"{comparison.name} {verdict} in {many}{where}; the first is {comparison.first[0]}."


def _along(name: str, at: list[int], size: int, tile: int) -> str:
    """Describes a range of indices along a dimension, and the tile that contains them."""
    span = f"{name} {at[0]}" if len(at) == 1 else f"{name} {at[0]} to {at[-1]}"
    if len(at) > 1 and at[-1] - at[0] + 1 > len(at):
        span = f"{len(at)} of {size} places of {name}, from {at[0]} on"
    touched = {index // tile for index in at} if tile else set()
    if len(touched) != 1:
        return span
    (number,) = touched
    last = size % tile
    edge = f", the last, of which only {last} of {tile} are there" if last and number == size // tile else ""
    return f"{span} (tile {number}{edge})"
