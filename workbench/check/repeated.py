"""Repeats a launch with errors in transcendental instructions, to see whether its results change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from workbench.approximation import Approximation
from workbench.check.compare import Mismatch, compare
from workbench.check.exactness import Site, needing_exactness
from workbench.errors import KernelFault, KernelTimeout, headline
from workbench.launches import LaunchOptions
from workbench.operators import Tolerance
from workbench.operators.launch_target import Target

if TYPE_CHECKING:
    import torch


class Repeated:
    """A target whose launches can be repeated from the same tensor contents.

    Create it before the first launch; afterwards use it to repeat that launch.

    Attributes:
        target: target of the launches, on one thread, so that two runs do the same in the same order.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self._tensors = dict(_tensors(target.arguments))
        self._before = self._copies()

    def depends(self, seeds: Sequence[int]) -> tuple[str, list[Site], int]:
        """The gross change that errors cause, the instructions responsible, and the seed that showed it.

        A change is gross if an integer differs, or if a float lost half of its digits, relative to the
        largest of its tensor. The tensors keep their contents.
        """
        after = self._copies()
        try:
            for seed in seeds:
                effect = self._effect(Approximation(seed), after)
                if not effect:
                    continue
                if self._effect(None, after):
                    return "results differ from launch to launch, so errors cannot be told apart", [], seed
                kernels = [part.kernel for part in self.target.parts]
                sites = needing_exactness(kernels, seed, lambda a: bool(self._effect(a, after)))
                return effect, sites, seed
            return "", [], 0
        finally:
            self._restore(after)

    def _effect(self, approximation: Approximation | None, expected: Mapping[str, torch.Tensor]) -> str:
        """The change in results when these instructions err; "" if there is none."""
        self._restore(self._before)
        options = LaunchOptions(sanitize=True, approximate=approximation)
        try:
            for part in self.target.parts:
                part.run(options)
        except KernelTimeout:
            raise
        except KernelFault as fault:
            return f"the launch ends in a fault: {headline(fault)}"
        for name, tensor in self._tensors.items():
            compared = compare(tensor, expected[name], name=name, tolerance=_gross(expected[name]))
            if compared.first and not compared.elementwise_passed:
                return effect_of(name, compared.first[0], compared.mismatches, tensor.numel())
        return ""

    def _copies(self) -> dict[str, torch.Tensor]:
        return {name: tensor.detach().clone() for name, tensor in self._tensors.items()}

    def _restore(self, contents: Mapping[str, torch.Tensor]) -> None:
        for name, content in contents.items():
            self._tensors[name].detach().copy_(content)


def effect_of(name: str, first: Mismatch, count: int, total: int) -> str:
    """A change as text, such as "out[3] is 1 instead of 0 (2 of 64 elements)"."""
    index = ", ".join(map(str, first.index))
    return f"{name}[{index}] is {first.got:g} instead of {first.wanted:g} ({count:,} of {total:,} elements)"


def _gross(expected: torch.Tensor) -> Tolerance:
    import torch

    if not expected.dtype.is_floating_point:
        return Tolerance(0.0, 0.0)
    half = math.sqrt(torch.finfo(expected.dtype).eps)
    finite = expected.double()[torch.isfinite(expected.double())]
    return Tolerance(half, half * float(finite.abs().max()) if finite.numel() else 0.0)


def _tensors(arguments: Mapping[str, Any]) -> Iterator[tuple[str, torch.Tensor]]:
    import torch

    for name, value in arguments.items():
        if isinstance(value, torch.Tensor) and value.numel():
            yield name, value
