"""One source on its way through a compiler: its command line, and the result of running it."""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

from workbench.cache import digest
from workbench.errors import CompilerNotFound, CompilerTimeout, UsageError
from workbench.targets import macros
from workbench.toolchain import device_libraries, process
from workbench.toolchain.compiler import INCLUDE, Compiler, include_folders, kernel_headers
from workbench.toolchain.diagnostics import Diagnostic, Reader
from workbench.toolchain.failures import failure, lacks_registers
from workbench.toolchain.mistakes import explained
from workbench.toolchain.mistakes.cell_text import Cell
from workbench.toolchain.options import CompileOptions
from workbench.toolchain.search import find_compiler, other_compilers

# Environment variables that give a compiler folders and flags besides its command line.
_ENVIRONMENT = (
    "CPATH",
    "C_INCLUDE_PATH",
    "CPLUS_INCLUDE_PATH",
    "HIPCC_COMPILE_FLAGS_APPEND",
    "SOURCE_DATE_EPOCH",
)
_REJECTED = re.compile(r"PCH file|precompiled (?:file|header)|AST file")


class HeaderRejectedError(Exception):
    """The compiler did not accept a precompiled header."""


def rejected(text: str) -> bool:
    """True if a failed compilation's messages are about its precompiled header."""
    return bool(_REJECTED.search(text))


# A class is described also where only the host constructs it, as the argument of a kernel is.
_DEBUG = ("-g", "-Xclang", "-fno-use-ctor-homing")


class Job:
    """One source and everything that its compilation depends on.

    Attributes:
        source: the text, without an editor's byte order mark.
        options: options of the compilation.
        compiler: compiler for it.
        common: arguments that depend on neither the source nor the caller's folders and macros; a precompiled
            header is made with them too.
        own: the caller's folders, and those macros that the header of every source may read.
        prologue: the caller's other macros as text in front of the source, after that header, because they
            may have the names of its parameters.
        linked: arguments of the device part only: ROCm's device libraries if requested.
        before: folders that are searched before ours, including the current one.
        folders: all folders in search order.
        key: digest of all this.

    Raises:
        CompilerNotFound: no compiler for the target.
        ToolchainError: ROCm's device libraries are requested and not installed.
        UsageError: the source is not a text, or is a path.
    """

    def __init__(self, source: str, options: CompileOptions, compiler: Compiler | None = None) -> None:
        _check_source(source)
        # Editors of other systems put this mark at the start of a file, the only place where clang accepts
        # it.
        self.source = source.removeprefix("\ufeff")
        self.options = options
        beside = os.path.dirname(options.name) if os.path.isfile(options.name) else ""
        quotes = [os.path.abspath(beside)] if beside else []
        self.compiler = compiler or find_compiler(options.arch)
        self.common = (
            "-O3",
            "-std=c++20",
            *(_DEBUG if options.debug else ()),
            "-fdebug-compilation-dir=.",
            "-fno-color-diagnostics",
            "-fdiagnostics-parseable-fixits",
            *(f"-D{macro}" for macro in macros(options.arch)),
            *(part for folder in include_folders() for part in ("-I", str(folder))),
            *options.flags,
        )
        self.own = (
            *(part for folder in quotes for part in ("-iquote", folder)),
            *(part for folder in options.include for part in ("-I", folder)),
            *(f"-D{macro}" for macro in options.define if self._is_early(macro)),
        )
        late = [macro for macro in options.define if not self._is_early(macro)]
        self.prologue = "".join(f"#define {' '.join(_valued(macro).split('=', 1))}\n" for macro in late)
        libraries = device_libraries.bitcode(self.compiler, options.arch) if options.device_libraries else ()
        self.linked = [part for f in libraries for part in to_front_end("-mlink-builtin-bitcode", str(f))]
        self.before = [".", *quotes, *options.include]
        self.folders = [*self.before, *map(str, include_folders()), str(INCLUDE)]
        self.key = digest(
            "compile",
            self.compiler.identity,
            *self.compiler.device_command(options.arch),
            *self.common,
            *self.own,
            *(digest(file.read_bytes()) for file in libraries),
            *(f"{variable}={os.environ.get(variable)}" for variable in _ENVIRONMENT),
            options.name,
            str(options.first_line),
            self.prologue,
            source,
        )

    def _is_early(self, macro: str) -> bool:
        return self.compiler.kind == "hipcc" or macro.startswith(("_", "NDEBUG"))

    @property
    def early_macros(self) -> list[str]:
        """Names that are defined or undefined before every header."""
        late = {_name(line.split(" ", 1)[1]) for line in self.prologue.splitlines()}
        return [name for name in self.options.macro_names if name not in late]

    def start(
        self,
        command: list[str],
        output: str,
        folder: str,
        *,
        ready: bool = False,
        group: process.Group | None = None,
    ) -> tuple[bytes, tuple[Diagnostic, ...], float]:
        """Run a compiler command on the source; returns its output from `output`, its warnings, and seconds.

        Args:
            folder: folder for the compiler's temporary files.
            ready: True if a precompiled header is used.
            group: programs to stop together with the compiler.

        Raises:
            CompileError, CompilerCrashed, CompilerNotFound, CompilerTimeout
            HeaderRejectedError: the compiler did not accept the precompiled header.
        """
        start = time.perf_counter()
        finished, diagnostics = self.read(command, folder, ready=ready, group=group)
        seconds = time.perf_counter() - start
        code = b""
        with contextlib.suppress(OSError):
            code = Path(output).read_bytes()
        if finished.returncode != 0 or not code:
            arch = self.options.arch
            others = other_compilers(self.compiler, arch) if lacks_registers(finished) else ()
            raise failure(self.options.name, arch, self.compiler, finished, diagnostics, folder, others)
        return code, diagnostics, seconds

    def read(
        self, command: list[str], folder: str, *, ready: bool = False, group: process.Group | None = None
    ) -> tuple[process.Finished, tuple[Diagnostic, ...]]:
        """Run a compiler command on the source; returns its exit and its findings. Otherwise like `start`.

        Raises:
            CompilerNotFound, CompilerTimeout
            HeaderRejectedError: the compiler did not accept the precompiled header.
        """
        name, timeout = self.options.name, self.options.timeout
        try:
            finished = process.run(
                command,
                timeout=timeout,
                text=f"{self.prologue}#line {self.options.first_line} {_quoted(name)}\n{self.source}\n",
                environment=self.compiler.environment(folder),
                group=group,
            )
        except OSError as error:
            raise CompilerNotFound(
                f"{self.compiler.path} cannot be started any more: {error.strerror}. "
                "Was it removed? Restart the kernel to search for a compiler again."
            ) from error
        if finished.returncode is None:
            raise CompilerTimeout(
                f"{name}: {self.compiler.version} did not finish within {timeout:g} s "
                "and was stopped. Give a longer timeout (or set HIPKITTENS_COMPILE_TIMEOUT), "
                "or compile less in one cell."
            )
        if finished.returncode != 0 and ready and rejected(finished.text):
            raise HeaderRejectedError
        return finished, self._read(finished.text, folder)

    def _read(self, output: str, folder: str) -> tuple[Diagnostic, ...]:
        reader = Reader(
            self.source,
            self.options.name,
            first_line=self.options.first_line,
            prologue=1 + self.prologue.count("\n"),
            folders=[*self.folders[1:], *self.compiler.fixed_roots],
            secrets={f"{folder}/": "", folder: "(temporary folder)"},
        )
        library = kernel_headers()
        return explained(
            reader.read(output),
            Cell(self.source, self.options.first_line),
            self.options.name,
            lambda header: (library / header).is_file(),
        )


def to_front_end(*arguments: str) -> list[str]:
    """Arguments in the form in which clang's driver passes them to its front end."""
    return [part for argument in arguments for part in ("-Xclang", argument)]


def _name(macro: str) -> str:
    """The name of a macro such as `N=4`, `N 4`, `F(x)=x` or `N`."""
    return re.split(r"\W", macro, maxsplit=1)[0]


def _valued(macro: str) -> str:
    """A macro with its value, which is 1 if a command line gives none."""
    return macro if "=" in macro else f"{macro}=1"


def _quoted(name: str) -> str:
    """A name as a C string literal."""
    return '"' + re.sub(r'[\\"]', r"\\\g<0>", re.sub(r"[\r\n\0]+", " ", name)) + '"'


def _check_source(source: object) -> None:
    """Raises UsageError for a source that is not text, before the compiler sees it."""
    is_path = isinstance(source, os.PathLike) or (
        isinstance(source, str) and 0 < len(source) < 4096 and "\n" not in source and os.path.isfile(source)
    )
    if is_path:
        raise UsageError(
            f"the source is the path {str(source)!r}; expected C++ text: Path({str(source)!r}).read_text()"
            " (with errors='surrogateescape' where it is not UTF-8)"
        )
    if not isinstance(source, str):
        raise UsageError(f"the source is a {type(source).__name__}; expected the C++ text, a str")
