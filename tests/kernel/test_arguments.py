"""Packing of kernel arguments: bytes against struct, and every wrong argument with its message."""

from __future__ import annotations

import ctypes
import struct
from dataclasses import replace

import numpy as np
import pytest
import torch

from workbench.codeobject.debug import Field, Type
from workbench.errors import ArgumentError
from workbench.kernel.arguments import Place, Plan
from workbench.kernel.packed import Strided
from workbench.launches import BufferLabel
from workbench.targets import NAMES

EMULATED = Place("emulated:gfx950", "cpu", None, lambda address: False)
GPU = Place("gpu:1", "cuda", 1, lambda address: False)

FLOAT = Type("float", "float", 4)
INT = Type("int", "int", 4)
SIZE_T = Type("uint", "unsigned long", 8)
BF16 = Type("float", "__bf16", 2)
BYTE = Type("uint", "unsigned char", 1)
VOID = Type("pointer", "void *", 8)
EMPTY = Type("struct", "dim<1>", 1)
RUNTIME = Type("struct", "dim<-1>", 8, members=(Field("v", 0, SIZE_T),))


def pointer(element):
    return Type("pointer", f"{element.name} *", 8, target=element)


def gl(element, b, d, r, c):
    members, offset = [Field("raw_ptr", 0, pointer(element))], 8
    for axis, size in zip(("batch", "depth", "rows", "cols"), (b, d, r, c), strict=True):
        kind = RUNTIME if size < 0 else EMPTY
        if size < 0:
            offset = (offset + 7) // 8 * 8
        members.append(Field(f"{axis}_internal", offset, kind))
        offset += kind.size
    size = (offset + 7) // 8 * 8
    name = f"kittens::gl<{element.name}, {b}, {d}, {r}, {c}>"
    return Type("struct", name, size, members=tuple(members), template=(element.name, b, d, r, c))


def plan(*fields, named=True, arch="gfx950"):
    parameters, offset = [], 0
    for name, kind in fields:
        align = min(8, kind.size) if kind.kind != "struct" else 8
        offset = (offset + align - 1) // align * align
        parameters.append(Field(name, offset, kind))
        offset += kind.size
    return Plan("k", arch, parameters, offset, named=named)


def pack(p, *args, place=EMULATED, **kwargs):
    return p.pack(args, kwargs, place)


def test_scalars_and_pointers():
    x = torch.zeros(10)
    p = plan(("x", pointer(FLOAT)), ("n", INT), ("eps", FLOAT), ("flag", Type("bool", "bool", 1)))
    packed = pack(p, x, -5, 1e-5, True)
    assert bytes(packed.data) == struct.pack("<Qif?", x.data_ptr(), -5, 1e-5, True)
    assert packed.buffers == [(x.data_ptr(), 40)]
    assert bytes(pack(p, x, n=np.int32(-5), eps=np.float32(1e-5), flag=np.bool_(True)).data) == bytes(
        packed.data
    )
    assert bytes(pack(p, None, 1, 2, False).data) == struct.pack("<Qif?", 0, 1, 2.0, False)


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (INT, 2**31, "is 2147483648; expected a value from -2147483648 to 2147483647"),
        (INT, 1.5, "is float 1.5; expected an integer"),
        (Type("uint", "unsigned char", 1), -1, "is -1; expected a value from 0 to 255"),
        (Type("uint", "unsigned char", 1), 256, "expected a value from 0 to 255"),
        (FLOAT, 1e39, "is 1e[+]39; expected a value that float can hold"),
        (FLOAT, "a", "is str 'a'; expected a number"),
        (FLOAT, True, "is bool True; expected a number"),
        (Type("float", "_Float16", 2), 1e5, "expected a value that _Float16 can hold"),
        (Type("bool", "bool", 1), 1, "is int 1; expected True or False"),
        (
            FLOAT,
            torch.ones(1),
            r"is a tensor of shape \(1,\); expected float; take the number out with .item",
        ),
        (pointer(FLOAT), 1.0, "is float 1.0; expected a torch tensor for float [*]"),
        (pointer(FLOAT), np.zeros(3), "wrap the array with torch.from_numpy"),
        (pointer(FLOAT), torch.zeros(3).double(), "is a float64 tensor; expected float32; convert with"),
        (
            gl(FLOAT, 1, 1, -1, -1),
            torch.zeros(3, 4).T,
            r"non-contiguous tensor \(shape \(4, 3\), neighbours along its axes 1, 4 elements"
            r" apart\); .*copy_",
        ),
        (pointer(FLOAT), torch.zeros(4).expand(3, 4), "expanded tensor .* share memory; expected one with"),
        (pointer(FLOAT), torch.eye(3).to_sparse(), "layout torch.sparse_coo; .*to_dense"),
        (pointer(FLOAT), torch.ones(3, 2).view(torch.complex64).conj().imag, "negated .*resolve_neg"),
        (VOID, torch.ones(3, dtype=torch.complex64).conj(), "conjugated .*resolve_conj"),
        (
            pointer(BYTE),
            torch.ones(3).to(torch.float8_e4m3fn),
            r"float8_e4m3fn .*with \.view\(torch\.uint8\)$",
        ),
        (pointer(BYTE), torch.ones(3, dtype=torch.bool), r"bool tensor; .*with \.view\(torch\.uint8\)$"),
        (pointer(BF16), torch.ones(3, dtype=torch.int16), r"\.to\(torch\.bfloat16\), or .*\.view\("),
        (pointer(FLOAT), torch.zeros(3, device="meta"), "is a tensor on meta; expected one on cpu"),
        (FLOAT, 10**400, "is an int too large for a float; expected a value that float can hold"),
        (Type("struct", "Point", 8, members=(Field("a", 0, INT),)), 3, "expected Point: its members by name"),
        (
            Type("struct", "Point", 8, members=(Field("a", 0, INT),)),
            b"123",
            "is 3 bytes; expected Point of 8",
        ),
    ],
)
def test_wrong_values(kind, value, message):
    with pytest.raises(ArgumentError, match=f"^k: argument 'v' .*{message}"):
        pack(plan(("v", kind)), value)


def test_bf16_and_half_scalars_round_to_nearest_even():
    p = plan(("v", BF16))
    for value in (1.0, 1.00390625, 1.01171875, -3.14159, 1e-40):
        expected = (
            torch.tensor(value, dtype=torch.float32).to(torch.bfloat16).view(torch.int16).item() & 0xFFFF
        )
        assert int.from_bytes(pack(p, value).data, "little") == expected
    half = plan(("v", Type("float", "_Float16", 2)))
    assert bytes(pack(half, 1.1).data) == struct.pack("<e", 1.1)
    with pytest.raises(ArgumentError, match="can hold"):
        pack(p, 3.4e38)


def test_count_names_and_duplicates():
    p = plan(("x", FLOAT), ("count", INT))
    with pytest.raises(
        ArgumentError, match=r"k takes 2 arguments, 3 were given; its signature is k\(float x"
    ):
        pack(p, 1.0, 2, 3)
    with pytest.raises(ArgumentError, match=r"argument 'count' \(int\) is missing"):
        pack(p, 1.0)
    with pytest.raises(ArgumentError, match="no argument 'cuont'; it takes x, count; did you mean count"):
        pack(p, 1.0, cuont=2)
    with pytest.raises(ArgumentError, match=r"'x' came twice|'x' was given twice"):
        pack(p, 1.0, 2, x=3.0)


def globals_struct():
    x, out = gl(BF16, 1, 1, -1, -1), gl(BF16, 1, 1, -1, 128)
    stream = Type(
        "pointer", "ihipStream_t *", 8, target=Type("struct", "ihipStream_t", 0), alias="hipStream_t"
    )
    members = (
        Field("x", 0, x),
        Field("out", x.size, out),
        Field("eps", x.size + out.size, FLOAT),
        Field("stream", x.size + out.size + 8, stream),
    )
    return Type("struct", "rms_globals", x.size + out.size + 16, members=members)


def test_globals_by_member_name():
    kind = globals_struct()
    p = plan(("g", kind))
    x = torch.zeros(64, 128, dtype=torch.bfloat16)
    out = torch.zeros(64, 128, dtype=torch.bfloat16)
    packed = pack(p, x=x, out=out, eps=1e-5)
    gx, gout = kind.members[0].type, kind.members[1].type

    def read(offset, count=1):
        return struct.unpack_from(f"<{count}Q", packed.data, offset)[0]

    offsets = {m.name: m.offset for m in gx.members}
    assert read(offsets["raw_ptr"]) == x.data_ptr()
    assert (read(offsets["rows_internal"]), read(offsets["cols_internal"])) == (64, 128)
    start = gx.size
    offsets = {m.name: m.offset for m in gout.members}
    assert read(start + offsets["raw_ptr"]) == out.data_ptr()
    assert read(start + offsets["rows_internal"]) == 64
    assert struct.unpack_from("<f", packed.data, gx.size + gout.size)[0] == pytest.approx(1e-5)
    assert sorted(packed.buffers) == sorted([(x.data_ptr(), 16384), (out.data_ptr(), 16384)])
    assert "gl<__bf16, 1, 1, -1, 128> out" in p.signature


def test_no_tensor_for_a_gl_inside_a_struct():
    """None as for a pointer: a null address and no rows; the struct's other members do not change."""
    kind = globals_struct()
    outer = Type(
        "struct", "both", kind.size + 8, members=(Field("first", 0, kind), Field("n", kind.size, INT))
    )
    x = torch.zeros(64, 128, dtype=torch.bfloat16)
    packed = pack(plan(("g", outer)), first={"x": x, "out": None, "eps": 1.0}, n=3)
    gx, gout = kind.members[0].type, kind.members[1].type
    assert bytes(packed.data[gx.size : gx.size + gout.size]) == bytes(gout.size)
    assert struct.unpack_from("<Q", packed.data, gx.members[0].offset)[0] == x.data_ptr()
    assert struct.unpack_from("<f", packed.data, gx.size + gout.size)[0] == 1.0
    assert packed.buffers == [(x.data_ptr(), 16384)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"out": torch.zeros(64, 64, dtype=torch.bfloat16)},
            r"'out' is shape \(64, 64\) with cols 64; expected cols 128",
        ),
        ({"x": torch.zeros(64, 128)}, "'x' is a float32 tensor; expected bfloat16"),
        ({"x": torch.zeros(2, 64, 128, dtype=torch.bfloat16)}, r"with depth 2; expected depth 1"),
        ({"x": torch.zeros(1, 1, 1, 64, 128, dtype=torch.bfloat16)}, "5 dimensions .*; expected at most 4"),
        ({"x": torch.zeros(64, 256, dtype=torch.bfloat16)[:, ::2]}, "non-contiguous"),
        ({"x": [1, 2]}, "is a list; expected a torch tensor for kittens::gl"),
        ({"eps": None}, "argument 'eps' is None; expected a number"),
        ({"wieght": 1}, "no argument 'wieght'"),
    ],
)
def test_wrong_members(change, message):
    arguments = {
        "x": torch.zeros(64, 128, dtype=torch.bfloat16),
        "out": torch.zeros(64, 128, dtype=torch.bfloat16),
        "eps": 1e-5,
    }
    with pytest.raises(ArgumentError, match=message):
        pack(plan(("g", globals_struct())), **(arguments | change))


def test_missing_members_are_listed():
    with pytest.raises(
        ArgumentError, match=r"missing out \(.*\), eps \(float\); rms_globals takes x, out, eps"
    ):
        pack(plan(("g", globals_struct())), x=torch.zeros(4, 4, dtype=torch.bfloat16))


def test_whole_structs():
    class Point(ctypes.Structure):
        _fields_ = [("a", ctypes.c_int32), ("b", ctypes.c_float)]

    kind = Type("struct", "Point", 8, members=(Field("a", 0, INT), Field("b", 4, FLOAT)))
    expected = struct.pack("<if", 3, 2.5)
    p = plan(("p", kind))
    for value in (Point(3, 2.5), expected, {"a": 3, "b": 2.5}):
        assert bytes(pack(p, value).data) == expected
    assert bytes(pack(p, a=3, b=2.5).data) == expected
    array = Type("array", "float[3]", 12, target=FLOAT)
    assert bytes(pack(plan(("v", array)), [1, 2, 3]).data) == struct.pack("<fff", 1, 2, 3)
    with pytest.raises(ArgumentError, match="expected 3 values"):
        pack(plan(("v", array)), [1, 2])


def test_views_of_one_tensor_are_one_buffer():
    x = torch.zeros(100)
    packed = pack(
        plan(("a", pointer(FLOAT)), ("b", pointer(FLOAT)), ("c", pointer(FLOAT))), x[:60], x[40:], x[:10]
    )
    assert packed.buffers == [(x.data_ptr(), 400)]
    assert packed.argument_bytes == 400


def test_a_pointer_takes_a_view_as_it_is():
    """Its address; its bounds are the memory from its first element to its last."""
    base = torch.zeros(8, 10)
    for view, elements in ((base[:, :6], 76), (base[1:, ::2], 69), (base.T, 80), (base[2], 10)):
        packed = pack(plan(("x", pointer(FLOAT))), view)
        assert bytes(packed.data) == struct.pack("<Q", view.data_ptr())
        assert packed.buffers == [(view.data_ptr(), 4 * elements)]
    [label] = pack(plan(("x", pointer(FLOAT))), base[:, :6]).labels.values()
    assert label == BufferLabel("argument 'x' (float32 tensor 8x6, strides 10, 1)", 4)


def test_an_expanded_tensor_is_read_only():
    """Its elements share memory: a kernel that may write there is refused, as PyTorch refuses x.add_(1)."""
    row = torch.zeros(10)
    const = Type("float", "const float", 4)
    packed = pack(plan(("x", pointer(const))), row.expand(8, 10))
    assert packed.buffers == [(row.data_ptr(), 40)]
    untyped = plan(("x", VOID), named=False)
    assert pack(untyped, row.expand(8, 10)).buffers == [(row.data_ptr(), 40)]


def test_addresses_lead_to_live_tensors():
    """Addresses in a number, in a struct's bytes, in a table and in a table behind a table."""
    x, y, z = torch.zeros(4), torch.ones(2, 3, dtype=torch.int16), torch.zeros(6)
    point = Type("struct", "Point", 16, members=(Field("a", 0, INT), Field("b", 8, pointer(FLOAT))))
    p = plan(("x", SIZE_T), ("rows", pointer(pointer(FLOAT))), ("p", point), ("n", SIZE_T))
    inner = torch.tensor([z.data_ptr()])
    rows = torch.tensor([y.data_ptr(), 0, inner.data_ptr()])
    blob = struct.pack("<iiQ", 1, 0, x[2:].data_ptr())
    packed = pack(p, x.data_ptr(), rows, blob, 1 << 40)
    sizes = {t.data_ptr(): 4 * t.numel() for t in (x, z)} | {y.data_ptr(): 12}
    sizes |= {rows.data_ptr(): 24, inner.data_ptr(): 8}
    assert dict(packed.buffers) == sizes
    assert packed.labels[x.data_ptr()].text == "argument 'x', an address (float32 tensor 4)"
    assert packed.labels[y.data_ptr()] == ("argument 'rows', address 0 (int16 tensor 2x3)", 2)
    assert packed.labels[z.data_ptr()].text == "argument 'rows', address 0 (float32 tensor 6)"
    # The device's own memory belongs to no tensor, and is not searched for one.
    place = replace(EMULATED, has_memory=lambda address: address == z.data_ptr())
    assert z.data_ptr() not in dict(pack(p, x.data_ptr(), rows, blob, 1 << 40, place=place).buffers)
    # The second time the table has another tensor's address.
    other = torch.zeros(5)
    rows[0] = other.data_ptr()
    assert other.data_ptr() in dict(pack(p, x.data_ptr(), rows, blob, 1 << 40).buffers)


def test_a_plan_of_a_signature_packs_as_anew():
    """A cached plan packs what a new plan packs, also where tensors share memory."""
    fields = (("x", pointer(FLOAT)), ("y", gl(FLOAT, 1, 1, -1, -1)), ("n", INT), ("eps", FLOAT))
    remembering, base = plan(*fields), torch.arange(400.0)
    calls = [
        (torch.ones(10), torch.ones(4, 5), 3, 0.0),
        (torch.ones(10), torch.ones(4, 5), 3, -0.0),
        (torch.ones(10), torch.ones(4, 5), 3, 0.0),
        (torch.ones(10), torch.ones(5, 4), 3, 0.0),
        (base[:10], base[20:40].view(4, 5), 3, 0.0),
        (base[:10], base[5:25].view(4, 5), 3, 0.0),
        (base[30:40], base[:20].view(4, 5), 3, 0.0),
        (torch.empty(0), torch.ones(4, 5), 3, 0.0),
        (None, torch.ones(4, 5), 3, 1),
        (Strided(torch.ones(20)[::2]), Strided(torch.ones(5, 4).T), 3, 0.0),
    ]
    same = torch.ones(4, 5)
    for args in [*calls, (same, same, 3, 0.0), *calls]:
        got, expected = pack(remembering, *args), pack(plan(*fields), *args)
        for attribute in ("data", "buffers", "labels", "argument_bytes"):
            assert getattr(got, attribute) == getattr(expected, attribute), (attribute, args)
        assert [id(t) for t in got.tensors] == [id(t) for t in expected.tensors]
        assert got.watched(1000) == expected.watched(1000), args
    for wrong in (
        torch.ones(10, dtype=torch.int32),
        torch.ones(1).expand(10),
        torch.ones(10, 2).view(torch.complex64).conj().imag[:, 0],
        torch.ones(10, device="meta"),
    ):
        with pytest.raises(ArgumentError, match="'x' is"):
            pack(remembering, wrong, torch.ones(4, 5), 3, 0.0)
    with pytest.raises(ArgumentError, match="expected True or False"):
        pack(plan(("flag", Type("bool", "bool", 1)), ("n", INT)), 1, 1)


def test_fp8_means_the_targets_own_format():
    fp8 = Type("struct", "fp8e4m3", 1)
    ocp, fnuz = torch.zeros(4, dtype=torch.float8_e4m3fn), torch.zeros(4, dtype=torch.float8_e4m3fnuz)
    pack(plan(("x", pointer(fp8)), arch="gfx950"), ocp)
    pack(plan(("x", pointer(fp8)), arch="gfx942"), fnuz)
    with pytest.raises(ArgumentError, match="float8_e4m3fn tensor; expected float8_e4m3fnuz"):
        pack(plan(("x", pointer(fp8)), arch="gfx942"), ocp)
    bf8 = Type("struct", "fp8e5m2", 1)
    with pytest.raises(ArgumentError, match="float8_e5m2 tensor; expected float8_e5m2fnuz"):
        pack(plan(("x", pointer(bf8)), arch="gfx942"), torch.zeros(4, dtype=torch.float8_e5m2))


@pytest.mark.parametrize("arch", NAMES)
def test_fp8_types_of_hip_mean_the_encoding_that_they_name(arch):
    for name, dtype in (
        ("__hip_fp8_e4m3", torch.float8_e4m3fn),
        ("__hip_fp8_e5m2", torch.float8_e5m2),
        ("__hip_fp8_e4m3_fnuz", torch.float8_e4m3fnuz),
        ("__hip_fp8_e5m2_fnuz", torch.float8_e5m2fnuz),
    ):
        argument = plan(("x", pointer(Type("struct", name, 1))), arch=arch)
        pack(argument, torch.zeros(4, dtype=dtype))
        with pytest.raises(ArgumentError, match=str(dtype).removeprefix("torch.")):
            pack(argument, torch.zeros(4))


def test_a_gpu_needs_its_own_tensors():
    with pytest.raises(
        ArgumentError, match=r"is a tensor on cpu; expected one on cuda:1, where gpu:1 has its memory"
    ):
        pack(plan(("x", pointer(FLOAT))), torch.zeros(3), place=GPU)


def test_without_debug_info():
    p = plan(
        ("argument 0", Type("pointer", "void *", 8)), ("argument 1", Type("unknown", "", 4)), named=False
    )
    x = torch.zeros(4, dtype=torch.int16)
    assert bytes(pack(p, x, 7).data) == struct.pack("<Qi", x.data_ptr(), 7)
    assert bytes(pack(p, x, 1.5).data) == struct.pack("<Qf", x.data_ptr(), 1.5)
    assert bytes(pack(p, x, np.float32(1.5)).data) == struct.pack("<Qf", x.data_ptr(), 1.5)
    assert bytes(pack(p, x, ctypes.c_uint32(9)).data) == struct.pack("<QI", x.data_ptr(), 9)
    with pytest.raises(ArgumentError, match="compiled without debug info"):
        pack(p, x, n=7)
    with pytest.raises(ArgumentError, match="expected 4 bytes"):
        pack(p, x, "text")
