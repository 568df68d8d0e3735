"""`python -m workbench exec`: a program as it is, and all that it starts, on the emulated device."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence

from workbench.check.sanitizer import Watch
from workbench.errors import UsageError
from workbench.execute.folder import environment, rocm_folder
from workbench.runtime import device, reports, tally

FINDINGS, NOTHING_LAUNCHED = 1, 2
"""Exit statuses of a sanitized run; without findings, and with launches, the command's own."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of `exec`, and what it runs."""
    parser.add_argument(
        "--device", help='such as "MI355X" or "emulated:gfx942"; default: as the program has code for'
    )
    parser.add_argument("--sanitize", action="store_true", help="look for races, missing waits and the like")
    parser.add_argument("--quiet", action="store_true", help="no line about launches at the end")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="PROGRAM [ARGUMENT ...]")


def run_options(options: argparse.Namespace) -> int:
    """Runs what `add_options` has read; see `run`."""
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    return run(words, device_name=options.device, sanitize=options.sanitize, quiet=options.quiet)


def run(
    words: Sequence[str], *, device_name: str | None = None, sanitize: bool = False, quiet: bool = False
) -> int:
    """Runs a command and gives its exit status, as a shell has it.

    What it and its processes launch is summed up on standard error when it has ended.

    Args:
        words: a program and its arguments; a Python script that is not executable runs by this Python.
        device_name: as `workbench.device` takes it; a product such as "MI355X" is emulated.
        sanitize: whether launches are sanitized; with findings the status is `FINDINGS`, and without a
            launch `NOTHING_LAUNCHED`.
        quiet: whether the summary is left out; findings are said anyway.

    Raises:
        UsageError: there is no such program.
        DeviceError: there is no such device.
        ToolchainError: the emulated device's libraries could not be built.
    """
    if not words:
        raise UsageError(
            "exec: expected a program, then its arguments: python -m workbench exec -- ./program 100"
        )
    by_python = words[0].endswith(".py") and not os.access(words[0], os.X_OK)
    command = [sys.executable, *words] if by_python else list(words)
    variables = environment(rocm_folder(), os.environ)
    if device_name is not None:
        variables["HIPKITTENS_DEVICE"] = _named(device_name)
    elif device().torch_device != "cpu":
        # A GPU's own libraries answer without this command.
        variables["HIPKITTENS_DEVICE"] = _named("emulated")
    with contextlib.ExitStack() as stack:
        watch = Watch(stack.enter_context(reports.of_process(variables))) if sanitize else None
        # Counting models times, which is work in every process: only where someone reads it.
        counts = None if sanitize or quiet else stack.enter_context(tally.of_process(variables))
        code = _wait(_start(command, variables))
        if watch is not None:
            print(watch, file=sys.stderr)
            if not watch.launches:
                return NOTHING_LAUNCHED
            if not watch.passed:
                return FINDINGS
        elif counts is not None:
            print(f"hipkittens: {tally.total(counts)}", file=sys.stderr)
    # As a shell has it for what a signal ended.
    return code if code >= 0 else 128 - code


def _named(name: str) -> str:
    """The device's own name, of a short one too."""
    full = name if ":" in name or name in ("gpu", "emulated") else f"emulated:{name}"
    return device(full).name


def _start(command: Sequence[str], variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    # The program is looked up where the command will look.
    path = shutil.which(command[0], path=variables.get("PATH"))
    try:
        return subprocess.Popen([path or command[0], *command[1:]], env=variables)
    except OSError as error:
        raise UsageError(
            f"{command[0]} does not start ({error.strerror}); expected a program with its arguments, "
            "such as ./prog that `python -m workbench hipcc prog.hip -o prog` made"
        ) from None


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Its exit status; Ctrl-C is the process's, which gets it too."""
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue


__all__ = ["FINDINGS", "NOTHING_LAUNCHED", "add_options", "run", "run_options"]
