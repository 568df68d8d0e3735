"""Progress bars that appear only when they are worth it: after a second of work, or before a long step."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

_DELAY = 1.0


def track(items: Iterable[T], what: str, *, total: int | None = None) -> Iterator[T]:
    """Yields `items`, with a bar named `what` once a second has passed."""
    from tqdm.auto import tqdm

    bar: Iterable[T] = tqdm(items, desc=what, total=total, delay=_DELAY, leave=False)
    yield from bar


@contextlib.contextmanager
def announced(what: str) -> Iterator[None]:
    """Says `what` while the block runs, where a person looks on: in a notebook or a terminal.

    For work that is one long step. Output that a program collects stays free of it.
    """
    from tqdm.auto import tqdm

    ipython = sys.modules.get("IPython")
    watched = (ipython is not None and ipython.get_ipython() is not None) or sys.stderr.isatty()
    # Of one step, in tqdm's own form: exported notebooks leave out what looks like it.
    bar = tqdm(desc=what, total=1, leave=False, disable=not watched)
    try:
        yield
    finally:
        bar.close()


class Steps:
    """A bar over a known number of named steps: `with Steps("verify", 4) as steps: steps("inputs"); ...`.

    `shown=False` hides it, such as inside another bar.
    """

    def __init__(self, what: str, total: int, *, shown: bool = True) -> None:
        self._shown = shown
        self._what = what
        self._total = total
        self._bar: Any = None

    def __enter__(self) -> Steps:
        from tqdm.auto import tqdm

        self._bar = tqdm(
            desc=self._what, total=self._total, delay=_DELAY, leave=False, disable=not self._shown
        )
        return self

    def __call__(self, step: str) -> None:
        """Ends the step before, begins `step`."""
        self._bar.set_description_str(f"{self._what}: {step}", refresh=False)
        self._bar.update(1)

    def __exit__(self, *_: object) -> None:
        self._bar.close()
