"""Marks that skip tests where the machine lacks something that the package does not install."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

import pytest

from workbench.execute.folder import python_library as _python_library

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
