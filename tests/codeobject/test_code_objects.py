"""The count of code objects: the counts, and the reason for each object that fails."""

from __future__ import annotations

import os
import struct
from dataclasses import replace
from pathlib import Path

import pytest

from tests.codeobject import code_objects
from tests.codeobject.conftest import with_kernels_changed
from tests.codeobject.test_bundle import HOST, bundle
from tests.fuzz.streams import S_ENDPGM
from tests.fuzz.template import template
from workbench.targets import TILE_TARGETS

_FLAGS = 48
_GFX1200 = 0x48
NO_INSTRUCTION = b"\xff\xff\xff\xff"


def for_processor(data: bytes, number: int) -> bytes:
    """The ELF file with another EF_AMDGPU_MACH."""
    (flags,) = struct.unpack_from("<I", data, _FLAGS)
    return data[:_FLAGS] + struct.pack("<I", flags & ~0xFF | number) + data[_FLAGS + 4 :]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A complete code object for each target, and some damaged ones for gfx950."""
    plain = {target: template(target).filled(S_ENDPGM, {}) for target in TILE_TARGETS}
    here, deeper = tmp_path / "objects", tmp_path / "objects" / "deeper"
    deeper.mkdir(parents=True)
    for target, data in plain.items():
        (deeper / f"{target}.co").write_bytes(data)
    fat = [HOST, *((f"hipv4-amdgcn-amd-amdhsa--{target}", data) for target, data in plain.items())]
    (here / "fat.hipfb").write_bytes(bundle(fat))
    gfx950 = plain["gfx950"]
    (here / "cut.co").write_bytes(gfx950[:100])
    (here / "no_instruction.co").write_bytes(template("gfx950").filled(NO_INSTRUCTION, {}))
    damaged = with_kernels_changed(gfx950, lambda kernel: kernel.update({".sgpr_count": -1}))
    (here / "damaged.co").write_bytes(damaged)
    (here / "later.co").write_bytes(for_processor(gfx950, _GFX1200))
    (here / "notes.txt").write_text("no code object")
    return here


def test_each_code_object_is_counted_with_its_reasons(folder: Path) -> None:
    paths = code_objects.files(folder)
    assert "notes.txt" not in {path.name for path in paths}
    results = code_objects.count(fate for path in paths for fate in code_objects.fates(path, folder))
    assert set(results) == {*TILE_TARGETS, code_objects.OTHERS}

    # Its own file and that in the fat binary.
    whole = {"objects": 2, "read": 2, "kernels": 2, "disassembled": 2, "translated": 2}
    whole |= {"not counted": 0, "why not": {}}
    assert results["gfx942"] == whole

    gfx950 = dict(results["gfx950"])
    why_not = gfx950.pop("why not")
    assert gfx950 == {
        "objects": 5,
        "read": 3,
        "kernels": 4,
        "disassembled": 2,
        "translated": 2,
        "not counted": 0,
    }
    assert {place.partition(" ")[0] for place in why_not} == {"cut.co", "no_instruction.co", "damaged.co"}
    assert "cut off" in why_not["cut.co not read"] or "damaged" in why_not["cut.co not read"]
    assert ".sgpr_count of kernel 'fuzz' is -1" in why_not["damaged.co not read fuzz"]
    for stage in ("disassembled", "translated"):
        assert "instruction" in why_not[f"no_instruction.co not {stage} fuzz"]
    assert not code_objects.complete(results)

    others = results[code_objects.OTHERS]
    assert (others["objects"], others["read"]) == (1, 0)
    assert "for gfx1200" in others["why not"]["later.co not read"]
    assert code_objects.complete({"gfx942": whole, code_objects.OTHERS: others})


def test_the_command_writes_the_page_beside_other_collections(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    store = replace(code_objects.STORE, data=tmp_path / "data.json", page=page)
    page.write_text(f"before\n{store.begin}{store.end}after\n")
    assert code_objects.main([str(folder / "deeper"), "--write"], store) == 0
    assert code_objects.main([str(folder), "--name", "all", "--write"], store) == 1
    assert set(store.read()) == {"deeper", "all"}
    text = page.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "| deeper | gfx950 | 1 | 1 | 1 | 1 | 1 | 0 |" in text
    assert "| all | gfx950 | 5 | 3 | 4 | 2 | 2 | 0 |" in text
    assert ".sgpr_count of kernel 'fuzz' is -1" in text

    capsys.readouterr()
    assert code_objects.main([str(folder / "deeper"), "--sample", "1"]) == 0
    assert capsys.readouterr().out.count("| deeper (1 of 2 files, seed 1) |") == 1
    code_objects.main([str(folder), "--sample", "1", "--write"], store)
    assert f"{folder.name} (1 of 7 files, seed 1)" in store.read()
    (folder / "empty").mkdir()
    with pytest.raises(SystemExit):
        code_objects.main([str(folder / "empty")])
    assert "no file with device code" in capsys.readouterr().err


def test_a_stopped_count_is_resumed(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept = ["--results", str(tmp_path / "fates.jsonl")]
    assert code_objects.main([str(folder), *kept, "--minutes", "0"]) == 1
    assert "gfx950 | 0 | 0 | 0 | 0 | 0 | 4 |" in capsys.readouterr().out
    assert code_objects.main([str(folder), *kept]) == 1
    first = capsys.readouterr().out
    # Nothing is read again: these files now end after their headers.
    for path in code_objects.files(folder):
        path.write_bytes(path.read_bytes()[:64])
    assert code_objects.main([str(folder), *kept]) == 1
    assert first.endswith(capsys.readouterr().out)


def test_a_process_that_ends_by_itself_is_a_reason(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As LLVM ends it on code that it cannot select."""
    monkeypatch.setattr(code_objects, "fates", lambda path, folder: os._exit(3))
    (fate,) = code_objects.alone(folder / "cut.co", folder)
    assert (fate.target, fate.path) == ("gfx950", "cut.co")
    assert fate.why_not == {("read", ""): "the process ended by itself, with status 3"}


def test_equal_reasons_are_one_row() -> None:
    why_not = {f"{n}.co not translated k{n}": f"kernel 'k{n}' ends at 0x{n:x} | there" for n in range(3)}
    result = {"objects": 3, "read": 3, "kernels": 3, "disassembled": 3, "translated": 0}
    result |= {"not counted": 0, "why not": why_not}
    table = code_objects.table({"c": {"gfx950": result}})
    assert "| c | gfx950 | `kernel 'k0' ends at 0x0 \\| there` | 3 | `0.co not translated k0` |" in table


def test_the_page_has_what_is_stored() -> None:
    store = code_objects.STORE
    _, start, rest = store.page.read_text(encoding="utf-8").partition(store.begin)
    body, end, _ = rest.partition(store.end)
    assert start
    assert end
    assert body == f"\n{code_objects.table(store.read())}\n"
