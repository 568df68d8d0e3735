"""Names of the tile library with signature and documentation, read from its own headers.

Completion and hover need them where no clangd is installed. The headers are the one source: this reader
follows namespaces, structs and their doc comments, and passes over bodies. It is no C++ parser; it reads
what declarations in this library look like, and leaves out what it does not understand.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from workbench.lab.doxygen import tidy
from workbench.paths import include_dir

SIGNATURE_LIMIT = 400
"""Characters of a signature that are kept."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A name of the library.

    Attributes:
        name: as one writes it, without namespace.
        scope: namespace or struct that it stands in, such as "kittens::base_types".
        kind: "function", "type", "concept", "variable" or "macro".
        signature: the declaration on one line.
        doc: its doc comment as plain text, "" where there is none.
        header: the header as it is included, such as "types/register/rt.cuh".
        line: its line there.
    """

    name: str
    scope: str
    kind: str
    signature: str
    doc: str
    header: str
    line: int


@dataclass(frozen=True, slots=True)
class Index:
    """The library's names; `digest` changes when a header does."""

    digest: str
    entries: tuple[Entry, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"digest": self.digest, "entries": [asdict(entry) for entry in self.entries]}


def index(folder: Path | None = None) -> Index:
    """Index of the headers in a folder, the tile library's own where it is None.

    Read once, and again when a header changes; an absent folder gives an empty index.
    """
    root = folder or include_dir()
    files = sorted(path for path in root.rglob("*") if path.suffix in (".cuh", ".h", ".hpp"))
    stamp = tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in files)
    return _read(root, stamp)


@lru_cache(maxsize=4)
def _read(root: Path, stamp: tuple[tuple[str, int, int], ...]) -> Index:
    digest = hashlib.sha256()
    entries: list[Entry] = []
    for name, _, _ in stamp:
        text = Path(name).read_text(encoding="utf-8", errors="replace")
        digest.update(text.encode())
        entries += read_header(text, Path(name).relative_to(root).as_posix())
    return Index(digest.hexdigest()[:16], tuple(entries))


_DOC_LINE = re.compile(r"^[ \t]*\*? ?", re.MULTILINE)


def doc_text(comment: str) -> str:
    """What a `/** */` or `///` comment says, as `doxygen.tidy` gives it."""
    if comment.startswith("///"):
        body = re.sub(r"^\s*///<? ?", "", comment, flags=re.MULTILINE)
    else:
        body = _DOC_LINE.sub("", comment[3:-2])
    return tidy(textwrap.dedent(body))


@dataclass(slots=True)
class _Token:
    """A piece of a header: doc comment, macro definition, or text up to one of `{`, `}`, `;`."""

    kind: str
    text: str
    line: int
    end_line: int


_PIECES = re.compile(
    r"(?P<doc>/\*\*(?!/).*?\*/|(?:///(?!/)[^\n]*(?:\n[ \t]*(?=///))?)+)"
    r"|(?P<comment>/\*.*?\*/|//[^\n]*)"
    r"|(?P<directive>^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)"
    r"|(?P<raw>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<stop>[{};])",
    re.DOTALL | re.MULTILINE,
)


def _tokens(text: str) -> Iterator[_Token]:
    pending = ""
    start = 1
    line = 1
    position = 0
    for match in _PIECES.finditer(text):
        between = text[position : match.start()]
        if not pending.strip() and between.strip():
            start = line + between[: len(between) - len(between.lstrip())].count("\n")
        pending += between
        line += between.count("\n")
        piece = match[0]
        end = line + piece.count("\n")
        if match["doc"]:
            yield _Token("doc", piece, line, end)
        elif match["directive"]:
            yield _Token("directive", piece, line, end)
        elif match["raw"]:
            pending += piece
        elif match["stop"]:
            yield _Token(piece, pending.strip(), start if pending.strip() else line, end)
            pending = ""
        line = end
        position = match.end()


_MACRO = re.compile(r"\s*#\s*define\s+(?P<name>\w+)(?P<parameters>\([^)]*\))?")
_NAMESPACE = re.compile(r"(?:inline\s+)?namespace\s+(?P<name>[\w:]+)$")
_ATTRIBUTE = re.compile(r"(?:KITTENS_\w*ALIGN\w*(?:\(\d+\))?|alignas\s*\([^)]*\)|\[\[[^\]]*\]\])\s*")
_TYPE = re.compile(r"(?P<key>struct|class|union|enum(?:\s+class)?)\s+(?P<name>\w+)(?P<rest>[^=(]*)$")
_USING = re.compile(r"using\s+(?P<name>\w+)\s*=")
_CONCEPT = re.compile(r"concept\s+(?P<name>\w+)\s*=")
_VARIABLE = re.compile(r"(?:constexpr|static|extern|const)\b.*?(?P<name>\w+)\s*(?:=|\[|$)", re.DOTALL)
_NOT_FUNCTIONS = {
    "requires",
    "alignas",
    "decltype",
    "sizeof",
    "static_assert",
    "if",
    "while",
    "for",
    "return",
    "noexcept",
}
_HIDDEN = {"detail", "identifier"}


@dataclass(slots=True)
class _Scope:
    name: str
    """Name that it adds to the path, "" for one that adds none."""
    hidden: bool


def read_header(text: str, header: str) -> list[Entry]:
    """Entries of one header.

    Args:
        text: the header.
        header: its name as it is included.
    """
    entries: list[Entry] = []
    scopes: list[_Scope] = []
    doc, doc_end, group_end = "", -1, -1
    skip = 0
    after = ""
    for token in _tokens(text):
        if token.kind == "doc":
            doc, doc_end = token.text, token.end_line
            continue
        if token.kind == "directive":
            macro = _MACRO.match(token.text)
            if macro and doc_end >= token.line - 1 and not skip:
                signature = macro["name"] + (macro["parameters"] or "")
                entries.append(
                    Entry(macro["name"], "", "macro", signature, doc_text(doc), header, token.line)
                )
            continue
        if skip:
            skip += {"{": 1, "}": -1}.get(token.kind, 0)
            continue
        if token.kind == "}":
            if scopes:
                scopes.pop()
            after = "}"
            continue
        # What stands between a struct's `}` and the `;` declares nothing of interest.
        declaration = "" if after == "}" and token.kind == ";" and not token.text else _plain(token.text)
        after = ""
        # A doc comment counts for the declarations that follow it without an empty line.
        if doc_end < token.line - 1 and group_end < token.line - 1:
            doc = ""
        scope = "::".join(part.name for part in scopes if part.name)
        hidden = any(part.hidden for part in scopes)
        entry = (
            None
            if hidden or not declaration
            else _entry(declaration, scope, doc_text(doc) if doc else "", header, token.line)
        )
        if entry is not None:
            entries.append(entry)
        if token.kind == ";":
            group_end = token.end_line
            continue
        opened = _opened(declaration, entry)
        if opened is None:
            skip = 1
            # A body on one line leaves its group open for the next; a longer one ends it.
            group_end = token.end_line
        else:
            scopes.append(opened)
            doc = ""
    return entries


def _plain(declaration: str) -> str:
    text = re.sub(r"\s+", " ", declaration)
    text = re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", text)
    return _ATTRIBUTE.sub("", text).strip()


def _without_template(declaration: str) -> str:
    """The declaration without `template <...>` and `requires` before it."""
    text = declaration
    while text.startswith("template"):
        depth = 0
        for position, character in enumerate(text):
            if character == "<":
                depth += 1
            elif character == ">" and text[position - 1] != "-":
                depth -= 1
                if depth == 0:
                    text = text[position + 1 :].strip()
                    break
        else:
            return ""
    if text.startswith("requires"):
        depth = 0
        for position, character in enumerate(text):
            depth += {"(": 1, "<": 1, ")": -1, ">": -1}.get(character, 0)
            if depth == 0 and character in ")>" and not re.match(r"\s*(?:&&|\|\|)", text[position + 1 :]):
                return text[position + 1 :].strip()
    return text


def _entry(declaration: str, scope: str, doc: str, header: str, line: int) -> Entry | None:
    text = _without_template(declaration)
    kind, name = _declared(text, scope)
    if not name or name.startswith("_") or name in _HIDDEN:
        return None
    signature = declaration
    if kind == "function":
        signature = re.sub(r"\)\s*:\s.*$", ")", signature)
    noise = r"__device__|__host__|inline|static|__forceinline__" + (
        "|constexpr" if kind == "function" else ""
    )
    signature = re.sub(rf"\b(?:{noise})\s+", "", signature)
    if len(signature) > SIGNATURE_LIMIT:
        signature = f"{signature[: SIGNATURE_LIMIT - 1]}…"
    return Entry(name, scope, kind, signature, doc, header, line)


def _declared(text: str, scope: str) -> tuple[str, str]:
    """Kind and name of what a declaration declares; empty where it is none that is indexed."""
    if not text or text.startswith(("friend", "typedef", "asm", "static_assert", "return", "if")):
        return "", ""
    for pattern, kind in ((_CONCEPT, "concept"), (_USING, "type")):
        match = pattern.match(text)
        if match:
            return kind, match["name"]
    match = _TYPE.match(text)
    if match:
        return "type", match["name"]
    name = _function_name(text)
    if name:
        # Constructors and destructors are part of their type.
        return ("", "") if name == scope.rpartition("::")[2] else ("function", name)
    match = _VARIABLE.match(text)
    if match and "operator" not in text:
        return "variable", match["name"]
    return "", ""


def _function_name(text: str) -> str:
    if "operator" in text or text.startswith("using"):
        return ""
    depth = 0
    for position, character in enumerate(text):
        if character in "<[":
            depth += 1
        elif character in ">]" and text[position - 1] != "-":
            depth -= 1
        elif character == "=" and depth == 0:
            return ""
        elif character == "(" and depth == 0:
            match = re.search(r"(\w+)\s*$", text[:position])
            # `T name(` declares; `name(` alone is a constructor or a macro call.
            if match and match[1] not in _NOT_FUNCTIONS and not match[1].startswith("__"):
                return match[1] if text[: match.start()].strip() else ""
            # An attribute with arguments, such as __attribute__((...)): past it.
            if match and match[1].startswith("__"):
                end = _closing(text, position)
                return _function_name(text[end + 1 :].strip()) if end else ""
            return ""
    return ""


def _closing(text: str, position: int) -> int:
    depth = 0
    for end in range(position, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return end
    return 0


def _opened(declaration: str, entry: Entry | None) -> _Scope | None:
    """The scope that a `{` opens, None for a body that is passed over."""
    text = _without_template(declaration)
    namespace = _NAMESPACE.match(text)
    if namespace:
        parts = namespace["name"].split("::")
        return _Scope(namespace["name"], any(part in _HIDDEN for part in parts))
    if text in ("namespace", "extern", 'extern "C"'):
        return _Scope("", text == "namespace")
    match = _TYPE.match(text)
    if match and not match["key"].startswith("enum"):
        return _Scope(match["name"], match["name"] in _HIDDEN or match["name"].startswith("_"))
    return None


def lookup(word: str, found: Index | None = None) -> list[Entry]:
    """Entries of a name, those in `kittens` itself first."""
    known = found or index()
    return sorted((e for e in known.entries if e.name == word), key=lambda e: e.scope.count("::"))


def summary(found: Index) -> Mapping[str, int]:
    """How many entries there are of each kind."""
    counts: dict[str, int] = {}
    for entry in found.entries:
        counts[entry.kind] = counts.get(entry.kind, 0) + 1
    return counts
