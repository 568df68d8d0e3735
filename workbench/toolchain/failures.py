"""Reasons for a failed compilation: an error in the source, or a fault of the compiler."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from workbench.errors import CompileError, CompilerCrashed, WorkbenchError
from workbench.toolchain.compiler import Compiler
from workbench.toolchain.diagnostics import Diagnostic
from workbench.toolchain.process import Finished

_CRASH = re.compile(
    r"PLEASE (?:submit|ATTACH)|Stack dump:|LLVM ERROR:|clang frontend command failed"
    r"|unable to execute command|error in backend:|UNREACHABLE executed|Assertion `.*' failed"
)
_NO_REGISTERS = re.compile(
    r"no registers from class available|ran out of registers|cannot find enough VGPRs"
    r"|requires more registers than available"
)


class NoRegistersError(CompileError):
    """A compiler ran out of registers for a source that is otherwise right.

    Attributes:
        others: compilers to try instead.
    """

    others: Sequence[Compiler] = ()


def lacks_registers(finished: Finished) -> bool:
    """True if the compiler ran out of registers on a source that is otherwise right."""
    return _NO_REGISTERS.search(finished.text) is not None


def failure(
    name: str,
    arch: str,
    compiler: Compiler,
    finished: Finished,
    diagnostics: Sequence[Diagnostic],
    folder: str,
    others: Sequence[Compiler] = (),
) -> WorkbenchError:
    """The error for a compilation without a result.

    Args:
        name: name of the source.
        arch: target.
        compiler: the compiler that ran.
        finished: exit status and output of the compiler.
        diagnostics: diagnostics read from its output.
        folder: folder of its temporary files, which messages omit.
        others: compilers to try if this one lacked registers.

    Returns:
        a CompileError with the diagnostics (NoRegistersError is one), or a CompilerCrashed.
    """
    returncode = finished.returncode or 0
    errors = [item for item in diagnostics if item.severity == "error"]
    crashed = returncode < 0 or returncode > 128 or _CRASH.search(finished.text) is not None
    program = f"{compiler.version} ({compiler.path})"
    if crashed and not any(item.line for item in errors):
        return CompilerCrashed(
            f"{name}: {program} crashed{_death(returncode)}: {_last_words(finished.text, folder)}\n"
            "This is a fault of the compiler, set off by this source: change what was last added, try "
            'flags="-O1", or another compiler with HIPKITTENS_COMPILER.'
        )
    if not errors:
        return CompilerCrashed(
            f"{name}: {program} ended with status {returncode} and said nothing that explains it: "
            f"{_last_words(finished.text, folder)}"
        )
    count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
    texts = [item.text for item in diagnostics if item.severity in ("error", "warning")]
    heading = f"{name} does not compile for {arch}: {count}\n"
    if not lacks_registers(finished):
        return CompileError(heading + "\n".join(texts), tuple(diagnostics))
    texts.append(_fewer_registers(program, others))
    error = NoRegistersError(heading + "\n".join(texts), tuple(diagnostics))
    error.others = others
    return error


def _fewer_registers(program: str, others: Sequence[Compiler]) -> str:
    reason = f"{program} found no allocation of registers; each release of clang allocates in its own way. "
    if not others:
        return reason + "No other compiler is installed: hold fewer values at once, or install another clang."
    choices = " or ".join(f"HIPKITTENS_COMPILER={other.path} ({other.version})" for other in others)
    return f"{reason}Try {choices}, or hold fewer values at once."


def _death(returncode: int) -> str:
    number = -returncode if returncode < 0 else returncode - 128 if returncode > 128 else 0
    if not number:
        return ""
    try:
        name = signal.Signals(number).name
    except ValueError:
        name = f"signal {number}"
    hint = " (out of memory?)" if name == "SIGKILL" else ""
    return f" with {name}{hint}"


def _last_words(text: str, folder: str) -> str:
    """The most informative line of a crashed compiler."""
    lines = [line.strip() for line in text.replace(f"{folder}/", "").splitlines() if line.strip()]
    for pattern in (r"Assertion|UNREACHABLE|LLVM ERROR|error in backend|fatal error", r"error", r"."):
        for line in lines:
            if re.search(pattern, line):
                return line
    return "it left no message"
