"""The tile library's functions that the front end colours: `src/words.ts`, written from the headers.

python -m workbench.lab.words
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from workbench.lab import operations

SOURCE = Path(__file__).with_name("src") / "words.ts"

SHORTEST = 3
"""Minimum length of a coloured word: shorter ones are often a cell's own variables."""


def text() -> str:
    """The file's text."""
    names = sorted({function.name for function in operations.operations()})
    words = " ".join(name for name in names if len(name) >= SHORTEST)
    lines = "\n".join(textwrap.wrap(words, 108, break_on_hyphens=False))
    return (
        "/** Written by `python -m workbench.lab.words` from the tile library's headers: change these. */\n\n"
        "export const FUNCTIONS: ReadonlySet<string> = new Set(\n"
        f"  `\n{lines}\n`.split(/\\s+/).filter(Boolean)\n);\n"
    )


if __name__ == "__main__":
    SOURCE.write_text(text(), encoding="utf-8")
