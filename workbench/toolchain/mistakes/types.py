"""Types of tiles: from clang's spelling to a kernel's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from workbench.dtypes import bare, spelled
from workbench.paths import include_dir
from workbench.toolchain.mistakes.cell_text import pieces

_SHORT = {"bf16": "bf", "float": "fl", "half": "hf"}
_SPACES = re.compile(r"\b(?:kittens|ducks|detail|rt_layout|rt_shape|st_shape|st|rt|rv_layout|gl)::")


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile or vector.

    Attributes:
        kind: "rt", "st", "art", "rv" or "sv".
        element: element type, such as "bf16".
        rows: number of rows; 1 for a vector.
        cols: number of columns; a vector's length.
        layout: "row_l", "col_l"; "" if it has none.
        shape: name of its base shape, "rt_16x16_s"; "" if unknown.
    """

    kind: str
    element: str
    rows: int
    cols: int
    layout: str = ""
    shape: str = ""

    @property
    def base(self) -> tuple[int, int] | None:
        """Rows and columns of the base shape."""
        match = re.match(r"[rs]t_(\d+)x(\d+)", self.shape)
        return (int(match[1]), int(match[2])) if match else None

    def __str__(self) -> str:
        short = _SHORT.get(self.element)
        size = f"{self.rows}, {self.cols}" if self.kind in ("rt", "st", "art") else f"{self.cols}"
        parts = [size if short else f"{self.element}, {size}"]
        usual = self.shape in ("", f"{self.kind}_16x16_s")
        if self.kind in ("rt", "art") and (self.layout == "col_l" or not usual):
            parts.append(self.layout)
        if self.kind in ("rt", "st", "art") and not usual:
            parts.append(self.shape)
        return f"{self.kind}{f'_{short}' if short else ''}<{', '.join(parts)}>"


def tile(text: str) -> Tile | None:
    """A type that clang printed, None if it is neither a tile nor a vector."""
    text = text.strip().removeprefix("const ").rstrip(" &*")
    match = re.fullmatch(
        r"(?:kittens::)?(?:detail::)?(rt|st|art|register_vector|sv|rv)<(.*)>", text, re.DOTALL
    )
    if not match:
        return None
    parts = [part.strip() for part in pieces(match[2])]
    element = _element(plain(parts[0]))
    try:
        if match[1] in ("register_vector", "rv", "sv"):
            kind = "sv" if match[1] == "sv" else "rv"
            return Tile(kind, element, 1, int(parts[1]))
        rows, cols = int(parts[1]), int(parts[2])
    except (IndexError, ValueError):
        return None
    if match[1] == "st":
        return Tile("st", element, rows, cols, "", _shape(parts[3]) if len(parts) > 3 else "")
    layout = f"{plain(parts[3])}_l" if len(parts) > 3 else ""
    return Tile(match[1], element, rows, cols, layout, _shape(parts[4]) if len(parts) > 4 else "")


def _element(name: str) -> str:
    """The tile library's name for a type of elements: "bf16" for HIP's "__hip_bfloat16"."""
    names = spelled(name)
    return bare(names[0].qualified) if names else name


def plain(text: str) -> str:
    """A type without the library's namespaces."""
    return _SPACES.sub("", text).strip()


def arguments(template: str) -> list[str]:
    """Arguments of a template that clang printed, such as `f<a, b<c>>`: `a` and `b<c>`."""
    opening = template.find("<")
    return (
        [part.strip() for part in pieces(template[opening + 1 : template.rfind(">")])] if opening >= 0 else []
    )


def _shape(text: str) -> str:
    name = plain(text)
    numbers = re.fullmatch(r"rt_shape<(\d+), (\d+), (\d+)>", name)
    if numbers:
        return shapes().by_size.get(tuple(map(int, numbers.groups())), name)
    return f"{name}_s" if re.fullmatch(r"[rs]t_\d+x\d+\w*", name) and not name.endswith("_s") else name


@dataclass(frozen=True, slots=True)
class Shapes:
    """Base shapes of register tiles.

    Attributes:
        by_size: names by rows, columns and stride.
        by_name: rows, columns and stride by name, "rt_16x16_s"; of waves of 64 lanes.
    """

    by_size: Mapping[tuple[int, ...], str]
    by_name: Mapping[str, tuple[int, ...]]


@cache
def shapes() -> Shapes:
    """The base shapes of register tiles, read from the headers that name them."""
    text = (include_dir() / "types/register/rt_shape.cuh").read_text(encoding="utf-8")
    # The stride of results depends on the target: both names are the same base shape.
    strides = re.findall(r"RESULT_STRIDE = (\d+);", text)
    sizes: dict[tuple[int, ...], str] = {}
    names: dict[str, tuple[int, ...]] = {}
    for name, rows, cols, stride in re.findall(r"using (rt_\w+) = rt_shape<(\d+), (\d+), (\w+)>", text):
        for number in strides if stride == "RESULT_STRIDE" else [stride]:
            names[f"{name}_s"] = (int(rows), int(cols), int(number))
            sizes[names[f"{name}_s"]] = f"{name}_s"
    return Shapes(sizes, names)
