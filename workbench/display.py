"""The registry of drawers: results hold data, and views register a drawer for each type.

A result that a notebook shows inherits `Shown`; one that also has a figure inherits `Plotted`. Neither
imports a view: this module looks up the drawer by the result's type, among those that `load_before_drawing`
registered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, TypeVar

Drawers = dict[type, Callable[..., Any]]
Drawer = TypeVar("Drawer", bound=Callable[..., Any])

_tables: Drawers = {}
_figures: Drawers = {}
_pages: Drawers = {}
_loaders: list[Callable[[], None]] = []


def load_before_drawing(load: Callable[[], None]) -> None:
    """Registers a function that imports drawers; it runs each time before a result is drawn."""
    _loaders.append(load)


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
    _load()
    return frozenset(_figures)


def html_of(result: Any) -> str:
    """A result's HTML.

    Raises:
        TypeError: no view shows results of this type.
    """
    return str(_drawer(_tables, result, "HTML")(result))


def figure_of(result: Any, *options: Any) -> Any:
    """A result's plotly Figure; its drawer defines what the options mean.

    Raises:
        TypeError: no view plots results of this type.
    """
    return _drawer(_figures, result, "figure")(result, *options)


class Shown:
    """A result that a notebook shows as HTML."""

    def _repr_html_(self) -> str:
        return html_of(self)


class Presented(Shown):
    """A result that a notebook shows as a live view; a terminal prints it."""

    def _ipython_display_(self) -> None:
        running = shell()
        if running is not None and hasattr(running, "kernel"):
            _drawer(_pages, self, "live view")(self)
        else:
            print(self)


class Plotted(Shown):
    """A result that has a plotly figure beside its HTML."""

    @property
    def figure(self) -> Any:
        """The result as a plotly Figure."""
        return figure_of(self)


def in_terminal() -> bool:
    """True if IPython runs in a terminal, which shows text. This is checked on every call."""
    running = shell()
    return running is not None and not hasattr(running, "kernel")


def shell() -> Any:
    """The running IPython; None outside IPython."""
    return sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None


def _registers(drawers: Drawers, kinds: tuple[type, ...]) -> Callable[[Drawer], Drawer]:
    def register(drawer: Drawer) -> Drawer:
        drawers.update(dict.fromkeys(kinds, drawer))
        return drawer

    return register


def _load() -> None:
    for load in _loaders:
        load()


def _drawer(drawers: Drawers, result: Any, form: str) -> Callable[..., Any]:
    _load()
    for kind in type(result).__mro__:
        if kind in drawers:
            return drawers[kind]
    raise TypeError(f"no view registers the {form} of a {type(result).__name__}; see workbench.display")
