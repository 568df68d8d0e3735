"""Execute notebooks as a person would, through a real Jupyter kernel, and keep what they showed.

    python notebooks/run.py notebooks/01_first_kernel.ipynb --html build/demo.html

Prints each cell as it runs, then the output of the cells tagged `summary` and how large the notebook is when
it is saved. The page is self-contained: the figures carry their own script and nothing is fetched when it is
opened.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import psutil
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbconvert import HTMLExporter

from workbench.views.notebook_page import notebook_page

PLOTLY = "application/vnd.plotly.v1+json"
MOST_MB = 3.0
"""Of a notebook that is saved with its outputs: what one still likes to open, and to have in git."""


@dataclass(frozen=True)
class CellTime:
    """How long a cell took.

    Attributes:
        index: of the cell in the notebook.
        wall: seconds that passed.
        processor: seconds that the kernel and what it started computed.
    """

    index: int
    wall: float
    processor: float


def execute(
    path: Path,
    *,
    timeout: int = 600,
    quiet: bool = False,
    cache: Path | None = None,
    done: Callable[[CellTime], None] | None = None,
) -> nbformat.NotebookNode:
    """Run every cell of the notebook at `path` in a fresh kernel and return it with its outputs.

    Args:
        path: the notebook.
        timeout: seconds that a cell may take.
        quiet: print nothing.
        cache: the workbench's cache; None for the usual one.
        done: called after each cell that holds code.

    An exception stops the run; cells that fail on purpose catch it, since others' runners stop at it too.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raised.
        nbclient.exceptions.CellTimeoutError: a cell ran longer than `timeout` seconds.
    """
    notebook = nbformat.read(path, as_version=4)
    # Figures as HTML too: an exported page has no JupyterLab to draw plotly's own format.
    environment = os.environ | {"PLOTLY_RENDERER": "plotly_mimetype+notebook"}
    total = sum(cell.cell_type == "code" for cell in notebook.cells)
    state = {"done": 0, "start": 0.0, "processor": 0.0}
    if cache is not None:
        environment["HIPKITTENS_CACHE"] = str(cache)

    def processor() -> float:
        times = psutil.Process(client.km.provisioner.pid).cpu_times()
        return float(times.user + times.system + times.children_user + times.children_system)

    def started(cell: nbformat.NotebookNode, cell_index: int) -> None:
        state["start"], state["processor"] = time.perf_counter(), processor()

    def finished(cell: nbformat.NotebookNode, cell_index: int, execute_reply: dict[str, Any]) -> None:
        state["done"] += 1
        seconds = time.perf_counter() - state["start"]
        if done is not None:
            done(CellTime(cell_index, seconds, processor() - state["processor"]))
        if quiet:
            return
        first = cell.source.strip().splitlines()[0] if cell.source.strip() else ""
        print(f"  [{state['done']}/{total}] {seconds:6.2f} s  {first[:80]}", flush=True)

    client = NotebookClient(
        notebook,
        timeout=timeout,
        kernel_name="python3",
        # ipykernel warns of its own local sockets, about which a reader can do nothing.
        extra_arguments=["--IPKernelApp.log_level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
        on_cell_execute=started,
        on_cell_executed=finished,
    )
    # A run by machine is none of the reader's: neither a run nor an exercise's try stays in the folder.
    with tempfile.TemporaryDirectory() as folder:
        environment.setdefault("HIPKITTENS_HISTORY", str(Path(folder, "runs.sqlite")))
        client.execute(env=environment)
    return notebook


def summaries(notebook: nbformat.NotebookNode) -> list[str]:
    """Plain text that the cells tagged `summary` printed or returned, in order."""
    texts = []
    for cell in notebook.cells:
        if cell.cell_type != "code" or "summary" not in cell.metadata.get("tags", ()):
            continue
        for output in cell.outputs:
            text = output.get("text") or output.get("data", {}).get("text/plain")
            if text and output.get("name") != "stderr":
                texts.append(text.rstrip())
    return texts


def figures(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Outputs that are plotly figures, in order."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", ()))
    return [output for output in outputs if PLOTLY in output.get("data", {})]


def pictures_page(notebook: nbformat.NotebookNode) -> str:
    """The executed notebook as nbconvert shows it where plotly's script is not allowed: by its pictures."""
    page = copy.deepcopy(notebook)
    page.metadata.pop("widgets", None)
    for output in figures(page):
        output.data.pop("text/html", None)
    body, _ = HTMLExporter().from_notebook_node(page)
    return str(body)


def as_saved(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook as JupyterLab saves it: without the HTML of figures, which only an exported page has."""
    saved = copy.deepcopy(notebook)
    for cell in saved.cells:
        # The renderer adds plotly's script for exported pages only.
        if "outputs" in cell:
            cell.outputs = [o for o in cell.outputs if "* plotly.js v" not in str(o.get("data", ""))]
    for output in figures(saved):
        output.data.pop("text/html", None)
    return saved


def sizes(notebook: nbformat.NotebookNode) -> dict[str, float]:
    """MB of the notebook saved with its outputs, and of the figures in it."""
    saved = as_saved(notebook)
    drawn = figures(saved)

    def mb(*parts: Any) -> float:
        # Formatted as the file is, with a line for each entry of a list.
        return sum(len(json.dumps(part, indent=1)) for part in parts) / 1e6

    return {
        "MB": len(nbformat.writes(saved)) / 1e6,
        "figures": len(drawn),
        "live": mb(*(output.data[PLOTLY] for output in drawn)),
        "pictures": mb(*(output.data["image/svg+xml"] for output in drawn)),
    }


def sizes_table(by_notebook: dict[str, dict[str, float]]) -> str:
    """Sizes of several notebooks in Markdown."""
    lines = ["| notebook | saved, MB | figures | of it live, MB | their pictures, MB |", "| --- " * 5 + "|"]
    lines += [
        f"| {name} | {size['MB']:.2f} | {size['figures']} | {size['live']:.2f} | {size['pictures']:.2f} |"
        for name, size in by_notebook.items()
    ]
    return "\n".join(lines)


def write_html(notebook: nbformat.NotebookNode, path: Path) -> None:
    """Write the executed notebook as one page that needs no network."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(notebook_page(notebook, path.stem), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Execute a notebook and show what it did.")
    parser.add_argument("notebook", type=Path, nargs="+")
    parser.add_argument("--html", type=Path, help="write the executed notebook as a self-contained page")
    parser.add_argument("--save", type=Path, help="a folder to save the executed notebooks in")
    parser.add_argument("--timeout", type=int, default=600, help="seconds a cell may run (default 600)")
    options = parser.parse_args(arguments)
    if options.html and len(options.notebook) > 1:
        parser.error("--html writes the page of one notebook")
    by_notebook = {}
    for path in options.notebook:
        if not path.is_file():
            parser.error(f"no notebook at {path}")
        print(f"running {path}", flush=True)
        try:
            notebook = execute(path, timeout=options.timeout)
        except CellExecutionError as error:
            print(f"\n{path} stopped at a cell:\n{error}", file=sys.stderr)
            return 1
        for text in summaries(notebook):
            print(f"\n{text}")
        by_notebook[path.stem] = sizes(notebook)
        if options.save:
            options.save.mkdir(parents=True, exist_ok=True)
            nbformat.write(as_saved(notebook), options.save / path.name)
        if options.html:
            write_html(notebook, options.html)
    print(f"\n{sizes_table(by_notebook)}")
    if options.html:
        print(f"\nthe whole run with its figures: {options.html}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
