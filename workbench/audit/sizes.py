"""Smaller problems: sizes that a source or a script fixes, reduced in the audit's copy.

Published sources and their scripts have the sizes and repetitions of a benchmark. The emulated device needs
small ones. Lines stay where they are, so that findings name the lines of the original.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

EDGE = 512
"""Rows or columns of a matrix, or tokens of a sequence; a multiple of the tiles that kernels have."""

EDGE_OF_THREE = 768
"""The same where the source's size is a multiple of 192."""

LEAST = 1024
"""Sizes below this stay as they are."""

_EDGES = ("SIZE", "M", "N", "K", "ATTN_N", "SEQ_LEN")
_COUNTS = {"B": 1, "ATTN_B": 1, "BATCH": 1, "H": 4, "ATTN_H": 4, "H_KV": 2, "ATTN_H_KV": 2}
_REPEATS = ("num_warmup", "warmup_iters", "num_iters", "timing_iters", "num_iter", "n_iters", "warmup")
_NUMBER = r"\(?\d+(?:\s*\*\s*\d+)*\)?"
_NAMES = "|".join((*_EDGES, *_COUNTS, *_REPEATS))
_CPP = re.compile(
    rf"^(?P<head>\s*(?:#define\s+(?P<macro>{_NAMES})\s+|"
    rf"(?:static\s+)?(?:constexpr|const)\s+int\s+(?P<constant>{_NAMES})\s*=\s*))(?P<number>{_NUMBER})"
    r"(?=\s*(?:;|//|/\*|$))",
    re.MULTILINE,
)
_PYTHON = re.compile(
    rf"^(?P<head>\s*(?P<name>{_NAMES})\s*=\s*(?:int\(sys\.argv\[\d+\]\) if .* else )?)(?P<number>{_NUMBER})"
    r"(?=\s*(?:#.*)?$)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Size:
    """A size that the audit reduced.

    Attributes:
        name: the constant, macro or variable.
        source: its value in the source.
        run: its value in the run.
    """

    name: str
    source: int
    run: int

    def __str__(self) -> str:
        return f"{self.name} {self.source} as {self.run}"


def value(number: str) -> int:
    """Value of a product of whole numbers, such as "192*40"."""
    return math.prod(int(factor) for factor in re.findall(r"\d+", number))


def smaller(name: str, size: int) -> int:
    """The size to run with, for one that a source fixes."""
    if name in _REPEATS:
        return min(size, 1)
    if name in _COUNTS:
        return min(size, _COUNTS[name])
    if size < LEAST:
        return size
    return EDGE_OF_THREE if size % 192 == 0 else EDGE


def is_problem(name: str) -> bool:
    """True for a size of the problem, False for a number of repetitions."""
    return name not in _REPEATS


def reduced(text: str, is_python: bool = False) -> tuple[str, tuple[Size, ...]]:
    """A source with smaller sizes, and what changed."""
    sizes: dict[str, Size] = {}

    def replaced(match: re.Match[str]) -> str:
        groups = match.groupdict()
        name = groups.get("name") or groups.get("macro") or groups.get("constant") or ""
        before = value(match["number"])
        after = smaller(name, before)
        if after == before:
            return match[0]
        sizes.setdefault(name, Size(name, before, after))
        return f"{match['head']}{after}"

    changed = (_PYTHON if is_python else _CPP).sub(replaced, text)
    return changed, tuple(sizes.values())


def make_variables(text: str) -> tuple[str, ...]:
    """Words for `make` that reduce the sizes of a Makefile, such as "ATTN_N=512"."""
    words = []
    for name, number in re.findall(rf"^({_NAMES})\s*\?=\s*(\d+)\s*$", text, re.MULTILINE):
        if smaller(name, int(number)) != int(number):
            words.append(f"{name}={smaller(name, int(number))}")
    return tuple(words)


__all__ = ["EDGE", "Size", "is_problem", "make_variables", "reduced", "smaller", "value"]
