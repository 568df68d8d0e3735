"""How a result finds what draws it: results hold data, `workbench.views` registers a drawer for each type.

A result that is shown inherits `Shown`, one with a figure too inherits `Plotted`. Neither imports a view:
what draws it is looked up here, by its type.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, TypeVar

from workbench import theme

RENDERER = "hipkittens"
"""Its name in plotly.io.renderers."""

Drawers = dict[type, Callable[..., Any]]
Drawer = TypeVar("Drawer", bound=Callable[..., Any])

_tables: Drawers = {}
_figures: Drawers = {}
_pages: Drawers = {}


def shows(*kinds: type) -> Callable[[Drawer], Drawer]:
    """Registers a function that gives the HTML of results of these types."""
    return _registers(_tables, kinds)


def plots(*kinds: type) -> Callable[[Drawer], Drawer]:
    """Registers a function that gives the plotly Figure of results of these types."""
    return _registers(_figures, kinds)


def presents(*kinds: type) -> Callable[[Drawer], Drawer]:
    """Registers a function that displays results of these types in a notebook: live, with a copy."""
    return _registers(_pages, kinds)


def plotted() -> frozenset[type]:
    """Types of results that have a figure."""
    import_module("workbench.views")
    return frozenset(_figures)


def html_of(result: Any) -> str:
    """A result's HTML.

    Raises:
        TypeError: no view shows results of this type.
    """
    return str(_drawer(_tables, result, "HTML")(result))


def figure_of(result: Any, *options: Any) -> Any:
    """A result's plotly Figure; what the options mean is its drawer's to say.

    Raises:
        TypeError: no view plots results of this type.
    """
    return _drawer(_figures, result, "figure")(result, *options)


class Shown:
    """What a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        return html_of(self)


class Presented(Shown):
    """What a notebook shows live; a terminal prints it."""

    def _ipython_display_(self) -> None:
        shell = _shell()
        if shell is not None and hasattr(shell, "kernel"):
            _drawer(_pages, self, "live view")(self)
        else:
            print(self)


class Plotted(Shown):
    """What has a figure beside its HTML."""

    @property
    def figure(self) -> Any:
        """A plotly Figure."""
        return figure_of(self)


def in_terminal() -> bool:
    """Whether IPython runs in a terminal, which shows text, each time anew."""
    shell = _shell()
    return shell is not None and not hasattr(shell, "kernel")


def _shell() -> Any:
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def add_pictures() -> None:
    """Has plotly add a picture wherever IPython shows a figure, anyone's, and use our theme where none was
    chosen; in a terminal, show the figure's text.

    Nothing changes without IPython, and renderers that a user chose stay.
    """
    shell = _shell()
    if shell is None:
        return
    import plotly.io
    from plotly.io.base_renderers import MimetypeRenderer

    theme.register()

    terminal = in_terminal()

    class Renderer(MimetypeRenderer):  # type: ignore[misc]
        def to_mimebundle(self, fig_dict: Mapping[str, Any]) -> dict[str, str]:
            picture = import_module("workbench.views.picture")
            text = {"text/plain": picture.text_of(fig_dict)}
            return text if terminal else {**picture.pictures_of(fig_dict), **text}

    chosen = str(plotly.io.renderers.default or "")
    if RENDERER not in chosen:
        plotly.io.renderers[RENDERER] = Renderer()
        alone = not chosen or (terminal and chosen == "browser")
        plotly.io.renderers.default = RENDERER if alone else f"{chosen}+{RENDERER}"


def _registers(drawers: Drawers, kinds: tuple[type, ...]) -> Callable[[Drawer], Drawer]:
    def register(drawer: Drawer) -> Drawer:
        drawers.update(dict.fromkeys(kinds, drawer))
        return drawer

    return register


def _drawer(drawers: Drawers, result: Any, form: str) -> Callable[..., Any]:
    # The one place where data leads to views: they fill the registry as they are imported, which waits until
    # something is shown.
    import_module("workbench.views")
    for kind in type(result).__mro__:
        if kind in drawers:
            return drawers[kind]
    raise TypeError(f"no view registers the {form} of a {type(result).__name__}; see workbench.display")
