"""`python -m workbench.targets` writes docs/targets.md."""

from __future__ import annotations

from pathlib import Path

from workbench.targets import document

(Path(__file__).resolve().parents[2] / "docs" / "targets.md").write_text(document(), encoding="utf-8")
