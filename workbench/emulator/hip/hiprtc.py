"""HIP's runtime compilation (hiprtc): kernels from a string, by the compiler that compiles cells.

To find a name expression such as `scale<float>` in the code object, a variable that holds its address is
appended to the program's text.
"""

from __future__ import annotations

import ctypes
import itertools
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

from workbench import errors
from workbench.codeobject import CodeObject
from workbench.emulator.hip import devices, structures
from workbench.emulator.hip.calls import HANDLE, INT, POINTER, SIZE, Call, HipError, thread
from workbench.toolchain import CompileOptions, compile_device
from workbench.toolchain.linking import compile_bitcode
from workbench.toolchain.precompiled import RUNTIME

_RESULTS = {
    0: "HIPRTC_SUCCESS",
    1: "HIPRTC_ERROR_OUT_OF_MEMORY",
    2: "HIPRTC_ERROR_PROGRAM_CREATION_FAILURE",
    3: "HIPRTC_ERROR_INVALID_INPUT",
    4: "HIPRTC_ERROR_INVALID_PROGRAM",
    5: "HIPRTC_ERROR_INVALID_OPTION",
    6: "HIPRTC_ERROR_COMPILATION",
    7: "HIPRTC_ERROR_BUILTIN_OPERATION_FAILURE",
    8: "HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
    9: "HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
    10: "HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
    11: "HIPRTC_ERROR_INTERNAL_ERROR",
    100: "HIPRTC_ERROR_LINKING",
}
CODES = {name.removeprefix("HIPRTC_").removeprefix("ERROR_"): code for code, name in _RESULTS.items()}
_ARCH = re.compile(r"--?(?:offload-arch|gpu-architecture)(?:=(.+))?")
# The headers need C++20, which accepts programs for its predecessors.
_OLDER_LANGUAGE = re.compile(r"--?std=(?:c|gnu)\+\+(?:11|14|17)")
_RELOCATABLE = frozenset(("-fgpu-rdc", "--gpu-rdc", "-rdc=true"))
"""Options that ask for bitcode, to be linked."""
_VARIABLE = "hiprtc_name_expression_"

CALLS: dict[str, Call] = {}


@dataclass(eq=False)
class _Program:
    source: str
    name: str
    headers: tempfile.TemporaryDirectory[str] | None
    expressions: list[str] = field(default_factory=list)
    log: str = ""
    code: bytes | None = None
    bitcode: bytes | None = None
    lowered: dict[str, ctypes.Array[ctypes.c_char]] = field(default_factory=dict)


_handles = itertools.count(0x10, 0x10)
_programs: dict[int, _Program] = {}


def rtc_call(name: str, *arguments: Any, result: Any = ctypes.c_int32) -> Callable[..., Any]:
    """Register a function of hiprtc; any exception other than HipError is an internal error."""

    def register(handler: Callable[..., int | None]) -> Callable[..., int | None]:
        @wraps(handler)
        def answer(*values: Any) -> int | None:
            try:
                return handler(*values)
            except HipError:
                raise
            except Exception as error:
                thread().pending = error
                return CODES["INTERNAL_ERROR"]

        CALLS[name] = Call(name, answer, arguments, result, records=False)
        return handler

    return register


def fail(name: str) -> HipError:
    """Answers a call with an error of hiprtc, by its name."""
    return HipError(CODES[name])


def _program(handle: int) -> _Program:
    if handle not in _programs:
        raise fail("INVALID_PROGRAM")
    return _programs[handle]


def _texts(address: int, count: int) -> list[str]:
    if count and not address:
        raise fail("INVALID_INPUT")
    return (
        [structures.text_at(pointer) for pointer in (HANDLE * count).from_address(address)] if count else []
    )


@rtc_call("hiprtcGetErrorString", INT, result=POINTER)
def _error_string(code: int) -> int:
    return devices.c_string(_RESULTS.get(code, "Invalid HIPRTC error code"))


@rtc_call("hiprtcVersion", POINTER, POINTER)
def _version(major: int, minor: int) -> None:
    if not major or not minor:
        raise fail("INVALID_INPUT")
    structures.store(major, INT, structures.VERSION // 10_000_000)
    structures.store(minor, INT, structures.VERSION // 100_000 % 100)


@rtc_call("hiprtcCreateProgram", POINTER, POINTER, POINTER, INT, POINTER, POINTER)
def _create(result: int, source: int, name: int, count: int, headers: int, names: int) -> None:
    if not result or not source or count < 0:
        raise fail("INVALID_INPUT")
    # Without headers of its own, a program's folders are the same every time, and its result is cached.
    folder = tempfile.TemporaryDirectory(prefix="hipkittens-hiprtc-") if count else None
    for text, included in zip(_texts(headers, count), _texts(names, count), strict=True):
        root = Path(folder.name if folder is not None else "").resolve()
        path = (root / included).resolve()
        if not path.is_relative_to(root):
            raise fail("PROGRAM_CREATION_FAILURE")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    handle = next(_handles)
    called = structures.text_at(name) if name else ""
    _programs[handle] = _Program(structures.text_at(source), called or "program.hip", folder)
    structures.store(result, HANDLE, handle)


@rtc_call("hiprtcDestroyProgram", POINTER)
def _destroy(handle: int) -> None:
    if not handle:
        raise fail("INVALID_INPUT")
    program = _program(HANDLE.from_address(handle).value)
    if program.headers is not None:
        program.headers.cleanup()
    del _programs[HANDLE.from_address(handle).value]
    structures.store(handle, HANDLE, 0)


@rtc_call("hiprtcAddNameExpression", HANDLE, POINTER)
def _add_name(handle: int, expression: int) -> None:
    program = _program(handle)
    if not expression:
        raise fail("INVALID_INPUT")
    if program.code is not None:
        raise fail("NO_NAME_EXPRESSIONS_AFTER_COMPILATION")
    program.expressions.append(structures.text_at(expression))


@rtc_call("hiprtcCompileProgram", HANDLE, INT, POINTER)
def _compile(handle: int, count: int, options: int) -> None:
    program = _program(handle)
    addresses = '\n#line 1 "name expressions"\n' if program.expressions else ""
    for index, expression in enumerate(program.expressions):
        # The address of a kernel is that of its code; `used` keeps the variable.
        addresses += (
            f'extern "C" {{ __device__ __attribute__((used)) const void *{_VARIABLE}{index} = '
            f"reinterpret_cast<const void *>(&{expression.strip().removeprefix('&')}); }}\n"
        )
    # The contents of hiprtc's built-in header are available without an include.
    source = f'#include "{RUNTIME}"\n#line 1 "{program.name}"\n{program.source}{addresses}'
    try:
        texts = _texts(options, count)
        arch, folders, macros, flags = _options([text for text in texts if text not in _RELOCATABLE])
        compile_options = CompileOptions(
            arch or devices.current().product.arch,
            name=program.name,
            include=[*([program.headers.name] if program.headers is not None else []), *folders],
            define=["__HIPCC_RTC__=1", *macros],
            flags=flags,
        )
        if _RELOCATABLE.intersection(texts):
            if program.expressions:
                raise errors.UsageError("name expressions are found in whole programs, without -fgpu-rdc")
            program.bitcode, diagnostics = compile_bitcode(source, compile_options)
            program.log = _log(diagnostics)
            return
        compiled = compile_device(source, compile_options)
    except errors.CompileError as error:
        program.log = _log(error.diagnostics)
        raise fail("COMPILATION") from None
    except errors.UsageError as error:
        program.log = f"error: {error}\n"
        raise fail("INVALID_OPTION") from None
    except errors.ToolchainError as error:
        program.log = f"error: {error}\n"
        raise fail("COMPILATION") from None
    program.log = _log(compiled.diagnostics)
    program.code = compiled.code_object
    program.lowered = _lowered(CodeObject.from_bytes(compiled.code_object), program.expressions)


def _options(options: Sequence[str]) -> tuple[str, list[str], list[str], list[str]]:
    """Target ("" if none is named), folders, macros and the other options."""
    arch, folders, macros, flags = "", list[str](), list[str](), list[str]()
    rest = iter(options)
    for option in rest:
        if target := _ARCH.fullmatch(option):
            arch = target[1] or next(rest, "")
        elif option[:2] in ("-D", "-I"):
            (macros if option[:2] == "-D" else folders).append(option[2:].strip() or next(rest, ""))
        elif option == "--use_fast_math":
            flags.append("-ffast-math")
        elif not _OLDER_LANGUAGE.fullmatch(option):
            flags.append(option.replace("--std=", "-std=", 1))
    return arch, folders, macros, flags


def _log(diagnostics: Sequence[Any]) -> str:
    lines = [str(diagnostic) for diagnostic in diagnostics if diagnostic.severity != "note"]
    number = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
    if number:
        lines.append(f"{number} error{'s' if number > 1 else ''} generated.")
    return "".join(f"{line}\n" for line in lines)


def _lowered(code: CodeObject, expressions: Sequence[str]) -> dict[str, ctypes.Array[ctypes.c_char]]:
    """The symbol that each expression names."""
    image = code.load(0)
    names = {
        symbol.address: symbol.name
        for symbol in code.symbols.values()
        if symbol.kind in ("function", "object")
    }
    lowered = {}
    for index, expression in enumerate(expressions):
        variable = code.symbols[f"{_VARIABLE}{index}"]
        address = int.from_bytes(image[variable.address : variable.address + 8], "little")
        lowered[expression] = ctypes.create_string_buffer(names[address].encode())
    return lowered


@rtc_call("hiprtcGetLoweredName", HANDLE, POINTER, POINTER)
def _lowered_name(handle: int, expression: int, result: int) -> None:
    program = _program(handle)
    if not expression or not result:
        raise fail("INVALID_INPUT")
    if program.code is None:
        raise fail("NO_LOWERED_NAMES_BEFORE_COMPILATION")
    name = program.lowered.get(structures.text_at(expression))
    if name is None:
        raise fail("NAME_EXPRESSION_NOT_VALID")
    structures.store(result, POINTER, ctypes.addressof(name))


def _register_content(kind: str, content: Callable[[_Program], bytes]) -> None:
    """The two functions that return a program's log or code: its size, and its bytes."""

    @rtc_call(f"hiprtcGet{kind}Size", HANDLE, POINTER)
    def size(handle: int, result: int) -> None:
        data = content(_program(handle))
        if not result:
            raise fail("INVALID_INPUT")
        structures.store(result, SIZE, len(data))

    @rtc_call(f"hiprtcGet{kind}", HANDLE, POINTER)
    def copy(handle: int, result: int) -> None:
        data = content(_program(handle))
        if not result:
            raise fail("INVALID_INPUT")
        ctypes.memmove(result, data, len(data))


def _code(program: _Program) -> bytes:
    if program.code is None:
        raise fail("INVALID_PROGRAM")
    return program.code


def _bitcode(program: _Program) -> bytes:
    if program.bitcode is None:
        raise fail("INVALID_PROGRAM")
    return program.bitcode


_register_content("ProgramLog", lambda program: program.log.encode() + b"\0")
_register_content("Code", _code)
_register_content("Bitcode", _bitcode)
