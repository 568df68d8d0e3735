"""Outputs of the notebooks for the site: the repository has none, so `make docs` runs what is new.

An executed notebook lies in build/notebooks under the hash of its cells. NOTEBOOKS=off runs nothing and shows
what lies there; NOTEBOOKS=fresh runs every notebook again, since the hash knows nothing of the package.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat

from workbench.views.notebook_page import without_widget

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "build" / "notebooks"
AT_ONCE = 4
"""Most notebooks that run side by side: each has a kernel with PyTorch, about a gigabyte."""

PLOTLY = "application/vnd.plotly.v1+json"
SVG = "image/svg+xml"
NOT_RUN = "ModuleNotFoundError"


def executed_path(path: Path) -> Path:
    """Where the executed notebook lies, or will."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    text = json.dumps([[each["cell_type"], "".join(each["source"])] for each in cells])
    return KEPT / hashlib.sha256(text.encode()).hexdigest()[:16] / path.name


def run(paths: Iterable[Path], how: str) -> None:
    """Runs the notebooks that were not run as they are now; `how` is "run", "fresh" or "off".

    Raises:
        RuntimeError: a notebook stopped at a cell.
    """
    if how not in ("run", "fresh", "off"):
        raise ValueError(f"NOTEBOOKS is {how!r}; expected run, fresh or off")
    paths = list(paths)
    missing = [
        path for path in paths if how != "off" and (how == "fresh" or not executed_path(path).exists())
    ]
    if not missing:
        return
    began = time.monotonic()
    print(f"running {len(missing)} notebooks: some minutes; NOTEBOOKS=off runs none", flush=True)
    with ThreadPoolExecutor(min(AT_ONCE, os.cpu_count() or 1)) as pool:
        failures = [failure for failure in pool.map(_execute, missing) if failure]
    print(f"ran {len(missing)} notebooks in {time.monotonic() - began:.0f} s", flush=True)
    used = {executed_path(path).parent for path in paths}
    for folder in KEPT.glob("*"):
        if folder not in used:
            shutil.rmtree(folder)
    if failures:
        raise RuntimeError("\n".join(failures))


def _execute(path: Path) -> str:
    """Runs a notebook; gives what went wrong, "" where a package that it needs is not installed."""
    program, folder = ROOT / "notebooks" / "run.py", executed_path(path).parent
    command = [sys.executable, str(program), str(path), "--save", str(folder)]
    with tempfile.TemporaryDirectory() as history:
        # Nothing that somebody did before is in the runs and exercises that it shows.
        environment = os.environ | {"HIPKITTENS_HISTORY": str(Path(history) / "runs.sqlite")}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    print(f"  {path.name}: {'done' if done.returncode == 0 else 'stopped'}", flush=True)
    return "" if done.returncode == 0 or NOT_RUN in done.stderr else f"{path.name}: {done.stderr[-2000:]}"


def site_source(path: Path, text: str) -> str:
    """A notebook's source as the site shows it: with its outputs, if it was run as it is now."""
    where = executed_path(path)
    if where.exists():
        notebook = nbformat.read(where, as_version=4)
        day = time.strftime("%d %B %Y", time.gmtime(where.stat().st_mtime)).lstrip("0")
        note = f"Outputs of {day}, on the emulated device. Point at a figure, or tap it, to make it live."
    else:
        notebook = nbformat.reads(text, as_version=4)
        note = "Shown without outputs: this site was built without running the notebook."
    notebook.cells.insert(1, nbformat.v4.new_markdown_cell(f"*{note}*"))
    notebook.metadata.pop("widgets", None)
    # As a kernel says it; the site's lexer of this name knows C++ below a magic, too.
    notebook.metadata.setdefault("language_info", {"name": "python", "pygments_lexer": "ipython3"})
    for cell in notebook.cells:
        if "outputs" in cell:
            cell.outputs = [each for each in map(without_widget, cell.outputs) if each is not None]
            for output in cell.outputs:
                _live(output.get("data", {}))
    return str(nbformat.writes(notebook))


def _live(data: dict[str, Any]) -> None:
    """A figure as its picture, which `static/site.js` replaces by plotly's when a reader reaches for it."""
    figure = data.pop(PLOTLY, None)
    if figure is None or SVG not in data:
        return
    # "</script>" in a text must not end the element.
    record = json.dumps({key: figure[key] for key in ("data", "layout", "frames") if key in figure})
    record = record.replace("<", "\\u003c")
    title = html.escape(str(data.get("text/plain", "")).split("\n")[0][:120])
    data["text/html"] = (
        f'<div class="wb-live" tabindex="0" role="group" aria-label="{title}">{data.pop(SVG)}'
        f'<script type="application/json">{record}</script></div>'
    )
