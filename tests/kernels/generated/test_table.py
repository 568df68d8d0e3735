"""The document that counts the generated cases is up to date."""

from __future__ import annotations

from tile_table import DOCUMENT, table


def test_document() -> None:
    assert DOCUMENT.read_text(encoding="utf-8") == table(), "run python tests/kernels/generated/tile_table.py"
