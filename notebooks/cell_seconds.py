"""Measure how long the cells of notebooks take, and write it at the heads of those that take long.

    python notebooks/cell_seconds.py notebooks/0[1-5]_*.ipynb

Each notebook runs twice, with a cache that holds only what a wheel brings, and again with the cache that the
first run filled. A cell's head says the rounded seconds of the first run, and those of the second where they
are long as well. The heads are of two cores (`taskset -c 0,1`). Where the processor's seconds are fewer than
those that passed, the computer did other things too, and the processor's count.
"""

from __future__ import annotations

import argparse
import math
import re
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
from run import CellTime, execute

from workbench import cache

LONG = 3.0
"""Seconds from which on a reader wonders whether a cell still runs."""

_STEPS = (3, 4, 5, 8, 10, 15, 20, 30, 40, 60, 90, 120, 180, 240, 300)
_HEAD = re.compile(r"(?:#|//) takes about [^\n:]*(?P<why>:[^\n]*)?\n")
_SHIPPED = ("native",)
"""Parts of the cache that a wheel brings."""


def measure(path: Path) -> tuple[dict[int, float], dict[int, float]]:
    """Seconds of each code cell, by its index, in a run with a new cache and in a second one."""
    runs: list[dict[int, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in _SHIPPED:
            if (source := cache.folder() / name).is_dir():
                shutil.copytree(source, Path(folder, name))
        for title in ("a new cache", "the cache of the first run"):
            print(f"{path}, {title}", flush=True)
            times: list[CellTime] = []
            execute(path, cache=Path(folder), done=times.append)
            runs.append({time.index: min(time.wall, time.processor) for time in times})
    return runs[0], runs[1]


def rounded(seconds: float) -> int:
    """The nearest number that a reader needs."""
    return min(_STEPS, key=lambda step: abs(step / seconds - 1))


def head(source: str, first: float, again: float) -> str:
    """A cell's source with its seconds as a comment in front, or without where it takes few."""
    magic = re.match(r"%%.*\n", source)
    start = magic.end() if magic else 0
    rest = source[start:]
    former = _HEAD.match(rest)
    why = (former["why"] or "") if former else ""
    rest = rest[former.end() :] if former else rest
    if first < LONG:
        return source[:start] + rest
    text = f"takes about {rounded(first)} s"
    if again >= LONG and rounded(again) != rounded(first):
        text += f", the second time {rounded(again)} s"
    comment = "//" if magic and magic[0].startswith("%%hipkittens") else "#"
    return f"{source[:start]}{comment} {text}{why}\n{rest}"


def write(path: Path, first: dict[int, float], again: dict[int, float]) -> None:
    """Write the heads of a notebook's cells, and the minutes of all of them into its first."""
    notebook = nbformat.read(path, as_version=4)
    for index, seconds in first.items():
        cell = notebook.cells[index]
        cell.source = head(cell.source, seconds, again[index])
    minutes = math.ceil(sum(first.values()) / 60)
    title = notebook.cells[0]
    title.source = re.sub(r"(?<=\brun )\d+(?= min)", str(minutes), title.source, count=1)
    path.write_text(f"{nbformat.writes(notebook)}\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description="Write at the heads of cells how long they take.")
    parser.add_argument("notebook", type=Path, nargs="+")
    parser.add_argument("--dry-run", action="store_true", help="print the seconds, write nothing")
    options = parser.parse_args()
    for path in options.notebook:
        first, again = measure(path)
        cells = nbformat.read(path, as_version=4).cells
        for index, seconds in first.items():
            line = next(iter(cells[index].source.splitlines()), "")
            print(f"  {seconds:6.1f} s, again {again[index]:5.1f} s  {line[:70]}", flush=True)
        print(
            f"  {sum(first.values()):6.1f} s, again {sum(again.values()):5.1f} s  all of {path.name}",
            flush=True,
        )
        if not options.dry_run:
            write(path, first, again)
    return 0


if __name__ == "__main__":
    sys.exit(main())
