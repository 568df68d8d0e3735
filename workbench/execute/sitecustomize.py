"""Python's own start: has PyTorch's "cuda" mean the emulated device in every process that `exec` starts.

Nothing of the workbench is imported before the process imports PyTorch. The next `sitecustomize` on the path,
which this one stands before, runs as it would without it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from types import ModuleType

_HERE = os.path.dirname(os.path.abspath(__file__))


class _Loader(importlib.abc.Loader):
    """Loads PyTorch as always, and then opens the door to the device."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        try:
            from workbench.torch_gpu.context import enter
        except ImportError as error:
            print(f"hipkittens: PyTorch of {sys.executable} sees no device: {error}", file=sys.stderr)
        else:
            enter()

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds PyTorch once, for `_Loader`."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def _run_the_next() -> None:
    others = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec(__name__, others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
    sys.meta_path.insert(0, _Finder())
_run_the_next()
