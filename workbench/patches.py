"""Attributes of other people's modules and classes, replaced temporarily."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import warnings
import weakref
from typing import Any

from workbench.errors import PatchConflict

_ABSENT = object()
_stacks: weakref.WeakSet[Patches] = weakref.WeakSet()


@atexit.register
def _stay() -> None:
    # A generator that nobody finished would undo it while Python takes modules apart. Nothing is freed any
    # more that has one reference too many, neither these stacks nor the contexts in them.
    for stack in list(_stacks):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(stack.pop_all()))


class Patches(contextlib.ExitStack):
    """A stack of replaced attributes and of contexts entered between them, undone in reverse.

        with Patches() as patches:
            patches.replace(torch, "compile", compile_without_gpu)
            patches.enter_context(autocast_reaches_cpu())

    If other code replaced an attribute in the meantime and left its value there, the attribute keeps that
    value, and a `PatchConflict` warning names it. What is still replaced when Python ends stays so.
    """

    def __init__(self) -> None:
        super().__init__()
        _stacks.add(self)

    def replace(self, owner: Any, name: str, value: Any, *, create: bool = False) -> None:
        """Set an attribute until the stack ends.

        Args:
            owner: a module, a class, or an object with a `__dict__`.
            name: name of an attribute that the owner has or inherits.
            value: new value; for a class, as in its body: a `classmethod`, a `property`.
            create: True if the owner may lack the attribute.

        Raises:
            AttributeError: the owner lacks the attribute, and `create` is False.
        """
        if not create and not hasattr(owner, name):
            raise AttributeError(
                f"{_name(owner)} has no attribute {name!r} to replace; expected a version of it that has one"
            )
        # Read from the dictionary: getattr would bind a classmethod, and find attributes of a base class.
        before = vars(owner).get(name, _ABSENT)
        setattr(owner, name, value)
        self.callback(_restore, owner, name, vars(owner).get(name, _ABSENT), before)


def _restore(owner: Any, name: str, patch: Any, before: Any) -> None:
    if vars(owner).get(name, _ABSENT) is not patch:
        warnings.warn(
            f"{_name(owner)}.{name} was replaced by other code while the workbench had replaced it; it keeps "
            "that code's value. Undo the replacement before the `with` block ends in which it was made.",
            PatchConflict,
            stacklevel=2,
        )
    elif before is _ABSENT:
        delattr(owner, name)
    else:
        setattr(owner, name, before)


def _name(owner: Any) -> str:
    """A module's or class's name as in code; for an object, that of its class."""
    if isinstance(owner, type):
        return f"{owner.__module__}.{owner.__qualname__}"
    name = getattr(owner, "__name__", None)
    return name if isinstance(name, str) else _name(type(owner))
