"""One source on its way to an object: device code for each target, in the fat binary of a host object.

Device code is compiled like that of a cell, with its cache and its findings. The host part is compiled with
the unchanged command line.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from workbench.cache import digest
from workbench.codeobject.bundle import fat_binary, plain_target
from workbench.errors import ToolchainError
from workbench.targets import macros
from workbench.toolchain import precompiled
from workbench.toolchain.compilation import compile_device
from workbench.toolchain.compiler import Compiler, include_folders
from workbench.toolchain.hipcc import wave32
from workbench.toolchain.hipcc.command_line import LINKED, CommandLine, Option, Source, Stage
from workbench.toolchain.host_library import Library, device_part
from workbench.toolchain.job import HeaderRejectedError, rejected, to_front_end
from workbench.toolchain.mistakes import ACCEPTED
from workbench.toolchain.options import CompileOptions, compile_timeout
from workbench.toolchain.precompiled import PrecompiledHeader
from workbench.toolchain.source_text import source_text

_STANDARD = "-std=gnu++20"
_TIMEOUT = 86400.0
"""Seconds: makefiles wait for slow sources, and their user can end them."""
"""Default standard of C++: the one that the workbench's HIP headers and cells are written in."""
_PATHS = ("-iquote", "-idirafter", "-include", "-imacros", "-isysroot", "--sysroot")
"""A cached result is found by the words of its options, so these use absolute paths."""
_MACRO = re.compile(r"-D[A-Za-z_]\w*(=[^\n]*)?")
_DEPENDENCY_FILE = ("-MD", "-MMD")


class FailedError(ToolchainError):
    """A program that was started has printed its error itself.

    Attributes:
        status: exit status.
    """

    def __init__(self, status: int) -> None:
        super().__init__(f"exit status {status}")
        self.status = status


@dataclass(frozen=True)
class Unit:
    """A source, with everything that its compilation depends on.

    Attributes:
        line: command line of the compilation.
        source: the source file.
        archs: targets of its device code.
        compiler: compiler of both parts.
        library: C++ library of the host part.
        folder: folder for temporary files.
    """

    line: CommandLine
    source: Source
    archs: tuple[str, ...]
    compiler: Compiler
    library: Library
    folder: str

    @cached_property
    def text(self) -> str:
        """The source's text, read from standard input if its path is "-"."""
        data = sys.stdin.buffer.read() if self.source.path == "-" else Path(self.source.path).read_bytes()
        return source_text(data)

    @property
    def stem(self) -> str:
        return Path(self.source.path).stem if self.source.path != "-" else "stdin"

    def make(self, output: str | None) -> None:
        """Write the output of the command line's stage.

        Args:
            output: a file; None for standard output, if it is a preprocessor's.

        Raises:
            CompileError, CompilerNotFound, CompilerCrashed, CompilerTimeout, UsageError
            FailedError: the compiler of the host part found an error, or `-Werror=wave32` one.
        """
        line = self.line
        if self.source.language == "hip" and line.stage is not Stage.PREPROCESSED and not line.host_only:
            self._report_wave32()
        host = not line.device_only
        if self.source.language != "hip":
            self._compile(self._plain(), (), self._end(output))
        elif line.linked_device_code and not (line.host_only or line.device_only):
            bundle = os.path.join(self.folder, f"{digest(self.source.path)[:16]}.bcfb")
            Path(bundle).write_bytes(fat_binary({arch: self._bitcode(arch) for arch in self.archs}))
            embedded = ["-fgpu-rdc", *to_front_end(f"-fembed-offload-object={bundle}")]
            self._compile(self._host(), self._top, [*embedded, *self._end(output)])
        elif line.stage is Stage.CODE_OBJECT:
            assert output is not None
            Path(output).write_bytes(fat_binary(self._codes()))
        elif line.stage in (Stage.PREPROCESSED, Stage.ASSEMBLY) or line.host_only:
            command = self._host() if host else self._device(self.archs[0])
            self._start([*command, *self._top, *self._end(output)])
        else:
            bundle = os.path.join(self.folder, f"{digest(self.source.path)[:16]}.hipfb")
            Path(bundle).write_bytes(fat_binary(self._codes()))
            embedded = to_front_end("-fcuda-include-gpubinary", bundle)
            self._compile(self._host(), self._top, [*embedded, *self._end(output)])

    def _report_wave32(self) -> None:
        line = self.line
        if line.show == "-###" or ("-w",) in line.both or not line.wave32:
            return
        folders = [
            option[0][2:] if option[0].startswith("-I") else option[1]
            for option in line.both
            if option[0].startswith("-I") or option[0] == "-iquote"
        ]
        diagnostics = wave32.warnings(self.source.path, self.text, folders, line.wave32, self._preprocessed)
        for diagnostic in diagnostics:
            print(diagnostic, file=sys.stderr)
        if diagnostics and line.wave32 == "error":
            raise FailedError(1)

    def _preprocessed(self) -> str:
        """The device part behind the preprocessor; "" where that fails, as compiling then does."""
        return subprocess.run(
            [*self._device(self.archs[0]), "-E", self.source.path],
            env=self.compiler.environment(self.folder),
            input=self.text,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
            errors="surrogateescape",
            check=False,
        ).stdout

    def _codes(self) -> dict[str, bytes]:
        return {arch: self._code(arch) for arch in self.archs}

    def _code(self, arch: str) -> bytes:
        if self.line.show == "-###":
            self._start(
                [*self._device(arch), *self._top, self.source.path, "-o", self.line.output_of(self.source)]
            )
            return b""
        options = [*self.line.both, *self.line.device]
        include, system, flags, macros = [], [], [f"-cuid={self._cuid}", *self._standard()], []
        # Undefined symbols depend on the order.
        ordered = any(option[0].startswith("-U") for option in options)
        for option in options:
            if option[0].startswith("-I"):
                include.append(option[0][2:])
            elif option[0] == "-isystem":
                system.append(option[1])
            elif option[0] in _PATHS:
                flags += [option[0], os.path.abspath(option[1]) if os.path.exists(option[1]) else option[1]]
            elif not ordered and _MACRO.fullmatch(option[0]):
                macros.append(option[0][2:])
            else:
                flags += option
        compile_options = CompileOptions(
            arch,
            name=self.source.path if self.source.path != "-" else "stdin.hip",
            include=[folder for folder in (*include, *system) if os.path.isdir(folder)],
            flags=flags,
            define=macros,
            timeout=compile_timeout(_TIMEOUT),
        )
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always")
            result = compile_device(self.text, compile_options, with_host=True)
        habits = {mistake.name for mistake in ACCEPTED if mistake.severity == "note"}
        findings = [finding for finding in result.diagnostics if finding.mistake not in habits]
        for message in (*findings, *(f"warning: {doubt.message}" for doubt in doubts)):
            print(message, file=sys.stderr)
        if self.line.save_temps:
            self._save(arch, result.code_object)
        return result.code_object

    def _bitcode(self, arch: str) -> bytes:
        """Device code that waits for that of other sources."""
        output = os.path.join(self.folder, f"{digest(self.source.path)[:16]}.{plain_target(arch)}.bc")
        self._start(
            [*self._device(arch), *self._top, "-fgpu-rdc", "-emit-llvm", "-c", self.source.path, "-o", output]
        )
        return b"" if self.line.show == "-###" else Path(output).read_bytes()

    def _save(self, arch: str, code: bytes) -> None:
        beside = Path(self.line.output or ".").parent if self.line.save_temps == "obj" else Path()
        start = str(beside / f"{self.stem}-hip-amdgcn-amd-amdhsa-{arch}")
        Path(f"{start}.out").write_bytes(code)
        self._start([*self._device(arch), *self._top, "-S", self.source.path, "-o", f"{start}.s"])

    @cached_property
    def _cuid(self) -> str:
        """Id that separates local symbols of sources, the same for a source's host and device code."""
        return digest(os.path.abspath(self.source.path), *_words(self.line.both))[:16]

    def _standard(self) -> list[str]:
        has_standard = any(option[0].startswith(("-std=", "--std=", "-ansi")) for option in self.line.both)
        return [] if has_standard else [_STANDARD]

    def _common(self) -> list[str]:
        folders = [part for folder in include_folders() for part in ("-isystem", str(folder))]
        return [f"-cuid={self._cuid}", "-O3", *self._standard(), *_words(self.line.both), *folders]

    def _device(self, arch: str) -> list[str]:
        return [
            *device_part(self.compiler).device_command(arch),
            *self._common(),
            *_words(self.line.device),
            *(f"-D{macro}" for macro in macros(arch)),
        ]

    def _host(self) -> list[str]:
        return [
            *(*self.compiler.command, "-x", "hip", f"--offload-arch={self.archs[0]}", "--offload-host-only"),
            *self.library.arguments,
            *self._common(),
            *_words(self.line.host),
            *(f"-D{macro}" for macro in macros(self.archs[0])),
            "-fPIC",
        ]

    def _plain(self) -> list[str]:
        """The compiler's command line for a source that is not HIP."""
        return [
            *(*self.compiler.command, "-x", self.source.language, "-Qunused-arguments"),
            *self.library.arguments,
            *_words(self.line.both),
            *_words(self.line.host),
            "-fPIC",
        ]

    def _end(self, output: str | None) -> list[str]:
        stage = {Stage.ASSEMBLY: "-S", Stage.PREPROCESSED: "-E", Stage.CHECKED: "-fsyntax-only"}
        words = [stage.get(self.line.stage, "-c"), *self._dependencies(), self.source.path]
        if self.line.show:
            words.append("-v")
        return [*words, *(["-o", output] if output and self.line.stage is not Stage.CHECKED else [])]

    def _dependencies(self) -> list[str]:
        """`-MD` and similar options, named after the command line's output, not after a temporary object."""
        words = list(self.line.dependencies)
        if any(word in words for word in _DEPENDENCY_FILE):
            output = self.line.output or self.line.output_of(self.source)
            if "-MF" not in words:
                words += ["-MF", str(Path(output).with_suffix(".d"))]
            if "-MT" not in words and "-MQ" not in words:
                words += ["-MT", output]
        return words

    @property
    def _top(self) -> list[str]:
        """Arguments for what is in front of every HIP source."""
        return precompiled.top(None, self.compiler)

    def _compile(self, command: list[str], top: Sequence[str], further: list[str]) -> None:
        """Run the compiler, where the source begins with PyTorch's headers with these precompiled.

        Args:
            command: command line of any source with these options.
            top: arguments for what is in front of every source of its language.
            further: the rest of the command line.
        """
        header = self._header(command, top)

        def run(ready: Path | None) -> None:
            if ready is None:
                self._start([*command, *top, *further])
            else:
                self._start([*command, *precompiled.precompiled_top(ready), *further], ready=True)

        if header is None:
            run(None)
        else:
            header.use(run)

    def _header(self, command: list[str], top: Sequence[str]) -> PrecompiledHeader | None:
        if self.line.stage not in (*LINKED, Stage.OBJECT) or self.line.show:
            return None
        return precompiled.pytorch_header(self.compiler, command, top[1:], self.text)

    def make_with_header(self, output: str) -> bool:
        """Compile a C++ source that begins with PyTorch's headers with these precompiled.

        Returns:
            True if it was compiled; False if the source does not begin with them, or they cannot be
            precompiled.

        Raises:
            FailedError: the compiler found an error.
        """
        command = self._plain()
        header = self._header(command, ())

        def run(ready: Path | None) -> bool:
            if ready is not None:
                self._start([*command, *precompiled.precompiled_top(ready), *self._end(output)], ready=True)
            return ready is not None

        return header is not None and header.use(run)

    def _start(self, command: list[str], ready: bool = False) -> None:
        environment = self.compiler.environment(self.folder)
        start(command, environment, self.line.show, self.source, self.text, ready=ready)


def _words(options: Iterable[Option]) -> list[str]:
    return [word for option in options for word in option]


def start(
    command: list[str],
    environment: dict[str, str],
    show: str,
    source: Source | None = None,
    text: str = "",
    *,
    ready: bool = False,
) -> None:
    """Run a command whose words go to the caller's terminal.

    Args:
        ready: True if a precompiled header is used.

    Raises:
        HeaderRejectedError: the compiler did not accept the precompiled header.
        FailedError: the command failed.
    """
    if show:
        print(shlex.join(command), file=sys.stderr)
    if show == "-###":
        return
    stdin = text.encode("utf-8", "surrogateescape") if source is not None and source.path == "-" else None
    finished = subprocess.run(
        command, env=environment, input=stdin, stderr=subprocess.PIPE if ready else None, check=False
    )
    if ready:
        words = finished.stderr.decode("utf-8", "replace")
        if finished.returncode and rejected(words):
            raise HeaderRejectedError
        sys.stderr.write(words)
    if finished.returncode:
        raise FailedError(finished.returncode if finished.returncode > 0 else 1)
