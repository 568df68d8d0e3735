"""One rule for all readers of this package: damaged input is a CodeObjectError, never another exception."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from workbench.errors import CodeObjectError


@contextmanager
def damage_reported(subject: str) -> Iterator[None]:
    """Turns whatever a parser raises on malformed input into one clear error."""
    try:
        yield
    except CodeObjectError:
        raise
    except RecursionError as error:
        raise CodeObjectError(f"{subject} is damaged: it nests endlessly.") from error
    except Exception as error:
        detail = str(error) or type(error).__name__
        raise CodeObjectError(
            f"{subject} is damaged ({detail}). Recompile it, or check that the file was copied whole."
        ) from error
