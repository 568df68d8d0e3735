"""The kernel library: specs by name, each loaded at its first use.

`kernels` maps names such as `"gemm/bf16"` to the specs of the kernel library, and `"gemm/bf16:ping_pong"` to
one with only that variant. Each `kernels/<category>/<operator>.py` defines one, in a module variable named
`spec`. The folder is the package `workbench_kernels`, so that specs share references: `from
workbench_kernels.references.rotary import rotate`.
"""

from __future__ import annotations

import difflib
import importlib
import itertools
import operator
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from workbench import paths
from workbench.cache import digest
from workbench.display import Shown
from workbench.errors import UnknownKernel, UsageError, WorkbenchError
from workbench.operators.catalogue import Selection, search
from workbench.operators.precompile import Instance, compile_all
from workbench.operators.spec import KernelSpec

PACKAGE = "workbench_kernels"
"""Name under which Python imports the kernel library's folder."""

_SHARED = ("include", "families", "references")
"""Folders beside the categories: code that operators share."""


class KernelRegistry(Shown, Mapping[str, KernelSpec]):
    """Maps names to the specs of a kernel library; each is loaded at its first use.

    Args:
        root: the folder with `<category>/<operator>.py`; None for the workbench's own library.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root = root
        self._loaded: dict[str, KernelSpec] = {}

    @property
    def root(self) -> Path:
        return self._root if self._root is not None else paths.kernels_dir()

    def _names(self) -> list[str]:
        files = (p for p in self.root.glob("*/*.py") if p.parent.name not in _SHARED)
        return sorted(f"{p.parent.name}/{p.stem}" for p in files)

    @property
    def _package(self) -> str:
        return PACKAGE if self._root is None else f"{PACKAGE}_{digest(str(self._root))[:16]}"

    def __getitem__(self, name: str) -> KernelSpec:
        if not isinstance(name, str):
            raise UnknownKernel(f"got {name!r}; expected a kernel's name, such as 'gemm/bf16'")
        operator, _, variant = name.partition(":")
        if variant:
            return self[operator].variant(variant)
        if name not in self._loaded:
            names = self._names()
            if name not in names:
                raise _unknown_kernel(name, names)
            spec = _load_spec(self.root, self._package, name)
            self._loaded[name] = spec.located((self.root / name).parent, self)
        return self._loaded[name]

    def __contains__(self, name: object) -> bool:
        try:
            self[name]  # type: ignore[index]
        except WorkbenchError:
            return False
        return True

    def __reduce__(self) -> Any:
        return (_the_library, ()) if self._root is None else (KernelRegistry, (self._root,))

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def __repr__(self) -> str:
        named = [name.split("/") for name in self._names()]
        rows = [
            f"  {category}: {', '.join(name for _, name in group)}"
            for category, group in itertools.groupby(named, key=operator.itemgetter(0))
        ]
        return "\n".join([f"<{len(named)} kernels>", *rows])

    def search(self, text: str = "", *, category: str | None = None, target: str | None = None) -> Selection:
        """Operators by words in their names, texts and settings, such as `search("fp4 scales")`.

        Args:
            text: words that must all occur; upper and lower case do not matter.
            category: "gemm", "attention", ...
            target: "gfx950" or "gfx942".

        Raises:
            UsageError: there is no such category or target.
        """
        return search(self.values(), text, category, target)

    def compile(
        self,
        names: Iterable[str] | None = None,
        archs: Sequence[str] | None = None,
        *,
        workers: int | None = None,
    ) -> list[Instance]:
        """Compiles the shapes of operators ahead of their first call; see `KernelSpec.compile`.

        Args:
            names: names of operators; None for all.
            archs: targets; None for all targets of each operator.
            workers: number of compilers at once; None for one per processor.

        Raises:
            UnknownKernel, CompileError
        """
        specs = [self[name] for name in (names if names is not None else self)]
        return compile_all([job for spec in specs for job in spec.jobs(archs=archs)], workers)

    def named(self, names: Iterable[str]) -> list[str]:
        """Names of operators, each once: an operator by its name, or all of a category such as "gemm".

        Raises:
            UnknownKernel: a name is neither.
        """
        listed: list[str] = []
        for name in names:
            inside = [operator for operator in self if operator.partition("/")[0] == name]
            listed += inside or [self[name].name]
        return list(dict.fromkeys(listed))

    def _ipython_key_completions_(self) -> list[str]:
        return self._names()


def _the_library() -> KernelRegistry:
    return kernels


def spec_of(spec: KernelSpec | str, caller: str) -> KernelSpec:
    """A spec, passed itself or by its name, for `caller`, the function that a person called.

    Raises:
        UnknownKernel: no kernel of the library has this name.
        UsageError: the argument is neither.
    """
    if isinstance(spec, str):
        return kernels[spec]
    if not isinstance(spec, KernelSpec):
        raise UsageError(
            f"{caller}: got a {type(spec).__name__}; expected a KernelSpec, or the name of one such as "
            '"gemm/bf16"'
        )
    return spec


def _unknown_kernel(name: str, names: Sequence[str]) -> UnknownKernel:
    short = {n.rpartition("/")[2]: n for n in names}
    close = difflib.get_close_matches(str(name), list(names), n=3, cutoff=0.5)
    close += [short[m] for m in difflib.get_close_matches(str(name), list(short), n=3, cutoff=0.5)]
    if close:
        return UnknownKernel(
            f"no kernel is named {name!r}; did you mean {' or '.join(dict.fromkeys(close))}?"
        )
    categories = ", ".join(dict.fromkeys(n.partition("/")[0] for n in names)) or "none"
    return UnknownKernel(
        f"no kernel is named {name!r}, and no name is near it; there are {len(names)}, of the categories "
        f"{categories}: `wb.kernels` lists them, `wb.kernels.search(text)` finds them by words"
    )


def _load_spec(root: Path, package: str, name: str) -> KernelSpec:
    path = root / f"{name}.py"
    _make_package(package, root)
    importlib.invalidate_caches()
    module = importlib.import_module(f"{package}.{name.replace('/', '.')}")
    spec = getattr(module, "spec", None)
    if not isinstance(spec, KernelSpec):
        raise WorkbenchError(
            f"kernel {name}: {path} must define `spec`, a KernelSpec; it is {type(spec).__name__}"
        )
    if spec.name != name:
        raise WorkbenchError(
            f"kernel {name}: {path} names itself {spec.name!r}; expected its category and its file's name"
        )
    return spec


def _make_package(name: str, root: Path) -> None:
    """Lets Python import a folder of kernels under a name, wherever it is."""
    if name not in sys.modules:
        package = ModuleType(name, f"Kernels below {root}.")
        package.__path__ = [str(root)]
        sys.modules[name] = package


kernels = KernelRegistry()
"""The workbench's kernel library: `kernels["gemm/bf16"]`, `list(kernels)`."""

_make_package(PACKAGE, paths.kernels_dir())
