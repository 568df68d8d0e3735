"""plotly's renderer in IPython: a picture for pages without plotly, text in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench import theme
from workbench.display import in_terminal, shell

RENDERER = "hipkittens"
"""Its name in plotly.io.renderers."""


def add_pictures() -> None:
    """Has plotly add a picture wherever IPython shows a figure, anyone's, and use our theme where none was
    chosen; in a terminal, show the figure's text.

    Nothing changes without IPython, and renderers that a user chose stay.
    """
    if shell() is None:
        return
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
