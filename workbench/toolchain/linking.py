"""Links LLVM bitcode of device code to a code object, as hiprtc's linker does.

The linker does the optimization too (LTO): a function of one file is inlined into a kernel of another, and
registers and shared memory are counted over all of them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from workbench.cache import digest
from workbench.codeobject.bundle import BUNDLE_MAGIC, bundle_entries, plain_target
from workbench.errors import CompilerNotFound, ToolchainError
from workbench.toolchain import precompiled, process
from workbench.toolchain.diagnostics import Diagnostic
from workbench.toolchain.job import Job
from workbench.toolchain.options import CompileOptions
from workbench.toolchain.scratch import in_folder
from workbench.toolchain.search import find_compiler

BITCODE_MAGIC = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
_ARCHIVE_MAGIC = b"!<arch>\n"
_MEMBER_HEADER = 60
_LINK_TIMEOUT = 300.0


def compile_bitcode(source: str, options: CompileOptions) -> tuple[bytes, tuple[Diagnostic, ...]]:
    """The bitcode of a source that may use definitions of others (`-fgpu-rdc`), and the compiler's warnings.

    Raises:
        CompileError, CompilerNotFound, CompilerCrashed, CompilerTimeout, UsageError: see `compile_device`.
    """
    job = Job(source, options)

    def build(folder: str) -> tuple[bytes, tuple[Diagnostic, ...]]:
        output = os.path.join(folder, "device.bc")
        command = [
            *job.compiler.device_command(options.arch),
            *job.own,
            *job.common,
            *job.linked,
            *precompiled.top(None, job.compiler),
            # Each file has a symbol that identifies it: a unique name that is the same every time.
            *("-fgpu-rdc", f"-cuid={digest(job.key)[:16]}", "-emit-llvm", "-c"),
            *("-", "-o", output),
        ]
        bitcode, diagnostics, _ = job.start(command, output, folder)
        return bitcode, diagnostics

    return in_folder(build)


def bitcode_for(data: bytes, arch: str, name: str) -> list[bytes]:
    """The bitcode for a target in an input of the linker: bitcode, a bundle, or an archive of either.

    Args:
        data: bytes of the input.
        arch: target.
        name: name in messages.

    Raises:
        ToolchainError: the input has another format, or nothing for the target.
    """
    if data.startswith(BITCODE_MAGIC):
        return [data]
    if data.startswith(BUNDLE_MAGIC):
        entries = [entry for entry in bundle_entries(data) if entry.content]
        fits = [entry for entry in entries if entry.arch in (arch, plain_target(arch))]
        if not fits:
            targets = ", ".join(entry.triple for entry in entries) or "nothing"
            raise ToolchainError(f"{name}: the bundle has code for {targets}; expected {arch}")
        return [code for entry in fits for code in bitcode_for(bytes(entry.content), arch, name)]
    if data.startswith(_ARCHIVE_MAGIC):
        return [
            code
            for member, content in archive_members(data, name)
            for code in bitcode_for(content, arch, f"{name}({member})")
        ]
    kind = (
        "a code object or an object file" if data.startswith(b"\x7fELF") else f"something with {data[:8]!r}"
    )
    raise ToolchainError(
        f"{name} is {kind}; expected LLVM bitcode, a bundle of it or an archive: compile with -fgpu-rdc and "
        "take hiprtcGetBitcode, or use clang -emit-llvm"
    )


def archive_members(data: bytes, name: str) -> list[tuple[str, bytes]]:
    """Files of an archive (`ar`, System V's format) by name, except its tables of symbols and long names."""
    members, at = [], len(_ARCHIVE_MAGIC)
    while at < len(data):
        header = data[at : at + _MEMBER_HEADER]
        size = header[48:58].strip()
        if len(header) < _MEMBER_HEADER or not size.isdigit() or at + _MEMBER_HEADER + int(size) > len(data):
            raise ToolchainError(f"{name}: the archive is damaged at byte {at}")
        start = at + _MEMBER_HEADER
        member = header[:16].decode("utf-8", "replace").strip()
        if member not in ("/", "//", "/SYM64/"):
            members.append((member.rstrip("/"), data[start : start + int(size)]))
        at = start + int(size) + int(size) % 2
    return members


def link_bitcode(inputs: Sequence[bytes], arch: str, flags: Sequence[str] = ()) -> bytes:
    """A code object with all definitions of several pieces of bitcode.

    Args:
        inputs: bitcode.
        arch: target.
        flags: LLVM flags, as after `-mllvm`.

    Raises:
        CompilerNotFound: no compiler for the target, or it has no linker.
        ToolchainError: linking failed; the error has the linker's message.
    """
    compiler = find_compiler(arch)

    def build(folder: str) -> bytes:
        environment = compiler.environment(folder)
        linker = shutil.which("lld", path=environment["PATH"])
        if linker is None:
            raise CompilerNotFound(f"{compiler.version} ({compiler.path}) has no lld, which links bitcode")
        files = [os.path.join(folder, f"input{index}.bc") for index in range(len(inputs))]
        for file, content in zip(files, inputs, strict=True):
            Path(file).write_bytes(content)
        output = os.path.join(folder, "linked.co")
        command = [
            *(linker, "-flavor", "gnu", "-m", "elf64_amdgpu", "-shared", "--no-undefined"),
            *(f"-plugin-opt=mcpu={plain_target(arch)}", "-plugin-opt=O3", "--lto-CGO3", "--whole-archive"),
            *(part for flag in flags for part in ("-mllvm", flag)),
            *files,
            *("-o", output),
        ]
        finished = process.run(command, timeout=_LINK_TIMEOUT, environment=environment)
        if finished.returncode != 0 or not os.path.exists(output):
            words = finished.text.replace(f"{folder}/", "").strip() or "the linker failed without a message"
            raise ToolchainError(words)
        return Path(output).read_bytes()

    return in_folder(build)
