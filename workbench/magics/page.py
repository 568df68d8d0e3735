"""`wb.save_page`: a notebook as one page for a colleague, with runs and machine code behind the cells."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError as IPythonUsageError
from IPython.core.getipython import get_ipython
from markupsafe import Markup

from workbench.errors import (
    CompileError,
    MissingFile,
    UnreadableFile,
    UsageError,
    WorkbenchError,
    headline,
)
from workbench.history import recorder
from workbench.history.results import History
from workbench.kernel.compilation import compile_source
from workbench.magics.cell import MAGIC, written
from workbench.views.history import runs_html
from workbench.views.markup import NOTHING, block, details, tag
from workbench.views.notebook_page import notebook_page
from workbench.views.resources import module_html

if TYPE_CHECKING:
    from nbformat import NotebookNode

    from workbench.kernel import Module

RUNS = 200
"""Number of runs to search, the latest of the folder's file."""


def save_page(notebook: str | Path, to: str | Path | None = None) -> Path:
    """Writes a saved notebook as one HTML file that opens without anything else.

    The page has the cells with their outputs and figures. After them it lists the recorded runs of the
    notebook's kernels, and the machine code of its C++ cells. To open it, you need no kernel, no network and
    no extension.

    Args:
        notebook: the `.ipynb` file.
        to: the page; None for the notebook's name with `.html`.

    Returns:
        the page's path.

    Raises:
        MissingFile, UnreadableFile: there is no such file, or it is not a notebook.
        UsageError: `notebook` is not a path; nbconvert is not installed.
        OSError: the page cannot be written.
    """
    import nbformat

    if not isinstance(notebook, (str, os.PathLike)):
        raise UsageError(f"save_page: got {type(notebook).__name__}; expected the path of a notebook")
    path = Path(notebook)
    if not path.is_file():
        raise MissingFile(f"save_page: there is no notebook {path} in {Path.cwd()}; save it first")
    try:
        read = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except (ValueError, KeyError, AttributeError) as error:
        raise UnreadableFile(f"save_page: {path} is not a notebook: {error}") from None
    target = Path(to) if to is not None else path.with_suffix(".html")
    appendix = NOTHING.join(_appendix(read))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(notebook_page(read, path.stem, appendix), encoding="utf-8")
    return target


def _appendix(notebook: NotebookNode) -> Iterator[Markup]:
    sources = [str(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    runs = _runs("\n".join(sources))
    if runs is not None:
        yield tag("h2", "Runs") + runs
    code = [_machine_code(source) for source in sources if MAGIC.match(source)]
    if code:
        yield tag("h2", "Machine code") + NOTHING.join(code)


def _runs(text: str) -> Markup | None:
    """Runs of the kernels that a notebook names; None if the file has none, or there is none."""
    recording = recorder.current()
    if recording is None or not recording.path.is_file():
        return None
    history = History(recording.store)
    named = [run for run in history.latest(RUNS) if run.kernel in text]
    return runs_html(named) if named else None


def _machine_code(cell: str) -> Markup:
    """A cell's kernels with resources and instructions, or the reason if it does not compile."""
    name = cell.partition("\n")[0].split()[1:2]
    title = name[0] if name else "a cell without a name"
    try:
        source, options = written(get_ipython(), cell)
        module: Module = compile_source(source, options)
    except CompileError as error:
        return block(tag("p", f"{title} has none, it does not compile: {error.diagnostics[0].message}"))
    except (WorkbenchError, IPythonUsageError) as error:
        reason = headline(error)
        return block(tag("p", f"{title} has none: {reason}"))
    listings: list[Any] = [
        details(f"{kernel.name}, {len(kernel.instructions):,} instructions", tag("pre", kernel.isa))
        for kernel in module.kernels.values()
    ]
    return module_html(module) + block(*listings)
