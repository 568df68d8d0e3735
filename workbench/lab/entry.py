"""A name of the tile library, as completion and hover know it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """A name of the library.

    Attributes:
        name: as one writes it, without namespace.
        scope: namespace or struct that it stands in, such as "kittens::base_types".
        kind: "function", "type", "concept", "variable" or "macro".
        signature: the declaration on one line.
        doc: its doc comment as plain text, "" where there is none.
        header: the header as it is included, such as "types/register/rt.cuh".
        line: its line there.
    """

    name: str
    scope: str
    kind: str
    signature: str
    doc: str
    header: str
    line: int
