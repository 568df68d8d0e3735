"""From source or a file to a module: `wb.compile` and `wb.load`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, overload

from workbench.codeobject import CodeObject
from workbench.errors import CompileError, UsageError, headline
from workbench.events import hub
from workbench.kernel import compiler_trial
from workbench.kernel.devices import default_arch
from workbench.kernel.files import read_file
from workbench.kernel.host_module import HostModule, compile_module
from workbench.kernel.module import Module
from workbench.kernel.show import MACRO
from workbench.toolchain import CompileOptions, compile_device

_PYTHON_MODULE = re.compile(r"^\s*PYBIND11_MODULE\s*\(", re.MULTILINE)


@overload
def compile(
    source: str,
    *,
    arch: str | None = None,
    name: str | None = None,
    include: Sequence[str | Path] = (),
    flags: str | Sequence[str] = (),
    define: Sequence[str] | Mapping[str, object] = (),
    timeout: float | None = None,
    first_line: int = 1,
    device_libraries: bool = False,
    show: bool = False,
    host: Literal[False] = False,
) -> Module: ...
@overload
def compile(
    source: str,
    *,
    arch: str | None = None,
    name: str | None = None,
    include: Sequence[str | Path] = (),
    flags: str | Sequence[str] = (),
    define: Sequence[str] | Mapping[str, object] = (),
    timeout: float | None = None,
    first_line: int = 1,
    device_libraries: bool = False,
    show: bool = False,
    host: Literal[True],
) -> HostModule: ...
def compile(
    source: str,
    *,
    arch: str | None = None,
    name: str | None = None,
    include: Sequence[str | Path] = (),
    flags: str | Sequence[str] = (),
    define: Sequence[str] | Mapping[str, object] = (),
    timeout: float | None = None,
    first_line: int = 1,
    device_libraries: bool = False,
    show: bool = False,
    host: bool = False,
) -> Module | HostModule:
    """Compiles HIP C++ device code.

    Args:
        source: the C++ text. `#include "kittens.cuh"` finds the tile library.
        arch: target, such as "gfx950" or "gfx942"; None for the default device's.
        name: the name of the source in diagnostics, such as that of a cell or file.
        include: folders for `#include`.
        flags: more compiler flags, a list or a text such as "-O1 -Wall"; the defaults are -O3, -std=c++20
            and debug info.
        define: macros: `("N=4", "FAST")` or `{"N": 4, "FAST": None}`.
        timeout: seconds that the compiler may take.
        first_line: number of the source's first line in messages and debug info.
        device_libraries: link ROCm's device libraries, for sources that call functions named `__ocml_*` or
            `__ockl_*`; `python -m workbench doctor` says whether you have them.
        show: make `show(tile)` in the source record a tile's values, for the launch's `shown`.
        host: compile a pybind11 module, host code included.

    Returns:
        a Module, or with `host` the imported Python module as a HostModule. Equal source, headers, flags and
        compiler come from the cache.

    Raises:
        CompileError: the source does not compile; the message shows line and caret.
        CompilerNotFound, CompilerCrashed, CompilerTimeout
        ToolchainError: host code does not link or load.
        UsageError: an argument of another type, an unknown target, a folder that does not exist, a flag that
            the workbench sets itself; host code without a Python module.
    """
    if show:
        if host:
            raise UsageError(
                "show=True does not work with host=True: host code launches its kernels itself; compile the "
                "kernels alone to show what they hold"
            )
        define = {**define, MACRO: None} if isinstance(define, Mapping) else (*define, MACRO)
    options = CompileOptions(
        arch or default_arch(),
        name=name or ("module.cpp" if host else None),
        include=include,
        flags=flags,
        define=define,
        device_libraries=device_libraries,
        timeout=timeout,
        first_line=first_line,
    )
    return compile_module(source, options) if host else compile_source(source, options)


def compile_source(source: str, options: CompileOptions) -> Module:
    """Compiles device code: `compile`, with its options in a record."""
    arch = options.arch
    try:
        result = compiler_trial.compiled(arch, lambda: compile_device(source, options))
    except CompileError as error:
        _tell_compile(options.name, arch, error=headline(error))
        if _PYTHON_MODULE.search(source):
            error.args = (
                f"{error}\n{options.name} is a pybind11 module, with host code, and was compiled as device "
                "code alone: give host=True.",
            )
        raise
    module = Module(result.code_object, name=options.name, result=result)
    warnings = len(result.diagnostics)
    _tell_compile(options.name, arch, result.seconds, result.cached, warnings, code=module.digest)
    return module


def _tell_compile(
    name: str,
    arch: str,
    seconds: float = 0.0,
    cached: bool = False,
    warnings: int = 0,
    error: str = "",
    code: str = "",
) -> None:
    facts = {"arch": arch, "seconds": seconds, "cached": cached, "warnings": warnings, "error": error}
    hub.publish("compile", name, {**facts, "code": code})


def load(path_or_bytes: str | Path | bytes, *, arch: str | None = None) -> Module:
    """Loads compiled code: an AMDGPU ELF, a HIP fat binary, or a host library that embeds one.

    Args:
        path_or_bytes: a file, or the bytes themselves.
        arch: target to take from a fat binary; None for the default device's, or else the first.

    Raises:
        CodeObjectError: the bytes are none of these.
        UsageError: `path_or_bytes` is neither the path of a file nor bytes.
        MissingFile, UnreadableFile
    """
    if not isinstance(path_or_bytes, (str, os.PathLike, bytes, bytearray, memoryview)):
        raise UsageError(
            f"load: got {type(path_or_bytes).__name__}; expected the path of a code object, or its bytes"
        )
    if arch is not None and not isinstance(arch, str):
        raise UsageError(f"load: arch is {arch!r}; expected a target such as 'gfx950'")
    if isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
        data, name = bytes(path_or_bytes), "module"
    else:
        data, name = read_file("load", path_or_bytes, "a code object"), Path(path_or_bytes).stem
    if arch is None:
        candidates = CodeObject.all_from_bytes(data)
        preferred = default_arch()
        code_object = next((c for c in candidates if preferred in c.targets), candidates[0])
    else:
        code_object = CodeObject.from_bytes(data, arch)
    return Module(code_object.data, name=name, arch=arch and code_object.target)
