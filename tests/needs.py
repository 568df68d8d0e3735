"""What some tests need of the machine beyond what the package installs; without it they are skipped."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

python_headers = pytest.mark.skipif(
    not Path(sysconfig.get_path("include"), "Python.h").is_file(),
    reason="Python.h is not installed (apt-get install python3-dev)",
)
