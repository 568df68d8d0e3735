"""Containers around code objects: HIP fat binaries, and host programs that embed one.

LLVM documents the bundle's layout in ClangOffloadBundler.
"""

from __future__ import annotations

import io
import platform
import struct
from collections.abc import Mapping

from elftools.elf.elffile import ELFFile

from workbench.codeobject.damage import damage_reported
from workbench.errors import CodeObjectError

BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_BUNDLE_MAGIC = b"CCOB"
OFFLOAD_BINARY_MAGIC = b"\x10\xff\x10\xad"
_ALIGNMENT = 4096


def plain_target(arch: str) -> str:
    """A target without its features: "gfx942" of "gfx942:xnack-"."""
    return arch.split(":", 1)[0]


def fat_binary_of_host(data: bytes) -> bytes:
    """The fat binary that a host ELF carries in its .hip_fatbin section.

    Raises:
        CodeObjectError: there is no such section, or it ends outside the file.
    """
    elf = ELFFile(io.BytesIO(data))
    section = elf.get_section_by_name(".hip_fatbin")
    if section is None:
        raise CodeObjectError(
            "an ELF file without AMD GPU code: it is not a code object and has no .hip_fatbin section. "
            "Compile device code with -x hip and --offload-arch=gfx950."
        )
    start, size = section["sh_offset"], section["sh_size"]
    if section["sh_type"] == "SHT_NOBITS" or start + size > len(data):
        raise CodeObjectError("the .hip_fatbin section ends outside the file: the file is cut off.")
    return data[start : start + size]


def bundle_entries(data: bytes) -> list[tuple[str, int, int]]:
    """The entries of a HIP fat binary: target triple, offset and size in bytes from the start of `data`.

    Several bundles may follow each other, as a linker leaves them.

    Raises:
        CodeObjectError: another container, a compressed one, or damage.
    """
    if data.startswith(COMPRESSED_BUNDLE_MAGIC):
        raise CodeObjectError(
            "the fat binary is compressed (CCOB), which is not read here: build with --no-offload-compress, "
            "or unpack it with clang-offload-bundler -unbundle."
        )
    if data.startswith(OFFLOAD_BINARY_MAGIC):
        raise CodeObjectError(
            "an offload binary of clang's linker wrapper, which is not read here: build with "
            "--no-offload-new-driver."
        )
    if not data.startswith(BUNDLE_MAGIC):
        raise CodeObjectError(
            f"no code object: it begins with {data[:8]!r}; expected an AMDGPU ELF, a HIP fat binary "
            f"({BUNDLE_MAGIC.decode()}) or a host ELF with a .hip_fatbin section."
        )
    entries = []
    start = 0
    with damage_reported("the fat binary"):
        while start >= 0:
            (count,) = struct.unpack_from("<Q", data, start + len(BUNDLE_MAGIC))
            if count > 4096:
                raise CodeObjectError(f"the fat binary is damaged: it claims {count} entries.")
            position = start + len(BUNDLE_MAGIC) + 8
            end = position
            for _ in range(count):
                offset, size, length = struct.unpack_from("<QQQ", data, position)
                triple = data[position + 24 : position + 24 + length]
                if length > 1024 or len(triple) < length:
                    raise CodeObjectError("the fat binary is damaged: an entry's triple ends outside it.")
                position += 24 + length
                if start + offset + size > len(data):
                    raise CodeObjectError(
                        "the fat binary is cut off: the entry for "
                        f"{triple.decode('utf-8', 'replace')} ends at byte {start + offset + size}, the data "
                        f"at {len(data)}."
                    )
                entries.append((triple.decode("utf-8", "replace"), start + offset, size))
                end = max(end, position, start + offset + size)
            start = data.find(BUNDLE_MAGIC, end)
    return entries


def fat_binary(codes: Mapping[str, bytes]) -> bytes:
    """A HIP fat binary of code objects by target (LLVM: "Bundled Code Object Layout")."""
    entries = [(f"host-{platform.machine()}-unknown-linux-gnu-", b"")]
    entries += [(f"hipv4-amdgcn-amd-amdhsa--{arch}", code) for arch, code in codes.items()]
    head = BUNDLE_MAGIC + struct.pack("<Q", len(entries))
    body = b""
    for triple, code in entries:
        head += struct.pack("<QQQ", _ALIGNMENT + len(body), len(code), len(triple)) + triple.encode()
        body += code + bytes(-len(code) % _ALIGNMENT)
    return head.ljust(_ALIGNMENT, b"\0") + body
