"""Outputs of notebooks on the site: `docs/outputs.py` runs new notebooks, and figures are interactive."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

import nbformat
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PLOTLY = "application/vnd.plotly.v1+json"
SVG = "<svg><title>Two bars</title></svg>"


@pytest.fixture
def outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("outputs", DOCS / "outputs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "KEPT", tmp_path / "kept")
    return module


def written(path: Path, *cells: str, outputs: Sequence[nbformat.NotebookNode] = ()) -> Path:
    v4 = nbformat.v4
    all_cells = [v4.new_markdown_cell("# Title"), *map(v4.new_code_cell, cells)]
    all_cells[-1].outputs = list(outputs)
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(v4.new_notebook(cells=all_cells), path)
    return path


def test_what_is_new_runs_once(outputs: ModuleType, tmp_path: Path) -> None:
    good = written(tmp_path / "good.ipynb", "print(6 * 7)")
    lacking = written(tmp_path / "lacking.ipynb", "import no_such_module")
    wrong = written(tmp_path / "wrong.ipynb", "1 / 0")
    old = written(outputs.KEPT / "of_an_old_text" / "good.ipynb", "print(6)")
    outputs.run([good, lacking], "off")
    assert old.exists()
    with pytest.raises(RuntimeError, match=r"(?s)wrong\.ipynb: .*ZeroDivisionError") as stopped:
        outputs.run([good, lacking, wrong], "run")
    assert "lacking" not in str(stopped.value)
    assert not old.exists()
    assert outputs.executed_path(good).exists()
    assert not outputs.executed_path(lacking).exists()
    assert "42\\n" in outputs.site_source(good, good.read_text())
    for path in (lacking, wrong):
        assert "without outputs" in outputs.site_source(path, path.read_text())
    before = outputs.executed_path(good).stat().st_mtime_ns
    outputs.run([good], "run")
    assert outputs.executed_path(good).stat().st_mtime_ns == before
    with pytest.raises(ValueError, match="NOTEBOOKS is 'always'; expected run, fresh or off"):
        outputs.run([good], "always")


def test_an_edited_cell_is_a_new_notebook(outputs: ModuleType, tmp_path: Path) -> None:
    first = outputs.executed_path(written(tmp_path / "a.ipynb", "x = 1", "x"))
    assert outputs.executed_path(written(tmp_path / "a.ipynb", "x = 1", "x")) == first, (
        "ids of cells do not count"
    )
    assert outputs.executed_path(written(tmp_path / "a.ipynb", "x = 1\nx")) != first


def test_a_figure_is_a_picture_with_its_data(outputs: ModuleType, tmp_path: Path) -> None:
    figure = {"data": [{"type": "bar", "y": [1, 2]}], "layout": {"title": {"text": "</script><b>"}}}
    v4 = nbformat.v4
    drawn = v4.new_output(
        "display_data", data={PLOTLY: figure, "image/svg+xml": SVG, "text/plain": 'a "bar"'}
    )
    widget = v4.new_output("display_data", data={"application/vnd.jupyter.widget-view+json": {}})
    path = written(tmp_path / "a.ipynb", "draw()", outputs=[drawn, widget])
    stored = outputs.executed_path(path)
    stored.parent.mkdir(parents=True)
    stored.write_text(path.read_text())
    (output,) = json.loads(outputs.site_source(path, path.read_text()))["cells"][-1]["outputs"]
    page = "".join(output["data"]["text/html"])
    assert set(output["data"]) == {"text/html", "text/plain"}
    assert 'aria-label="a &quot;bar&quot;"' in page
    assert SVG in page
    (script,) = re.findall(r'<script type="application/json">(.*?)</script>', page)
    assert json.loads(script) == figure
