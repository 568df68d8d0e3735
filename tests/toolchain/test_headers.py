"""C headers that Python reads: the same types and numbers as cffi's own parser gives, however they come."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import cffi
import pytest

from workbench import cache
from workbench.emulator.native import abi
from workbench.profile.simulation import native
from workbench.toolchain import headers

TEXT = """
#ifndef SAMPLE_H
#define SAMPLE_H
#include <stdint.h>
#define SIZE 12
enum { FIRST = 3, SECOND };
typedef struct Pair { uint8_t small; uint64_t large; } Pair;
size_t strlen(const char *);
#endif
"""


@pytest.fixture
def header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "sample.h"
    path.write_text(TEXT)
    return path


def check(ffi: Any) -> None:
    library = ffi.dlopen(None)
    assert (library.SIZE, library.FIRST, library.SECOND) == (12, 3, 4)
    assert (ffi.sizeof("Pair"), ffi.offsetof("Pair", "large")) == (16, 8)
    assert library.strlen(b"four") == 4
    assert not hasattr(library, "THIRD")


def test_a_header_is_parsed_once(
    header: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check(headers.declared(header))
    monkeypatch.setattr(headers, "_module", lambda text: pytest.fail("it was parsed again"))
    check(headers.declared(header))
    assert capsys.readouterr().out == ""


def test_a_changed_header_is_parsed_anew(header: Path) -> None:
    headers.declared(header)
    header.write_text(TEXT.replace("SIZE 12", "SIZE 13"))
    assert headers.declared(header).dlopen(None).SIZE == 13


def test_without_a_cache_a_header_is_parsed(
    header: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "open to all"
    folder.mkdir()
    folder.chmod(0o777)
    monkeypatch.setenv("HIPKITTENS_CACHE", str(folder))
    check(headers.declared(header))
    assert cache.Cache("headers").namespace not in {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("path", "read"), [(abi.HEADER, abi.ffi), (native.FOLDER / "unit.h", native.ffi)], ids=["abi", "unit"]
)
def test_layouts_are_those_of_cffis_parser(path: Path, read: Any) -> None:
    parsed: Any = cffi.FFI()
    parsed.cdef(re.sub(r"^#(?!define \w+ +\S).*$", "", path.read_text(), flags=re.MULTILINE))
    assert read.list_types() == parsed.list_types()
    names, structures, _ = parsed.list_types()
    kinds = [f"struct {name}" for name in structures] + [n for n in names if n not in structures]
    for kind in kinds:
        expected, actual = parsed.typeof(kind), read.typeof(kind)
        assert expected.kind == actual.kind
        if expected.kind == "struct" and expected.fields is not None:
            for (name, field), (other, same) in zip(expected.fields, actual.fields, strict=True):
                assert (name, field.offset, field.type.kind) == (other, same.offset, same.type.kind)
            assert parsed.sizeof(expected) == read.sizeof(actual)
    numbers = re.findall(r"^#define (\w+) +\S", path.read_text(), re.MULTILINE)
    ours, theirs = read.dlopen(None), parsed.dlopen(None)
    assert [getattr(ours, name) for name in numbers] == [getattr(theirs, name) for name in numbers]
    assert sorted(dir(ours)) == sorted(dir(theirs))
