"""Kernels of plain Python cells, which no variable of the notebook refers to; the ISA view asks by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.kernel import Kernels

KERNELS: dict[str, Kernels] = {}
"""Kernels by the name in the cell's payload."""
