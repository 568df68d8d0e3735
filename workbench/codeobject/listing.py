"""The code of an AMDGPU ELF file as text, for any target that the decoder knows, run or not."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from workbench.codeobject.bundle import bundle_entries, fat_binary_of_host
from workbench.codeobject.damage import damage_reported
from workbench.codeobject.decoder import decode_one
from workbench.codeobject.descriptor import KernelDescriptor
from workbench.codeobject.encodings_gfx11 import PROCESSORS
from workbench.codeobject.printer import text
from workbench.errors import CodeObjectError
from workbench.targets import NAMES, TARGETS

EM_AMDGPU = 224
_MACHINES = {n: name for target in TARGETS for n, name in target.processors.items()} | dict(PROCESSORS)
_WAVE32 = 1 << 10
"""ENABLE_WAVEFRONT_SIZE32 of a kernel descriptor's properties (LLVM AMDGPUUsage)."""


def code_objects(data: bytes) -> list[tuple[str, bytes]]:
    """The code objects of a file, with their targets: itself, or those in a HIP fat binary or host program.

    Raises:
        CodeObjectError: it is none of these.
    """
    if data.startswith(b"\x7fELF"):
        if struct.unpack_from("<H", data.ljust(20, b"\0"), 18)[0] == EM_AMDGPU:
            return [(_target(data), data)]
        with damage_reported("the file"):
            data = fat_binary_of_host(data)
    entries = [(entry.arch, bytes(entry.content)) for entry in bundle_entries(data)]
    # The host's entry is empty.
    return [(arch, content) for arch, content in entries if content]


def _target(data: bytes) -> str:
    if len(data) < 64:
        raise CodeObjectError(f"not a code object: a file of {len(data)} bytes, less than an ELF header has.")
    number = struct.unpack_from("<I", data, 48)[0] & 0xFF
    name: str | None = _MACHINES.get(number)
    if name is None or (name not in NAMES and name not in PROCESSORS.values()):
        known = ", ".join((*NAMES, *PROCESSORS.values()))
        raise CodeObjectError(
            f"code for {name or f'an unknown processor (EF_AMDGPU_MACH {number:#x})'}, whose instructions "
            f"are not known; those of {known} are."
        )
    return name


def _lanes(elf: ELFFile, symbols: list[Any], name: str, target: str) -> int | None:
    """Lanes of a wave of a kernel, from its descriptor; None for a function that is no kernel."""
    for symbol in symbols:
        if symbol.name == f"{name}.kd":
            section = elf.get_section(symbol["st_shndx"])
            start = symbol["st_value"] - section["sh_addr"]
            content = section.data()[start : start + KernelDescriptor.SIZE]
            descriptor = KernelDescriptor.from_bytes(content, target)
            return 32 if descriptor.properties & _WAVE32 else 64
    return None


def listing(data: bytes) -> Iterator[str]:
    """The functions of a code object: a line for each name, and one for each instruction under it.

    A function that is no kernel has the wave size of the kernels around it.

    Raises:
        CodeObjectError: not an ELF file of a target that the decoder knows, or its code is damaged.
    """
    try:
        elf = ELFFile(io.BytesIO(data))
        target = _target(data)
        table = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
        symbols = list(table.iter_symbols()) if isinstance(table, SymbolTableSection) else []
    except (ELFError, struct.error) as error:
        raise CodeObjectError(f"not a code object: {error or 'the file is cut short'}.") from None
    functions = [s for s in symbols if s["st_info"]["type"] == "STT_FUNC" and s["st_size"]]
    sizes = {s.name: _lanes(elf, symbols, s.name, target) for s in functions}
    usual = next((lanes for lanes in sizes.values() if lanes), None)
    for symbol in sorted(functions, key=lambda s: (s["st_shndx"], s["st_value"])):
        section = elf.get_section(symbol["st_shndx"])
        code, start = section.data(), section["sh_addr"]
        yield f"{symbol.name}:"
        at = symbol["st_value"]
        while at < symbol["st_value"] + symbol["st_size"]:
            instruction = decode_one(code, at - start, at, target, sizes[symbol.name] or usual)
            yield f"  {at:08x}  {text(instruction)}"
            at += instruction.size
