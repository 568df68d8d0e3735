"""Layouts of tensors as specs write them: `"dtype[batch, queries, heads, dim]"`.

An axis is a shape parameter, another name with the same size throughout a call, or a size computed from such
names (`keys/2`, `sequences+1`, `ceil(cols/128)`); `...` at the beginning or the end is any number of axes.
The element types come before the brackets, each a name of `workbench.dtypes`, `fp8` for either encoding of
e4m3, or a shape parameter whose value is such a name. Alternatives are separated by `|`.
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
"""Sizes in elements by axis."""


@dataclass(frozen=True)
class Layout:
    """One layout: element types, and axes from the slowest to the fastest."""

    dtypes: tuple[str, ...]
    axes: tuple[str, ...]

    def __str__(self) -> str:
        return f"[{', '.join(self.axes)}]"

    def sizes(self, dims: Sequence[int], initial: Mapping[str, Any]) -> Sizes | None:
        """`initial` sizes, and those that follow from a tensor's dimensions; None if they contradict."""
        axes = self.axes
        if axes[:1] == ("...",):
            axes, dims = axes[1:], dims[max(len(dims) - len(axes) + 1, 0) :]
        elif axes[-1:] == ("...",):
            axes, dims = axes[:-1], dims[: len(axes) - 1]
        if len(axes) != len(dims):
            return None
        sizes = {name: size for name, size in initial.items() if isinstance(size, int)}
        for axis, size in zip(axes, dims, strict=True):
            if axis.isidentifier():
                if sizes.setdefault(axis, size) != size:
                    return None
            elif (value := size_of(axis, sizes)) is not None and value != size:
                return None
        return sizes

    def has(self, dtype: object, shape: Mapping[str, Any]) -> bool:
        """True if a tensor of the dtype may have this layout."""
        data_type = of_torch(dtype)
        if data_type is None:
            return False
        return any(
            _names(str(shape.get(name, name)), data_type.name, data_type.format) for name in self.dtypes
        )


def _names(dtype: str, *names: str) -> bool:
    return dtype in names or (dtype == "fp8" and "e4m3" in names)


def size_of(axis: str, sizes: Mapping[str, Any]) -> Fraction | int | None:
    """Size of an axis such as "ceil(cols/128)"; None if it has an unknown name."""
    names = {name: Fraction(size) for name, size in sizes.items() if isinstance(size, int)}
    try:
        value = eval(axis, {"__builtins__": {}, "ceil": math.ceil}, names)
    except NameError:
        return None
    return value if isinstance(value, (int, Fraction)) else None


@cache
def layouts(text: str) -> tuple[Layout, ...]:
    """The alternatives of a record.

    Raises:
        WorkbenchError: the text has another form.
    """
    records = []
    for part in text.split("|"):
        match = _LAYOUT.fullmatch(part.strip())
        if match is None:
            raise WorkbenchError(
                f"{part.strip()!r} is not a layout; expected element types and axes, such as "
                '"dtype[batch, queries, heads, dim]"'
            )
        axes = tuple(axis.strip() for axis in match[2].split(",") if axis.strip())
        records.append(Layout(tuple(match[1].split("/")), axes))
    return tuple(records)


def by_name(tensors: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Records by tensor; a spec may have one for several: `{"q dq": "dtype[tokens, heads, dim]"}`."""
    for names, text in tensors.items():
        for name in names.split():
            yield name, text


def axes_of(
    tensors: Mapping[str, str], shape: Mapping[str, Any], arguments: Mapping[str, Any]
) -> tuple[Sizes, str]:
    """Sizes by axis of a call's tensors, and the first tensor that fits no record; "" if all do."""
    sizes, wrong = dict(shape), ""
    for name, text in by_name(tensors):
        tensor = arguments.get(name)
        if tensor is None or not hasattr(tensor, "dtype"):
            continue
        fitting = (
            fitted
            for layout in layouts(text)
            if layout.has(tensor.dtype, shape)
            and (fitted := layout.sizes(tuple(tensor.shape), sizes)) is not None
        )
        fitted = next(fitting, None)
        if fitted is None:
            wrong = wrong or name
        else:
            sizes |= fitted
    return sizes, wrong
