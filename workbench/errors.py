"""One tree of exceptions for the whole workbench.

Every message names the thing, the value that came, the value expected and the next step, so that a person who
sees only the last line of a traceback knows what to do.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

_PACKAGE = str(Path(__file__).resolve().parent)


def _users_part(traceback: TracebackType | None) -> TracebackType | None:
    """The entries of a traceback down to the first that is inside this package."""
    entries = []
    while traceback is not None and not traceback.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        entries.append(traceback)
        traceback = traceback.tb_next
    result: TracebackType | None = None
    for entry in reversed(entries):
        result = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return result


def headline(error: BaseException) -> str:
    """One line for a list of errors: the first line of the message, or the type if that is empty."""
    return str(error).strip().partition("\n")[0] or type(error).__name__


class WorkbenchError(Exception):
    """Base of every exception that the workbench raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        """The traceback that IPython shows: the user's own lines and the message.

        The workbench's own frames do not help a reader of a notebook. `%xmode Verbose` shows all frames.
        """
        from IPython.core.getipython import get_ipython

        shell = get_ipython()
        if shell is None:
            raise NotImplementedError
        style = shell.InteractiveTB
        traceback = self.__traceback__ if style.mode == "Verbose" else _users_part(self.__traceback__)
        lines: list[str] = style.structured_traceback(type(self), self, traceback)
        return lines


class UsageError(WorkbenchError):
    """You called a magic or a public function with options that do not fit together.

    Cure: Change the option that the message names; `help(function)` or `%%hipkittens?` lists them.
    """


class UnreadableFile(UsageError, OSError):
    """A file that you named cannot be read.

    Cure: Check its permissions, and that it is a file and not a folder.
    """


class MissingFile(UnreadableFile, FileNotFoundError):
    """A file that you named does not exist.

    Cure: Check the path; a relative one starts at the folder of the notebook or script.
    """


class ToolchainError(WorkbenchError):
    """The compiler could not do its work.

    Cure: Run `python -m workbench doctor`.
    """


class CompilerNotFound(ToolchainError):
    """No compiler with the AMDGPU target was found.

    Cure: Run the command that the message gives, usually `pip install` of the `ziglang` wheel, or name a
    compiler in `HIPKITTENS_COMPILER`.
    """


class CompilerCrashed(ToolchainError):
    """The compiler ended without a diagnosis of the source.

    Cure: Try another release (`HIPKITTENS_COMPILER`) or `-O1`; docs/compilers.md lists known defects.
    """


class CompilerTimeout(ToolchainError):
    """The compiler ran past its time limit and was stopped.

    Cure: Look for templates that instantiate without an end, or raise `HIPKITTENS_COMPILE_TIMEOUT`.
    """


class CompileError(ToolchainError):
    """The source does not compile.

    Cure: Go to the line in the message; docs/mistakes.md explains those about tiles.

    Attributes:
        diagnostics: the compiler's findings, each with line, column, severity and message, the lines
            counted as the user sees them in the cell.
    """

    def __init__(self, message: str, diagnostics: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class CodeObjectError(WorkbenchError):
    """A code object is damaged, of an unknown version, or for an unknown target.

    Cure: Compile it again for gfx950, gfx942 or gfx90a, with code object format 4, 5 or 6.
    """


class UnsupportedInstruction(CodeObjectError):
    """A kernel has an instruction that the emulated device does not execute; raised before the launch.

    Cure: Avoid the instruction, or run on a GPU; docs/instructions.md lists what is executed.
    """


class EmptyKernel(CodeObjectError):
    """The compiler left no instruction of a kernel, because whatever it does is undefined in C++.

    Cure: Look for an endless loop without effects, or for impossible paths (`__builtin_unreachable`).
    """


class DeviceError(WorkbenchError):
    """A call of the HIP API failed.

    Cure: Read the message for the call and its cause; `python -m workbench doctor` checks the device.

    Attributes:
        code: the hipError_t that the call returned, None if no call was made.
    """

    def __init__(self, message: str, code: int | None = None) -> None:
        super().__init__(message)
        self.code = code


class ArgumentError(WorkbenchError, TypeError):
    """A kernel argument has the wrong count, name, type, dtype, device, shape or layout.

    Cure: Pass what the message says; a kernel's repr shows its signature.
    """


class ShapeError(ArgumentError, ValueError):
    """A kernel does not support the shape of the tensors that you passed.

    Cure: Pad the tensor to the multiple that the message names, or choose another variant.
    """


class UnknownKernel(WorkbenchError, KeyError):
    """No kernel of the module or library has that name; the message lists close ones.

    Cure: Take one of those; `module.kernels` and `wb.kernels` list all.
    """

    def __str__(self) -> str:
        return str(self.args[0])


class ExerciseError(WorkbenchError):
    """A file that should define an exercise does not.

    Cure: Compare it with the example in docs/exercises.md.
    """


class UnknownExercise(ExerciseError, KeyError):
    """No exercise has that name; the message lists close ones.

    Cure: Take one of those; `wb.exercises()` lists all.
    """

    def __str__(self) -> str:
        return str(self.args[0])


class LaunchError(WorkbenchError, ValueError):
    """The device or the kernel cannot take this grid, block or size of shared memory.

    Cure: Stay within the limit that the message names.

    Attributes:
        code: the hipError_t of the HIP call that launched, None if none did.
    """

    code: int | None = None


class SanitizerError(WorkbenchError):
    """The sanitizer found something; the message lists it.

    Cure: Repair the first finding at its line and run again; docs/sanitizer.md explains each class.
    """


class NothingSanitized(SanitizerError, UsageError):
    """The sanitizer was requested but saw no launch, so nothing is known.

    Cure: Launch on an emulated device, in this process or in one that inherits its environment
    (`HIPKITTENS_SANITIZE`); a GPU cannot watch itself.
    """


class KernelFault(WorkbenchError):
    """A kernel did something that stops the device; the process and other allocations are unharmed.

    Cure: Go to the line in the message; `wb.step` walks to that place.

    Attributes:
        kernel: name of the kernel.
        address: address of the faulting instruction in the code object; None if there is none.
        source: (file, line, column) of that instruction; None without debug info.
        workgroup: (x, y, z) of the work-group; None if unknown.
        wave: index of the wave in its work-group; None if unknown.
        lane: lane in the wave; None if it concerns the whole wave.
        cause: what happened, without kernel, place and lane; "" if only the message has it.
        findings: earlier findings of the sanitizer, if it was on.
        code: digest of the code object that ran, as `Module.digest`; "" if unknown.
        memory_address: device address of the access that faulted; None if it was not an access to memory.
    """

    findings: tuple[Any, ...] = ()
    code: str = ""
    memory_address: int | None = None

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
        cause: str = "",
    ) -> None:
        super().__init__(message)
        self.cause = cause
        self.kernel = kernel
        self.address = address
        self.source = source
        self.workgroup = workgroup
        self.wave = wave
        self.lane = lane

    @property
    def facts(self) -> dict[str, KernelFault]:
        """Facts for the event of a failed launch: a copy, since frames of the traceback hold tensors."""
        return {"fault": copy.copy(self)}


class AddressFault(KernelFault):
    """A lane touched memory outside every allocation.

    Cure: Check the index or bound at that line; the message says how far outside of which argument it was.
    """


class SharedMemoryFault(KernelFault):
    """A lane touched shared memory (LDS) outside its work-group's, with HIPKITTENS_SHARED_BOUNDS=exact.

    Cure: Check the index, or pass the bytes of dynamic shared memory as the third number of the launch.
    """


class ScratchFault(KernelFault):
    """A lane touched scratch memory outside its own allocation.

    Cure: Check indices into local arrays.
    """


class TrapFault(KernelFault):
    """The kernel executed a trap, a halt or a failed assertion.

    Cure: Find out what led to the line in the message.
    """


class AssertionFault(TrapFault):
    """An `assert` in a kernel failed.

    Cure: The message has its text and thread; fix the violated condition.
    """


class JumpFault(KernelFault):
    """The kernel jumped to an address where no instruction of the code object begins.

    Cure: Check function pointers, and inline assembly that sets the program counter.
    """


class EndFault(KernelFault):
    """The kernel ran past the last instruction of a function, which the compiler thought impossible.

    Cure: Look for undefined behaviour at that line: a missing return, an endless loop without an effect.
    """


class KernelTimeout(KernelFault):
    """The kernel ran past its time limit and was stopped.

    Cure: Look for a loop without an end at the line in the message, or raise `HIPKITTENS_TIMEOUT`.
    """


class KernelDeadlock(KernelTimeout):
    """Work-groups wait for memory that nobody can change any more, and were stopped before the time limit.

    Cure: The message says which work-groups wait for which address, and which never started. Launch no more
    work-groups than the device holds at once, let them wait only for earlier ones, or find the one that
    should have written there.
    """


class ProfilerError(WorkbenchError):
    """rocprofv3 could not profile; the message ends with the command and where its output is kept.

    Cure: Run that command yourself and read its output.
    """


class ProfilerNotFound(ProfilerError):
    """No rocprofv3 was found.

    Cure: Install ROCm's rocprofiler-sdk, or profile on an emulated device.
    """


class ProfilerPermission(ProfilerError):
    """rocprofv3 may not read the GPU's counters.

    Cure: Join the groups that the message names (`render`, `video`).
    """


class ProfilerTimeout(ProfilerError):
    """rocprofv3 or the replayed launch ran past its time limit and was stopped.

    Cure: Ask for fewer counters, or a smaller shape.
    """


class CounterRejected(ProfilerError):
    """The GPU does not have a counter, or rocprofv3 refuses it.

    Cure: Leave it out; docs/counters.md lists counters by target.
    """


class HostException(WorkbenchError, RuntimeError):
    """Host code of a compiled module threw an exception that does not reach Python.

    It is not a std::exception, so its message is lost, or it was thrown while the module was imported.

    Cure: Throw a class derived from std::exception, or catch it in the function that the message names; catch
    what the initialiser of a static object or the module's body throws.

    Attributes:
        module, function: module and function of the host code; no function for an import.
        exception, what: type and text of an exception during import, if the C++ library provides them.
    """

    def __init__(
        self, message: str, module: str = "", function: str = "", exception: str = "", what: str = ""
    ) -> None:
        super().__init__(message)
        self.module = module
        self.function = function
        self.exception = exception
        self.what = what


class ProgramError(WorkbenchError):
    """A HIP program ended with an error.

    Cure: Read its last words in the message, or all of `result.stderr`.

    Attributes:
        result: output and exit status.
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class UncaughtException(ProgramError):
    """A HIP program was ended by a C++ exception that nothing caught.

    Cure: Catch it in main, or fix the code that throws it; faults of kernels precede it on standard error.

    Attributes:
        exception: its C++ type; "" if the C++ library does not say.
        what: its text; "" if it is not a std::exception.
    """

    def __init__(self, message: str, result: Any = None, exception: str = "", what: str = "") -> None:
        super().__init__(message, result)
        self.exception = exception
        self.what = what


class ProgramTimeout(ProgramError):
    """A HIP program ran past its time limit and was stopped.

    Cure: Pass `timeout=`, or raise `HIPKITTENS_PROGRAM_TIMEOUT`.
    """


class UntrustedCompiler(UserWarning):
    """The compiler in use miscompiles some code; the message says which.

    Cure: Install the compiler that the message names, or avoid the construct (docs/compilers.md).
    """


class UntrustedRegisters(UserWarning):
    """The compiler uses registers that inline assembly addresses by number; the message says which.

    Cure: Reserve them with `KITTENS_PINS_FROM`, or try another compiler (docs/compilers.md).
    """


class SharedMemoryOverrun(UserWarning):
    """A kernel went beyond its shared memory, and continued as on a GPU; the message says where.

    Cure: Check the index. `wb.sanitize` lists every such place, `HIPKITTENS_SHARED_BOUNDS=exact` stops there.
    """


class TensorOverrun(UserWarning):
    """A kernel went a few bytes past the end of a tensor, where PyTorch's allocator on a GPU has memory too.

    Cure: Check the index. `wb.sanitize` lists every such place, `HIPKITTENS_BOUNDS=exact` stops there.
    """


class EmptyGrid(UserWarning):
    """You launched a Triton kernel on an empty grid, so nothing ran and nothing was written.

    Cure: Check the computation of the grid.
    """


class PatchConflict(UserWarning):
    """Other code replaced an attribute of a library that the workbench had replaced; the message says which.

    Cure: Undo the other replacement before the `with` block ends in which it was made.
    """


class ModelledTime(UserWarning):
    """A function that usually measures time returned the modelled time of an emulated device.

    Cure: Use it to compare kernels, or measure on a GPU.
    """


class VerificationError(WorkbenchError):
    """A result differs from its reference by more than the tolerance.

    Cure: Look at the first wrong elements in the message; `wb.provenance` says where one comes from.
    """


class KernelInterrupt(KeyboardInterrupt):
    """You interrupted a launch: the message names the kernel, its line, and how far it was.

    Cure: Run it again.
    """

    def _render_traceback_(self) -> list[str]:
        """IPython's hook: only the message, since no line of a traceback would be the user's."""
        return f"{type(self).__name__}: {self}".splitlines()


class JobLimit(WorkbenchError):
    """An operation of the MCP server took more time or memory than it may, or was cancelled.

    Cure: Take a smaller shape, or raise the limit that the message names.
    """


class WorkerEnded(WorkbenchError):
    """The process that did an operation of the MCP server ended without an answer.

    Cure: Try it again; `python -m workbench doctor` checks the installation.
    """


class HistoryError(WorkbenchError):
    """The file of runs cannot be used, or has no such run or baseline.

    Cure: Name another file in `HIPKITTENS_HISTORY`, or list the runs first.
    """


class HistoryLocked(HistoryError):
    """Another program has locked the file of runs.

    Cure: Close that program, or wait until it releases the file.
    """
