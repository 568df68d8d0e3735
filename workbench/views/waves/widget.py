"""The timelines' widget: the live canvas of waves.js, and a picture for pages without a kernel."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import Any

from workbench.profile.timelines import Timeline
from workbench.views.static_copy import display_live, display_pictures
from workbench.views.waves.packed import Packed, content, pack
from workbench.views.waves.picture import waves_svg


def waves_widget(timelines: Sequence[Timeline | Packed] = ()) -> Any:
    """A widget with timelines one under the other; empty at first if there are none.

    Its trait `selected` is what a click has chosen: kernel, address, text, file and line of an instruction.
    """
    widget = _waves_class()()
    put(widget, timelines)
    return widget


def put(widget: Any, timelines: Sequence[Timeline | Packed]) -> None:
    """Shows other timelines in a widget."""
    packed = [pack(timeline) if isinstance(timeline, Timeline) else timeline for timeline in timelines]
    described, data = content(packed)
    widget.shown = (json.dumps(described, separators=(",", ":")).encode(), data)
    widget.version += 1


def show(timelines: Sequence[Timeline]) -> None:
    """Displays timelines in a notebook: live, with the picture that is kept beside it."""
    import ipywidgets as widgets

    packed = [pack(timeline) for timeline in timelines]
    text = "\n".join(map(str, timelines))
    display_live(widgets.VBox([waves_widget(packed)]), text)
    display_pictures("Timeline", [(waves_svg(packed), text)])


@cache
def _waves_class() -> Any:
    import anywidget
    import traitlets

    files, shared = resources.files("workbench.views.waves"), resources.files("workbench.views")

    class Waves(anywidget.AnyWidget):
        _esm = shared.joinpath("copies.js").read_text() + files.joinpath("waves.js").read_text()
        _css = files.joinpath("waves.css").read_text()
        version = traitlets.Int(0).tag(sync=True)
        selected = traitlets.Dict().tag(sync=True)

        def __init__(self) -> None:
            # Not a trait: a notebook saved with widget state would contain megabytes of it.
            self.shown = (b"{}", b"")
            super().__init__()
            self.on_msg(self._answer)

        def _answer(self, _: Any, message: Any, buffers: Any) -> None:
            if message.get("type") == "timelines":
                self.send({"type": "timelines"}, buffers=list(self.shown))

    return Waves
