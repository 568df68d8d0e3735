"""Finds a compiler for AMD GPUs: ROCm's hipcc, a clang++ that supports them, or the ziglang wheel's."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from workbench.errors import CompilerNotFound
from workbench.toolchain import zig
from workbench.toolchain.candidates import candidates, named
from workbench.toolchain.compiler import Compiler
from workbench.toolchain.examine import examine
from workbench.toolchain.questions import UnusableError

_found: dict[tuple[str | None, ...], Compiler] = {}
_lock = threading.Lock()
_on_forget: list[Callable[[], object]] = []


def find_compiler(arch: str | None = None) -> Compiler:
    """The compiler to use, which is searched once per process.

    Args:
        arch: a target that it must support; None for the best compiler here, whatever its targets.

    Raises:
        CompilerNotFound: there is none; the message lists each candidate with the reason against it.
    """
    key = (arch, *map(os.environ.get, ("HIPKITTENS_COMPILER", "PATH", "ROCM_PATH")))
    with _lock:
        if key not in _found:
            _found[key] = _find(arch)
        return _found[key]


def other_compilers(compiler: Compiler, arch: str) -> list[Compiler]:
    """Every other compiler here that supports the target, best first."""
    compilers = {compiler.path.resolve(): compiler}
    for candidate in candidates([]):
        if candidate.path.resolve() not in compilers:
            with contextlib.suppress(UnusableError):
                compilers[candidate.path.resolve()] = examine(candidate, arch)
    return list(compilers.values())[1:]


def pass_over(compiler: Compiler, other: Compiler, arch: str, why: str) -> None:
    """Use another compiler for a target from now on, and record the reason with it."""
    passed = (*compiler.passed_over, (str(compiler.path), why))
    with _lock:
        for key, registered in _found.items():
            if registered.path == compiler.path and key[0] in (arch, None):
                _found[key] = replace(other, passed_over=passed)


def known_compiler() -> Compiler | None:
    """The compiler that was found last; None before the first search, and this does not start one."""
    with _lock:
        return next(reversed(_found.values()), None)


def forget() -> None:
    """Search again at the next call, after something was installed."""
    with _lock:
        _found.clear()
    for clear in _on_forget:
        clear()


def also_forget(clear: Callable[[], object]) -> None:
    """Has `forget` call a function too, which drops what follows from the compilers here."""
    _on_forget.append(clear)


def _find(arch: str | None) -> Compiler:
    setting = os.environ.get("HIPKITTENS_COMPILER")
    passed: list[tuple[str, str]] = []
    seen: set[Path] = set()
    for candidate in named(setting) if setting else candidates(passed):
        real = candidate.path.resolve()
        if real in seen:
            continue
        seen.add(real)
        try:
            compiler = examine(candidate, arch)
        except UnusableError as why:
            passed.append((str(candidate.path), str(why)))
            continue
        return replace(compiler, passed_over=tuple(passed))
    raise CompilerNotFound(_not_found(setting, arch, passed))


def _not_found(setting: str | None, arch: str | None, passed: list[tuple[str, str]]) -> str:
    subject = f"a compiler for {arch}" if arch else "a compiler for AMD GPUs"
    if setting:
        first = f"HIPKITTENS_COMPILER={setting} is not {subject}"
        last = "Set it to a hipcc, a clang++ or a zig that works, or unset it to let the workbench find one."
    else:
        first = f"{subject} was not found"
        last = (
            f"Install one: `pip install {zig.WHEEL}` brings a clang that does; "
            "`conda install -c conda-forge clangxx lld` or ROCm 6 or later do too."
        )
    return "\n".join([first, *(f"  {path}: {why}" for path, why in passed), last])
