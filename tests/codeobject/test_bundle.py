"""HIP fat binaries and host programs around code objects."""

from __future__ import annotations

import contextlib
import ctypes.util
import functools
import importlib.util
import random
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from tests.codeobject.conftest import compiled
from workbench.codeobject import CodeObject
from workbench.codeobject import compressed as compressed_module
from workbench.codeobject.bundle import BUNDLE_MAGIC, bundle_entries, fat_binary
from workbench.errors import CodeObjectError
from workbench.targets import TILE_TARGETS


def bundle(entries: list[tuple[str, bytes]]) -> bytes:
    """A fat binary as clang-offload-bundler writes it, from LLVM's description of the layout."""
    header = BUNDLE_MAGIC + struct.pack("<Q", len(entries))
    position = 4096
    table, body = b"", b""
    for triple, data in entries:
        table += struct.pack("<QQQ", position, len(data), len(triple)) + triple.encode()
        padded = data.ljust(-(-len(data) // 4096) * 4096, b"\0")
        body += padded
        position += len(padded)
    return (header + table).ljust(4096, b"\0") + body


HOST = ("host-x86_64-unknown-linux-gnu-", b"")


def entry(arch: str, features: str = "") -> tuple[str, bytes]:
    return f"hipv4-amdgcn-amd-amdhsa--{arch}{features}", compiled(arch)


def compressed(content: bytes, version: int, method: int = 0) -> bytes:
    """A bundle as clang compresses it, from LLVM's description of the header (OffloadBundle.h).

    By zlib; Zstandard's frame has one block, which is not compressed (RFC 8878, 3.1.1).
    """
    if method == 0:
        packed = zlib.compress(content, 1)
    else:
        blocks = [content[start : start + 65536] for start in range(0, len(content), 65536)]
        heads = [len(block) << 3 | (number == len(blocks) - 1) for number, block in enumerate(blocks)]
        body = b"".join(head.to_bytes(3, "little") + block for head, block in zip(heads, blocks, strict=True))
        packed = struct.pack("<IBI", 0xFD2FB528, 0xA0, len(content)) + body
    sizes = {1: "<I", 2: "<II", 3: "<QQ"}[version]
    length = 8 + struct.calcsize(sizes) + 8 + len(packed)
    values = (len(content),) if version == 1 else (length, len(content))
    return b"CCOB" + struct.pack("<HH", version, method) + struct.pack(sizes, *values) + bytes(8) + packed


needs_zstd = pytest.mark.skipif(
    not importlib.util.find_spec("zstandard") and not ctypes.util.find_library("zstd"),
    reason="nothing here reads Zstandard",
)


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("method", [0, pytest.param(1, marks=needs_zstd)])
def test_compressed_bundles(version: int, method: int) -> None:
    whole = bundle([HOST, entry("gfx942"), entry("gfx950")])
    data = compressed(whole, version, method)
    assert [e.arch for e in bundle_entries(data)] == [e.arch for e in bundle_entries(whole)]
    assert CodeObject.from_bytes(data, "gfx942").data == compiled("gfx942")
    # A linker places them consecutively, with zeros between.
    both = data + bytes(-len(data) % 4096) + bundle([HOST, entry("gfx950")]) + data
    assert len(CodeObject.all_from_bytes(both, "gfx950")) == 3


@pytest.mark.parametrize("version", [1, 2, 3])
def test_damaged_compressed_bundles(version: int, draw: random.Random) -> None:
    data = compressed(bundle([HOST, entry("gfx950")]), version)
    for length in (*range(4, 40), len(data) // 2, len(data) - 1):
        with pytest.raises(CodeObjectError):
            CodeObject.from_bytes(data[:length])
    for _ in range(60):
        damaged = bytearray(data)
        damaged[draw.choice((draw.randrange(4, 32), draw.randrange(len(data))))] ^= 1 << (draw.randrange(8))
        with contextlib.suppress(CodeObjectError):
            CodeObject.from_bytes(bytes(damaged))


def test_what_compresses_by_nothing_known() -> None:
    data = bytearray(compressed(bundle([HOST, entry("gfx950")]), 3))
    data[6] = 7
    with pytest.raises(CodeObjectError, match="method 7"):
        CodeObject.from_bytes(bytes(data))


def test_without_zstandard_a_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise OSError

    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setattr(compressed_module, "_zstd_library", missing)
    with pytest.raises(CodeObjectError, match=r"pip install zstandard.*--no-offload-compress"):
        CodeObject.from_bytes(compressed(bundle([HOST, entry("gfx950")]), 3, 1))


@functools.cache
def generic() -> bytes:
    return as_generic(compiled("gfx942"))


def as_generic(data: bytes) -> bytes:
    """A code object that says it is for gfx9-4-generic, by its machine number (AMDGPUUsage, 0x05F)."""
    changed = bytearray(data)
    changed[48] = 0x5F
    return bytes(changed)


def test_code_for_a_generic_processor() -> None:
    code_object = CodeObject.from_bytes(generic())
    assert code_object.processor == "gfx9-4-generic"
    assert code_object.targets == ("gfx950", "gfx942")
    assert code_object.target == "gfx942"
    for arch in ("gfx942", "gfx950", "gfx950:xnack-"):
        assert CodeObject.from_bytes(generic(), arch).target == arch[:6]
    assert CodeObject.from_bytes(generic(), "gfx9-4-generic").target == "gfx942"
    with pytest.raises(CodeObjectError, match="is for gfx9-4-generic, expected gfx90a"):
        CodeObject.from_bytes(generic(), "gfx90a")


def test_a_generic_entry_serves_targets_without_one_of_their_own() -> None:
    shared = ("hipv4-amdgcn-amd-amdhsa--gfx9-4-generic", generic())
    data = bundle([HOST, shared, entry("gfx942")])
    assert CodeObject.from_bytes(data, "gfx942").processor == "gfx942"
    taken = CodeObject.from_bytes(data, "gfx950")
    assert (taken.processor, taken.target) == ("gfx9-4-generic", "gfx950")
    assert CodeObject.from_bytes(data, "gfx9-4-generic").processor == "gfx9-4-generic"
    with pytest.raises(CodeObjectError, match="has code for gfx9-4-generic, gfx942; expected gfx90a"):
        CodeObject.from_bytes(data, "gfx90a")


def test_the_requested_target_is_taken() -> None:
    data = bundle([HOST, entry("gfx942"), entry("gfx950")])
    assert CodeObject.from_bytes(data, "gfx950").target == "gfx950"
    assert CodeObject.from_bytes(data, "gfx942").data == compiled("gfx942")
    assert bundle_entries(data)[0].triple.startswith("host-")


def test_without_a_target_there_must_be_one() -> None:
    assert CodeObject.from_bytes(bundle([HOST, entry("gfx950")])).target == "gfx950"
    with pytest.raises(CodeObjectError, match=r"2 code objects that fit \(gfx942, gfx950\); give arch="):
        CodeObject.from_bytes(bundle([HOST, entry("gfx942"), entry("gfx950")]))


def test_missing_target_names_what_is_there() -> None:
    with pytest.raises(CodeObjectError, match="has code for gfx942; expected gfx950"):
        CodeObject.from_bytes(bundle([HOST, entry("gfx942")]), "gfx950")
    with pytest.raises(CodeObjectError, match="has code for no AMD GPU"):
        CodeObject.from_bytes(bundle([HOST]))


def test_features_are_part_of_the_name() -> None:
    data = bundle([HOST, entry("gfx942", ":sramecc+:xnack+"), entry("gfx942", ":sramecc+:xnack-")])
    assert len(CodeObject.all_from_bytes(data, "gfx942")) == 1


def test_several_translation_units() -> None:
    data = bundle([HOST, entry("gfx950")]) + bundle([HOST, entry("gfx950")])
    assert len(CodeObject.all_from_bytes(data, "gfx950")) == 2
    with pytest.raises(CodeObjectError, match="all_from_bytes"):
        CodeObject.from_bytes(data, "gfx950")


def test_host_program_with_a_fat_binary(tmp_path: Path) -> None:
    fat = tmp_path / "fat.bin"
    fat.write_bytes(bundle([HOST, entry("gfx950"), entry("gfx942")]))
    source = tmp_path / "host.s"
    source.write_text(f'.section .hip_fatbin, "a", @progbits\n.p2align 12\n.incbin "{fat}"\n')
    library = tmp_path / "host.so"
    command = [sys.executable, "-m", "ziglang", "cc", "-target", "x86_64-linux-gnu", "-shared", "-nostdlib"]
    subprocess.run([*command, "-o", str(library), str(source)], check=True, capture_output=True)
    assert CodeObject.from_bytes(library.read_bytes(), "gfx942").data == compiled("gfx942")


def test_host_program_without_device_code() -> None:
    with pytest.raises(CodeObjectError, match=r"no \.hip_fatbin section"):
        CodeObject.from_bytes(Path("/proc/self/exe").read_bytes())


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "not a code object: it begins with b''"),
        (b"hello world", "not a code object: it begins with b'hello wo'"),
        (b"CCOB" + bytes(40), "header of version 0; .*--no-offload-compress"),
        (b"\x10\xff\x10\xad" + bytes(40), "offload binary"),
        (BUNDLE_MAGIC, "damaged"),
        (BUNDLE_MAGIC + struct.pack("<Q", 1 << 60), "claims 1152921504606846976 entries"),
        (BUNDLE_MAGIC + struct.pack("<QQQQ", 1, 0, 1 << 40, 4) + b"gfx9", "cut off: the entry for gfx9"),
        (BUNDLE_MAGIC + struct.pack("<QQQQ", 1, 0, 1, 100), "triple ends outside"),
    ],
)
def test_what_is_no_fat_binary(data: bytes, message: str) -> None:
    with pytest.raises(CodeObjectError, match=message):
        CodeObject.from_bytes(data)


def test_a_fat_binary_holds_each_target() -> None:
    codes = {arch: compiled(arch) for arch in TILE_TARGETS}
    binary = fat_binary(codes)
    for arch, code in codes.items():
        assert CodeObject.from_bytes(binary, arch).data == code
