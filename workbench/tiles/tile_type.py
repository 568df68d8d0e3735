"""Parses C++ tile types such as `st_bf<64, 64, st_16x32_s>`.

The names (aliases, base shapes, layouts) are read from the tile library's own headers, so that the valid
types here are those of the compiler.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from workbench.errors import UsageError
from workbench.paths import include_dir

_ALIAS = re.compile(r"^using (\w+) = (st|rt|sv|rv)<(\w+),", re.M)
_NAMED = re.compile(r"^using (\w+) = ducks::(st_shape|rt_shape|rt_layout|rv_layout)::(\w+);", re.M)
_TYPE = re.compile(r"\s*(?:kittens::)?(\w+)\s*<(.*)>\s*(?:::\s*(row_vec|col_vec))?\s*", re.S)
_SHAPE_TEMPLATES = ("rt_shape", "rt_rows_s")
_WORDS = {"st": "shared tile", "rt": "register tile", "sv": "shared vector", "rv": "register vector"}
_PARAMETERS = {
    "st": "rows, columns and a base shape",
    "rt": "rows, columns, a layout and a base shape",
    "sv": "a length",
    "rv": "a length, a layout and a base shape",
}


@dataclass(frozen=True)
class Vocabulary:
    """Names that the tile library's headers define.

    Attributes:
        aliases: kind ("st", "rt", "sv", "rv") and C++ element type by alias, such as "st_bf".
        names: names by kind: "st_shape", "rt_shape", "rt_layout", "rv_layout".
    """

    aliases: dict[str, tuple[str, str]]
    names: dict[str, tuple[str, ...]]

    def listed(self, kinds: Sequence[str]) -> str:
        """The types, parameters and base shapes that a tile of these kinds may have, as text."""
        parts = []
        for kind in kinds:
            aliases = ", ".join(alias for alias, (of, _) in self.aliases.items() if of == kind)
            parts.append(f"{_WORDS[kind]}s {aliases} with {_PARAMETERS[kind]}")
        if "st" in kinds:
            parts.append(f"base shapes of shared tiles {', '.join(self.names['st_shape'])}")
        if "rt" in kinds or "rv" in kinds:
            parts.append(f"base shapes of register tiles {', '.join(self.names['rt_shape'])}")
        if "rt" in kinds:
            parts.append(f"layouts {', '.join(self.names['rt_layout'])}")
        if "rv" in kinds:
            parts.append(
                f"layouts of vectors {', '.join(self.names['rv_layout'])}, or a tile's ::row_vec or ::col_vec"
            )
        return "; ".join(parts)


@cache
def vocabulary() -> Vocabulary:
    """Names that the headers under kernels/include/types define."""
    aliases: dict[str, tuple[str, str]] = {}
    names: dict[str, tuple[str, ...]] = {"st_shape": (), "rt_shape": (), "rt_layout": (), "rv_layout": ()}
    for header in sorted((include_dir() / "types").rglob("*.cuh")):
        text = header.read_text(encoding="utf-8")
        aliases.update({alias: (kind, element) for alias, kind, element in _ALIAS.findall(text)})
        for name, kind, target in _NAMED.findall(text):
            if name != target:
                names[kind] += (name,)
    return Vocabulary(aliases, names)


@dataclass(frozen=True)
class TileType:
    """A tile or vector type.

    Attributes:
        kind: "st", "rt", "sv" or "rv".
        element: C++ name of its element type, such as "bf16".
        rows, cols: dimensions; a vector is one row, a tile's col_vec one column.
        text: the type in C++.
    """

    kind: str
    element: str
    rows: int
    cols: int
    text: str

    @property
    def is_vector(self) -> bool:
        return self.kind in ("sv", "rv")

    @property
    def is_shared(self) -> bool:
        return self.kind in ("st", "sv")

    @property
    def word(self) -> str:
        """Text such as "shared tile"."""
        return _WORDS[self.kind]

    @classmethod
    def parse(cls, text: str, kinds: Sequence[str] = ("st", "rt", "sv", "rv")) -> TileType:
        """Parses the text of a type.

        Args:
            text: type, such as "st_bf<64, 64, st_16x32_s>", "rt<float, 32, 32, col_l>" or "rt_bf<16,
                64>::row_vec".
            kinds: accepted kinds of types.

        Raises:
            UsageError: the text is not such a type; the message gives the fault and lists the valid types.
        """
        library = vocabulary()

        def wrong(why: str) -> UsageError:
            return UsageError(f"{text!r}: {why}. Valid are {library.listed(kinds)}.")

        match = _TYPE.fullmatch(text) if isinstance(text, str) else None
        if match is None:
            raise wrong(
                "not a tile type; expected a name with its dimensions, such as st_bf<64, 64, st_16x32_s>"
            )
        name, inside, vector = match.groups()
        arguments = _split(inside)
        if name in _WORDS:
            kind, element = name, arguments[0] if arguments else ""
            elements = sorted({element for _, element in library.aliases.values()})
            if element not in elements:
                raise wrong(f"{element!r} is not an element type; there are {', '.join(elements)}")
            arguments = arguments[1:]
        elif name in library.aliases:
            kind, element = library.aliases[name]
        else:
            raise wrong(f"there is no type {name}")
        if vector is not None and kind != "rt":
            raise wrong(f"only register tiles have a {vector}")
        got = "rv" if vector is not None else kind
        if got not in kinds:
            raise wrong(f"a {_WORDS[got]}; expected a {' or '.join(_WORDS[k] for k in kinds)}")
        count = 1 if kind in ("sv", "rv") else 2
        sizes = arguments[:count]
        if len(sizes) < count or not all(size.isdecimal() and int(size) > 0 for size in sizes):
            dimensions = ", ".join(sizes) or "nothing"
            raise wrong(
                f"its dimensions are {dimensions}; expected {count} positive number{'s' * (count > 1)}"
            )
        _check_rest(kind, arguments[count:], library, wrong)
        rows, cols = (1, int(sizes[0])) if count == 1 else (int(sizes[0]), int(sizes[1]))
        if vector is not None:
            rows, cols = (1, cols) if vector == "row_vec" else (rows, 1)
        clean = f"{name}<{', '.join(_split(inside))}>" + (f"::{vector}" if vector else "")
        return cls(got, element, rows, cols, clean)


def _check_rest(kind: str, rest: Sequence[str], library: Vocabulary, wrong: object) -> None:
    """Layout and base shape are names of the library."""
    assert callable(wrong)
    categories = {
        "st": ("st_shape",),
        "rt": ("rt_layout", "rt_shape"),
        "sv": (),
        "rv": ("rv_layout", "rt_shape"),
    }[kind]
    if len(rest) > len(categories):
        raise wrong(f"{len(rest) - len(categories)} arguments too many: {', '.join(rest[len(categories) :])}")
    for argument, category in zip(rest, categories, strict=False):
        head, bracket, _ = argument.partition("<")
        template = category == "rt_shape" and bracket and head.strip() in _SHAPE_TEMPLATES
        if not template and argument not in library.names[category]:
            word = {"st_shape": "base shape of shared tiles", "rt_shape": "base shape of register tiles"}
            raise wrong(f"{argument!r} is not a {word.get(category, 'layout')}")


def _split(text: str) -> list[str]:
    """Template arguments: commas outside brackets separate them."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "<(") - (character in ">)")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [" ".join(part.split()) for part in parts if part.strip()]
