"""Parses the headers that every cell includes once, not with every cell.

A precompiled header holds the prelude of every source, or `hip/hip_runtime.h`, which begins with it, if the
source includes that; also `kittens.cuh` and pybind11. It is made after the first compilation that would have
used it, in the background, or at set-up by `warm`; until then sources compile without it, to the same code.

PyTorch's headers take nearly all of the time of a source that includes them. They are precompiled before
that source is compiled, since both together take little longer than the source does alone.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import subprocess
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import TypeVar

from workbench.cache import Cache, digest
from workbench.toolchain import process
from workbench.toolchain.compiler import INCLUDE, SHORT_NAMES, Compiler, include_folders, kernel_headers
from workbench.toolchain.job import HeaderRejectedError, to_front_end
from workbench.toolchain.scratch import in_folder
from workbench.toolchain.store import content

PRELUDE = "hip/device/prelude.h"
"""Text before every source, like the one that a clang with ROCm has."""

PLAIN_TOP = ("-include", PRELUDE)

RUNTIME = "hip/hip_runtime.h"
TILES = "kittens.cuh"
PYBIND = "pybind11/pybind11.h"

Made = TypeVar("Made")

_PYTORCH = ("torch/extension.h", "torch/types.h", "torch/torch.h", "torch/all.h", "ATen/ATen.h")
"""Those of PyTorch's headers that include most of the others."""

_BUILD_TIMEOUT = 900.0
_NICENESS = 10
"""Niceness of background compilers, so that the caller's next step goes first."""
_INCLUDE_LINE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
_MODULE_NAME = re.compile(r"(?:-D|#define )TORCH_EXTENSION_NAME\b.*\n?")
"""The macro that differs between extensions; no header looks at it."""
_DEFINE_LINE = re.compile(r"\s*#\s*(?:define|undef)\s+(\w+)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

_state_lock = threading.Lock()
_building: dict[str, threading.Thread] = {}
_failed: set[str] = set()
_running: set[subprocess.Popen[bytes]] = set()


def headers_for(
    source: str, defines: Sequence[str], folders: Sequence[str], pybind: Path | None = None
) -> tuple[str, ...]:
    """The headers whose precompiled form can precede `source`, in order; () if none can.

    Args:
        source: the user's text.
        defines: names that are defined or undefined on the command line.
        folders: folders that are searched before ours, including the current one.
        pybind: folder of pybind11's headers, if the source is compiled with them.

    A precompiled header is parsed before everything else, so it is used only if that makes no difference:
    nothing before it, by text or by flag, may define a name that its headers use, and no folder may have
    another header of the same name.
    """

    def hidden(name: str) -> bool:
        return any(os.path.exists(os.path.join(folder, name)) for folder in folders)

    runtime = _headers_in(INCLUDE)
    if hidden(RUNTIME) or _seen(set(defines), runtime):
        return ()
    beginning = _Beginning(folders)
    beginning.read(source)
    is_early = beginning.runtime is not None and not _seen(beginning.runtime, runtime)
    headers = [RUNTIME if is_early else PRELUDE]
    tiles = beginning.tiles if (kernel_headers() / TILES).is_file() else None
    if is_early and tiles is not None and not _seen({*defines, *tiles}, _our_headers()):
        headers.append(TILES)
    if pybind is not None and beginning.pybind is not None and not hidden(PYBIND):
        # Definitions of our runtime headers precede every source already.
        macros = {*defines, *beginning.pybind} - _macros_of(runtime)
        if not _seen(macros, _headers_in(pybind / "pybind11"), ("_", "Py", "PY")):
            headers.append(PYBIND)
    return tuple(headers)


class _Beginning:
    """Macros and includes before a source's first line of code, and in the user's own headers there.

    Attributes:
        runtime: the macros defined before hip_runtime.h is included, by itself or by another header of ours;
            None if it is not.
        tiles: the macros defined before our tile library is included, by itself or as the first line of
            another header of ours; None if it is not, or if one of the user's headers precedes it.
        pybind: the macros defined before pybind11 is included; None if it is not.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self.runtime: set[str] | None = None
        self.tiles: set[str] | None = None
        self.pybind: set[str] | None = None
        self._folders = folders
        self._macros: set[str] = set()
        self._read: set[str] = set()

    def read(self, text: str, header: str | None = None) -> None:
        """Read a source up to its first line of code, or all of one of the user's headers."""
        for line in _COMMENT.sub(" ", text).splitlines():
            if include := _INCLUDE_LINE.match(line):
                beside = [os.path.dirname(header)] if header and include[1] else []
                self._include(include[1] or include[2], [*beside, *self._folders])
            elif define := _DEFINE_LINE.match(line):
                self._macros.add(define[1])
            elif header is None and line.strip() and not line.lstrip().startswith("#pragma"):
                break

    def _include(self, name: str, folders: Sequence[str]) -> None:
        paths = (os.path.normpath(os.path.join(folder, name)) for folder in folders)
        path = next((p for p in paths if os.path.isfile(p)), None)
        if path is None:
            if self.runtime is None and _brings_runtime(name):
                self.runtime = set(self._macros)
            if self.tiles is None and not self._read and _begins_with_tiles(name, self._folders):
                self.tiles = set(self._macros)
            if name.startswith(("pybind11/", "pyutils/")) and self.pybind is None:
                self.pybind = set(self._macros)
        elif path not in self._read:
            self._read.add(path)
            with contextlib.suppress(OSError):
                self.read(Path(path).read_text(encoding="utf-8", errors="replace"), path)


@dataclass(frozen=True)
class PrecompiledHeader:
    """The precompiled form of headers, for one compiler and its arguments.

    Attributes:
        compiler: compiler that makes and reads it.
        command: command line of compilations with it, without the parts specific to a source: folders,
            macros, input and output.
        headers: PRELUDE or RUNTIME and what follows it, in order.
        instantiate: True if it instantiates the templates that the headers themselves need.
        pybind: folder of pybind11's headers, if they are included.
        text: the beginning of a source, behind the headers. Clang compares the sizes and times of the files
            that it includes with those when it was precompiled.
    """

    compiler: Compiler
    command: tuple[str, ...]
    headers: tuple[str, ...]
    instantiate: bool = False
    pybind: Path | None = None
    text: str = ""

    @property
    def possible(self) -> bool:
        """False for hipcc: it inserts its own header first, which a precompiled one cannot follow."""
        return self.compiler.kind != "hipcc"

    @cached_property
    def key(self) -> str:
        """Digest of everything that it is made from."""
        return digest(
            "precompiled",
            self.compiler.identity,
            *self.command,
            *self.headers,
            str(self.instantiate),
            self.text,
            *(f"{path}={content(path)}" for path in _our_headers()),
            *(f"{path}={content(path)}" for path in _headers_in(self.pybind or Path(os.devnull))),
        )

    def use(self, compilation: Callable[[Path | None], Made]) -> Made:
        """Result of a compilation with the precompiled header, or with None if no header fits.

        If there was none, it is made for the next compilation, and that of a source's beginning for this one.
        """
        if self.text:
            self.build()
        ready = self.find() if self.headers or self.text else None
        if ready is not None:
            try:
                return compilation(ready)
            except HeaderRejectedError:
                self.forget()
        result = compilation(None)
        if self.headers and ready is None:
            self.build_later()
        return result

    def find(self) -> Path | None:
        """Its file, None while there is none."""
        return Cache("precompiled").find_file(self.key) if self.possible else None

    def forget(self) -> None:
        """Remove the file that the compiler did not accept, and do not make it again in this process."""
        Cache("precompiled").remove(self.key)
        with _state_lock:
            _failed.add(self.key)

    def build(self, niceness: int = 0) -> bool:
        """Make it unless it exists; False if the compiler cannot."""
        if not self.possible:
            return False
        store = Cache("precompiled")
        with store.lock(self.key):
            if store.find_file(self.key) is not None:
                return True
            with _state_lock:
                if self.key in _failed:
                    return False

            def build(folder: str) -> bool | None:
                output = os.path.join(folder, "header.pch")
                environment = self.compiler.environment(folder)
                succeeded = _run(self._command(output), environment, niceness, self.text)
                if succeeded and os.path.exists(output):
                    return store.put_file(self.key, Path(output)) is not None
                return None

            if (stored := in_folder(build)) is not None:
                return stored
        with _state_lock:
            _failed.add(self.key)
        return False

    def build_later(self) -> None:
        """Make it in the background."""
        if not self.possible:
            return
        with _state_lock:
            if self.key in _building or self.key in _failed:
                return
            thread = threading.Thread(target=self._build_quietly, daemon=True, name="precompile")
            _building[self.key] = thread
        thread.start()

    def _build_quietly(self) -> None:
        try:
            with contextlib.suppress(OSError):
                self.build(_NICENESS)
        finally:
            with _state_lock:
                _building.pop(self.key, None)

    def _command(self, output: str) -> list[str]:
        return [
            *self.command,
            *(part for name in self.headers for part in ("-include", name)),
            *(["-fpch-instantiate-templates"] if self.instantiate else []),
            # -S leaves the link step of a device compilation out; -emit-pch decides what is written.
            "-S",
            *to_front_end("-emit-pch", *([] if self.text else ["-fno-pch-timestamp"])),
            *("-", "-o", output),
        ]


def pytorch_header(
    compiler: Compiler, command: Sequence[str], headers: Sequence[str], source: str, prologue: str = ""
) -> PrecompiledHeader | None:
    """The precompiled form of the includes with which a source begins, up to PyTorch's first large header.

    None where PyTorch's is not among them, or something that it may depend on stands before it.

    Args:
        command: command line of the compilation without headers in front, input and output.
        headers: headers in front of the source.
        source: the source's text.
        prologue: macros in front of it, as text.
    """
    if {"-include", "-imacros"} & set(command):
        # They would be read once more behind the precompiled header.
        return None
    includes = []
    for line in _COMMENT.sub(" ", source).splitlines():
        include = _INCLUDE_LINE.match(line)
        if include is not None and include[2]:
            includes.append(f"#include <{include[2]}>\n")
            if include[2] in _PYTORCH:
                break
            if "." not in include[2] or _ours(include[2]):
                continue
        elif not line.strip():
            continue
        return None
    else:
        return None
    words: list[str] = []
    for before, word in zip(("", *command), command, strict=False):
        if "-iquote" in (before, word):
            # Includes in angle brackets are not looked for there, and it is each extension's own folder.
            continue
        if before in ("-I", "-isystem", "-idirafter"):
            words.append(os.path.abspath(word))
        elif word.startswith("-I") and word != "-I":
            words.append(f"-I{os.path.abspath(word[2:])}")
        elif not word.startswith("-cuid=") and not _MODULE_NAME.fullmatch(word):
            words.append(word)
    text = _MODULE_NAME.sub("", prologue) + "".join(includes)
    return PrecompiledHeader(compiler, tuple(words), tuple(headers), instantiate=True, text=text)


def top(ready: Path | None, compiler: Compiler) -> list[str]:
    """Arguments that put a precompiled header before a source, or else the usual text before every source.

    hipcc has its own header there.
    """
    if ready is not None:
        return precompiled_top(ready)
    return [] if compiler.kind == "hipcc" else [*PLAIN_TOP]


def precompiled_top(ready: Path) -> list[str]:
    """Arguments that put a precompiled header before a source."""
    return to_front_end("-include-pch", str(ready))


def wait() -> None:
    """Wait for the headers that are being made."""
    with _state_lock:
        threads = list(_building.values())
    for thread in threads:
        thread.join()


def _run(command: Sequence[str], environment: dict[str, str], niceness: int, text: str) -> bool:
    running = subprocess.Popen(
        list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PGRP, running.pid, os.nice(0) + niceness)
    with _state_lock:
        _running.add(running)
    try:
        running.communicate(text.encode("utf-8", "surrogateescape"), _BUILD_TIMEOUT)
        return running.returncode == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        with _state_lock:
            _running.discard(running)
        if running.returncode is None:
            process.stop(running)


@atexit.register
def _stop_all() -> None:
    with _state_lock:
        left = list(_running)
    for running in left:
        process.stop(running)


def _brings_runtime(name: str) -> bool:
    """True if a header that a source includes is our hip_runtime.h, or includes it."""
    waiting, seen = [_ours(name)], set[Path]()
    while waiting:
        path = waiting.pop()
        if path == INCLUDE / RUNTIME:
            return True
        if path is not None and path not in seen:
            seen.add(path)
            waiting += [_ours(other, path.parent) for other in _included(path, content(str(path)))]
    return False


def _begins_with_tiles(name: str, folders: Sequence[str]) -> bool:
    """True if a header is our kittens.cuh, or one of ours that includes it before all else.

    Args:
        name: the header's, as a source includes it.
        folders: folders that are searched before ours, except the one of the header that includes another.
    """
    path = _ours(name)
    while path is not None and path != kernel_headers() / TILES:
        lines = _COMMENT.sub(" ", path.read_text(encoding="utf-8", errors="replace")).splitlines()
        first = next((line for line in lines if line.strip() and not line.startswith("#pragma")), "")
        include = _INCLUDE_LINE.match(first)
        if include is None or include[1] is None:
            return False
        hidden = any(os.path.exists(os.path.join(folder, include[1])) for folder in folders)
        if hidden and not (path.parent / include[1]).is_file():
            return False
        path = _ours(include[1], path.parent)
    return path is not None


def _ours(name: str, *beside: Path) -> Path | None:
    """Our header that an include of this name reads."""
    folders = [*beside, INCLUDE, *(INCLUDE / short for short in SHORT_NAMES), *include_folders()]
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


@cache
def _included(path: Path, _content: str | None) -> tuple[str, ...]:
    lines = _COMMENT.sub(" ", path.read_text(encoding="utf-8", errors="replace")).splitlines()
    return tuple(match[1] or match[2] for line in lines if (match := _INCLUDE_LINE.match(line)))


def _our_headers() -> list[str]:
    return [*_headers_in(INCLUDE), *_headers_in(kernel_headers())]


def _headers_in(root: Path) -> list[str]:
    paths = []
    for folder, _, files in os.walk(root):
        paths += [os.path.join(folder, file) for file in files if not file.startswith(".")]
    return sorted(paths)


def _macros_of(headers: Sequence[str]) -> set[str]:
    """The macros that headers define."""
    texts = (Path(path).read_text(encoding="utf-8", errors="replace") for path in headers)
    return {match[1] for text in texts for line in text.splitlines() if (match := _DEFINE_LINE.match(line))}


_words: dict[str, frozenset[str]] = {}


def _seen(macros: set[str], headers: Sequence[str], reserved: tuple[str, ...] = ("_",)) -> bool:
    """True if one of these macros may change the meaning of headers or of those that they include."""
    if any(name.startswith(reserved) for name in macros):
        return True
    for path in headers:
        mark = f"{path}={content(path)}"
        if mark not in _words:
            try:
                text = Path(path).read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            _words[mark] = frozenset(re.findall(r"[A-Za-z_]\w*", text))
        if not macros.isdisjoint(_words[mark]):
            return True
    return False
