"""The listing of a compiled file is what LLVM's assembler makes its code of; the device refuses the file."""

from __future__ import annotations

import io
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from tests.assembler import assemble
from tests.codeobject.conftest import compiled
from workbench.__main__ import main
from workbench.codeobject import CodeObject
from workbench.codeobject.instructions.isa.enumerate_gfx11 import TRUE16, WAVE64
from workbench.codeobject.listing import code_objects, listing
from workbench.errors import CodeObjectError
from workbench.toolchain import zig

SOURCE = """\
#define KERNEL extern "C" __attribute__((global))
#define LANE __builtin_amdgcn_workitem_id_x()
__attribute__((device, noinline)) int deep(int *p, int n) {
    int s = 0;
    for (int i = 0; i < n; ++i) s += p[i] / (n + i);
    return s;
}
KERNEL void calls(int *p, int n) { p[LANE] = deep(p + LANE, n); }
KERNEL void halves(_Float16 *p, const _Float16 *q, float *f) {
    _Float16 x = q[LANE];
    p[LANE] = x > (_Float16)2 ? x * x + q[0] : x - q[1];
    f[LANE] = f[LANE] / f[3] + (float)x;
}
KERNEL void shares(float *p, double *d) {
    __attribute__((shared)) static float s[256];
    s[LANE] = p[LANE] * 3.25f;
    __builtin_amdgcn_s_barrier();
    p[LANE] = s[255 - LANE] + s[LANE ^ 1];
    d[LANE] = d[LANE] * 0.15915494309189532 + d[0];
    __atomic_fetch_add((int *)p, 1, __ATOMIC_SEQ_CST);
}
"""


def _compiled(folder: Path, target: str, *flags: str) -> bytes:
    (folder / "kernels.hip").write_text(SOURCE)
    command = [str(zig.program()), "clang", "-cc1", "-triple", "amdgcn-amd-amdhsa", "-x", "hip", "-O2"]
    command += ["-fcuda-is-device", "-target-cpu", target, *flags, "-emit-obj", "-o", "out.o", "kernels.hip"]
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "out.o").read_bytes()


@pytest.mark.parametrize(
    ("target", "features"),
    [("gfx1201", ()), ("gfx1201", (WAVE64,)), ("gfx1250", ()), ("gfx1100", ())],
)
def test_text_assembles_to_the_code(tmp_path: Path, target: str, features: tuple[str, ...]) -> None:
    data = _compiled(tmp_path, target, *(word for name in features for word in ("-target-feature", name)))
    texts: dict[str, list[str]] = {}
    name = ""
    for line in listing(data):
        if line.startswith(" "):
            texts[name].append(line.split(None, 1)[1])
        else:
            name = line.removesuffix(":")
            texts[name] = []
    assert {"calls", "halves", "shares"} <= texts.keys()
    assert sum(map(len, texts.values())) > 100
    assert code_objects(data) == [(target, data)]
    elf = ELFFile(io.BytesIO(data))
    for symbol in elf.get_section_by_name(".symtab").iter_symbols():
        if symbol.name in texts:
            start, size = symbol["st_value"], symbol["st_size"]
            code = elf.get_section(symbol["st_shndx"]).data()[start : start + size]
            assert b"".join(assemble(texts.pop(symbol.name), target, [TRUE16, *features])) == code
    assert not texts


def test_a_code_object_that_the_device_runs_is_listed_too() -> None:
    data = compiled("gfx950")
    lines = list(listing(data))
    assert any(line.startswith("lines:") for line in lines)
    assert any("s_waitcnt" in line for line in lines)


def test_the_command_prints_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "kernels.o"
    file.write_bytes(_compiled(tmp_path, "gfx1201"))
    assert main(["disassemble", str(file)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("# gfx1201\n")
    assert "s_wait_kmcnt 0x0" in printed


def test_the_device_refuses_it_by_name(tmp_path: Path) -> None:
    with pytest.raises(
        CodeObjectError, match="a code object for gfx1200, whose instructions can be decoded but"
    ):
        CodeObject.from_bytes(_compiled(tmp_path, "gfx1200"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x7fELF", "the file is damaged"),
        (b"text", "not a code object"),
    ],
)
def test_other_files_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(CodeObjectError, match=message):
        code_objects(data)
