"""Functions that a HipKittens module binds, read from its source: their names and the tensors they take."""

from __future__ import annotations

import re
from dataclasses import dataclass

from workbench.audit.sizes import value

_BINDING = re.compile(r'py::bind_\w+<.*?>\(\s*\w+,\s*"(\w+)",([^;]*)\);', re.DOTALL)
_MEMBER = re.compile(r"::(\w+)\s*(?=[,)])")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Signature:
    """A bound function.

    Attributes:
        function: its name in Python.
        members: the members of the kernel's arguments that its parameters fill, in order.
    """

    function: str
    members: tuple[str, ...]


def signatures(text: str) -> list[Signature]:
    """The functions that a source binds with HipKittens' `bind_function` or `bind_kernel`."""
    code = _COMMENT.sub("", text)
    return [
        Signature(function, tuple(_MEMBER.findall(f"{members})")))
        for function, members in _BINDING.findall(code)
    ]


def constant(text: str, *names: str) -> int | None:
    """Value of the first of these constants or macros that a source defines; None if it defines none."""
    number = r"\(?(\d+(?:\s*\*\s*\d+)*)"
    for name in names:
        head = rf"^\s*(?:#define\s+{name}\s+|(?:static\s+)?constexpr\s+int\s+{name}\s*=\s*)"
        if match := re.search(head + number, text, re.MULTILINE):
            return value(match[1])
    return None


def defaults(text: str, rules: str) -> tuple[str, ...]:
    """Words for `make` with a source's own defaults where its Makefile, which builds others too, differs.

    Such as "ATTN_D=64" for a source with `#ifndef ATTN_D` and 64, and a Makefile with `ATTN_D ?= 128`.
    """
    words = []
    for name, number in re.findall(r"^(\w+)\s*\?=\s*(\d+)\s*$", rules, re.MULTILINE):
        default = constant(text, name) if f"#ifndef {name}\n" in text else None
        if default not in (None, int(number)) and f"-D{name}=$({name})" in rules:
            words.append(f"{name}={default}")
    return tuple(words)


__all__ = ["Signature", "constant", "defaults", "signatures"]
