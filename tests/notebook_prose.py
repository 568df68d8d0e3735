"""Figures in a tutorial's prose, and whether the cells support them.

A figure is a number with a unit ("4.5 MB", "42 %", "3 and 4.5 MB"), or a ratio in words ("eight times",
"half of"). It is supported if an output of the notebook, up to the end of the figure's section, has the same
number with the same unit. Any other figure is in the notebook's metadata with its support:

    "figures": {"eight times": {"output": "8.0 times"}, "16 bytes": {"reason": "the width of a lane's load"}}

An output is a text that the cells show. A reason is for figures that no run decides: definitions, facts of a
product. An origin (measured, counted, modelled) in prose must be in an output of the same section; the
metadata's "origins" maps a sentence's first words to a reason. A text in a cell's source never contains an
origin.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import nbformat

UNITS = (
    r"%|bytes|[KMGT]i?B(?:/s)?|[µu]s|ms|s|min|seconds|microseconds|cycles|times|TFLOP/s|"
    r"tiles|work-groups|waves|blocks|million|billion"
)
NUMBER = r"\d[\d,]*(?:\.\d+)?"
FIGURE = re.compile(rf"(?<![\w.])({NUMBER})(?:(?: and | or | to )({NUMBER}))?\s?({UNITS})(?![\w/])")
WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
COUNT = rf"(?:a|{'|'.join(WORDS)}|twelve|dozen|hundred|thousand)"
RATIO = re.compile(
    rf"\b(?:{COUNT} (?:hundred )?times|twice|(?:{COUNT} )?(?:half|thirds?|quarters?|fifths?|eighths?|tenths?)"
    r"(?= (?:of|as|the|less|more)\b)|nearly all|half)\b",
    re.IGNORECASE,
)
ORIGIN = re.compile(r"\b(measured|measures|counted|counts|modelled|models)\b")
STEM = {"measures": "measured", "counts": "counted", "models": "modelled"}
TYPED_ORIGIN = re.compile(r"""\((?:measured|counted|modelled)\b""")


@dataclass(frozen=True)
class Section:
    """Prose between two headings, the outputs of its cells, and those of all cells so far."""

    title: str
    prose: str
    shown: str
    so_far: str


def plain(markdown: str) -> str:
    """Prose without tables, code, links' targets and the line with the notebook's time."""
    text = re.sub(r"^(\||\*\*Read ).*$", "", markdown, flags=re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", re.sub(r"`[^`]*`", "` `", text))
    return re.sub(r"\s+", " ", text.replace("*", ""))


def output_text(output: Any) -> str:
    """All visible text of an output: its text, tables, and the words of its figures."""
    parts = [output.get("text", "")]
    for kind, data in output.get("data", {}).items():
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        if kind in ("text/plain", "text/markdown"):
            parts.append(text)
        elif kind in ("text/html", "image/svg+xml"):
            text = re.sub(r"<(script|style)\b.*?</\1>", " ", text, flags=re.DOTALL)
            parts.append(html.unescape(re.sub(r"<[^>]+>", " ", text)))
    return re.sub(r"\s+", " ", " ".join(parts))


def sections(notebook: nbformat.NotebookNode) -> list[Section]:
    """The notebook in pieces that begin with a heading of the second level."""
    pieces: list[tuple[str, list[str], list[str]]] = [("", [], [])]
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            first, *others = re.split(r"^(?=## )", cell.source, flags=re.MULTILINE)
            pieces[-1][1].append(first)
            pieces += [(text.partition("\n")[0], [text.partition("\n")[2]], []) for text in others]
        else:
            pieces[-1][2].extend(output_text(output) for output in cell.get("outputs", ()))
    result, so_far = [], ""
    for title, prose, outputs in pieces:
        so_far += " ".join(outputs) + " "
        result.append(Section(title, plain("\n".join(prose)), " ".join(outputs), so_far))
    return result


def figures(text: str) -> Iterator[str]:
    """Figures of a text: a number with its unit, or a ratio in words."""
    for match in FIGURE.finditer(text):
        first, second, unit = match.groups()
        yield from (f"{number} {unit}" for number in (first, second) if number)
    yield from (match[0].lower() for match in RATIO.finditer(text))


def _value(figure: str) -> tuple[float, str] | None:
    number, _, unit = figure.partition(" ")
    if re.fullmatch(NUMBER, number):
        return float(number.replace(",", "")), unit.replace("µ", "u")
    return (float(WORDS[number]), unit) if number in WORDS else None


def missing(notebook: nbformat.NotebookNode) -> list[str]:
    """Sentences in the prose of an executed notebook that no output supports."""
    metadata = notebook.metadata.get("figures", {})
    origins = notebook.metadata.get("origins", {})
    faults, used = [], set()
    for section in sections(notebook):
        values = {_value(figure) for figure in figures(section.so_far)} - {None}
        for figure in figures(section.prose):
            if figure in metadata:
                used.add(figure)
                support = metadata[figure]
                if "output" in support and support["output"] not in section.so_far:
                    faults.append(
                        f"{section.title}: {figure!r} rests on {support['output']!r}: no output has it"
                    )
            elif _value(figure) not in values:
                faults.append(f"{section.title}: no output has {figure!r}")
        for sentence in re.split(r"(?<=[.:?!]) ", section.prose):
            for origin in ORIGIN.findall(sentence):
                beginning = next((key for key in origins if sentence.startswith(key)), None)
                if beginning is not None:
                    used.add(beginning)
                elif STEM.get(origin, origin) not in section.shown:
                    faults.append(f"{section.title}: no result is {origin!r}: {sentence!r}")
    faults += [f"the metadata has {name!r}: the prose does not" for name in {*metadata, *origins} - used]
    faults += [
        f"a cell types {match!r}; it shows the result's own origin"
        for cell in notebook.cells
        if cell.cell_type == "code"
        for match in TYPED_ORIGIN.findall(cell.source)
    ]
    return faults
