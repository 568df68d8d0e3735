"""The one table: what is escaped, what is aligned, and the same rows as text."""

from __future__ import annotations

import re

from markupsafe import Markup

from workbench.origin import Figure, Origin
from workbench.views.badge import badge
from workbench.views.markup import block, code, details, notice, tag
from workbench.views.table import Cell, Table, number


def test_text_is_escaped_everywhere_and_markup_is_not():
    evil = "<script>&\"'"
    table = Table(
        (evil,), [(evil,), (Cell(evil, tip=evil),), (code(evil),)], caption=evil, tips=[evil, "", ""]
    )
    html = table._repr_html_()
    assert "<script>" not in html
    assert html.count("&lt;script&gt;&amp;&#34;&#39;") == 7
    assert "<code>&lt;script" in html
    for piece in (block(evil), tag("b", evil, kind=evil), notice(evil), details(evil, evil)):
        assert "<script>" not in piece
        assert "&lt;script&gt;" in piece


def test_numbers_stand_to_the_right():
    html = Table(("n",), [(1234567,), (0.123456,), (True,), ("12",), (number(3, ".2f"),)]).__html__()
    assert re.findall(r'<td class="wb-num">([^<]*)</td>', html) == ["1,234,567", "0.1235", "3.00"]
    assert re.findall(r"<td>([^<]*)</td>", html) == ["True", "12"]


def test_text_form_has_columns():
    figure = Figure(2.0, "us", Origin.MODELLED)
    rows = [("short", 7, badge(figure)), ("a longer one", 12345, Markup("x &lt; y<br><code>z</code>"))]
    assert str(Table(("name", "count", ""), rows, caption="three columns")).splitlines() == [
        "three columns",
        "name          count",
        "short              7  modelled",
        "a longer one  12,345  x < y z",
    ]


def test_without_head():
    table = Table((), [("a", "b")])
    assert "<th>" not in table.__html__()
    assert str(table) == "a  b"
    assert str(Table((), [])) == ""


def test_cells_of_a_table_that_folds_have_their_columns_titles():
    html = Table(("name", "a <b>"), [("x", 1)], folds=True).__html__()
    assert '<td data-title="name">x</td>' in html
    assert '<td class="wb-num" data-title="a &lt;b&gt;">1</td>' in html
    assert html.startswith('<div class="wb-folds"><table>')
    assert "data-title" not in Table(("name",), [("x",)]).__html__()
