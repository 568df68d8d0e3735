"""Containers around code objects: HIP fat binaries, and host programs that embed one.

LLVM documents the bundle's layout in ClangOffloadBundler.
"""

from __future__ import annotations

import io
import platform
import re
import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from elftools.elf.elffile import ELFFile

from workbench.codeobject import compressed
from workbench.codeobject.damage import damage_reported
from workbench.errors import CodeObjectError
from workbench.targets import runs_on

BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
OFFLOAD_BINARY_MAGIC = b"\x10\xff\x10\xad"
_ALIGNMENT = 4096
# Magic, a version and a method of `compressed`.
_COMPRESSED_START = re.compile(rb"CCOB[\x01-\x03]\0[\0\x01]\0")


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


class BundleEntry(NamedTuple):
    """One entry of a bundle: target triple ("hipv4-amdgcn-amd-amdhsa--gfx950") and bytes."""

    triple: str
    content: memoryview

    @property
    def arch(self) -> str:
        """The target that the entry is for, as "gfx950:xnack-"; the triple itself if it names no target."""
        return self.triple.split("--", 1)[-1] or self.triple


def bundle_entries(data: bytes) -> list[BundleEntry]:
    """The entries of a HIP fat binary.

    A linker may place several bundles one after the other, and each may be compressed.

    Raises:
        CodeObjectError: another container, or damage.
    """
    if data.startswith(OFFLOAD_BINARY_MAGIC):
        raise CodeObjectError(
            "an offload binary of clang's linker wrapper, which is not read here: build with "
            "--no-offload-new-driver."
        )
    if not data.startswith((BUNDLE_MAGIC, compressed.MAGIC)):
        raise CodeObjectError(
            f"not a code object: it begins with {data[:8]!r}; expected an AMDGPU ELF, a HIP fat binary "
            f"({BUNDLE_MAGIC.decode()}) or a host ELF with a .hip_fatbin section."
        )
    entries: list[BundleEntry] = []
    start = 0
    with damage_reported("the fat binary"):
        while start >= 0:
            if data.startswith(compressed.MAGIC, start):
                content, end = compressed.decompress(data, start)
                entries += bundle_entries(content)
            else:
                more, end = _entries_at(data, start)
                entries += more
            start = _next_bundle(data, end)
    return entries


def _next_bundle(data: bytes, end: int) -> int:
    """Offset of the bundle after the one that ends at `end`; -1 if there is none."""
    # Anything may begin with the few bytes of the compressed magic; linkers align bundles.
    places = [data.find(BUNDLE_MAGIC, end)]
    rest = _COMPRESSED_START.search(data, end)
    places.append(rest.start() if rest is not None else -1)
    return min((place for place in places if place >= 0), default=-1)


def _entries_at(data: bytes, start: int) -> tuple[list[BundleEntry], int]:
    """Entries of the bundle that begins there, and where it ends."""
    (count,) = struct.unpack_from("<Q", data, start + len(BUNDLE_MAGIC))
    if count > 4096:
        raise CodeObjectError(f"the fat binary is damaged: it claims {count} entries.")
    view = memoryview(data)
    entries = []
    position = start + len(BUNDLE_MAGIC) + 8
    end = position
    for _ in range(count):
        offset, size, length = struct.unpack_from("<QQQ", data, position)
        triple = data[position + 24 : position + 24 + length]
        if length > 1024 or len(triple) < length:
            raise CodeObjectError("the fat binary is damaged: an entry's triple ends outside it.")
        position += 24 + length
        first, last = start + offset, start + offset + size
        if last > len(data):
            raise CodeObjectError(
                "the fat binary is cut off: the entry for "
                f"{triple.decode('utf-8', 'replace')} ends at byte {last}, the data at {len(data)}."
            )
        entries.append(BundleEntry(triple.decode("utf-8", "replace"), view[first:last]))
        end = max(end, position, last)
    return entries, end


def fitting(entries: Iterable[BundleEntry], arch: str) -> list[BundleEntry]:
    """The entries for a target: those for it alone, or else those for a generic target that it belongs to.

    Args:
        arch: a target, with or without features; without them, entries without XNACK come first, as on a
            default device.
    """
    entries = [entry for entry in entries if entry.content]
    plain = plain_target(arch)
    exact = [entry for entry in entries if plain_target(entry.arch) == plain]
    fits = exact or [entry for entry in entries if plain in runs_on(plain_target(entry.arch))]
    if ":" in arch:
        return fits
    return [entry for entry in fits if "xnack+" not in entry.arch] or fits


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
