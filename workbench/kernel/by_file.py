"""Launched kernels of languages in Python, by the file of their functions: a notebook's cell is one."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.kernel.kernel import Kernel

_FILES = 256
"""Number of newest files to remember."""
_by_file: dict[str, dict[str, Kernel]] = {}


def note(file: str, kernel: Kernel) -> None:
    """Notes that a kernel of a file has been launched.

    Args:
        file: name of the file, without folders.
    """
    _by_file.setdefault(file, {})[kernel.name] = kernel
    while len(_by_file) > _FILES:
        del _by_file[next(iter(_by_file))]


def kernels_of(file: str) -> Mapping[str, Kernel]:
    """The newest kernels of a file by name."""
    return dict(_by_file.get(file, {}))
