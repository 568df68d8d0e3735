"""The CDNA3 collection's modules by their own names: `from workbench.collection import rmsnorm_tk, rope_tk`.

Its 71 modules (github.com/m8than/amd-kernels) bind functions that write into preallocated outputs. The
functions here take the same arguments in the same order, and run the operators of `wb.kernels`, on either
target. `bindings/` has a record for each function; `install()` makes the modules importable under their own
names.
"""

from __future__ import annotations

import pkgutil
import sys
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.collection.record import PortModule

_CATEGORIES = f"{__name__}.bindings"


@cache
def records() -> dict[str, tuple[PortModule, ...]]:
    """The modules' records by category, each category's in the order of the collection."""
    package = import_module(_CATEGORIES)
    names = sorted(module.name for module in pkgutil.iter_modules(package.__path__))
    categories = {name: tuple(import_module(f"{_CATEGORIES}.{name}").MODULES) for name in names}
    return dict(sorted(categories.items(), key=lambda item: min((m.row for m in item[1]), default=0)))


@cache
def _modules() -> dict[str, ModuleType]:
    from workbench.collection.calls import module_of

    return {record.name: module_of(record) for group in records().values() for record in group}


def install() -> list[str]:
    """Makes `import rmsnorm_tk` work, so that code for the collection runs unchanged; returns the names.

    Raises:
        UsageError: Python has already imported another module of one of the names.
    """
    for name, module in _modules().items():
        if sys.modules.setdefault(name, module) is not module:
            raise UsageError(
                f"a module {name!r} is already imported from {getattr(sys.modules[name], '__file__', None)}; "
                f"use `from workbench.collection import {name}`"
            )
    return list(_modules())


def __getattr__(name: str) -> Any:
    if name.endswith("_tk") and name in _modules():
        return _modules()[name]
    raise AttributeError(f"the collection has no module {name!r}; dir(workbench.collection) lists them")


def __dir__() -> list[str]:
    return sorted([*_modules(), "install", "records"])
