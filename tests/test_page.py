"""A notebook as one page: cells, outputs, runs, machine code; nothing in it is fetched."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbformat import v4

import workbench as wb
from workbench.errors import MissingFile, UnreadableFile, UsageError
from workbench.history import recorder

CELL = """\
%%hipkittens scale --arch gfx950
#include <hip/hip_runtime.h>
__global__ void scale(float *x, float by) {
    x[threadIdx.x] *= by;
}"""
BROKEN = "%%hipkittens broken --arch gfx950\n__global__ void k() { nothing; }"
FIGURE = {
    "image/svg+xml": '<svg xmlns="http://www.w3.org/2000/svg"><title>bars</title></svg>',
    "text/plain": "bars",
}
LIVE = {"application/vnd.jupyter.widget-view+json": {"model_id": "1"}, "text/plain": "<Dashboard>"}


@pytest.fixture
def notebook(tmp_path: Path) -> Path:
    document = v4.new_notebook(
        cells=[
            v4.new_markdown_cell("# A kernel <script>of</script> mine, with $x^2$"),
            v4.new_code_cell(
                CELL, outputs=[v4.new_output("display_data", FIGURE), v4.new_output("display_data", LIVE)]
            ),
            v4.new_code_cell(BROKEN),
            v4.new_code_cell('wb.time("activations/softmax")'),
        ]
    )
    path = tmp_path / "mine.ipynb"
    nbformat.write(document, path)
    return path


def test_a_page_has_everything(notebook: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HIPKITTENS_HISTORY", str(tmp_path / "runs.sqlite"))
    recording = recorder.start()
    assert recording is not None
    try:
        wb.time("activations/softmax", shape={"rows": 16, "cols": 128})
        wb.time("activations/gelu", shape={"rows": 16, "cols": 128})
        page = wb.save_page(notebook)
    finally:
        recorder.stop()
    assert page == notebook.with_suffix(".html")
    text = page.read_text()
    assert "threadIdx" in text
    assert '<img alt="bars" src="data:image/svg+xml' in text
    assert "An interactive panel is shown here" in text
    appendix = text.partition('wb-appendix">')[2]
    # Instructions under the lines that they come from.
    assert "v_mul_f32" in appendix
    assert "s_endpgm" in appendix
    assert "x[threadIdx.x] *= by;" in appendix
    assert "broken has none, it does not compile: " in appendix
    assert "nothing" in appendix
    # Only runs of kernels that the notebook names.
    assert "activations/softmax" in appendix
    assert "activations/gelu" not in appendix


def test_nothing_is_fetched(notebook: Path, tmp_path: Path) -> None:
    text = wb.save_page(notebook, tmp_path / "folder" / "page.html").read_text()
    fetched = re.findall(
        r"<(?:script|img|link|iframe)\b[^>]*\b(?:src|href)=[\"']?(?!data:|#)[^\s\"'>]+", text
    )
    assert fetched == []
    assert re.findall(r"@import|url\(\s*[\"']?(?:https?:)?//", text) == []


def test_what_is_no_notebook(tmp_path: Path) -> None:
    with pytest.raises(MissingFile, match="save it first"):
        wb.save_page(tmp_path / "none.ipynb")
    wrong = tmp_path / "wrong.ipynb"
    wrong.write_text("{")
    with pytest.raises(UnreadableFile, match="is not a notebook"):
        wb.save_page(wrong)
    with pytest.raises(UsageError, match="got int"):
        wb.save_page(3)  # type: ignore[arg-type]
