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
    """One thing that is tried.

    Attributes:
        name: tells it from the others of its section.
        about: what a child process needs to know of it; JSON.
        environment: variables that the process gets besides.
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
        operators: names; all of the catalogue where it is empty.
    """

    arch: str
    quick: bool = False
    operators: tuple[str, ...] = ()

    def specs(self) -> list[KernelSpec]:
        """The operators that are meant and run on the target.

        Raises:
            UnknownKernel: a name that no operator has.
        """
        names = self.operators or tuple(kernels)
        return [spec for spec in map(kernels.__getitem__, names) if self.arch in spec.targets]


Compared = tuple[bool | None, str]
"""True if two answers agree, None if agreement is not required; and a sentence for people."""


@dataclass(frozen=True)
class Section:
    """A part of the examination.

    Attributes:
        name, title: short name, and what a reader of the page learns there.
        share: of the time that all sections have.
        cases: what is tried, the most telling first.
        measure: what a device does for a case; arrays go into the folder. Runs in a process of its own.
        compare: the examined device's answer and the emulated one's, each with its folder. None where the
            emulated device has no part in it.
        alone: nothing else may run beside, since times are taken.
        nothing: why there may be no case.
    """

    name: str
    title: str
    share: float
    cases: Callable[[Plan], Sequence[Case]]
    measure: Callable[[Case, Device, Path], Answer]
    compare: Callable[[Answer, Answer, Path, Path], Compared] | None = None
    alone: bool = False
    nothing: str = "none of the operators that were named runs on this target"
