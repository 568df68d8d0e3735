"""Compiles sources with host and device code: pybind11 modules and whole HIP programs.

With ROCm, hipcc does it in one step. Any other clang does it in three, as hipcc would inside: the device part
to a code object, that into a fat binary, and the host part around it, which registers the kernels when it is
loaded. What is made is always a shared object whose HIP functions are found at load time, so the same file
runs on AMD's libamdhip64 and on the emulated device's.
"""

from __future__ import annotations

import contextlib
import os
import platform
import re
import struct
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from workbench import cache as caches
from workbench.errors import CompilerNotFound, ToolchainError, UsageError
from workbench.toolchain import precompiled, process
from workbench.toolchain.compiler import INCLUDE, Compiler, zig_folder
from workbench.toolchain.diagnostics import Diagnostic
from workbench.toolchain.job import Job, to_front_end
from workbench.toolchain.options import CompileOptions
from workbench.toolchain.store import Entry, Store, headers_of, hiding_places

_BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
_BUNDLE_ALIGNMENT = 4096
_GLIBC = (2, 28)
_LINK_TIMEOUT = 900.0
_LINK_FLAG = re.compile(r"-l.+|-L.*|-Wl,.*|-Xlinker")
_PROBE = (
    "#include <iostream>\n#include <stdexcept>\n#include <string>\n"
    'extern "C" int probe(int n) {\n'
    '    try { if (n) throw std::runtime_error("no"); }\n'
    "    catch (const std::exception &e) { std::cerr << e.what(); }\n"
    "    return int(std::to_string(n).size());\n}\n"
)


@dataclass(frozen=True)
class HostResult:
    """A compiled source with host and device code.

    Attributes:
        library: the shared object's file.
        key: digest of everything that it was made from.
        options: how it was compiled.
        diagnostics: the compiler's warnings.
        seconds: what this call took, cached or not.
        compile_seconds: what compiler and linker took when they made it.
        cached: whether no compiler was started.
        command: the command line of the host part.
        compiler: which compiler.
        standard_library: whose C++ library the host part uses, for people.
        source: the text.
    """

    library: Path
    key: str
    options: CompileOptions
    diagnostics: tuple[Diagnostic, ...]
    seconds: float
    compile_seconds: float
    cached: bool
    command: tuple[str, ...]
    compiler: Compiler
    standard_library: str
    source: str


def compile_host(source: str, options: CompileOptions, *, module: bool, use_cache: bool = True) -> HostResult:
    """Compile a source with host and device code to a shared object.

    Args:
        source: C++20 with HIP.
        options: as of `compile_device`; flags for the linker (`-lm`, `-L...`, `-Wl,...`) may be among its
            flags.
        module: a Python module, with Python's and pybind11's headers on the include path; else a program
            whose `main` is exported.
        use_cache: whether an earlier result may be given.

    Raises:
        CompileError: the source does not compile; carries `diagnostics`.
        CompilerNotFound: no compiler for the target, or no C++ library for the host part.
        CompilerCrashed, CompilerTimeout
        ToolchainError: it does not link.
        UsageError: the source is no text; pybind11 is missing.
    """
    start = time.perf_counter()
    linking = [flag for flag in options.flags if _LINK_FLAG.fullmatch(flag)]
    compiling = tuple(flag for flag in options.flags if flag not in linking)
    job = Job(source, replace(options, flags=compiling))
    build = _Build(job, linking, module)
    store, shelf = Store(), caches.Cache("host")
    entry = store.get(build.key) if use_cache else None
    cached = entry is not None
    if entry is None:
        with store.lock(build.key):
            # Another process may have compiled the same while this one waited.
            entry = store.get(build.key) if use_cache else None
            cached = entry is not None
            if entry is None:
                entry, headers = build.compile()
                store.put(build.key, entry, headers, hiding_places(headers, job.folders))
    content = caches.digest(entry.code_object)
    library = shelf.find_file(content) or shelf.put_file(content, entry.code_object)
    if library is None:
        raise ToolchainError(
            f"{options.name} was compiled but could not be kept in {shelf.path(content).parent}; set "
            "HIPKITTENS_CACHE to a folder that can be written and has room."
        )
    return HostResult(
        library=library,
        key=content,
        options=options,
        diagnostics=entry.diagnostics,
        seconds=time.perf_counter() - start,
        compile_seconds=entry.seconds,
        cached=cached,
        command=entry.command,
        compiler=job.compiler,
        standard_library=build.library.name,
        source=source,
    )


def fat_binary(codes: Mapping[str, bytes]) -> bytes:
    """A HIP fat binary of code objects by target (LLVM: "Bundled Code Object Layout")."""
    entries = [(f"host-{platform.machine()}-unknown-linux-gnu-", b"")]
    entries += [(f"hipv4-amdgcn-amd-amdhsa--{arch}", code) for arch, code in codes.items()]
    head = _BUNDLE_MAGIC + struct.pack("<Q", len(entries))
    body = b""
    for triple, code in entries:
        head += struct.pack("<QQQ", _BUNDLE_ALIGNMENT + len(body), len(code), len(triple)) + triple.encode()
        body += code + bytes(-len(code) % _BUNDLE_ALIGNMENT)
    return head.ljust(_BUNDLE_ALIGNMENT, b"\0") + body


@dataclass(frozen=True)
class _Library:
    """The C++ library that host code is compiled against.

    Attributes:
        name: for people.
        arguments: what a compilation gets.
        linker: command that links, before the objects.
        environment: what the linker's environment gets.
        fixed_roots: folders whose files change only with the compiler or the system.
    """

    name: str
    arguments: tuple[str, ...]
    linker: tuple[str, ...]
    environment: tuple[tuple[str, str], ...] = ()
    fixed_roots: tuple[str, ...] = ()


class _Build:
    """One source with everything that decides what becomes of it."""

    def __init__(self, job: Job, linking: list[str], module: bool) -> None:
        self.job = job
        self.compiler = job.compiler
        self.linking = linking
        self.library = _library(self.compiler)
        self.includes = _python_headers() if module else []
        hidden = ["-fvisibility=hidden"] if module else []
        self.host = ["-O2", "-g0", "-fPIC", *hidden]
        self.key = caches.digest(
            "host",
            job.key,
            *self.library.arguments,
            *self.library.linker,
            *self.includes,
            *self.host,
            *linking,
            _pybind_version() if module else "",
        )

    def compile(self) -> tuple[Entry, list[str]]:
        """Start compiler and linker; the result and the headers that were read."""
        with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
            output = os.path.join(folder, "library.so")
            if self.compiler.kind == "hipcc":
                command, diagnostics, seconds = self._hipcc(folder, output)
            else:
                command, diagnostics, seconds = self._clang(folder, output)
            listed = ""
            with contextlib.suppress(OSError):
                listed = Path(folder, "headers.d").read_text(encoding="utf-8", errors="surrogateescape")
            made = Path(output).read_bytes()
        fixed = [*self.compiler.fixed_roots, *self.library.fixed_roots, *self.includes[1::2]]
        shown = tuple(part.replace(folder, "/tmp/hipkittens") for part in command)
        return Entry(made, diagnostics, shown, seconds), headers_of(listed, fixed)

    def _common(self) -> list[str]:
        options = ["-include", precompiled.RUNTIME, "-fno-crash-diagnostics", "-fuse-cuid=none"]
        return [*self.job.own, *self.includes, *self.job.common, *options]

    def _hipcc(self, folder: str, output: str) -> tuple[list[str], tuple[Diagnostic, ...], float]:
        command = [
            *self.compiler.command,
            *("-x", "hip", f"--offload-arch={self.job.options.arch}", "-shared", "-no-hip-rt"),
            *self._common(),
            *self.host,
            *("-MMD", "-MF", os.path.join(folder, "headers.d"), "-MT", "x"),
            *("-", "-o", output),
            *self.linking,
        ]
        _, diagnostics, seconds = self.job.start(command, output, folder)
        return command, diagnostics, seconds

    def _clang(self, folder: str, output: str) -> tuple[list[str], tuple[Diagnostic, ...], float]:
        start = time.perf_counter()
        device, bundle, unit = (
            os.path.join(folder, name) for name in ("device.co", "device.hipfb", "host.o")
        )
        hip = [
            *self.compiler.command,
            "-x",
            "hip",
            f"--offload-arch={self.job.options.arch}",
            *self.library.arguments,
        ]
        dependencies = to_front_end(
            "-dependency-file", os.path.join(folder, "headers.d"), "-MT", "x", "-sys-header-deps"
        )
        command = [*hip, "--offload-device-only", "--no-gpu-bundle-output", *self._common(), *dependencies]
        command += ["-mllvm", "-amdgpu-early-inline-all=true"]
        code, warnings, _ = self.job.start([*command, "-", "-o", device], device, folder)
        Path(bundle).write_bytes(fat_binary({self.job.options.arch: code}))
        embed = to_front_end("-fcuda-include-gpubinary", bundle)
        command = [*hip, "--offload-host-only", *self._common(), *self.host, *embed, "-c", "-", "-o", unit]
        _, more, _ = self.job.start(command, unit, folder)
        link(self.library, [unit], output, self.linking, folder, self.job.options.name)
        # Both passes read the whole source; most warnings come twice.
        diagnostics = tuple(dict.fromkeys((*warnings, *more)))
        return command, diagnostics, time.perf_counter() - start


def link(
    library: _Library, objects: list[str], output: str, flags: Iterable[str], folder: str, name: str
) -> None:
    """Link objects to a shared object; what HIP and Python provide is found when it is loaded.

    Raises:
        ToolchainError: with the linker's words.
    """
    environment = {**os.environ, **dict(library.environment), "TMPDIR": folder}
    command = [*library.linker, *objects, "-o", output, *flags]
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
def _library(compiler: Compiler) -> _Library:
    """The C++ library for host code: the system's where it has one to compile with, else libc++ of zig.

    HIPKITTENS_CXX_LIBRARY=system or zig chooses.
    """
    chosen = os.environ.get("HIPKITTENS_CXX_LIBRARY", "")
    if chosen not in ("", "system", "zig"):
        raise UsageError(f"HIPKITTENS_CXX_LIBRARY={chosen}: system or zig is wanted")
    if compiler.kind == "hipcc":
        return _Library("the system's C++ library", (), (), (), ("/usr/",))
    problem = ""
    if chosen != "zig":
        system = _system(compiler)
        problem = _problem(compiler, system)
        if not problem:
            return system
    zig = zig_folder()
    if zig is not None and chosen != "system":
        return _libcxx(compiler, zig)
    raise CompilerNotFound(
        f"{compiler.version} ({compiler.path}) finds no C++ library for host code: {problem or 'none'}. "
        "Install one (`apt install g++`), or `pip install ziglang==0.16.0`, which brings another."
    )


def _basic(compiler: Compiler) -> list[str]:
    tools = compiler.folders[0]
    return ["-nogpulib", "-nogpuinc", f"-B{tools}", "-isystem", str(INCLUDE)]


def _system(compiler: Compiler) -> _Library:
    arguments = _basic(compiler)
    tools = Path(compiler.folders[0])
    if compiler.kind == "zig":
        # zig's clang knows no folder of its own for the headers that belong to a compiler.
        resources = tools / "resources"
        resources.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.symlink(_zig_root(compiler) / "lib" / "include", resources / "include")
        arguments += ["-resource-dir", str(resources)]
    script = f'#!/bin/sh\nexec "{tools}/lld" -flavor gnu "$@"\n'
    linker = tools / "ld.lld"
    if not os.access(linker, os.X_OK) or linker.read_text() != script:
        caches.write_atomically(linker, script.encode(), 0o755)
    command = (*compiler.command, "--driver-mode=g++", "-shared", f"--ld-path={linker}")
    return _Library("the system's C++ library", tuple(arguments), command, (), ("/usr/",))


def _zig_root(compiler: Compiler) -> Path:
    folder = compiler.path.resolve().parent
    return folder if (folder / "lib" / "libcxx").is_dir() else folder.parent


def _problem(compiler: Compiler, library: _Library) -> str:
    """Why host code cannot be compiled against a library; empty where it can. A success is remembered."""
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
            # Whether what it links with is there to run with.
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


def _libcxx(compiler: Compiler, zig: Path) -> _Library:
    """zig's libc++ over an old glibc's headers, linked into the library; zig compiles it at first use."""
    library = zig / "lib"
    machine = platform.machine()
    family = "x86" if machine == "x86_64" else machine
    names = [
        "libcxx/include",
        "libcxxabi/include",
        *(["include"] if compiler.kind == "zig" else []),
        f"libc/include/{family}-linux-gnu",
        "libc/include/generic-glibc",
        f"libc/include/{family}-linux-any",
        "libc/include/any-linux-any",
    ]
    headers = [
        part for name in names if (library / name).is_dir() for part in ("-isystem", str(library / name))
    ]
    definitions = {
        "__GLIBC_MINOR__": _GLIBC[1],
        "_LIBCPP_ABI_VERSION": 1,
        "_LIBCPP_ABI_NAMESPACE": "__1",
        "_LIBCPP_HAS_THREADS": 1,
        "_LIBCPP_HAS_MONOTONIC_CLOCK": 1,
        "_LIBCPP_HAS_TERMINAL": 1,
        "_LIBCPP_HAS_MUSL_LIBC": 0,
        "_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS": 0,
        "_LIBCPP_HAS_FILESYSTEM": 1,
        "_LIBCPP_HAS_RANDOM_DEVICE": 1,
        "_LIBCPP_HAS_LOCALIZATION": 1,
        "_LIBCPP_HAS_UNICODE": 1,
        "_LIBCPP_HAS_WIDE_CHARACTERS": 1,
        "_LIBCPP_HAS_TIME_ZONE_DATABASE": 1,
        "_LIBCPP_PSTL_BACKEND_SERIAL": 1,
        "_LIBCPP_HARDENING_MODE": "_LIBCPP_HARDENING_MODE_NONE",
        "_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS": 1,
        "_LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS": 1,
    }
    without = "-nostdinc" if compiler.kind == "zig" else "-nostdlibinc"
    return _Library(
        "libc++ of zig",
        (*_basic(compiler), without, *headers, *(f"-D{name}={value}" for name, value in definitions.items())),
        (
            *(
                sys.executable,
                "-m",
                "ziglang",
                "c++",
                "-target",
                f"{machine}-linux-gnu.{_GLIBC[0]}.{_GLIBC[1]}",
            ),
            *("-shared", "-Wl,-z,undefs", "-Wl,--allow-shlib-undefined"),
        ),
        # zig keeps its C++ library here, compiled once.
        (("ZIG_GLOBAL_CACHE_DIR", str(caches.folder() / "tools" / "zig")),),
        (f"{zig}/",),
    )


def _python_headers() -> list[str]:
    try:
        import pybind11
    except ImportError:
        raise UsageError(
            "a Python module with host code needs pybind11, which is not installed: `pip install pybind11`"
        ) from None
    folders = [pybind11.get_include(), sysconfig.get_path("include"), sysconfig.get_path("platinclude")]
    if not any(os.path.isfile(os.path.join(folder, "Python.h")) for folder in folders):
        raise ToolchainError(
            f"a Python module with host code needs Python's C headers, and {folders[1]} has no Python.h: "
            "`apt-get install python3-dev` on Debian and Ubuntu, `dnf install python3-devel` on Fedora"
        )
    return [part for folder in dict.fromkeys(folders) for part in ("-isystem", folder)]


def _pybind_version() -> str:
    import pybind11

    return f"{pybind11.__version__} {sys.version}"


__all__ = ["HostResult", "compile_host", "fat_binary", "link"]
