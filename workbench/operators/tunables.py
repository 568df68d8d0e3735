"""Tunables: tile sizes, orders of tiles, parts of K; they change how an operator computes, not its result.

A setting reaches a spec's functions as a further entry of the shape, so `define` writes `shape.get("window",
0)`, and a spec without settings looks as before.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.errors import UsageError
from workbench.operators.parameters import Shape

Settings = Mapping[str, Any]
"""Values of tunables by name."""


@dataclass(frozen=True, init=False)
class Tunables:
    """The settings that an operator, or a variant of it, may be compiled with.

    `Tunables(window=(0, 4, 8), side=(64, 128), registers=lambda shape, arch: ...)`. The first value of each
    holds without tuning.

    Attributes:
        values: values to try, by name.
        registers: `(shape, arch) -> int`: minimum number of registers per lane that tiles take; shapes
            include the settings. Settings that need more than a wave can have are never compiled. If one of
            the tunables is `waves`, the waves on a SIMD share its registers.
    """

    values: Mapping[str, Sequence[Any]]
    registers: Callable[[Shape, str], int] | None = None

    def __init__(self, registers: Callable[[Shape, str], int] | None = None, **values: Sequence[Any]) -> None:
        object.__setattr__(self, "values", {name: tuple(choices) for name, choices in values.items()})
        object.__setattr__(self, "registers", registers)

    def __len__(self) -> int:
        """Number of combinations of values."""
        return sum(1 for _ in self.combinations())

    def combinations(self) -> Iterator[dict[str, Any]]:
        """Every combination; the first holds without tuning."""
        for combination in itertools.product(*self.values.values()):
            yield dict(zip(self.values, combination, strict=True))

    def differing(self, settings: Settings) -> dict[str, Any]:
        """The settings that are not the first of their values."""
        return {name: value for name, value in settings.items() if value != self.values[name][0]}

    def check(self, operator: str, settings: Settings) -> None:
        """Rejects anything that is not a setting of the operator.

        Raises:
            UsageError: an unknown name, or a value that is not among those of the name.
        """
        for name, value in settings.items():
            if name not in self.values:
                there = ", ".join(self.values) or "none"
                raise UsageError(f"{operator} has no tunable {name!r}; it has {there}")
            if value not in self.values[name]:
                raise UsageError(
                    f"{operator}: {name} is {value!r}; expected one of "
                    + ", ".join(map(str, self.values[name]))
                )


def settings_text(settings: Settings) -> str:
    """Text such as "window=8, side=64"; "" for none."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())
