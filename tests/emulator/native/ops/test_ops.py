"""Every native operation from its machine code: decoded, encoded, and present in the library."""

from __future__ import annotations

import pytest
from assembler import assemble

from workbench.codeobject.decoder import decode
from workbench.codeobject.instructions.form import forms
from workbench.emulator.native import operations
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops import NATIVE, OpFields, Rows
from workbench.targets import NAMES

FORMATS = ("DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "VOP3P_MAI")

# No native operations: register moves and cache control are the translator's, the global wave sync of
# graphics is refused.
ELSEWHERE = ("v_accvgpr_", "buffer_wb", "buffer_inv", "ds_gws_", "ds_nop")


def mnemonics(target: str) -> set[str]:
    return {form.mnemonic for (name, _), form in forms(target).items() if name in FORMATS}


@pytest.mark.parametrize("target", NAMES)
def test_all_memory_and_matrix_instructions_are_there(target: str) -> None:
    missing = {name for name in mnemonics(target) - NATIVE.keys() if not name.startswith(ELSEWHERE)}
    assert not missing


def test_every_function_is_exported() -> None:
    """In the library for waves of 32 lanes, or in that for 64."""
    libraries = [operations(lanes) for lanes in (32, 64)]
    for name, operation in NATIVE.items():
        assert any(hasattr(library, operation.function) for library in libraries), name


def encoded(text: str, target: str = "gfx950") -> OpFields:
    """Op fields of one line of assembly, AGPR 0 at row 256."""
    (code,) = assemble([text], target)
    (instruction,) = decode(code, 0, target)
    fields = NATIVE[instruction.opcode].encode(instruction, Rows(target, 256))
    assert hasattr(operations(), fields.function)
    return fields


NONE = NO_REGISTER
CASES: list[tuple[str, dict[str, object]]] = [
    ("global_load_dword v1, v[2:3], off offset:-16", {"dst": 1, "src0": 2, "ssrc0": NONE, "offset": -16}),
    ("global_load_dword a1, v2, s[4:5] offset:16 sc0 nt", {"dst": 257, "src0": 2, "ssrc0": 4, "offset": 16}),
    ("global_store_dwordx4 v2, a[4:7], s[4:5]", {"src0": 2, "src1": 260, "ssrc0": 4}),
    ("flat_store_dwordx2 v[4:5], v[2:3] offset:8", {"src0": 4, "src1": 2, "offset": 8}),
    ("scratch_load_dword v1, off, s4", {"dst": 1, "src0": NONE, "ssrc0": 4}),
    ("scratch_load_dword v1, v2, s4 offset:4", {"dst": 1, "src0": 2, "ssrc0": 4, "offset": 4}),
    ("scratch_store_dword off, v1, off offset:12", {"src0": NONE, "src1": 1, "ssrc0": NONE, "offset": 12}),
    (
        "buffer_load_dword v1, v[2:3], s[4:7], m0 idxen offen offset:4",
        {"dst": 1, "src0": 2, "ssrc0": 4, "ssrc1": 124, "flags": 3, "offset": 4},
    ),
    (
        "buffer_load_dword v1, off, s[4:7], 8",
        {"dst": 1, "src0": NONE, "ssrc1": NONE, "imm": (8,), "flags": 0},
    ),
    (
        "buffer_load_dwordx4 v2, s[4:7], 0 offen lds",
        {"function": "hk_buffer_load_lds", "src0": 2, "imm": (0, 13), "flags": 1},
    ),
    ("buffer_store_dword a1, off, s[4:7], 0", {"src1": 257, "ssrc0": 4}),
    ("buffer_atomic_add v1, v2, s[4:7], 0 offen", {"dst": NONE, "src0": 2, "src1": 1}),
    ("buffer_atomic_cmpswap v[4:5], v2, s[4:7], 0 offen sc0", {"dst": 4, "src0": 2, "src1": 4}),
    ("global_atomic_add v[2:3], v4, off", {"dst": NONE, "src0": 2, "src1": 4}),
    ("global_atomic_cmpswap_x2 v[8:9], v2, v[4:7], s[4:5] sc0", {"dst": 8, "src0": 2, "src1": 4, "ssrc0": 4}),
    ("global_load_lds_dwordx4 v2, s[4:5] offset:16", {"src0": 2, "ssrc0": 4, "imm": (13,), "offset": 16}),
    ("scratch_load_lds_dword off, s4", {"src0": NONE, "ssrc0": 4, "imm": (10,)}),
    ("ds_read_b128 a[0:3], v4 offset:64", {"dst": 256, "src0": 4, "offset": 64}),
    (
        "ds_write2st64_b64 v4, v[0:1], v[2:3] offset0:1 offset1:2",
        {"src1": 0, "src2": 2, "offset": 512, "imm": (1024,)},
    ),
    ("ds_cmpst_rtn_b32 v1, v4, v5, v6", {"dst": 1, "src0": 4, "src1": 6, "src2": 5}),
    ("ds_append v1 offset:4", {"dst": 1, "offset": 4, "flags": 0}),
    ("ds_write_addtid_b32 v1 offset:4", {"src1": 1, "offset": 4}),
    ("ds_bpermute_b32 v1, v2, v3", {"dst": 1, "src0": 2, "src1": 3}),
    ("ds_swizzle_b32 v1, v2 offset:swizzle(SWAP,1)", {"dst": 1, "src0": 2, "offset": 0x41F}),
    ("v_permlane32_swap_b32 v1, v2", {"dst": 1, "src0": 2}),
    ("v_permlane16_swap_b32_e64 v1, v2", {"dst": 1, "src0": 2}),
    (
        "v_mfma_f32_16x16x32_bf16 a[0:3], v[4:7], a[8:11], 1.0",
        {"dst": 256, "src0": 4, "src1": 264, "src2": NONE},
    ),
    ("v_mfma_f64_16x16x4_f64 v[0:7], v[8:9], v[10:11], 1.0", {"imm": (0, 0x3FF00000, 0x202)}),
    ("v_mfma_i32_16x16x64_i8 v[0:3], v[4:7], v[8:11], -1", {"imm": (0xFFFFFFFF, 0, 0x404)}),
    (
        "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3], v20, v21"
        " op_sel:[1,0,0] op_sel_hi:[0,1,0]",
        {"src0": 4, "src1": 12, "src2": 0, "imm": (0, 0, 1 << 16 | 2 << 18, 20 | 21 << 16)},
    ),
    ("v_smfmac_f32_16x16x64_bf16 v[0:3], v[4:7], v[8:15], v16", {"dst": 0, "src0": 4, "src1": 8, "src2": 16}),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_fields_from_assembly(text: str, expected: dict[str, object]) -> None:
    fields = encoded(text)
    assert {name: getattr(fields, name) for name in expected} == expected
