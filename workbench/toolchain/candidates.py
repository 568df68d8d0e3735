"""Candidates for the compiler, best first: ROCm's hipcc, a clang++, the clang in the ziglang wheel."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench import paths
from workbench.errors import CompilerNotFound
from workbench.toolchain import zig

STAND_IN = "# hipkittens-workbench's hipcc"
"""A line of the script `hipcc` that the workbench writes for makefiles, which is not a compiler itself."""


@dataclass(frozen=True)
class Candidate:
    """A compiler program that may be used.

    Attributes:
        kind: "hipcc", "clang" or "zig".
        path: path of the program.
        origin: how it was found, for messages.
        rocm: for a hipcc, the folder of its ROCm.
    """

    kind: str
    path: Path
    origin: str
    rocm: Path | None = None


def named(setting: str) -> Iterator[Candidate]:
    """The candidates that HIPKITTENS_COMPILER names.

    Raises:
        CompilerNotFound: the setting does not name a program.
    """
    path = shutil.which(setting)
    if path is None:
        if setting == "zig":
            program = zig.program()
            if program is not None:
                yield Candidate("zig", program, "HIPKITTENS_COMPILER")
                return
        if setting == "clang":
            yield from _clangs()
            return
        raise CompilerNotFound(
            f"HIPKITTENS_COMPILER={setting}: no such program. "
            "Give the path of a hipcc, a clang++ or a zig, or unset it to let the workbench find one."
        )
    name = Path(path).name
    if _stands_in(Path(path)):
        raise CompilerNotFound(
            f"HIPKITTENS_COMPILER={setting} is the workbench's own hipcc, which looks for a compiler itself. "
            "Give the path of ROCm's hipcc, a clang++ or a zig, or unset it to let the workbench find one."
        )
    if name.startswith("hipcc"):
        yield Candidate("hipcc", Path(path), "HIPKITTENS_COMPILER", _rocm_of(Path(path)))
    elif name.startswith(("zig", "python-zig")):
        yield Candidate("zig", Path(path), "HIPKITTENS_COMPILER")
    else:
        yield Candidate("clang", Path(path), "HIPKITTENS_COMPILER")


def candidates(passed: list[tuple[str, str]]) -> Iterator[Candidate]:
    """Compilers of this machine, best first; unusable ones are added to `passed`, with the reason."""
    yield from _hipccs(passed)
    yield from _clangs()
    program = zig.program()
    if program is not None:
        yield Candidate("zig", program, "the ziglang wheel")
    else:
        passed.append(("ziglang", f"the wheel is not installed; `pip install {zig.WHEEL}` brings a clang"))


def _hipccs(passed: list[tuple[str, str]]) -> Iterator[Candidate]:
    root = os.environ.get("ROCM_PATH")
    if root:
        path = Path(root) / "bin" / "hipcc"
        if not path.exists():
            passed.append((str(path), "ROCM_PATH names this folder, and there is no hipcc in it"))
        elif not _stands_in(path):
            yield Candidate("hipcc", path, "ROCM_PATH", Path(root))
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        on_path = shutil.which("hipcc", path=folder)
        if on_path and not _stands_in(Path(on_path)):
            yield Candidate("hipcc", Path(on_path), "PATH", _rocm_of(Path(on_path)))
            break
    rocm = paths.rocm_dir()
    standard = rocm / "bin" / "hipcc"
    if standard.exists():
        yield Candidate("hipcc", standard, str(rocm), rocm)


def _stands_in(hipcc: Path) -> bool:
    try:
        with hipcc.open("rb") as file:
            return STAND_IN.encode() in file.read(1024)
    except OSError:
        return False


def _rocm_of(hipcc: Path) -> Path | None:
    for root in (hipcc.parent.parent, hipcc.resolve().parent.parent):
        if (root / "include" / "hip").is_dir():
            return root
    return None


def _clangs() -> Iterator[Candidate]:
    """An environment's own clang++ first, then the newest on PATH, then those that Debian keeps off PATH."""
    for prefix in dict.fromkeys((os.environ.get("CONDA_PREFIX") or sys.prefix, sys.prefix)):
        path = Path(prefix) / "bin" / "clang++"
        if path.exists():
            yield Candidate("clang", path, f"the environment {prefix}")
    versions: dict[int, Path] = {}
    for entry in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for path in Path(entry or ".").glob("clang++-*"):
            match = re.fullmatch(r"clang\+\+-(\d+)", path.name)
            if match and os.access(path, os.X_OK):
                versions.setdefault(int(match[1]), path)
    for _, path in sorted(versions.items(), reverse=True):
        yield Candidate("clang", path, "PATH")
    plain = shutil.which("clang++")
    if plain:
        yield Candidate("clang", Path(plain), "PATH")
    debian = paths.SYSTEM / "usr" / "lib"
    for path in sorted(debian.glob("llvm-*/bin/clang++"), key=_llvm_version, reverse=True):
        yield Candidate("clang", path, str(debian))


def _llvm_version(path: Path) -> int:
    match = re.search(r"llvm-(\d+)", str(path))
    return int(match[1]) if match else 0
