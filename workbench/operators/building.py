"""From an operator's sources to the kernels of an instance, compiled once and remembered.

A source that has changed is compiled anew. Looking at all headers takes longer than a small launch, so those
of the tile library and the families are looked at five times a second at most; the operator's own source and
the headers beside it at each call.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from workbench import paths
from workbench.errors import WorkbenchError
from workbench.kernel import Kernel, Launch, Module
from workbench.kernel.compilation import compile_source
from workbench.operators.definition import Definition
from workbench.operators.parameters import Shape
from workbench.operators.steps import Step
from workbench.toolchain import CompileOptions
from workbench.toolchain.source_text import source_text

LIBRARY_SECONDS = 0.2
"""For so long headers count as unchanged."""

_HEADERS = (".cuh", ".h", ".hpp")

Stamp = tuple[Any, ...]


@dataclass(frozen=True)
class Ready:
    """A step of one instance: its kernel, and how that is launched.

    Attributes:
        is_own: the operator compiled the kernel, and nobody asks it for a launch that was made.
    """

    step: Step
    kernel: Kernel
    launch: Launch
    is_own: bool = False


@dataclass
class Instances:
    """What is compiled of an operator.

    Attributes:
        modules: by target, source and macros, each with the stamp of what it was made from.
        ready: likewise by target and shape.
        shapes: shapes by the signature of a call.
        repeats: plans of calls by their signature, None where there can be none (`operators.repeats`).
    """

    modules: dict[Any, tuple[Stamp, Module]] = field(default_factory=dict)
    ready: dict[Any, tuple[Stamp, tuple[Ready, ...]]] = field(default_factory=dict)
    shapes: dict[Any, dict[str, Any]] = field(default_factory=dict)
    repeats: dict[Any, Any] = field(default_factory=dict)


def instance(operator: Definition, shape: Shape, arch: str, instances: Instances) -> tuple[Ready, ...]:
    """The kernels of a shape on a target, with their launches, in order.

    Raises:
        CompileError, WorkbenchError
    """
    now = stamp(operator)
    key = (arch, *shape.values())
    cached = instances.ready.get(key)
    if cached is not None and cached[0] == now:
        return cached[1]
    ready = tuple(
        Ready(step, module[step.entry_name(shape)], step.launch(shape, arch), is_own=True)
        for step, module in modules(operator, shape, arch, instances)
    )
    instances.ready[key] = now, ready
    return ready


def is_compiled(instances: Instances, shape: Shape, arch: str) -> bool:
    """Whether an instance was compiled, from these sources or earlier ones."""
    return (arch, *shape.values()) in instances.ready


def modules(
    operator: Definition, shape: Shape, arch: str, instances: Instances
) -> Iterator[tuple[Step, Module]]:
    """Each step of a shape with its compiled module; steps of one source and macros share it."""
    if arch not in operator.targets:
        raise WorkbenchError(f"{operator.name} is written for {', '.join(operator.targets)}, not for {arch}")
    now = stamp(operator)
    steps = operator.active_steps(shape, arch)
    for step in steps:
        source, macros = _source(operator, step), macros_of(operator, step, shape, arch)
        entries = tuple(
            other.entry_name(shape)
            for other in steps
            if _source(operator, other) == source and macros_of(operator, other, shape, arch) == macros
        )
        key = (arch, source, entries, tuple((k, str(v)) for k, v in sorted(macros.items())))
        cached = instances.modules.get(key)
        if cached is None or cached[0] != now:
            cached = now, _compiled(operator, source, entries, macros, arch)
            instances.modules[key] = cached
        yield step, cached[1]


def macros_of(operator: Definition, step: Step, shape: Shape, arch: str) -> dict[str, object]:
    """Macros that select a step's instance."""
    return {**operator.define(shape, arch), **(step.define(shape, arch) if step.define is not None else {})}


def source_path(operator: Definition, source: str) -> Path | None:
    """File of a source; None where the source is given as text."""
    return None if is_text(source) else (operator.folder or Path()) / source


def is_text(source: str) -> bool:
    """Whether a source is the C++ itself rather than the name of a file."""
    return "\n" in source or source.startswith("#")


def read(operator: Definition, source: str) -> str:
    """The C++ of a source.

    Raises:
        WorkbenchError: the file cannot be read.
    """
    path = source_path(operator, source)
    if path is None:
        return source
    try:
        return source_text(path.read_bytes())
    except OSError as error:
        raise WorkbenchError(
            f"{operator.name}: the source {path} cannot be read: {error.strerror}"
        ) from error


def _compiled(
    operator: Definition, source: str, entries: tuple[str, ...], macros: Mapping[str, object], arch: str
) -> Module:
    category = operator.name.partition("/")[0]
    options = CompileOptions(
        arch,
        name=operator.name if is_text(source) else f"{category}/{source}",
        include=(operator.folder,) if operator.folder is not None else (),
        define=macros,
    )
    text = read(operator, source)
    # To name a template instance here is to have it compiled, also where the source instantiates it itself.
    templates = [name for name in dict.fromkeys(entries) if "<" in name]
    named = [
        f"[[maybe_unused]] static const auto instance_{i} = &{name};\n" for i, name in enumerate(templates)
    ]
    return compile_source("".join([text.rstrip("\n") + "\n", *named]) if named else text, options)


def _source(operator: Definition, step: Step) -> str:
    return operator.source if step.source is None else step.source


def stamp(operator: Definition) -> Stamp:
    """What differs as soon as a source or a header of an operator does."""
    files, folder = _own_files(operator)
    return (_library.stamp(), *map(_stamp_of, files), *map(_stamp_of, _listed(folder) if folder else ()))


@lru_cache(1024)
def _own_files(operator: Definition) -> tuple[tuple[str, ...], str]:
    """Files of an operator's sources, and their folder; "" where they are all in its record."""
    sources = (operator.source, *(step.source for step in operator.steps if step.source is not None))
    files = [source_path(operator, source) for source in dict.fromkeys(sources)]
    folder = os.fspath(operator.folder) if operator.folder is not None else ""
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
    """`_headers_in`, asked anew when files came or went, which changes the folder's own time."""
    stamp = _stamp_of(folder)
    if _lists.get(folder, (None,))[0] != stamp:
        _lists[folder] = stamp, _headers_in(folder)
    return _lists[folder][1]


_lists: dict[str, tuple[Stamp, list[str]]] = {}


@dataclass
class _Library:
    """The headers that all operators share.

    Attributes:
        looked: when they were looked at last, on the monotonic clock.
        found: their stamps then.
        edition: counts the changes that were seen.
        folders: that they are in, with their stamps when these were listed.
    """

    looked: float = float("-inf")
    stamps: tuple[tuple[str, int, int], ...] = ()
    edition: int = 0
    folders: dict[str, Stamp] = field(default_factory=dict)

    def stamp(self) -> int:
        now = time.monotonic()
        if now - self.looked > LIBRARY_SECONDS:
            roots = (os.fspath(paths.include_dir()), os.fspath(paths.kernels_dir() / "families"))
            # A folder that came or went changes the time of the one that it is in.
            seen = self.folders
            if not all(root in seen for root in roots) or any(_stamp_of(f) != seen[f] for f in seen):
                walked = [folder for root in roots for folder, _, _ in os.walk(root)]
                self.folders = {folder: _stamp_of(folder) for folder in (*roots, *walked)}
            stamps = tuple(sorted(_stamp_of(file) for folder in self.folders for file in _listed(folder)))
            self.edition += stamps != self.stamps
            self.stamps, self.looked = stamps, time.monotonic()
        return self.edition


_library = _Library()
