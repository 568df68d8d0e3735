"""`%%hipkittens`: its help and its failures; `magics.run` runs the cell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from IPython.core.error import UsageError as IPythonUsageError

from workbench import magic_options
from workbench.errors import CompileError, ShapeError, UnknownKernel, UsageError, WorkbenchError
from workbench.magics.failures import quiet
from workbench.magics.line import parsed, split

if TYPE_CHECKING:
    import argparse

    from IPython.core.interactiveshell import InteractiveShell

    from workbench.toolchain import CompileOptions

CELL_HELP = f"""Compile the cell as HIP C++ and bind the module to NAME.

{magic_options.usage()}

{magic_options.listing()}

The cell is HIP C++. `#include "kittens.cuh"` gives you the tile library, and the target's macro is set
(KITTENS_CDNA4 on gfx950, KITTENS_CDNA3 on gfx942). The result shows the device, the compile time or "cached",
warnings, and each kernel's registers, LDS, scratch, spills and occupancy, with what changed since this cell's
last run. Then launch it from Python: `NAME["kernel"][grid, block, dynamic_shared_bytes](tensor, ...,
member=tensor)`.

--time, --profile and --sanitize need a launch. They take it, with inputs, from the SPEC of --verify or --spec
(such as gemm/bf16, whose macros for the shape are also defined, before yours) or from --launch and --inputs;
otherwise they repeat the last launch that you made of the same kernel through NAME. --launch, --inputs,
--outputs and --reference are Python over the notebook's variables. IPython expands braces and $ on the line,
so double the braces of a dict. Without IPython: wb.compile, wb.verify, wb.time, wb.profile, wb.sanitize.

--program compiles the cell as a host program instead, runs its main on the device, and shows what it writes:
`%%hipkittens --program 1024 fast` runs it with two arguments. A status that is not 0 is an error.

A compile error shows the cell's own line and column and stops "run all", unless --fails is there. Lines count
as in the editor: the magic is line 1.
"""


def hipkittens_cell(shell: InteractiveShell, line: str, cell: str) -> None:
    """The cell magic `%%hipkittens`; its help text is `CELL_HELP`."""
    words = split("%%hipkittens", line)
    if "-h" in words or "--help" in words:
        print(CELL_HELP)
        return
    from workbench.magics import presenter, run, run_program

    is_program = run_program.has_main(cell)
    try:
        options = parsed("%%hipkittens", words, magic_options.OPTIONS, shell)
    except IPythonUsageError as error:
        hint = " --program runs the cell's main." if is_program and "--program" not in words else ""
        raise IPythonUsageError(f"{error}{hint}") from None
    try:
        source = run.hip_source(options, cell)
        if options.program is not None:
            run_program.run_cell(shell.user_ns, options, source)
            return
        result = run.run_cell(shell.user_ns, options, source)
    except CompileError as error:
        presenter.show_failure(options.name or run_program.NAME, cell, error)
        _end(error, options)
        return
    except (UsageError, UnknownKernel, ShapeError) as error:
        raise IPythonUsageError(f"%%hipkittens: {error}") from None
    except WorkbenchError as error:
        _end(error, options)
        return
    presenter.show(result, cell)
    if is_program:
        print(f"{options.name}: the cell's main has not run; `%%hipkittens --program` runs it as a program")
    if result.error is not None:
        _end(result.error, options)


def _end(error: WorkbenchError, options: argparse.Namespace) -> None:
    """Ends a cell that failed; papermill and others that run notebooks stop at every exception."""
    if not options.fails:
        raise quiet(error) from None
    print(f"{type(error).__name__}: {error}")


MAGIC = re.compile(r"%%hipkittens(?=\s|$)")


def written(shell: InteractiveShell | None, text: str) -> tuple[str, CompileOptions]:
    """C++ text of a cell in the editor, and its compile options.

    Args:
        shell: shell whose variables replace names in braces on the magic's line; None to replace none.
        text: text of the whole cell.

    Raises:
        UsageError, UnknownKernel, ShapeError: an option is wrong; IPython's UsageError if an argument is
            missing.
    """
    line, _, source = text.partition("\n")
    line = line.removeprefix("%%hipkittens")
    if shell is not None:
        line = str(shell.var_expand(line))  # type: ignore[no-untyped-call]
    words = split("%%hipkittens", line)
    options = parsed("%%hipkittens", words, magic_options.OPTIONS, shell)
    from workbench.magics import run

    return run.hip_source(options, source, tells=False), run.compilation(options)[2]
