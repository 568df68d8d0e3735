"""What an audit can build and run in a checkout: kernel sources, and scripts beside them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from workbench import targets
from workbench.errors import UsageError

TARGETS = {target.generation: target.name for target in reversed(targets.TARGETS) if target.tiles}
"""Targets by HipKittens' GPU_TARGET."""

_SUFFIXES = (".cpp", ".cu", ".hip", ".cc", ".cxx")
_CODE_OBJECTS = (".hsaco", ".co")
_MODULE = re.compile(r"PYBIND11_MODULE\(\s*(\w+)")
_MAIN = re.compile(r"^\s*(?:int|auto)\s+main\s*\(", re.MULTILINE)
_SCRIPT = re.compile(r"^\s*@triton\.jit\b|\bload_inline\b", re.MULTILINE)
"""Scripts with kernels: Triton's, and HIP sources that PyTorch compiles with `load_inline`."""

_HIP = re.compile(r"\b__global__\b|#include\s+[<\"]ck_tile/")
"""A source with kernels; those of Composable Kernel's tile examples are in its headers."""

_OTHER_GPU = re.compile(r"cuda_runtime\.h|\bnvcc\b|<mma\.h>")
_SKIPPED = ("include", "build", "node_modules", "__pycache__", "third_party", "3rdparty")


class Kind(StrEnum):
    """What a kernel source becomes."""

    PROGRAM = "program"
    MODULE = "module"
    SCRIPT = "script"
    CODE_OBJECT = "code object"


@dataclass(frozen=True)
class KernelSource:
    """A source of kernels for one target.

    Attributes:
        root: folder of the checkout.
        path: the file.
        kind: a program with `main`, a Python module, a script or a code object.
        target: such as "gfx950"; "" if none of the emulated devices has it.
        module: name of the Python module; "" for none.
        makefile: the Makefile that builds it; None if hipcc builds it directly.
    """

    root: Path
    path: Path
    kind: Kind
    target: str
    module: str = ""
    makefile: Path | None = None

    @property
    def name(self) -> str:
        """Path in the checkout."""
        return self.path.relative_to(self.root).as_posix()

    @property
    def folder(self) -> Path:
        return self.path.parent


def checkout_of(path: Path) -> Path:
    """The checkout that a path is in: the nearest folder with `.git` or HipKittens' headers, else its own.

    Raises:
        UsageError: there is no such path.
    """
    path = path.resolve()
    if not path.exists():
        raise UsageError(f"audit: there is no {path}; expected a checkout, a folder or a source file")
    folder = path if path.is_dir() else path.parent
    for parent in (folder, *folder.parents):
        if (parent / ".git").exists() or (parent / "include" / "kittens.cuh").is_file():
            return parent
    return folder


def kernel_sources(path: Path) -> list[KernelSource]:
    """The kernel sources in a checkout, a folder or a file, each with the targets that it is for.

    Raises:
        UsageError: there is no such path.
    """
    path = path.resolve()
    root = checkout_of(path)
    files = [path] if path.is_file() else sorted(_files(path))
    # Kernels first, archives last: an audit that is stopped has the important ones.
    files.sort(key=lambda file: (_rank(file.relative_to(root)), file))
    return [source for file in files for source in _of_file(root, file)]


def _files(folder: Path) -> Iterator[Path]:
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink() or entry.name.startswith("."):
            continue
        if entry.is_dir():
            if entry.name not in _SKIPPED:
                yield from _files(entry)
        elif entry.suffix in (*_SUFFIXES, *_CODE_OBJECTS, ".py"):
            yield entry


def _rank(path: Path) -> int:
    if "archive" in path.parts:
        return 3
    return {"kernels": 0, "analysis": 1}.get(path.parts[0], 2)


def _of_file(root: Path, path: Path) -> Iterator[KernelSource]:
    if path.suffix in _CODE_OBJECTS:
        yield KernelSource(root, path, Kind.CODE_OBJECT, "")
        return
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".py":
        if _SCRIPT.search(text):
            for target in TARGETS.values():
                yield KernelSource(root, path, Kind.SCRIPT, target)
        return
    bound = _MODULE.search(text)
    if not bound and not _MAIN.search(text):
        return
    if "kittens.cuh" not in text and (_OTHER_GPU.search(text) or not _HIP.search(text)):
        return
    kind, module = (Kind.MODULE, bound[1]) if bound else (Kind.PROGRAM, "")
    makefile = _makefile_of(path, kind)
    for target in _targets_of(root, path, text, makefile):
        yield KernelSource(root, path, kind, target, module, makefile)


def _makefile_of(path: Path, kind: Kind) -> Path | None:
    """The Makefile beside a source that can build it."""
    makefile = path.parent / "Makefile"
    if not makefile.is_file():
        return None
    text = makefile_text(makefile)
    # One that compiles what SRC names, or has rules of its own for the file.
    can_build = "$(SRC)" in text or path.name in text or f"%{path.suffix}" in text
    if kind is Kind.MODULE and "pybind11" not in text:
        # It makes a program or a library, or relies on headers in the compiler's own folders.
        return None
    return makefile if can_build and not re.search(r"\bnvcc\b", text) else None


def script_of(source: KernelSource) -> Path | None:
    """The test script beside a module's source that uses the module; None if there is none."""
    if source.kind is not Kind.MODULE:
        return None
    uses = re.compile(rf"\b{re.escape(source.module)}\b")
    for path in sorted(source.folder.glob("*.py")):
        is_test = re.search(r"(?:^|_)(?:test|check)(?:_|$)", path.stem)
        if is_test and uses.search(path.read_text(encoding="utf-8", errors="replace")):
            return path
    return None


@cache
def makefile_text(makefile: Path) -> str:
    """A Makefile with those that it includes."""
    text = makefile.read_text(encoding="utf-8", errors="replace")
    for name in re.findall(r"^include\s+(\S+)\s*$", text, re.MULTILINE):
        file = makefile.parent / name
        if "$" not in name and file.is_file():
            text += makefile_text(file.resolve())
    return text


def _targets_of(root: Path, path: Path, text: str, makefile: Path | None) -> list[str]:
    """Targets that a source is for; "" for one that no emulated device has."""
    place = path.relative_to(root).as_posix()
    if re.search(r"gfx1[12]\d\d|udna1", place):
        return [""]
    for generation, target in TARGETS.items():
        if generation.lower() in place or any(name in place for name in _products_of(target)):
            return [target]
    if makefile is not None and "GPU_TARGET" in makefile_text(makefile):
        rules = makefile_text(makefile)
        default = re.search(r"^GPU_TARGET\s*[?:]?=\s*(\w+)", rules, re.MULTILINE)
        if default and default[1] not in TARGETS:
            return [""]
        named = [target for macro, target in TARGETS.items() if macro in rules]
        # A Makefile may be older than the checkout's headers and know targets that these have dropped.
        return [target for target in named if target in header_targets(root)] or named
    if "kittens.cuh" in text:
        return header_targets(root)
    return list(TARGETS.values())


@cache
def _products_of(target: str) -> tuple[str, ...]:
    """Names of a target's products, as in names of files."""
    return tuple(product.name.lower() for product in targets.PRODUCTS if product.target.name == target)


@cache
def header_targets(root: Path) -> list[str]:
    """Targets of a checkout's tile library."""
    include = root / "include"
    trees = [target for macro, target in TARGETS.items() if (include / macro.lower()).is_dir()]
    if trees:
        return trees
    text = "".join(
        file.read_text(encoding="utf-8", errors="replace") for file in sorted(include.glob("common/*.cuh"))
    )
    named = [target for macro, target in TARGETS.items() if f"KITTENS_{macro}" in text]
    # Without headers in the checkout, the workbench's own serve, which have both.
    return named or list(TARGETS.values())


def revision_of(root: Path) -> str:
    """Commit of a checkout; "" if git does not know."""
    if not (root / ".git").exists():
        return ""
    command = ["git", "-C", str(root), "rev-parse", "HEAD"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return result.stdout.strip() if result.returncode == 0 else ""


__all__ = [
    "TARGETS",
    "KernelSource",
    "Kind",
    "checkout_of",
    "header_targets",
    "kernel_sources",
    "makefile_text",
    "revision_of",
    "script_of",
]
