"""Rows of the table from the output of samples, and the page from the stored rows."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

import pytest
from debian_libraries import SAMPLES, STORE, Listing, Sample, command, outcome, output_of, table

GOOGLETEST = """
[       OK ] a.one (1 ms)
[==========] 3 tests from 1 test suite ran. (10 ms total)
[  PASSED  ] {passed} tests.
"""
FAILED = """[  FAILED  ] 2 tests, listed below:
[  FAILED  ] a.two
"""
PRODUCT = """Is supported 1 / Total solutions: 1
[0]:transA,m,d_type,norm_error,atol
    N,128,f16_r,{error},1e-06
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
            PRODUCT.format(error="1.4e-05") + PRODUCT.format(error="nan") + "hipkittens: 5 launches\n",
            0,
            {"passed": 1, "failed": 1, "launches": 5, "cause": "exit status 0"},
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


def test_a_run_for_each_problem(tmp_path: Path) -> None:
    """The shell starts the program once for each, with its words apart."""
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "$#: $*"\n')
    program.chmod(0o755)
    sample = Sample("", str(program), ("-v",), "", problems=("-m 1 -n 2", "-m 3"))
    words = command(tmp_path, sample)
    inside = words[words.index(str(tmp_path)) + 1 :]
    output = subprocess.run(inside, capture_output=True, text=True, check=True).stdout
    assert output.splitlines() == ["5: -v -m 1 -n 2", "3: -v -m 3"]


def test_a_command_that_is_stopped_ends_with_its_children() -> None:
    # The child would hold the output open.
    begun = time.monotonic()
    assert output_of(["sh", "-c", "echo begun; sleep 30; echo ended"], os.environ, 0.5) == ("begun\n", None)
    assert time.monotonic() - begun < 25


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
