"""Sources whose bytes are not all UTF-8, such as Latin-1 in a comment: they are compiled unchanged.

They are read with Python's "surrogateescape", which keeps such a byte as a special character.
"""

from __future__ import annotations

import re


def source_text(content: bytes) -> str:
    """The text of a source file, whatever its bytes."""
    return content.decode("utf-8", "surrogateescape")


def source_bytes(text: str) -> bytes:
    """The bytes of a source as in its file."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def shown_source(text: str) -> str:
    """A source for display, with bytes that are not UTF-8 as Latin-1; its length does not change."""
    return re.sub("[\udc80-\udcff]", lambda match: chr(ord(match[0]) - 0xDC00), text)
