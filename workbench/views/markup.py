"""HTML building blocks of all views: one look, with text escaped by markupsafe.

Text is escaped when it is inserted into a piece; only `Markup` is inserted unchanged.

Output saved in a notebook has no style sheet: a Markdown export would print it, and GitHub and others remove
it. So each element carries the styles that it cannot be read without (`LOOKS`). All other styles, such as
folding tables, are in `sheet()`: on our own pages, in live views, and in JupyterLab's extension, whose file
`python -m workbench.views.markup` writes.
"""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

LAB_SHEET = Path(__file__).parents[1] / "lab" / "style" / "results.css"

# Only JupyterLab's theme variables, with fallbacks for a page without it, so that both themes look right.
# Mixed with the text's own colour, hues are read on a light page and on a dark one, whosever it is.
LOOKS: Mapping[str, str] = {
    # As large as a table's letters; the sizes for content would shrink a box in a box.
    "wb": "font-size:var(--jp-ui-font-size1,13px);color:var(--jp-content-font-color1,inherit);"
    "font-family:var(--jp-content-font-family,sans-serif);overflow-x:auto;line-height:1.4",
    "wb-num": "text-align:right;font-variant-numeric:tabular-nums",
    "wb-line": "white-space:nowrap",
    "wb-ok": "color:color-mix(in srgb,var(--jp-success-color1,#1a7f4b) 60%,currentColor);white-space:nowrap",
    "wb-bad": "color:color-mix(in srgb,var(--jp-error-color1,#c0392b) 60%,currentColor);font-weight:600;"
    "white-space:nowrap",
    "wb-dim": "color:var(--jp-content-font-color2,color-mix(in srgb,currentColor 72%,transparent))",
    # Words that a page has to break.
    "wb-text": "white-space:pre-wrap",
    "wb-warn": "color:color-mix(in srgb,var(--jp-warn-color1,#b45f06) 60%,currentColor)",
    "wb-badge": "color:#fff;border-radius:.6em;padding:0 .5em;font-size:.85em;white-space:nowrap",
    "wb-branch": "margin-left:1.1em",
    "wb-leaf": "margin-left:1.1em",
    "wb-stem": "margin-left:-1.1em;cursor:pointer",
    # A name of several lines stays right of its bar; a summary's marker is left of the row.
    "wb-row": "display:inline-flex;column-gap:.5em;align-items:baseline;max-width:calc(100% - 1.4em)",
    "wb-bar": "flex:none;width:7em;height:.75em;background:var(--jp-layout-color2,#8882)",
    "wb-share": "flex:none;width:4.2em;text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums",
    "wb-diff": "white-space:pre;overflow-x:auto;max-height:30em;line-height:1.35",
    "wb-same": "display:block;min-height:1.35em",
    "wb-added": "display:block;min-height:1.35em;background:#2ea04333",
    "wb-removed": "display:block;min-height:1.35em;background:#f8514933",
    "wb-renamed": "display:block;min-height:1.35em;opacity:.72",
    "wb-skipped": "display:block;min-height:1.35em;opacity:.72",
}
"""Inline style of each class's elements, wherever they are shown."""

_RULES = (
    ".wb table{border-collapse:collapse;margin:.4em 0}"
    ".wb caption{text-align:left;font-weight:600;padding:.2em 0;white-space:nowrap}"
    ".wb table th,.wb table td{padding:.15em .7em .15em 0;vertical-align:top;"
    "border-bottom:1px solid var(--jp-border-color2,#8884);"
    # A narrow window scrolls a table; it does not break its words.
    "overflow-wrap:normal;word-break:normal}"
    # A heading of several lines makes a row of empty space above numbers.
    ".wb table th{font-weight:600;color:var(--jp-content-font-color2,inherit);white-space:nowrap}"
    ".wb-folds{container-type:inline-size}"
    ".wb pre{margin:.2em 0;white-space:pre-wrap;font-family:var(--jp-code-font-family,monospace)}"
    ".wb .wb-verdict{font-size:1.08em;padding:.2em 0 .4em}"
    ".wb ol.wb-advice{margin:.2em 0;padding-left:1.6em}"
    ".wb ol.wb-advice li{margin:.1em 0 .5em}"
    # Without its kernel a front end has only a message for the live page before its copy.
    ".jp-OutputArea-child:not(:has(.wb-grid,.wb-waves)):has(+.jp-OutputArea-child .wb-static){display:none}"
)

_FOLDS = (*range(12, 60, 4), *range(60, 165, 8))
"""Ems of the page below which tables fold; a table has the next of them."""

# A folded table: each row shows its first cell, and below it the others after their columns' titles.
_FOLDED = (
    "{0} table,{0} tbody,{0} tr{{display:block}}"
    # JupyterLab's rows have a padding and an alignment, which count once they are blocks.
    "{0} tr{{padding:0;border:0;text-align:left}}"
    "{0} th,{0} td:empty{{display:none}}"
    "{0} caption{{display:block;white-space:normal}}"
    # A cell's own look has it in one line, and apart from its neighbour.
    "{0} td{{display:inline-block;border:0;padding:.05em 1em .05em 0 !important;"
    "white-space:normal !important}}"
    "{0} td:first-child{{display:block;font-weight:600;padding-top:.3em;"
    "border-top:1px solid var(--jp-border-color2,#8884)}}"
    "{0} td+td[data-title]::before{{content:attr(data-title) ' ';opacity:.72}}"
)


def sheet() -> str:
    """The rules of `STYLE`, one a line."""
    folds = (f"@container (max-width:{n}em){{{_FOLDED.format(f'.wb .wb-folds-{n}')}}}" for n in _FOLDS)
    return "\n".join([*_RULES.replace("}", "}\n").splitlines(), *folds, ""])


STYLE = Markup("<style>{}</style>").format(Markup(sheet()))

NOTHING = Markup("")


def block(*parts: Any, kind: str = "") -> Markup:
    """Parts in a box with our look; `kind` is an additional class."""
    return tag("div", *parts, kind=f"wb {kind}".rstrip())


def classed(kind: str, look: str = "") -> Markup:
    """The attributes of an element of these classes; `look` is what it says of itself besides."""
    looks = [LOOKS[name] for name in kind.split() if name in LOOKS]
    style = ";".join([*looks, *filter(None, [look])])
    return _attribute("class", kind) + _attribute("style", style)


def _attribute(name: str, value: str) -> Markup:
    return Markup(' {}="{}"').format(Markup(name), value) if value else NOTHING


def tag(name: str, *parts: Any, kind: str = "") -> Markup:
    """An element with parts in it, of a class where `kind` names one."""
    return Markup("<{}{}>{}</{}>").format(name, classed(kind), NOTHING.join(parts), name)


def folding(table: Any, width: int) -> Markup:
    """A table that folds where it has no more than `width` ems, and a page of ours or JupyterLab shows it."""
    step = next((n for n in _FOLDS if n >= width), _FOLDS[-1])
    return tag("div", table, kind=f"wb-folds wb-folds-{step}")


def figure_text(text: Any) -> str:
    """A text as it is given to plotly, which takes `<b>` and `<a>` for its own and puts values for `%{`."""
    return html.escape(str(text), quote=False).replace("%{", "&#37;{")


def bold(text: Any) -> Markup:
    """Text in bold face."""
    return tag("b", text)


def code(text: Any) -> Markup:
    """Text in the style of code."""
    return tag("code", text)


def with_code(text: str) -> Markup:
    """A text with its parts in backticks as code."""
    parts = text.split("`")
    # A backtick without a second one stands for itself.
    last = f"`{parts.pop()}" if len(parts) % 2 == 0 else ""
    return NOTHING.join(code(part) if n % 2 else escape(part) for n, part in enumerate(parts)) + last


def notice(text: str, kind: str = "") -> Markup:
    """A message with its line breaks kept, in a box of its own."""
    return block(tag("pre", text), kind=kind)


def details(title: Any, *parts: Any, opened: bool = False, kind: str = "") -> Markup:
    """Parts that a click on the title folds and unfolds."""
    start = Markup("<details open>") if opened else Markup("<details>")
    return start + tag("summary", title, kind=kind) + NOTHING.join(parts) + Markup("</details>")


def lab_sheet() -> str:
    """The text of `LAB_SHEET`."""
    return f"/* Written by `python -m workbench.views.markup`: change that. */\n{sheet()}"


if __name__ == "__main__":
    LAB_SHEET.write_text(lab_sheet(), encoding="utf-8")
