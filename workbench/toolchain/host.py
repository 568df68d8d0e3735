"""Compiles sources with host and device code: pybind11 modules and whole HIP programs.

With ROCm, hipcc does it in one step. Any other clang does it as hipcc does internally, both halves in
parallel: the device part becomes a code object in a fat binary, and the host part, linked with it, registers
its kernels when it is loaded. The result is always a shared object whose HIP functions are found at load
time, so the same file runs on AMD's libamdhip64 and on the emulated device's.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from workbench import cache as caches
from workbench.codeobject.bundle import fat_binary
from workbench.errors import ToolchainError, UsageError
from workbench.toolchain import pinned, precompiled, process
from workbench.toolchain.compiler import Compiler
from workbench.toolchain.diagnostics import Diagnostic
from workbench.toolchain.host_library import host_library, link
from workbench.toolchain.job import Job, to_front_end
from workbench.toolchain.options import CompileOptions
from workbench.toolchain.precompiled import PrecompiledHeader
from workbench.toolchain.retry import compile_with_any, compiler_of, tell_doubts
from workbench.toolchain.scratch import in_folder
from workbench.toolchain.source_text import shown_source
from workbench.toolchain.store import Entry, Store, headers_of, hiding_places

# Symbol of the fat binary beside the host part, whose code refers to it by this name.
_CARRIER = """
  .section .hip_fatbin,"a",@progbits
  .p2align 12
  .globl __hip_fatbin
  .hidden __hip_fatbin
__hip_fatbin:
  .incbin "{bundle}"
  .section .note.GNU-stack,"",@progbits
"""
# Their symbols are found when the library is loaded.
_HIP_LIBRARIES = ("-lamdhip64", "-lhiprtc")
_LINK_FLAG = re.compile(r"-l.+|-L.*|-Wl,.*|-Xlinker")


@dataclass(frozen=True)
class HostResult:
    """A compiled source with host and device code.

    Attributes:
        library: path of the shared object.
        key: digest of all inputs of the compilation.
        options: options of the compilation.
        diagnostics: the compiler's warnings.
        seconds: duration of this call, cached or not.
        compile_seconds: duration of the compiler and linker runs that made this result.
        cached: True if no compiler was started.
        command: the command line of the host part.
        compiler: the compiler.
        standard_library: C++ library of the host part, for messages.
        source: text of the source.
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
        source: source text, C++20 with HIP.
        options: see `compile_device`; its flags may include linker flags (`-lm`, `-L...`, `-Wl,...`).
        module: True for a Python module, with Python's and pybind11's headers on the include path; False for
            a program whose `main` is exported.
        use_cache: True to accept an earlier result.

    Raises:
        CompileError: the source does not compile; carries `diagnostics`.
        CompilerNotFound: no compiler for the target, or no C++ library for the host part.
        CompilerCrashed, CompilerTimeout
        ToolchainError: linking failed.
        UsageError: the source is not a text; pybind11 is missing.

    Warns:
        UntrustedRegisters: see `compile_device`.
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
                entry, headers = compile_with_any(
                    job,
                    lambda of: _Build(of, linking, module).compile(),
                    lambda of: _Build(of, linking, module).list_device(),
                )
                store.put(build.key, entry, headers, hiding_places(headers, job.folders))
    tell_doubts(entry)
    content = caches.digest(entry.code_object)
    library = shelf.find_file(content) or shelf.put_file(content, entry.code_object)
    if library is None:
        raise ToolchainError(
            f"{options.name} was compiled but could not be kept in {shelf.path(content).parent}; set "
            "HIPKITTENS_CACHE to a folder that can be written and has room."
        )
    compiler = compiler_of(entry, job)
    return HostResult(
        library=library,
        key=content,
        options=options,
        diagnostics=entry.diagnostics,
        seconds=time.perf_counter() - start,
        compile_seconds=entry.seconds,
        cached=cached,
        command=entry.command,
        compiler=compiler,
        standard_library=host_library(compiler).name,
        source=shown_source(source),
    )


class _Build:
    """One source with everything that its compilation depends on."""

    def __init__(self, job: Job, linking: list[str], module: bool) -> None:
        self.job = job
        self.compiler = job.compiler
        self.linking = [flag for flag in linking if flag not in _HIP_LIBRARIES]
        self.linking += _pytorch_libraries(job.options.include, module)
        self.library = host_library(self.compiler)
        self.includes = python_headers() if module else []
        self.pybind = Path(self.includes[1]) if module else None
        self.common = (*self.includes, *job.common, "-fno-crash-diagnostics", "-fuse-cuid=none")
        self.host = ("-O2", "-g0", "-fPIC", *(["-fvisibility=hidden"] if module else []))
        self.key = caches.digest(
            "host",
            job.key,
            *self.library.arguments,
            *self.library.linker,
            *(Path(word).name for word in self.library.helpers),
            *self.includes,
            *self.host,
            *self.linking,
            _pybind_version() if module else "",
        )

    def compile(self) -> tuple[Entry, list[str]]:
        """Start compiler and linker; returns the result and the headers that were read."""
        return in_folder(self._compile)

    def _compile(self, folder: str) -> tuple[Entry, list[str]]:
        output = os.path.join(folder, "library.so")
        if self.compiler.kind == "hipcc":
            command, diagnostics, seconds = self._hipcc(folder, output)
        else:
            command, diagnostics, seconds = self._clang(folder, output)
        fixed = [*self.compiler.fixed_roots, *self.library.fixed_roots, *self.includes[1::2]]
        fixed += [f"{root}/" for root in caches.folders()]
        headers: dict[str, None] = {}
        for file in sorted(Path(folder).glob("*.d")):
            listed = file.read_text(encoding="utf-8", errors="surrogateescape")
            headers.update(dict.fromkeys(headers_of(listed, fixed)))
        code = Path(output).read_bytes()
        command_line = tuple(part.replace(folder, "/tmp/hipkittens") for part in command)
        return Entry(code, diagnostics, command_line, seconds), list(headers)

    def list_device(self) -> str:
        """Start the compiler for the listing that `pinned` reads."""
        device, _ = self._halves()

        def listing(folder: str) -> bytes:
            output = os.path.join(folder, "device.mir")
            return device.compile(output, folder, process.Group(), pinned.LISTING)[0]

        return in_folder(listing).decode("utf-8", "replace")

    def _hipcc(self, folder: str, output: str) -> tuple[list[str], tuple[Diagnostic, ...], float]:
        command = [
            *self.compiler.command,
            *("-x", "hip", f"--offload-arch={self.job.options.arch}", "-shared", "-no-hip-rt"),
            *self.job.own,
            *self.common,
            *self.host,
            *("-MMD", "-MF", os.path.join(folder, "headers.d"), "-MT", "x"),
            *("-", "-o", output),
            *self.linking,
        ]
        _, diagnostics, seconds = self.job.start(command, output, folder)
        return command, diagnostics, seconds

    def _clang(self, folder: str, output: str) -> tuple[list[str], tuple[Diagnostic, ...], float]:
        start = time.perf_counter()
        bundle, carrier, unit = (
            os.path.join(folder, name) for name in ("device.hipfb", "device.s", "host.o")
        )
        device, host = self._halves()
        group = process.Group()
        with ThreadPoolExecutor(2) as pool:
            device_result = pool.submit(device.compile, os.path.join(folder, "device.co"), folder, group)
            host_result = pool.submit(host.compile, unit, folder, group)
            try:
                # An error in a kernel occurs in both halves; always report it for the same half.
                code, warnings, _ = device_result.result()
                _, more, command = host_result.result()
            except BaseException:
                group.stop()
                raise
        Path(bundle).write_bytes(fat_binary({self.job.options.arch: code}))
        Path(carrier).write_text(_CARRIER.format(bundle=bundle))
        link(self.library, [unit, carrier], output, self.linking, folder, self.job.options.name)
        # Both halves read the whole source; most warnings come twice.
        diagnostics = tuple(dict.fromkeys((*warnings, *more)))
        return command, diagnostics, time.perf_counter() - start

    def _halves(self) -> tuple[_Half, _Half]:
        hip = (
            *(*self.compiler.command, "-x", "hip", f"--offload-arch={self.job.options.arch}"),
            *self.library.arguments,
        )
        names = precompiled.headers_for(
            self.job.prologue + self.job.source, self.job.early_macros, self.job.before, self.pybind
        )

        def half(start: tuple[str, ...], common: tuple[str, ...], linked: Iterable[str] = ()) -> _Half:
            command = (*start, *common)
            header = PrecompiledHeader(self.compiler, command, names, instantiate=True, pybind=self.pybind)
            return _Half(self.job, start, (*common, *linked), header)

        inlined = ("-mllvm", "-amdgpu-early-inline-all=true")
        return (
            half(
                (*hip, "--offload-device-only", "--no-gpu-bundle-output", *inlined),
                self.common,
                self.job.linked,
            ),
            half((*hip, "--offload-host-only", "-c"), (*self.common, *self.host)),
        )


@dataclass(frozen=True)
class _Half:
    """The device part or the host part of a source.

    Attributes:
        job: the source and its options.
        start, common: command line before and after the caller's folders and macros.
        header: the header to precompile for it.
    """

    job: Job
    start: tuple[str, ...]
    common: tuple[str, ...]
    header: PrecompiledHeader

    def compile(
        self, output: str, folder: str, group: process.Group, further: Iterable[str] = ()
    ) -> tuple[bytes, tuple[Diagnostic, ...], list[str]]:
        """Compile it to `output`; returns the result, warnings, and the command line."""

        def run(ready: Path | None) -> tuple[bytes, tuple[Diagnostic, ...], list[str]]:
            listed = to_front_end("-dependency-file", f"{output}.d", "-MT", "x", "-sys-header-deps")
            command = [
                *self.start,
                *self.job.own,
                *self.common,
                *precompiled.top(ready, self.job.compiler),
                *listed,
            ]
            command += [*further, "-", "-o", output]
            code, diagnostics, _ = self.job.start(
                command, output, folder, ready=ready is not None, group=group
            )
            return code, diagnostics, command

        return self.header.use(run)


def _pytorch_libraries(include: Iterable[str], module: bool) -> list[str]:
    """Libraries to link a source with if the folder of PyTorch's headers is among the include folders."""
    for folder in include:
        libraries = Path(folder).resolve().parent / "lib"
        if Path(folder, "ATen", "core", "Tensor.h").is_file() and (libraries / "libtorch_cpu.so").is_file():
            names = ["c10", "torch_cpu", "torch", *(["torch_python"] if module else [])]
            return [f"-L{libraries}", f"-Wl,-rpath,{libraries}", *(f"-l{name}" for name in names)]
    return []


def python_headers() -> list[str]:
    """Options for the headers of Python and pybind11.

    Raises:
        UsageError: pybind11 is missing.
        ToolchainError: Python's own are missing.
    """
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
