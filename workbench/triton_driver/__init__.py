"""Triton's kernels on the workbench's devices: `with wb.triton(): kernel[grid](x, y, n)`."""

from __future__ import annotations

from workbench.triton_driver.activation import Triton, triton

__all__ = ["Triton", "triton"]
