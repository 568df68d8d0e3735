"""Saved outputs have their style in their elements, since they are also read without our style sheet."""

from __future__ import annotations

import pytest
from nbconvert import MarkdownExporter
from nbformat import v4

from workbench.profile.stalls import Branch
from workbench.views.gallery import gallery, samples
from workbench.views.markup import LAB_SHEET, LOOKS, classed, lab_sheet
from workbench.views.static_copy import note


@pytest.fixture(scope="module")
def outputs() -> list[dict[str, str]]:
    """HTML as in a notebook: of results, of a copy of a live view, and of the gallery."""
    tree = Branch("launch", 1.0, (Branch("waits", 0.6, waits_for=((64, None),)), Branch("works", 0.4)))
    results = (
        samples.kept()["small"],
        samples.kept()["small"].advice,
        tree,
        samples.timed(1024, 13.3),
        samples.swept(),
        samples.verified(broken=True),
        samples.tuned(),
        gallery("time-modelled"),
    )
    return [*({"text/html": result._repr_html_()} for result in results), note("Dashboard", [])]


def test_a_markdown_export_has_no_style_sheet(outputs: list[dict[str, str]]) -> None:
    cells = [v4.new_code_cell(outputs=[v4.new_output("display_data", data)]) for data in outputs]
    page, _ = MarkdownExporter().from_notebook_node(v4.new_notebook(cells=cells))  # type: ignore[no-untyped-call]
    for data in outputs:
        assert data["text/html"] in page
    assert "<style" not in page


def test_an_element_has_the_look_of_each_of_its_classes() -> None:
    assert classed("wb-num wb-none") == f' class="wb-num wb-none" style="{LOOKS["wb-num"]}"'
    assert classed("wb-num wb-dim", "top:0").endswith(f'{LOOKS["wb-num"]};{LOOKS["wb-dim"]};top:0"')
    assert classed("") == ""


def test_jupyterlab_s_sheet_is_ours() -> None:
    assert LAB_SHEET.read_text(encoding="utf-8") == lab_sheet(), "python -m workbench.views.markup"
