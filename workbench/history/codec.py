"""Results as JSON: dataclasses by name, so that a file of another version, or from a stranger, does no harm.

Only the classes that a reader names are instantiated, from plain values. Unknown fields are dropped, and an
object that cannot be restored becomes None.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from workbench.errors import UsageError
from workbench.targets import Product, product

CLASS, PRODUCT, PAIRS, TUPLE = "$class", "$product", "$pairs", "$tuple"


def encode(value: Any, leave_out: Collection[str] = ()) -> Any:
    """Plain JSON values.

    Args:
        leave_out: fields that are not stored, as "Class.field"; they must have a default.
    """
    if isinstance(value, Product):
        return {PRODUCT: value.name}
    if is_dataclass(value) and not isinstance(value, type):
        name = type(value).__name__
        names = (f.name for f in fields(value) if f"{name}.{f.name}" not in leave_out)
        return {CLASS: name, **{field: encode(getattr(value, field), leave_out) for field in names}}
    if isinstance(value, Enum):
        return {CLASS: type(value).__name__, "value": value.value}
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            return {key: encode(item, leave_out) for key, item in value.items()}
        return {PAIRS: [[encode(k, leave_out), encode(v, leave_out)] for k, v in value.items()]}
    if isinstance(value, tuple):
        return {TUPLE: [encode(item, leave_out) for item in value]}
    if isinstance(value, list):
        return [encode(item, leave_out) for item in value]
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return int(value)
    if hasattr(value, "__float__"):
        return float(value)
    raise TypeError(f"a {type(value).__name__} cannot be stored in the history")


def decode(data: Any, classes: Mapping[str, type]) -> Any:
    """Decodes a value that `encode` encoded.

    Args:
        classes: classes that may be instantiated, by name.

    Raises:
        ValueError: the data has another form, or the fields of a class have changed.
    """
    if isinstance(data, list):
        return [decode(item, classes) for item in data]
    if not isinstance(data, dict):
        return data
    if TUPLE in data:
        return tuple(decode(item, classes) for item in data[TUPLE])
    if PAIRS in data:
        return {decode(key, classes): decode(item, classes) for key, item in data[PAIRS]}
    if PRODUCT in data:
        try:
            return product(str(data[PRODUCT]))
        except UsageError as error:
            raise ValueError(str(error)) from None
    if CLASS in data:
        return _made(data, classes)
    return {key: decode(item, classes) for key, item in data.items()}


def _made(data: dict[str, Any], classes: Mapping[str, type]) -> Any:
    kind = classes.get(data[CLASS])
    if kind is None:
        raise ValueError(f"{data[CLASS]!r} is not a class of a result")
    if issubclass(kind, Enum):
        return kind(data["value"])
    names = {f.name for f in fields(kind) if f.init}  # type: ignore[arg-type]
    try:
        return kind(**{key: decode(item, classes) for key, item in data.items() if key in names})
    except TypeError as error:
        raise ValueError(str(error)) from None
