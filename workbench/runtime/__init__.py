"""Devices and launches, through HIP: the only part of the workbench that calls HIP's functions.

On a machine with ROCm and an AMD GPU the HIP library is AMD's; everywhere else it is the emulator's. The
differences are behind one interface (`backend`); nothing above this package asks which library it is, only
what a device can do and where a number comes from.
"""

from workbench.launches import LaunchOptions, LaunchRecord
from workbench.runtime.device import Device, Function, LoadedModule
from workbench.runtime.registry import (
    build_emulated_later,
    device,
    device_for,
    devices,
    library_description,
    watching,
    with_numerics,
)

__all__ = [
    "Device",
    "Function",
    "LaunchOptions",
    "LaunchRecord",
    "LoadedModule",
    "build_emulated_later",
    "device",
    "device_for",
    "devices",
    "library_description",
    "watching",
    "with_numerics",
]
