"""The rankings: verdicts are right, and kernels with another order of tiles are correct."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb
from workbench.profile.expected import expected

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from model_rankings import (
    DOCUMENT,
    Ranking,
    Version,
    document,
    everything,
    rows,
    section,
    sections,
    windowed,
)


def test_versions_that_are_modelled_in_another_order_are_named() -> None:
    versions = (
        Version("fast", 200, lambda: 10.0),
        Version("slow", 100, lambda: 30.0),
        Version("slower", None, lambda: 20.0),
        Version("no slower", 90, lambda: 20.05),
    )
    ranking = Ranking("key", "A title", "TFLOP/s", versions, "a paper")
    assert rows(ranking) == [
        ("fast", "200 TFLOP/s", "1.000", "10.0 us", "1.000", ""),
        ("slow", "100 TFLOP/s", "2.000", "30.0 us", "3.000", "yes"),
        ("slower", "behind", "", "20.0 us", "2.000", "**no**"),
        ("no slower", "90 TFLOP/s", "2.222", "20.1 us", "2.005", "equal"),
    ]
    text = document([replace(ranking, note="Why.")], {ranking.title: section(ranking)})
    assert "| slower | behind |  | 20.0 us | 2.000 | **no** |" in text
    assert "Published: a paper.\n\nWhy.\n" in text
    assert expected("gemm/bf16").short in text
    # A ranking that was not run again keeps its section, except for the note, which is the program's.
    assert sections(text) == {ranking.title: section(ranking)}
    assert document([ranking], sections(text)) == document([ranking], {ranking.title: section(ranking)})


def test_the_document_has_every_ranking_with_its_note() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert document(everything(), sections(text)) == text, "run tests/benchmarks/model_rankings.py --write"
    assert list(sections(text)) == [ranking.title for ranking in everything()]


def test_published_rankings_follow_the_versions() -> None:
    for ranking in everything():
        figures = [version.published for version in ranking.versions if version.published is not None]
        assert figures == sorted(figures, reverse=ranking.unit == "TFLOP/s"), ranking.key


@pytest.mark.parametrize("window", [0, 8] if os.environ.get("HIPKITTENS_TEST_ALL") else [8])
def test_an_order_of_tiles_computes_the_same(window: int) -> None:
    spec = replace(wb.kernels["gemm/bf16:ping_pong"], source=windowed(window))
    shape = {"m": 1024, "n": 512, "k": 256}
    assert wb.verify(spec, shape=shape, device="emulated:gfx950").passed
