"""The rankings: verdicts are right, and a kernel with another order of tiles is still right."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import workbench as wb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from model_rankings import RANKINGS, Ranking, Version, document, rows, windowed


def test_versions_that_are_modelled_in_another_order_are_named() -> None:
    versions = (
        Version("fast", 200, lambda: 10.0),
        Version("slow", 100, lambda: 30.0),
        Version("slower", None, lambda: 20.0),
    )
    ranking = Ranking("key", "A title", "TFLOP/s", versions, "a paper")
    assert rows(ranking) == [
        ("fast", "200 TFLOP/s", "1.000", "10.0 us", "1.000", ""),
        ("slow", "100 TFLOP/s", "2.000", "30.0 us", "3.000", "yes"),
        ("slower", "behind", "", "20.0 us", "2.000", "**no**"),
    ]
    said: list[str] = []
    text = document([ranking], said.append)
    assert said[0] in text
    assert "Published: a paper." in text


def test_what_is_published_is_in_the_order_of_the_versions() -> None:
    for ranking in RANKINGS:
        known = [version.published for version in ranking.versions if version.published is not None]
        assert known == sorted(known, reverse=ranking.unit == "TFLOP/s"), ranking.key


@pytest.mark.parametrize("window", [0, 8])
def test_an_order_of_tiles_computes_the_same(window: int) -> None:
    spec = replace(wb.kernels["gemm/bf16:ping_pong"], source=windowed(window))
    shape = {"m": 1024, "n": 512, "k": 256}
    assert wb.verify(spec, shape=shape, device="emulated:gfx950").passed
