"""Devices and launches, through HIP: the only part of the workbench that calls hip-python.

On a machine with ROCm and an AMD GPU the HIP library is AMD's; everywhere else it is the emulator's, and
nothing above this package can tell the difference but by asking.
"""

from workbench.launches import LaunchOptions, LaunchRecord
from workbench.runtime.device import Device, Function, LoadedModule, device, devices
from workbench.runtime.library import describe as library_description

__all__ = [
    "Device",
    "Function",
    "LaunchOptions",
    "LaunchRecord",
    "LoadedModule",
    "device",
    "devices",
    "library_description",
]
