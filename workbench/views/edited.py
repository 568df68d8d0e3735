"""Whether a cell was edited after its result appeared: a result is only about the text that ran."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from typing import Any

CELL_TYPE = "application/vnd.hipkittens.cell+json"
"""MIME type of the editor's data beside a cell's result (`workbench.lab.payload`)."""

EDITED = "The cell was edited after this result."


def checksum(body: str) -> int:
    """CRC-32 of the UTF-8 text without white space at its end, where front ends and IPython differ."""
    return zlib.crc32(body.rstrip().encode("utf-8", "surrogatepass"))


def is_edited(source: str, outputs: Iterable[Mapping[str, Any]]) -> bool:
    """Whether a cell's text is another than that of its latest result.

    Args:
        source: text of the cell; its first line, which has the options, does not count.
        outputs: its outputs, as nbformat has them; without a result of ours the answer is False.
    """
    results = [output["data"][CELL_TYPE] for output in outputs if CELL_TYPE in output.get("data", {})]
    stored = results[-1].get("checksum") if results else None
    return stored not in (None, checksum(source.partition("\n")[2]))
