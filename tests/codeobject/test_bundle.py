"""HIP fat binaries and host programs around code objects."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.codeobject.conftest import compiled
from workbench.codeobject import CodeObject
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


def test_the_wanted_target_is_taken() -> None:
    data = bundle([HOST, entry("gfx942"), entry("gfx950")])
    assert CodeObject.from_bytes(data, "gfx950").target == "gfx950"
    assert CodeObject.from_bytes(data, "gfx942").data == compiled("gfx942")
    assert bundle_entries(data)[0][0].startswith("host-")


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
        (b"", "no code object: it begins with b''"),
        (b"hello world", "no code object: it begins with b'hello wo'"),
        (b"CCOB" + bytes(40), "compressed .*--no-offload-compress"),
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
    made = fat_binary(codes)
    for arch, code in codes.items():
        assert CodeObject.from_bytes(made, arch).data == code
