"""Layouts of tensors as specs write them: `"dtype[batch, queries, heads, dim]"`.

An axis is a shape parameter, another name that stands for one size throughout a call, or a size made of such
(`keys/2`, `sequences+1`, `ceil(cols/128)`); `...` in front or behind is any number of axes. Before the
brackets stand the element types, each a name of `workbench.dtypes`, `fp8` for either encoding of e4m3, or a
shape parameter whose value is such a name. Alternatives are divided by `|`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from workbench.dtypes import of_torch
from workbench.errors import WorkbenchError

_LAYOUT = re.compile(r"([\w/]+)\[([^\[\]]*)\]")

Sizes = dict[str, int]
"""Sizes by axis."""


@dataclass(frozen=True)
class Layout:
    """One layout: element types, and axes from the slowest to the fastest."""

    dtypes: tuple[str, ...]
    axes: tuple[str, ...]

    def __str__(self) -> str:
        return f"[{', '.join(self.axes)}]"

    def sizes(self, dims: Sequence[int], known: Mapping[str, Any]) -> Sizes | None:
        """`known` sizes and those that a tensor's own dimensions add; None where they contradict it."""
        axes = self.axes
        if axes[:1] == ("...",):
            axes, dims = axes[1:], dims[max(len(dims) - len(axes) + 1, 0) :]
        elif axes[-1:] == ("...",):
            axes, dims = axes[:-1], dims[: len(axes) - 1]
        if len(axes) != len(dims):
            return None
        found = {name: size for name, size in known.items() if isinstance(size, int)}
        for axis, size in zip(axes, dims, strict=True):
            if axis.isidentifier():
                if found.setdefault(axis, size) != size:
                    return None
            elif (value := size_of(axis, found)) is not None and value != size:
                return None
        return found

    def has(self, dtype: object, shape: Mapping[str, Any]) -> bool:
        """Whether a tensor of the dtype may have this layout."""
        known = of_torch(dtype)
        if known is None:
            return False
        return any(_names(str(shape.get(name, name)), known.name, known.format) for name in self.dtypes)


def _names(wanted: str, *names: str) -> bool:
    return wanted in names or (wanted == "fp8" and "e4m3" in names)


def size_of(axis: str, known: Mapping[str, Any]) -> Fraction | int | None:
    """What an axis such as "ceil(cols/128)" comes to; None where it has an unknown name."""
    names = {name: Fraction(size) for name, size in known.items() if isinstance(size, int)}
    try:
        found = eval(axis, {"__builtins__": {}, "ceil": math.ceil}, names)
    except NameError:
        return None
    return found if isinstance(found, (int, Fraction)) else None


@cache
def layouts(text: str) -> tuple[Layout, ...]:
    """The alternatives of a record.

    Raises:
        WorkbenchError: it is no such text.
    """
    made = []
    for part in text.split("|"):
        found = _LAYOUT.fullmatch(part.strip())
        if found is None:
            raise WorkbenchError(
                f"{part.strip()!r} is not a layout; expected element types and axes, such as "
                '"dtype[batch, queries, heads, dim]"'
            )
        axes = tuple(axis.strip() for axis in found[2].split(",") if axis.strip())
        made.append(Layout(tuple(found[1].split("/")), axes))
    return tuple(made)


def by_name(tensors: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Records by tensor, where a spec has one for several: `{"q dq": "dtype[tokens, heads, dim]"}`."""
    for names, text in tensors.items():
        for name in names.split():
            yield name, text


def axes_of(
    tensors: Mapping[str, str], shape: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[Sizes, str]:
    """Sizes by axis of a call's tensors, and the first tensor that fits no record; "" where all do."""
    sizes, wrong = dict(shape), ""
    for name, text in by_name(tensors):
        tensor = given.get(name)
        if tensor is None or not hasattr(tensor, "dtype"):
            continue
        fitting = (
            found
            for layout in layouts(text)
            if layout.has(tensor.dtype, shape)
            and (found := layout.sizes(tuple(tensor.shape), sizes)) is not None
        )
        found = next(fitting, None)
        if found is None:
            wrong = wrong or name
        else:
            sizes |= found
    return sizes, wrong
