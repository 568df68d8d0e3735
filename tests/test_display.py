"""Results find their drawers, and importing results loads no view."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from workbench import display
from workbench.display import Plotted, Shown


def test_a_result_is_drawn_by_what_is_registered_for_its_type():
    class Result(Plotted):
        pass

    class Special(Result):
        pass

    display.shows(Result)(lambda result: f"<b>{type(result).__name__}</b>")
    display.plots(Result)(lambda result, *options: ("figure of", type(result), *options))
    assert Special()._repr_html_() == "<b>Special</b>"
    assert Special().figure == ("figure of", Special)
    assert display.figure_of(Result(), "lane", 3) == ("figure of", Result, "lane", 3)
    display.shows(Special)(lambda _: "its own")
    assert (Special()._repr_html_(), Result()._repr_html_()) == ("its own", "<b>Result</b>")


def test_drawers_load_when_a_result_is_first_drawn():
    loads = []

    class Result(Shown):
        pass

    @display.load_before_drawing
    def load():
        loads.append(1)
        display.shows(Result)(lambda _: "<b>late</b>")

    assert not loads
    assert Result()._repr_html_() == "<b>late</b>"


def test_what_no_view_shows_is_named():
    class Unknown(Shown):
        pass

    with pytest.raises(TypeError, match="HTML of a Unknown"):
        Unknown()._repr_html_()


def test_results_load_views_only_when_shown():
    program = """
import sys
import workbench.check.verify, workbench.check.sanitizer, workbench.profile, workbench.tiles, workbench.kernel
from workbench.doctor import Finding, Report
assert not [m for m in sys.modules if m.startswith("workbench.views")]
report = Report((Finding("a < b", "missing", "text", "remedy"),))
html = report._repr_html_()
assert "a &lt; b" in html and "<code>remedy</code>" in html, html
assert "workbench.views" in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_every_result_with_a_figure_has_what_draws_it():
    def subclasses(kind):
        for subclass in kind.__subclasses__():
            yield subclass
            yield from subclasses(subclass)

    importlib.import_module("workbench.views.drawers")
    ours = {kind for kind in subclasses(Plotted) if kind.__module__.startswith("workbench.")}
    assert len(ours) >= 5
    for kind in ours:
        assert display.plotted() & {*kind.__mro__}, kind
