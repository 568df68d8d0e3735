"""A part of the examination: its cases, their execution on a device, and the comparison of two answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.operators import KernelSpec, kernels

if TYPE_CHECKING:
    from workbench.runtime import Device

Answer = Mapping[str, Any]
"""The answer to a case: any mapping that JSON can hold."""


@dataclass(frozen=True)
class Case:
    """One test of an examination.

    Attributes:
        name: name of the case, unique in its section.
        about: data for the child process; JSON.
        environment: additional environment variables of the process.
    """

    name: str
    about: Answer = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """The sections and cases to examine.

    Attributes:
        arch: target of both devices.
        quick: the short form, of five minutes.
        operators: names of operators; all of the catalogue if empty.
    """

    arch: str
    quick: bool = False
    operators: tuple[str, ...] = ()

    def specs(self) -> list[KernelSpec]:
        """The selected operators that run on the target.

        Raises:
            UnknownKernel: no operator has one of the names.
        """
        names = self.operators or tuple(kernels)
        return [spec for spec in map(kernels.__getitem__, names) if self.arch in spec.targets]


Compared = tuple[bool | None, str]
"""True if two answers agree, None if agreement is not required; and a sentence for people."""


@dataclass(frozen=True)
class Section:
    """A part of the examination.

    Attributes:
        name, title: short name, and the question that it answers for a reader of the page.
        share: share of the time of all sections.
        cases: returns the cases, the most informative first.
        measure: runs a case on a device; it writes arrays into the folder. It runs in a separate process.
        compare: compares the examined device's answer with the emulated one's, each with its folder. None if
            the emulated device does not run the cases.
        alone: True if nothing else may run at the same time, because it measures times.
        nothing: why the section may have no case.
    """

    name: str
    title: str
    share: float
    cases: Callable[[Plan], Sequence[Case]]
    measure: Callable[[Case, Device, Path], Answer]
    compare: Callable[[Answer, Answer, Path, Path], Compared] | None = None
    alone: bool = False
    nothing: str = "none of the operators that were named runs on this target"
