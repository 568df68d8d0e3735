"""Kernels of plain Python cells, which no variable of the notebook holds; the ISA view asks by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.kernel import Kernels

KERNELS: dict[str, Kernels] = {}
"""By the name that the cell's payload gives."""
