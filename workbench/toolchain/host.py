"""Compiles sources with host and device code: pybind11 modules and whole HIP programs.

With ROCm, hipcc does it in one step. Any other clang does it in three, as hipcc would inside: the device part
to a code object, that into a fat binary, and the host part around it, which registers the kernels when it is
loaded. What is made is always a shared object whose HIP functions are found at load time, so the same file
runs on AMD's libamdhip64 and on the emulated device's.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import sysconfig
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

from workbench import cache as caches
from workbench.codeobject.bundle import fat_binary
from workbench.errors import ToolchainError, UsageError
from workbench.toolchain import precompiled
from workbench.toolchain.compiler import Compiler
from workbench.toolchain.diagnostics import Diagnostic
from workbench.toolchain.host_library import host_library, link
from workbench.toolchain.job import Job, to_front_end
from workbench.toolchain.options import CompileOptions
from workbench.toolchain.store import Entry, Store, headers_of, hiding_places

_LINK_FLAG = re.compile(r"-l.+|-L.*|-Wl,.*|-Xlinker")


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


class _Build:
    """One source with everything that decides what becomes of it."""

    def __init__(self, job: Job, linking: list[str], module: bool) -> None:
        self.job = job
        self.compiler = job.compiler
        self.linking = linking
        self.library = host_library(self.compiler)
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
