"""The C++ cell of a notebook that a path such as `softmax.ipynb#scale` names."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.errors import UsageError
from workbench.kernel.files import read_file
from workbench.operations.launch_comment import MARK

SUFFIX = ".ipynb"


def notebook_of(source: str) -> tuple[Path, str] | None:
    """The notebook and the cell's name in `NOTEBOOK.ipynb#NAME`; None for another kind of path."""
    path, _, name = source.partition("#")
    return (Path(path), name) if path.endswith(SUFFIX) else None


def cell_text(path: Path, name: str) -> str:
    """The source of a C++ cell; its first line is a comment, so that line numbers are the cell's.

    Args:
        path: the notebook as it is saved.
        name: the cell's name (`%%hipkittens NAME`) or its id; "" if the notebook has only one C++ cell.

    Raises:
        MissingFile: there is no such notebook.
        UsageError: the file is no notebook, or no cell has that name, or several have it.
    """
    # Slow to import, and few sources are notebooks.
    import nbformat

    text = read_file("source", path, "a notebook").decode("utf-8", errors="replace")
    try:
        cells = nbformat.reads(text, as_version=4).cells  # type: ignore[no-untyped-call]
    except Exception as error:
        raise UsageError(f"{path} is not a notebook ({error}); save it in JupyterLab again") from None
    sources = [cell for cell in cells if cell.cell_type == "code" and cell.source.startswith(f"{MARK} ")]
    matching = [cell for cell in sources if name in ("", _name(cell), cell.get("id"))]
    if len(matching) == 1:
        return f"// {matching[0].source}\n"
    names = ", ".join(f"{path.name}#{_name(cell)}" for cell in sources)
    if not sources:
        raise UsageError(f"{path} has no cell that begins with {MARK}; save the notebook after adding one")
    how_many = f"{len(matching)} C++ cells" if matching else "no C++ cell"
    of_name = f" named {name!r}" if name else ""
    raise UsageError(f"{path} has {how_many}{of_name}; expected one of {names}, or a cell's id after the #")


def _name(cell: Any) -> str:
    words: list[str] = cell.source.splitlines()[0].removeprefix(MARK).split()
    return words[0] if words else ""
