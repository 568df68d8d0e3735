"""Finds a compiler for AMD GPUs: ROCm's hipcc, else a clang++ that can, else the clang in the ziglang wheel.

All three are clang. What differs is kept in `Compiler`: how it is started, whose HIP and C++ headers it
reads, and where its linker is. Each candidate is tried on a small kernel before it is taken, by the very
command that later compiles a cell, so a compiler that is found is one that works here.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from workbench import cache, paths
from workbench.errors import CompilerNotFound, ToolchainError
from workbench.targets import TILE_TARGETS
from workbench.toolchain import process

INCLUDE = paths.hip_include_dir()
"""Our HIP headers, for compilers that come without ROCm."""

ZIG_WHEEL = "ziglang==0.16.0"
"""What pip is to install: later wheels may come without clang."""

OLDEST_ROCM = 6
OLDEST_CLANG = 17
OLDEST_CLANG_FOR_ZIG_HEADERS = 19

PROBE_TIMEOUT = 30.0
"""Seconds in which a candidate must answer."""

_PROBE_KERNEL = "#include <cstdint>\n__attribute__((global)) void probe(std::uint32_t *out) { *out = 1; }\n"
_STANDARD_ROCM = Path("/opt/rocm")
_DEBIAN_LIBRARIES = Path("/usr/lib")
_AVOIDED_ENVIRONMENT = ("CCC_OVERRIDE_OPTIONS",)


@dataclass(frozen=True)
class Compiler:
    """A compiler that makes device code here.

    Attributes:
        kind: "hipcc", "clang" or "zig".
        path: the program.
        version: such as "ROCm 7.0.1 (clang 20.0.0)" or "zig 0.16.0 (clang 21.1.0)".
        reason: why it was taken, in a sentence.
        passed_over: the candidates before it, each with why it was not taken.
        command: how it is started: the program and its first arguments.
        arguments: what it always gets: where headers and linker are.
        folders: put in front of PATH when it runs.
        headers: whose HIP and C++ headers it reads, for people.
        fixed_roots: folders whose files change only with the compiler itself.
        identity: digest of the program and its linker; part of every cache key.
    """

    kind: str
    path: Path
    version: str
    reason: str
    passed_over: tuple[tuple[str, str], ...]
    command: tuple[str, ...]
    arguments: tuple[str, ...]
    folders: tuple[str, ...]
    headers: str
    fixed_roots: tuple[str, ...]
    identity: str

    def environment(self, temporary: str) -> dict[str, str]:
        """Environment to run it in, its own temporary files in `temporary`."""
        result = {name: value for name, value in os.environ.items() if name not in _AVOIDED_ENVIRONMENT}
        result["PATH"] = os.pathsep.join([*self.folders, result.get("PATH", os.defpath)])
        result["TMPDIR"] = temporary
        return result

    def device_command(self, arch: str, output: str) -> list[str]:
        """Command that compiles HIP source on standard input for `arch` to a code object at `output`."""
        return [
            *self.command,
            "-x",
            "hip",
            f"--offload-arch={arch}",
            "--offload-device-only",
            "--no-gpu-bundle-output",
            # No symbol that differs from compilation to compilation: equal sources give equal code objects.
            "-fuse-cuid=none",
            *self.arguments,
            "-",
            "-o",
            output,
        ]


class _UnusableError(Exception):
    """A candidate that cannot be taken; says why."""


@dataclass(frozen=True)
class _Candidate:
    kind: str
    path: Path
    origin: str
    rocm: Path | None = None


_found: dict[tuple[str | None, str | None, str | None], Compiler] = {}
_lock = threading.Lock()


def find_compiler(arch: str | None = None) -> Compiler:
    """The compiler to use, found once in a process.

    Args:
        arch: a target that it must know; None for the best compiler here, whichever targets it knows.

    Raises:
        CompilerNotFound: there is none; the message lists each candidate with why it was passed over.
    """
    key = (arch, os.environ.get("HIPKITTENS_COMPILER"), os.environ.get("PATH"))
    with _lock:
        if key not in _found:
            _found[key] = _find(arch)
        return _found[key]


def known_compiler() -> Compiler | None:
    """The compiler that was found last; None before the first, and none is looked for."""
    with _lock:
        return next(reversed(_found.values()), None)


def forget() -> None:
    """Look anew at the next call, after something was installed."""
    with _lock:
        _found.clear()


def _find(arch: str | None) -> Compiler:
    chosen = os.environ.get("HIPKITTENS_COMPILER")
    passed: list[tuple[str, str]] = []
    candidates = _named(chosen) if chosen else _candidates(passed)
    seen: set[Path] = set()
    for candidate in candidates:
        real = candidate.path.resolve()
        if real in seen:
            continue
        seen.add(real)
        try:
            compiler = _examine(candidate, arch)
        except _UnusableError as why:
            passed.append((str(candidate.path), str(why)))
            continue
        return replace(compiler, passed_over=tuple(passed))
    raise CompilerNotFound(_not_found(chosen, arch, passed))


def _not_found(chosen: str | None, arch: str | None, passed: list[tuple[str, str]]) -> str:
    wanted = f"a compiler for {arch}" if arch else "a compiler for AMD GPUs"
    if chosen:
        first = f"HIPKITTENS_COMPILER={chosen} is not {wanted}"
        last = "Set it to a hipcc, a clang++ or a zig that works, or unset it to have one looked for."
    else:
        first = f"{wanted} was not found"
        last = (
            f"Install one: `pip install {ZIG_WHEEL}` brings a clang that does; "
            "`conda install -c conda-forge clangxx lld` or ROCm 6 or later do too."
        )
    return "\n".join([first, *(f"  {path}: {why}" for path, why in passed), last])


# Where candidates are looked for, best first.


def _named(chosen: str) -> Iterator[_Candidate]:
    path = shutil.which(chosen)
    if path is None:
        if chosen == "zig":
            zig = _wheel_zig()
            if zig is not None:
                yield _Candidate("zig", zig, "HIPKITTENS_COMPILER")
                return
        if chosen == "clang":
            yield from _clangs()
            return
        raise CompilerNotFound(
            f"HIPKITTENS_COMPILER={chosen}: no such program. "
            "Give the path of a hipcc, a clang++ or a zig, or unset it to have one looked for."
        )
    name = Path(path).name
    if name.startswith("hipcc"):
        yield _Candidate("hipcc", Path(path), "HIPKITTENS_COMPILER", _rocm_of(Path(path)))
    elif name.startswith(("zig", "python-zig")):
        yield _Candidate("zig", Path(path), "HIPKITTENS_COMPILER")
    else:
        yield _Candidate("clang", Path(path), "HIPKITTENS_COMPILER")


def _candidates(passed: list[tuple[str, str]]) -> Iterator[_Candidate]:
    yield from _hipccs(passed)
    yield from _clangs()
    zig = _wheel_zig()
    if zig is not None:
        yield _Candidate("zig", zig, "the ziglang wheel")
    else:
        passed.append(("ziglang", f"the wheel is not installed; `pip install {ZIG_WHEEL}` brings a clang"))


def _hipccs(passed: list[tuple[str, str]]) -> Iterator[_Candidate]:
    root = os.environ.get("ROCM_PATH")
    if root:
        path = Path(root) / "bin" / "hipcc"
        if path.exists():
            yield _Candidate("hipcc", path, "ROCM_PATH", Path(root))
        else:
            passed.append((str(path), "ROCM_PATH names this folder, and there is no hipcc in it"))
    on_path = shutil.which("hipcc")
    if on_path:
        yield _Candidate("hipcc", Path(on_path), "PATH", _rocm_of(Path(on_path)))
    standard = _STANDARD_ROCM / "bin" / "hipcc"
    if standard.exists():
        yield _Candidate("hipcc", standard, str(_STANDARD_ROCM), _STANDARD_ROCM)


def _rocm_of(hipcc: Path) -> Path | None:
    for root in (hipcc.parent.parent, hipcc.resolve().parent.parent):
        if (root / "include" / "hip").is_dir():
            return root
    return None


def _clangs() -> Iterator[_Candidate]:
    """An environment's own clang++ first, then the newest on PATH, then those that Debian keeps off PATH."""
    for prefix in dict.fromkeys((os.environ.get("CONDA_PREFIX") or sys.prefix, sys.prefix)):
        path = Path(prefix) / "bin" / "clang++"
        if path.exists():
            yield _Candidate("clang", path, f"the environment {prefix}")
    versions: dict[int, Path] = {}
    for entry in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for path in Path(entry or ".").glob("clang++-*"):
            match = re.fullmatch(r"clang\+\+-(\d+)", path.name)
            if match and os.access(path, os.X_OK):
                versions.setdefault(int(match[1]), path)
    for _, path in sorted(versions.items(), reverse=True):
        yield _Candidate("clang", path, "PATH")
    plain = shutil.which("clang++")
    if plain:
        yield _Candidate("clang", Path(plain), "PATH")
    for path in sorted(_DEBIAN_LIBRARIES.glob("llvm-*/bin/clang++"), key=_llvm_version, reverse=True):
        yield _Candidate("clang", path, str(_DEBIAN_LIBRARIES))


def _llvm_version(path: Path) -> int:
    match = re.search(r"llvm-(\d+)", str(path))
    return int(match[1]) if match else 0


def _wheel_zig() -> Path | None:
    folder = zig_folder()
    if folder is None:
        return None
    path = folder / "zig"
    return path if os.access(path, os.X_OK) else None


def zig_folder() -> Path | None:
    """Folder of the ziglang wheel; None where it is not installed."""
    try:
        found = importlib.util.find_spec("ziglang")
    except (ImportError, ValueError):
        return None
    if found is None or not found.submodule_search_locations:
        return None
    return Path(next(iter(found.submodule_search_locations)))


# Trying a candidate.


def _examine(candidate: _Candidate, arch: str | None) -> Compiler:
    if not os.access(candidate.path, os.X_OK):
        raise _UnusableError("is not a program that can be run")
    if candidate.kind == "hipcc":
        compiler = _examine_hipcc(candidate)
    elif candidate.kind == "clang":
        compiler = _examine_clang(candidate)
    else:
        compiler = _examine_zig(candidate)
    if arch is not None:
        wanted = arch
    elif candidate.kind == "hipcc":
        # A ROCm before 7 may know the GPU that is here and not the newest.
        wanted = TILE_TARGETS[-1]
    else:
        wanted = TILE_TARGETS[0]
    _try(compiler, wanted)
    return compiler


def _ask(path: Path, *arguments: str) -> str:
    """Output of a question to a candidate, kept on disk: a compiler answers the same until it changes."""
    store = cache.Cache("compilers")
    key = cache.digest("ask", _stamp(path), *arguments)
    known = store.get(key)
    if known is not None:
        return known.decode()
    try:
        finished = process.run([str(path), *arguments], timeout=PROBE_TIMEOUT)
    except OSError as error:
        raise _UnusableError(f"cannot be started: {error.strerror}") from None
    question = " ".join(arguments)
    if finished.returncode is None:
        raise _UnusableError(f"gave no answer to `{question}` within {PROBE_TIMEOUT:g} s")
    if finished.returncode < 0:
        raise _UnusableError(f"died of {_signal(finished.returncode)} at `{question}`")
    if finished.returncode:
        raise _UnusableError(f"failed at `{question}`: {_first_line(finished.text)}")
    store.put(key, finished.text.encode() or b"\n")
    return finished.text


def _examine_hipcc(candidate: _Candidate) -> Compiler:
    text = _ask(candidate.path, "--version")
    match = re.search(r"HIP version:\s*(\d+)\.(\d+)(?:\.(\d+))?", text)
    if match is None:
        raise _UnusableError(f"does not say its HIP version: {_first_line(text)}")
    version = ".".join(part for part in match.groups() if part)
    if int(match[1]) < OLDEST_ROCM:
        raise _UnusableError(f"is of ROCm {version}; ROCm {OLDEST_ROCM} or later is wanted")
    clang = re.search(r"clang version (\d+(?:\.\d+)*)", text)
    root = candidate.rocm
    return Compiler(
        kind="hipcc",
        path=candidate.path,
        version=f"ROCm {version}" + (f" (clang {clang[1]})" if clang else ""),
        reason=f"hipcc of ROCm {version}, from {candidate.origin}",
        passed_over=(),
        command=(str(candidate.path),),
        # hipcc adds options for linking a host program, which a device compilation does not use.
        arguments=("-Wno-unused-command-line-argument",),
        folders=(),
        headers=f"ROCm's ({root / 'include'})" if root else "ROCm's",
        fixed_roots=(f"{root.resolve()}/",) if root else (),
        identity=cache.digest("hipcc", _stamp(candidate.path), text),
    )


def _examine_clang(candidate: _Candidate) -> Compiler:
    text = _ask(candidate.path, "--version")
    match = re.search(r"clang version (\d+)(?:\.\d+)*", text)
    if match is None:
        raise _UnusableError(f"is not clang: {_first_line(text)}")
    version = match[0].removeprefix("clang version ")
    if int(match[1]) < OLDEST_CLANG:
        raise _UnusableError(f"is clang {version}; {OLDEST_CLANG} or later is wanted")
    if not re.search(r"^\s*amdgcn\b", _ask(candidate.path, "--print-targets"), re.MULTILINE):
        raise _UnusableError(f"clang {version} was built without the AMDGPU target")
    linker = _linker(candidate.path)
    if linker is None:
        raise _UnusableError(
            f"clang {version} has no lld beside it or on PATH "
            f"(`apt install lld-{match[1]}`, or `conda install -c conda-forge lld`)"
        )
    tools = _lld_folder(f'"{linker}"', rename=linker.name != "lld")
    zig = zig_folder() if int(match[1]) >= OLDEST_CLANG_FOR_ZIG_HEADERS else None
    if zig is not None and (zig / "lib" / "libcxx" / "include").is_dir():
        standard = ["-nostdlibinc", *_zig_headers(zig)]
        headers = "the workbench's HIP headers, libc++ of the ziglang wheel"
    else:
        zig, standard = None, []
        headers = "the workbench's HIP headers, the system's C++ library"
    return Compiler(
        kind="clang",
        path=candidate.path,
        version=f"clang {version}",
        reason=f"clang {version} with the AMDGPU target and {linker}, from {candidate.origin}",
        passed_over=(),
        command=(str(candidate.path),),
        arguments=(*_without_rocm(tools), *standard),
        folders=(str(tools),),
        headers=headers,
        fixed_roots=(f"{zig}/",) if zig else (),
        identity=cache.digest("clang", _stamp(candidate.path), text, _stamp(linker), str(zig)),
    )


def _examine_zig(candidate: _Candidate) -> Compiler:
    if candidate.path.name == "python-zig":
        raise _UnusableError("is a script; give the zig in the ziglang package's folder")
    release = _ask(candidate.path, "version").strip()
    text = _ask(candidate.path, "clang", "--version")
    match = re.search(r"clang version (\d+(?:\.\d+)*)", text)
    if match is None:
        raise _UnusableError(f"zig {release} carries no clang; 0.16.0 does (`pip install ziglang==0.16.0`)")
    folder = candidate.path.resolve().parent
    if not (folder / "lib" / "libcxx" / "include").is_dir():
        folder = folder.parent
    if not (folder / "lib" / "libcxx" / "include").is_dir():
        raise _UnusableError(f"zig {release} has no C++ headers beside it (lib/libcxx/include)")
    tools = _lld_folder(f'"{candidate.path}" ld.lld', rename=True)
    return Compiler(
        kind="zig",
        path=candidate.path,
        version=f"zig {release} (clang {match[1]})",
        reason=f"the clang {match[1]} in zig {release}, from {candidate.origin}",
        passed_over=(),
        command=(str(candidate.path), "clang"),
        arguments=(*_without_rocm(tools), "-nostdinc", *_zig_headers(folder, builtin=True)),
        folders=(str(tools),),
        headers="the workbench's HIP headers, libc++ of zig",
        fixed_roots=(f"{folder}/",),
        identity=cache.digest("zig", _stamp(candidate.path), release, text),
    )


def _without_rocm(tools: Path) -> list[str]:
    return [
        "-nogpulib",
        "-nogpuinc",
        f"-B{tools}",
        "-isystem",
        str(INCLUDE),
        # As hipcc does at -O3: a call on this target costs more than the copy that inlining makes.
        "-mllvm",
        "-amdgpu-early-inline-all=true",
    ]


def _zig_headers(root: Path, builtin: bool = False) -> list[str]:
    """Options for zig's libc++ over its musl headers: the same on every machine, whatever is installed.

    The definitions are those that zig gives its own clang, for a single-threaded use of the headers.
    """
    library = root / "lib"
    machine = platform.machine()
    family = "x86" if machine == "x86_64" else machine
    folders = [
        library / "libcxx" / "include",
        *([library / "include"] if builtin else []),
        library / "libc" / "include" / f"{machine}-linux-musl",
        library / "libc" / "include" / "generic-musl",
        library / "libc" / "include" / f"{family}-linux-any",
        library / "libc" / "include" / "any-linux-any",
    ]
    options = [part for folder in folders if folder.is_dir() for part in ("-isystem", str(folder))]
    return [
        *options,
        "-D_LIBCPP_ABI_VERSION=1",
        "-D_LIBCPP_ABI_NAMESPACE=__1",
        "-D_LIBCPP_HAS_THREADS=1",
        "-D_LIBCPP_HAS_MONOTONIC_CLOCK=1",
        "-D_LIBCPP_HAS_TERMINAL=1",
        "-D_LIBCPP_HAS_MUSL_LIBC=1",
        "-D_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0",
        "-D_LIBCPP_HAS_FILESYSTEM=1",
        "-D_LIBCPP_HAS_RANDOM_DEVICE=1",
        "-D_LIBCPP_HAS_LOCALIZATION=1",
        "-D_LIBCPP_HAS_UNICODE=1",
        "-D_LIBCPP_HAS_WIDE_CHARACTERS=1",
        "-D_LIBCPP_HAS_TIME_ZONE_DATABASE=0",
        "-D_LIBCPP_PSTL_BACKEND_SERIAL",
        "-D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE",
        "-D_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS",
        "-D_LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS",
    ]


def _linker(clang: Path) -> Path | None:
    """An lld: what clang itself would start, else one of its release on PATH."""
    answer = _ask(clang, "-print-prog-name=lld").strip()
    if answer and answer != "lld" and os.access(answer, os.X_OK):
        return Path(answer)
    beside = clang.resolve().parent
    release = re.search(r"clang version (\d+)", _ask(clang, "--version"))
    suffix = f"-{release[1]}" if release else ""
    for name in ("lld", "ld.lld"):
        if os.access(beside / name, os.X_OK):
            return beside / name
    for name in (f"ld.lld{suffix}", f"lld{suffix}", "ld.lld", "lld"):
        path = shutil.which(name)
        if path is not None:
            return Path(path)
    return None


def _lld_folder(command: str, rename: bool) -> Path:
    """A folder with a program `lld`, the name by which clang's AMDGPU link step starts its linker.

    The step passes `-flavor gnu` first, which only a program called lld itself understands.
    """
    drop = '[ "$1" = -flavor ] && shift 2\n' if rename else ""
    script = f'#!/bin/sh\n{drop}exec {command} "$@"\n'
    tools = cache.folder() / "tools" / cache.digest(script)[:16]
    wrapper = tools / "lld"
    if not os.access(wrapper, os.X_OK) or wrapper.read_text() != script:
        try:
            cache.write_atomically(wrapper, script.encode(), 0o755)
        except OSError as error:
            raise ToolchainError(
                f"the cache folder {cache.folder()} takes no file more: {error.strerror}. Make room there, "
                "or set HIPKITTENS_CACHE to a folder that has it."
            ) from None
    return tools


def _try(compiler: Compiler, arch: str) -> None:
    """Compile a small kernel for `arch`. A success is remembered; a failure may be mended at any time."""
    store = cache.Cache("compilers")
    key = cache.digest("try", compiler.identity, *compiler.device_command(arch, ""))
    if store.get(key) is not None:
        return
    with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
        output = os.path.join(folder, "probe.co")
        try:
            finished = process.run(
                compiler.device_command(arch, output),
                timeout=PROBE_TIMEOUT,
                text=_PROBE_KERNEL,
                environment=compiler.environment(folder),
            )
        except OSError as error:
            raise _UnusableError(f"cannot be started: {error.strerror}") from None
        if finished.returncode is None:
            raise _UnusableError(f"did not compile a small kernel for {arch} within {PROBE_TIMEOUT:g} s")
        problem = _problem(arch, finished, os.path.exists(output))
    if problem:
        raise _UnusableError(problem)
    store.put(key, b"compiles")


def _problem(arch: str, finished: process.Finished, made: bool) -> str:
    returncode = finished.returncode or 0
    if returncode == 0:
        return "" if made else f"made no code object of a small kernel for {arch} and did not say why"
    if returncode < 0:
        return f"died of {_signal(returncode)} when it compiled a small kernel for {arch}"
    if re.search(r"(unknown|unsupported|invalid).*(target|arch|cpu|processor)", finished.text, re.IGNORECASE):
        return f"does not know the target {arch}"
    return f"does not compile a small kernel for {arch}: {_first_error(finished.text)}"


def _signal(returncode: int) -> str:
    try:
        return signal.Signals(-returncode).name
    except ValueError:
        return f"signal {-returncode}"


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "it said nothing")


def _first_error(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if "error" in line), _first_line(text))


def _stamp(path: Path) -> str:
    """Tells one build of a program from another."""
    real = path.resolve()
    try:
        status = real.stat()
    except OSError as error:
        raise _UnusableError(f"cannot be read: {error.strerror}") from None
    return f"{real}:{status.st_size}:{status.st_mtime_ns}"


def kernel_headers() -> Path:
    """Folder of the tile library's headers, always on the include path."""
    return paths.include_dir()
