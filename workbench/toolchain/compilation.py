"""Compiles a cell's HIP source to a code object, or says in the cell's own terms why it does not compile."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.targets import TILE_TARGETS, macros
from workbench.toolchain import pinned, precompiled
from workbench.toolchain.compiler import Compiler, include_folders, kernel_headers
from workbench.toolchain.diagnostics import Diagnostic
from workbench.toolchain.host_library import device_part
from workbench.toolchain.job import Job, to_front_end
from workbench.toolchain.mistakes import unsaid
from workbench.toolchain.mistakes.cell_text import Cell
from workbench.toolchain.options import CompileOptions
from workbench.toolchain.precompiled import PrecompiledHeader
from workbench.toolchain.retry import compile_with_any, compiler_of, tell_doubts
from workbench.toolchain.scratch import in_folder
from workbench.toolchain.search import find_compiler
from workbench.toolchain.source_text import shown_source
from workbench.toolchain.store import Entry, Store, headers_of, hiding_places


@dataclass(frozen=True)
class CompileResult:
    """A compiled source: its code object, and the compiler's messages.

    Attributes:
        code_object: the ELF for the options' target.
        options: options of the compilation.
        diagnostics: the compiler's warnings.
        seconds: duration of this call, cached or not.
        compile_seconds: duration of the compiler run that made this result.
        cached: True if no compiler was started.
        command: the compiler's command line; the source was on its standard input.
        compiler: the compiler.
        source: text of the source.
    """

    code_object: bytes
    options: CompileOptions
    diagnostics: tuple[Diagnostic, ...]
    seconds: float
    compile_seconds: float
    cached: bool
    command: tuple[str, ...]
    compiler: Compiler
    source: str


def compile_device(
    source: str, options: CompileOptions, *, use_cache: bool = True, with_host: bool = False
) -> CompileResult:
    """Compile HIP source to a code object.

    The source includes `hip/hip_runtime.h` itself, as for hipcc; the headers of the kernel library are on the
    include path, with KITTENS_CDNA4 (gfx950), KITTENS_CDNA3 (gfx942) or KITTENS_CDNA2 (gfx90a) defined.
    Quoted includes are looked up in the current folder first, or next to the source if its name is a file.

    Args:
        source: source text, C++20 with HIP.
        options: target, flags and further options.
        use_cache: True to accept an earlier result.
        with_host: True if the source has a host part too, so that its C and C++ headers are the host's.

    Raises:
        CompileError: the source does not compile; carries `diagnostics`.
        CompilerNotFound: no compiler for the target, or no C++ library for the host.
        CompilerCrashed: the compiler died, or ended without a message.
        CompilerTimeout: the compiler exceeded its time limit.
        UsageError: the source is not a text.

    Warns:
        UntrustedRegisters: inline assembly has registers by number, and the compiler uses them too.
    """
    start = time.perf_counter()

    def suited(job: Job) -> Job:
        return Job(job.source, job.options, device_part(job.compiler)) if with_host else job

    job = suited(Job(source, options))
    store = Store()
    entry = store.get(job.key) if use_cache else None
    cached = entry is not None
    if entry is None:
        with store.lock(job.key):
            # Another process may have compiled the same while this one waited.
            entry = store.get(job.key) if use_cache else None
            cached = entry is not None
            if entry is None:
                entry, headers = compile_with_any(
                    job, lambda of: compile_job(suited(of)), lambda of: list_job(suited(of))
                )
                store.put(job.key, entry, headers, hiding_places(headers, job.folders))
    tell_doubts(entry)
    return CompileResult(
        entry.code_object,
        options,
        (*entry.diagnostics, *unsaid(Cell(job.source, options.first_line), options.name)),
        time.perf_counter() - start,
        entry.seconds,
        cached,
        entry.command,
        compiler_of(entry, job),
        shown_source(job.source),
    )


def check_device(source: str, options: CompileOptions) -> tuple[Diagnostic, ...]:
    """The compiler front end's diagnostics of a source, in a fraction of a compilation's time.

    Args:
        source, options: see `compile_device`.

    Returns:
        errors and warnings in order, without those that only code generation finds, such as too few
        registers.

    Raises:
        CompilerNotFound, CompilerTimeout
        UsageError: the source is not a text.
    """
    job = Job(source, options)
    header = _all_headers(job)
    if header.headers:
        # A caller that waits for findings will need more: with the header they come many times as fast.
        header.build()

    def check(ready: Path | None) -> tuple[Diagnostic, ...]:
        command = _command(job, ready, os.devnull, "-fsyntax-only")
        return in_folder(lambda folder: job.read(command, folder, ready=ready is not None)[1])

    findings = header.use(check)
    if any(finding.severity == "error" for finding in findings):
        return findings
    return (*findings, *unsaid(Cell(job.source, options.first_line), options.name))


def compile_job(job: Job) -> tuple[Entry, list[str]]:
    """Start the compiler; returns the result and the headers that it read."""
    return _all_headers(job).use(lambda ready: in_folder(lambda folder: _run(job, ready, folder)))


def list_job(job: Job) -> str:
    """Start the compiler for the listing that `pinned` reads."""
    return _all_headers(job).use(lambda ready: in_folder(lambda folder: _list(job, ready, folder)))


def _all_headers(job: Job) -> PrecompiledHeader:
    command = (*job.compiler.device_command(job.options.arch), *job.own, *job.common)
    pytorch = precompiled.pytorch_header(
        job.compiler, command, [precompiled.PRELUDE], job.source, job.prologue
    )
    if pytorch is not None:
        return pytorch
    return _header(job, precompiled.headers_for(job.prologue + job.source, job.early_macros, job.before))


def _header(job: Job, names: Sequence[str]) -> PrecompiledHeader:
    command = (*job.compiler.device_command(job.options.arch), *job.common)
    return PrecompiledHeader(job.compiler, command, tuple(names))


def _command(job: Job, ready: Path | None, output: str, *further: str) -> list[str]:
    return [
        *job.compiler.device_command(job.options.arch),
        *job.own,
        *job.common,
        *job.linked,
        *precompiled.top(ready, job.compiler),
        "-fno-crash-diagnostics",
        *further,
        *("-", "-o", output),
    ]


def _run(job: Job, ready: Path | None, folder: str) -> tuple[Entry, list[str]]:
    output = os.path.join(folder, "device.co")
    dependencies = os.path.join(folder, "headers.d")
    # The driver drops -MF in a device compilation; the front end itself accepts these.
    listed_to = to_front_end("-dependency-file", dependencies, "-MT", "x", "-sys-header-deps")
    command = _command(job, ready, output, *listed_to)
    code, diagnostics, seconds = job.start(command, output, folder, ready=ready is not None)
    listed = ""
    with contextlib.suppress(OSError):
        listed = Path(dependencies).read_text(encoding="utf-8", errors="surrogateescape")
    fixed = [*job.compiler.fixed_roots, *([str(ready)] if ready else [])]
    command_line = tuple(part.replace(folder, "/tmp/hipkittens") for part in command)
    return Entry(code, diagnostics, command_line, seconds), headers_of(listed, fixed)


def _list(job: Job, ready: Path | None, folder: str) -> str:
    output = os.path.join(folder, "device.mir")
    command = _command(job, ready, output, *pinned.LISTING)
    listing, _, _ = job.start(command, output, folder, ready=ready is not None)
    return listing.decode("utf-8", "replace")


def warm(arch: str = TILE_TARGETS[0]) -> None:
    """Make the precompiled headers for `arch`, so that the first cell compiles as fast as the next ones."""
    job = Job("", CompileOptions(arch))
    _header(job, [precompiled.RUNTIME]).build()
    if (kernel_headers() / precompiled.TILES).is_file():
        _header(job, [precompiled.RUNTIME, precompiled.TILES]).build()


def preprocessed(source: str, arch: str) -> str:
    """A source with its headers, their macros' definitions and line markers that name each file.

    Raises:
        CompilerNotFound, CompileError, CompilerTimeout
    """
    job = Job(source, CompileOptions(arch))

    def run(folder: str) -> str:
        output = os.path.join(folder, "device.ii")
        text, _, _ = job.start(_command(job, None, output, "-E", "-dD"), output, folder, ready=False)
        return text.decode("utf-8", "replace")

    return in_folder(run)


def editor_arguments(arch: str) -> list[str]:
    """Arguments with which a language server (clangd) reads a cell as `compile_device` does.

    Raises:
        CompilerNotFound: there is no compiler.
    """
    compiler = find_compiler(arch)
    rocm = [f"--rocm-path={compiler.path.resolve().parent.parent}"] if compiler.kind == "hipcc" else []
    return [
        *("-x", "hip", f"--offload-arch={arch}", "--offload-device-only", "-std=c++20"),
        *rocm,
        *compiler.arguments,
        *(f"-D{macro}" for macro in macros(arch)),
        *(part for folder in include_folders() for part in ("-I", str(folder))),
        *precompiled.top(None, compiler),
    ]
