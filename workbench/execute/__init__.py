"""Runs unmodified programs on the emulated device: `python -m workbench exec`."""

from __future__ import annotations

__all__: list[str] = []
