"""`%%hipkittens`: its line, its help, and its failures; what the cell asks for is done in `magics.run`."""

from __future__ import annotations

import argparse
import builtins
import difflib
import keyword
import shlex
from types import ModuleType
from typing import TYPE_CHECKING, NoReturn

from IPython.core.error import UsageError as IPythonUsageError

from workbench import magic_options
from workbench.errors import CompileError, ShapeError, UnknownKernel, UsageError, WorkbenchError
from workbench.magics.failures import quiet

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


class _Parser(argparse.ArgumentParser):
    """Reports a wrong option as one line."""

    def error(self, message: str) -> NoReturn:
        raise IPythonUsageError(f"%%hipkittens: {message}{self._hint(message)}. See %%hipkittens?")

    def _hint(self, message: str) -> str:
        unknown = [word for word in message.split() if word.startswith("-")]
        close = [m for word in unknown for m in difflib.get_close_matches(word, magic_options.FLAGS, n=1)]
        return f"; did you mean {close[0]}?" if "unrecognized" in message and close else ""


def _parser() -> _Parser:
    parser = _Parser(prog="%%hipkittens", add_help=False, allow_abbrev=False)
    parser.add_argument("name", metavar=magic_options.NAME.flag)
    for option in magic_options.OPTIONS:
        dest = option.dest or option.flag.lstrip("-")
        if not option.metavar:
            parser.add_argument(option.flag, dest=dest, action="store_true")
        elif option.repeated:
            parser.add_argument(option.flag, dest=dest, action="append", default=[])
        else:
            parser.add_argument(option.flag, dest=dest, default="")
    return parser


CELL_HELP = f"""Compile the cell as HIP C++ and bind the module to NAME.

{magic_options.usage()}

{magic_options.listing()}

The cell is HIP C++: `#include "kittens.cuh"` gives the tile library, the target's macro (KITTENS_CDNA4 on
gfx950, KITTENS_CDNA3 on gfx942) is set. The result shows the device, the compile time or "cached", each
kernel's registers, LDS, scratch, spills and occupancy with what changed since this cell's last run, and
warnings. Then, in Python: `NAME["kernel"][grid, block, dynamic_shared_bytes](tensor, ..., member=tensor)`.

--time, --profile and --sanitize need to know what to launch: they take the launch and inputs of --verify's or
--spec's SPEC (such as gemm/bf16; its macros for the shape are defined too, before yours), or else repeat
the last launch of the kernel of the same name made through NAME. Without IPython: wb.compile, wb.verify,
wb.time, wb.profile, wb.sanitize.

A compile error shows the cell's own line and column and stops "run all". Lines count as the editor counts
them: the magic is line 1.
"""


def hipkittens_cell(shell: InteractiveShell, line: str, cell: str) -> None:
    """What `%%hipkittens` does; its help text is `CELL_HELP`."""
    words = _split(line)
    if "-h" in words or "--help" in words:
        print(CELL_HELP)
        return
    options = _parser().parse_args(words)
    _check_name(options.name, shell)
    from workbench.magics import run

    try:
        result = run.run_cell(shell.user_ns, options, cell)
    except CompileError as error:
        run.show_failure(options.name, cell, error)
        raise quiet(error) from None
    except (UsageError, UnknownKernel, ShapeError) as error:
        raise IPythonUsageError(f"%%hipkittens: {error}") from None
    except WorkbenchError as error:
        raise quiet(error) from None
    run.show(result, cell)
    if result.error is not None:
        raise quiet(result.error) from None


def _split(line: str) -> list[str]:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise IPythonUsageError(f"%%hipkittens: {error} in: {line.strip()}") from None
    # argparse takes a value that begins with a dash for an option; compiler flags all do.
    for i, word in enumerate(words[:-1]):
        if word == "--flags":
            words[i : i + 2] = [f"--flags={words[i + 1]}"]
    return words


def _check_name(name: str, shell: InteractiveShell) -> None:
    """Refuses what is no name, and names whose loss would surprise: `print`, `torch`, IPython's own."""
    if not name.isidentifier() or keyword.iskeyword(name):
        raise IPythonUsageError(f"%%hipkittens: {name!r} cannot be a Python name; choose one such as rmsnorm")
    if isinstance(shell.user_ns.get(name), ModuleType):
        taken = "the name of an imported module"
    elif name.startswith("__") or name in shell.user_ns_hidden:
        taken = "a name that Python or IPython needs"
    elif hasattr(builtins, name):
        taken = "a function or value of Python's own"
    else:
        return
    other = f"{name.strip('_')}_kernel"
    raise IPythonUsageError(f"%%hipkittens: {name} is {taken}; choose another, such as {other}")
