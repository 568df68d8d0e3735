"""Retries for a compiler that runs out of registers, and the check that it left the reserved ones alone.

Each release of clang allocates differently, and LLVM 22 counts a kernel's registers in a new way: the twice n
registers of amdgpu_num_vgpr(n) include as many AGPRs as inline assembly names, where half were AGPRs before.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

from workbench.errors import ToolchainError, UntrustedRegisters
from workbench.toolchain import pinned
from workbench.toolchain.compiler import Compiler
from workbench.toolchain.diagnostics import Diagnostic
from workbench.toolchain.failures import NoRegistersError
from workbench.toolchain.job import Job
from workbench.toolchain.search import other_compilers
from workbench.toolchain.store import Entry

Made = tuple[Entry, list[str]]
"""A result, and the headers that were read."""
Compilation = Callable[[Job], Made]
Listing = Callable[[Job], str]
"""The text that `pinned.kernels` reads."""

_ATTRIBUTE = "amdgpu_num_vgpr"
_WITH_AGPRS = f"{_ATTRIBUTE}(n)={_ATTRIBUTE}(((n)+256)/2)"
"""Number of VGPRs that earlier releases gave a kernel that names all 256 AGPRs."""
_COUNT = (
    f"since LLVM 22 the registers of {_ATTRIBUTE}(n), twice n, include as many AGPRs as inline assembly names"
)


def compile_with_any(job: Job, compilation: Compilation, listing: Listing) -> Made:
    """Result of the job's compiler or, if it runs out of registers, of another way that does not.

    The first is the register count of earlier releases, if the compiler then leaves those alone that inline
    assembly names by number; then come other compilers, unless HIPKITTENS_COMPILER names one.

    Raises:
        NoRegistersError: no compiler has enough registers.
        CompileError, CompilerCrashed, CompilerNotFound, CompilerTimeout: see `compilation`.
    """
    try:
        return _examined(job, compilation(job), listing)
    except NoRegistersError as error:
        outcome = _recounted(job, compilation, listing)
        if not isinstance(outcome, str):
            return outcome
        for other in () if os.environ.get("HIPKITTENS_COMPILER") else error.others:
            with contextlib.suppress(NoRegistersError):
                note = (
                    f"compiled by {other.version} ({other.path}): {job.compiler.version} found no allocation "
                    f"of registers. HIPKITTENS_COMPILER={other.path} skips the first attempt."
                )
                again = Job(job.source, job.options, other)
                return _noted(_examined(again, compilation(again), listing), note)
        if not outcome:
            raise
        raise NoRegistersError(f"{error}\n{outcome}", error.diagnostics) from error


def compiler_of(entry: Entry, job: Job) -> Compiler:
    """The compiler that made an entry: the job's, unless that one ran out of registers."""

    def made(compiler: Compiler) -> bool:
        return entry.command[: len(compiler.command)] == tuple(compiler.command)

    if made(job.compiler):
        return job.compiler
    others = other_compilers(job.compiler, job.options.arch)
    return next((other for other in others if made(other)), job.compiler)


def tell_doubts(entry: Entry) -> None:
    """Warn of possible faults of a result, cached or not."""
    for doubt in entry.doubts:
        # The line that called `wb.compile`.
        warnings.warn(doubt, UntrustedRegisters, stacklevel=7)


def _recounted(job: Job, compilation: Compilation, listing: Listing) -> Made | str:
    """Result with the earlier count of registers; else the reason, or ""."""
    if _ATTRIBUTE not in job.source or any(macro.startswith(_ATTRIBUTE) for macro in job.options.define):
        return ""
    options = replace(job.options, define=(*job.options.define, _WITH_AGPRS))
    again = Job(job.source, options, job.compiler)
    try:
        result = compilation(again)
    except NoRegistersError:
        return ""
    refused = f'{_COUNT[0].upper()}{_COUNT[1:]}. With define=["{_WITH_AGPRS}"] it compiles, '
    kernels = _kernels(again, listing)
    if kernels is None:
        return f"{refused}but nothing shows whether the compiler avoids those registers: verify the results."
    if not any(kind == "a" for kernel in kernels for kind, _ in kernel.named):
        return ""  # Not a matter of AGPRs: the limit is the author's.
    if wrong := [(kernel.name, lost) for kernel in kernels if (lost := kernel.lost)]:
        which = "; ".join(f"{name} has {pinned.shown(lost)}" for name, lost in wrong)
        return (
            f"{refused}but is wrong: the compiler keeps values of its own in registers that inline assembly "
            f"has by number ({which}). Leave it more VGPRs; with our headers, KITTENS_PINS_FROM(n, agprs) "
            "counts for each release."
        )
    note = (
        f'compiled with define=["{_WITH_AGPRS}"]: {_COUNT}. The compiler keeps off the registers that inline '
        "assembly has by number: its listing was looked through."
    )
    return _noted(_doubted(result, kernels), note)


def _examined(job: Job, result: Made, listing: Listing) -> Made:
    """A result with the warning about its registers by number."""
    return _doubted(result, _kernels(job, listing) or ())


def _kernels(job: Job, listing: Listing) -> Sequence[pinned.Function] | None:
    """Kernels with registers by number; None if the compiler's listing is missing or unreadable."""
    if not pinned.names_registers(job.prologue + job.source):
        return ()
    try:
        return pinned.kernels(listing(job).splitlines())
    except (ToolchainError, ValueError):
        return None


def _doubted(result: Made, kernels: Sequence[pinned.Function]) -> Made:
    entry, headers = result
    return replace(entry, doubts=tuple(pinned.warnings_of(kernels))), headers


def _noted(result: Made, note: str) -> Made:
    entry, headers = result
    return replace(entry, diagnostics=(*entry.diagnostics, Diagnostic(0, 0, "note", note))), headers
