"""The gallery has every figure, and text on figures is readable on light and dark pages."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

from workbench import theme, views
from workbench.display import plotted
from workbench.errors import UsageError
from workbench.origin import Origin
from workbench.views import badge, xcd
from workbench.views.figures import CARDS
from workbench.views.gallery import SAMPLES, gallery

AA = 4.5
DRAWING = {"style", "finish"}
"""Functions that give every figure its look."""


def drawing_functions() -> set[tuple[str, str]]:
    """Module and name of each function of the views that gives a figure its look."""
    root = Path(views.__file__).parent
    functions = set()
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and node.name not in DRAWING:
                called = {
                    call.func.id
                    for call in ast.walk(node)
                    if isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
                }
                if called & DRAWING:
                    functions.add((str(path), node.name))
    return functions


def test_every_figure_is_in_the_gallery() -> None:
    drawn = {sample.draws for sample in SAMPLES}
    # Other packages, and other tests, register their own types.
    ours = {kind for kind in plotted() if kind.__module__.startswith("workbench.")}
    assert ours
    missing = {kind.__name__ for kind in ours - drawn}
    assert not missing, f"types of results without a sample in views/gallery/samples.py: {missing}"
    assert {card.key for card in CARDS} <= drawn
    assert len({sample.name for sample in SAMPLES}) == len(SAMPLES)


@pytest.fixture(scope="module")
def drawn() -> tuple[dict[str, Any], set[tuple[str, str]]]:
    """Figures by sample, except those that need a compiler; and the functions that ran for them."""
    ran: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            ran.add(frame.f_code)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        figures = {sample.name: sample.draw() for sample in SAMPLES if not sample.compiles}
    finally:
        sys.setprofile(before)
    return figures, {(code.co_filename, code.co_name) for code in ran}


def test_every_function_that_draws_is_run_by_a_sample(
    drawn: tuple[dict[str, Any], set[tuple[str, str]]],
) -> None:
    """Figures without a registered type, such as a page's own, are in the gallery too."""
    # A layout's samples need a compiler, so they are not among the drawn ones.
    apart = {(importlib.import_module("workbench.views.layout.figure").__file__, "layout_figure")}
    assert drawing_functions() - drawn[1] - apart == set()


def test_wrong_names_are_errors() -> None:
    with pytest.raises(UsageError, match="no figure's name begins with 'pie'; there are time-modelled"):
        gallery("pie")


def test_a_page_of_the_gallery_has_three_widths_and_two_themes() -> None:
    page = gallery("time-modelled")._repr_html_()
    for width in (500, 900, 1400):
        assert page.count(f'<svg width="{width}"') == 2
        # The same picture for both.
        assert page.count(f'id="wb-gallery-time-modelled-{width}"') == 1
        assert page.count(f'href="#wb-gallery-time-modelled-{width}"') == 1
    assert page.count("background:#ffffff") == page.count("background:#111111") == 3


def test_text_on_badges_and_dies_has_contrast() -> None:
    for colour in badge.COLOURS.values():
        assert theme.contrast("#ffffff", colour) >= AA, colour
    for die, colour in enumerate(xcd.COLOURS):
        assert theme.contrast(xcd.ink_on(die), colour) >= AA, colour


def test_hues_of_kernels_differ_from_origins_and_are_visible_in_both_themes() -> None:
    assert not set(theme.SERIES) & set(badge.COLOURS.values())
    for page in ("#ffffff", "#111111"):
        for hue in theme.SERIES:
            assert theme.contrast(hue, page) >= 2.9, (hue, page)
        assert theme.contrast(theme.INK, page) >= 4.1, page


@pytest.mark.parametrize(
    ("first", "other", "ratio"),
    [("#000000", "#ffffff", 21.0), ("#777777", "#ffffff", 4.48), ("#ff0000", "#ffffff", 4.0)],
)
def test_contrast_is_that_of_wcag(first: str, other: str, ratio: float) -> None:
    assert theme.contrast(first, other) == pytest.approx(ratio, abs=0.01)
    assert theme.contrast(other, first) == theme.contrast(first, other)


def test_patterns_show_origins_and_hues_do_not(drawn: tuple[dict[str, Any], set[tuple[str, str]]]) -> None:
    assert "pattern" not in badge.marker("#3a86d4", [Origin.COUNTED])
    mixed = badge.marker("#3a86d4", [Origin.COUNTED, Origin.MODELLED])
    assert (mixed["color"], mixed["pattern"]["shape"]) == ("#3a86d4", ["", "/"])
    for name, figure in drawn[0].items():
        for trace in figure.data:
            colours = getattr(getattr(trace, "marker", None), "color", None)
            hues = [colours] if isinstance(colours, str) else list(colours or ())
            assert not set(hues) & set(badge.COLOURS.values()), name


def test_axes_have_titles_and_bars_values(drawn: tuple[dict[str, Any], set[tuple[str, str]]]) -> None:
    for name, figure in drawn[0].items():
        if not name.startswith(("card-memory", "tuning")):
            layout = figure.layout
            assert layout.xaxis.title.text or layout.xaxis.type == "category", name
            assert layout.yaxis.title.text or any(
                t.orientation == "h" for t in figure.data if t.type == "bar"
            ), name
        assert all(trace.text or trace.name == "baseline" for trace in figure.data if trace.type == "bar"), (
            name
        )
