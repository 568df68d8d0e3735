"""Resources: the tile library's functions and the operators by name, guides and tutorials."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import UsageError
from workbench.lab import library
from workbench.operators import kernels
from workbench.operators.description import describe
from workbench.paths import include_dir, pages_dir

SCHEME = "hipkittens://"


@dataclass(frozen=True)
class Resource:
    """A page: its address, its title, its type, and the function that reads it."""

    uri: str
    title: str
    type: str
    read: Callable[[], str]


def resources() -> Iterator[Resource]:
    """All pages."""
    yield Resource(f"{SCHEME}functions", "Functions of the tile library, by header", "text/plain", _functions)
    yield Resource(f"{SCHEME}operators", "Operators of the kernel library", "text/plain", _operators)
    for header in library.headers():
        path = include_dir() / header
        yield Resource(f"{SCHEME}header/{header}", f"Header {header}", "text/x-c++", path.read_text)
    pages = pages_dir()
    if pages is None:
        return
    for path in sorted((*pages.glob("docs/*.md"), *pages.glob("docs/howto/*.md"))):
        yield Resource(f"{SCHEME}guide/{path.stem}", _title(path), "text/markdown", path.read_text)
    for path in sorted(pages.glob("notebooks/*.ipynb")):
        yield Resource(
            f"{SCHEME}tutorial/{path.stem}", path.stem.replace("_", " "), "text/markdown", _cells(path)
        )


def read(uri: str) -> Resource:
    """The page of an address; an operator's too, such as "hipkittens://operator/gemm/bf16".

    Raises:
        UsageError, UnknownKernel: there is none.
    """
    operator = uri.removeprefix(f"{SCHEME}operator/")
    if operator != uri:
        spec = kernels[operator]
        return Resource(uri, operator, "text/plain", lambda: describe(spec).text)
    for resource in resources():
        if resource.uri == uri:
            return resource
    raise UsageError(
        f"there is no resource {uri!r}; expected one that resources/list names, or {SCHEME}operator/NAME"
    )


def _functions() -> str:
    lines: list[str] = []
    header = ""
    for function in library.functions():
        if function.header != header:
            header = function.header
            lines.append(f"\n{header}")
        lines.append(f"  {function.signature}")
    return "\n".join(lines).strip()


def _operators() -> str:
    return "\n".join(f"{name}: {spec.doc}" for name, spec in kernels.items())


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as file:
        return next((line.lstrip("# ").strip() for line in file if line.startswith("# ")), path.stem)


def _cells(path: Path) -> Callable[[], str]:
    def read() -> str:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        parts = []
        for cell in cells:
            source = "".join(cell["source"])
            parts.append(f"```\n{source}\n```" if cell["cell_type"] == "code" else source)
        return "\n\n".join(parts)

    return read
