"""Files that a person names: reads them, or says why not."""

from __future__ import annotations

import os
from pathlib import Path

from workbench.errors import MissingFile, UnreadableFile, UsageError


def read_file(caller: str, file_name: str | os.PathLike[str], kind: str) -> bytes:
    """The content of a file that was passed to `caller`, the function that a person called.

    Args:
        kind: the expected content, such as "a code object".

    Raises:
        UsageError: the path is a folder or has a null byte.
        MissingFile, UnreadableFile
    """
    path = Path(file_name)
    expected = f"expected the path of {kind}"
    try:
        return path.read_bytes()
    except ValueError:
        raise UsageError(f"{caller}: {str(path)!r} has a null byte; {expected}") from None
    except IsADirectoryError:
        raise UsageError(f"{caller}: {path} is a folder; {expected} in it") from None
    except (FileNotFoundError, NotADirectoryError):
        where = "" if path.is_absolute() else f" in {Path.cwd()}"
        raise MissingFile(f"{caller}: there is no file {path}{where}; {expected}") from None
    except OSError as error:
        raise UnreadableFile(f"{caller}: {path} cannot be read ({error.strerror}); {expected}") from None
