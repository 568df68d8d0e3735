"""Temporary folders of builds.

Cleaners of the system's temporary folder may remove one during a build; the build is then repeated.
"""

from __future__ import annotations

import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

_MARK = ".building"


class RepeatedBuild(UserWarning):
    """A build's temporary folder was removed, so the build was repeated."""


def in_folder(build: Callable[[str], T]) -> T:
    """Runs a build in a temporary folder and returns its result.

    It is called once more if the folder was removed or emptied; a `RepeatedBuild` warning says so. When
    Python ends, it removes the folders of builds that threads still do: those are not repeated.

    Raises whatever the build raises in a folder that still exists, or the second time.
    """
    with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
        mark = Path(folder, _MARK)
        mark.touch()
        try:
            result = build(folder)
        except Exception:
            if mark.exists() or _ending():
                raise
        else:
            if mark.exists() or _ending():
                return result
    warnings.warn(
        f"something removed the contents of {folder} while a compiler worked there; the build is repeated. "
        "Exclude folders named hipkittens-* from what removes temporary files, or set TMPDIR to another.",
        RepeatedBuild,
        stacklevel=3,
    )
    with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
        return build(folder)


def _ending() -> bool:
    return not threading.main_thread().is_alive()
