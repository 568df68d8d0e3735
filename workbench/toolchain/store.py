"""Stores compiled kernels and finds them without starting a compiler.

The set of headers that a source includes is known only after it was compiled. So the lookup has two steps, as
in ccache's direct mode: the known inputs (source, flags, compiler) lead to a manifest, which lists the
headers of earlier compilations with digests of their contents; a record whose headers are all unchanged leads
to the result. A record also names the places earlier on the include path where a header was looked for and
not found, so a new header that hides another is noticed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workbench.cache import Cache, digest
from workbench.toolchain.diagnostics import Diagnostic, FixIt

_RECORDS = 16
# Patterns in the text of a dependency file: a name with escaped spaces, and escapes of single characters.
_WORD = re.compile(r"(?:[\\$](?s:.)|[^\s\\$])+")
_ESCAPED = re.compile(r"[\\$]((?s:.))")
# A file changed this recently may change again without its time stamp showing it.
_SETTLED = 2.0

_contents: dict[str, tuple[tuple[int, int, int], str]] = {}
_contents_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Entry:
    """The stored result of a compilation.

    Attributes:
        code_object: bytes of the ELF.
        diagnostics: warnings of the compiler.
        command: command line of the compilation.
        seconds: duration of the compilation.
        doubts: possible faults of the code, to report whenever the entry is used.
    """

    code_object: bytes
    diagnostics: tuple[Diagnostic, ...]
    command: tuple[str, ...]
    seconds: float
    doubts: tuple[str, ...] = ()


def content(path: str) -> str | None:
    """Digest of a file's content, None if it cannot be read; cached while the file is unchanged."""
    try:
        status = os.stat(path)
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        absolute = os.path.abspath(path)
        with _contents_lock:
            cached = _contents.get(absolute)
        if cached is not None and cached[0] == stamp:
            return cached[1]
        checksum = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None
    if time.time() - status.st_mtime > _SETTLED:
        with _contents_lock:
            _contents[absolute] = (stamp, checksum)
    return checksum


class Store:
    """Results of compilations by their inputs."""

    def __init__(self) -> None:
        self._manifests = Cache("manifests")
        self._objects = Cache("code-objects")

    def get(self, key: str) -> Entry | None:
        """The result for `key` whose headers have not changed, None if there is none."""
        for record in self._records(key):
            if all(content(path) == checksum for path, checksum in record["headers"]) and not any(
                os.path.exists(path) for path in record["absent"]
            ):
                entry = self._unpack(record["result"])
                if entry is not None:
                    return entry
        return None

    def put(self, key: str, entry: Entry, headers: Sequence[str], absent: Sequence[str]) -> None:
        """Store a result with the headers that it was made from."""
        contents = [(path, content(path)) for path in headers]
        if any(checksum is None for _, checksum in contents):
            return
        result = digest(key, *(f"{path}={checksum}" for path, checksum in contents), *absent)
        if not self._objects.put(result, _pack(entry)):
            return
        record = {"result": result, "headers": contents, "absent": list(absent)}
        others = [old for old in self._records(key) if old["result"] != result]
        self._manifests.put(key, json.dumps([record, *others[: _RECORDS - 1]]).encode())

    def lock(self, key: str) -> contextlib.AbstractContextManager[None]:
        """Lock for compiling `key`, so that no two processes do the same work at the same time."""
        return self._manifests.lock(key)

    def _records(self, key: str) -> list[dict[str, Any]]:
        data = self._manifests.get(key)
        return list(json.loads(data)) if data is not None else []

    def _unpack(self, result: str) -> Entry | None:
        data = self._objects.get(result)
        if data is None:
            return None
        size = int.from_bytes(data[:8], "little")
        facts = json.loads(data[8 : 8 + size])
        return Entry(
            data[8 + size :],
            tuple(_diagnostic(item) for item in facts["diagnostics"]),
            tuple(facts["command"]),
            facts["seconds"],
            tuple(facts.get("doubts", ())),
        )


def _pack(entry: Entry) -> bytes:
    facts = {
        "diagnostics": [asdict(diagnostic) for diagnostic in entry.diagnostics],
        "command": entry.command,
        "seconds": entry.seconds,
        "doubts": entry.doubts,
    }
    text = json.dumps(facts).encode()
    return len(text).to_bytes(8, "little") + text + entry.code_object


def _diagnostic(item: dict[str, Any]) -> Diagnostic:
    notes = tuple(_diagnostic(note) for note in item["notes"])
    fixits = tuple(FixIt(**fixit) for fixit in item["fixits"])
    return Diagnostic(**{**item, "notes": notes, "fixits": fixits})


def headers_of(dependencies: str, fixed_roots: Iterable[str]) -> list[str]:
    """Headers in the text of a dependency file, without those that change only with the compiler."""
    roots = tuple(fixed_roots)
    _, _, names = dependencies.replace("\\\n", " ").partition(":")
    words = (_ESCAPED.sub(r"\1", word) for word in _WORD.findall(names))
    return list(
        dict.fromkeys(w for w in words if w != "-" and not w.startswith(roots) and not w.endswith("<stdin>"))
    )


def hiding_places(headers: Iterable[str], folders: Sequence[str]) -> list[str]:
    """Paths at which a file would be found before one of `headers`, searching `folders` in order."""
    absolute = [os.path.abspath(folder) for folder in folders]
    places: dict[str, None] = {}
    for header in headers:
        path = os.path.abspath(header)
        for index, folder in enumerate(absolute):
            if path.startswith(folder + "/"):
                below = path[len(folder) + 1 :]
                for earlier in folders[:index]:
                    candidate = os.path.join(earlier, below)
                    if os.path.abspath(candidate) != path:
                        places[candidate] = None
                break
    return list(places)
