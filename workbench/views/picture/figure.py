"""A whole figure: axes where plotly has them, traces, shapes, annotations, title, legend."""

from __future__ import annotations

import contextlib
import hashlib
import io
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from workbench.theme import CLEAR, INK
from workbench.views.picture import pdf
from workbench.views.picture.axes import Scale, anchored, dress
from workbench.views.picture.text import sentence_of, title_of
from workbench.views.picture.traces import DRAWERS, IN_CELL, Place, draw_bars, legend_mark, values_of
from workbench.views.picture.values import COLOURWAY, DASHES, array, at, colour, number, plain

WIDTH, HEIGHT = 760, 450
"""Pixels of a figure that does not set its own; plotly's height."""

FONTS = ("DejaVu Sans", "Verdana", "sans-serif")
"""Fonts: the first is used to measure texts; the second, as wide, is for machines without it."""


_ONE_AT_A_TIME = threading.Lock()
"""Guards matplotlib's settings, which belong to the whole process."""


def svg_of(figure: Any) -> str:
    """The figure as SVG with a transparent background.

    Args:
        figure: a plotly Figure, or its dict as a renderer gets it.

    Returns:
        the text of the picture; a figure with a type of trace that is not drawn here says so in its place.
    """
    with _drawn(figure) as (drawn, page):
        return _svg(drawn, page, figure)


def pictures_of(figure: Any) -> dict[str, str]:
    """The figure's pictures by MIME type: SVG for pages, PDF for what is printed by LaTeX.

    Args:
        figure: see `svg_of`.
    """
    with _drawn(figure) as (drawn, page):
        return {"image/svg+xml": _svg(drawn, page, figure), pdf.MIME_TYPE: pdf.pdf_of_drawing(drawn, **page)}


def _svg(drawn: Any, page: Mapping[str, Any], figure: Any) -> str:
    buffer = io.StringIO()
    drawn.savefig(buffer, format="svg", metadata={"Date": None}, **page)
    head, end, rest = _small(buffer.getvalue()).partition(">")
    description = f"<title>{escape(title_of(figure))}</title><desc>{escape(sentence_of(figure))}</desc>"
    return f'{head} role="img"{end}{description}{rest}'


@contextlib.contextmanager
def _drawn(figure: Any) -> Iterator[tuple[Any, dict[str, Any]]]:
    """The figure as one of matplotlib's, and how it is saved; the settings last as long as this."""
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    tree: Mapping[str, Any] = figure if isinstance(figure, Mapping) else figure.to_dict()
    layout = _resolved(tree.get("layout") or {})
    width, height = number(layout.get("width") or WIDTH), number(layout.get("height") or HEIGHT)
    # Of 72 points an inch, a point is a pixel, so sizes of text are plotly's. Text stays text; equal figures
    # make equal pictures.
    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "hipkittens",
        "font.sans-serif": FONTS,
        "axes.unicode_minus": False,
        "text.parse_math": False,
    }
    with _ONE_AT_A_TIME, matplotlib.rc_context(settings):
        drawn = Figure(figsize=(width / 72, height / 72), dpi=72)
        FigureCanvasSVG(drawn)
        _Drawing(drawn, tree, layout, width, height).draw()
        # How large the page must be is looked up once for all pictures: it takes as long as drawing one.
        yield drawn, {"transparent": True, "bbox_inches": drawn.get_tightbbox().padded(6 / 72)}


def _small(drawn: str) -> str:
    """matplotlib's SVG without repeated text attributes, sized in pixels, never wider than its page."""
    text = _whole(drawn[drawn.index("<svg") :])
    text = re.sub(r'(?<=<g) id="text_\d+"| transform="rotate\(-0 [^"]*\)"', "", text)
    family = "font-family: " + ", ".join(f"'{font}'" for font in FONTS[:-1]) + f", {FONTS[-1]}; "
    text = text.replace(family, "").replace("<svg", f'<svg font-family="{", ".join(FONTS)}"', 1)
    text = re.sub(
        r'width="([\d.]+)pt" height="[\d.]+pt"',
        # An attribute: as an image, which has no other size of its own, it would fill the page.
        rf'width="\1px" style="max-width:100%;{_STROKES}"',
        text,
        count=1,
    )
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.S)
    # A tenth of a pixel cannot be seen; only attributes are rounded, never text.
    text = re.sub(r"<[^<>]*>", lambda match: _LONG.sub(r"\1", match[0]), text)
    # A saved notebook has each line on one of its own, indented.
    text = re.sub(r"(?<=base64,)[^\"]*", lambda image: "".join(image[0].split()), text)
    return _named(re.sub(r">\s*\n\s*<", "><", _NEIGHBOURS.sub(_grouped, text)))


def _named(text: str) -> str:
    """The picture with names of hatches and clips that no other has.

    VS Code and nbconvert put pictures into one page: a name that two have is the first one's, and where that
    is hidden, as what is out of view in VS Code, the bars of the second are not painted.
    """
    names = "|".join(sorted(set(re.findall(r"url\(#(\w+)\)", text)))) or "(?!)"
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return re.sub(rf'((?:id="|url\(#)(?:{names}))(?=["\)])', rf"\1-{digest}", text)


_LONG = re.compile(r'(?<=[ "])(-?\d+\.\d)\d+(?=[ "])')
_STROKES = "stroke-linejoin:round;stroke-linecap:butt"
_SHEET = re.compile(r"<defs>\s*<style.*?</style>\s*</defs>", re.S)
_SHAPE = re.compile(r'<path id="(\w+)" d="([^"]*)"(?: style="([^"]*)")?/>')
_USE = re.compile(r'<use xlink:href="#(\w+)" x="([^"]*)" y="([^"]*)"(?: style="([^"]*)")?/>')


def _whole(text: str) -> str:
    """The picture without a style sheet and without references to shapes.

    GitHub puts a notebook's pictures into its page and takes both out: marks would be missing there.
    """
    shapes = {name: (path, look) for name, path, look in _SHAPE.findall(text)}
    used: set[str] = set()

    def drawn(use: re.Match[str]) -> str:
        name, x, y, look = use.groups(default="")
        if name not in shapes:
            return use[0]
        used.add(name)
        path, shape_style = shapes[name]
        # A shape's own style overrides the style inherited from its use.
        style = "; ".join(filter(None, (look, shape_style)))
        return f'<path d="{path}" transform="translate({x} {y})" style="{style}"/>'

    text = _USE.sub(drawn, _SHEET.sub("", text))
    text = _SHAPE.sub(lambda shape: "" if shape[1] in used else shape[0], text)
    return re.sub(r"<defs>\s*</defs>\s*", "", text)


_CELL = rf'<g id="{IN_CELL}">\s*<text style="([^"]*)" (x="[^"]*" y="[^"]*">[^<]*</text>)\s*</g>\s*'
_NEIGHBOURS = re.compile(f"(?:{_CELL})+")


def _grouped(match: re.Match[str]) -> str:
    """Groups consecutive texts of cells with the same look: a tile has two thousand."""
    looks: dict[str, list[str]] = {}
    for look, text in re.findall(_CELL, match[0]):
        # JSON escapes the other quotes.
        place, sign, words = text.partition(">")
        looks.setdefault(look, []).append("<text " + place.replace('"', "'") + sign + words)
    return "".join(f'<g style="{look}">{"".join(texts)}</g>\n' for look, texts in looks.items())


def _resolved(layout: Mapping[str, Any]) -> Mapping[str, Any]:
    """A layout with its template's settings where it has none itself.

    Only of a template for any page: what stands on a background of its own would be lost without it.
    """
    under = at(layout, "template.layout") or {}
    if under.get("paper_bgcolor") != CLEAR:
        return layout
    axes = {name: under.get(name[:5]) for name in layout if name[:5] in ("xaxis", "yaxis")}
    resolved: Mapping[str, Any] = _over({**under, **axes}, layout)
    return resolved


def _over(under: Any, above: Any) -> Any:
    """Merges a tree into another: dicts are merged recursively, any other entry is replaced."""
    if not isinstance(under, Mapping) or not isinstance(above, Mapping):
        return above if above is not None else under
    return {name: _over(under.get(name), above.get(name)) for name in {**under, **above}}


class _Drawing:
    def __init__(
        self, figure: Any, tree: Mapping[str, Any], layout: Mapping[str, Any], width: float, height: float
    ) -> None:
        self.figure = figure
        self.layout = layout
        self.size = (width, height)
        self.traces = [t for t in tree.get("data") or () if t.get("visible") in (None, True)]
        self.ink = colour(at(layout, "font.color"), INK)
        default = {"l": 80, "r": 80, "t": 100, "b": 80}
        left, right, top, bottom = (number(at(layout, f"margin.{s}", default[s])) for s in "lrtb")
        # Plotly's automatic margins come on top of small ones; here the picture grows by what needs it.
        self.area = (
            left / width,
            bottom / height,
            (width - left - right) / width,
            (height - top - bottom) / height,
        )
        self.places: dict[tuple[str, str], Place] = {}

    def draw(self) -> None:
        colours = at(self.layout, "colorway") or at(self.layout, "template.layout.colorway") or COLOURWAY
        missing = []
        for n, trace in enumerate(self.traces):
            kind = trace.get("type", "scatter")
            if kind in DRAWERS:
                DRAWERS[kind](self._place_of_trace(trace), trace, colours[n % len(colours)])
            else:
                missing.append(kind)
        if not self.traces and not self.layout.get("annotations"):
            missing.append("figure without data")
        for place in self.places.values():
            draw_bars(place)
            dress(place.axes, place.x, "x", self.ink)
            dress(place.axes, place.y, "y", self.ink)
        for shape in self.layout.get("shapes") or ():
            self._shape(shape)
        for annotation in self.layout.get("annotations") or ():
            self._annotation(annotation)
        if missing:
            self.figure.text(
                0.5, 0.5, f"not drawn here: {', '.join(dict.fromkeys(missing))}", color=self.ink, ha="center"
            )
        self._title()
        self._legend(colours)

    def _place_of_trace(self, trace: Mapping[str, Any]) -> Place:
        names = (str(trace.get("xaxis", "x")), str(trace.get("yaxis", "y")))
        if names not in self.places:
            entries = [self.layout.get(f"{name[0]}axis{name[1:]}") or {} for name in names]
            on = [t for t in self.traces if (t.get("xaxis", "x"), t.get("yaxis", "y")) == names]
            scales = [
                Scale(
                    entry,
                    [values_of(t, side) for t in on if t.get("type") != "heatmap" or t.get(side) is not None],
                )
                for side, entry in zip("xy", entries, strict=True)
            ]
            left, bottom, wide, high = self.area
            (x0, x1), (y0, y1) = (array(entry.get("domain")) or (0, 1) for entry in entries)
            axes = self.figure.add_axes(
                (left + x0 * wide, bottom + y0 * high, (x1 - x0) * wide, (y1 - y0) * high)
            )
            axes.set_facecolor((0, 0, 0, 0))
            axes.set_axisbelow(True)
            axes.margins(0.05)
            for spine in axes.spines.values():
                spine.set_visible(False)
            self.places[names] = Place(axes, scales[0], scales[1], self.layout, self.ink)
        return self.places[names]

    def _points(
        self, item: Mapping[str, Any], side: str, values: Sequence[Any], of: Place | None
    ) -> tuple[Any, list[float]]:
        """A transform for one axis of a shape or annotation and its values in it."""
        reference = str(item.get(f"{side}ref") or side)
        start, length = (self.area[0], self.area[2]) if side == "x" else (self.area[1], self.area[3])
        if reference == "paper" or of is None:
            return self.figure.transFigure, [start + number(v) * length for v in values]
        scale = of.x if side == "x" else of.y
        if anchored(of.axes, reference, side):
            places = [10**p if scale.is_log else p for p in scale.places(values)]
            return of.axes.transData, places
        return of.axes.transAxes, [number(v) for v in values]

    def _place_of_item(self, item: Mapping[str, Any]) -> Place | None:
        x, y = (str(item.get(f"{side}ref") or side).removesuffix(" domain") for side in "xy")
        for (own_x, own_y), place in self.places.items():
            if x in (own_x, "paper") and y in (own_y, "paper"):
                return place
        return None

    def _shape(self, shape: Mapping[str, Any]) -> None:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Rectangle
        from matplotlib.transforms import blended_transform_factory

        of = self._place_of_item(shape)
        across, (x0, x1) = self._points(shape, "x", [shape.get("x0", 0), shape.get("x1", 0)], of)
        up, (y0, y1) = self._points(shape, "y", [shape.get("y0", 0), shape.get("y1", 0)], of)
        both = blended_transform_factory(across, up)
        line = colour(at(shape, "line.color"), INK)
        style = {
            "linewidth": at(shape, "line.width", 2),
            "linestyle": DASHES.get(at(shape, "line.dash", ""), "-"),
        }
        artist: Any
        if shape.get("type") == "line":
            artist = Line2D([x0, x1], [y0, y1], color=line, transform=both, **style)
        else:
            fill = colour(shape.get("fillcolor"), "none") if shape.get("fillcolor") else "none"
            artist = Rectangle(
                (x0, y0), x1 - x0, y1 - y0, facecolor=fill, edgecolor=line, transform=both, **style
            )
            artist.set_alpha(shape.get("opacity"))
        self.figure.add_artist(artist)

    def _annotation(self, note: Mapping[str, Any]) -> None:
        from matplotlib.transforms import ScaledTranslation, blended_transform_factory

        if note.get("visible") is False:
            return
        of = self._place_of_item(note)
        across, (x,) = self._points(note, "x", [note.get("x", 0.5)], of)
        up, (y,) = self._points(note, "y", [note.get("y", 0.5)], of)
        arrow = note.get("showarrow") is not False
        # As in plotly, the line of a text is higher than its letters.
        room = 3 if note.get("yanchor") == "bottom" else 0
        moved = (number(note.get("xshift") or 0), number(note.get("yshift") or room))
        if arrow:
            moved = (moved[0] + number(note.get("ax", -10)), moved[1] - number(note.get("ay", -30)))
        shift = ScaledTranslation(moved[0] / 72, moved[1] / 72, self.figure.dpi_scale_trans)
        horizontal = note.get("xanchor") or "auto"
        if horizontal == "auto":
            horizontal = "center" if arrow or number(x) not in (0.0, 1.0) else ("left" if x == 0 else "right")
        vertical = {"top": "top", "bottom": "bottom", "middle": "center"}.get(note.get("yanchor") or "middle")
        box = None
        if note.get("bgcolor"):
            pad = number(note.get("borderpad", 1))
            box = {
                "facecolor": colour(note["bgcolor"]),
                "edgecolor": "none",
                "boxstyle": f"square,pad={pad / 12:.3f}",
            }
        self.figure.text(
            x,
            y,
            plain(note.get("text")),
            transform=blended_transform_factory(across, up) + shift,
            ha=horizontal,
            va=vertical,
            color=colour(at(note, "font.color"), INK) if at(note, "font.color") else self.ink,
            size=at(note, "font.size", 12),
            rotation=-number(note.get("textangle") or 0),
            bbox=box,
        )

    def _title(self) -> None:
        text = plain(at(self.layout, "title.text", ""))
        if text:
            x = at(self.layout, "title.x", 0.05)
            x = self.area[0] if at(self.layout, "title.xref") == "paper" else x
            size = at(self.layout, "title.font.size", 17)
            self.figure.text(x, 1 - 8 / self.size[1], text, color=self.ink, size=size, va="top")

    def _legend(self, colours: Sequence[str]) -> None:
        entries = [
            (trace, colours[n % len(colours)])
            for n, trace in enumerate(self.traces)
            if trace.get("name") and trace.get("showlegend") is not False and trace.get("type") != "heatmap"
        ]
        show_legend = self.layout.get("showlegend")
        if show_legend is False or not entries or (show_legend is None and len(entries) < 2):
            return
        handles = [legend_mark(trace, default) for trace, default in entries]
        lowest = min(place.axes.get_position().y0 for place in self.places.values())
        self.figure.legend(
            handles=handles,
            loc="upper left",
            bbox_to_anchor=(self.area[0], min(0.02, lowest - 60 / self.size[1])),
            ncols=max(1, min(4, int(self.size[0] // (60 + 7 * max(len(h.get_label()) for h in handles))))),
            frameon=False,
            labelcolor=self.ink,
            fontsize=11,
            handlelength=1.6,
        )
