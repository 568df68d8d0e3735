"""The timeline of a compute unit's waves: a canvas on a live page, SVG elsewhere.

`packed` makes columns of it, `picture` the SVG, `widget` what a notebook shows; what the page does is in
waves.js. All of them read the hues of `hues`.
"""

from workbench.views.waves.packed import Packed, pack
from workbench.views.waves.picture import waves_svg
from workbench.views.waves.widget import show, waves_widget

__all__ = ["Packed", "pack", "show", "waves_svg", "waves_widget"]
