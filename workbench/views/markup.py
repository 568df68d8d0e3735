"""HTML that every view is made of: one style, and pieces whose texts are escaped by markupsafe.

Text is escaped wherever it goes into a piece; only `Markup` stands as it is.
"""

from __future__ import annotations

import html
from typing import Any

from markupsafe import Markup

# Only JupyterLab's theme variables, with fallbacks for a page without it, so that both themes look right.
STYLE = Markup(
    "<style>"
    ".wb{font-size:var(--jp-content-font-size0,13px);color:var(--jp-content-font-color1,inherit);"
    "font-family:var(--jp-content-font-family,sans-serif);overflow-x:auto;line-height:1.4}"
    ".wb table{border-collapse:collapse;margin:.4em 0}"
    ".wb caption{text-align:left;font-weight:600;padding:.2em 0;white-space:nowrap}"
    # Notebook front ends align table cells to the right by rules of their own.
    ".wb table th,.wb table td{text-align:left !important;padding:.15em .7em .15em 0;vertical-align:top;"
    "border-bottom:1px solid var(--jp-border-color2,#8884);"
    # A narrow window scrolls a table; it does not break its words.
    "overflow-wrap:normal;word-break:normal}"
    ".wb td.wb-line{white-space:nowrap}"
    # A heading of several lines makes a row of empty space above numbers.
    ".wb table th{font-weight:600;color:var(--jp-content-font-color2,inherit);white-space:nowrap}"
    ".wb table .wb-num{text-align:right !important;font-variant-numeric:tabular-nums}"
    ".wb-folds{container-type:inline-size}"
    # Mixed with the text's own colour, hues are read on a light page and on a dark one, whosever it is.
    ".wb .wb-ok{color:color-mix(in srgb,var(--jp-success-color1,#1a7f4b) 60%,currentColor);"
    "white-space:nowrap}"
    ".wb .wb-bad{color:color-mix(in srgb,var(--jp-error-color1,#c0392b) 60%,currentColor);"
    "font-weight:600;white-space:nowrap}"
    ".wb .wb-dim{color:var(--jp-content-font-color2,color-mix(in srgb,currentColor 72%,transparent))}"
    ".wb .wb-warn{color:color-mix(in srgb,var(--jp-warn-color1,#b45f06) 60%,currentColor)}"
    ".wb pre{margin:.2em 0;white-space:pre-wrap;font-family:var(--jp-code-font-family,monospace)}"
    ".wb .wb-verdict{font-size:1.08em;padding:.2em 0 .4em}"
    ".wb ol.wb-advice{margin:.2em 0;padding-left:1.6em}"
    ".wb ol.wb-advice li{margin:.1em 0 .5em}"
    ".wb .wb-tree details,.wb .wb-tree .wb-leaf{margin-left:1.1em}"
    ".wb .wb-tree summary,.wb .wb-tree .wb-leaf{white-space:nowrap}"
    ".wb .wb-tree summary{cursor:pointer;margin-left:-1.1em}"
    ".wb .wb-bar{display:inline-block;width:7em;height:.75em;margin-right:.5em;"
    "background:var(--jp-layout-color2,#8882)}"
    ".wb .wb-bar i{display:block;height:100%}"
    ".wb .wb-share{display:inline-block;width:3.6em;text-align:right;margin-right:.6em;"
    "font-variant-numeric:tabular-nums}"
    ".wb-badge{color:#fff;border-radius:.6em;padding:0 .5em;font-size:.85em;white-space:nowrap}"
    "</style>"
)

# A folded table: each row its first cell, and below it the others behind their columns' titles.
_FOLDED = (
    "{0} table,{0} tbody,{0} tr{{display:block}}"
    # JupyterLab's rows have a padding and an alignment, which count once they are blocks.
    "{0} tr{{padding:0;border:0;text-align:left}}"
    "{0} th,{0} td:empty{{display:none}}"
    "{0} caption{{display:block;white-space:normal}}"
    "{0} td{{display:inline-block;border:0;padding:.05em 1em .05em 0}}"
    "{0} td:first-child{{display:block;font-weight:600;padding-top:.3em;"
    "border-top:1px solid var(--jp-border-color2,#8884)}}"
    "{0} td+td[data-title]::before{{content:attr(data-title) ' ';opacity:.72}}"
)

NOTHING = Markup("")


def block(*parts: Any, kind: str = "") -> Markup:
    """Parts one after another in a box that has our style; `kind` is a further class of it."""
    return STYLE + tag("div", *parts, kind=f"wb {kind}".rstrip())


def tag(name: str, *parts: Any, kind: str = "") -> Markup:
    """An element with parts in it, of a class where `kind` names one."""
    opening = Markup('{} class="{}"').format(name, kind) if kind else name
    return Markup("<{}>{}</{}>").format(opening, NOTHING.join(parts), name)


def folding(table: Any, width: int) -> Markup:
    """A table that folds where it has no more than `width` ems."""
    name = f"wb-folds-{width}"
    rules = _FOLDED.format(f".wb .{name}")
    style = Markup("<style>@container (max-width:{}em){{{}}}</style>").format(width, Markup(rules))
    return style + tag("div", table, kind=f"wb-folds {name}")


def figure_text(text: Any) -> str:
    """A text as it is given to plotly, which takes `<b>` and `<a>` for its own and puts values for `%{`."""
    return html.escape(str(text), quote=False).replace("%{", "&#37;{")


def bold(text: Any) -> Markup:
    """Text in bold face."""
    return tag("b", text)


def code(text: Any) -> Markup:
    """Text as code."""
    return tag("code", text)


def notice(text: str, kind: str = "") -> Markup:
    """A message with its line breaks kept, in a box of its own."""
    return block(tag("pre", text), kind=kind)


def details(title: Any, *parts: Any, opened: bool = False, kind: str = "") -> Markup:
    """Parts that a click on the title folds and unfolds."""
    start = Markup("<details open>") if opened else Markup("<details>")
    return start + tag("summary", title, kind=kind) + NOTHING.join(parts) + Markup("</details>")
