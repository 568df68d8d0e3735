"""Formatting of a cell's C++ with clang-format, if it is installed."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
from pathlib import Path

from workbench.errors import UsageError

STYLE = (
    "{BasedOnStyle: LLVM, IndentWidth: 4, ColumnLimit: 120, AccessModifierOffset: -2, SortIncludes: Never,"
    " AlwaysBreakTemplateDeclarations: Yes}"
)
"""Style used if neither the notebook's folder nor one above it has a `.clang-format`."""

TIMEOUT = 10.0
"""Seconds to wait for the formatter."""


def program() -> Path | None:
    """The `clang-format` of the wheel, or else that on PATH; None if there is none."""
    wheel = importlib.util.find_spec("clang_format")
    folders = wheel.submodule_search_locations if wheel is not None else None
    in_wheel = shutil.which("clang-format", path=str(Path(folders[0], "data", "bin"))) if folders else None
    path = in_wheel or shutil.which("clang-format")
    return Path(path) if path else None


def formatted(text: str) -> dict[str, str]:
    """A cell with its C++ formatted; the magic's line does not change.

    Args:
        text: the whole cell.

    Raises:
        UsageError: there is no clang-format, or it does not understand its own style file.
    """
    formatter = program()
    if formatter is None:
        raise UsageError("clang-format is not installed; get it by: pip install clang-format")
    line, newline, source = text.partition("\n")
    here = Path.cwd()
    has_style = any((folder / ".clang-format").is_file() for folder in (here, *here.parents))
    command = [str(formatter), f"--style={'file' if has_style else STYLE}", "--assume-filename=cell.cpp"]
    try:
        run = subprocess.run(
            command, input=source, capture_output=True, text=True, timeout=TIMEOUT, encoding="utf-8"
        )
    except subprocess.TimeoutExpired:
        raise UsageError(
            f"clang-format did not end within {TIMEOUT:g} s; the cell is left as it is"
        ) from None
    if run.returncode:
        raise UsageError(f"clang-format: {run.stderr.strip()}")
    return {"text": line + newline + run.stdout.rstrip("\n")}
