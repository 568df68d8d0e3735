"""Parses the headers that every cell includes once, not with every cell.

A precompiled header holds `hip/hip_runtime.h`, and `kittens.cuh` where the source includes it. It is made
after the first compilation that would have used it, beside the user's work, or at set-up by `warm`; until
then cells compile without it, to the same code.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from workbench.cache import Cache, digest
from workbench.toolchain import process
from workbench.toolchain.compiler import INCLUDE, Compiler, kernel_headers
from workbench.toolchain.store import content

RUNTIME = "hip/hip_runtime.h"
TILES = "kittens.cuh"

_BUILD_TIMEOUT = 300.0
_INCLUDE_LINE = re.compile(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
_DEFINE_LINE = re.compile(r"\s*#\s*(?:define|undef)\s+(\w+)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)

_state_lock = threading.Lock()
_building: dict[str, threading.Thread] = {}
_failed: set[str] = set()
_running: set[subprocess.Popen[bytes]] = set()


def header_for(source: str, defines: Sequence[str], folders: Sequence[str]) -> str | None:
    """The header whose precompiled form can stand at the top of `source`; None where none can.

    Args:
        source: the user's text.
        defines: names that are defined or undefined on the command line.
        folders: folders that are searched before ours, the current one included.

    A precompiled header is parsed before everything else, so it stands in only where that makes no
    difference: nothing in front of it, by text or by flag, may be a name that our headers look at, and no
    folder may hold another header of that name.
    """
    names = set(defines)
    wanted = RUNTIME
    for line in _COMMENT.sub(" ", source).splitlines():
        include = _INCLUDE_LINE.match(line)
        if include:
            name = include[1] or include[2]
            if name == TILES:
                wanted = TILES
                break
            if include[1] and not name.startswith("hip/"):
                break
            continue
        define = _DEFINE_LINE.match(line)
        if define:
            names.add(define[1])
        elif line.strip() and not line.lstrip().startswith("#pragma"):
            break
    if names & _looked_at():
        return None
    if any(os.path.exists(os.path.join(folder, name)) for folder in folders for name in (TILES, RUNTIME)):
        return None
    if wanted == TILES and not (kernel_headers() / TILES).is_file():
        return None
    return wanted


@dataclass(frozen=True)
class PrecompiledHeader:
    """The precompiled form of one of our headers, for one compiler and its arguments.

    Attributes:
        compiler: which makes and reads it.
        arguments: what every compilation with it gets.
        arch: target.
        header: RUNTIME or TILES.
    """

    compiler: Compiler
    arguments: tuple[str, ...]
    arch: str
    header: str

    @property
    def possible(self) -> bool:
        """Whether there can be one: hipcc puts a header of its own in front, which it cannot follow."""
        return self.compiler.kind != "hipcc"

    @cached_property
    def key(self) -> str:
        """Digest of all that it is made from."""
        return digest(
            "precompiled",
            self.compiler.identity,
            *self.compiler.device_command(self.arch, ""),
            *self.arguments,
            self.header,
            *(f"{path}={content(path)}" for path in _our_headers()),
        )

    def find(self) -> Path | None:
        """Its file, None while there is none."""
        return Cache("precompiled").find_file(self.key) if self.possible else None

    def forget(self) -> None:
        """Drop the file that the compiler did not accept, and make it no more in this process."""
        Cache("precompiled").remove(self.key)
        with _state_lock:
            _failed.add(self.key)

    def build(self) -> bool:
        """Make it unless it is there; False where the compiler cannot."""
        if not self.possible:
            return False
        store = Cache("precompiled")
        with store.lock(self.key):
            if store.find_file(self.key) is not None:
                return True
            with _state_lock:
                if self.key in _failed:
                    return False
            with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
                output = os.path.join(folder, "header.pch")
                made = _run(self._command(output), self.compiler.environment(folder))
                if made and os.path.exists(output):
                    return store.put_file(self.key, Path(output)) is not None
        with _state_lock:
            _failed.add(self.key)
        return False

    def build_later(self) -> None:
        """Make it beside what the caller does next."""
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
                self.build()
        finally:
            with _state_lock:
                _building.pop(self.key, None)

    def _command(self, output: str) -> list[str]:
        path = kernel_headers() / TILES if self.header == TILES else INCLUDE / RUNTIME
        command = [part for part in self.compiler.device_command(self.arch, output) if part != "-"]
        return [
            *command,
            *self.arguments,
            "-include",
            RUNTIME,
            # -S leaves the link step of a device compilation out; -emit-pch decides what is written.
            "-S",
            "-Xclang",
            "-emit-pch",
            "-Xclang",
            "-fno-pch-timestamp",
            "-Wno-pragma-once-outside-header",
            str(path),
        ]


def wait() -> None:
    """Wait for the headers that are being made."""
    with _state_lock:
        threads = list(_building.values())
    for thread in threads:
        thread.join()


def _run(command: Sequence[str], environment: dict[str, str]) -> bool:
    running = subprocess.Popen(
        list(command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,
    )
    with _state_lock:
        _running.add(running)
    try:
        return running.wait(_BUILD_TIMEOUT) == 0
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


def _our_headers() -> list[str]:
    found = []
    for root in (INCLUDE, kernel_headers()):
        for folder, _, files in os.walk(root):
            found += [os.path.join(folder, file) for file in files if not file.startswith(".")]
    return sorted(found)


_words: dict[str, frozenset[str]] = {}


def _looked_at() -> frozenset[str]:
    """Every identifier in our headers."""
    result: set[str] = set()
    for path in _our_headers():
        mark = f"{path}={content(path)}"
        if mark not in _words:
            try:
                text = Path(path).read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            _words[mark] = frozenset(re.findall(r"[A-Za-z_]\w*", text))
        result |= _words[mark]
    return frozenset(result)
