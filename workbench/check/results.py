"""Results of `verify`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.check.compare import Comparison, Mismatch
from workbench.check.sanitizer import Finding
from workbench.display import Plotted, Presented
from workbench.errors import UsageError, VerificationError
from workbench.operators import Shape, shape_text
from workbench.operators.launch_target import Request
from workbench.origin import Origin
from workbench.runtime import LaunchRecord


@dataclass(frozen=True)
class Diagnosis:
    """The cause of a wrong result: the compiler or the kernel.

    Attributes:
        culprit: "compiler", "kernel", or "unknown".
        text: the attempts, their outcome, and the next step.
        flags: compiler flags that make the result right; "" if none are known.
    """

    culprit: str
    text: str
    flags: str = ""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class VerifyResult(Plotted, Presented):
    """Verification of one shape.

    Attributes:
        name: kernel or spec.
        shape: the problem size; empty for a plain callable.
        device: name of the device.
        seed: seed of the inputs.
        outputs: comparison by output name.
        inputs_changed: inputs that the kernel overwrote.
        records: records of the launches; empty for a plain callable.
        code: `Module.digest` of the code that ran, combined for several modules; "" for a plain callable.
        origin: origin of the outputs: counted on an emulated device, which computes them exactly; measured if
            they come from a GPU or a plain callable.
        again: request that repeats the launch, to look for the source of a wrong number; None if all is
            right, and for functions.
        inexact: instructions that need exactly rounded results: the outputs are right with these, and wrong
            with errors that hardware may make (`approximate=`).
        diagnosis: the cause of the failure: compiler or kernel; None without `diagnose=True`.
        retry: makes the diagnosis; None if all is right, or a run changed the inputs.
        figure: heat map of the worst output's error.
    """

    name: str
    shape: Shape
    device: str
    seed: int
    outputs: Mapping[str, Comparison]
    inputs_changed: tuple[str, ...] = ()
    records: tuple[LaunchRecord, ...] = field(default=(), repr=False, compare=False)
    code: str = ""
    origin: Origin = Origin.MEASURED
    again: Request | None = field(default=None, repr=False, compare=False)
    inexact: tuple[Finding, ...] = ()
    diagnosis: Diagnosis | None = field(default=None, compare=False)
    retry: Callable[[], Diagnosis] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        # The arguments stay on their devices.
        return {**self.__dict__, "again": None, "retry": None}

    @property
    def passed(self) -> bool:
        """Both checks hold for every output, and no input was overwritten."""
        return not self.inputs_changed and all(c.passed for c in self.outputs.values())

    @property
    def worst(self) -> Comparison:
        """The output to look at first: one that failed, and of these the one with the largest error."""
        return max(self.outputs.values(), key=lambda c: (not c.passed, c.nonfinite_mismatches, c.max_error))

    @property
    def max_error(self) -> float:
        """Largest absolute difference from the reference, over all outputs."""
        return max(c.max_error for c in self.outputs.values())

    @property
    def mean_error(self) -> float:
        """Mean absolute difference of the output in which it is largest."""
        return max(c.mean_error for c in self.outputs.values())

    @property
    def mismatches(self) -> int:
        """Number of elements outside the tolerance, over all outputs."""
        return sum(c.mismatches for c in self.outputs.values())

    @property
    def first(self) -> tuple[Mismatch, ...]:
        """The first elements outside the tolerance of the worst output, in memory's order."""
        return self.worst.first

    def check(self) -> VerifyResult:
        """This result, if it passed.

        Raises:
            VerificationError: the verification failed; the message says where.
        """
        if not self.passed:
            raise VerificationError(str(self))
        return self

    def diagnose(self) -> Diagnosis:
        """Compiles the same kernels at -O1 and runs them again: whether the compiler or the kernel is wrong.

        Raises:
            UsageError: the verification passed, changed its inputs, or comes from another process.
        """
        if self.diagnosis is not None:
            return self.diagnosis
        if self.retry is None:
            raise UsageError(
                f"{self.name}: nothing to diagnose; expected a verification that failed, in the process that "
                "made it, and that left its inputs as they were"
            )
        return self.retry()

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        size = shape_text(self.shape)
        head = f"{self.name}{f' ({size})' if size else ''} on {self.device}, seed {self.seed}: "
        lines = [head + ("passed" if self.passed else "FAILED")]
        lines += [f"  {c}" for c in self.outputs.values()]
        lines += [f"  input {name} was overwritten" for name in self.inputs_changed]
        lines += [f"  {finding.place}: {finding.message}" for finding in self.inexact]
        lines += [f"  {self.diagnosis}"] if self.diagnosis is not None else []
        return "\n".join(lines)

    __repr__ = __str__


class VerifyResults(Plotted, Sequence[VerifyResult]):
    """Results of several shapes; `figure` is the worst one's."""

    def __init__(self, results: Sequence[VerifyResult]) -> None:
        self._results = tuple(results)

    @property
    def passed(self) -> bool:
        return all(r.passed for r in self._results)

    def check(self) -> VerifyResults:
        """These results, if all passed.

        Raises:
            VerificationError: a verification failed.
        """
        if not self.passed:
            raise VerificationError("\n".join(str(r) for r in self._results if not r.passed))
        return self

    def __bool__(self) -> bool:
        return self.passed

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, index: Any) -> Any:
        selected = self._results[index]
        return VerifyResults(selected) if isinstance(index, slice) else selected

    def __iter__(self) -> Iterator[VerifyResult]:
        return iter(self._results)

    def __repr__(self) -> str:
        return "\n".join(str(r) for r in self._results)
