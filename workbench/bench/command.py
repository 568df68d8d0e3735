"""Arguments of `bench` from the words of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.errors import UsageError
from workbench.operators import Shape


def parsed_shapes(words: Sequence[str] | None) -> str | list[Shape]:
    """ "published" or "own", or shapes such as "m=64,n=128,dtype=fp16".

    Raises:
        UsageError: a word is neither.
    """
    if not words or list(words) in (["published"], ["own"]):
        return words[0] if words else "published"
    return [_shape(word) for word in words]


def _shape(word: str) -> Shape:
    parameters: dict[str, Any] = {}
    for part in word.split(","):
        name, sign, value = part.partition("=")
        if not sign or not name or not value:
            raise UsageError(
                f'--shapes has {word!r}; expected "published", "own", or parameters such as m=64,n=128'
            )
        parameters[name.strip()] = int(value) if value.lstrip("-").isdigit() else value.strip()
    return parameters


def parsed_cluster(word: str | None) -> Any:
    """None, "local", a number, or an address."""
    return int(word) if word is not None and word.isdigit() else word
