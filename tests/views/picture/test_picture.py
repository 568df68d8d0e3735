"""Pictures of plotly figures: the SVG's elements match the figure."""

from __future__ import annotations

import base64
import io
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest
from matplotlib.image import imsave
from plotly.subplots import make_subplots

from workbench.views.picture import pdf_of_svg, svg_of, text_of

SVG = "{http://www.w3.org/2000/svg}"


def texts(figure: Any) -> list[str]:
    """Texts of a figure's picture."""
    return [
        "".join(element.itertext()) for element in ElementTree.fromstring(svg_of(figure)).iter(f"{SVG}text")
    ]


def filled(figure: Any, colour: str) -> list[str]:
    """Outlines of areas filled with a colour."""
    tree = ElementTree.fromstring(svg_of(figure))
    return [p.get("d", "") for p in tree.iter(f"{SVG}path") if f"fill: {colour}" in p.get("style", "")]


def box(path: str) -> tuple[float, float]:
    """Width and height of an outline."""
    points = np.array([float(n) for n in re.findall(r"-?[\d.]+", path)]).reshape(-1, 2)
    width, height = points.max(axis=0) - points.min(axis=0)
    return float(width), float(height)


def test_bars_are_as_long_as_their_values() -> None:
    figure = go.Figure(go.Bar(x=[1.0, 3.0], y=["a", "b"], orientation="h", marker_color="#2563b0"))
    figure.update_xaxes(title="busy, us", rangemode="tozero")
    lengths = [box(path)[0] for path in filled(figure, "#2563b0")]
    assert lengths[1] == pytest.approx(3 * lengths[0], rel=1e-3)
    assert {"a", "b", "busy, us"} <= set(texts(figure))


def test_a_picture_describes_itself() -> None:
    figure = go.Figure(
        [
            go.Bar(x=[1.0, 3.0], y=["a", "b"], orientation="h", name="busy & idle"),
            go.Scatter(x=[0, 1, 2], y=np.array([2.0, np.nan, 7.5]), name="rate"),
            go.Heatmap(z=[[1, 2], [3, 4]], name="map"),
        ]
    )
    figure.update_layout(title="Time <b>by</b> unit", xaxis_title="us")
    tree = ElementTree.fromstring(svg_of(figure))
    assert tree.get("role") == "img"
    assert [element.tag for element in list(tree)[:2]] == [f"{SVG}title", f"{SVG}desc"]
    assert tree.findtext(f"{SVG}title") == "Time by unit"
    assert tree.findtext(f"{SVG}desc") == (
        "us across; busy & idle: 2 values, 1 to 3; rate: 2 values, 2 to 7.5; map: 4 values, 1 to 4."
    )
    assert ElementTree.fromstring(svg_of(go.Figure())).findtext(f"{SVG}desc") == "A drawing without numbers."


@pytest.mark.parametrize("mode", ["group", "stack"])
def test_bars_beside_and_on_one_another(mode: str) -> None:
    figure = go.Figure(
        [
            go.Bar(x=["k"], y=[2], name="left", marker_color="#112233"),
            go.Bar(x=["k"], y=[2], name="right", marker_color="#445566"),
        ]
    )
    figure.update_layout(barmode=mode)
    first, second = (
        np.array([float(n) for n in re.findall(r"-?[\d.]+", filled(figure, colour)[0])]).reshape(-1, 2)
        for colour in ("#112233", "#445566")
    )
    apart = 0 if mode == "group" else 1
    assert first[:, apart].max() <= second[:, apart].min() + 0.1 or (
        second[:, apart].max() <= first[:, apart].min() + 0.1
    )
    assert {"left", "right"} <= set(texts(figure)), "two named traces have a legend"


def test_marks_and_looks_stand_where_they_are_used() -> None:
    """GitHub's view of a notebook removes style sheets and references from a picture."""
    figure = go.Figure(go.Scatter(x=[0, 1, 2], y=[0, 1, 2], error_x={"type": "data", "array": [3, 3, 3]}))
    tree = ElementTree.fromstring(svg_of(figure))
    assert not list(tree.iter(f"{SVG}use"))
    assert not list(tree.iter(f"{SVG}style"))
    assert "stroke-linejoin:round" in tree.get("style", "")
    # The ends of the bars: -3 to -1 and 3 to 5.
    moved = [p.get("transform", "") for p in tree.iter(f"{SVG}path") if p.get("transform")]
    across = sorted(float(re.findall(r"-?[\d.]+", place)[0]) for place in moved)
    assert len(across) == 6
    assert np.diff(across) == pytest.approx((across[-1] - across[0]) / 8 * np.array([1, 1, 4, 1, 1]), abs=0.2)


def test_logarithmic_axis_and_its_range() -> None:
    figure = go.Figure(go.Scatter(x=[1, 10, 100000], y=[1, 2, 3], mode="markers"))
    figure.update_xaxes(type="log", range=[0, 5])
    assert {"1", "10", "100k"} <= set(texts(figure))


def test_subplots_stand_where_their_domains_are() -> None:
    figure = make_subplots(rows=1, cols=2, subplot_titles=["one<br>and more", "<b>two</b>"])
    for column, colour in ((1, "#112233"), (2, "#445566")):
        figure.add_trace(go.Bar(x=["a"], y=[1], marker_color=colour), row=1, col=column)
    (left,), (right,) = filled(figure, "#112233"), filled(figure, "#445566")
    starts = [float(re.findall(r"[\d.]+", path)[0]) for path in (left, right)]
    assert starts[0] + 200 < starts[1]
    assert {"one", "and more", "two"} <= set(texts(figure))


def test_a_heat_map_is_one_image_with_its_scale() -> None:
    figure = go.Figure(
        go.Heatmap(
            z=np.arange(64.0).reshape(8, 8),
            colorbar={"title": "error", "tickvals": [0, 63], "ticktext": ["low", "high"]},
        )
    )
    tree = ElementTree.fromstring(svg_of(figure))
    assert len(list(tree.iter(f"{SVG}image"))) >= 1
    assert {"low", "high", "error"} <= set(texts(figure))


def test_annotations_and_lines() -> None:
    figure = go.Figure(go.Scatter(x=[0, 1], y=[0, 1]))
    figure.add_hline(y=0.5, line_color="#abcdef", annotation_text="limit &amp; more")
    picture = svg_of(figure)
    assert "#abcdef" in picture
    assert "limit & more" in texts(figure)


def test_numbers_that_people_read_are_not_rounded() -> None:
    figure = go.Figure(layout={"annotations": [{"x": 0.5, "y": 0.5, "text": "of 1.2345 us, 0.9876"}]})
    assert "of 1.2345 us, 0.9876" in texts(figure)


def test_equal_figures_make_equal_pictures() -> None:
    figure = go.Figure(go.Scatter(x=[0, 1], y=[0, 1], name="one"))
    assert svg_of(figure) == svg_of(go.Figure(figure)) == svg_of(figure.to_dict())


def test_another_kind_of_trace_is_named_in_its_place() -> None:
    assert any("pie" in text for text in texts(go.Figure(go.Pie(values=[1, 2]))))


def test_text_of_a_terminal() -> None:
    figure = go.Figure(go.Bar(x=[1.5] * 20, y=[f"part {n}" for n in range(20)], orientation="h"))
    figure.update_layout(title="Where the time goes")
    text = text_of(figure)
    assert text.startswith("Where the time goes")
    assert re.search(r"part 0 +1\.5", text)
    assert "and 8 more" in text


def test_no_figure_is_wider_than_its_page() -> None:
    figure = go.Figure(go.Scatter(x=[0, 1], y=[0, 1]), {"width": 1400})
    drawn = svg_of(figure)
    assert "max-width:100%" in drawn
    # As an image it only has the size of its attributes: styles are ignored.
    [(width, across)] = re.findall(r'<svg[^>]* width="([\d.]+)px"[^>]* viewBox="0 0 ([\d.]+) ', drawn)
    assert float(width) == pytest.approx(float(across), abs=0.5)


def texts_at(drawn: str, text: str) -> list[tuple[float, float, float]]:
    """Size, x and y of each text that is alone."""
    matches = re.findall(
        rf'font-size: ([\d.]+)px[^>]*x="([\d.]+)" y="([\d.]+)"[^>]*>{re.escape(text)}<', drawn
    )
    return [(float(size), float(x), float(y)) for size, x, y in matches]


def test_values_of_bars_leave_titles_room() -> None:
    figure = make_subplots(cols=2, subplot_titles=("one title", "another"))
    for column, value in ((1, 1048576), (2, 3.41)):
        bars = go.Bar(x=["a", "b"], y=[value, 0], text=[f"{value:,}", "0"], textposition="outside")
        figure.add_trace(bars, row=1, col=column)
    drawn = svg_of(figure)
    for title, value in (("one title", "1,048,576"), ("another", "3.41")):
        [(size, _, below)], [(_, _, above)] = texts_at(drawn, value), texts_at(drawn, title)
        assert below - above > 1.5 * size


def test_numbers_of_neighbouring_cells_stand_apart() -> None:
    cells = [[float(10 + column % 90) for column in range(64)] for _ in range(8)]
    drawn = svg_of(go.Figure(go.Heatmap(z=cells, texttemplate="%{z}"), {"width": 700}))
    [size] = {float(size) for size in re.findall(r"font-size: ([\d.]+)px[^>]*><text[^>]*>10<", drawn)}
    first, second = (float(re.findall(rf"<text x='([\d.]+)'[^>]*>{n}<", drawn)[0]) for n in (10, 11))
    assert size > 4, "large enough to be read"
    # A digit of DejaVu Sans is 0.636 of its size wide.
    assert second - first - 2 * 0.636 * size > 0.25 * size


def test_numbers_of_axes_are_whole_and_as_asked() -> None:
    """A power of ten at an axis' end would be under the badge or the title."""
    labels = texts(go.Figure(go.Heatmap(z=[[0, 1.4e-6]])))
    assert "1.4e-06" in labels
    assert not any("1e" in text and not text[0].isdigit() for text in labels)
    curve = go.Figure(go.Scatter(x=[0, 3e-6], y=[0, 1]), {"yaxis": {"tickformat": ".0%"}})
    assert {"100%", "20%", "3e-06"} <= set(texts(curve))
    counts = go.Figure(go.Scatter(x=[0, 1], y=[0, 10]), {"yaxis": {"tickformat": "d"}})
    assert {"0", "4", "10"} <= set(texts(counts))


def test_arguments_of_a_template_are_no_markup() -> None:
    figure = go.Figure(go.Scatter(x=[0, 1], y=[0, 1]), {"title": "<b>st_bf<64, 64></b><br>by <i>lane</i>"})
    assert {"st_bf<64, 64>", "by lane"} <= {line for text in texts(figure) for line in text.splitlines()}


def test_values_of_upright_bars_are_turned() -> None:
    bar = go.Bar(x=["a", "b"], y=[1, 2], text=["one", "two"], textangle=-90, textposition="outside")
    assert "rotate(-90" in svg_of(go.Figure(bar))
    assert "rotate(-90" not in svg_of(go.Figure(bar).update_traces(textangle=0))


def test_labels_of_an_axis_that_would_meet_are_turned() -> None:
    names = [f"rows={n}, cols=8192" for n in range(6)]
    bars = go.Figure(go.Bar(x=names, y=[1] * 6))
    assert svg_of(bars.update_layout(width=500)).count("rotate(-330 ") == 6
    assert "rotate(" not in svg_of(bars.update_layout(width=1400))
    assert svg_of(bars.update_layout(width=200)).count("rotate(-270 ") == 6


def test_values_in_bars_are_read_on_them() -> None:
    bars = go.Bar(x=["a", "b"], y=[1, 2], text=["one", "two"], marker={"color": ["#102050", "#d97f2b"]})
    picture = svg_of(go.Figure(bars))
    looks = {name: picture[: picture.index(f">{name}<")].rpartition("<text ")[2] for name in ("one", "two")}
    # Text of an SVG without a colour is black.
    assert ["fill: #ffffff" in look for look in looks.values()] == [True, False]


def test_cell_texts_have_a_readable_colour() -> None:
    look = {"colorscale": [[0, "#000033"], [1, "#ffee00"]], "texttemplate": "%{text}", "showscale": False}
    # Rows of texts may end early.
    cells = go.Heatmap(z=[[0, 1, 0, 1], [1, 0, 1, 0]], text=[["a", "b", "c", "d"]], **look)
    bare = go.Figure(cells).update_xaxes(visible=False).update_yaxes(visible=False)
    picture = svg_of(bare)
    groups = re.findall(r'<g style="([^"]*)">((?:<text [^>]*>\w</text>)+)</g>', picture)
    is_white = {"".join(re.findall(r">(\w)<", texts)): "fill: #ffffff" in style for style, texts in groups}
    assert is_white == {"ac": True, "bd": False}, "those of one look are told once"
    assert "paint-order" not in picture
    # Shapes over cells count: white veils them.
    white = "rgba(255,255,255,0.8)"
    veil = go.Heatmap(z=[[0] * 4] * 2, colorscale=[[0, white], [1, white]], showscale=False)
    veil.update(text=[["e", "f"]], texttemplate="%{text}")
    bare.data[0].update(text=None, texttemplate=None)
    veiled = svg_of(bare.add_trace(veil))
    assert "fill: #ffffff" not in veiled[: veiled.index(">e</text>")].rpartition("<g ")[2]
    lanes = go.Heatmap(z=[[7, 8]], text=[[0, 31]], texttemplate="%{text}", showscale=False)
    assert {"0", "31"} <= set(texts(go.Figure(lanes).update_yaxes(visible=False).update_xaxes(visible=False)))


def test_pictures_on_one_page_share_no_names() -> None:
    def names(height: float) -> tuple[set[str], set[str]]:
        hatched = go.Bar(x=["a"], y=[height], marker={"pattern": {"shape": "/"}, "color": "#3987e5"})
        picture = svg_of(go.Figure(hatched))
        return set(re.findall(r"url\(#([^)]*)\)", picture)), set(re.findall(r'id="([^"]*)"', picture))

    (used, ids), (_, other) = names(1), names(2)
    assert len(used) >= 2, "a hatch and a clip"
    assert used <= ids
    assert not used & other


def test_large_numbers_of_an_axis_have_a_letter() -> None:
    labels = set(texts(go.Figure(go.Bar(x=["a", "b"], y=[0.5e6, 2.1e6]))))
    assert {"0", "0.5M", "1M", "2M"} <= labels
    assert not any("1e" in text for text in labels)
    assert {"0", "6k", "10k"} <= set(texts(go.Figure(go.Bar(x=["a"], y=[12_000]))))
    assert "5000" in texts(go.Figure(go.Bar(x=["a"], y=[6_000])))


def test_pictures_of_this_package_as_pdf() -> None:
    png = io.BytesIO()
    imsave(png, np.zeros((1, 4, 3), np.uint8), format="png")
    image = base64.b64encode(png.getvalue()).decode()
    picture = (
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100" font-size="11">'
        '<text x="10" y="20" font-weight="bold">SIMD</text>'
        '<rect x="0" y="50" width="20" height="9" fill="#ff0000"/>'
        f'<image x="30" y="5" width="90" height="9" href="data:image/png;base64,{image}"/>'
        '<path d="M5.0 9v4M6.0 9V40" stroke="#00ff00"/></svg>'
    )
    page = base64.b64decode(pdf_of_svg(picture))
    assert page.startswith(b"%PDF")
    assert re.search(rb"/MediaBox \[ ?0 0 200 100 ?\]", page)
    assert page.count(b"/Subtype /Image") == 1
    with pytest.raises(ValueError, match="<circle> cannot be drawn; expected one of text, rect"):
        pdf_of_svg('<svg viewBox="0 0 9 9"><circle r="1"/></svg>')
