"""Tries a candidate on a small kernel first, with the same command that later compiles a cell."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from workbench import cache
from workbench.targets import TILE_TARGETS
from workbench.toolchain import process, zig
from workbench.toolchain.candidates import Candidate
from workbench.toolchain.compiler import Compiler, header_flags, short_names
from workbench.toolchain.questions import UnusableError, ask, first_line, limit, signal_name, stamp

OLDEST_ROCM = 6
OLDEST_CLANG = 17
OLDEST_CLANG_FOR_ZIG_HEADERS = 19

_PROBE_KERNEL = "#include <cstdint>\n__attribute__((global)) void probe(std::uint32_t *out) { *out = 1; }\n"


def examine(candidate: Candidate, arch: str | None) -> Compiler:
    """A candidate as a compiler, once it has compiled a small kernel.

    Args:
        candidate: the program.
        arch: a target that it must support; None for the one that it most likely supports.

    Raises:
        UnusableError: the compiler is not usable.
    """
    if not os.access(candidate.path, os.X_OK):
        raise UnusableError("is not a program that can be run")
    if candidate.kind == "hipcc":
        compiler = _examine_hipcc(candidate)
    elif candidate.kind == "clang":
        compiler = _examine_clang(candidate)
    else:
        compiler = _examine_zig(candidate)
    if arch is not None:
        probe_arch = arch
    elif candidate.kind == "hipcc":
        # A ROCm before 7 may support this GPU, but not the newest one.
        probe_arch = TILE_TARGETS[-1]
    else:
        probe_arch = TILE_TARGETS[0]
    _try(compiler, probe_arch)
    return compiler


def _examine_hipcc(candidate: Candidate) -> Compiler:
    text = ask(candidate.path, "--version")
    match = re.search(r"HIP version:\s*(\d+)\.(\d+)(?:\.(\d+))?", text)
    if match is None:
        raise UnusableError(f"does not say its HIP version: {first_line(text)}")
    version = ".".join(part for part in match.groups() if part)
    if int(match[1]) < OLDEST_ROCM:
        raise UnusableError(f"is of ROCm {version}; expected ROCm {OLDEST_ROCM} or later")
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
        arguments=("-Wno-unused-command-line-argument", *(short_names(root / "include") if root else ())),
        folders=(),
        headers=f"ROCm's ({root / 'include'})" if root else "ROCm's",
        fixed_roots=(f"{root.resolve()}/",) if root else (),
        identity=cache.digest("hipcc", stamp(candidate.path), text),
    )


def _examine_clang(candidate: Candidate) -> Compiler:
    text = ask(candidate.path, "--version")
    match = re.search(r"clang version (\d+)(?:\.\d+)*", text)
    if match is None:
        raise UnusableError(f"is not clang: {first_line(text)}")
    version = match[0].removeprefix("clang version ")
    if int(match[1]) < OLDEST_CLANG:
        raise UnusableError(f"is clang {version}; expected {OLDEST_CLANG} or later")
    if not re.search(r"^\s*amdgcn\b", ask(candidate.path, "--print-targets"), re.MULTILINE):
        raise UnusableError(f"clang {version} was built without the AMDGPU target")
    linker = _linker(candidate.path)
    if linker is None:
        raise UnusableError(
            f"clang {version} has no lld beside it or on PATH "
            f"(`apt install lld-{match[1]}`, or `conda install -c conda-forge lld`)"
        )
    tools = _lld_folder(f'"{linker}"', rename=linker.name != "lld")
    wheel = zig.folder() if int(match[1]) >= OLDEST_CLANG_FOR_ZIG_HEADERS else None
    program = zig.program()
    if wheel is not None and program is not None and zig.has_headers(wheel):
        standard = ["-nostdlibinc", *zig.device_headers(program)]
        headers = "the workbench's HIP headers, libc++ of the ziglang wheel"
    else:
        wheel, standard = None, []
        headers = "the workbench's HIP headers, the system's C++ library"
    return Compiler(
        kind="clang",
        path=candidate.path,
        version=f"clang {version}",
        reason=f"clang {version} with the AMDGPU target and {linker}, from {candidate.origin}",
        passed_over=(),
        command=(str(candidate.path),),
        arguments=(*_without_rocm(tools, f"clang {version}"), *standard),
        folders=(str(tools),),
        headers=headers,
        fixed_roots=(f"{wheel}/",) if wheel else (),
        identity=cache.digest("clang", stamp(candidate.path), text, stamp(linker), str(wheel)),
    )


def _examine_zig(candidate: Candidate) -> Compiler:
    if candidate.path.name == "python-zig":
        raise UnusableError("is a script; give the zig in the ziglang package's folder")
    release = ask(candidate.path, "version").strip()
    text = ask(candidate.path, "clang", "--version")
    match = re.search(r"clang version (\d+(?:\.\d+)*)", text)
    if match is None:
        raise UnusableError(f"zig {release} carries no clang; {zig.WHEEL} does (`pip install {zig.WHEEL}`)")
    root = zig.root_of(candidate.path)
    if not zig.has_headers(root):
        raise UnusableError(f"zig {release} has no C++ headers beside it (lib/libcxx/include)")
    tools = _lld_folder(f'"{candidate.path}" ld.lld', rename=True)
    return Compiler(
        kind="zig",
        path=candidate.path,
        version=f"zig {release} (clang {match[1]})",
        reason=f"the clang {match[1]} in zig {release}, from {candidate.origin}",
        passed_over=(),
        command=(str(candidate.path), "clang"),
        arguments=(
            *_without_rocm(tools, f"clang {match[1]}"),
            "-nostdinc",
            *zig.device_headers(candidate.path, builtin=True),
        ),
        folders=(str(tools),),
        headers="the workbench's HIP headers, libc++ of zig",
        fixed_roots=(f"{root}/",),
        identity=cache.digest("zig", stamp(candidate.path), release, text),
    )


def _without_rocm(tools: Path, version: str) -> list[str]:
    return [
        "-nogpulib",
        "-nogpuinc",
        f"-B{tools}",
        *header_flags(version),
        # As hipcc does at -O3: a call on this target costs more than the copy that inlining makes.
        "-mllvm",
        "-amdgpu-early-inline-all=true",
    ]


def _linker(clang: Path) -> Path | None:
    """An lld: the one that clang itself would start, or else one of its release on PATH."""
    answer = ask(clang, "-print-prog-name=lld").strip()
    if answer and answer != "lld" and os.access(answer, os.X_OK):
        return Path(answer)
    beside = clang.resolve().parent
    release = re.search(r"clang version (\d+)", ask(clang, "--version"))
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
    return cache.tools({"lld": script})


def _try(compiler: Compiler, arch: str) -> None:
    """Compile a small kernel for `arch`. A success is remembered; a failure may be fixed at any time."""
    store = cache.Cache("compilers")
    key = cache.digest("try", compiler.identity, *compiler.device_command(arch))
    if store.get(key) is not None:
        return
    with tempfile.TemporaryDirectory(prefix="hipkittens-") as folder:
        output = os.path.join(folder, "probe.co")
        try:
            finished = process.run(
                [*compiler.device_command(arch), "-", "-o", output],
                timeout=limit(),
                text=_PROBE_KERNEL,
                environment=compiler.environment(folder),
            )
        except OSError as error:
            raise UnusableError(f"cannot be started: {error.strerror}") from None
        if finished.returncode is None:
            raise UnusableError(f"did not compile a small kernel for {arch} within {limit():g} s")
        problem = _problem(arch, finished, os.path.exists(output))
    if problem:
        raise UnusableError(problem)
    store.put(key, b"compiles")


def _problem(arch: str, finished: process.Finished, has_output: bool) -> str:
    returncode = finished.returncode or 0
    if returncode == 0:
        return "" if has_output else f"made no code object of a small kernel for {arch} and did not say why"
    if returncode < 0:
        return f"died of {signal_name(returncode)} when it compiled a small kernel for {arch}"
    if re.search(r"(unknown|unsupported|invalid).*(target|arch|cpu|processor)", finished.text, re.IGNORECASE):
        return f"does not know the target {arch}"
    return f"does not compile a small kernel for {arch}: {_first_error(finished.text)}"


def _first_error(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if "error" in line), first_line(text))
