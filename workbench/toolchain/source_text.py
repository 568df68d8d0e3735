"""Sources whose bytes are not all UTF-8, such as Latin-1 in a comment: compiled as they are, as compilers do.

They are read with Python's "surrogateescape", which keeps such a byte as a character of its own.
"""

from __future__ import annotations

import re


def source_text(content: bytes) -> str:
    """The text of a source file, whatever its bytes."""
    return content.decode("utf-8", "surrogateescape")


def source_bytes(text: str) -> bytes:
    """A source as it stood in its file."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def shown_source(text: str) -> str:
    """A source for people, for whom bytes that are not UTF-8 are Latin-1; as long as before."""
    return re.sub("[\udc80-\udcff]", lambda match: chr(ord(match[0]) - 0xDC00), text)
