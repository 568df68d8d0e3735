"""Rows of the table from the output of samples, and the page from the stored rows."""

from __future__ import annotations

import pytest
from debian_libraries import SAMPLES, STORE, Listing, outcome, table

GOOGLETEST = """
[       OK ] a.one (1 ms)
[==========] 3 tests from 1 test suite ran. (10 ms total)
[  PASSED  ] {passed} tests.
"""
FAILED = """[  FAILED  ] 2 tests, listed below:
[  FAILED  ] a.two
"""


@pytest.mark.parametrize(
    ("output", "status", "record"),
    [
        (
            GOOGLETEST.format(passed=3) + "hipkittens: 12 launches, 3.0 us modelled\n",
            0,
            {"passed": 3, "failed": 0, "launches": 12},
        ),
        (
            GOOGLETEST.format(passed=1) + FAILED,
            1,
            {"passed": 1, "failed": 2, "launches": 0, "cause": "exit status 1"},
        ),
        (
            "  165/166 tests passed\n",
            1,
            {"passed": 165, "failed": 1, "launches": 0, "cause": "exit status 1"},
        ),
        (
            "Cannot open: data (Error)\nhipkittens: 0 launches\n",
            1,
            {"passed": 0, "failed": 0, "launches": 0, "cause": "Cannot open: data (Error)"},
        ),
        (
            "[       OK ] a.one (1 ms)\n[ RUN      ] a.two\n",
            None,
            {"passed": 1, "failed": 0, "launches": 0, "cause": "stopped at the time limit"},
        ),
    ],
)
def test_what_a_sample_printed(output: str, status: int | None, record: dict[str, str | int]) -> None:
    assert outcome(output, status) == record


def test_the_page_has_what_is_stored() -> None:
    results = STORE.read()
    assert set(results) <= set(SAMPLES)
    assert table(results) in STORE.page.read_text()


def test_a_short_listing() -> None:
    """Tests of one function and category, evenly spaced, after the listing's header."""

    def record(function: str, category: str, number: int) -> bytes:
        words = (word.encode().ljust(64, b"\0") for word in (function, "name", category))
        return b"".join(words) + bytes([number])

    listing = Listing("/tests.data", header=3, record=193, function=0, category=128)
    records = [record("dot", "quick", n) for n in range(6)] + [record("dot", "nightly", 7)]
    records += [record("dot_batched", "quick", 8), record("axpy", "quick", 9)]
    short = listing.short(b"abc" + b"".join(records), ("axpy", "dot"), 3)
    assert short == b"abc" + records[-1] + records[0] + records[2] + records[4]
