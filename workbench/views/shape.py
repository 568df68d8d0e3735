"""A problem's shape as text."""

from __future__ import annotations

from workbench.spec import Shape


def shape_label(shape: Shape) -> str:
    """A shape as axis text; all values of one parameter name are told apart by it."""
    return ", ".join(f"{key}={value}" for key, value in shape.items())
