"""A figure computes, and prints its stated form."""

from __future__ import annotations

import pickle

from workbench.targets import Fact


def test_a_fact_computes_in_base_units_and_prints_as_stated() -> None:
    bandwidth = Fact(5.3, "TB/s", "a data sheet")
    assert (bandwidth, bandwidth.stated) == (5_300_000_000_000, "5.3 TB/s")
    assert (Fact(160, "KiB", ""), Fact(2100, "MHz", ""), Fact(304, "", "")) == (163840, 2_100_000_000, 304)
    again = pickle.loads(pickle.dumps(bandwidth))
    assert (again, again.stated, again.source) == (bandwidth, "5.3 TB/s", "a data sheet")
