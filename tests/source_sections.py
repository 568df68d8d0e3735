"""Files of many small kernels; lines `//: name = { ... }` before each have its name and a record in TOML."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

_RECORD = re.compile(r"^((?://: .*\n)+)", re.M)


class Section(NamedTuple):
    """A kernel's record, and its text without blank lines at the end."""

    record: dict[str, Any]
    text: str


def read(path: Path) -> tuple[str, dict[str, Section]]:
    """The text before the first section, and the sections by name.

    Raises:
        tomllib.TOMLDecodeError: a record is not TOML.
        ValueError: a record has no name of its own.
    """
    head, *parts = _RECORD.split(path.read_text(encoding="utf-8"))
    sections: dict[str, Section] = {}
    for lines, text in zip(parts[::2], parts[1::2], strict=True):
        [(name, record)] = tomllib.loads(lines.replace("//: ", "")).items()
        if name in sections:
            raise ValueError(f"{path.name} has two sections with the name {name}; expected one")
        sections[name] = Section(record, text.rstrip("\n"))
    return head, sections
