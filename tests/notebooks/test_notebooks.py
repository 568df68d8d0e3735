"""Every notebook runs from top to bottom in a real Jupyter kernel, and has no outputs in git."""

from __future__ import annotations

import copy
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import nbformat
import notebook_prose as prose
import pytest
from nbconvert import LatexExporter, MarkdownExporter

from workbench import theme

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
CHECKED = tuple(f"{number:02}" for number in range(1, 16))
"""Notebooks whose prose is compared with their outputs: all but the exercises and their solutions."""


def load_runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("notebook_run", NOTEBOOKS / "run.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look up their module.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda p: p.stem)
def test_outputs_are_stripped(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code":
            assert not cell.outputs
            assert cell.execution_count is None


def printed_by_latex(notebook: nbformat.NotebookNode, drawn: list[nbformat.NotebookNode]) -> None:
    """nbconvert to LaTeX has every picture as a file; SVG only would need Inkscape."""
    page = copy.deepcopy(notebook)
    # Converting the text between the cells needs pandoc.
    page.cells = [cell for cell in page.cells if cell.cell_type == "code"]
    body, resources = LatexExporter().from_notebook_node(page)
    files = {name: data for name, data in (resources["outputs"] or {}).items() if name.endswith(".pdf")}
    assert len(files) == len(drawn)
    for name, data in files.items():
        assert name in body
        assert data.startswith(b"%PDF")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda p: p.stem)
def test_runs_from_top_to_bottom(path: Path, tmp_path: Path) -> None:
    if "import triton" in path.read_text():
        pytest.importorskip("triton")
    if "integrations.transformers" in path.read_text():
        pytest.importorskip("transformers", minversion="5", reason="transformers 5 is not installed")
    runner = load_runner()
    notebook = runner.execute(path, timeout=300, quiet=True)
    assert runner.summaries(notebook), "a notebook shows a summary of what was done"
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    stopped = [output.ename for output in outputs if output.output_type == "error"]
    assert not stopped, "papermill puts a banner above a notebook with an exception, and fails"
    if path.stem.startswith(CHECKED):
        assert prose.missing(notebook) == []
    bundles = [output.data for output in outputs if "data" in output]
    # nbconvert to HTML, and a PDF printed from it, have every figure without plotly's script.
    drawn, page = runner.figures(notebook), runner.pictures_page(notebook)
    assert page.count('class="jp-RenderedSVG') >= len(drawn)
    assert "vnd.plotly" not in page
    if path.stem.startswith(("01", "02", "03", "04", "05", "06", "13")):
        assert drawn, "a tutorial has figures"
    printed_by_latex(notebook, [data for data in bundles if "image/svg+xml" in data])
    markdown, _ = MarkdownExporter().from_notebook_node(runner.as_saved(notebook))
    assert "<style" not in markdown, "GitHub prints it as text"
    size = runner.sizes(notebook)
    assert size["figures"] == len(drawn)
    assert size["MB"] < runner.MOST_MB, f"saved with its outputs: {size}"
    for data in bundles:
        # The form shown by GitHub, a PDF and an editor without plotly's extension.
        if runner.PLOTLY in data:
            figure = data[runner.PLOTLY]
            assert tuple(figure["layout"]["template"]["layout"]["colorway"]) == theme.SERIES, "the one theme"
            for trace in figure["data"]:
                assert trace["type"] != "bar" or "text" in trace, (
                    f"bars without values in {figure['layout'].get('title')}"
                )
            assert data["image/svg+xml"].startswith("<svg")
            assert "not drawn here" not in data["image/svg+xml"]
        assert "%|" not in data.get("text/plain", ""), "a progress bar stays in the saved notebook"
    written = tmp_path / "page.html"
    runner.write_html(notebook, written)
    text = written.read_text()
    assert 'src="http' not in text, "the page is self-contained"
    assert text.count("* plotly.js v") == ("Plotly.newPlot" in text), "plotly's script is there once"


def test_bars_leave_nothing_behind(tmp_path: Path) -> None:
    cell = nbformat.v4.new_code_cell(
        "from workbench.progress import Steps, announced\n"
        "with announced('one long step'):\n    pass\n"
        "with Steps('several', 2) as steps:\n    steps('first')\n"
        "print('after')"
    )
    path = tmp_path / "bars.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path)
    runner = load_runner()
    notebook = runner.execute(path, timeout=300, quiet=True)
    outputs = [output for output in notebook.cells[0].outputs if output.output_type != "stream"]
    assert outputs, "the long step was told of while it ran"
    assert not any(any(output.data.values()) for output in outputs)
    assert all(output.data for output in outputs), "nbconvert warns of an output without a type"
    page = tmp_path / "page.html"
    runner.write_html(notebook, page)
    text = page.read_text()
    assert "after" in text
    assert "one long step" not in text.split("after")[-1]


def test_a_run_leaves_no_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HIPKITTENS_HISTORY", raising=False)
    tries = "from workbench.exercises.progress import Progress as P\nP.note('a', tries=1)\nprint(P.read('a'))"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(tries)])
    path = tmp_path / "exercise.ipynb"
    nbformat.write(notebook, path)
    executed = load_runner().execute(path, quiet=True)
    assert executed.cells[0].outputs[0].text == "not yet: 1 try\n"
    assert [file.name for file in tmp_path.iterdir()] == ["exercise.ipynb"]
