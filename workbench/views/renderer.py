"""plotly's renderer in IPython: a picture for pages without plotly, text in a terminal."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Mapping
from typing import Any

from workbench import theme
from workbench.display import in_terminal, shell
from workbench.patches import Patches

RENDERER = "hipkittens"
"""Its name in plotly.io.renderers."""


def add_pictures() -> None:
    """Makes plotly add a picture wherever IPython shows any figure, and use our theme if none was chosen; in
    a terminal, it shows the figure's text.

    Nothing changes without IPython, and renderers that a user chose stay.
    """
    if shell() is None:
        return
    _import_plotly()
    import plotly.io
    from plotly.io.base_renderers import MimetypeRenderer

    theme.register()

    terminal = in_terminal()

    class Renderer(MimetypeRenderer):  # type: ignore[misc]
        def to_mimebundle(self, fig_dict: Mapping[str, Any]) -> dict[str, str]:
            from workbench.views.picture import pictures_of, text_of

            text = {"text/plain": text_of(fig_dict)}
            return text if terminal else {**pictures_of(fig_dict), **text}

    renderers = str(plotly.io.renderers.default or "")
    if RENDERER not in renderers:
        plotly.io.renderers[RENDERER] = Renderer()
        alone = not renderers or (terminal and renderers == "browser")
        plotly.io.renderers.default = RENDERER if alone else f"{renderers}+{RENDERER}"


class _Later:
    """A module that is imported at the first use of an attribute other than its version.

    Attributes:
        __version__: the version of the installed package.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self.__version__ = importlib.metadata.version(name)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self._name), attribute)


def _import_plotly() -> None:
    """Imports plotly's renderers without nbformat: they only read its version when a figure is shown.

    nbformat imports jsonschema, which compiles the grammar of every kind of address: seconds.
    """
    if "plotly.io._renderers" in sys.modules or "nbformat" in sys.modules:
        return
    if importlib.util.find_spec("nbformat") is None:
        return
    from _plotly_utils import optional_imports

    module_of = optional_imports.get_module

    def get_module(name: str, should_load: bool = True) -> Any:
        return _Later(name) if name == "nbformat" else module_of(name, should_load)

    with Patches() as patches:
        patches.replace(optional_imports, "get_module", get_module)
        importlib.import_module("plotly.io._renderers")
