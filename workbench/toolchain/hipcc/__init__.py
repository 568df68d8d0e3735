"""hipcc for machines without ROCm: what makefiles, CMake and people give it, for the emulated device.

Where there is a real hipcc it is started in place of this one, with the same words.
"""

from __future__ import annotations

from workbench.toolchain.hipcc.driver import main

__all__ = ["main"]
