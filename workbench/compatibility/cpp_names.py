"""The public names that C++ headers declare, read without a compiler: HipKittens' headers need ROCm's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_]\w*|::|->|\d[\w.]*|\.\.\.|[^\s\w]')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
OPENING, CLOSING = "([{", ")]}"
CLASSES = ("struct", "class", "union")
WITH_ARGUMENTS = (
    "alignas",
    "__attribute__",
    "__launch_bounds__",
    "decltype",
    "__asm",
    "noexcept",
    "explicit",
)
NO_NAMES = {"requires", "return", "if", "for", "while", "asm", "pragma", "static_assert", "unroll"}


@dataclass(frozen=True, order=True)
class Name:
    """A public name: the namespaces and classes around it, and what it is.

    Attributes:
        kind: "macro", "type", "concept", "function", "constant" or "variable".
        header: file, relative to the folder of the headers.
    """

    scope: str
    name: str
    kind: str
    header: str


@dataclass
class Scope:
    name: str
    is_class: bool
    is_public: bool = True


_MEMBER_FILES = r"ops/group/(?!group\.cuh)"
"""Headers that HipKittens includes inside of `kittens::group`."""
_BINDINGS = "pyutils/"
"""Host code, which is no part of the tile library."""


def public_names(folder: Path) -> list[Name]:
    """All distinct names in the headers (*.cuh) of a folder, without namespaces called `detail`."""
    names: dict[tuple[str, str], Name] = {}
    for path in sorted(folder.rglob("*.cuh")):
        header = path.relative_to(folder).as_posix()
        if header.startswith(_BINDINGS):
            continue
        text = COMMENT.sub(lambda m: "\n" * m[0].count("\n") or " ", path.read_text()).replace("\\\n", " ")
        is_member = re.match(_MEMBER_FILES, header) and "namespace kittens" not in text
        inside = "kittens::group" if is_member else ""
        for name in (*_macros(text, header), *_Reader(_without_directives(text), header, inside).names()):
            names.setdefault((name.scope, name.name), name)
    return sorted(names.values())


def _macros(text: str, header: str) -> Iterator[Name]:
    """Macros that are still defined at the end of the header."""
    ended = set(re.findall(r"^\s*#\s*undef\s+(\w+)", text, re.MULTILINE))
    for match in re.finditer(r"^\s*#\s*define\s+(\w+)", text, re.MULTILINE):
        if match[1] not in ended:
            yield Name("", match[1], "macro", header)


def _without_directives(text: str) -> str:
    """Text without directives and without parts that `#if 0` excludes; both branches of other conditions
    remain."""
    lines: list[str] = []
    off: list[bool] = []
    for line in text.split("\n"):
        directive = re.match(r"\s*#\s*(\w+)\s*(.*)", line)
        if directive is None:
            lines += [line] if not any(off) else []
        elif directive[1].startswith("if"):
            off.append(directive[1] == "if" and directive[2].strip() == "0")
        elif directive[1] == "else" and off:
            off[-1] = False
        elif directive[1] == "endif" and off:
            off.pop()
    return "\n".join(lines)


class _Reader:
    """Reads declarations in order; skips bodies of functions."""

    def __init__(self, text: str, header: str, inside: str) -> None:
        self.tokens = TOKEN.findall(text)
        self.at = 0
        self.header = header
        self.scopes = [Scope(part, False) for part in inside.split("::") if part]

    def names(self) -> Iterator[Name]:
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if token == "}":
                self.at += 1
                if self.scopes:
                    self.scopes.pop()
            elif token in ("public", "private", "protected") and self.tokens[self.at + 1] == ":":
                self.scopes[-1].is_public = token == "public"
                self.at += 2
            elif token == ";":
                self.at += 1
            else:
                yield from self._declaration()

    def _declaration(self) -> Iterator[Name]:
        words = _without_template(self._head())
        first = words[0] if words else ""
        if first == "namespace" or words[:2] == ["inline", "namespace"]:
            self._open("".join(w for w in words if w not in ("namespace", "inline")), False)
        elif first == "using" or first == "concept":
            yield from (
                self._found(words[1], "type" if first == "using" else "concept") if "=" in words else ()
            )
            self._skip_to_semicolon()
        elif first == "typedef":
            # The name is the last word, after a body if there is one, and before attributes.
            words = words if self._next() == ";" else self._behind_body()
            plain = words[: words.index("__attribute__")] if "__attribute__" in words else words
            yield from self._found([w for w in plain if IDENTIFIER.fullmatch(w)][-1], "type")
            self._skip_to_semicolon()
        elif self._next() == "{" and "enum" in words[:2]:
            yield from self._found(next(w for w in words if w not in ("enum", "class")), "type")
            self._skip_body()
        elif self._next() == "{" and set(words[:3]) & set(CLASSES) and "=" not in words:
            name, specialized = _class_name(words)
            yield from self._found(name, "type") if name and not specialized else ()
            self._open(name, True)
        elif self._next() == ";" and set(words[:2]) & set(CLASSES) and not set(words) & {"(", "="}:
            self.at += 1
        else:
            yield from self._function_or_variable(words)
            self._skip_body() if self._next() == "{" else self._skip_to_semicolon()

    def _function_or_variable(self, words: Sequence[str]) -> Iterator[Name]:
        if "operator" in words:
            at = words.index("operator") + 1
            end = next((i for i in range(at + 1, len(words)) if words[i] == "("), len(words))
            if not IDENTIFIER.fullmatch(words[at]):  # a conversion has no name
                yield from self._found("operator" + "".join(words[at:end]), "function")
            return
        names, is_function = _declared(words)
        of_class = self.scopes[-1].name if self.scopes and self.scopes[-1].is_class else None
        constant = "constexpr" in words or "const" in words
        for name in names:
            if name not in NO_NAMES and name != of_class and "~" not in words:
                yield from self._found(
                    name, "function" if is_function else "constant" if constant else "variable"
                )

    def _found(self, name: str, kind: str) -> Iterator[Name]:
        if all(s.is_public and s.name != "detail" for s in self.scopes):
            yield Name("::".join(s.name for s in self.scopes if s.name), name, kind, self.header)

    def _head(self) -> list[str]:
        """Tokens of a declaration up to its body or end, which is the next token."""
        words, depth = [], 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            if depth == 0 and token in (";", "{", "}"):
                break
            depth += (token in OPENING) - (token in CLOSING)
            words.append(token)
            self.at += 1
        return words

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ";"

    def _open(self, name: str, is_class: bool) -> None:
        self.scopes.append(Scope(name, is_class))
        self.at += 1

    def _skip_body(self) -> None:
        depth = 0
        while self.at < len(self.tokens):
            token = self.tokens[self.at]
            depth += (token == "{") - (token == "}")
            self.at += 1
            if depth == 0:
                return

    def _behind_body(self) -> list[str]:
        self._skip_body()
        return self._head()

    def _skip_to_semicolon(self) -> None:
        while self.at < len(self.tokens) and self.tokens[self.at] != ";":
            if self.tokens[self.at] == "{":
                self._skip_body()
            else:
                self.at += 1
        self.at += 1


def _without_template(words: list[str]) -> list[str]:
    while words[:2] == ["template", "<"]:
        words = words[_behind_angles(words, 1) :]
    return words


def _behind_angles(words: Sequence[str], at: int) -> int:
    """Index behind the template arguments that begin at `at`."""
    angles = brackets = 0
    for i in range(at, len(words)):
        brackets += (words[i] in OPENING) - (words[i] in CLOSING)
        if brackets == 0 and words[i] in "<>" and words[i - 1] != "-":
            angles += 1 if words[i] == "<" else -1
            if angles == 0:
                return i + 1
    return len(words)


def _behind_brackets(words: Sequence[str], at: int) -> int:
    depth = 0
    for i in range(at, len(words)):
        depth += (words[i] in OPENING) - (words[i] in CLOSING)
        if depth == 0:
            return i + 1
    return len(words)


def _class_name(words: Sequence[str]) -> tuple[str, bool]:
    """A class's name, and whether it is a specialization."""
    at = next(i for i, w in enumerate(words) if w in CLASSES) + 1
    while at < len(words):
        if words[at] in (*WITH_ARGUMENTS, "KITTENS_ALIGN_AS"):
            at = _behind_brackets(words, at + 1)
        elif words[at] == "KITTENS_DEFAULT_ALIGN":
            at += 1
        else:
            return words[at], words[at + 1 : at + 2] == ["<"]
    return "", False


def _next_declarator(words: Sequence[str], at: int) -> int:
    """Index of the comma before the next name in a declaration, after the initialiser of the current one."""
    while at < len(words):
        if words[at] in OPENING:
            at = _behind_brackets(words, at)
        elif words[at] == "," and (words[at + 2 : at + 3] or ["="])[0] in ("=", ","):
            return at
        else:
            at += 1
    return at


def _declared(words: Sequence[str]) -> tuple[list[str], bool]:
    """The names that a declaration declares in its own scope, and whether they are functions."""
    names: list[str] = []
    name, at = "", 0  # a name in another scope counts as none
    while at < len(words):
        word = words[at]
        if word in WITH_ARGUMENTS and words[at + 1 : at + 2] == ["("]:
            at = _behind_brackets(words, at + 1)
        elif word == "<" and IDENTIFIER.fullmatch(words[at - 1]):
            at = _behind_angles(words, at)
        elif word == "(":
            return [name] if name else [], True
        elif word in ("=", "[", ":"):
            at = _next_declarator(words, at)
        elif word == ",":
            names.append(name)
            at += 1
        else:
            if IDENTIFIER.fullmatch(word):
                name = word if words[at - 1 : at] != ["::"] else ""
            at += 1
    return [n for n in (*names, name) if n], False
