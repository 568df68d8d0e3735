"""The origin badge (measured, counted, modelled, published) beside every figure, in tables and plots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from markupsafe import Markup

from workbench import theme
from workbench.origin import Figure, Origin

COLOURS: Mapping[Origin, str] = {
    Origin.MEASURED: "#1a7f4b",
    Origin.COUNTED: "#2563b0",
    Origin.MODELLED: "#b45f06",
    Origin.PUBLISHED: "#6b5b95",
}
"""One colour an origin, readable with white text on it, the same in tables and plots."""

MEANINGS: Mapping[Origin, str] = {
    Origin.MEASURED: "read from a clock or a hardware counter",
    Origin.COUNTED: "counted exactly by the emulated device",
    Origin.MODELLED: "computed from a machine model; never seen on hardware",
    Origin.PUBLISHED: "taken from a publication",
}


def badge(of: Figure | Origin) -> Markup:
    """The badge as HTML; its tool tip says what the origin means, and a figure's source.

    Beside the badge of a modelled figure stands how far it may be off.
    """
    origin = of.origin if isinstance(of, Figure) else of
    tip = MEANINGS[origin]
    if isinstance(of, Figure) and of.source:
        tip += f": {of.source}"
    look = f"background:{COLOURS[origin]};color:#fff"
    shown = Markup('<span class="wb-badge" style="{}" title="{}">{}</span>').format(look, tip, str(origin))
    if isinstance(of, Figure) and of.error is not None:
        shown += Markup(' <span class="wb-dim" title="{}">{}</span>').format(of.error.text, of.error.short)
    return shown


def badges(of: Iterable[Figure | Origin]) -> Markup:
    """One badge for each different origin."""
    origins = dict.fromkeys(f.origin if isinstance(f, Figure) else f for f in of)
    return Markup(" ").join(badge(origin) for origin in origins)


def style(figure: Any, origins: Iterable[Figure | Origin], title: str) -> Any:
    """Gives a plotly figure its title, its badges in the upper right corner, and the look of all.

    Under the title of a figure with modelled times, left of the badges, stands how far they may be off.
    """
    given = list(origins)
    shown = list(dict.fromkeys(each.origin if isinstance(each, Figure) else each for each in given))
    errors = dict.fromkeys(each.error for each in given if isinstance(each, Figure) and each.error)
    theme.register()
    figure.update_layout(template=theme.NAME, title={"text": title})
    above = {"xref": "paper", "yref": "paper", "y": 1, "yanchor": "bottom", "yshift": 8, "showarrow": False}
    if errors:
        said = "modelled times: " + "; ".join(error.short for error in errors)
        figure.add_annotation(text=said, name="error", x=0, xanchor="left", font={"size": 11}, **above)
    for i, origin in enumerate(reversed(shown)):
        figure.add_annotation(
            text=str(origin),
            name="origin",
            hovertext=MEANINGS[origin],
            x=1,
            xanchor="right",
            xshift=-86 * i,
            font={"color": "white", "size": 12},
            bgcolor=COLOURS[origin],
            borderpad=3,
            **above,
        )
    return figure
