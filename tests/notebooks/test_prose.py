"""The check of a tutorial's prose fails if prose and outputs differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import notebook_prose as prose
import pytest

from workbench.settings import SETTINGS

ROOT = Path(__file__).parents[2]

PROSE = "## 1. Traffic\nTwo orders fetch 3 and 4.5 MB; the time is *modelled*. It is eight times as much."
SHOWN = "as launched: 3 MB fetched\nrow by row: 4.5 MB fetched\ntime 5 us (modelled)\nread 8.0 times"


def tutorial(text: str = PROSE, shown: str = SHOWN, source: str = "show()", **metadata: Any) -> Any:
    output = nbformat.v4.new_output("stream", text=shown)
    cells = [
        nbformat.v4.new_markdown_cell(text),
        nbformat.v4.new_code_cell(source, outputs=[output]),
        nbformat.v4.new_markdown_cell("## 2. The end"),
        nbformat.v4.new_code_cell(
            "later()", outputs=[nbformat.v4.new_output("stream", text="99 MB (counted)")]
        ),
    ]
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def test_prose_that_the_outputs_bear_out() -> None:
    assert prose.missing(tutorial()) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"text": PROSE.replace("4.5", "9")}, "'9 MB'"),
        ({"text": PROSE.replace("3 and", "4 and")}, "'4 MB'"),
        ({"text": PROSE.replace("eight times", "seven times")}, "'seven times'"),
        ({"text": PROSE.replace("4.5 MB", "99 MB")}, "'99 MB'"),  # only a later section shows it
        ({"text": PROSE.replace("modelled", "counted")}, "'counted'"),
        ({"shown": SHOWN.replace("(modelled)", "(measured)")}, "'modelled'"),
        ({"shown": SHOWN.replace("3 MB", "4.5 MB")}, "'3 MB'"),
        ({"text": PROSE + " That is 42 % of the roof."}, "'42 %'"),
        ({"text": PROSE + " A third of them remain."}, "'a third'"),
        ({"source": "print('5 us (counted)')"}, "(counted"),
        ({"figures": {"7 MB": {"reason": "none"}}}, "'7 MB'"),
    ],
)
def test_a_notebook_that_contradicts_itself(change: dict[str, Any], fault: str) -> None:
    faults = prose.missing(tutorial(**change))
    assert len(faults) == 1, faults
    assert fault in faults[0]


def test_figures_that_the_metadata_supports() -> None:
    text = PROSE + " That is 42 % of 128 bytes."
    figures = {"42 %": {"output": "time 5 us"}, "128 bytes": {"reason": "a line of the cache"}}
    assert prose.missing(tutorial(text, figures=figures)) == []
    figures["42 %"] = {"output": "41.7 %"}
    (fault,) = prose.missing(tutorial(text, figures=figures))
    assert "41.7 %" in fault


def test_what_is_no_figure() -> None:
    assert (
        list(prose.figures(prose.plain("| 3 MB |\n`4 MB` [5 lanes](6_MB.md), gfx950, 2.1 and section 7")))
        == []
    )


def test_the_time_limit_is_that_of_the_settings() -> None:
    (limit,) = (setting.default for setting in SETTINGS if setting.name == "HIPKITTENS_TIMEOUT")
    notebook = nbformat.read(ROOT / "notebooks" / "01_first_kernel.ipynb", as_version=4)
    assert any(f"stops it after {limit} seconds" in cell.source for cell in notebook.cells)
