"""Names that say nothing must stay rare: `make lint` fails at 2 % of a folder's names, or 10 % of a file's.

    python tests/vague_names.py             # the shares of workbench, kernels and tests
    python tests/vague_names.py --list F... # each vague name in folders or files, with its line and scope

`found` may be a match, a file or a finding; a name should say which. Variables and parameters count, except
those of scopes of at most three lines, where the value is in sight of its use. In httpx and numba these words
make up 1.8 % of all names bound.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("workbench", "kernels", "tests")

# fmt: off
WORDS = frozenset((
    "found", "given", "made", "told", "known", "own", "one",
    "each", "kept", "what", "wanted", "shown", "said", "chosen",
))
# fmt: on

LIMIT = 2.0
"""Per cent; a folder's share must stay below it."""

FILE_LIMIT, FEW = 10.0, 20
"""Per cent that a file's share must stay below, where it binds more than a few names."""

SHORT = 3
"""Lines of the longest scope that is left out."""

WORST = 10
"""Files that a failure lists."""

COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda | COMPREHENSIONS


@dataclass(frozen=True)
class Binding:
    """A name that is bound: where, and in which scope by its dotted name ("" is the module)."""

    file: Path
    line: int
    name: str
    scope: str

    @property
    def vague(self) -> bool:
        return self.name in WORDS


def bindings(file: Path) -> Iterator[Binding]:
    """Variables and parameters of a file's scopes of more than `SHORT` lines.

    Raises:
        SyntaxError: the file is not Python.
    """

    def walk(node: ast.AST, scope: tuple[str, ...], counted: bool) -> Iterator[Binding]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, SCOPES):
                last = child.end_lineno or child.lineno
                name = getattr(child, "name", f"<{type(child).__name__.lower()}>")
                yield from walk(child, (*scope, name), last - child.lineno >= SHORT)
                continue
            if counted and isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                yield Binding(file, child.lineno, child.id, ".".join(scope))
            elif counted and isinstance(child, ast.arg):
                yield Binding(file, child.lineno, child.arg, ".".join(scope))
            yield from walk(child, scope, counted)

    yield from walk(ast.parse(file.read_text(encoding="utf-8"), str(file)), (), True)


def sources(folder: Path) -> list[Path]:
    """Python files below a folder except for packages of Node; a file represents itself."""
    if folder.is_file():
        return [folder]
    return sorted(file for file in folder.rglob("*.py") if "node_modules" not in file.parts)


def share(names: Iterable[Binding]) -> float:
    """Vague names, per cent."""
    vague = [name.vague for name in names]
    return 100 * sum(vague) / max(len(vague), 1)


def worst(names: Iterable[Binding], files: int = WORST) -> list[tuple[Path, int]]:
    """The files with most vague names, and how many each has."""
    counts: dict[Path, int] = {}
    for name in names:
        if name.vague:
            counts[name.file] = counts.get(name.file, 0) + 1
    return sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[:files]


def check(root: Path = ROOT, folders: Iterable[str] = FOLDERS) -> int:
    """Prints each folder's share, its worst files where it is too large, and each file beyond `FILE_LIMIT`.

    Returns:
        1 if there is such a folder or file, else 0.
    """
    failed = 0
    for folder in folders:
        by_file = {file: list(bindings(file)) for file in sources(root / folder)}
        names = [name for file_names in by_file.values() for name in file_names]
        percent = share(names)
        vague = sum(name.vague for name in names)
        print(f"{folder}: {percent:.2f} % of {len(names):,} names are vague ({vague:,})")
        if percent >= LIMIT:
            failed = 1
            print(f"  The limit is {LIMIT:g} %. Call each value what it is in the field; most are in")
            for file, count in worst(names):
                print(f"  {count:5}  {file.relative_to(root)}")
            print(f"  `python tests/vague_names.py --list {folder}` lists all.")
        for file, file_names in by_file.items():
            if len(file_names) > FEW and share(file_names) >= FILE_LIMIT:
                failed = 1
                path = file.relative_to(root)
                print(f"  {path}: {share(file_names):.1f} % are vague; a file's limit is {FILE_LIMIT:g} %")
                print(f"  `python tests/vague_names.py --list {path}` lists them.")
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--list", nargs="+", type=Path, metavar="PATH", help="folders or files to list")
    paths: list[Path] | None = parser.parse_args().list
    if paths is None:
        return check()
    for path in paths:
        for file in sources(path):
            for name in bindings(file):
                if name.vague:
                    print(f"{file}:{name.line}: {name.name} in {name.scope or 'the module'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
