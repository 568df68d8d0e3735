"""Device code of several sources, linked (`-fgpu-rdc`): the bitcode in their objects becomes one fat binary.

An object has its bitcode in the same section as clang's objects. Its host part refers to a fat binary and to
a place for the result of registering, by its own names; all of them get the same one.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from workbench.codeobject.bundle import bundle_entries, fat_binary
from workbench.toolchain.compiler import Compiler
from workbench.toolchain.hipcc.units import start
from workbench.toolchain.linking import archive_members, bitcode_for, link_bitcode

_SECTION = ".llvm.offloading"
_BINARY, _PLACE = "__hip_fatbin_", "__hip_gpubin_handle_"
_TARGET = "--"
_CARRIER = """.section .hip_fatbin,"a",@progbits
.p2align 12
{binaries}
.incbin "{bundle}"
.bss
.p2align 3
{places}
.zero 8
.section .note.GNU-stack,"",@progbits
"""


def linked_device_code(compiler: Compiler, words: Sequence[str], folder: str, show: str) -> list[str]:
    """Link the device code that the objects among a linker's arguments leave unlinked.

    Returns:
        the object with it; None if no object has any.

    Raises:
        CompilerNotFound: it has no linker for bitcode.
        ToolchainError: it does not link, or an object has none for a target of the others; the message says
            why.
    """
    parts: dict[str, bytes] = {}
    names: set[str] = set()
    for name, content in _objects(words):
        elf = ELFFile(io.BytesIO(content))
        section, table = elf.get_section_by_name(_SECTION), elf.get_section_by_name(".symtab")
        if section is None or not isinstance(table, SymbolTableSection):
            continue
        parts[name] = section.data()
        names |= {symbol.name for symbol in table.iter_symbols() if symbol["st_shndx"] == "SHN_UNDEF"}
    if not parts:
        return []
    targets = {
        entry.triple.rpartition(_TARGET)[2]
        for data in parts.values()
        for entry in bundle_entries(data)
        if entry.content
    }
    codes = {
        target: link_bitcode(
            [code for name, data in parts.items() for code in bitcode_for(data, target, name)], target
        )
        for target in sorted(targets)
    }
    bundle, carrier, linked = (os.path.join(folder, f"linked.{ending}") for ending in ("hipfb", "s", "o"))
    Path(bundle).write_bytes(fat_binary(codes))
    labels = {
        start: "\n".join(
            f".globl {name}\n.hidden {name}\n{name}:" for name in sorted(names) if name.startswith(start)
        )
        for start in (_BINARY, _PLACE)
    }
    Path(carrier).write_text(_CARRIER.format(bundle=bundle, binaries=labels[_BINARY], places=labels[_PLACE]))
    start([*compiler.command, "-c", carrier, "-o", linked], compiler.environment(folder), show)
    return [linked]


def _objects(words: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Objects, including those in archives, that a linker's words name."""
    folders = [word[2:] for word in words if word.startswith("-L")]
    for word in words:
        paths = [Path(word)]
        if word.startswith("-l"):
            paths = [Path(folder, f"lib{word[2:]}.a") for folder in folders]
        path = next(
            (path for path in paths if path.suffix in (".o", ".a", ".lo", ".obj") and path.is_file()), None
        )
        if path is None:
            continue
        content = path.read_bytes()
        inside = archive_members(content, str(path)) if path.suffix == ".a" else [(str(path), content)]
        yield from ((name, data) for name, data in inside if data.startswith(b"\x7fELF"))
