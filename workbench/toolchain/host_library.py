"""The C++ library that host code is compiled against and linked with: the system's, or zig's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from workbench import cache as caches
from workbench.errors import CompilerNotFound, ToolchainError, UsageError
from workbench.toolchain import process, zig
from workbench.toolchain.compiler import Compiler, header_flags
from workbench.toolchain.questions import UnusableError

_LINK_TIMEOUT = 900.0
_CONVERSIONS = Path(__file__).with_name("conversions.c")
_PROBE = (
    "#include <iostream>\n#include <stdexcept>\n#include <string>\n"
    'extern "C" int probe(int n) {\n'
    '    try { if (n) throw std::runtime_error("no"); }\n'
    "    catch (const std::exception &e) { std::cerr << e.what(); }\n"
    "    return int(std::to_string(n).size());\n}\n"
)

SYSTEM = "the system's C++ library"
"""Name, for messages, of the C++ library that other libraries here are linked with."""


@dataclass(frozen=True)
class Library:
    """The C++ library that host code is compiled against.

    Attributes:
        name: name in messages.
        arguments: arguments of every compilation.
        linker: command that links, before the objects.
        helpers: what it links after the objects: functions that the compiler calls and the library may lack.
        environment: environment variables of the linker.
        fixed_roots: folders whose files change only with the compiler or the system.
        unknown: arguments that its linker rejects and does not need.
    """

    name: str
    arguments: tuple[str, ...]
    linker: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    fixed_roots: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()


def link(
    library: Library, objects: list[str], output: str, flags: Iterable[str], folder: str, name: str
) -> None:
    """Link objects to a shared object; symbols of HIP and Python are found when it is loaded.

    Raises:
        ToolchainError: the linker failed; the error has its message.
    """
    environment = {**os.environ, **dict(library.environment), "TMPDIR": folder}
    command = [*library.linker, *objects, *library.helpers, "-o", output, *flags]
    try:
        finished = process.run(command, timeout=_LINK_TIMEOUT, environment=environment)
    except OSError as error:
        raise CompilerNotFound(f"{command[0]} cannot be started: {error.strerror}") from error
    if finished.returncode != 0 or not os.path.exists(output):
        how = "took too long" if finished.returncode is None else "failed"
        words = [line for line in finished.text.splitlines() if "warning:" not in line]
        text = "\n".join(words[-20:]).replace(f"{folder}/", "")
        raise ToolchainError(
            f"{name}: linking {how}:\n{text}\nFlags such as -lfoo and -Lfolder may be needed."
        )


@cache
def host_library(compiler: Compiler) -> Library:
    """The C++ library for host code: the system's if it has one to compile with, otherwise libc++ of zig.

    HIPKITTENS_CXX_LIBRARY=system or zig chooses.
    """
    setting = os.environ.get("HIPKITTENS_CXX_LIBRARY", "")
    if setting not in ("", "system", "zig"):
        raise UsageError(f"HIPKITTENS_CXX_LIBRARY={setting}: expected system or zig")
    if compiler.kind == "hipcc":
        return Library(SYSTEM, (), (), (), ("/usr/",))
    problem = ""
    if setting != "zig":
        system = _system(compiler)
        problem = _problem(compiler, system)
        if not problem:
            # The linker takes what is called, as of an archive.
            lazily = ("-Wl,--start-lib", _conversions(compiler, system), "-Wl,--end-lib")
            return replace(system, helpers=lazily)
    program = zig.program()
    if program is not None and setting != "system":
        try:
            library = _libcxx(compiler, program)
            # zig's linker has no lazy objects.
            return replace(library, helpers=(_conversions(compiler, library),))
        except UnusableError as why:
            problem = f"{program} {why}"
    raise CompilerNotFound(
        f"{compiler.version} ({compiler.path}) finds no C++ library for host code: {problem or 'none'}. "
        f"Install one (`apt install g++`), or `pip install {zig.WHEEL}`, which brings another."
    )


def _conversions(compiler: Compiler, library: Library) -> str:
    """Object with `conversions.c`, compiled unless it is in the cache folder.

    Raises:
        ToolchainError: it could not be compiled or written.
    """
    source = _CONVERSIONS.read_bytes()
    key = caches.digest(compiler.identity, *library.arguments, source)
    place = caches.tool_folder("conversions") / f"{key[:16]}.o"
    if place.is_file():
        return str(place)
    with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
        output = Path(folder) / "conversions.o"
        command = [
            *(*compiler.command, "-x", "c", "-Qunused-arguments", *library.arguments),
            *("-O2", "-g0", "-fPIC", "-ffreestanding", "-fno-stack-protector", "-fno-builtin"),
            *("-c", str(_CONVERSIONS), "-o", str(output)),
        ]
        finished = process.run(command, timeout=60, environment=compiler.environment(folder))
        if finished.returncode != 0:
            raise ToolchainError(f"{_CONVERSIONS.name} was not compiled:\n{finished.text}")
        try:
            caches.write_atomically(place, output.read_bytes())
        except OSError as error:
            raise ToolchainError(f"{place} cannot be written: {error.strerror}") from None
    return str(place)


def device_part(compiler: Compiler) -> Compiler:
    """The compiler for the device part of a source whose host part reads the same C and C++ headers.

    Raises:
        CompilerNotFound: no C++ library for host code.
    """
    library = host_library(compiler)
    return replace(
        compiler,
        arguments=(*library.arguments, "-mllvm", "-amdgpu-early-inline-all=true"),
        fixed_roots=(*compiler.fixed_roots, *library.fixed_roots),
    )


def _basic(compiler: Compiler) -> list[str]:
    tools = compiler.folders[0]
    return [
        "-nogpulib",
        "-nogpuinc",
        f"-B{tools}",
        "-D__HIP_WHOLE_PROGRAM__",
        *header_flags(compiler.version),
    ]


def _system(compiler: Compiler) -> Library:
    arguments = _basic(compiler)
    tools = Path(compiler.folders[0])
    if compiler.kind == "zig":
        # zig's clang has no separate folder for the headers that belong to a compiler.
        arguments += ["-resource-dir", str(zig.root_of(compiler.path) / "lib")]
    script = f'#!/bin/sh\nexec "{tools}/lld" -flavor gnu "$@"\n'
    linker = caches.tools({"ld.lld": script}) / "ld.lld"
    command = (*compiler.command, "--driver-mode=g++", "-shared", f"--ld-path={linker}")
    return Library(SYSTEM, tuple(arguments), command, (), ("/usr/",))


def _problem(compiler: Compiler, library: Library) -> str:
    """Why host code cannot be compiled against a library; empty if it can. A success is remembered."""
    store = caches.Cache("compilers")
    key = caches.digest("host", compiler.identity, *library.arguments, *library.linker)
    if store.get(key) is not None:
        return ""
    with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
        unit, output = os.path.join(folder, "probe.o"), os.path.join(folder, "probe.so")
        command = [
            *compiler.command,
            "-x",
            "c++",
            *library.arguments,
            "-std=c++20",
            "-fPIC",
            "-c",
            "-",
            "-o",
            unit,
        ]
        try:
            finished = process.run(command, timeout=60, text=_PROBE, environment=compiler.environment(folder))
            if finished.returncode != 0:
                return next((x for x in finished.text.splitlines() if "error" in x), "it does not compile")
            link(library, [unit], output, (), folder, "probe")
            # Checks that the libraries that it links with are available at run time.
            subprocess.run(
                [sys.executable, "-c", f"import ctypes; ctypes.CDLL({output!r})"],
                check=True,
                capture_output=True,
                timeout=60,
            )
        except (OSError, ToolchainError, subprocess.SubprocessError) as error:
            return str(error).splitlines()[0]
    store.put(key, b"compiles")
    return ""


def _libcxx(compiler: Compiler, program: Path) -> Library:
    """zig's libc++ over an old glibc's headers, linked into the library; zig compiles it at first use."""
    without = "-nostdinc" if compiler.kind == "zig" else "-nostdlibinc"
    headers = zig.host_headers(program, builtin=compiler.kind == "zig")
    # Headers of other libraries; Debian's Python includes one by its path below this folder.
    installed = ("-idirafter", "/usr/include")
    return Library(
        "libc++ of zig",
        (*_basic(compiler), without, *headers, *installed),
        (
            *(sys.executable, "-m", "ziglang", "c++", "-target", zig.host_target()),
            # Without an optimization option zig builds helpers of its sanitizer, which nothing here calls: 14
            # s of CPU time on a new computer. When optimizing, it would also drop functions that seem unused.
            *("-shared", "-O2", "-Wl,--no-gc-sections", "-Wl,-z,undefs", "-Wl,--allow-shlib-undefined"),
        ),
        (("ZIG_GLOBAL_CACHE_DIR", zig.cache_folder()),),
        (f"{zig.root_of(program)}/", "/usr/"),
        ("-Wl,--allow-multiple-definition", "-Wl,-z,muldefs"),
    )
