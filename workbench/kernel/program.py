"""Compiles and runs whole HIP programs: unchanged sources with a `main`.

A program runs in its own process, so that this one survives whatever it does. That process is Python with the
HIP library loaded first: AMD's if the device is a GPU, otherwise the emulator's.
"""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from numbers import Number
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from workbench import bounds, lateness, paths
from workbench.approximation import VARIABLE, default_approximation
from workbench.errors import (
    NothingSanitized,
    ProgramError,
    ProgramTimeout,
    SanitizerError,
    UncaughtException,
    UsageError,
)
from workbench.kernel import compiler_trial
from workbench.kernel.devices import device_of, resolve_device
from workbench.kernel.files import read_file
from workbench.kernel.import_trial import uncaught
from workbench.runtime import Device, reports
from workbench.runtime.findings import Finding, causes, distinct, tell
from workbench.toolchain import CompileOptions
from workbench.toolchain.host import HostResult, compile_host
from workbench.toolchain.source_text import source_text

DEFAULT_TIMEOUT = 300.0
_LAST_LINES = 20


@dataclass(frozen=True)
class ProgramResult:
    """Result of a program: exit status, output, and launches.

    Attributes:
        name: name of the source.
        stdout, stderr: the program's output.
        exit_code: exit status; negative if a signal ended it, as in subprocess.
        seconds: wall time of the run on this computer, without compiling; it says nothing about a GPU.
        device: device on which its kernels ran.
        notes: notes on the compilation: warnings, or another compiler than usual.
        launches: number of sanitized launches, including those of child processes; None if the sanitizer did
            not run.
        findings: the sanitizer's findings, one for each instruction.
    """

    name: str
    stdout: str
    stderr: str
    exit_code: int
    seconds: float = field(compare=False)
    device: str
    notes: tuple[str, ...] = field(default=(), compare=False)
    launches: int | None = field(default=None, compare=False)
    findings: tuple[Finding, ...] = field(default=(), compare=False)

    def check(self) -> ProgramResult:
        """This result, if the program ended well and the sanitizer, if it ran, found nothing.

        Raises:
            SanitizerError: the sanitizer found something; the message lists it.
            UncaughtException: a C++ exception ended it.
            ProgramError: its exit status is not 0; the message has its last words.
            NothingSanitized: the program launched nothing that the sanitizer saw.
        """
        if self.findings:
            lines = map(str, causes(self.findings))
            raise SanitizerError("\n  ".join((f"{self.name}: {self._sanitized}", *lines)))
        if self.exit_code == 0:
            if self.launches == 0:
                raise NothingSanitized(
                    f"{self.name}: {self._sanitized}; expected a program that launches kernels"
                )
            return self
        words = _words(self.stderr, self.stdout)
        thrown = uncaught(self.stderr) if self.exit_code == -signal.SIGABRT else None
        if thrown is None:
            raise ProgramError(f"{self.name} {_ending(self.exit_code)}{words}", self)
        ended = f"{self.name} {_ending(self.exit_code)}, by {thrown}"
        raise UncaughtException(f"{ended}{words}", self, thrown.exception, thrown.what)

    @property
    def _sanitized(self) -> str:
        """The sanitizer's summary of the program; "" if it was not sanitized."""
        if self.launches is None:
            return ""
        if not self.launches:
            return "it launched nothing, so nothing was sanitized"
        count = f"{self.launches} launch{'' if self.launches == 1 else 'es'} sanitized"
        number = len(causes(self.findings))
        return f"{count}, {number or 'no'} finding{'' if number == 1 else 's'}"

    def __repr__(self) -> str:
        sanitized = f", {self._sanitized}" if self._sanitized else ""
        return f"<{self.name} on {self.device}: {_ending(self.exit_code)}{sanitized}>"


def run_program(
    source: str | Path,
    args: Sequence[str | int | float | Path] = (),
    *,
    device: Device | str | None = None,
    stdin: str = "",
    timeout: float | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    include: Sequence[str | Path] = (),
    flags: str | Sequence[str] = (),
    define: Sequence[str] | Mapping[str, object] = (),
    compile_timeout: float | None = None,
    sanitize: bool = False,
) -> ProgramResult:
    """Compiles a HIP program and runs it on a device.

    Args:
        source: a file, or the C++ text itself; a text contains a line break or a brace.
        args: command line arguments.
        device: device that runs the program, which sees it as number 0. None for the default device.
        stdin: text for the program's standard input.
        timeout: seconds that it may run; None for HIPKITTENS_PROGRAM_TIMEOUT, or else 300.
        env: environment variables to set.
        cwd: folder that it runs in; None for this process's.
        include, flags, define: see `wb.compile`; flags such as `-lm` go to the linker.
        compile_timeout: seconds that the compiler may take.
        sanitize: look for races, missing waits and other faults in every launch, including those of child
            processes, as `wb.sanitize` does. Only on an emulated device.

    Returns:
        output and exit status. A failing program or a finding of the sanitizer raises nothing: see
        `ProgramResult.check`. On an emulated device, standard error explains a kernel's fault.

    Raises:
        CompileError: the source does not compile.
        UsageError: the source has no main, or an argument has a wrong type.
        MissingFile, UnreadableFile
        DeviceError: `sanitize` is True on a GPU.
        ProgramTimeout: the program ran past its time limit; `result` has its output until then.
    """
    words, limit, environment = _arguments(args), _time_limit(timeout), _environment(env)
    if not isinstance(stdin, str):
        raise UsageError(f"stdin is {stdin!r}; expected a text")
    if cwd is not None and not Path(cwd).is_dir():
        raise UsageError(f"cwd is {str(cwd)!r}; expected an existing folder")
    text, name = _read(source)
    where = resolve_device(device) if device is not None else device_of(())
    if sanitize:
        where.check_observes("what happens inside")
    options = CompileOptions(
        where.arch, name=name, include=include, flags=flags, define=define, timeout=compile_timeout
    )
    built = _build(text, options, where)
    command = [sys.executable, "-m", "workbench.runtime.program_process", str(os.getpid())]
    command += [where.name, str(built.library), name, *words]
    with reports.of_process(environment) if sanitize else nullcontext() as launched:
        ended = _run(command, stdin, limit, environment, cwd)
        launches = launched.new() if launched is not None else None
    result = ProgramResult(
        name=Path(name).name,
        stdout=ended.stdout,
        stderr=ended.stderr,
        exit_code=ended.code if ended.code is not None else -signal.SIGKILL,
        seconds=ended.seconds,
        device=where.name,
        notes=tuple(str(diagnostic) for diagnostic in built.diagnostics),
        launches=len(launches) if launches is not None else None,
        findings=distinct(f for launch in launches or () for f in launch.findings if f.category != "note"),
    )
    if launches:
        tell(result.name, result.device, result.findings)
    if ended.code is None:
        raise ProgramTimeout(
            f"{result.name} did not end within {limit:g} s and was stopped. If it is not an endless loop, "
            f"give a longer timeout.{_words(ended.stderr, ended.stdout)}",
            result,
        )
    return result


def _build(text: str, options: CompileOptions, device: Device) -> HostResult:
    """The program as a library, and everything that its process needs.

    Raises:
        CompileError: the source does not compile.
        UsageError: the source has no main.
    """
    device.build_later()
    built = compiler_trial.compiled(options.arch, lambda: compile_host(text, options, module=False))
    if not _has_main(built.library):
        raise UsageError(
            f"{Path(options.name).name} has no `int main`: expected a program. A pybind11 module is compiled "
            "with wb.compile(source, host=True), kernels alone with wb.compile(source)."
        )
    # Here, not in the program: its time limit is for its own work, and stopping it would lose the build.
    device.build()
    return built


def _arguments(args: Sequence[str | int | float | Path]) -> list[str]:
    """The command line's words.

    Raises:
        UsageError: it is not a list, or one of them is neither text, number nor path.
    """
    if isinstance(args, (str, bytes)):
        raise UsageError(f"args is the text {args!r}; expected a list such as [{args!r}]")
    if not isinstance(args, Iterable):
        raise UsageError(f"args is {args!r}; expected a list such as [{args!r}]")
    values = list(args)
    for number, arg in enumerate(values):
        if not isinstance(arg, (str, Number, os.PathLike)) or "\0" in str(arg):
            raise UsageError(
                f"args[{number}] is {arg!r}; expected a text without null bytes, a number or a path"
            )
    return [str(arg) for arg in values]


def _environment(env: Mapping[str, str] | None) -> dict[str, str]:
    """This process's environment with the caller's variables, in which the program finds this package too.

    Raises:
        UsageError: it is not a mapping of texts that are valid environment variables.
    """
    if env is not None and not isinstance(env, Mapping):
        raise UsageError(f"env is {env!r}; expected variables by name, such as {{'NAME': 'value'}}")
    for name, value in (env or {}).items():
        if not (isinstance(name, str) and name and not set(name) & set("=\0")):
            raise UsageError(f"env has the name {name!r}; expected a text without '=', such as 'NAME'")
        if not isinstance(value, str) or "\0" in value:
            raise UsageError(f"env[{name!r}] is {value!r}; expected a text without null bytes")
    approximation = default_approximation()
    errors = {} if approximation is None else {VARIABLE: str(approximation.seed)}
    late = lateness.default_lateness()
    delays = {} if late is None else {lateness.VARIABLE: str(late)}
    environment = {**os.environ, **errors, **delays, **bounds.variables(), **(env or {})}
    roots = [str(Path(paths.__file__).resolve().parent.parent), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, roots))
    return environment


def _has_main(library: Path) -> bool:
    with library.open("rb") as file:
        symbols = ELFFile(file).get_section_by_name(".dynsym")
        entries = symbols.get_symbol_by_name("main") if isinstance(symbols, SymbolTableSection) else None
        return any(symbol["st_shndx"] != "SHN_UNDEF" for symbol in entries or ())


def _read(source: str | Path) -> tuple[str, str]:
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return source, "program.cpp"
    if not isinstance(source, (str, os.PathLike)) or not str(source):
        raise UsageError(f"run_program: got {source!r}; expected the path of a C++ file, or its text")
    return source_text(read_file("run_program", source, "a C++ file")), str(source)


def _time_limit(timeout: float | None) -> float:
    if timeout is None:
        text = os.environ.get("HIPKITTENS_PROGRAM_TIMEOUT")
        try:
            timeout = float(text) if text else DEFAULT_TIMEOUT
        except ValueError:
            raise UsageError(f"HIPKITTENS_PROGRAM_TIMEOUT={text!r}: expected a number of seconds") from None
    if not isinstance(timeout, (int, float)) or not 0 < timeout < math.inf:
        raise UsageError(f"timeout is {timeout!r}; expected a positive number of seconds")
    return timeout


@dataclass(frozen=True)
class _Ended:
    """Output of a process, its exit status (None if its time limit stopped it) and wall time."""

    stdout: str
    stderr: str
    code: int | None
    seconds: float


def _run(
    command: Sequence[str], stdin: str, timeout: float, environment: Mapping[str, str], cwd: str | Path | None
) -> _Ended:
    """Runs a process to its end or its time limit."""
    started = time.perf_counter()
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(environment),
        cwd=cwd,
        start_new_session=True,
    )
    code: int | None = None
    try:
        out, err = process.communicate(stdin.encode(), timeout=timeout)
        code = process.returncode
    except subprocess.TimeoutExpired:
        _kill(process)
        out, err = process.communicate()
    except BaseException:
        _kill(process)
        process.wait()
        raise
    seconds = time.perf_counter() - started
    return _Ended(out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), code, seconds)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the program and all processes that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        process.kill()


def _ending(code: int) -> str:
    if code >= 0:
        return f"ended with exit status {code}"
    try:
        return f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        return f"was ended by signal {-code}"


def _words(*texts: str) -> str:
    """The end of the first text that is not empty, for a message."""
    for text in texts:
        lines = text.strip().splitlines()
        if lines:
            return ":\n" + "\n".join(lines[-_LAST_LINES:])
    return "."


__all__ = ["ProgramResult", "run_program"]
