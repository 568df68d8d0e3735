"""From a command line's words to files: answers queries, compiles each source, links the objects."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from types import FrameType
from typing import NoReturn

from workbench.errors import CompileError, ToolchainError, UsageError
from workbench.toolchain.compiler import Compiler, hip_version
from workbench.toolchain.hipcc.command_line import LINKED, CommandLine, Source, Stage, read
from workbench.toolchain.hipcc.device_linking import linked_device_code
from workbench.toolchain.hipcc.linking import archive, link_library, link_program
from workbench.toolchain.hipcc.units import FailedError, Unit
from workbench.toolchain.host_library import host_library
from workbench.toolchain.scratch import in_folder
from workbench.toolchain.search import find_compiler

VARIABLE = "HIPKITTENS_HIPCC"
"""Environment variable of everything that this hipcc starts: the number of its process."""

_active = False

_QUESTIONS = ("-print-", "--print-", "-dumpversion", "-dumpmachine")

_HELP = """\
usage: hipcc [OPTION ...] FILE ...

Compiles and links HIP sources as ROCm's hipcc does, for the emulated device and without ROCm. Host code is
made for this computer, device code for each --offload-arch; the program finds the device by itself.

  FILE                   .hip, .cpp, .cc, .cxx, .cu, .c, .s; objects, archives and shared libraries to link
  --offload-arch=ARCH    gfx942, gfx950, ...; several times for several; default: the default device's
  -o FILE                what is written; default: a.out, or the source's name with another ending
  -c, -S, -E             stop after compiling, with assembly, after the preprocessor
  --genco                write device code alone, as hipModuleLoad takes it
  -shared                make a library
  -fgpu-rdc              device code calls functions of other files
  -I, -D, -U, -include   headers and macros;  -L, -l, -Wl,  of the linker
  -O0 to -O3, -g, -std=  and other options of clang: as clang takes them
  -Wno-wave32            no warnings of code for warps of 32 lanes; -Werror=wave32: errors
  -M, -MM, -MD, -MF      dependencies for make
  -v, -###               show the commands, or only show them
  --save-temps           keep files in between
  --version              versions of HIP and of clang

An option that cannot be followed here is an error that says why. HIPCC_COMPILE_FLAGS_APPEND and
HIPCC_LINK_FLAGS_APPEND add words. Where a ROCm is installed, its hipcc runs instead."""


def main(words: Sequence[str], default_arch: Callable[[], str]) -> int:
    """Runs hipcc with these arguments; returns its exit status.

    Args:
        words: the command line, without the program's name.
        default_arch: returns the target if the command line names none.

    Raises:
        WorkbenchError: for errors other than those printed in a compiler's form.
    """
    global _active
    caller = os.environ.get(VARIABLE)
    if caller and not _active:
        print(
            f"hipcc: the workbench's hipcc (process {caller}) looked for a compiler and started a program "
            "that starts the workbench's hipcc again, endlessly. Let `python -m workbench install-hipcc` "
            "write that program, which is then not taken for a compiler, or name a compiler by "
            "HIPKITTENS_COMPILER.",
            file=sys.stderr,
        )
        return 1
    before, _active = _active, True
    os.environ[VARIABLE] = caller or str(os.getpid())
    try:
        return _answer(words, default_arch)
    finally:
        _active = before
        if caller is None:
            del os.environ[VARIABLE]


def _answer(words: Sequence[str], default_arch: Callable[[], str]) -> int:
    compiler = find_compiler()
    if compiler.kind == "hipcc":
        os.execv(compiler.path, [str(compiler.path), *words])
    if "--version" in words:
        return _version(compiler)
    if {"--help", "-help", "-h"} & set(words):
        print(_HELP)
        return 0
    question = next((word for word in words if word.startswith(_QUESTIONS)), None)
    if question is not None:
        return subprocess.run([*compiler.command, question], check=False).returncode
    if list(words) == ["-v"]:
        return _version(compiler)
    try:
        with _ended_whole():
            _make(read(words), default_arch)
    except FailedError as error:
        return error.status
    except (CompileError, ToolchainError, UsageError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


@contextlib.contextmanager
def _ended_whole() -> Iterator[None]:
    """Ends the compilers too on SIGTERM, which `make` sends to this process but not to their group."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: FrameType | None) -> NoReturn:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _version(compiler: Compiler) -> int:
    """The version in the form that builds read: HIP's first, then clang's own text."""
    version = ".".join(map(str, hip_version()))
    print(f"HIP version: {version} (the workbench's, for the emulated device)", flush=True)
    return subprocess.run([*compiler.command, "--version"], check=False).returncode


def _make(line: CommandLine, default_arch: Callable[[], str]) -> None:
    archs = tuple(line.archs or [default_arch()])
    if line.left_out:
        print(f"hipcc: note: left out, no emulated device: {', '.join(line.left_out)}", file=sys.stderr)
    compiler = find_compiler(archs[0])
    if compiler.kind == "zig" and _without_openmp(line):
        print("hipcc: note: -fopenmp is left out: no OpenMP library here, one thread runs", file=sys.stderr)
    library = host_library(compiler)
    for word in _without(line, library.unknown):
        print(f"hipcc: note: {word} is left out: the linker here does not know it", file=sys.stderr)
    linked = line.stage in LINKED

    def build(folder: str) -> None:
        words = []
        for number, item in enumerate(line.inputs):
            if isinstance(item, str):
                words.append(item)
                continue
            words.append(os.path.join(folder, f"{number}.o") if linked else _output(line, item))
            Unit(line, item, archs, compiler, library, folder).make(words[-1] or None)
        if line.stage is Stage.ARCHIVE:
            archive(compiler, words, line.output or "a.out", folder, line.show)
            return
        if linked and line.show != "-###":
            words = [*linked_device_code(compiler, words, folder, line.show), *words]
        if line.stage is Stage.LIBRARY:
            link_library(library, words, line.output or "a.out", folder, line.show)
        elif line.stage is Stage.PROGRAM:
            link_program(compiler, library, words, line.output or "a.out", folder, line.show)

    in_folder(build)


def _without_openmp(line: CommandLine) -> bool:
    """Remove `-fopenmp`; returns whether it was there. Its pragmas are then ignored, as the standard says."""
    before = len(line.host)
    line.host[:] = [option for option in line.host if not option[0].startswith("-fopenmp")]
    line.inputs[:] = [item for item in line.inputs if item != "-fopenmp"]
    return len(line.host) < before


def _without(line: CommandLine, unknown: Collection[str]) -> list[str]:
    """Remove words for the linker; returns those that were there."""
    removed = [item for item in line.inputs if isinstance(item, str) and item in unknown]
    line.inputs[:] = [item for item in line.inputs if item not in removed]
    return removed


def _output(line: CommandLine, source: Source) -> str:
    """The output file of a source; "" for standard output."""
    return (line.output or "") if line.stage is Stage.PREPROCESSED else line.output_of(source)
