"""A launch's defaults follow the environment and `with` blocks."""

from __future__ import annotations

import pytest

from workbench import approximation, bounds, errors, lateness
from workbench.approximation import Approximation
from workbench.emulator.node.defaults import Defaults, launch_defaults
from workbench.lateness import Lateness
from workbench.schedules import parsed

VARIABLES = (
    "HIPKITTENS_SCHEDULE",
    "HIPKITTENS_APPROXIMATE",
    "HIPKITTENS_LATE",
    "HIPKITTENS_SHARED_BOUNDS",
    "HIPKITTENS_AS_HARDWARE",
    "HIPKITTENS_TIMEOUT",
)


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


PLAIN = Defaults(None, None, None, False, 600.0)


@pytest.mark.parametrize(
    ("name", "value", "changed"),
    [
        ("HIPKITTENS_SCHEDULE", "late=all", {"schedule": parsed("late=all", "")}),
        ("HIPKITTENS_APPROXIMATE", "7", {"approximation": Approximation(7)}),
        ("HIPKITTENS_LATE", "last", {"lateness": Lateness()}),
        ("HIPKITTENS_SHARED_BOUNDS", "exact", {"exact_shared": True}),
        ("HIPKITTENS_AS_HARDWARE", "5", {"approximation": Approximation(5), "lateness": Lateness(5)}),
        ("HIPKITTENS_TIMEOUT", "1.5", {"timeout": 1.5}),
        ("HIPKITTENS_TIMEOUT", "0", {"timeout": None}),
    ],
)
def test_a_variable_counts_from_the_next_launch_on(
    name: str, value: str, changed: dict[str, object], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert launch_defaults() == PLAIN
    monkeypatch.setenv(name, value)
    assert launch_defaults() == PLAIN._replace(**changed)
    monkeypatch.delenv(name)
    assert launch_defaults() == PLAIN


def test_a_block_counts_until_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    with approximation.approximate(3):
        assert launch_defaults() == PLAIN._replace(approximation=Approximation(3))
        with lateness.late_loads(4):
            assert launch_defaults() == PLAIN._replace(approximation=Approximation(3), lateness=Lateness(4))
    assert launch_defaults() == PLAIN
    monkeypatch.setenv("HIPKITTENS_SHARED_BOUNDS", "exact")
    with bounds.hardware_bounds():
        assert not launch_defaults().exact_shared
    assert launch_defaults().exact_shared


def test_a_wrong_value_is_refused_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_TIMEOUT", "soon")
    for _ in range(2):
        with pytest.raises(errors.UsageError, match="HIPKITTENS_TIMEOUT is 'soon'"):
            launch_defaults()
