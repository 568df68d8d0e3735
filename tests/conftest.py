"""What tests of more than one file share."""

from __future__ import annotations

from typing import Any

import pytest
from IPython.testing.globalipapp import start_ipython


@pytest.fixture(scope="session")
def shell() -> Any:
    """An IPython shell with the magics loaded; a process can have but one."""
    shell = start_ipython()
    shell.run_line_magic("load_ext", "workbench")
    return shell
