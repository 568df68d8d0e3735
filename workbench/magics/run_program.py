"""Runs a `%%hipkittens --program` cell: its main is compiled and run as a program on the device."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any

from workbench.errors import ProgramError, UsageError
from workbench.kernel import device_of, run_program
from workbench.magic_options import OPTIONS
from workbench.toolchain.mistakes.cell_text import Cell

NAME = "program"
"""Name of a cell without one."""
_TAKEN = ("--arch", "-I", "-D", "--flags", "--sanitize", "--hipify", "--program", "--fails")


def has_main(cell: str) -> bool:
    """True if a cell defines `int main` outside comments and strings."""
    return re.search(r"\bint\s+main\s*\(", Cell(cell).code) is not None


def run_cell(namespace: dict[str, Any], options: argparse.Namespace, cell: str) -> None:
    """Compiles a cell with its main, runs it, prints its output, and binds the result to the cell's name.

    Args:
        namespace: the notebook's variables.
        options: options of the magic's line, by `magic_options`.
        cell: C++ text.

    Raises:
        CompileError: the cell does not compile; nothing is bound.
        UsageError: the cell has no main, or an option is for kernels that Python launches.
        ProgramError: the exit status is not 0.
        SanitizerError: with --sanitize, there were findings, or nothing was launched.
        ProgramTimeout: the program ran past its time limit.
    """
    unfit = [
        option.flag
        for option in OPTIONS
        if option.flag not in _TAKEN and getattr(options, option.dest or option.flag.lstrip("-"))
    ]
    if unfit:
        raise UsageError(
            f"{', '.join(unfit)} and --program: the one is for kernels that Python launches, the other runs "
            "the cell's own launches; leave out one of them"
        )
    # The magic itself is line 1 in the editor.
    result = run_program(
        f"\n{cell}",
        options.program,
        device=device_of((), options.arch or None),
        include=options.include,
        flags=options.flags,
        define=options.define,
        sanitize=options.sanitize,
    )
    for note in result.notes:
        print(note)
    print(result.stdout, end="")
    print(result.stderr, end="", file=sys.stderr)
    if options.name:
        namespace[options.name] = result
    if result.exit_code:
        ending = repr(result).partition(": ")[2].removesuffix(">")
        raise ProgramError(f"{options.name or NAME} on {result.device} {ending}", result)
    if options.sanitize:
        print(repr(result.check()).strip("<>"))
