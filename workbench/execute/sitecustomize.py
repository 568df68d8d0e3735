"""Python's own start in every process that `exec` starts: PyTorch's "cuda" means the emulated device, and
hip-python's hipGetDeviceProperties takes the forms of all of its releases.

Nothing of the workbench is imported before the process imports one of the two. The next `sitecustomize` on
the path, which this one precedes, runs as it would without it.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))


def _open_door(_torch: ModuleType) -> None:
    try:
        from workbench.torch_gpu.context import enter
    except ImportError as error:
        print(f"hipkittens: PyTorch of {sys.executable} sees no device: {error}", file=sys.stderr)
    else:
        enter()


def _accept_both_forms(hip: ModuleType) -> None:
    # A Python that lacks what the workbench needs keeps hip-python unchanged.
    with contextlib.suppress(ImportError):
        from workbench.runtime.hip import accept_both_forms

        accept_both_forms(hip)


_AFTER: dict[str, Callable[[ModuleType], None]] = {
    "torch": _open_door,
    # Forms of hip-python 7.14 and later, and of earlier releases.
    "rocm.bindings.hip": _accept_both_forms,
    "hip.hip": _accept_both_forms,
}
"""Functions that get a module when it has been imported."""


class _Loader(importlib.abc.Loader):
    """Loads a module, then calls a function with it."""

    def __init__(self, loader: importlib.abc.Loader, after: Callable[[ModuleType], None]) -> None:
        self._loader, self._after = loader, after

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        self._after(module)

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of `_AFTER`, each once, for `_Loader`."""

    def __init__(self) -> None:
        self._after = dict(_AFTER)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        after = self._after.pop(name, None)
        if after is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, after)
        return spec


def _run_the_next() -> None:
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec(__name__, others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Finder())
_run_the_next()
