"""Queries of a program that may be a compiler: its answers on the command line, cached on disk."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from pathlib import Path

from workbench import cache
from workbench.toolchain import process
from workbench.toolchain.options import compile_timeout

PATIENCE = 30.0
"""Seconds in which a candidate must answer, unless HIPKITTENS_COMPILE_TIMEOUT says otherwise."""


class UnusableError(Exception):
    """A candidate cannot be used; the message says why."""


def limit() -> float:
    """Seconds in which a candidate must answer."""
    return compile_timeout(PATIENCE)


def ask(path: Path, *arguments: str, variables: Mapping[str, str] | None = None) -> str:
    """Output of a query to a compiler, cached on disk: the answer is the same until the program changes.

    Args:
        variables: additional environment variables; they do not affect the answer.

    Raises:
        UnusableError: the program does not answer.
    """
    store = cache.Cache("compilers")
    key = cache.digest("ask", stamp(path), *arguments)
    cached = store.get(key)
    if cached is not None:
        return cached.decode()
    try:
        environment = {**os.environ, **(variables or {})}
        finished = process.run([str(path), *arguments], timeout=limit(), environment=environment)
    except OSError as error:
        raise UnusableError(f"cannot be started: {error.strerror}") from None
    question = " ".join(arguments)
    if finished.returncode is None:
        raise UnusableError(f"gave no answer to `{question}` within {limit():g} s")
    if finished.returncode < 0:
        raise UnusableError(f"died of {signal_name(finished.returncode)} at `{question}`")
    if finished.returncode:
        raise UnusableError(f"failed at `{question}`: {first_line(finished.text)}")
    store.put(key, finished.text.encode() or b"\n")
    return finished.text


def stamp(path: Path) -> str:
    """A value that distinguishes one build of a program from another."""
    real = path.resolve()
    try:
        status = real.stat()
    except OSError as error:
        raise UnusableError(f"cannot be read: {error.strerror}") from None
    return f"{real}:{status.st_size}:{status.st_mtime_ns}"


def signal_name(returncode: int) -> str:
    """Name of the signal that ended a program, by its return code."""
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"


def first_line(text: str) -> str:
    """The first line of a program's output that is not empty, stripped."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "it said nothing")
