"""hipcc's command line: its inputs in order, the outputs, and the destination of each option."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from pathlib import Path

from workbench.errors import UsageError
from workbench.targets import ARCHS, PARTIAL
from workbench.toolchain.hipcc import wave32

Option = tuple[str, ...]
"""The words of an option: itself and, if it is a separate word, its value."""


class Stage(Enum):
    """The product with which a command ends."""

    PROGRAM = auto()
    LIBRARY = auto()
    ARCHIVE = auto()
    OBJECT = auto()
    CODE_OBJECT = auto()
    ASSEMBLY = auto()
    PREPROCESSED = auto()
    CHECKED = auto()


LINKED = (Stage.PROGRAM, Stage.LIBRARY, Stage.ARCHIVE)
"""Stages that make one file of all inputs."""


@dataclass(frozen=True)
class Source:
    """An input that is compiled.

    Attributes:
        path: the file, "-" for standard input.
        language: "hip", "c++", "c" or "assembler-with-cpp".
    """

    path: str
    language: str


@dataclass
class CommandLine:
    """A parsed command line.

    Attributes:
        stage: the product to make.
        inputs: sources, and words for the linker (objects, libraries, flags) between them, in order.
        archs: targets of device code; empty if none is named.
        left_out: named targets that no emulated device has.
        output: the file to make; None for the rule of the stage.
        both: options of the device part and the host part, in their order, each with its value.
        device: options of the device part only.
        host: options of the host part only.
        dependencies: options by which the host part lists its headers (`-MD`, `-MF x`, ...).
        device_only, host_only: True to build only one part of the source.
        linked_device_code: True if device code is linked later with that of other sources (`-fgpu-rdc`).
        save_temps: where to keep the device part's assembly: "cwd" or "obj"; "" to discard it.
        wave32: severity of what `-Wwave32` reports: "warning", "error", or "" to report nothing.
        show: print the commands: "-v", or "-###", which runs none; "" to print none.
    """

    stage: Stage = Stage.PROGRAM
    inputs: list[Source | str] = field(default_factory=list)
    archs: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    output: str | None = None
    both: list[Option] = field(default_factory=list)
    device: list[Option] = field(default_factory=list)
    host: list[Option] = field(default_factory=list)
    dependencies: list[str] = field(default_factory=list)
    device_only: bool = False
    host_only: bool = False
    linked_device_code: bool = False
    save_temps: str = ""
    wave32: str = "warning"
    show: str = ""

    def output_of(self, source: Source) -> str:
        """The output file of a source if nothing is linked."""
        return self.output or Path(source.path).stem + _ENDINGS.get(self.stage, ".out")

    @property
    def sources(self) -> list[Source]:
        """The inputs that are compiled."""
        return [item for item in self.inputs if isinstance(item, Source)]


_LANGUAGES = {
    **dict.fromkeys((".cpp", ".cxx", ".cc", ".c++", ".C", ".cp", ".CPP", ".hip", ".cu"), "hip"),
    ".c": "c",
    **dict.fromkeys((".s", ".S", ".sx"), "assembler-with-cpp"),
}
"""Languages by file ending: hipcc compiles every C++ source as HIP."""
_NAMED_LANGUAGES = {
    **{name: name for name in ("hip", "c++", "c", "assembler-with-cpp")},
    "cu": "hip",
    "cuda": "hip",
    "assembler": "assembler-with-cpp",
}
_FOR_LINKER = re.compile(r".*\.(?:o|obj|lo|a|so(?:\.\d+)*|ld|lds)")

_ENDINGS = {Stage.OBJECT: ".o", Stage.ASSEMBLY: ".s"}

_REFUSED: tuple[tuple[str, str], ...] = (
    (r"--hipstdpar.*", "write the kernels, or let the algorithms run on the host without it"),
    (r"-static|-r|-nostartfiles|-nostdlib", "a program is loaded by Python, where the emulated device is"),
    (
        r"-f(?:no-)?sanitize.*|-fprofile.*|-fcoverage.*|-p|-pg",
        "watch kernels with wb.sanitize, wb.profile",
    ),
    (r"-emit-.*", "choose -c, -S or --genco"),
)
"""Patterns of options that the emulated device cannot support, each with the alternative."""

_PLACES: tuple[tuple[str, tuple[str, ...]], ...] = (
    (
        # Options that the workbench decides itself, or that change nothing here.
        "drop",
        (
            r"-f(?:no-)?(?:pic|PIC|pie|PIE|plt|lto(?:=.*)?|offload-lto(?:=.*)?)|-(?:no-|static-)?pie|-pipe",
            r"-fuse-ld=.*|--ld-path=.*|-l(?:amdhip64|hiprtc|hiprtc-builtins)|-Wl,(?:-z,defs|--no-undefined)",
            r"-nogpu(?:lib|inc)|--?(?:no-)?hip-(?:link|rt)|-f?(?:use-)?cuid=.*|-parallel-jobs=.*",
            r"--(?:rocm|hip|rocm-device-lib|hip-device-lib|cuda)-path=.*|--hip-version=.*",
            r"--(?:no-)?(?:offload|gpu)-(?:compress|bundle-output|new-driver)|--offload-compress.*",
        ),
    ),
    (
        "host",
        (
            r"-m(?:arch|tune|cpu|avx|no-avx|sse|fma|bmi|f16c|amx|prefer)\S*|-m(?:32|64|(?:no-)?red-zone)",
            r"-f(?:no-)?(?:color-diagnostics|diagnostics-color|ansi-escape-codes|stack-protector).*",
            r"-f(?:no-)?openmp.*|-pthreads?|-fcf-protection.*|-ffile-prefix-map=.*",
        ),
    ),
    (
        "device",
        (
            r"--gpu-max-threads-per-block=.*|-f(?:no-)?(?:gpu|cuda|hip)-.*",
            r"-m(?:no-)?(?:cumode|wavefrontsize|unsafe)\S*|-mcode-object-version=.*",
        ),
    ),
    (
        "link",
        (r"-[LlB].+|-Wl,.*|-rdynamic|-s|-static-lib(?:gcc|stdc\+\+)|-shared-libgcc|-stdlib=.*",),
    ),
    (
        "both",
        (
            r"-[IDUOgWRfmQ].+|-[OgwHCP]|--?std=.*|-ansi|-pedantic.*|-d[DMI]",
            r"-nostdinc.*|--sysroot=.*|--param=.*|-i(?:sysroot|system|quote|dirafter|nclude|macros).+",
        ),
    ),
)
"""Destinations of options of one word: the first with a matching pattern applies. Clang itself rejects
unknown options that begin like known ones, such as `-f...`."""

_WITH_VALUE: Mapping[str, str] = {
    **dict.fromkeys(("-I", "-D", "-U", "-isystem", "-iquote", "-idirafter", "-include", "-imacros"), "both"),
    **dict.fromkeys(("-isysroot", "--sysroot", "-Xclang", "-mllvm", "--param", "-Xpreprocessor"), "both"),
    "-Xarch_device": "device",
    "-Xarch_host": "host",
    **dict.fromkeys(("-L", "-l", "-z", "-u", "-T", "-Xlinker", "-rpath", "-e"), "link"),
    **dict.fromkeys(("-MF", "-MT", "-MQ"), "dependencies"),
    **dict.fromkeys(("--rocm-path", "--hip-path", "--cuda-path"), "drop"),
}
"""Options whose value is the next word."""


def read(words: Sequence[str], environment: Mapping[str, str] = os.environ) -> CommandLine:
    """Read a command line.

    Args:
        words: words without the program's name; `@file` means the words of a file.
        environment: variables; the words of HIPCC_COMPILE_FLAGS_APPEND and HIPCC_LINK_FLAGS_APPEND follow all
            others.

    Raises:
        UsageError: an option is unknown, or the workbench cannot do what it asks; a value is missing or an
            input's kind is not known; there is no input.
    """
    return _Reader().read(list(_expanded(words, 0)), environment)


def _expanded(words: Sequence[str], depth: int) -> Iterator[str]:
    for word in words:
        if not word.startswith("@") or not os.path.isfile(word[1:]):
            yield word
            continue
        if depth > 20:
            raise UsageError(f"hipcc: {word}: response files that include each other endlessly")
        try:
            content = shlex.split(Path(word[1:]).read_text(encoding="utf-8", errors="surrogateescape"))
        except (OSError, ValueError) as error:
            raise UsageError(f"hipcc: the response file {word[1:]}: {error}") from None
        yield from _expanded(content, depth + 1)


class _Reader:
    def __init__(self) -> None:
        self.line = CommandLine()
        self.language: str | None = None
        self.shared = False
        self.last = Stage.PROGRAM

    def read(self, words: list[str], environment: Mapping[str, str]) -> CommandLine:
        for variable in ("HIPCC_COMPILE_FLAGS_APPEND", "HIPCC_LINK_FLAGS_APPEND"):
            words += shlex.split(environment.get(variable, ""))
        # hipcc's own way to say that a C++ source is not HIP.
        self.plain = environment.get("HIP_COMPILE_CXX_AS_HIP") == "0"
        rest = iter(words)
        for word in rest:
            if word.startswith("-") and word != "-":
                self._option(word, rest)
            else:
                self._input(word)
        return self._finished()

    def _value(self, option: str, rest: Iterator[str]) -> str:
        value = next(rest, None)
        if value is None:
            raise UsageError(f"hipcc: {option} is the last argument; expected its value after it")
        return value

    def _option(self, word: str, rest: Iterator[str]) -> None:
        line = self.line
        if word == "-o":
            line.output = self._value(word, rest)
        elif word == "-x" or re.fullmatch(r"-x[a-z].*", word):
            self._set_language(word[2:] or self._value(word, rest))
        elif match := re.fullmatch(
            r"--(?:offload-arch|cuda-gpu-arch|amdgpu-target|offload-gpu-arch)=(.+)", word
        ):
            self._add_targets(match[1])
        elif word in ("--offload-arch", "--amdgpu-target", "--cuda-gpu-arch"):
            self._add_targets(self._value(word, rest))
        elif word in _STAGES:
            self.last = _STAGES[word]
        elif word in ("-shared", "--shared"):
            self.shared = True
        elif word == "--emit-static-lib":
            self.last = Stage.ARCHIVE
        elif word in ("-fgpu-rdc", "-fno-gpu-rdc"):
            line.linked_device_code = word == "-fgpu-rdc"
        elif word in ("--genco", "--offload-device-only", "--cuda-device-only"):
            line.device_only = True
        elif word in ("--offload-host-only", "--cuda-host-only"):
            line.host_only = True
        elif word in ("--offload-host-device", "--cuda-compile-host-device"):
            line.device_only = line.host_only = False
        elif match := re.fullmatch(r"--?save-temps(?:=(cwd|obj))?", word):
            line.save_temps = match[1] or "cwd"
        elif (severity := wave32.severity_of(word)) is not None:
            line.wave32 = severity
        elif word in ("-v", "--verbose", "-###"):
            line.show = "-###" if word == "-###" else "-v"
        elif word in ("-M", "-MM"):
            self.last = Stage.PREPROCESSED
            line.dependencies.append(word)
        elif word in ("-MD", "-MMD", "-MP", "-MG", "-MV"):
            line.dependencies.append(word)
        elif re.fullmatch(r"-M[FTQ].+", word):
            line.dependencies += [word[:3], word[3:]]
        elif place := _WITH_VALUE.get(word):
            self._with_value(word, place, self._value(word, rest))
        else:
            self._of_one_word(word)

    def _with_value(self, word: str, place: str, value: str) -> None:
        if word.startswith("-Xarch_"):
            self._put(place, [value])
        elif word in ("-I", "-D", "-U", "-L"):
            self._put(place, [word + value])
        elif word == "-l":
            self._of_one_word(word + value)
        elif word in ("-rpath", "-e"):
            self._put(place, [f"-Wl,{word},{value}"])
        else:
            self._put(place, [word, value])

    def _of_one_word(self, word: str) -> None:
        for pattern, instead in _REFUSED:
            if re.fullmatch(pattern, word):
                raise UsageError(f"hipcc: {word} is not for the emulated device: {instead}")
        fitting = (
            place for place, patterns in _PLACES for expression in patterns if re.fullmatch(expression, word)
        )
        place = next(fitting, None)
        if place is None:
            raise UsageError(
                f"hipcc: {word} is not an option that the workbench's hipcc knows. If a build can do "
                "without it, leave it out; ROCm's hipcc takes it."
            )
        self._put(place, [word])
        if word.startswith(("-pthread", "-fopenmp")):
            self.line.inputs.append(word)

    def _put(self, place: str, words: list[str]) -> None:
        if place == "link":
            self.line.inputs += words
        elif place == "dependencies":
            self.line.dependencies += words
        elif place != "drop":
            getattr(self.line, place).append(tuple(words))

    def _add_targets(self, names: str) -> None:
        for name in names.split(","):
            if name == "native":
                continue
            archs = self.line.archs if name.partition(":")[0] in ARCHS else self.line.left_out
            if name not in archs:
                archs.append(name)

    def _set_language(self, name: str) -> None:
        if name == "none":
            self.language = None
        elif name in _NAMED_LANGUAGES:
            self.language = _NAMED_LANGUAGES[name]
        else:
            languages = ", ".join(("none", *_NAMED_LANGUAGES))
            raise UsageError(f"hipcc: -x {name}: expected one of {languages}")

    def _input(self, word: str) -> None:
        ending = os.path.splitext(word)[1]
        language = self.language or _LANGUAGES.get(ending)
        if self.language is None and (_FOR_LINKER.fullmatch(word) or (not language and os.path.exists(word))):
            self.line.inputs.append(word)
            return
        if language is None:
            if word == "-":
                raise UsageError("hipcc: - is standard input; expected -x hip before it")
            raise UsageError(f"hipcc: {word}: no such file, and its suffix names no language")
        # Builds try out options with an empty source.
        if word not in ("-", os.devnull) and not os.path.isfile(word):
            raise UsageError(f"hipcc: {word}: no such file")
        if self.plain and language == "hip" and self.language is None and ending not in (".hip", ".cu"):
            language = "c++"
        self.line.inputs.append(Source(word, language))

    def _finished(self) -> CommandLine:
        line = self.line
        if not any(isinstance(item, Source) or not item.startswith("-") for item in line.inputs):
            raise UsageError("hipcc: no input: expected sources or objects, such as `hipcc prog.hip -o prog`")
        if line.left_out and not line.archs:
            # Targets that the device has in part are for those who ask for nothing else: a build for every
            # GPU would only take longer.
            partial = {target.name for target in PARTIAL}
            line.archs += [name for name in line.left_out if name.partition(":")[0] in partial]
            line.left_out = [name for name in line.left_out if name not in line.archs]
        if line.left_out and not line.archs:
            targets = ", ".join(ARCHS)
            raise UsageError(f"hipcc: --offload-arch={','.join(line.left_out)}: expected one of {targets}")
        line.stage = self.last
        if line.device_only and line.stage in (Stage.PROGRAM, Stage.OBJECT):
            line.stage = Stage.CODE_OBJECT
        elif line.stage is Stage.PROGRAM and self.shared:
            line.stage = Stage.LIBRARY
        many = line.stage not in LINKED and len(line.sources) > 1
        if many and line.output is not None:
            raise UsageError(f"hipcc: -o {line.output} is one file, and {len(line.sources)} would be made")
        if line.stage is Stage.ASSEMBLY and not (line.device_only or line.host_only):
            raise UsageError("hipcc: -S of which part? Give --offload-device-only or --offload-host-only too")
        return line


_STAGES = {
    "-c": Stage.OBJECT,
    "-S": Stage.ASSEMBLY,
    "-E": Stage.PREPROCESSED,
    "-fsyntax-only": Stage.CHECKED,
}

__all__ = ["LINKED", "CommandLine", "Source", "Stage", "read"]
