"""The tile library's functions as its headers declare them, and the headers that a cell can include.

clangd shows a template's instance, and assigns a comment over several functions only to the first. This
module reads the declarations as they are written, to complete clangd's answers and for the page of
operations.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from workbench.lab import sentences
from workbench.lab.doxygen import tidy
from workbench.paths import hip_include_dir, include_dir


@dataclass(frozen=True, slots=True)
class Function:
    """A function of the library.

    Attributes:
        name: name without its namespace.
        signature: its declaration on one line, without words such as `inline`.
        parameters: the part of the signature in parentheses, including these.
        doc: its documentation, cleaned by `doxygen.tidy`.
        header: the header's name in an include directive.
        line: line of its name in the header, from 1.
    """

    name: str
    signature: str
    parameters: str
    doc: str
    header: str
    line: int


_NESTED = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_REQUIRES = rf"(?:requires\s*(?:requires\s*{_NESTED}\s*\{{[^{{}}]*\}}|{_NESTED})\s*)"
_FUNCTION = re.compile(
    rf"(?P<declaration>(?:\btemplate\s*<[^;{{}}]*?>\s*{_REQUIRES}?)?(?:\[\[\w+\]\]\s*)?(?:\w+\s+)*"
    r"__device__\b(?P<result>(?:[^;{}()=]|__attribute__\s*\(\([^()]*\)\))*?)"
    rf"\b(?P<name>[A-Za-z]\w*)\s*(?P<parameters>{_NESTED}))[^;{{}}]*[;{{]"
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_HIDDEN = re.compile(
    r"^[ \t]*#(?:[^\n\\]|\\.)*|^namespace (?:kittens::)?detail \{.*?^\} // namespace (?:kittens::)?detail",
    re.DOTALL | re.MULTILINE,
)
_UNSAID = re.compile(
    r"\b(?:__\w+__|inline|static|constexpr|explicit)\s+|\[\[[^\]]*\]\]\s*|__attribute__\s*\(\([^()]*\)\)\s*"
)


def functions(folder: Path | None = None) -> tuple[Function, ...]:
    """Functions of the headers in a folder, or in the tile library's for None; in their order."""
    root = folder or include_dir()
    files = sorted(root.rglob("*.cuh"))
    return _read(root, tuple((path, path.stat().st_mtime_ns) for path in files))


@lru_cache(maxsize=2)
def _read(root: Path, stamp: tuple[tuple[Path, int], ...]) -> tuple[Function, ...]:
    return tuple(
        function
        for path, _ in stamp
        for function in read_header(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
    )


def read_header(text: str, header: str) -> list[Function]:
    """Functions of one header.

    Args:
        text: the header.
        header: its name as it is included.
    """
    comments = {_line(text, match.end()): match for match in _COMMENT.finditer(text)}
    code = _COMMENT.sub(_blank, _HIDDEN.sub(_blank, text))
    found = []
    doc, last = "", 0
    for match in _FUNCTION.finditer(code):
        first = _line(code, match.start())
        # One comment serves the functions that follow each other without an empty line.
        if first > last + 1:
            doc = ""
        doc = _doc(text, comments, first - 1) or doc
        last = _line(code, match.end())
        # A constructor has no result, and nobody calls an operator by name.
        if match["name"] in ("operator", "__attribute__") or not _UNSAID.sub("", match["result"]).strip():
            continue
        words = " ".join(match["declaration"].split())
        found.append(
            Function(
                match["name"],
                _UNSAID.sub("", words),
                _UNSAID.sub("", " ".join(match["parameters"].split())),
                doc,
                header,
                _line(code, match.start("name")),
            )
        )
    return [replace(function, doc=_completed(function, found)) for function in found]


def _completed(function: Function, alike: list[Function]) -> str:
    """Its documentation, or that of the nearest overload, or a sentence on the name."""
    overloads = [other for other in alike if other.name == function.name and other.doc]
    nearest = min(overloads, key=lambda other: abs(other.line - function.line), default=function)
    return sentences.completed(function.name, function.doc or nearest.doc)


def at(header: str, line: int) -> Function | None:
    """The function whose declaration a line of a header belongs to; None if there is none.

    Args:
        header: the header's name in an include directive.
        line: line from 1.
    """
    return next((f for f in functions() if f.header == header and f.line == line), None)


def headers() -> tuple[str, ...]:
    """Headers that a cell can include: the tile library's, the one of all first, then HIP's."""

    def names_in(folder: Path, pattern: str) -> list[str]:
        paths = (path.relative_to(folder).as_posix() for path in folder.rglob(pattern))
        return sorted(paths, key=lambda name: (name.count("/"), name))

    hip = [
        name
        for name in names_in(hip_include_dir(), "*.h")
        if name.startswith(("hip/", "hipcub/", "hiprand/"))
    ]
    return (*names_in(include_dir(), "*.cuh"), *(name for name in hip if name.count("/") == 1))


def _doc(text: str, comments: dict[int, re.Match[str]], line: int) -> str:
    """The doc comment that ends on a line."""
    comment = comments.get(line)
    if comment is None or not re.match(r"/\*\*|///", comment[0]):
        return ""
    if comment[0].startswith("/**"):
        return tidy(re.sub(r"^[ \t]*\*? ?", "", comment[0][3:-2], flags=re.MULTILINE))
    lines: list[str] = []
    while (comment := comments.get(line)) is not None and comment[0].startswith("///"):
        lines.insert(0, comment[0][3:].removeprefix(" "))
        line -= 1
    return tidy("\n".join(lines))


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
