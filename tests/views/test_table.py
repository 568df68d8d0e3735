"""The table: escaping, alignment, and the same rows as text."""

from __future__ import annotations

import re

from markupsafe import Markup

from workbench.origin import Figure, Origin
from workbench.views.badge import badge
from workbench.views.markup import STYLE, block, code, details, notice, tag
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
    assert re.findall(r'<td class="wb-num" style="text-align:right[^>]*>([^<]*)<', html) == [
        "1,234,567",
        "0.1235",
        "3.00",
    ]
    assert re.findall(r'<td style="text-align:left[^>]*>([^<]*)</td>', html) == ["True", "12"]
    titles = Table(("name", "n"), [("x", 1), ("y", "none")]).__html__()
    assert re.findall(r'<th (?:class="([^"]*)" )?style="text-align:(\w+)', titles) == [
        ("", "left"),
        ("wb-num", "right"),
    ]


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
    assert "<th" not in table.__html__()
    assert str(table) == "a  b"
    assert str(Table((), [])) == ""


def test_cells_of_a_table_that_folds_have_their_columns_titles():
    html = Table(("name", "a <b>", ""), [("x", 1, "")]).__html__()
    assert re.findall(r'data-title="([^"]*)">([^<]*)<', html) == [("name", "x"), ("a &lt;b&gt;", "1")]
    assert "data-title" not in Table(("name", "value"), [("x", 1)]).__html__()


def folds_below(table: Table) -> int:
    """Ems of the page below which the table folds."""
    match = re.search(r'<div class="wb-folds (wb-folds-(\d+))">', str(table.__html__()))
    assert match is not None
    assert f"@container (max-width:{match[2]}em){{.wb .{match[1]} table" in STYLE
    return int(match[2])


def test_a_table_folds_where_its_columns_have_no_room():
    narrow = Table(("a", "b", "c"), [("x", 1, "y")])
    wide = Table(("a", "b", "c"), [("x", 1, "SQ_INSTS_VALU_TRANS_F32")])
    assert folds_below(narrow) < folds_below(wide) < 30
    # A sentence wraps into three lines, unbreakable text does not wrap.
    sentence = "words of a sentence that a narrow column breaks into three lines, " * 2
    wrapped = Table(("a", "b", "c"), [("x", 1, sentence)])
    assert (
        folds_below(wide)
        < folds_below(wrapped)
        < folds_below(Table(("a", "b", "c"), [("x", 1, Cell(sentence, "wb-line"))]))
    )
    assert folds_below(Table(("a", "b", "a title in a line"), [])) > folds_below(Table(("a", "b", "c"), []))
