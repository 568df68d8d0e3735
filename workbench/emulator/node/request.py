"""A launch as requested from a device."""

from __future__ import annotations

from typing import Any, NamedTuple

from workbench import bounds
from workbench.approximation import Approximation
from workbench.emulator.native import abi
from workbench.emulator.node.defaults import Defaults
from workbench.emulator.node.dispatch import Geometry
from workbench.emulator.node.loaded import LoadedCode
from workbench.lateness import Lateness
from workbench.launches import LaunchOptions
from workbench.numerics import EXACT, default_numerics
from workbench.schedules import Schedule


class Request(NamedTuple):
    """Request for one launch.

    Attributes:
        loaded: the loaded code object.
        kernel: symbol of the kernel.
        geometry: work-groups and work-items.
        dynamic_shared: bytes of LDS that the launch adds.
        arguments: bytes of the explicit arguments.
        cooperative: True if its work-groups may wait for each other.
        options: observations, and the kind of arithmetic.
        approximation: errors of the kernel's transcendental instructions; None for none.
        lateness: when loads complete; None for at once.
        schedule: deviations from the plain order; None for a launch on all threads.
        defaults: choices for what the options leave open.
    """

    loaded: LoadedCode
    kernel: str
    geometry: Geometry
    dynamic_shared: int
    arguments: bytes
    cooperative: bool
    options: LaunchOptions
    approximation: Approximation | None
    lateness: Lateness | None
    schedule: Schedule | None
    defaults: Defaults

    @property
    def form(self) -> tuple[Any, ...]:
        """Key of launches that differ only in arguments and observations."""
        return (
            self.kernel,
            self.geometry,
            self.dynamic_shared,
            self.cooperative,
            self.profile,
            self.options.sanitize,
            self.is_single,
            self.is_exact,
            self.approximation is not None,
            self.lateness is not None,
            self.schedule is not None,
        )

    @property
    def profile(self) -> int:
        """Address-dependent counters to record: `Launch.profile` of abi.h.

        A launch that records steps profiles only the work-groups with steps; for the others it records only
        lines.
        """
        options = self.options
        if options.profile or options.trace or options.tape is not None:
            return abi.PROFILE_ALL
        if options.traffic is not None:
            return abi.PROFILE_ALL if options.steps is None else abi.PROFILE_LINES
        return abi.PROFILE_NONE

    @property
    def is_exact(self) -> bool:
        """True if matrix instructions compute bit by bit as a matrix core does."""
        return (self.options.numerics or default_numerics()) == EXACT

    @property
    def exact_shared(self) -> bool:
        """True if an access beyond the kernel's shared memory is a fault."""
        choice = self.options.shared_bounds
        return self.defaults.exact_shared if choice is None else bounds.is_exact(bounds.SHARED, choice)

    @property
    def is_single(self) -> bool:
        """True if each instruction is a separate block."""
        return self.options.tape is not None
