"""`python -m workbench sanitize`: a program as it is, its launches and those of its processes sanitized."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from workbench.check.sanitizer import Watch
from workbench.errors import UsageError
from workbench.runtime import reports

FOUND, NOTHING_LAUNCHED = 1, 2
"""Exit statuses; without findings, and with launches, the command's own."""


def run(words: Sequence[str]) -> int:
    """Runs a command, says on standard error what the sanitizer found, and gives the exit status.

    Args:
        words: a program and its arguments; a Python script runs by this Python.

    Raises:
        UsageError: there is no such program.
    """
    by_python = words[0].endswith(".py") and not os.access(words[0], os.X_OK)
    command = [sys.executable, *words] if by_python else list(words)
    environment = dict(os.environ)
    with reports.of_process(environment) as file:
        watch = Watch(file)
        try:
            process = subprocess.Popen(command, env=environment)
        except OSError as error:
            raise UsageError(
                f"sanitize: {command[0]} does not start ({error.strerror}); expected a program with its "
                "arguments, such as ./prog that `python -m workbench hipcc prog.hip -o prog` made"
            ) from None
        code = _wait(process)
        print(watch, file=sys.stderr)
        if not watch.launches:
            return NOTHING_LAUNCHED
        if not watch.passed:
            return FOUND
    # As a shell has it for what a signal ended.
    return code if code >= 0 else 128 - code


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Its exit status; Ctrl-C is the process's, which gets it too."""
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue


__all__ = ["FOUND", "NOTHING_LAUNCHED", "run"]
