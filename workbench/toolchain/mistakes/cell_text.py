"""A source for the explanations of mistakes: places, calls and declarations, without a parser.

The text does not compile, so only small pieces are looked for: the call at a place, the arguments between two
brackets, the declaration of a name. A piece that is not found is left out of the explanation.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass

_PASSED_OVER = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'", re.DOTALL)
_NAME = re.compile(r"\w+$")
_OPENING, _CLOSING = "([{<", ")]}>"


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of the source from offset `start` to before `end`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call, such as `mma_AB(d, a, b, d)`: its name, the text between its brackets, and all of it."""

    name: str
    arguments: tuple[Span, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Declared:
    """Type in the declaration of a name.

    Attributes:
        type: the type, as it is written.
        alone: True if the declaration declares nothing else.
    """

    type: Span
    alone: bool


class Cell:
    """The text of a source.

    Args:
        text: the source.
        first_line: number of its first line.

    Attributes:
        code: the text with blanks instead of comments and quoted text, at the same offsets.
    """

    def __init__(self, text: str, first_line: int = 1) -> None:
        self.text = text
        self.lines = text.split("\n")
        self.first_line = first_line
        self.code = _PASSED_OVER.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)
        self._starts = [0]
        for line in self.lines:
            self._starts.append(self._starts[-1] + len(line) + 1)

    def offset(self, line: int, column: int) -> int | None:
        """Offset of a place, None if it does not exist."""
        row = line - self.first_line
        if not 0 <= row < len(self.lines) or column < 1:
            return None
        return self._starts[row] + min(column - 1, len(self.lines[row]))

    def line_and_column(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset."""
        row = bisect_right(self._starts, offset) - 1
        return row + self.first_line, offset - self._starts[row] + 1

    def line(self, number: int) -> str:
        """Text of a line, "" if there is none."""
        row = number - self.first_line
        return self.lines[row] if 0 <= row < len(self.lines) else ""

    def call(self, offset: int) -> Call | None:
        """The call whose name, or whose callee `x.f`, `f<n>`, is at an offset."""
        match = re.compile(r"[\w.:]*?(\w+)\s*").match(self.code, offset)
        while match and self.code[match.end() :][:1] in (":", "."):
            match = re.compile(r"[\w.:]*?(\w+)\s*").match(self.code, match.end() + 1)
        if not match:
            return None
        at = match.end()
        if self.code[at : at + 1] == "<":
            closed = self.closing(at)
            if closed is None:
                return None
            at = closed + 1
            while self.code[at : at + 1].isspace():
                at += 1
        if self.code[at : at + 1] != "(":
            return None
        end = self.closing(at)
        if end is None:
            return None
        return Call(match[1], self.split(at), Span(offset, end + 1, self.text[offset : end + 1]))

    def closing(self, opening: int) -> int | None:
        """Offset of the bracket that closes the one at an offset, None if there is none."""
        depth = 0
        angles = self.code[opening] == "<"
        for at in range(opening, min(len(self.code), opening + 4000)):
            letter = self.code[at]
            if letter in "([{" or (angles and letter == "<"):
                depth += 1
            elif letter in ")]}" or (angles and letter == ">"):
                depth -= 1
                if not depth:
                    return at
        return None

    def statement(self, offset: int) -> tuple[int, int]:
        """Start and end of the statement, or of the list of parameters, that a place is in."""
        start = max(self.code.rfind(mark, 0, offset) for mark in ";{}") + 1
        depth = 0
        for at in range(offset, len(self.code)):
            letter = self.code[at]
            depth += (letter in "([{") - (letter in ")]}")
            if depth < 0 or (letter == ";" and not depth):
                return start, at
        return start, len(self.code)

    def scope_end(self, offset: int) -> int:
        """Offset up to which a name that is declared at a place may be used."""
        depth = 0
        for at in range(offset - 1, -1, -1):
            letter = self.code[at]
            depth += (letter in ")]}") - (letter in "([{")
            if depth < 0:
                break
        else:
            return len(self.code)
        end = self.closing(at)
        if end is not None and letter != "{":
            # A parameter, or the head of a loop: the block or the statement behind it.
            rest = re.compile(r"[^;{]*").match(self.code, end)
            last = rest.end() if rest else end
            end = self.closing(last) if self.code[last : last + 1] == "{" else last
        return len(self.code) if end is None else end

    def split(self, opening: int) -> tuple[Span, ...]:
        """Spans between the commas of the brackets that open at an offset."""
        end = self.closing(opening)
        if end is None:
            return ()
        parts = pieces(self.code[opening + 1 : end])
        spans = []
        at = opening + 1
        for part in parts:
            start = at + len(part) - len(part.lstrip())
            stop = max(start, at + len(part.rstrip()))
            spans.append(Span(start, stop, self.text[start:stop]))
            at += len(part) + 1
        return tuple(spans) if self.code[opening + 1 : end].strip() else ()

    def declaration(self, name: str, before: int) -> Declared | None:
        """The last declaration of a name before an offset."""
        if not name.isidentifier():
            return None
        for match in reversed(list(re.finditer(rf"\b{name}\b", self.code[:before]))):
            declared = self._declares(match.start(), match.end())
            if declared:
                return declared
        return None

    def _declares(self, start: int, end: int) -> Declared | None:
        after = self.code[end:].lstrip()[:1]
        if after not in (";", ",", "=", "{", "[", ")"):
            return None
        first = max((self.code.rfind(mark, 0, start) for mark in (";", "{", "}", "(")), default=-1) + 1
        before = self.code[first:start].rstrip(" \t\n&*")
        others = len(pieces(before)) > 1 or after == ","
        if others:
            # The type precedes the first name, or for a parameter its own name.
            parts = pieces(before)
            if self.code[first - 1 : first] == "(":
                first += sum(len(part) + 1 for part in parts[:-1])
                before, others = parts[-1], False
            else:
                first_part = re.match(r"(.*\S)\s+\w+\s*$", parts[0], re.DOTALL) if len(parts) > 1 else None
                before = first_part[1] if first_part else before
        type_end = first + len(before.rstrip(" \t\n&*"))
        type_start = self._type_start(type_end)
        if type_start is None or type_start < first:
            return None
        text = self.text[type_start:type_end]
        if text in ("return", "typename", "using", "struct", "class", "const", "else", "goto", "case"):
            return None
        return Declared(Span(type_start, type_end, text), not others)

    def _type_start(self, end: int) -> int | None:
        """Start of the type that ends at an offset: `a::b<c>::d`."""
        at, begins = end, None
        while True:
            if self.code[at - 1 : at] == ">":
                depth = 0
                while at > 0:
                    at -= 1
                    depth += {">": 1, "<": -1}.get(self.code[at], 0)
                    if not depth:
                        break
            name = _NAME.search(self.code[max(0, at - 120) : at])
            if not name:
                return begins
            at = begins = at - len(name[0])
            if self.code[at - 2 : at] != "::":
                return begins
            at -= 2


def pieces(text: str) -> list[str]:
    """A text split at its commas, except those in brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(text):
        if letter in _OPENING:
            depth += 1
        elif letter in _CLOSING:
            depth -= 1
        elif letter == "," and depth <= 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
