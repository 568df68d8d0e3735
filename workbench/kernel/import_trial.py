"""Tries the import of a compiled module in a child, because a C++ exception in it would end the process.

The constructors of a library's static objects run inside the dynamic linker, and a module's init function
inside Python: neither lets an exception through, so std::terminate ends the process, whatever the caller
catches around the import.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import signal
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

_PATIENCE_SECONDS = 30
# Messages of std::terminate in GNU's C++ library and in LLVM's.
_UNCAUGHT = re.compile(
    r"^terminate called after throwing an instance of '(?P<gnu>.*)'(?:\n +what\(\): +(?P<says>.*))?"
    r"|^libc\+\+abi: terminating due to uncaught (?:foreign )?exception"
    r"(?: of type (?P<llvm>.*?)(?:: (?P<said>.*))?)?$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Uncaught:
    """A C++ exception that nothing caught.

    Attributes:
        exception: type of the exception; "" if the C++ library does not provide it.
        what: text of the exception; "" if it has none.
    """

    exception: str
    what: str

    def __str__(self) -> str:
        of = f" of type {self.exception}" if self.exception else ""
        return f"a C++ exception{of} that nothing caught"


def uncaught(stderr: str) -> Uncaught | None:
    """The exception that ended a process, from its standard error; None if it names none."""
    match = _UNCAUGHT.search(stderr)
    if match is None:
        return None
    return Uncaught(match["gnu"] or match["llvm"] or "", (match["says"] or match["said"] or "").strip())


def attempt(action: Callable[[], object]) -> Uncaught | None:
    """Calls a function in a forked child; returns the C++ exception that ended the child, or None.

    Anything else that happens there will happen again in this process: Python exceptions are not reported,
    and a child that waits for a lock or a thread that does not exist is stopped after a while, without a
    result.
    """
    with tempfile.TemporaryFile() as output:
        with warnings.catch_warnings():
            # A lock that another thread held at the fork would block the child; the alarm ends it.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            _in_child(action, output.fileno())
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status) or os.WTERMSIG(status) != signal.SIGABRT:
            return None
        output.seek(0)
        return uncaught(output.read().decode("utf-8", "replace"))


def _in_child(action: Callable[[], object], output: int) -> NoReturn:
    """Never returns. Standard error goes to the output, and no core file is written."""
    try:
        import resource  # Not on Windows, which has no fork.

        for number in (signal.SIGABRT, signal.SIGALRM):
            signal.signal(number, signal.SIG_DFL)
        signal.alarm(_PATIENCE_SECONDS)
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(output, 1)
        os.dup2(output, 2)
        with contextlib.suppress(BaseException):
            action()
    finally:
        os._exit(0)


__all__ = ["Uncaught", "attempt", "uncaught"]
