"""plotly's figures in IPython; the light part of the views imports nothing heavy."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest


def test_a_terminal_shows_a_figure_as_text() -> None:
    code = (
        "import plotly.graph_objects as go, workbench.views.drawers\n"
        "go.Figure(go.Bar(x=[1.5], y=['one part'], orientation='h')).show()"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "IPython", "--colors=nocolor", "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert re.search(r"one part +1\.5", ran.stdout), ran.stdout + ran.stderr


def test_a_table_costs_no_figures() -> None:
    program = """
import sys
import workbench.views.table
heavy = {"numpy", "plotly", "torch", "workbench.kernel", "workbench.views.drawers"}
assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_load_ext_imports_of_the_views_only_two_small_ones() -> None:
    program = """
import sys
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance().run_line_magic("load_ext", "workbench")
views = {name for name in sys.modules if name.startswith("workbench.views.")}
assert views == {"workbench.views.edited", "workbench.views.renderer"}, views
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_figures_are_shown_without_nbformat() -> None:
    """It compiles grammars for a second, and plotly only needs its version."""
    program = """
import sys
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance().run_line_magic("load_ext", "workbench")
import plotly.graph_objects as go
go.Figure().show("plotly_mimetype")
assert "nbformat" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


@pytest.mark.parametrize(
    "page",
    ["wb.view_xcd(wb.xcd_map('gemm/bf16'))", "display_live(SimpleNamespace(_repr_mimebundle_=dict), '')"],
)
def test_figures_of_a_page_have_pictures_without_load_ext(page: str) -> None:
    program = f"""
from types import SimpleNamespace
from IPython.core.interactiveshell import InteractiveShell
InteractiveShell.instance()
import workbench as wb
from workbench.views.static_copy import display_live
{page}
import plotly.io
assert "hipkittens" in plotly.io.renderers.default, plotly.io.renderers.default
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300)
