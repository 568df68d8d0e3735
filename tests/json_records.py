"""JSON of recorded results with one record per line, so that files are short and a change is one line."""

from __future__ import annotations

import json
from typing import Any


def dumps(value: Any, depth: int, *, sort_keys: bool = True) -> str:
    """The text of a value: containers are spread over lines down to a depth; below it, a record is one line.

    Args:
        depth: levels of dictionaries and lists whose entries begin on separate lines.
    """
    ordered = json.loads(json.dumps(value, sort_keys=sort_keys))
    return _text(ordered, depth, "") + "\n"


def _text(value: Any, depth: int, indent: str) -> str:
    if depth == 0 or not isinstance(value, dict | list) or not value:
        return json.dumps(value)
    inner = indent + " "
    if isinstance(value, dict):
        entries = [f"{json.dumps(key)}: {_text(item, depth - 1, inner)}" for key, item in value.items()]
        first, last = "{}"
    else:
        entries = [_text(item, depth - 1, inner) for item in value]
        first, last = "[]"
    return f"{first}\n{inner}" + f",\n{inner}".join(entries) + f"\n{indent}{last}"
