"""`%hipkittens`: its questions and their answers."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import partial
from typing import Any

from IPython.core.error import UsageError as IPythonUsageError

from workbench import cache
from workbench.errors import WorkbenchError
from workbench.magics.failures import quiet


def _list(subject: str) -> Any:
    from workbench.views.listings import LISTINGS

    return LISTINGS[subject]()


def _doctor() -> Any:
    from workbench.doctor import doctor

    return doctor()


def _cache(*arguments: str) -> Any:
    from workbench.views.table import Table

    if arguments == ("clear",):
        freed = cache.clear()
        return Table(("freed",), [(f"{freed / 2**20:,.1f} MiB",)])
    if arguments:
        raise IPythonUsageError(
            f"%hipkittens cache: unknown {' '.join(arguments)!r}; expected `cache` or `cache clear`"
        )
    return _list("cache")


QUESTIONS: dict[str, Callable[..., Any]] = {
    "devices": partial(_list, "devices"),
    "doctor": _doctor,
    "cache": _cache,
    "kernels": partial(_list, "kernels"),
}

LINE_HELP = """Ask the workbench.

    %hipkittens devices        list the devices, and say which one is the default
    %hipkittens doctor         check compiler, headers, HIP library and devices; say what is missing
    %hipkittens cache [clear]  show what the cache holds; clear empties it
    %hipkittens kernels        list the kernel library

To compile a cell, see %%hipkittens?.
"""


def hipkittens_line(line: str) -> Any:
    """The line magic `%hipkittens`; its help text is `LINE_HELP`."""
    words = line.split()
    questions = ", ".join(QUESTIONS)
    if words and words[0] in ("-h", "--help", "help"):
        print(LINE_HELP)
        return None
    if not words:
        raise IPythonUsageError(
            f"%hipkittens: expected one of {questions}. To compile, use %%hipkittens in a cell of its own"
        )
    question = QUESTIONS.get(words[0])
    if question is None:
        close = difflib.get_close_matches(words[0], list(QUESTIONS), n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise IPythonUsageError(f"%hipkittens: unknown {words[0]!r}; expected one of {questions}{hint}")
    if words[1:] and question is not _cache:
        raise IPythonUsageError(f"%hipkittens {words[0]} takes nothing after it; got {' '.join(words[1:])!r}")
    try:
        return question(*words[1:])
    except WorkbenchError as error:
        raise quiet(error) from None
