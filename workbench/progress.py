"""Progress bars that appear only when they are worth it: after a second of work, or before a long step."""

from __future__ import annotations

import contextlib
import io
import sys
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

from markupsafe import escape

T = TypeVar("T")

_DELAY = 1.0
_hidden: ContextVar[bool] = ContextVar("hidden", default=False)


@cache
def _notebook_bar() -> Any:
    """A tqdm that shows itself as HTML and removes that at its end: a saved notebook keeps no trace of it.

    tqdm's own bar for notebooks is a widget, and a saved notebook keeps its view without a model.
    """
    from IPython.display import display
    from tqdm.std import tqdm

    class NotebookBar(tqdm):  # type: ignore[misc]
        _handle: Any = None

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **{**options, "file": io.StringIO(), "ncols": 72})

        def display(self, msg: str | None = None, pos: int | None = None) -> bool:
            text = str(self) if msg is None else msg
            # At the end an empty text: nbconvert warns about an output without any type.
            bundle = {"text/html": f"<pre>{escape(text)}</pre>" if text else "", "text/plain": text}
            if self._handle is not None:
                self._handle.update(bundle, raw=True)
            elif text:
                self._handle = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
            return False

    return NotebookBar


def _bar() -> Any:
    """A new progress bar: HTML in a Jupyter kernel, otherwise a line of the terminal."""
    from tqdm.std import tqdm

    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return _notebook_bar() if hasattr(shell, "kernel") else tqdm


def track(items: Iterable[T], title: str, *, total: int | None = None) -> Iterator[T]:
    """Yields `items`, with a bar named `title` once a second has passed."""
    bar: Iterable[T] = _bar()(items, desc=title, total=total, delay=_DELAY, leave=False)
    yield from bar


@contextlib.contextmanager
def hidden() -> Iterator[None]:
    """In this context `announced` shows nothing: for work in advance, which nobody waits for yet."""
    token = _hidden.set(True)
    try:
        yield
    finally:
        _hidden.reset(token)


@contextlib.contextmanager
def announced(title: str) -> Iterator[None]:
    """Shows `title` while the block runs, if a person is watching: in a notebook or a terminal.

    For work that is one long step. Output that a program collects stays free of it.
    """
    bar = _bar()(desc=title, total=1, leave=False, disable=not _watched())
    try:
        yield
    finally:
        bar.close()


@contextlib.contextmanager
def bar(title: str, total: int, *, visible: bool = True) -> Iterator[Callable[[str], None]]:
    """A bar of `total` steps; the result is called with the new name at the end of each."""
    progress_bar = _bar()(desc=title, total=total, leave=False, delay=_DELAY, disable=not visible)

    def advance(name: str) -> None:
        progress_bar.set_description_str(name, refresh=False)
        progress_bar.update(1)

    try:
        yield advance
    finally:
        progress_bar.close()


@contextlib.contextmanager
def counted(title: str) -> Iterator[Callable[[int, int], None]]:
    """A display of progress and of the time left, if a person is watching."""
    bar: Any = None

    def show(done: int, total: int) -> None:
        nonlocal bar
        if bar is None:
            bar = _bar()(desc=title, total=total, leave=False, disable=not _watched())
        bar.n = done
        bar.refresh()

    try:
        yield show
    finally:
        if bar is not None:
            bar.close()


def _watched() -> bool:
    """True if a person is watching: in a notebook or a terminal."""
    if _hidden.get():
        return False
    ipython = sys.modules.get("IPython")
    return (ipython is not None and ipython.get_ipython() is not None) or sys.stderr.isatty()


class Steps:
    """A bar over a known number of named steps: `with Steps("verify", 4) as steps: steps("inputs"); ...`.

    `visible=False` hides it, such as inside another bar.
    """

    def __init__(self, title: str, total: int, *, visible: bool = True) -> None:
        self._shown = visible
        self._what = title
        self._total = total
        self._bar: Any = None

    def __enter__(self) -> Steps:
        self._bar = _bar()(
            desc=self._what, total=self._total, delay=_DELAY, leave=False, disable=not self._shown
        )
        return self

    def __call__(self, step: str) -> None:
        """Ends the previous step and begins `step`."""
        self._bar.set_description_str(f"{self._what}: {step}", refresh=False)
        self._bar.update(1)

    def __exit__(self, *_: object) -> None:
        self._bar.close()
