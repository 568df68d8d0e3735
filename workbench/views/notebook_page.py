"""A notebook with its outputs as one HTML page that opens anywhere: nothing is fetched for it."""

from __future__ import annotations

import base64
import copy
import html
import logging
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from markupsafe import Markup, escape

from workbench.errors import UsageError
from workbench.views.edited import EDITED, is_edited
from workbench.views.markup import STYLE, block

if TYPE_CHECKING:
    from nbformat import NotebookNode

WIDGET = "application/vnd.jupyter.widget-view+json"
_SVG = "image/svg+xml"
ALT = 400
"""Characters of a picture's text."""

PANEL = "An interactive panel is shown here when the notebook is open in JupyterLab."

_EDITED = {
    "output_type": "display_data",
    "metadata": {},
    "data": {"text/html": str(block(EDITED, kind="wb-warn")), "text/plain": EDITED},
}

_FETCHED = re.compile(r"<script\b[^>]*\bsrc=[\"']?(?:https?:)?//[^>]*></script>", re.IGNORECASE)
_PLOTLY = re.compile(r"<script>\s*/\*\*\s*\* plotly\.js v.*?</script>", re.DOTALL)
_PICTURE = re.compile(r'<img alt="[^"]*" src="data:image/svg\+xml;base64,([^"]+)"')
_TOLD = re.compile(r"<(?:title|desc)\b[^>]*>([^<]+)<")
# Prompts, numbers in code and quiet words of nbconvert's light page are too pale to read (WCAG 2, 4.5 : 1).
_STYLE = Markup(
    "<style>:root{{--jp-content-font-color2:rgba(0,0,0,.66);--jp-mirror-editor-number-color:#060;"
    "--jp-cell-prompt-not-active-font-color:#555}}.jp-RenderedSVG img{{max-width:100%;height:auto}}"
    ".jp-InputPrompt,.jp-OutputPrompt{{color:var(--jp-content-font-color2)!important;opacity:1!important}}"
    "@media (prefers-color-scheme:dark){{{}}}</style>"
    "<style>.wb-appendix{{max-width:70rem;margin:1rem auto 3rem;padding:0 1rem;"
    "font-family:var(--jp-content-font-family,sans-serif)}}"
    ".wb-appendix pre{{overflow-x:auto;white-space:pre;max-height:40em}}</style>"
)


def notebook_page(notebook: NotebookNode, title: str, appendix: Markup | str = "") -> str:
    """The page, in one text.

    A sentence replaces each live view; the copy saved after it shows the same figures. Above the result of a
    cell that was edited afterwards stands a sentence that says so.

    Args:
        notebook: notebook of version 4, as nbformat reads it.
        title: title of the page.
        appendix: HTML to insert after the last cell.

    Raises:
        UsageError: nbconvert is not installed.
    """
    try:
        from nbconvert import HTMLExporter
        from nbformat import from_dict
    except ImportError:
        raise UsageError("nbconvert, which makes the page, is not installed: pip install nbconvert") from None
    page = copy.deepcopy(notebook)
    page.metadata.pop("widgets", None)
    page.metadata["title"] = title
    for cell in page.cells:
        if "outputs" in cell:
            note = [_EDITED] if is_edited(cell.source, cell.outputs) else []
            shown = [output for output in map(without_widget, cell.outputs) if output is not None]
            cell.outputs = from_dict({"outputs": [*note, *shown]}).outputs  # type: ignore[no-untyped-call]
    # nbconvert warns of pictures without alternative text; `_named` adds it below.
    log = logging.getLogger(__name__)
    log.setLevel(logging.ERROR)
    exporter = HTMLExporter(  # type: ignore[no-untyped-call]
        require_js_url="", jquery_url="", mathjax_url="", mermaid_js_url="", log=log
    )
    body, _ = exporter.from_notebook_node(page)
    # Figures ask for a formula renderer that they do not need.
    body = _with_one_plotly(_PICTURE.sub(_named, _FETCHED.sub("", str(body))))
    more = STYLE + _STYLE.format(_dark(exporter.template_paths))
    if appendix:
        more += Markup('<section class="wb-appendix">{}</section>').format(appendix)
    head, end, rest = body.rpartition("</main>" if "</main>" in body else "</body>")
    return f"{head}{more}{end}{rest}"


def _dark(folders: Sequence[str]) -> Markup:
    """nbconvert's dark theme, for a reader whose pages are dark; nothing where this nbconvert has none."""
    files = (Path(folder, "static", "theme-dark.css") for folder in folders)
    theme = next((file for file in files if file.is_file()), None)
    # Keep its own rules and drop imports, which would be fetched.
    text = theme.read_text(encoding="utf-8") if theme is not None else ""
    return Markup(re.sub(r"@import[^;]*;|@charset[^;]*;", "", text))


def _named(picture: re.Match[str]) -> str:
    """A picture with its own title and description as the text in its place."""
    sentences = _TOLD.findall(base64.b64decode(picture[1]).decode("utf-8", "replace"))
    alt = (
        ". ".join(html.unescape(part).strip() for part in sentences[:2]) or "a picture without a description"
    )
    return f'<img alt="{escape(alt)}" src="data:image/svg+xml;base64,{picture[1]}"'


def without_widget(output: NotebookNode) -> NotebookNode | None:
    """The output as a page without a kernel can show it; None for one that shows nothing (any more)."""
    data = output.get("data", {})
    if _SVG in data and not _TOLD.search(data[_SVG]):
        # What a terminal shows of the figure: its title and its first values.
        caption = escape(" ".join(str(data.get("text/plain", "")).split())[:ALT])
        title = f"<title>{caption}</title>"
        data[_SVG] = re.sub(r"<svg\b[^>]*>", lambda head: head[0] + title, data[_SVG], count=1)
    if output.output_type == "display_data" and not any(data.values()):
        return None
    if data.pop(WIDGET, None) is None:
        return output
    if not data.get("text/plain"):
        return None  # it adds to the output above, such as buttons to a table
    data["text/plain"] = PANEL
    return output


def _with_one_plotly(body: str) -> str:
    """The page with plotly's script once, before the first figure: each is five megabytes."""
    script = _PLOTLY.search(body)
    if script is not None:
        once = script[0]
    elif "Plotly.newPlot" in body:
        from plotly.offline import get_plotlyjs

        once = f"<script>{get_plotlyjs()}</script>"
    else:
        return body
    at = body.index("<body")
    head, rest = body[:at], _PLOTLY.sub("", body[at:])
    end = rest.index(">") + 1
    return f"{head}{rest[:end]}{once}{rest[end:]}"
