"""Debug information: lines, inlined calls, parameter types, against the source that they come from."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.codeobject.conftest import SOURCE, compiled
from workbench.codeobject import CodeObject
from workbench.codeobject.debug import DebugInfo, Field, is_library_header
from workbench.codeobject.decoder import decode
from workbench.toolchain import CompileOptions, compile_device

TYPED = "_Z5typedIdEv7globalsPT_m"


@pytest.fixture(scope="module")
def debug(code_object: CodeObject) -> DebugInfo:
    return DebugInfo(code_object)


def line_with(mark: str) -> int:
    return next(number for number, line in enumerate(SOURCE.splitlines(), 1) if mark in line)


def instructions_of(code_object: CodeObject, kernel: str, opcode: str) -> list[int]:
    symbol = code_object.kernels[kernel]
    start = symbol.entry - code_object.text.address
    code = code_object.text.data[start : start + symbol.size]
    return [i.address for i in decode(code, symbol.entry, code_object.target) if opcode in i.opcode]


def test_store_is_on_its_own_line(code_object: CodeObject, debug: DebugInfo) -> None:
    (address,) = instructions_of(code_object, "lines", "global_store_dword")
    place = debug.line_of(address)
    assert place is not None
    assert place[1] == line_with("// line 40")
    assert place[2] > 0
    assert debug.frames_of(address) == (place,)


def test_inlined_code_knows_the_calls_that_lead_there(code_object: CodeObject, debug: DebugInfo) -> None:
    addresses = instructions_of(code_object, "lines", "v_sqrt_f32")
    assert addresses
    lines = [frame[1] for frame in debug.frames_of(addresses[0])]
    assert lines == [line_with("// line 31"), line_with("// line 34"), line_with("// line 39")]


def test_addresses_outside_the_code_have_no_line(code_object: CodeObject, debug: DebugInfo) -> None:
    assert debug.line_of(0) is None
    assert debug.frames_of(code_object.image_size + 4096) == ()


def members(fields: tuple[Field, ...]) -> dict[str, tuple[int, str]]:
    return {field.name: (field.offset, field.type.kind) for field in fields}


def test_parameters_and_their_members(code_object: CodeObject, debug: DebugInfo) -> None:
    parameters = debug.parameters(TYPED)
    assert [(p.name, p.type.kind, p.type.size) for p in parameters] == [
        ("g", "struct", 56),
        ("out", "pointer", 8),
        ("count", "uint", 8),
    ]
    g = parameters[0].type
    assert members(g.members) == {
        "x": (0, "struct"),
        "y": (16, "struct"),
        "eps": (32, "float"),
        "counts": (36, "array"),
        "flag": (48, "bool"),
    }
    assert parameters[1].type.target is not None
    assert parameters[1].type.target.name == "double"


def test_members_of_templates_have_their_arguments(code_object: CodeObject, debug: DebugInfo) -> None:
    g = debug.parameters(TYPED)[0].type
    x, y = g.members[0].type, g.members[1].type
    assert x.template[1] == 4
    assert y.template[1] == -1
    assert "_Float16" in str(x.template[0])
    assert members(x.members)["raw_ptr"] == (0, "pointer")
    assert members(x.members)["cols"] == (8, "struct")
    pointee = x.members[0].type.target
    assert pointee is not None
    assert (pointee.kind, pointee.size) == ("float", 2)
    counts = g.members[3].type
    assert (counts.size, counts.target and counts.target.kind) == (12, "int")


def test_a_class_that_only_the_host_constructs_has_its_members() -> None:
    source = """
    template <int N> struct extent {
        static constexpr int v = N;
        __attribute__((host)) extent(int) {}
    };
    template <int Rows> struct view {
        float *data;
        extent<Rows> rows;
        __attribute__((host)) view(float *data) : data(data), rows(Rows) {}
    };
    __attribute__((global)) void k(view<64> x, int n) { x.data[n] = x.rows.v; }
    """
    code_object = CodeObject.from_bytes(compile_device(source, CompileOptions("gfx950")).code_object)
    (name,) = (kernel.name for kernel in code_object.kernels.values())
    x, n = DebugInfo(code_object).parameters(name)
    assert (x.type.size, members(x.type.members)) == (16, {"data": (0, "pointer"), "rows": (8, "struct")})
    assert n.type.size == 4


def test_without_debug_information_questions_have_no_answer() -> None:
    code_object = CodeObject.from_bytes(compiled("gfx950", debug=False))
    debug = DebugInfo(code_object)
    assert debug.parameters("lines") == ()
    assert debug.line_of(code_object.kernels["lines"].entry) is None


def test_unknown_kernel_has_no_parameters(debug: DebugInfo) -> None:
    assert debug.parameters("nothing") == ()


def test_headers_of_a_checkout_belong_to_the_library(tmp_path: Path) -> None:
    include = tmp_path / "checkout" / "include"
    (include / "cdna4" / "ops").mkdir(parents=True)
    (include / "kittens.cuh").write_text("")
    assert is_library_header(str(include / "cdna4" / "ops" / "load.cuh"))
    assert is_library_header(str(include / "kittens.cuh"))
    assert not is_library_header(str(tmp_path / "checkout" / "kernels" / "kernel.cpp"))
    # Another project's folder of headers is its author's own.
    assert not is_library_header(str(tmp_path / "other" / "include" / "mine.h"))
