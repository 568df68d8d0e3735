"""A pytest plugin for Gluon's own tests: the first case of each function on an emulated device.

    GLUON_DEVICE=emulated:gfx950 PYTHONPATH=. python -m pytest -p tests.triton_driver.gluon_plugin \\
        --noconftest -p no:xdist CHECKOUT/python/test/gluon/test_core.py .../test_lowerings.py

CHECKOUT is of Triton at the installed release, whose modules its tests import.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb


def pytest_configure() -> None:
    wb.triton.activate(os.environ["GLUON_DEVICE"], cuda_means_cpu=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    first: dict[str, pytest.Item] = {}
    for item in items:
        first.setdefault(item.nodeid.partition("[")[0], item)
    items[:] = first.values()


@pytest.fixture
def device() -> str:
    """The default device of Triton's conftest.py."""
    return "cuda"


@pytest.fixture
def fresh_knobs() -> Iterator[Any]:
    from triton._internal_testing import _fresh_knobs_impl

    fresh, reset = _fresh_knobs_impl()
    try:
        yield fresh()
    finally:
        reset()
