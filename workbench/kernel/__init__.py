"""What a user holds of a kernel: modules, kernels, launches, arguments, host modules, whole programs."""

from __future__ import annotations

from workbench.kernel.module import (
    Kernel,
    LastLaunch,
    Launcher,
    Module,
    Resources,
    compile,
    default_arch,
    default_device,
    device_of,
    instance_name,
    load,
    place_of,
    resolve_device,
)

__all__ = [
    "Kernel",
    "LastLaunch",
    "Launcher",
    "Module",
    "Resources",
    "compile",
    "default_arch",
    "default_device",
    "device_of",
    "instance_name",
    "load",
    "place_of",
    "resolve_device",
]
