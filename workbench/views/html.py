"""A self-contained HTML page of results: plotly's code is inside, so it opens anywhere, offline."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from markupsafe import Markup

from workbench.errors import UsageError
from workbench.events import hub
from workbench.views.board import Board
from workbench.views.figures import View, views
from workbench.views.markup import STYLE, tag
from workbench.views.run_summary import RunSummary

_PAGE = Markup("""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root{{color-scheme:light dark}}
body{{font-family:system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;line-height:1.45}}
h1{{font-size:1.5rem}} h2{{font-size:1.15rem;margin-top:2rem}}
pre{{overflow:auto;padding:.6rem;border:1px solid #8884;border-radius:.3rem}}
.wb{{overflow-x:auto}}
</style>{style}</head><body><h1>{title}</h1>
{body}
</body></html>
""")


def report(path: str | Path, *items: Any, title: str = "HipKittens workbench") -> Path:
    """Writes one HTML page that needs neither Jupyter nor the workbench.

    Args:
        path: the file; a missing folder is created.
        items: items of the page, in order: texts (a text that begins with "# " is a heading), plotly figures,
            results of `verify`, `time`, `sweep` and `profile` (table and figure), modules and kernels, and
            anything else with an HTML or text form. Without items, it shows the dashboard of this process's
            runs.
        title: title of the page.

    Returns:
        the path.

    Raises:
        UsageError: `path` is not a path; perhaps you passed an item first.
        OSError: the file cannot be written.
    """
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(
            f"report: the path is a {type(path).__name__}; expected a file's path, then the items"
        )
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    page = _Page()
    for item in items or dashboard_items():
        page.add(item)
    text = _PAGE.format(title=title, style=STYLE, body=Markup("\n").join(page.parts))
    target.write_text(text, encoding="utf-8")
    return target


def dashboard_items() -> list[Any]:
    """The figures of a dashboard that has followed this process since the hub's history begins."""
    board = Board()
    board.extend(hub.history(), hub.dropped())
    run = board.shown
    return [*([RunSummary(run)] if run is not None else []), *views(board)]


class _Page:
    def __init__(self) -> None:
        self.parts: list[Markup] = []
        self._plotly = False

    def add(self, item: Any) -> None:
        if isinstance(item, str):
            heading = item.startswith("# ")
            self.parts.append(tag("h2" if heading else "p", item.removeprefix("# ")))
        elif isinstance(item, View):
            self._figure(item.figure)
            self.parts.append(item.table)
        elif hasattr(item, "to_plotly_json"):
            self._figure(item)
        elif hasattr(item, "_repr_html_"):
            self.parts.append(Markup(item._repr_html_()))
            if hasattr(item, "figure"):
                self._figure(item.figure)
        else:
            self.parts.append(tag("pre", str(item)))

    def _figure(self, figure: Any) -> None:
        from plotly.io import to_html

        # The library is three megabytes: once a page.
        drawn = to_html(
            figure,
            include_plotlyjs=not self._plotly,
            full_html=False,
            auto_play=False,
            config={"responsive": True, "displaylogo": False},
        )
        self.parts.append(Markup(drawn))
        self._plotly = True
