"""A figure states its number, its unit and its origin."""

from __future__ import annotations

import pytest

from workbench.origin import Figure, Origin


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2101760, "2,101,760"),
        (2101760.0, "2,101,760"),
        (123456789012, "123,456,789,012"),
        (0, "0"),
        (-3.0, "-3"),
        (2.462671234, "2.46267"),
        (0.0004853123, "0.000485312"),
        (1e300, "1e+300"),
        (float("inf"), "inf"),
        (float("nan"), "nan"),
    ],
)
def test_counts_are_written_out(value: float, text: str) -> None:
    assert str(Figure(value, "bytes", Origin.COUNTED)) == f"{text} bytes (counted)"


def test_no_unit_no_space() -> None:
    assert str(Figure(1.5, "", Origin.MODELLED)) == "1.5 (modelled)"
