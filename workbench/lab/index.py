"""Names of the tile library with signature and documentation, read from its own headers.

Completion and hover need them where no clangd is installed. The headers are the one source: tree-sitter
parses them, namespaces and structs are followed, bodies are passed over, and what it does not understand is
left out.
"""

from __future__ import annotations

import hashlib
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import tree_sitter_cpp
from tree_sitter import Language, Node, Parser

from workbench.lab import sentences
from workbench.lab.doxygen import tidy
from workbench.lab.entry import Entry
from workbench.paths import include_dir

SIGNATURE_LIMIT = 400
"""Characters of a signature that are kept."""


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
    digest.update(Path(sentences.__file__).read_bytes())
    return Index(digest.hexdigest()[:16], tuple(sentences.completed(entries)))


def lookup(word: str, library: Index | None = None) -> list[Entry]:
    """Entries of a name, those in `kittens` itself first."""
    searched = library or index()
    return sorted((e for e in searched.entries if e.name == word), key=lambda e: e.scope.count("::"))


def summary(library: Index) -> Mapping[str, int]:
    """Number of entries of each kind."""
    counts: dict[str, int] = {}
    for entry in library.entries:
        counts[entry.kind] = counts.get(entry.kind, 0) + 1
    return counts


_DOC_LINE = re.compile(r"^[ \t]*\*? ?", re.MULTILINE)


def doc_text(comment: str) -> str:
    """Text of a `/** */` or `///` comment, as `doxygen.tidy` gives it."""
    if comment.startswith("///"):
        body = re.sub(r"^\s*///<? ?", "", comment, flags=re.MULTILINE)
    else:
        body = _DOC_LINE.sub("", comment[3:-2])
    return tidy(textwrap.dedent(body))


def read_header(text: str, header: str) -> list[Entry]:
    """Entries of one header.

    Args:
        text: the header.
        header: its name as it is included.
    """
    source = text.encode()
    reader = _Reader(source, header)
    reader.read(_parser().parse(_ADDED.sub(_blank, source)).root_node, ())
    return reader.entries


@cache
def _parser() -> Parser:
    return Parser(Language(tree_sitter_cpp.language()))


_ADDED = re.compile(
    rb"(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<directive>^[ \t]*\#(?:[^\n\\]|\\.)*)"
    rb"|^[ \t]*[A-Z][A-Z0-9_]*\([^()\n]*\)[ \t]*;?$"
    rb"|\b(?:__(?:device|host|global|shared|constant|forceinline|noinline)__"
    rb"|KITTENS_\w*ALIGN\w*(?:\(\d+\))?"
    rb"|(?:__launch_bounds__|__attribute__|alignas)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))",
    re.DOTALL | re.MULTILINE,
)
"""Keywords and declaration macros of HIP and the library that the C++ parser does not know."""


def _blank(match: re.Match[bytes]) -> bytes:
    """Blanks for what the parser does not know, so that every place stays."""
    whole, start = match[0], b""
    if match["comment"]:
        return whole
    if match["directive"]:
        # A directive's first line is enough: a comment in a macro's body would end it for the parser.
        start, continued, _ = whole.partition(b"\\\n")
        start += b"1" if continued else b""
    return start + re.sub(rb"[^\n]", b" ", whole[len(start) :])


_UNSAID = re.compile(
    r"\b(?:__(?:device|host|global|shared|forceinline)__|inline|static"
    r"|alignas\s*\([^)]*\)|KITTENS_\w*ALIGN\w*(?:\(\d+\))?|__attribute__\s*\(\(always_inline\)\))\s+"
    r"|\[\[[^\]]*\]\]\s*"
)
"""Words that are left out of signatures."""

_HIDDEN = frozenset({"detail", "identifier"})
_TYPES = frozenset({"struct_specifier", "class_specifier", "union_specifier", "enum_specifier"})
_DECLARATIONS = frozenset({"declaration", "field_declaration", "function_definition"})
_INSIDE = frozenset(
    {
        *("translation_unit", "declaration_list", "field_declaration_list", "linkage_specification", "ERROR"),
        *("preproc_if", "preproc_ifdef", "preproc_else", "preproc_elif", "preproc_elifdef"),
    }
)
"""Nodes that only hold others."""


class _Reader:
    """Goes through a header from top to bottom.

    Attributes:
        entries: found so far.
    """

    def __init__(self, source: bytes, header: str) -> None:
        self.entries: list[Entry] = []
        self._source = source
        self._header = header
        self._doc = ""
        # A doc comment counts for the declarations that follow it without an empty line.
        self._doc_lasts_to = -1

    def read(self, node: Node, scope: tuple[str, ...]) -> None:
        """Reads what stands in a node, in a namespace or struct."""
        for child in node.children:
            if child.type == "comment":
                self._comment(child)
            elif child.type in ("preproc_def", "preproc_function_def"):
                self._macro(child)
            elif child.type in _INSIDE:
                self.read(child, scope)
            elif child.type == "namespace_definition":
                self._namespace(child, scope)
            else:
                self._declaration(child, scope)

    def _comment(self, node: Node) -> None:
        text = _text(node)
        if re.match(r"/\*\*(?!/)", text) or re.match(r"///(?!/)", text):
            continued = self._doc.startswith("///") and text.startswith("///") and self._lasts_to(node)
            self._doc = f"{self._doc}\n{text}" if continued else text
            self._doc_lasts_to = _last_line(node)

    def _lasts_to(self, node: Node) -> bool:
        return self._doc_lasts_to >= _line(node) - 1

    def _macro(self, node: Node) -> None:
        name = node.child_by_field_name("name")
        # An undocumented macro is internal to the library.
        if name is not None and self._lasts_to(node) and self._doc:
            parameters = node.child_by_field_name("parameters")
            signature = _text(name) + (_text(parameters) if parameters is not None else "")
            self._add(_text(name), (), "macro", signature, node)

    def _namespace(self, node: Node, scope: tuple[str, ...]) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        names = _text(name).split("::") if name is not None else []
        if body is not None and names and not _HIDDEN & set(names):
            self._doc = ""
            self.read(body, (*scope, *names))

    def _declaration(self, node: Node, scope: tuple[str, ...]) -> None:
        inner = _without_template(node)
        kind, name = _declared(inner)
        if not name:
            return
        if not self._lasts_to(node):
            self._doc = ""
        hidden = name.startswith("_") or name in _HIDDEN
        body = _body(inner)
        if not hidden:
            self._add(name, scope, kind, self._signature(node, body, kind), node)
        # A body on one line leaves its group open for the next; a longer one ends it.
        self._doc_lasts_to = _line(body) if body is not None else _last_line(node)
        if kind == "type" and body is not None and body.type == "field_declaration_list" and not hidden:
            self._doc = ""
            self.read(body, (*scope, name))

    def _signature(self, node: Node, body: Node | None, kind: str) -> str:
        end = body.start_byte if body is not None else node.end_byte
        words = " ".join(self._source[node.start_byte : end].decode().split()).rstrip("; ")
        signature = _UNSAID.sub("", words)
        return re.sub(r"\bconstexpr\s+", "", signature) if kind == "function" else signature

    def _add(self, name: str, scope: tuple[str, ...], kind: str, signature: str, node: Node) -> None:
        if len(signature) > SIGNATURE_LIMIT:
            signature = f"{signature[: SIGNATURE_LIMIT - 1]}…"
        doc = doc_text(self._doc) if self._doc else ""
        self.entries.append(Entry(name, "::".join(scope), kind, signature, doc, self._header, _line(node)))


def _text(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _line(node: Node) -> int:
    return node.start_point.row + 1


def _last_line(node: Node) -> int:
    # A line comment may end at the start of the next line.
    return node.end_point.row + (node.end_point.column > 0)


def _without_template(node: Node) -> Node:
    while node.type == "template_declaration":
        node = node.named_children[-1]
    # `struct x;` in a struct is a field without a declarator.
    kind = node.child_by_field_name("type")
    if kind is not None and kind.type in _TYPES and node.child_by_field_name("declarator") is None:
        return kind
    return node


def _body(node: Node) -> Node | None:
    initialisers = (child for child in node.children if child.type == "field_initializer_list")
    return next(initialisers, node.child_by_field_name("body"))


def _declared(node: Node) -> tuple[str, str]:
    """Kind and name of what a node declares; empty where it is nothing that is indexed."""
    name = node.child_by_field_name("name")
    if node.type in _TYPES and name is not None:
        return "type", _text(name).partition("<")[0].rpartition("::")[2].strip()
    if node.type in ("alias_declaration", "concept_definition") and name is not None:
        return ("type" if node.type == "alias_declaration" else "concept"), _text(name)
    declarator = node.child_by_field_name("declarator")
    # What has no type is a constructor, part of its struct.
    if node.type not in _DECLARATIONS or declarator is None or node.child_by_field_name("type") is None:
        return "", ""
    declarators = list(_declarators(declarator))
    last = declarators[-1]
    if last.type not in ("identifier", "field_identifier"):
        return "", ""
    if any(inner.type == "function_declarator" for inner in declarators):
        return "function", _text(last)
    constant = any(child.type in ("storage_class_specifier", "type_qualifier") for child in node.children)
    return ("variable", _text(last)) if constant else ("", "")


def _declarators(node: Node) -> Iterator[Node]:
    """A declarator and those inside it, down to the name."""
    inner: Node | None = node
    while inner is not None:
        yield inner
        following = inner.child_by_field_name("declarator") or inner.child_by_field_name("name")
        if following is None and inner.type == "reference_declarator":
            following = inner.named_children[-1]
        inner = following
