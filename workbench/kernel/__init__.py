"""Results of a compilation: modules, kernels, launches, host modules and programs."""

from __future__ import annotations

from workbench.kernel.compilation import compile, load
from workbench.kernel.devices import default_arch, default_device, device_of, resolve_device, torch_device
from workbench.kernel.host_module import HostModule, load_module
from workbench.kernel.kernel import Kernel, Launcher, digest_of, is_recorded, recording
from workbench.kernel.kernels import Kernels
from workbench.kernel.launch import LastLaunch, Launch
from workbench.kernel.lending import Loan, lend
from workbench.kernel.module import Module
from workbench.kernel.program import ProgramResult, run_program
from workbench.kernel.resources import Resources
from workbench.kernel.show import showing

__all__ = [
    "HostModule",
    "Kernel",
    "Kernels",
    "LastLaunch",
    "Launch",
    "Launcher",
    "Loan",
    "Module",
    "ProgramResult",
    "Resources",
    "compile",
    "default_arch",
    "default_device",
    "device_of",
    "digest_of",
    "is_recorded",
    "lend",
    "load",
    "load_module",
    "recording",
    "resolve_device",
    "run_program",
    "showing",
    "torch_device",
]
