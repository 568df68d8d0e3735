"""From an operator's sources to compiled modules, each compiled once and remembered.

A changed source is compiled again. Checking all headers takes longer than a small launch, so the headers of
the tile library and the families are checked at most five times a second; the operator's own source and the
headers in its folder at every call.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench import paths
from workbench.kernel import Module
from workbench.kernel.compilation import compile_source
from workbench.operators.definition import Definition, is_text
from workbench.toolchain import CompileOptions

LIBRARY_SECONDS = 0.2
"""Seconds for which headers count as unchanged."""

_HEADERS = (".cuh", ".h", ".hpp")

Stamp = tuple[Any, ...]


class Modules:
    """The compiled modules of one operator by target, source, kernels and macros."""

    def __init__(self, spec: Definition) -> None:
        self._spec = spec
        self._compiled: dict[Any, tuple[Stamp, Module]] = {}

    def stamp(self) -> Stamp:
        """A value that changes with every source and header of the operator."""
        files, folder = self._files
        return (_library.stamp(), *map(_stamp_of, files), *map(_stamp_of, _listed(folder) if folder else ()))

    def module(
        self, source: str, entries: tuple[str, ...], macros: Mapping[str, object], arch: str
    ) -> Module:
        """A source compiled with these macros; compiled again if it or one of its headers has changed.

        Args:
            entries: names of its kernels; these instances of templates are compiled.

        Raises:
            CompileError, WorkbenchError
        """
        now = self.stamp()
        key = (arch, source, entries, tuple((k, str(v)) for k, v in sorted(macros.items())))
        compiled = self._compiled.get(key)
        if compiled is None or compiled[0] != now:
            compiled = self._compiled[key] = now, self._compile(source, entries, macros, arch)
        return compiled[1]

    def _compile(
        self, source: str, entries: tuple[str, ...], macros: Mapping[str, object], arch: str
    ) -> Module:
        spec = self._spec
        category = spec.name.partition("/")[0]
        options = CompileOptions(
            arch,
            name=spec.name if is_text(source) else f"{category}/{source}",
            include=(spec.folder,) if spec.folder is not None else (),
            define=macros,
        )
        text = spec.read_source(source)
        # Naming a template instance compiles it, even if the source instantiates it itself.
        templates = [name for name in dict.fromkeys(entries) if "<" in name]
        named = [
            f"[[maybe_unused]] static const auto instance_{number} = &{name};\n"
            for number, name in enumerate(templates)
        ]
        return compile_source("".join([text.rstrip("\n") + "\n", *named]) if named else text, options)

    @cached_property
    def _files(self) -> tuple[tuple[str, ...], str]:
        """Files of the sources, and their folder; "" if they are all in the spec."""
        files = map(self._spec.path_of, self._spec.sources)
        folder = os.fspath(self._spec.folder) if self._spec.folder is not None else ""
        return tuple(os.fspath(file) for file in files if file is not None), folder


def _stamp_of(file: str) -> tuple[str, int, int]:
    try:
        status = os.stat(file)
    except OSError:
        return file, 0, 0
    return file, status.st_mtime_ns, status.st_size


def _headers_in(folder: str) -> list[str]:
    with contextlib.suppress(OSError):
        return [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(_HEADERS)]
    return []


def _listed(folder: str) -> list[str]:
    """`_headers_in`, repeated when files are added or removed, which changes the folder's own time."""
    stamp = _stamp_of(folder)
    if _lists.get(folder, (None,))[0] != stamp:
        _lists[folder] = stamp, _headers_in(folder)
    return _lists[folder][1]


_lists: dict[str, tuple[Stamp, list[str]]] = {}


@dataclass
class _Library:
    """The headers that all operators share.

    Attributes:
        looked: time of the last check, in seconds on the monotonic clock.
        stamps: stamps of the headers at that time.
        edition: number of changes so far.
        folders: folders with the headers, and each folder's stamp when it was last listed.
    """

    looked: float = float("-inf")
    stamps: tuple[tuple[str, int, int], ...] = ()
    edition: int = 0
    folders: dict[str, Stamp] = field(default_factory=dict)

    def stamp(self) -> int:
        now = time.monotonic()
        if now - self.looked > LIBRARY_SECONDS:
            roots = (os.fspath(paths.include_dir()), os.fspath(paths.kernels_dir() / "families"))
            # Adding or removing a folder changes the time of its parent.
            seen = self.folders
            if not all(root in seen for root in roots) or any(_stamp_of(f) != seen[f] for f in seen):
                walked = [folder for root in roots for folder, _, _ in os.walk(root)]
                self.folders = {folder: _stamp_of(folder) for folder in (*roots, *walked)}
            stamps = tuple(sorted(_stamp_of(file) for folder in self.folders for file in _listed(folder)))
            self.edition += stamps != self.stamps
            self.stamps, self.looked = stamps, time.monotonic()
        return self.edition


_library = _Library()
