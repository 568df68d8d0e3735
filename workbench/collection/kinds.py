"""Kinds of arguments as short text, such as `"bf16|fp16 [*M D]"`, and the check of values against them.

A kind is one or more alternatives, joined by " or ". An alternative is `int`, `float`, `bool`, `none`,
`ints` (a list of them), or dtypes joined by "|" with the dimensions of a tensor in brackets. A dimension is
a number, a size such as `K` that means the same in all arguments of a call, a size times, over (rounded up)
or plus a number (`2*N`, `K/32`, `E+1`), or `*M`: any number of dimensions, equal wherever `*M` stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from workbench import dtypes

Sizes = dict[str, Any]
"""Sizes by name; sizes of `*M` are tuples."""

_REAL = (dtypes.BF16, dtypes.FP16, dtypes.FP32)
_INTEGERS = (dtypes.INT8, dtypes.UINT8, dtypes.INT32, dtypes.INT64)
GROUPS = {
    name: tuple(data_type.short for data_type in types)
    for name, types in (("real", _REAL), ("fp8", dtypes.E4M3), ("any", (*_REAL, *_INTEGERS, *dtypes.E4M3)))
}
DTYPES = {t.short: t.torch[0] for t in dtypes.TYPES if dtypes.of_torch(t.torch[0]) is t}
"""Names of dtypes here, and in PyTorch."""

_DIMENSION = re.compile(r"(?:(?P<factor>\d+)\*)?(?P<name>[A-Za-z]\w*)(?:/(?P<over>\d+))?(?:\+(?P<plus>\d+))?")


class Mismatch(Exception):
    """A value that does not fit its kind; the message describes it."""


@dataclass(frozen=True)
class Alternative:
    """One way in which an argument may be given."""

    dtypes: tuple[str, ...]
    """Names of PyTorch dtypes; for other values the Python type."""
    dims: tuple[str, ...] | None
    """None for values that are not tensors."""

    def fit(self, value: Any, sizes: Sizes) -> Sizes | None:
        """The sizes, together with those of this value; None if it does not fit."""
        if self.dims is None:
            return sizes if _is_plain(value, self.dtypes[0]) else None
        if not hasattr(value, "data_ptr") or str(value.dtype).removeprefix("torch.") not in self.dtypes:
            return None
        return _fit_dims(self.dims, tuple(value.shape), sizes)


@cache
def read(kind: str) -> tuple[Alternative, ...]:
    """The alternatives of a kind."""
    alternatives = []
    for text in kind.split(" or "):
        dtypes, bracket, dims = text.partition("[")
        names = tuple(n for dtype in dtypes.strip().split("|") for n in GROUPS.get(dtype, (dtype,)))
        if bracket:
            alternatives.append(
                Alternative(tuple(DTYPES[n] for n in names), tuple(dims.rstrip("] ").split()))
            )
        else:
            alternatives.append(Alternative(names, None))
    return tuple(alternatives)


def fit(kinds: Mapping[str, str], values: Mapping[str, Any], sizes: Sizes | None = None) -> Sizes:
    """The sizes that make values fit their kinds, by argument.

    Raises:
        Mismatch: there are none; it names the first argument that does not fit those before it.
    """
    bound = sizes or {}
    names = list(values)
    if not names:
        return bound
    first, rest = names[0], {name: values[name] for name in names[1:]}
    deepest: Mismatch | None = None
    for alternative in read(kinds[first]):
        fitted = alternative.fit(values[first], bound)
        if fitted is None:
            continue
        try:
            return fit(kinds, rest, fitted)
        except Mismatch as error:
            deepest = error
    raise deepest or Mismatch(_tell(first, values[first], kinds[first], bound))


def _is_plain(value: Any, kind: str) -> bool:
    if kind == "none":
        return value is None
    if kind == "float":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "bool":
        # pybind11 accepts Python's booleans, or 0 and 1.
        return isinstance(value, bool) or value in (0, 1)
    if kind == "ints":
        return isinstance(value, (list, tuple)) and all(_is_plain(element, "int") for element in value)
    return isinstance(value, int) and not isinstance(value, bool)


def _fit_dims(dims: tuple[str, ...], shape: tuple[int, ...], sizes: Sizes) -> Sizes | None:
    fitted = dict(sizes)
    if dims and dims[0].startswith("*"):
        rest = len(dims) - 1
        if len(shape) < rest:
            return None
        leading = shape[: len(shape) - rest]
        if fitted.setdefault(dims[0][1:], leading) != leading:
            return None
        dims, shape = dims[1:], shape[len(leading) :]
    if len(dims) != len(shape):
        return None
    return fitted if all(_fit_dim(dim, size, fitted) for dim, size in zip(dims, shape, strict=True)) else None


def _fit_dim(dim: str, size: int, sizes: Sizes) -> bool:
    """True if a dimension fits; a size that is not known yet is added to `sizes`."""
    if dim.isdigit():
        return int(dim) == size
    match = _DIMENSION.fullmatch(dim)
    assert match is not None, f"{dim!r} is not a dimension"
    name = match["name"]
    factor, over, plus = int(match["factor"] or 1), int(match["over"] or 1), int(match["plus"] or 0)
    if name in sizes:
        return bool(-(-sizes[name] * factor // over) + plus == size)
    sizes[name] = (size - plus) * over // factor
    return size >= plus and (size - plus) * over % factor == 0


def _tell(name: str, value: Any, kind: str, sizes: Sizes) -> str:
    used = {word: sizes[word] for word in re.findall(r"[A-Za-z]\w*", kind) if word in sizes}
    where = f" with {', '.join(f'{k} = {v}' for k, v in used.items())}" if used else ""
    return f"{name} is {describe(value)}; expected {kind}{where}"


def describe(value: Any) -> str:
    """A value in an error: dtype and shape of a tensor."""
    if hasattr(value, "data_ptr"):
        return f"{str(value.dtype).removeprefix('torch.')} {tuple(value.shape)}"
    return f"{value!r}"
