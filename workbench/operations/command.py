"""The command line of operations: `python -m workbench VERB ...`."""

from __future__ import annotations

import argparse
import json
from functools import partial
from typing import Any

from workbench.operations.record import EXIT, Operation

_EPILOG = "Exit status: 0 right; 1 wrong results, findings or a fault; 2 not run."


def add(commands: Any, operation: Operation) -> None:
    """Adds an operation to a parser's commands."""
    summary = operation.summary
    child = commands.add_parser(
        operation.name,
        help=f"{summary[0].lower()}{summary[1:].rstrip('.')}",
        description=operation.text,
        epilog=_EPILOG,
    )
    _add_arguments(child, operation)
    child.set_defaults(run=partial(run, operation))


def parser(operation: Operation) -> argparse.ArgumentParser:
    """The parser of an operation alone."""
    alone = argparse.ArgumentParser(
        prog=f"python -m workbench {operation.name}", description=operation.text, epilog=_EPILOG
    )
    _add_arguments(alone, operation)
    return alone


def _add_arguments(parser: argparse.ArgumentParser, operation: Operation) -> None:
    for parameter in operation.parameters:
        shown = {"choices": parameter.choices} if parameter.choices else {"metavar": parameter.name.upper()}
        required = parameter.default is None
        name = parameter.name if required else f"--{parameter.name}"
        default: dict[str, Any] = {} if required else {"default": parameter.default}
        parser.add_argument(name, type=parameter.type, help=parameter.text, **shown, **default)
    parser.add_argument("--json", action="store_true", help="print JSON; `schema VERB` prints its schema")


def run(operation: Operation, options: argparse.Namespace) -> int:
    """Does an operation, prints its outcome, and returns the exit status."""
    outcome = operation.run({p.name: getattr(options, p.name) for p in operation.parameters})
    print(json.dumps(outcome.data, indent=1, allow_nan=False) if options.json else outcome.text)
    return EXIT[outcome.status]
