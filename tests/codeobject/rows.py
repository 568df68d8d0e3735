"""Rows of the opcode tables by name, for tests that construct instructions."""

from __future__ import annotations

from functools import cache

from workbench.codeobject.instructions import Form, forms
from workbench.targets import NAMES


@cache
def _rows(target: str) -> dict[str, Form]:
    rows: dict[str, Form] = {}
    for form in forms(target).values():
        rows.setdefault(form.opcode, form)
    scale = rows.get("v_mfma_ld_scale_b32")
    for form in list(rows.values()) if scale is not None else []:
        if form.record.matrix is not None and form.record.matrix.type_a == "f8f6f4":
            scaled = form.scaled(scale)
            rows[scaled.opcode] = scaled
    return rows


def row(opcode: str, target: str | None = None) -> Form:
    """An opcode's first row in a target's table, or in that of the first target with this opcode."""
    targets = (target,) if target else NAMES
    return next(form for name in targets if (form := _rows(name).get(opcode)) is not None)
