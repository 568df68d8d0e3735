"""Results of the benchmarks are stored once, and both pages come from them."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import pytest
from docs_modules import load

from workbench.bench.results import Result

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    return load("benchmark_pages")


def test_the_page_is_a_summary_of_the_results(pages: ModuleType) -> None:
    text = pages.PAGE.read_text()
    assert text == pages.short_page(pages.results())
    assert len(text.splitlines()) <= 60


def test_the_site_has_every_operator_with_its_pictures(pages: ModuleType, tmp_path: Path) -> None:
    text = pages.whole_page(tmp_path)
    for operator in pages.results().operators:
        assert f"### {operator}\n" in text
    pictures = re.findall(r"\]\((images/benchmarks/.*?\.svg)\)", text)
    assert len(pictures) > 40
    for picture in pictures:
        assert "<svg" in (tmp_path / picture).read_text()


def test_results_survive_storing(pages: ModuleType) -> None:
    stored = list(pages.results())
    assert pages.from_lines(pages.to_lines(stored)) == stored
    rmsnorm = next(result for result in stored if result.operator == "normalization/rmsnorm")
    rows, cols = rmsnorm.shape["rows"], rmsnorm.shape["cols"]
    # Two bytes per element, read and written once.
    assert rmsnorm.bytes == pytest.approx(4 * rows * cols, rel=0.01)
    assert rmsnorm.low == rmsnorm.us == rmsnorm.high


def test_measured_results_are_refused(pages: ModuleType) -> None:
    """Their spread would be lost."""
    measured = Result("gemm/bf16", {}, "HipKittens workbench", "gpu:0", "MI355X", us=2.0, runs=100)
    with pytest.raises(ValueError, match="expected modelled ones of one device"):
        pages.to_lines([measured])
