"""hipcc for machines without ROCm: command lines of makefiles, CMake and people, for the emulated device.

If a real hipcc is installed, it runs instead of this one with the same arguments.
"""

from __future__ import annotations

from workbench.toolchain.hipcc.driver import main

__all__ = ["main"]
