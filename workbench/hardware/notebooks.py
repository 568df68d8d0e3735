"""The tutorials, executed on the examined device from top to bottom."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from workbench import paths
from workbench.errors import ProfilerNotFound, UsageError
from workbench.hardware.section import Answer, Case, Plan, Section

if TYPE_CHECKING:
    from workbench.runtime import Device

_QUICK = 1
_SECONDS = 300
"""Time limit of a cell, in seconds."""


def folder() -> Path:
    """The checkout's folder of notebooks; an installed wheel has none."""
    return paths.kernels_dir().parent / "notebooks"


def _cases(plan: Plan) -> list[Case]:
    cases = [Case(path.stem, {"file": str(path)}) for path in sorted(folder().glob("[0-9]*.ipynb"))]
    return cases[:_QUICK] if plan.quick else cases


def _measure(case: Case, device: Device, folder: Path) -> Answer:
    try:
        import nbformat
        from nbclient import NotebookClient
        from nbclient.exceptions import CellExecutionError
    except ImportError as error:
        raise UsageError(f"{error}; notebooks run with `pip install nbclient nbformat`") from error
    os.environ["HIPKITTENS_DEVICE"] = device.name
    book = nbformat.read(case.about["file"], as_version=4)  # type: ignore[no-untyped-call]
    # Files that a notebook writes do not stay beside it.
    with tempfile.TemporaryDirectory() as place:
        client = NotebookClient(book, timeout=_SECONDS, resources={"metadata": {"path": place}})
        try:
            # A kernel's messages at its start do not belong to the notebook.
            client.execute(stderr=subprocess.DEVNULL)
        except CellExecutionError as error:
            # An optional package such as Triton is missing, which says nothing about the device.
            if error.ename == "ModuleNotFoundError":
                raise UsageError(f"{error.evalue}; the notebook runs where it is installed") from error
            # The same for rocprofv3: without it a GPU has no counters.
            if error.ename == ProfilerNotFound.__name__:
                ran = sum(bool(cell.get("execution_count")) for cell in book.cells) - 1
                raise UsageError(f"{ran} cells ran, the next one needs rocprofv3: {error.evalue}") from error
            return {"passed": False, "text": f"{error.ename}: {error.evalue}"}
    return {"passed": True, "text": f"{len(book.cells)} cells ran"}


SECTION = Section(
    "notebooks",
    "The tutorials, executed from top to bottom",
    0.15,
    _cases,
    _measure,
    alone=True,
    nothing="an installed wheel has no notebooks; the same command in a checkout runs them",
)
