"""clangd's answers about a position in a cell: completions, signatures, information, definitions.

One clangd serves a process, and has one cell open at a time. It reads the cell as the compiler of
`wb.compile` would, with the same headers and macros. Parsing a cell that includes the tile library for the
first time takes two seconds, so every question has a time limit.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from workbench.errors import WorkbenchError
from workbench.lab.doxygen import tidy
from workbench.lab.lsp import LanguageServer
from workbench.targets import TILE_TARGETS
from workbench.toolchain.clangd import find, missing

NOT_READY = "clangd still reads the headers of this cell; ask again in a moment"

LIMIT = 200
"""Maximum number of candidates of one completion."""

MEMORY = 3 << 30
"""Bytes of address space; a cell with the tile library takes a quarter of it, 0.3 GB of that in memory."""

# Completion item kinds of the Language Server Protocol 3.17, in our words.
_KINDS = {2: "function", 3: "function", 4: "function", 5: "variable", 6: "variable", 7: "type", 8: "concept"}
_KINDS |= {9: "type", 10: "variable", 13: "type", 14: "keyword", 17: "header", 19: "header", 20: "variable"}
_KINDS |= {21: "variable", 22: "type", 25: "type"}
_TEXT = 1

_INDEXING = 5.0
"""Seconds after reading the headers in which clangd may not have all of their names yet."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A completion at a position.

    Attributes:
        name: text to insert.
        kind: "function", "type", "variable", "concept", "keyword", "header" or "text".
        signature: parameters and type.
        doc: its documentation; "" if clangd has none.
        header: header that declares it; "" for the cell itself.
    """

    name: str
    kind: str
    signature: str
    doc: str = ""
    header: str = ""


@dataclass(frozen=True, slots=True)
class Hover:
    """Information on a name.

    Attributes:
        text: clangd's own text, unchanged.
        title: title, such as "variable tile".
        signature: its declaration.
        facts: further lines, such as "Type: rt<float, 32, 32>".
        doc: its documentation, cleaned by `doxygen.tidy`.
        header: header that declares it; "" for the cell itself.
    """

    text: str
    title: str
    signature: str
    facts: tuple[str, ...] = ()
    doc: str = ""
    header: str = ""


@dataclass(frozen=True, slots=True)
class Signature:
    """A function that a call may mean.

    Attributes:
        label: signature, such as "mul(RT &dst, const RT &lhs, const U &rhs) -> void".
        parameters: parameters, spelled as in the label.
        doc: documentation, cleaned by `doxygen.tidy`.
    """

    label: str
    parameters: tuple[str, ...]
    doc: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """File and position at which a name is defined.

    Attributes:
        path: the file; None for the cell.
        line, column: position from 0, columns in UTF-16 code units.
    """

    path: Path | None
    line: int
    column: int


_FACT = re.compile(r"(?:Type|Value|Size|Offset|Passed)\b[^\n]*$")
_SCOPE = re.compile(r"// In [^\n]*\n")


def read_hover(text: str) -> Hover:
    """Parses clangd's plain text: title, origin, facts, documentation, declaration.

    Its lists of result and parameters are left out: the declaration has them.
    """
    title, *blocks = [block for block in text.strip().split("\n\n") if block.strip()]
    header, facts = "", []
    while len(blocks) > 1:
        block = blocks[0]
        if origin := re.fullmatch(r'provided by ["<](.+)[">]', block):
            header = origin[1]
        elif _FACT.match(block):
            facts.append(block)
        elif block.startswith("Parameters:"):
            # Newer versions put the parameters into a separate block.
            if block == "Parameters:" and blocks[1].startswith("- "):
                del blocks[0]
        elif not block.startswith("→ "):
            break
        del blocks[0]
    code = len(blocks) - 1
    if code > 0 and blocks[code].startswith("// Expands to"):
        code -= 1
    signature = _SCOPE.sub("", "\n\n".join(blocks[max(code, 0) :]), count=1)
    doc = tidy("\n\n".join(blocks[: max(code, 0)]))
    return Hover(text, title, signature or title, tuple(facts), doc, header)


class Clangd:
    """A running clangd with one open cell.

    Args:
        program: the clangd.

    Raises:
        WorkbenchError: clangd does not start.
    """

    def __init__(self, program: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hipkittens-clangd-")
        self._root = Path(self._folder.name)
        options = [
            *(
                "--background-index=false",
                "--header-insertion=never",
                "--completion-style=detailed",
                f"--limit-results={LIMIT}",
            ),
            *("--clang-tidy=false", "-j=1", "--pch-storage=disk", "--log=error"),
            f"--compile-commands-dir={self._root}",
        ]
        try:
            self.server = LanguageServer([str(program), *options], MEMORY)
        except WorkbenchError:
            self._folder.cleanup()
            raise
        self._asking = threading.RLock()
        self._commands: dict[str, Path] = {}
        self._open: Path | None = None
        self._version = 0
        self._text = ""
        formats = {"documentationFormat": ["plaintext"]}
        document = {
            "completion": {"completionItem": {**formats, "snippetSupport": False}},
            "hover": {"contentFormat": ["plaintext"]},
            "signatureHelp": {"signatureInformation": formats},
        }
        capabilities = {"textDocument": document, "general": {"positionEncodings": ["utf-16"]}}
        parameters = {
            "processId": os.getpid(),
            "rootUri": self._root.as_uri(),
            "capabilities": capabilities,
        }
        _, self._ready = self.server.request("initialize", parameters)
        self._read: Future[Any] = self._ready
        self._read_at = 0.0

    def close(self) -> None:
        """Ends the process; asking again is an error."""
        self.server.close()
        self._folder.cleanup()

    def show(self, text: str, timeout: float) -> None:
        """Makes clangd read a cell, in the background.

        Args:
            text: the whole cell; the target, macros and folders of its magic line count.
            timeout: seconds until clangd must have started.

        Raises:
            TimeoutError: clangd has not started yet.
            WorkbenchError: it ended, or there is no compiler whose headers it could read.
        """
        with self._asking:
            self._ready.result(timeout)
            path = self._path(command_of(text))
            first, newline, rest = text.partition("\n")
            body = ("" if first.startswith("%%") else first) + newline + rest
            if path == self._open and body == self._text:
                return
            self._version += 1
            document: dict[str, Any] = {"uri": path.as_uri(), "version": self._version}
            if path == self._open:
                changes = {"textDocument": document, "contentChanges": [{"text": body}]}
                self.server.notify("textDocument/didChange", changes)
            else:
                if self._open is not None:
                    self.server.notify(
                        "textDocument/didClose", {"textDocument": {"uri": self._open.as_uri()}}
                    )
                opened = {**document, "languageId": "hip", "text": body}
                self.server.notify("textDocument/didOpen", {"textDocument": opened})
            headers_differ = path != self._open or _includes(body) != _includes(self._text)
            self._open, self._text = path, body
            if headers_differ:
                self._begin_to_read()

    def _begin_to_read(self) -> None:
        """Asks once the headers are read: until then, completion offers words of the text."""
        assert self._open is not None
        symbols = {"textDocument": {"uri": self._open.as_uri()}}
        _, self._read = self.server.request("textDocument/documentSymbol", symbols)
        self._read.add_done_callback(self._has_read)

    def _has_read(self, _: Future[Any]) -> None:
        self._read_at = time.monotonic()

    def _path(self, command: Sequence[str]) -> Path:
        """The file that is compiled by a command."""
        key = json.dumps(list(command))
        if key not in self._commands:
            path = self._commands[key] = self._root / f"cell{len(self._commands)}.hip"
            entry = {
                "workingDirectory": str(self._root),
                "compilationCommand": ["clang++", *command, path.name],
            }
            settings = {"settings": {"compilationDatabaseChanges": {str(path): entry}}}
            if len(self._commands) == 1:
                self.server.notify("initialized", {})
            self.server.notify("workspace/didChangeConfiguration", settings)
            # It takes seconds, but nobody types two underscores that soon.
            arch = next(part for part in command if part.startswith("--offload-arch=")).partition("=")[2]
            threading.Thread(target=_prepare, args=(arch,), name="hip-names", daemon=True).start()
        return self._commands[key]

    def _ask(self, method: str, text: str, line: int, column: int, timeout: float) -> Any:
        until = time.monotonic() + timeout
        with self._asking:
            self.show(text, timeout)
            assert self._open is not None
            while True:
                try:
                    self._read.result(max(0.0, until - time.monotonic()))
                    break
                except WorkbenchError:
                    # An edit while the headers are being read ends the question about them, not the reading.
                    if not self.server.alive or time.monotonic() > until:
                        raise
                    self._begin_to_read()
            place = {"line": line, "character": column}
            parameters = {"textDocument": {"uri": self._open.as_uri()}, "position": place}
            return self.server.ask(method, parameters, max(0.0, until - time.monotonic()))

    def complete(self, text: str, line: int, column: int, timeout: float) -> list[Candidate]:
        """Completions at a position of a cell.

        Args:
            text: the whole cell.
            line, column: position from 0; columns count UTF-16 code units, as editors do.
            timeout: seconds.

        Raises:
            TimeoutError: clangd is not ready yet.
            WorkbenchError: clangd ended or refused.
        """
        until = time.monotonic() + timeout
        while True:
            reply = self._ask("textDocument/completion", text, line, column, until - time.monotonic())
            items = reply["items"] if isinstance(reply, dict) else reply or []
            # clangd knows the headers' names a moment after it has read them.
            if items or time.monotonic() > min(until, self._read_at + _INDEXING):
                break
            time.sleep(0.1)
        candidates: dict[str, Candidate] = {}
        for item in sorted(items, key=lambda item: str(item.get("sortText", ""))):
            if item.get("kind", _TEXT) == _TEXT:
                continue
            name = str(item.get("insertText") or item.get("filterText") or item["label"]).strip()
            details = item.get("labelDetails") or {}
            detail = item.get("detail") or details.get("description") or ""
            signature = f"{detail} {item['label'].strip(' •')}{details.get('detail') or ''}".strip()
            header, doc = _header_and_doc(_plain(item.get("documentation")))
            kind = _KINDS.get(item.get("kind", 0), "text")
            # Among overloads, which clangd returns in no fixed order, the first that is documented.
            if name not in candidates or (doc and not candidates[name].doc):
                candidates[name] = Candidate(name, kind, signature, doc, header)
        return list(candidates.values())

    def hover(self, text: str, line: int, column: int, timeout: float) -> Hover | None:
        """Information on the name at a place, or None; arguments and errors as for `complete`."""
        reply = self._ask("textDocument/hover", text, line, column, timeout)
        contents = _plain((reply or {}).get("contents"))
        return read_hover(contents) if contents else None

    def signatures(self, text: str, line: int, column: int, timeout: float) -> tuple[list[Signature], int]:
        """Functions that the call around a place may mean, and which argument it is; as `complete`."""
        reply = self._ask("textDocument/signatureHelp", text, line, column, timeout) or {}
        signatures = [
            Signature(
                item["label"],
                tuple(str(parameter["label"]) for parameter in item.get("parameters", ())),
                tidy(_plain(item.get("documentation"))),
            )
            for item in reply.get("signatures", ())
        ]
        return signatures, int(reply.get("activeParameter") or 0)

    def definition(self, text: str, line: int, column: int, timeout: float) -> Definition | None:
        """Definition of the name at a position, or None; arguments and errors as for `complete`."""
        reply = self._ask("textDocument/definition", text, line, column, timeout)
        places = reply if isinstance(reply, list) else [reply] if reply else []
        if not places:
            return None
        path = Path(unquote(urlsplit(places[0]["uri"]).path))
        start = places[0]["range"]["start"]
        in_cell = path.parent.resolve() == self._root.resolve()
        return Definition(None if in_cell else path, int(start["line"]), int(start["character"]))


def _includes(text: str) -> list[str]:
    """The lines that say which headers are read."""
    return re.findall(r"^[ \t]*#.*$", text, re.MULTILINE)


def _header_and_doc(text: str) -> tuple[str, str]:
    """clangd puts `From "header.cuh"` above a name's documentation."""
    origin = re.match(r'From ["<]([^">]+)[">]\s*', text)
    header, doc = (origin[1], text[origin.end() :]) if origin else ("", text)
    return header, tidy(doc)


def _plain(content: Any) -> str:
    if isinstance(content, dict):
        content = content.get("value")
    return str(content or "").strip()


_ARCH = re.compile(r"\s--arch[=\s]\s*(gfx\w+)")
_FLAG = re.compile(r"\s-([DI])\s*(\S+)")


def arch_of(text: str) -> str:
    """The target that a cell is compiled for: its --arch, or else that of the device in use."""
    named = _ARCH.search(text.partition("\n")[0])
    if named:
        return named[1]
    runtime = sys.modules.get("workbench.runtime")
    return str(runtime.device().arch) if runtime is not None else TILE_TARGETS[0]


def command_of(text: str) -> list[str]:
    """Arguments with which a cell is compiled, without input and output.

    Raises:
        CompilerNotFound: there is no compiler.
    """
    from workbench.toolchain.compilation import editor_arguments

    flags = (f"-{letter}{value}" for letter, value in _FLAG.findall(text.partition("\n")[0]))
    return [*editor_arguments(arch_of(text)), *flags]


_HEADERS = ("hip/hip_runtime.h", "hip/hip_bf16.h", "hip/hip_fp16.h", "kittens.cuh")
_FILE = re.compile(r'^# \d+ "([^"]*)".*$', re.MULTILINE)
_RESERVED = re.compile(
    r"^#define (?P<macro>__[a-z]\w*__)\b"
    r"|__attribute__\(\(device\)\)(?P<result>[^;{}=#]*?)\b(?P<name>__(?!hip_|attribute__)[a-z]\w*)\s*"
    r"(?P<parameters>\((?:[^()]|\([^()]*\))*\))\s*(?:noexcept\s*)?(?:->[^;{}]*)?[;{]"
    r"|(?P<built_in>__builtin_amdgcn_\w+)",
    re.MULTILINE,
)


@lru_cache(maxsize=4)
def reserved_names(arch: str) -> tuple[Candidate, ...]:
    """Names of HIP that begin with two underscores, and compiler builtins that headers here call.

    clangd takes such names in a header for implementation details, and offers none of them.

    Raises:
        CompilerNotFound: there is no compiler.
    """
    from workbench.toolchain.compilation import preprocessed

    names: dict[str, Candidate] = {}
    parts = _FILE.split(preprocessed("".join(f"#include <{name}>\n" for name in _HEADERS), arch))
    for file, text in zip(parts[1::2], parts[2::2], strict=True):
        for match in _RESERVED.finditer(text):
            if "/hip/" not in file and not match["built_in"]:
                continue
            name = match["macro"] or match["name"] or match["built_in"]
            words = f"{match['result'] or ''} {name}{match['parameters'] or ''}"
            signature = " ".join(re.sub(r"__attribute__\(\(\w+\)\)|\b(?:static|inline)\b", "", words).split())
            kind = "keyword" if match["macro"] else "function"
            header = "" if match["built_in"] else f"hip/{file.rpartition('/hip/')[2]}"
            if name not in names or match["name"]:
                names[name] = Candidate(name, kind, signature, "", header)
    return tuple(sorted(names.values(), key=lambda candidate: candidate.name))


def _prepare(arch: str) -> None:
    with contextlib.suppress(WorkbenchError):
        reserved_names(arch)


_running: dict[Path, Clangd] = {}
_starting = threading.Lock()


def running() -> Clangd:
    """The process's clangd, started if it is not running.

    Raises:
        WorkbenchError: there is none, or it does not start.
    """
    program = find()
    if program is None:
        raise WorkbenchError(missing())
    with _starting:
        if program not in _running or not _running[program].server.alive:
            stop()
            _running[program] = Clangd(program)
        return _running[program]


def stop() -> None:
    """Ends the process's clangd; the next question starts it again."""
    while _running:
        _, server = _running.popitem()
        with contextlib.suppress(OSError):
            server.close()
