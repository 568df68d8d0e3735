"""One tree of exceptions for the whole workbench.

Every message names the thing, what came, what was wanted and the next step, so that a person who
sees only the last line of a traceback knows what to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

_PACKAGE = str(Path(__file__).resolve().parent)


def _users_part(traceback: TracebackType | None) -> TracebackType | None:
    """The entries of a traceback down to the first that is inside this package."""
    kept = []
    while traceback is not None and not traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        kept.append(traceback)
        traceback = traceback.tb_next
    result: TracebackType | None = None
    for entry in reversed(kept):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def headline(error: BaseException) -> str:
    """What a list says of an error: the first line of its message, its type where that is empty."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


class WorkbenchError(Exception):
    """Base of every exception that the workbench raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        """The traceback that IPython shows: the user's own lines and the message.

        How the workbench came to notice does not help a reader of a notebook. `%xmode Verbose` shows all.
        """
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
        if shell is None:
            raise NotImplementedError
        style = shell.InteractiveTB
        shown = self.__traceback__ if style.mode == "Verbose" else _users_part(self.__traceback__)
        lines: list[str] = style.structured_traceback(type(self), self, shown)
        return lines


class UsageError(WorkbenchError):
    """A magic or a public function was called with options that do not fit together."""


class UnreadableFile(UsageError, OSError):
    """A file that was named cannot be read."""


class MissingFile(UnreadableFile, FileNotFoundError):
    """A file that was named is not there."""


class ToolchainError(WorkbenchError):
    """The compiler could not do its work."""


class CompilerNotFound(ToolchainError):
    """No compiler with the AMDGPU target was found."""


class CompilerCrashed(ToolchainError):
    """The compiler ended without a diagnosis of the source."""


class CompilerTimeout(ToolchainError):
    """The compiler ran past its time limit and was stopped."""


class CompileError(ToolchainError):
    """The source does not compile.

    Attributes:
        diagnostics: the compiler's findings, each with line, column, severity and message, the lines
            counted as the user sees them in the cell.
    """

    def __init__(self, message: str, diagnostics: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class CodeObjectError(WorkbenchError):
    """A code object is damaged, of an unknown version, or for an unknown target."""


class UnsupportedInstruction(CodeObjectError):
    """A kernel has an instruction that the emulated device does not execute; raised before the launch."""


class DeviceError(WorkbenchError):
    """A call of the HIP API failed.

    Attributes:
        code: the hipError_t that the call returned, None where no call was made.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class ArgumentError(WorkbenchError, TypeError):
    """A kernel argument has the wrong count, name, type, dtype, device, shape or layout."""


class ShapeError(ArgumentError, ValueError):
    """A kernel does not support the shape of the tensors that it was given."""


class UnknownKernel(WorkbenchError, KeyError):
    """A name that no kernel of a module or of the library has; the message lists what is close."""

    def __str__(self) -> str:
        return str(self.args[0])


class ExerciseError(WorkbenchError):
    """A file that is to define an exercise does not."""


class UnknownExercise(ExerciseError, KeyError):
    """A name that no exercise has; the message lists what is close."""

    def __str__(self) -> str:
        return str(self.args[0])


class LaunchError(WorkbenchError, ValueError):
    """A grid, block or shared memory size that the device or the kernel cannot take."""


class SanitizerError(WorkbenchError):
    """The sanitizer found something; the message lists it."""


class KernelFault(WorkbenchError):
    """A kernel did something that stops the device; the process and other allocations are unharmed.

    Attributes:
        kernel: name of the kernel.
        address: address of the faulting instruction in the code object, None where there is none.
        source: (file, line, column) of that instruction, None without debug info.
        workgroup: (x, y, z) of the work-group, None where unknown.
        wave: index of the wave in its work-group, None where unknown.
        lane: lane in the wave, None where the whole wave is meant.
        findings: what the sanitizer had found before, where it was asked.
    """

    findings: tuple[Any, ...] = ()

    def __init__(
        self,
        message: str,
        *,
        kernel: str | None = None,
        address: int | None = None,
        source: tuple[str, int, int] | None = None,
        workgroup: tuple[int, int, int] | None = None,
        wave: int | None = None,
        lane: int | None = None,
    ) -> None:
        super().__init__(message)
        self.kernel = kernel
        self.address = address
        self.source = source
        self.workgroup = workgroup
        self.wave = wave
        self.lane = lane


class AddressFault(KernelFault):
    """A lane touched memory outside every allocation."""


class SharedMemoryFault(KernelFault):
    """A lane touched shared memory (LDS) outside its work-group's allocation."""


class ScratchFault(KernelFault):
    """A lane touched scratch memory outside its own allocation."""


class TrapFault(KernelFault):
    """The kernel executed a trap, a halt or a failed assertion."""


class AssertionFault(TrapFault):
    """An `assert` in a kernel failed."""


class JumpFault(KernelFault):
    """The kernel jumped to an address where no instruction of the code object begins."""


class KernelTimeout(KernelFault):
    """The kernel ran past its time limit and was stopped."""


class ProfilerError(WorkbenchError):
    """rocprofv3 could not profile; the message ends with the command and where its output is kept."""


class ProfilerNotFound(ProfilerError):
    """No rocprofv3 was found."""


class ProfilerPermission(ProfilerError):
    """rocprofv3 may not read the GPU's counters."""


class ProfilerTimeout(ProfilerError):
    """rocprofv3 or the replayed launch ran past its time limit and was stopped."""


class CounterRejected(ProfilerError):
    """A counter that the GPU does not have, or that rocprofv3 refuses."""


class ProgramError(WorkbenchError):
    """A HIP program ended with an error.

    Attributes:
        result: what it wrote and how it ended.
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class ProgramTimeout(ProgramError):
    """A HIP program ran past its time limit and was stopped."""


class UntrustedCompiler(UserWarning):
    """The compiler in use makes wrong code of something; the message says of what."""


class UntrustedRegisters(UserWarning):
    """Registers that inline assembly has by number are the compiler's too; the message says which."""


class EmptyGrid(UserWarning):
    """A Triton kernel was launched on no program at all, so nothing ran and nothing was written."""


class ModelledTime(UserWarning):
    """A function that measures time elsewhere has given the modelled time of an emulated device."""


class VerificationError(WorkbenchError):
    """A result differs from its reference by more than the tolerance."""


class KernelInterrupt(KeyboardInterrupt):
    """A person interrupted a launch: the message names the kernel, its line, and how far it was."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows: the message alone, since no line of a traceback would be the user's doing."""
        return f"{type(self).__name__}: {self}".splitlines()


class HistoryError(WorkbenchError):
    """The file of runs cannot be used, or has no such run or baseline."""


class HistoryLocked(HistoryError):
    """Another program has locked the file of runs; it can be used again once that lets go."""
