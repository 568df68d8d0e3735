"""The user's options of a compilation, checked once on entry and carried as one record."""

from __future__ import annotations

import math
import os
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from workbench.errors import UsageError
from workbench.targets import ARCHS, check_arch

DEFAULT_NAME = "cell.hip"
DEFAULT_TIMEOUT = 300.0
"""Seconds; `$HIPKITTENS_COMPILE_TIMEOUT` changes it."""

Folders = Iterable[str | os.PathLike[str]]
Flags = str | Iterable[str]
Macros = Iterable[str] | Mapping[str, object]

# Flags for the kind of output, the target and the output file; only the workbench sets them.
_TAKEN = re.compile(
    r"-o.*|-c|-S|-E|-x.*|-fsyntax-only|-M\w*|--offload.*|--cuda-.*|-fgpu-rdc|-save-temps.*|--save-temps.*"
    r"|-emit-.*|-###|--version|-v|-"
)
_MACRO = re.compile(r"[A-Za-z_]\w*(\([^)]*\))?(=[^\n]*)?")


@dataclass(frozen=True, init=False)
class CompileOptions:
    """Options of a compilation.

    Attributes:
        arch: "gfx950", "gfx942", "gfx90a", or "gfx9-4-generic" for code that runs on the first two and uses
            only their common features; features such as ":xnack-" may follow.
        name: name of the source in messages and debug information; keep it equal between runs, because it is
            part of the cache key. If it is a file, quoted includes are looked up next to it.
        include: absolute paths of folders searched before ours.
        flags: further compiler flags.
        define: macros, as `NAME` or `NAME=VALUE`.
        debug: True to include debug information: lines, parameters and types.
        device_libraries: True to link ROCm's device libraries (`__ocml_*`, `__ockl_*`).
        timeout: time limit of the compiler in seconds.
        first_line: number of the source's first line in messages; 2 if a cell's magic is line 1.
    """

    arch: str
    name: str
    include: tuple[str, ...]
    flags: tuple[str, ...]
    define: tuple[str, ...]
    debug: bool
    device_libraries: bool
    timeout: float
    first_line: int

    def __init__(
        self,
        arch: str,
        *,
        name: str | None = None,
        include: Folders = (),
        flags: Flags = (),
        define: Macros = (),
        debug: bool = True,
        device_libraries: bool = False,
        timeout: float | None = None,
        first_line: int = 1,
    ) -> None:
        """Checks the options and brings them to one form.

        Args:
            arch, debug, device_libraries, first_line: see the attributes.
            name: name of the source; None for "cell.hip".
            include: folders.
            flags: a list or a command line's text.
            define: macros as `NAME` or `NAME=VALUE`, or a mapping; a value of None means `NAME`.
            timeout: time limit in seconds; None for $HIPKITTENS_COMPILE_TIMEOUT, or else 300.

        Raises:
            UsageError: an option has another type, or is an unknown target, a folder that does not exist, or
                a flag that only the workbench sets.
        """
        checked = {
            "arch": _arch(arch),
            "name": _name(name),
            "include": _folders(include),
            "flags": _flags(flags),
            "define": _macros(define),
            "debug": bool(debug),
            "device_libraries": bool(device_libraries),
            "timeout": _time_limit(timeout),
            "first_line": _first_line(first_line),
        }
        for attribute, value in checked.items():
            object.__setattr__(self, attribute, value)

    @property
    def macro_names(self) -> list[str]:
        """Names that macros and flags define or undefine."""
        names = [macro.split("=", 1)[0].split("(", 1)[0] for macro in self.define]
        return names + [flag[2:].split("=", 1)[0] for flag in self.flags if flag[:2] in ("-D", "-U")]


def _arch(arch: object) -> str:
    if not isinstance(arch, str):
        raise UsageError(f"target {arch!r}: expected one of {', '.join(map(repr, ARCHS))}")
    check_arch(arch)
    return arch


def _name(name: object) -> str:
    if name is not None and not isinstance(name, str):
        raise UsageError(f"name {name!r}: expected a text, such as 'rmsnorm.hip'")
    return _text("name", name or DEFAULT_NAME)


def _text(name: str, text: str) -> str:
    """A text that a command line can have."""
    if "\0" in text:
        raise UsageError(f"{name} {text!r}: expected a text without null bytes")
    return text


def _folders(include: object) -> tuple[str, ...]:
    if isinstance(include, (str, bytes, os.PathLike)):
        text = os.fsdecode(include)
        raise UsageError(f"include is {text!r}; expected a list of folders such as [{text!r}]")
    if not isinstance(include, Iterable):
        raise UsageError(f"include is {include!r}; expected a list of folders such as ['kernels/include']")
    folders = []
    for folder in include:
        if not isinstance(folder, (str, os.PathLike)):
            raise UsageError(f"include folder {folder!r}: expected a path")
        path = _text("include folder", os.path.abspath(os.fspath(folder)))
        if not os.path.isdir(path):
            raise UsageError(f"include folder {path} does not exist")
        folders.append(path)
    return tuple(folders)


def _flags(flags: object) -> tuple[str, ...]:
    if isinstance(flags, str):
        try:
            parts = shlex.split(flags)
        except ValueError as error:
            raise UsageError(f"flags {flags!r}: {error}") from None
    elif isinstance(flags, Iterable) and not isinstance(flags, (bytes, Mapping)):
        parts = list(flags)
    else:
        raise UsageError(f"flags is {flags!r}; expected a text such as '-O1 -Wall', or a list of texts")
    for index, part in enumerate(parts):
        if not isinstance(part, str):
            raise UsageError(f"flag {part!r}: expected a string")
        if _TAKEN.fullmatch(_text("flag", part)):
            raise UsageError(
                f"flag {part}: the workbench itself decides what is compiled, for which target and to where; "
                "choose the target with arch"
            )
        # The value of the flag before it, or a file; the latter would be compiled as a second source.
        if not part.startswith("-") and (index == 0 or not parts[index - 1].startswith("-")):
            raise UsageError(f"flag {part!r}: flags begin with '-'; sources are not taken here")
    return tuple(parts)


def _macros(define: object) -> tuple[str, ...]:
    if isinstance(define, str):
        raise UsageError(f"define is the text {define!r}; expected a list such as [{define!r}]")
    if isinstance(define, Mapping):
        macros = [_macro(name, value) for name, value in define.items()]
    elif isinstance(define, Iterable):
        macros = list(define)
    else:
        raise UsageError(
            f"define is {define!r}; expected a list such as ['N=4'], or a dict such as {{'N': 4}}"
        )
    for macro in macros:
        if not isinstance(macro, str) or not _MACRO.fullmatch(macro):
            raise UsageError(f"define {macro!r}: expected NAME or NAME=VALUE")
        _text("define", macro)
    return tuple(macros)


def _macro(name: object, value: object) -> str:
    if value is None:
        return str(name)
    return f"{name}={int(value) if isinstance(value, bool) else value}"


def _first_line(line: object) -> int:
    if not isinstance(line, int) or not 1 <= line < 2**31:
        raise UsageError(f"first_line {line!r}: expected the number of a line, 1 or more")
    return line


def _time_limit(timeout: object) -> float:
    if timeout is not None:
        if not isinstance(timeout, (int, float)) or not 0 < timeout < math.inf:
            raise UsageError(f"timeout {timeout!r}: expected a positive number of seconds")
        return timeout
    return compile_timeout(DEFAULT_TIMEOUT)


def compile_timeout(default: float) -> float:
    """Seconds of HIPKITTENS_COMPILE_TIMEOUT, or `default` if it is not set.

    Raises:
        UsageError: the value is not a number of seconds.
    """
    text = os.environ.get("HIPKITTENS_COMPILE_TIMEOUT")
    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < math.inf:
        raise UsageError(f"HIPKITTENS_COMPILE_TIMEOUT={text!r}: expected a number of seconds, such as 600")
    return seconds
