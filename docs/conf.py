"""The documentation site: `make docs` builds it from the repository alone, root and all.

The pages are the ones that people read in the repository; links between them, and to notebooks, are the same.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plotly
from ipython_pygments_lexers import IPython3Lexer
from pygments.lexers.c_cpp import CppLexer
from pygments.token import Comment

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

import made  # noqa: E402
import outputs  # noqa: E402
import terms  # noqa: E402

project = "HipKittens workbench"
author = "The HipKittens workbench authors"
copyright = "the HipKittens workbench authors"

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_design",
]
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "notebooks/*.ipynb",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "workbench/lab/templates/*.md",
]
exclude_patterns = ["build", ".venv", "**/node_modules"]

myst_enable_extensions = ["colon_fence", "deflist"]
# Headings that pages link to.
myst_heading_anchors = 4
# Notebooks are kept without outputs; `outputs` runs them.
nb_execution_mode = "off"
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))

# Docstrings put code between single backticks.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_format = "short"
# A class says what it holds; nobody calls the constructor of a result.
autodoc_typehints_description_target = "documented"
napoleon_google_docstring = True
# Attributes as fields: some are properties with a docstring of their own.
napoleon_use_ivar = True
suppress_warnings = [
    # Links to sources lead to files of the repository, which are no pages of the site.
    "myst.xref_missing",
    # Magics and C++ in cells are no Python.
    "misc.highlighting_failure",
    # A result's class is reachable under the name of its module and of the package.
    "ref.python",
    "docutils",
    # Templates are pieces of a notebook.
    "myst.header",
    "mystnb.unknown_mime_type",
]

html_theme = "pydata_sphinx_theme"
html_title = "HipKittens workbench"
html_theme_options = {
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages without neighbours have no list of them.
html_sidebars = {name: [] for name in ("docs/tour", "CHANGELOG", "CONTRIBUTING")}
html_show_sourcelink = False
html_static_path = ["static", "../workbench/lab/style/results.css"]
html_css_files = ["site.css", "results.css"]
html_js_files = ["site.js"]
# Plotly's script for live figures: a page fetches nothing from elsewhere.
html_static_path.append(str(Path(plotly.__file__).parent / "package_data" / "plotly.min.js"))


def indented_is_code(app: Any, kind: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    """Indented lines of a module's docstring are code."""
    if kind != "module":
        return
    for at in reversed(range(1, len(lines))):
        begins = lines[at].startswith("    ") and not lines[at - 1].strip()
        before = next((line for line in reversed(lines[:at]) if line.strip()), "")
        if begins and not before.startswith("    "):
            lines[at:at] = ["::", ""]


class CellLexer(IPython3Lexer):
    """Cells of notebooks: C++ below a `%%hipkittens`."""

    def get_tokens_unprocessed(self, text: str, *rest: Any) -> Iterator[tuple[int, Any, str]]:
        if not text.startswith("%%hipkittens"):
            yield from super().get_tokens_unprocessed(text, *rest)
            return
        begin = text.find("\n") + 1 or len(text)
        yield 0, Comment.Preproc, text[:begin]
        for at, token, value in CppLexer().get_tokens_unprocessed(text[begin:]):
            yield begin + at, token, value


SEVERAL = re.compile(r"^    (\w+(?:, \w+)+): (.*\n(?:     .*\n)*)", re.MULTILINE)


def a_field_a_name(app: Any, kind: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    """Makes a field of each name in `low, high: quantiles`; Sphinx takes `low,` for the type of `high`."""

    def apart(found: re.Match[str]) -> str:
        return "".join(f"    {each}: {found[2]}" for each in found[1].split(", "))

    lines[:] = SEVERAL.sub(apart, "\n".join([*lines, ""])).split("\n")


def complete(app: Any, page: str, source: list[str]) -> None:
    """Adds to a page's source what `docs/made.py` has for it, to a notebook its outputs."""
    path = ROOT / f"{page}.ipynb"
    if path in NOTEBOOKS:
        app.env.note_dependency(str(outputs.executed_path(path)))
        source[0] = outputs.site_source(path, source[0])
    else:
        source[0] = made.site_source(page, source[0])


def setup(app: Any) -> None:
    made.write()
    app.add_lexer("ipython3", CellLexer)
    outputs.run(NOTEBOOKS, os.environ.get("NOTEBOOKS", "run"))
    app.connect("autodoc-process-docstring", indented_is_code)
    # Before napoleon, which makes fields of sections.
    app.connect("autodoc-process-docstring", a_field_a_name, priority=400)
    app.connect("source-read", complete)
    app.connect("doctree-resolved", terms.link)
