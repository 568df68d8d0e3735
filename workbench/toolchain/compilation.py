"""Compiles a cell's HIP source to a code object, or says in the cell's own terms why it does not compile."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench.cache import digest
from workbench.errors import CompileError, CompilerCrashed, CompilerNotFound, CompilerTimeout, UsageError
from workbench.targets import NAMES, target
from workbench.toolchain import precompiled, process
from workbench.toolchain.compiler import INCLUDE, Compiler, find_compiler, kernel_headers
from workbench.toolchain.diagnostics import Diagnostic, Reader
from workbench.toolchain.store import Entry, Store, headers_of, hiding_places

DEFAULT_NAME = "cell.hip"
DEFAULT_TIMEOUT = 300.0
"""Seconds; `$HIPKITTENS_COMPILE_TIMEOUT` changes it."""

# Flags that decide what is compiled, for what and to where; the workbench's own to give.
_TAKEN = re.compile(
    r"-o.*|-c|-S|-E|-x.*|-fsyntax-only|-M\w*|--offload.*|--cuda-.*|-fgpu-rdc|-save-temps.*|--save-temps.*"
    r"|-emit-.*|-###|--version|-v|-"
)
# Variables by which a compiler is given folders and flags besides its command line.
_ENVIRONMENT = (
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "HIPCC_COMPILE_FLAGS_APPEND",
    "SOURCE_DATE_EPOCH",
)
_CRASH = re.compile(
    r"PLEASE (?:submit|ATTACH)|Stack dump:|LLVM ERROR:|clang frontend command failed"
    r"|unable to execute command|error in backend:|UNREACHABLE executed|Assertion `.*' failed"
)
_REJECTED = re.compile(r"PCH file|precompiled (?:file|header)|AST file")


@dataclass(frozen=True)
class CompileResult:
    """A compiled source.

    Attributes:
        code_object: the ELF for `arch`.
        arch: target, such as "gfx950".
        diagnostics: the compiler's warnings.
        seconds: what this call took, cached or not.
        compile_seconds: what the compiler took when it compiled this.
        cached: whether no compiler was started.
        command: the compiler's command line; the source was on its standard input.
        compiler: which compiler.
        source: the text.
        source_name: the name under which it appears in messages and debug information.
    """

    code_object: bytes
    arch: str
    diagnostics: tuple[Diagnostic, ...]
    seconds: float
    compile_seconds: float
    cached: bool
    command: tuple[str, ...]
    compiler: Compiler
    source: str
    source_name: str


def compile_device(
    source: str,
    *,
    arch: str,
    name: str | None = None,
    include: Iterable[str | os.PathLike[str]] = (),
    flags: str | Iterable[str] = (),
    define: Iterable[str] | Mapping[str, object] = (),
    debug: bool = True,
    timeout: float | None = None,
    first_line: int = 1,
    use_cache: bool = True,
) -> CompileResult:
    """Compile HIP source to a code object.

    `hip/hip_runtime.h` is included in front of the source; the headers of the kernel library are on the
    include path, with KITTENS_CDNA4 (gfx950), KITTENS_CDNA3 (gfx942) or KITTENS_CDNA2 (gfx90a) defined.
    Quoted includes are looked for in the current folder first, or beside the source where `name` is a file.

    Args:
        source: C++20 with HIP.
        arch: "gfx950", "gfx942" or "gfx90a"; features such as ":xnack-" may follow.
        name: what messages and debug information call the source; keep it equal from run to run, because a
            cached result is found by it too.
        include: folders searched before ours.
        flags: further compiler flags, a list or a command line's text.
        define: macros, as `NAME` or `NAME=VALUE`, or a mapping.
        debug: whether the code object describes its lines, parameters and types.
        timeout: seconds that the compiler may take.
        first_line: number of the source's first line in messages, 2 where a cell's magic is line 1.
        use_cache: whether an earlier result may be given.

    Raises:
        CompileError: the source does not compile; carries `diagnostics`.
        CompilerNotFound: no compiler for `arch`.
        CompilerCrashed: the compiler died, or ended without a word.
        CompilerTimeout: it took longer than `timeout`.
        UsageError: an unknown target, or a flag that the workbench itself gives.
    """
    start = time.perf_counter()
    job = Job(source, arch, name, include, flags, define, debug, timeout, first_line)
    store = Store()
    if use_cache:
        entry = store.get(job.key)
        if entry is not None:
            return job.result(entry, start, cached=True)
    with store.lock(job.key):
        # Another process may have compiled the same while this one waited.
        entry = store.get(job.key) if use_cache else None
        if entry is not None:
            return job.result(entry, start, cached=True)
        entry, headers = job.compile()
        store.put(job.key, entry, headers, hiding_places(headers, job.folders))
    return job.result(entry, start, cached=False)


def warm(arch: str = "gfx950") -> None:
    """Make the precompiled headers for `arch`, so that the first cell compiles as fast as the next ones."""
    job = Job("", arch, None, (), (), (), True, None, 1)
    for header in (precompiled.RUNTIME, precompiled.TILES):
        if header == precompiled.TILES and not (kernel_headers() / header).is_file():
            continue
        precompiled.build(job.compiler, job.options, arch, header)


class Job:
    """One source with everything that decides what becomes of it."""

    def __init__(
        self,
        source: str,
        arch: str,
        name: str | None,
        include: Iterable[str | os.PathLike[str]],
        flags: str | Iterable[str],
        define: Iterable[str] | Mapping[str, object],
        debug: bool,
        timeout: float | None,
        first_line: int,
    ) -> None:
        _check_types(source, arch, name, first_line)
        # Editors of other systems begin a file with this mark, which clang takes only at the very start.
        self.source = source.removeprefix("\ufeff")
        self.arch = arch
        self.name = name or DEFAULT_NAME
        self.first_line = first_line
        self.timeout = _time_limit(timeout)
        macro = target(arch).macro
        extra = _flags(flags)
        macros = _defines(define)
        if isinstance(include, (str, bytes, os.PathLike)):
            text = os.fsdecode(include)
            raise UsageError(f"include is {text!r}; wanted a list of folders such as [{text!r}]")
        given = list(include)
        for folder in given:
            if not isinstance(folder, (str, os.PathLike)):
                raise UsageError(f"include folder {folder!r}: a path is wanted")
        includes = [os.path.abspath(os.fspath(folder)) for folder in given]
        for folder in includes:
            if not os.path.isdir(folder):
                raise UsageError(f"include folder {folder} does not exist")
        beside = os.path.dirname(self.name) if os.path.isfile(self.name) else ""
        self.quotes = [os.path.abspath(beside)] if beside else []
        self.compiler = find_compiler(arch)
        self.options = [
            "-O3",
            "-std=c++20",
            *(["-g"] if debug else []),
            "-fdebug-compilation-dir=.",
            "-fno-color-diagnostics",
            "-fdiagnostics-parseable-fixits",
            f"-D{macro}",
            "-I",
            str(kernel_headers()),
            *extra,
        ]
        self.own = [
            *(part for folder in self.quotes for part in ("-iquote", folder)),
            *(part for folder in includes for part in ("-I", folder)),
            *(f"-D{macro}" for macro in macros),
        ]
        self.before = [".", *self.quotes, *includes]
        self.folders = [*self.before, str(kernel_headers()), str(INCLUDE)]
        self.macros = [macro.split("=", 1)[0].split("(", 1)[0] for macro in macros]
        self.macros += [flag[2:].split("=", 1)[0] for flag in extra if flag[:2] in ("-D", "-U")]
        self.key = digest(
            "compile",
            self.compiler.identity,
            *self.compiler.device_command(arch, ""),
            *self.options,
            *self.own,
            *(f"{variable}={os.environ.get(variable)}" for variable in _ENVIRONMENT),
            self.name,
            str(first_line),
            source,
        )

    def result(self, entry: Entry, start: float, *, cached: bool) -> CompileResult:
        return CompileResult(
            entry.code_object,
            self.arch,
            entry.diagnostics,
            time.perf_counter() - start,
            entry.seconds,
            cached,
            entry.command,
            self.compiler,
            self.source,
            self.name,
        )

    def compile(self) -> tuple[Entry, list[str]]:
        """Start the compiler; the result and the headers that it read."""
        header = precompiled.header_for(self.source, self.macros, self.before)
        ready = precompiled.find(self.compiler, self.options, self.arch, header) if header else None
        if header is not None and ready is not None:
            try:
                return self._run(ready)
            except _HeaderRejectedError:
                precompiled.forget(self.compiler, self.options, self.arch, header)
        done = self._run(None)
        if header is not None and ready is None:
            precompiled.build_later(self.compiler, self.options, self.arch, header)
        return done

    def _run(self, ready: Path | None) -> tuple[Entry, list[str]]:
        with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
            output = os.path.join(folder, "device.co")
            dependencies = os.path.join(folder, "headers.d")
            top = to_front_end("-include-pch", str(ready)) if ready else ["-include", precompiled.RUNTIME]
            command = [
                *self.compiler.device_command(self.arch, output),
                *self.own,
                *self.options,
                *top,
                "-fno-crash-diagnostics",
                # The driver drops -MF in a device compilation; the front end itself takes these.
                *to_front_end("-dependency-file", dependencies, "-MT", "x", "-sys-header-deps"),
            ]
            made, diagnostics, seconds = self.start(command, output, folder, ready=ready is not None)
            listed = ""
            with contextlib.suppress(OSError):
                listed = Path(dependencies).read_text(encoding="utf-8", errors="surrogateescape")
        fixed = [*self.compiler.fixed_roots, *([str(ready)] if ready else [])]
        shown = [part.replace(folder, "/tmp/hipkittens") for part in command]
        return Entry(made, diagnostics, tuple(shown), seconds), headers_of(listed, fixed)

    def start(
        self, command: list[str], output: str, folder: str, *, ready: bool = False
    ) -> tuple[bytes, tuple[Diagnostic, ...], float]:
        """Run a compiler command on the source; what it made at `output`, its warnings, and seconds.

        Args:
            folder: for the compiler's temporary files.
            ready: whether a precompiled header is used.

        Raises:
            CompileError, CompilerCrashed, CompilerNotFound, CompilerTimeout
            _HeaderRejectedError: the compiler did not accept the precompiled header.
        """
        start = time.perf_counter()
        try:
            finished = process.run(
                command,
                timeout=self.timeout,
                text=f"#line {self.first_line} {_quoted(self.name)}\n{self.source}\n",
                environment=self.compiler.environment(folder),
            )
        except OSError as error:
            raise CompilerNotFound(
                f"{self.compiler.path} cannot be started any more: {error.strerror}. "
                "Was it removed? Restart the kernel to have a compiler looked for again."
            ) from error
        seconds = time.perf_counter() - start
        if finished.returncode is None:
            raise CompilerTimeout(
                f"{self.name}: {self.compiler.version} did not finish within {self.timeout:g} s "
                "and was stopped. Give a longer timeout (or set HIPKITTENS_COMPILE_TIMEOUT), "
                "or compile less in one cell."
            )
        diagnostics = self._read(finished.text, folder)
        made = b""
        with contextlib.suppress(OSError):
            made = Path(output).read_bytes()
        if finished.returncode != 0 or not made:
            if ready and _REJECTED.search(finished.text):
                raise _HeaderRejectedError
            self._fail(finished, diagnostics, folder)
        return made, diagnostics, seconds

    def _read(self, output: str, folder: str) -> tuple[Diagnostic, ...]:
        reader = Reader(
            self.source,
            self.name,
            first_line=self.first_line,
            prologue=1,
            folders=[*self.folders[1:], *self.compiler.fixed_roots],
            secrets={f"{folder}/": "", folder: "(temporary folder)"},
        )
        return reader.read(output)

    def _fail(self, finished: process.Finished, diagnostics: tuple[Diagnostic, ...], folder: str) -> None:
        returncode = finished.returncode or 0
        errors = [item for item in diagnostics if item.severity == "error"]
        placed = [item for item in errors if item.line]
        crashed = returncode < 0 or returncode > 128 or _CRASH.search(finished.text) is not None
        compiler = f"{self.compiler.version} ({self.compiler.path})"
        if crashed and not placed:
            how = _death(returncode)
            raise CompilerCrashed(
                f"{self.name}: {compiler} crashed{how}: {_last_words(finished.text, folder)}\n"
                "This is a fault of the compiler, set off by this source: change what was last added, try "
                'flags="-O1", or another compiler with HIPKITTENS_COMPILER.'
            )
        if not errors:
            raise CompilerCrashed(
                f"{self.name}: {compiler} ended with status {returncode} and said nothing that explains it: "
                f"{_last_words(finished.text, folder)}"
            )
        count = "1 error" if len(errors) == 1 else f"{len(errors)} errors"
        texts = [item.text for item in diagnostics if item.severity in ("error", "warning")]
        raise CompileError(
            f"{self.name} does not compile for {self.arch}: {count}\n" + "\n".join(texts), diagnostics
        )


def editor_arguments(arch: str) -> list[str]:
    """Arguments with which a language server (clangd) reads a cell as `compile_device` does.

    Raises:
        CompilerNotFound: no compiler is there.
    """
    compiler = find_compiler(arch)
    rocm = [f"--rocm-path={compiler.path.resolve().parent.parent}"] if compiler.kind == "hipcc" else []
    return [
        *("-x", "hip", f"--offload-arch={arch}", "--offload-device-only", "-std=c++20"),
        *rocm,
        *compiler.arguments,
        f"-D{target(arch).macro}",
        *("-I", str(kernel_headers())),
        *("-include", precompiled.RUNTIME),
    ]


class _HeaderRejectedError(Exception):
    """The compiler did not accept a precompiled header."""


def to_front_end(*arguments: str) -> list[str]:
    """Arguments as clang's driver passes them on to its front end."""
    return [part for argument in arguments for part in ("-Xclang", argument)]


def _quoted(name: str) -> str:
    """A name as a C string literal."""
    return '"' + re.sub(r'[\\"]', r"\\\g<0>", re.sub(r"[\r\n\0]+", " ", name)) + '"'


def _check_types(source: object, arch: object, name: object, first_line: object) -> None:
    """What a person may hand over in place of the right thing, said before the compiler meets it."""
    is_path = isinstance(source, os.PathLike) or (
        isinstance(source, str) and 0 < len(source) < 4096 and "\n" not in source and os.path.isfile(source)
    )
    if is_path:
        raise UsageError(
            f"the source is the path {str(source)!r}; wanted the C++ text: Path({str(source)!r}).read_text()"
        )
    if not isinstance(source, str):
        raise UsageError(f"the source is a {type(source).__name__}; wanted the C++ text, a str")
    if not isinstance(arch, str):
        raise UsageError(f"target {arch!r}: one of {', '.join(map(repr, NAMES))} is wanted")
    if name is not None and not isinstance(name, str):
        raise UsageError(f"name {name!r}: a text is wanted, such as 'rmsnorm.hip'")
    if not isinstance(first_line, int) or not 1 <= first_line < 2**31:
        raise UsageError(f"first_line {first_line!r}: the number of a line is wanted, 1 or more")


def _flags(flags: str | Iterable[str]) -> list[str]:
    if isinstance(flags, str):
        try:
            parts = shlex.split(flags)
        except ValueError as error:
            raise UsageError(f"flags {flags!r}: {error}") from None
    else:
        parts = list(flags)
    for part in parts:
        if not isinstance(part, str):
            raise UsageError(f"flag {part!r}: a string is wanted")
        if _TAKEN.fullmatch(part):
            raise UsageError(
                f"flag {part}: the workbench itself decides what is compiled, for which target and to where; "
                "choose the target with arch"
            )
        if not part.startswith("-"):
            # The value of the flag before it, or a file; the latter would be compiled as a second source.
            index = parts.index(part)
            if index == 0 or not parts[index - 1].startswith("-"):
                raise UsageError(f"flag {part!r}: flags begin with '-'; sources are not taken here")
    return parts


def _defines(define: Iterable[str] | Mapping[str, object]) -> list[str]:
    if isinstance(define, str):
        define = [define]
    if isinstance(define, Mapping):
        macros = [_macro(name, value) for name, value in define.items()]
    else:
        macros = list(define)
    for macro in macros:
        if not isinstance(macro, str) or not re.fullmatch(r"[A-Za-z_]\w*(\([^)]*\))?(=[^\n]*)?", macro):
            raise UsageError(f"define {macro!r}: NAME or NAME=VALUE is wanted")
    return macros


def _macro(name: str, value: object) -> str:
    if value is None:
        return name
    return f"{name}={int(value) if isinstance(value, bool) else value}"


def _time_limit(timeout: float | None) -> float:
    if timeout is not None:
        if not isinstance(timeout, (int, float)) or not timeout > 0:
            raise UsageError(f"timeout {timeout!r}: a positive number of seconds is wanted")
        return timeout
    text = os.environ.get("HIPKITTENS_COMPILE_TIMEOUT")
    if not text:
        return DEFAULT_TIMEOUT
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise UsageError(f"HIPKITTENS_COMPILE_TIMEOUT={text!r}: a number of seconds is wanted, such as 600")
    return seconds


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
    """The line of a dying compiler that says most."""
    lines = [line.strip() for line in text.replace(f"{folder}/", "").splitlines() if line.strip()]
    for pattern in (r"Assertion|UNREACHABLE|LLVM ERROR|error in backend|fatal error", r"error", r"."):
        for line in lines:
            if re.search(pattern, line):
                return line
    return "it left no message"
