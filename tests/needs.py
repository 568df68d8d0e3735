"""Marks that skip tests if the machine lacks something that the package does not install."""

from __future__ import annotations

import shutil
import sysconfig
from importlib import import_module, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from workbench.execute.folder import python_library as _python_library


def _major(package: str) -> int:
    """The first number of a package's version; 0 where it is not installed."""
    try:
        return int(metadata.version(package).partition(".")[0])
    except metadata.PackageNotFoundError:
        return 0


class DeferredModule:
    """A module that is imported when a test first uses it: each worker collects all tests."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest reads its own attributes at collection
            raise AttributeError(attribute)
        return getattr(import_module(self._name), attribute)


transformers = pytest.mark.skipif(
    _major("transformers") < 5,
    reason="transformers 5 is not installed: pip install 'transformers>=5'",
)
tinygrad = pytest.mark.skipif(
    find_spec("tinygrad") is None, reason="tinygrad is not installed: pip install tinygrad==0.14.0"
)
python_headers = pytest.mark.skipif(
    not Path(sysconfig.get_path("include"), "Python.h").is_file(),
    reason="Python.h is not installed (apt-get install python3-dev)",
)
python_library = pytest.mark.skipif(
    not _python_library(),
    reason="this Python has no shared library (apt-get install libpython3.11, for Python 3.11)",
)
extension_tools = pytest.mark.skipif(
    not Path(sysconfig.get_path("include"), "Python.h").is_file()
    or shutil.which("c++") is None
    or shutil.which("ninja") is None,
    reason="extensions need Python.h, g++ and ninja (apt-get install python3-dev g++ ninja-build)",
)
