"""Claims of a cell's card, its text, the editor's data and an exported page about a kernel in each state."""

from __future__ import annotations

import re
from typing import Any

import pytest
from IPython.utils.capture import capture_output
from nbformat import from_dict

from workbench.lab.payload import MIME_TYPE
from workbench.views.edited import EDITED, checksum
from workbench.views.notebook_page import notebook_page

CELL = """\
#include <hip/hip_runtime.h>
__global__ void scale(float *x, float by) {
    x[blockIdx.x * blockDim.x + threadIdx.x] *= by;
}"""
LAUNCH = "--launch 'scale[4, 64]' --inputs 'dict(x=torch.ones(256), by=2.0)' --outputs x"
RIGHT, WRONG = "--reference 'lambda x, by: x * by'", "--reference 'lambda x, by: x + by'"
FAR = LAUNCH.replace("scale[4, 64]", "scale[1 << 20, 64]")
CLAIM = re.compile(r"(?<!not )\bverified\b|\bpassed\b|✓", re.IGNORECASE)
DENIAL = re.compile(r"not verified since its code changed \([^)]*\)")

# The options of a run, the cell's text, and the outcome: whether the editor learns that the result is right,
# and whether pages claim it.
STATES: dict[str, list[tuple[str, str, bool | None, bool]]] = {
    "only compiled": [("", CELL, None, False)],
    "does not compile": [("", CELL.replace("by;", "nothing;"), None, False)],
    "refused options": [("--reference 'lambda x: x'", CELL, None, False)],
    "right": [(f"{LAUNCH} {RIGHT}", CELL, True, True)],
    "wrong": [(f"{LAUNCH} {WRONG}", CELL, False, False)],
    "stopped by a fault": [(f"{FAR} {RIGHT}", CELL, None, False)],
    "profiled, never verified": [(f"{LAUNCH} --profile", CELL, None, False)],
    "profiled after it was verified": [
        (f"{LAUNCH} {RIGHT}", CELL, True, True),
        ("--profile", CELL, True, True),
    ],
    "profiled after it was wrong": [
        (f"{LAUNCH} {WRONG}", CELL, False, False),
        ("--profile", CELL, False, False),
    ],
    "profiled after an edit": [
        (f"{LAUNCH} {RIGHT}", CELL, True, True),
        ("--profile", CELL.replace("*= by", "*= 2 * by"), None, False),
    ],
    "verified, then stopped by a fault": [
        (f"{LAUNCH} {RIGHT}", CELL, True, True),
        (f"{FAR} {RIGHT}", CELL, None, False),
    ],
}


def pages(shell: Any, name: str, options: str, cell: str) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """Runs a cell; returns the editor's data, and all visible texts, including an exported page."""
    with capture_output() as captured:
        shell.run_cell(f"%%hipkittens {name} {options}\n{cell}")
    data = [dict(output.data) for output in captured.outputs]
    payload = next((entry[MIME_TYPE] for entry in data if MIME_TYPE in entry), None)
    # Figures do not mention it, and are large.
    outputs = [
        {
            "output_type": "display_data",
            "metadata": {},
            "data": {k: v for k, v in entry.items() if k in ("text/html", "text/plain")},
        }
        for entry in data
        if MIME_TYPE in entry
    ]
    source = f"%%hipkittens\n{cell}"
    code = {"cell_type": "code", "metadata": {}, "source": source, "execution_count": 1, "outputs": outputs}
    notebook = from_dict({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [code]})  # type: ignore[no-untyped-call]
    export = notebook_page(notebook, "page")
    return payload, {
        "card": "".join(entry.get("text/html", "") for entry in data if MIME_TYPE in entry),
        "text": "".join(entry.get("text/plain", "") for entry in data if MIME_TYPE in entry),
        "export": re.sub(r"<(style|script)\b.*?</\1>", "", export, flags=re.DOTALL),
    }


@pytest.mark.parametrize("state", STATES)
def test_a_cell_claims_only_what_its_run_showed(shell: Any, state: str) -> None:
    shell.run_cell("import torch")
    name = re.sub(r"\W", "_", state)
    # Each state has code of its own: verifications of the others are not about it.
    mark = f"\n__device__ int state_{list(STATES).index(state)} = {list(STATES).index(state)};"
    for options, cell, verified, claimed in STATES[state]:
        payload, texts = pages(shell, name, options, cell + mark)
        run = payload["run"] if payload is not None else {"verified": None}
        assert run["verified"] is verified, run
        for place, text in texts.items():
            visible = re.sub(r"<[^>]+>", "", DENIAL.sub("", text))
            claims = CLAIM.findall(visible)
            if place == "text":
                assert claimed or not claims, (place, visible)
            else:
                assert bool(claims) == claimed, (place, claims, visible[:2000])
    if state == "profiled after an edit":
        assert DENIAL.search(texts["card"])
        assert DENIAL.search(texts["export"])
    if state == "profiled after it was verified":
        assert re.search(r"✓ verified</span> against a lambda at \d\d:\d\d:\d\d", texts["card"])
    if state == "profiled, never verified":
        assert "not verified" in texts["card"]


def test_an_exported_page_says_that_a_cell_was_edited() -> None:
    def page(source: str) -> str:
        output = {
            "output_type": "display_data",
            "metadata": {},
            "data": {MIME_TYPE: {"checksum": checksum("a = 1;")}, "text/html": "<b>the result</b>"},
        }
        code = {
            "cell_type": "code",
            "metadata": {},
            "source": source,
            "execution_count": 1,
            "outputs": [output],
        }
        notebook = from_dict({"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [code]})  # type: ignore[no-untyped-call]
        return notebook_page(notebook, "page")

    # Options in the first line do not change the result's code.
    assert EDITED not in page("%%hipkittens k --profile\na = 1;\n")
    edited = page("%%hipkittens k\na = 2;")
    assert edited.index(EDITED) < edited.index("the result")
