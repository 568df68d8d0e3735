"""Pictures as PDF and PNG, for readers that do not take SVG: LaTeX and language models."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree

from workbench.theme import INK

MIME_TYPE = "application/pdf"


def pdf_of_drawing(drawn: Any, **options: Any) -> str:
    """A matplotlib Figure as PDF, in base64 as a notebook keeps it.

    Args:
        options: options of `Figure.savefig`.
    """
    import matplotlib
    from matplotlib.text import Text

    texts = drawn.findobj(Text)
    buffer = io.BytesIO()
    # Every reader has Helvetica; other characters need an embedded font, which is most of the file.
    plain = all(ord(sign) < 256 for text in texts for sign in text.get_text())
    for text in texts if plain else ():
        if text.get_weight() == "normal":
            text.set_weight("medium")  # Helvetica's own name for it
    core: dict[Any, Any] = {"font.sans-serif": ["Helvetica"]} if plain else {}
    with matplotlib.rc_context({**core, "pdf.use14corefonts": plain}):
        drawn.savefig(buffer, format="pdf", metadata={"CreationDate": None}, **options)
    return base64.b64encode(buffer.getvalue()).decode()


def pdf_of_svg(picture: str) -> str:
    """An SVG of this package's own (texts, boxes, images, lines straight up) as PDF, in base64.

    Raises:
        ValueError: the figure has an element of another kind.
    """
    return pdf_of_drawing(_drawing_of(picture), transparent=True)


def png_of_svg(picture: str) -> str:
    """The same as PNG on white, in base64; a pixel for each unit of the SVG.

    Raises:
        ValueError: the figure has an element of another kind.
    """
    buffer = io.BytesIO()
    _drawing_of(picture).savefig(buffer, format="png", facecolor="white")
    return base64.b64encode(buffer.getvalue()).decode()


def _drawing_of(picture: str) -> Any:
    """A matplotlib Figure of an SVG, with 72 units to an inch."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    tree = ElementTree.fromstring(picture)
    _, _, width, height = map(float, tree.attrib["viewBox"].split())
    drawn = Figure(figsize=(width / 72, height / 72), dpi=72)
    FigureCanvasAgg(drawn)
    axes = drawn.add_axes((0, 0, 1, 1), xlim=(0, width), ylim=(height, 0))
    axes.axis("off")
    size = float(tree.attrib.get("font-size", 11))
    for element in tree:
        kind = element.tag.rpartition("}")[2]
        if kind not in _DRAWS:
            raise ValueError(f"<{kind}> cannot be drawn; expected one of {', '.join(_DRAWS)}")
        _DRAWS[kind](axes, element.attrib, "".join(element.itertext()), size)
    axes.set(xlim=(0, width), ylim=(height, 0))
    return drawn


def _text(axes: Any, attributes: Mapping[str, str], text: str, size: float) -> None:
    side = {"end": "right", "middle": "center"}.get(attributes.get("text-anchor", ""), "left")
    look = {
        "ha": side,
        "va": "baseline",
        "weight": attributes.get("font-weight", "normal"),
        "parse_math": False,
    }
    at = float(attributes["x"]), float(attributes["y"])
    axes.text(
        *at, text, size=float(attributes.get("font-size", size)), color=attributes.get("fill", INK), **look
    )


def _box(attributes: Mapping[str, str]) -> tuple[float, float, float, float]:
    x, y, width, height = (float(attributes[name]) for name in ("x", "y", "width", "height"))
    return x, y, width, height


def _rect(axes: Any, attributes: Mapping[str, str], text: str, size: float) -> None:
    from matplotlib.patches import Rectangle

    x, y, width, height = _box(attributes)
    look: dict[str, Any] = {
        "color": attributes["fill"],
        "alpha": float(attributes.get("opacity", 1)),
        "linewidth": 0,
    }
    axes.add_patch(Rectangle((x, y), width, height, **look))


def _image(axes: Any, attributes: Mapping[str, str], text: str, size: float) -> None:
    from matplotlib.image import imread

    x, y, width, height = _box(attributes)
    pixels = imread(io.BytesIO(base64.b64decode(attributes["href"].partition(",")[2])), format="png")
    axes.imshow(pixels, extent=(x, x + width, y + height, y), aspect="auto", interpolation="none")


def _path(axes: Any, attributes: Mapping[str, str], text: str, size: float) -> None:
    look = {"colors": attributes["stroke"], "linewidth": float(attributes.get("stroke-width", 1))}
    for x, y, how, to in re.findall(r"M([\d.]+) ([\d.]+)([vV])([\d.]+)", attributes["d"]):
        axes.vlines(float(x), float(y), float(to) + (float(y) if how == "v" else 0), **look)


_DRAWS: Mapping[str, Callable[[Any, Mapping[str, str], str, float], None]] = {
    "text": _text,
    "rect": _rect,
    "image": _image,
    "path": _path,
}
