"""Another compiler where one finds no registers: each release of clang allocates in its own way."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable

from workbench.toolchain.compiler import Compiler
from workbench.toolchain.diagnostics import Diagnostic
from workbench.toolchain.failures import NoRegistersError
from workbench.toolchain.job import Job
from workbench.toolchain.search import other_compilers
from workbench.toolchain.store import Entry

Made = tuple[Entry, list[str]]
"""A result, and the headers that were read."""


def compile_with_any(job: Job, compilation: Callable[[Job], Made]) -> Made:
    """What the job's compiler makes; where it finds no registers, what the first other one makes that does.

    A compiler that HIPKITTENS_COMPILER names is taken at its word.

    Raises:
        NoRegistersError: no compiler finds any.
        CompileError, CompilerCrashed, CompilerNotFound, CompilerTimeout: as `compilation`.
    """
    try:
        return compilation(job)
    except NoRegistersError as error:
        if os.environ.get("HIPKITTENS_COMPILER"):
            raise
        for other in error.others:
            with contextlib.suppress(NoRegistersError):
                entry, headers = compilation(Job(job.source, job.options, other))
                note = (
                    f"compiled by {other.version} ({other.path}): {job.compiler.version} found no allocation "
                    f"of registers. HIPKITTENS_COMPILER={other.path} spares the first attempt."
                )
                said = (*entry.diagnostics, Diagnostic(0, 0, "note", note))
                return dataclasses.replace(entry, diagnostics=said), headers
        raise


def compiler_of(entry: Entry, job: Job) -> Compiler:
    """Which compiler made an entry: the job's, but where that found no registers."""

    def made(compiler: Compiler) -> bool:
        return entry.command[: len(compiler.command)] == tuple(compiler.command)

    if made(job.compiler):
        return job.compiler
    others = other_compilers(job.compiler, job.options.arch)
    return next((other for other in others if made(other)), job.compiler)
