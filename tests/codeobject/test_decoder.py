"""Decoded instructions against LLVM's text and the ISA's rules. Two oracles, which every installation has:
LLVM's recorded disassembly of every opcode with each of its fields
(llvm_answers.py), and its assembler, which says of random instructions how LLVM writes them and encodes them.
"""

from __future__ import annotations

import contextlib
import random
import re
import struct

import pytest

from tests.assembler import assembled
from tests.codeobject import llvm_answers
from tests.codeobject.random_encodings import random_encoding
from workbench.codeobject import CodeObject, Instruction, decoder
from workbench.codeobject.decoder import decode, decode_one
from workbench.codeobject.instructions import forms
from workbench.codeobject.instructions.isa.enumerate import PADS, encode
from workbench.codeobject.printer import text
from workbench.errors import CodeObjectError
from workbench.targets import NAMES


def decoded(encoding: str | bytes, target: str = "gfx950", address: int = 0) -> Instruction:
    data = bytes.fromhex(encoding) if isinstance(encoding, str) else encoding
    instruction = decode_one(data, 0, address, target)
    assert instruction.size == len(data)
    return instruction


@pytest.mark.parametrize("target", NAMES)
def test_text_is_llvms(target: str) -> None:
    # LLVM marks text that it would not assemble, except for a v_nop between lanes; no compiler writes such
    # encodings.
    answers = {
        encoding: answer
        for encoding, answer in llvm_answers.recorded(target).items()
        if answer is not None and "/*" not in answer[0] and not answer[0].startswith("v_nop ")
    }
    assert len(answers) > 20000
    wrong = []
    for encoding, answer in answers.items():
        instruction = decode_one(encoding + PADS, 0, 0, target)
        if (text(instruction), instruction.size) != answer:
            wrong.append((encoding.hex(), answer, text(instruction)))
    assert wrong == []


LOSES_SC1 = re.compile(r"(flat|global)_atomic_(add|min|max)_f64 a\[.* sc1")
"""f64 atomics that return to AGPRs: clang 22's assembler accepts sc1 and leaves its bit out."""


@pytest.mark.parametrize("target", ["gfx942", "gfx950"])
@pytest.mark.parametrize("opcode", [79, 80, 81])
def test_an_atomic_that_returns_to_agprs_keeps_sc1(target: str, opcode: int) -> None:
    fields = {"vdst": 4, "vaddr": 6, "vdata": 8, "acc": 1, "bit16": 1}
    for sc1 in (0, 1):
        encoding = encode("FLAT", opcode, {**fields, "bit25": sc1})
        assert text(decoded(encoding, target)).endswith(" sc0 sc1" if sc1 else " sc0")


@pytest.mark.parametrize("target", NAMES)
def test_random_instructions_are_what_llvm_assembles(target: str, draw: random.Random) -> None:
    """LLVM's assembler returns its own text and encoding of our text: the decoder must agree.

    Its encodings have no bit set that means nothing; LLVM's disassembler would refuse most of the others.
    """
    texts = []
    for (format_, opcode), form in forms(target).items():
        for _ in range(3):
            # A source operand with a reserved code has no text.
            with contextlib.suppress(CodeObjectError):
                data = random_encoding(draw, format_, opcode, form)
                texts.append(text(decode_one(data, 0, 0, target)))
    # The others break a rule that only the assembler checks, such as that of the constant bus, or LLVM itself
    # cannot write what it has encoded, such as a literal with the name of a register.
    answers = [
        answer
        for answer in assembled(texts, target)
        if answer is not None and "/*" not in answer[0] and not LOSES_SC1.match(answer[0])
    ]
    assert len(answers) > len(texts) * 3 // 4
    wrong = [
        (encoding.hex(), expected, actual)
        for expected, encoding in answers
        if (actual := text(decoded(encoding, target))) != expected
    ]
    assert wrong == []


def test_text_of_compiled_kernels_assembles_to_their_code(code_object: CodeObject) -> None:
    start, data = code_object.text.address, code_object.text.data
    placed = ((i.address - start, i) for i in decode(data, start, code_object.target))
    # Between kernels are zeros, which break the rule of the constant bus.
    codes = [(text(i), code) for at, i in placed if any(code := data[at : at + i.size])]
    assert len(codes) > 50
    assert assembled([words for words, _ in codes], code_object.target) == codes


def test_opcodes_of_every_target_are_there() -> None:
    counts = {target: len(forms(target)) for target in NAMES}
    assert counts["gfx90a"] > 1700
    assert counts["gfx942"] > 1800
    assert counts["gfx950"] > 1900
    names = {form.opcode for form in forms("gfx950").values()}
    assert {
        "v_mfma_f32_16x16x32_bf16",
        "ds_read_b64_tr_b16",
        "v_bitop3_b32",
        "v_permlane32_swap_b32",
    } <= names
    assert "ds_read_b64_tr_b16" not in {form.opcode for form in forms("gfx942").values()}


def test_operands_of_a_vector_instruction() -> None:
    # v_fma_f32 v1, -v2, |s4|, 1.0 clamp mul:2, assembled by hand from the VOP3 layout.
    fields = {"vdst": 1, "src0": 258, "src1": 4, "src2": 242, "neg0": 1, "abs1": 1, "clamp": 1, "omod": 1}
    instruction = decoded(encode("VOP3", 459, fields))
    assert (instruction.mnemonic, instruction.opcode, instruction.format) == (
        "v_fma_f32",
        "v_fma_f32",
        "VOP3",
    )
    (result,) = instruction.dst
    assert (result.kind, result.index, result.width) == ("v", 1, 1)
    first, second, third = instruction.src
    assert (first.kind, first.index, first.neg, first.abs) == ("v", 2, True, False)
    assert (second.kind, second.index, second.neg, second.abs) == ("s", 4, False, True)
    assert (third.kind, third.index, third.value) == ("imm", 242, 1.0)
    assert dict(instruction.modifiers) == {"clamp": 1, "omod": 1}


def test_scalar_result_beside_a_vector_result() -> None:
    instruction = decoded(encode("VOP3", 281, {"vdst": 3, "sdst": 10, "src0": 257, "src1": 258}))
    assert text(instruction) == "v_add_co_u32_e64 v3, s[10:11], v1, v2"
    assert [(o.kind, o.index, o.width) for o in instruction.dst] == [("v", 3, 1), ("s", 10, 2)]


def test_carry_in_e32_form_is_vcc() -> None:
    instruction = decoded(encode("VOP2", 28, {"vdst": 3, "src0": 257, "vsrc1": 2}))
    assert text(instruction) == "v_addc_co_u32_e32 v3, vcc, v1, v2, vcc"
    assert [(o.kind, o.index) for o in instruction.dst] == [("v", 3), ("s", 106)]
    assert [(o.kind, o.index) for o in instruction.src] == [("v", 1), ("v", 2), ("s", 106)]


def test_matrix_operands_are_accumulators_by_their_bits() -> None:
    fields = {"vdst": 4, "src0": 256 + 8, "src1": 256 + 16, "src2": 256 + 4}
    plain = decoded(encode("VOP3P_MAI", 77, fields))
    assert text(plain) == "v_mfma_f32_16x16x16_f16 v[4:7], v[8:9], v[16:17], v[4:7]"
    mixed = decoded(
        encode("VOP3P_MAI", 77, {**fields, "acc0": 1, "acc_cd": 1, "cbsz": 2, "abid": 3, "blgp": 1})
    )
    assert text(mixed) == "v_mfma_f32_16x16x16_f16 a[4:7], a[8:9], v[16:17], a[4:7] cbsz:2 abid:3 blgp:1"
    assert dict(mixed.modifiers) == {"cbsz": 2, "abid": 3, "blgp": 1}


@pytest.mark.parametrize(("code", "dwords"), [(0, 8), (1, 8), (2, 6), (3, 6), (4, 4)])
def test_width_of_f8f6f4_operands_follows_their_format(code: int, dwords: int) -> None:
    fields = {"src0": 256 + 32, "src1": 256 + 64, "src2": 256}
    a = decoded(encode("VOP3P_MAI", 45, {**fields, "cbsz": code}))
    b = decoded(encode("VOP3P_MAI", 45, {**fields, "blgp": code}))
    assert [o.width for o in a.src] == [dwords, 8, 4]
    assert [o.width for o in b.src] == [8, dwords, 4]


def test_scaled_matrix_instruction_is_one_of_16_bytes() -> None:
    instruction = decoded("0008acd3142b02180008add300114204")
    assert instruction.opcode == "v_mfma_scale_f32_16x16x128_f8f6f4"
    assert [(o.kind, o.index, o.width) for o in instruction.src][3:] == [("v", 20, 1), ("v", 21, 1)]
    assert (instruction.modifiers["op_sel"], instruction.modifiers["op_sel_hi"]) == (1, 3)
    # Without the bit that joins them they are two instructions.
    pair = decode(bytes.fromhex("0008acd3142b02180000add300114204"), 0, "gfx950")
    assert [i.size for i in pair] == [8, 8]


def test_branch_target_is_absolute() -> None:
    back = decoded((0xBF85FFFE).to_bytes(4, "little"), address=0x1000)
    assert text(back) == "s_cbranch_scc1 65534"
    assert (back.src[0].kind, back.src[0].value) == ("label", 0x0FFC)
    assert decoded((0xBF820003).to_bytes(4, "little"), address=0x2000).src[0].value == 0x2010


def test_memory_operands() -> None:
    load = decoded(encode("GLOBAL", 23, {"vdst": 8, "vaddr": 2, "saddr": 127, "offset": -16}))
    assert text(load) == "global_load_dwordx4 v[8:11], v[2:3], off offset:-16"
    assert load.modifiers["offset"] == -16
    assert [o.kind for o in load.src] == ["v", "off"]
    based = decoded(encode("GLOBAL", 28, {"vaddr": 2, "vdata": 5, "saddr": 6}))
    assert [(o.kind, o.index, o.width) for o in based.src] == [("v", 2, 1), ("v", 5, 1), ("s", 6, 2)]
    accumulator = decoded(encode("DS", 255, {"vdst": 8, "vaddr": 1, "acc": 1, "offset1": 1}))
    assert (accumulator.dst[0].kind, accumulator.modifiers["offset"]) == ("a", 256)


def test_atomics_return_by_their_bit() -> None:
    quiet = decoded(encode("GLOBAL", 66, {"vaddr": 2, "vdata": 5, "saddr": 127}))
    assert (quiet.dst, len(quiet.src)) == ((), 3)
    loud = decoded(encode("GLOBAL", 66, {"vaddr": 2, "vdata": 5, "saddr": 127, "bit16": 1, "vdst": 7}))
    assert (loud.dst[0].index, len(loud.src), loud.modifiers["sc0"]) == (7, 3, 1)
    buffer = decoded(encode("MUBUF", 66, {"vdata": 5, "offen": 1, "vaddr": 1, "srsrc": 2, "bit14": 1}))
    assert buffer.dst[0] == buffer.src[0]


def test_buffer_load_to_lds_has_no_register() -> None:
    instruction = decoded(encode("MUBUF", 20, {"lds": 1, "offen": 1, "vaddr": 3, "srsrc": 2, "soffset": 128}))
    assert text(instruction) == "buffer_load_dword v3, s[8:11], 0 offen lds"
    assert instruction.dst == ()


def test_scalar_offset_with_register_and_constant() -> None:
    fields = {"sdata": 4, "sbase": 4, "imm": 1, "soffset_en": 1, "soffset": 5, "offset": 0x20}
    instruction = decoded(encode("SMEM", 0, fields))
    assert text(instruction) == "s_load_dword s4, s[8:9], s5 offset:0x20"
    assert (instruction.src[1].kind, instruction.modifiers["offset"]) == ("s", 0x20)


def test_dpp_and_sdwa_fields() -> None:
    dpp = decoded(
        encode("VOP1_DPP", 1, {"vdst": 1, "src0": 2, "dpp_ctrl": 0x111, "row_mask": 15, "bank_mask": 3})
    )
    assert text(dpp) == "v_mov_b32_dpp v1, v2 row_shr:1 row_mask:0xf bank_mask:0x3"
    assert (dpp.format, dpp.opcode, dpp.modifiers["dpp_ctrl"]) == ("VOP1", "v_mov_b32", 0x111)
    fields = {"vdst": 1, "src0": 2, "vsrc1": 3, "dst_sel": 6, "src0_sel": 4, "src1_sel": 1, "sext0": 1}
    sdwa = decoded(encode("VOP2_SDWA", 52, fields))
    assert sdwa.src[0].sext
    assert {"dst_sel": 6, "src0_sel": 4, "src1_sel": 1}.items() <= sdwa.modifiers.items()


def test_modifiers_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        decoded("00000008").modifiers["clamp"] = 1  # type: ignore[index]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("ffffffff", r"no gfx950 instruction at address 0x40: the dwords there are ffffffff"),
        ("0000cbd1", r"v_fma_f32 at address 0x40 is cut short: 4 of its 8 bytes"),
        ("ff020002", r"v_add_f32_e32 at address 0x40 is cut short: 4 of its 8 bytes"),
        ("dc020002", r"v_add_f32_e32 at address 0x40 has a source operand with the reserved code 220"),
        ("00000002ab", r"at address 0x44: only 1 bytes are left"),
    ],
)
def test_an_invalid_instruction_is_named_with_its_address(data: str, message: str) -> None:
    with pytest.raises(CodeObjectError, match=message):
        decode(bytes.fromhex(data), 0x40, "gfx950")


def test_unknown_target_is_named() -> None:
    with pytest.raises(CodeObjectError, match="no opcode table for target 'gfx1030'"):
        decode(b"", 0, "gfx1030")


def test_random_bytes_never_raise_anything_else(draw: random.Random) -> None:
    for _ in range(20000):
        data = draw.randbytes(16)
        with contextlib.suppress(CodeObjectError):
            text(decode_one(data, 0, 0, draw.choice(NAMES)))


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "_seen", {})
    monkeypatch.setattr(decoder, "_REMEMBERED", 100)
    # v_add_f32 and v_sub_f32 v0, v[n], v0: one cache serves all opcodes, and evicted words are decoded again.
    words = [0x0200_0100 | n for n in range(90)] + [0x0400_0100 | n for n in range(90)]
    data = struct.pack(f"<{len(words)}I", *words)
    first = [text(instruction) for instruction in decode(data, 0, "gfx950")]
    assert 0 < len(decoder._seen) <= 100
    assert [text(instruction) for instruction in decode(data, 0, "gfx950")] == first
    assert first[91] == "v_sub_f32_e32 v0, v1, v0"
