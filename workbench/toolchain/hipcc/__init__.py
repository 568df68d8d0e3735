"""hipcc for machines without ROCm: command lines of makefiles, CMake and people, for the emulated device.

Where there is a real hipcc it is started in place of this one, with the same words.
"""

from __future__ import annotations

from workbench.toolchain.hipcc.driver import main

__all__ = ["main"]
