"""Tables and decoder of gfx11, gfx12 and gfx1250 against LLVM: its recorded disassembly of every opcode with
each of its fields (llvm_answers.py), and its assembler, which every installation has.
"""

from __future__ import annotations

import contextlib
import random
import re
from functools import partial

import pytest

from tests.assembler import assemble, assembled
from tests.codeobject import llvm_answers
from workbench.codeobject.decoder import decode, decode_one
from workbench.codeobject.decoder_gfx11 import halves
from workbench.codeobject.encodings_gfx11 import DPP8, DPP16, GENERATIONS, HALVES, layouts
from workbench.codeobject.immediates_gfx11 import Delay, delay, dependencies, wait_counts
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import MATRICES, Keeps, forms
from workbench.codeobject.instructions.isa.enumerate import PADS
from workbench.codeobject.instructions.isa.enumerate_gfx11 import (
    TABLE,
    TRUE16,
    encode,
    live,
    rows,
)
from workbench.codeobject.printer import text
from workbench.codeobject.waits import counters_of
from workbench.emulator.native.ops import NATIVE
from workbench.emulator.semantics import NO_OPERATION, SEMANTICS
from workbench.errors import CodeObjectError
from workbench.targets import NAMES, PARTIAL

TARGETS = tuple(GENERATIONS)


@pytest.mark.parametrize("target", TARGETS)
def test_table_is_llvms(target: str) -> None:
    assert rows(target, partial(llvm_answers.from_recording_gfx11, target)) == TABLE.of(target)


def test_table_has_its_own_form() -> None:
    formats = (name for target in TARGETS for name in layouts(target))
    assert TABLE.text({target: TABLE.of(target) for target in TARGETS}, formats) == TABLE.path.read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("wave", ["", "/64"])
@pytest.mark.parametrize("target", TARGETS)
def test_recording_matches_llvm(target: str, wave: str) -> None:
    """Compared where LLVM is installed; elsewhere each target must at least have its own recording."""
    answers = llvm_answers.recorded(target + wave)
    assert len(answers) > 900
    if llvm_answers.live() is not None:
        assert live(target, list(answers), bool(wave)) == list(answers.values()), llvm_answers.COMMAND


def _is_no_instruction(expected: str) -> bool:
    """True for a text of LLVM that it would not assemble, or with a bar of an absolute value misplaced."""
    return "/*" in expected or re.search(r"\|v\d+, vcc", expected) is not None


def _has_no_half(instruction: Instruction, expected: str) -> bool:
    """True if LLVM prints whole registers, since a bit of op_sel is set that means nothing."""
    fields = layouts(instruction.form.target).get(instruction.format)
    if fields is None or "op_sel" not in fields.fields or not instruction.words[0] >> 11 & 15:
        return False
    return text(instruction).replace(".l", "") == expected


@pytest.mark.parametrize("wave", ["", "/64"])
@pytest.mark.parametrize("target", TARGETS)
def test_text_is_llvms(target: str, wave: str) -> None:
    answers = {
        encoding: answer
        for encoding, answer in llvm_answers.recorded(target + wave).items()
        if answer is not None and not _is_no_instruction(answer[0])
    }
    assert len(answers) > 800
    wrong, named = [], 0
    for encoding, answer in answers.items():
        try:
            instruction = decode_one(encoding + PADS, 0, 0, target, 64 if wave else 32)
        except CodeObjectError as error:
            # Of graphics, only the names are known.
            is_named = answer[0].split()[0] + " at address 0x0 is a graphics instruction" in str(error)
            named += is_named
            if not is_named:
                wrong.append((encoding.hex(), answer, str(error)))
            continue
        if (text(instruction), instruction.size) != answer and not _has_no_half(instruction, answer[0]):
            wrong.append((encoding.hex(), answer, text(instruction)))
    assert wrong == []
    assert named < 300


# Source codes that name something on every target; VGPRs more often than the rest.
_CODES = (
    *range(106),
    *(106, 107, 124, 125, 126, 127, 128, 129, 192, 193, 208),
    *(235, 237, *range(240, 249), 253, 255),
    *range(256, 512),
)
_SCALAR_CODES = tuple(code for code in _CODES if code < 256)
_LITERALS = (0x3F800000, 0x12345678, 5, 0x3C00, 0xFFFFFFFF, 0x3E22F983, 0x3FF00000, 0x40000000, 0x3118, 0x41)


def _random_encoding(generator: random.Random, target: str, format_: str, opcode: int) -> bytes:
    layout = layouts(target)[format_]
    fields: dict[str, int] = {}
    for name, (_, width) in layout.fields.items():
        if re.fullmatch(r"src\d", name):
            fields[name] = generator.choice(_CODES)
        elif name.startswith("ssrc"):
            fields[name] = generator.choice(_SCALAR_CODES)
        elif re.match(r"v(dst|addr|data|src)|simm16|offset", name):
            fields[name] = generator.randrange(1 << width)
        elif re.match(r"s(dst|data|base|rsrc|addr|offset)", name):
            fields[name] = generator.choice((124, generator.randrange(100))) & (1 << width) - 1
        elif name == "op_sel_hi2" or name == "op_sel_hi":
            fields[name] = (1 << width) - 1
        elif generator.random() < 0.2 and name != "tfe":
            fields[name] = generator.randrange(1 << width)
        if generator.random() < 0.6 and re.match(r"v(dst|addr|data|src)|s(dst|data|rsrc)|ssrc|src", name):
            # Tuples of registers are aligned, and halves lie in the lower registers.
            fields[name] &= ~(15 | 128 if width == 8 else 3)
    return encode(layout, opcode, fields, generator.choice(_LITERALS)) + bytes(8)


@pytest.mark.parametrize("target", TARGETS)
def test_random_instructions_are_what_llvm_assembles(target: str, draw: random.Random) -> None:
    """LLVM's assembler returns its own text and encoding of our text: the decoder must agree.

    How wide a literal is follows from the encoding: the assembler repeats what it read, `lit(0x5)`, and may
    write eight bytes, which are `lit64(0x5)`.
    """
    texts = []
    for format_, opcode in forms(target):
        if format_ not in (*HALVES, *HALVES.values()):
            for _ in range(2):
                # A source operand with a reserved code has no text.
                with contextlib.suppress(CodeObjectError):
                    encoding = _random_encoding(draw, target, format_, opcode)
                    texts.append(text(decode_one(encoding, 0, 0, target)))
    answers = [answer for answer in assembled(texts, target, [TRUE16]) if answer is not None]
    assert len(answers) > len(texts) // 2
    wrong = [
        (encoding.hex(), expected, actual)
        for words, encoding in answers
        # An instruction without operands has two spaces before its modifiers.
        if "/*" not in (expected := " ".join(words.split()))
        and not _has_literal_too_wide(expected, encoding)
        and _values(actual := text(decode_one(encoding, 0, 0, target))) != _values(expected)
    ]
    assert wrong == []


def _has_literal_too_wide(line: str, encoding: bytes) -> bool:
    """True if the assembler wrote eight bytes of a literal behind VOP3, which has room for four.

    LLVM 22 does so for `lit(...)` of a small integer as a source of 64 bits, and does not decode it.
    """
    return "_e64" in line and "lit(" in line and len(encoding) == 16


def _values(line: str) -> str:
    """An instruction with its literals as mere numbers."""
    return re.sub(r"\blit(?:64)?\((\w+)\)", r"\1", line)


def _one(source: str, target: str = "gfx1201", lanes: int = 32, address: int = 0) -> Instruction:
    """The instruction that LLVM's assembler makes of a text."""
    features = [TRUE16, *(["+wavefrontsize64"] if lanes == 64 else [])]
    (encoding,) = assemble([source], target, features)
    (instruction,) = decode(encoding, address, target, lanes)
    return instruction


def test_a_lane_mask_has_a_bit_for_each_lane() -> None:
    narrow = _one("v_cmp_lt_f32_e64 s4, v1, v2")
    wide = _one("v_cmp_lt_f32_e64 s[4:5], v1, v2", lanes=64)
    assert [(o.kind, o.index, o.width) for o in (*narrow.dst, *wide.dst)] == [("s", 4, 1), ("s", 4, 2)]
    assert narrow.words == wide.words
    assert _one("v_cndmask_b32_e32 v0, v1, v2, vcc_lo").src[2].width == 1
    assert _one("v_cndmask_b32_e32 v0, v1, v2, vcc", lanes=64).src[2].width == 2


def test_halves_of_registers() -> None:
    short = _one("v_add_f16_e32 v1.h, v2.l, v3.h")
    assert [(o.index, o.half) for o in (*short.dst, *short.src)] == [(1, 1), (2, 0), (3, 1)]
    assert short.record.keeps is Keeps.PART
    long = _one("v_fma_f16 v201.h, v2.h, s3, v4.l")
    assert [(o.index, o.half) for o in (*long.dst, *long.src)] == [(201, 1), (2, 1), (3, 0), (4, 0)]
    assert all(o.half is None for o in _one("v_add_f32_e32 v1, v2, v3").src)


def test_m0_and_null_are_numbered_as_on_gfx9() -> None:
    instruction = _one("s_mov_b32 null, m0")
    assert [o.index for o in (*instruction.dst, *instruction.src)] == [125, 124]


def test_a_dual_instruction_is_two() -> None:
    pair = _one("v_dual_fmaak_f32 v0, v1, v2, 0x12345678 :: v_dual_mov_b32 v3, 0x12345678")
    assert (pair.size, pair.format, len(pair.dst)) == (12, "VOPD", 2)
    first, second = halves(pair)
    assert [part.opcode for part in (first, second)] == ["v_dual_fmaak_f32", "v_dual_mov_b32"]
    assert [o.index for o in (*first.dst, *second.dst)] == [0, 3]
    assert second.src[0].value == first.src[2].value == 0x12345678
    assert halves(_one("s_nop 0")) == (_one("s_nop 0"),)


def test_a_matrix_instruction_with_scales_is_one_of_16_bytes() -> None:
    words = "v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:19], v[24:31], v[0:7], v40, v41"
    words += " matrix_a_fmt:MATRIX_FMT_FP6 matrix_b_fmt:MATRIX_FMT_FP4 matrix_b_scale:MATRIX_SCALE_ROW1"
    scaled = _one(words, "gfx1250")
    assert (scaled.size, text(scaled)) == (16, words)
    # Matrices are as wide as their formats say; the scales come last.
    assert [o.width for o in scaled.src] == [12, 8, 8, 1, 1]
    selects = {"matrix_a_fmt": 2, "matrix_b_fmt": 4, "matrix_b_scale": 1}
    assert selects.items() <= scaled.modifiers.items()
    # Before an instruction that takes no scales they are an instruction of their own.
    code = b"".join(assemble(["v_wmma_ld_scale_paired_b32 v40, v41", "v_nop"], "gfx1250", [TRUE16]))
    assert [i.opcode for i in decode(code, 0, "gfx1250")] == ["v_wmma_ld_scale_paired_b32", "v_nop"]


def test_literals_of_64_bits() -> None:
    wide = _one("v_mov_b64 v[0:1], 0x123456789abcdef0", "gfx1250")
    assert (wide.size, wide.src[0].value) == (12, 0x123456789ABCDEF0)
    assert wide.src[0].bits("b64") == wide.src[0].bits("f64") == 0x123456789ABCDEF0


def test_a_copy_of_a_tensor_names_its_descriptors() -> None:
    short = _one("tensor_load_to_lds s[0:3], s[4:11]", "gfx1250")
    assert [(o.index, o.width) for o in short.src] == [(0, 4), (4, 8)]
    long = _one("tensor_load_to_lds s[0:3], s[4:11], s[12:15], s[16:19]", "gfx1250")
    assert [o.index for o in long.src] == [0, 4, 12, 16]


def test_a_copy_to_lds_reads_both_addresses() -> None:
    for name, addresses in (("global_load", "v[2:3], off"), ("cluster_load", "v2, s[4:5]")):
        copy = _one(f"{name}_async_to_lds_b128 v1, {addresses}", "gfx1250")
        assert not copy.dst
        assert [(operand.kind, operand.index) for operand in copy.src[:2]] == [("v", 1), ("v", 2)]


@pytest.mark.parametrize(
    ("target", "source", "expected"),
    [
        ("gfx1250", "global_load_async_to_lds_b128 v1, v[2:3], off", ("asynccnt",)),
        ("gfx1250", "global_store_async_from_lds_b8 v[2:3], v1, off", ("asynccnt",)),
        ("gfx1250", "tensor_load_to_lds s[0:3], s[4:11]", ("tensorcnt",)),
        ("gfx1250", "global_load_b32 v1, v[2:3], off", ("loadcnt",)),
        ("gfx1201", "s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", ("kmcnt",)),
        ("gfx1201", "s_endpgm", ()),
    ],
)
def test_counters_of_requests(target: str, source: str, expected: tuple[str, ...]) -> None:
    """By LLVM, SIInsertWaitcnts.cpp, but for s_endpgm, after which nothing can arrive."""
    assert counters_of(_one(source, target)) == expected


def test_instructions_of_the_library_for_64_lanes_are_in_no_table_of_waves_of_32() -> None:
    """Code for a CPU with a matrix unit calls that library between them (native/ops/matrix_tiles.h)."""
    for record in PARTIAL:
        assert not MATRICES.keys() & {form.opcode for form in forms(record.name).values()}


def test_forms_with_dpp() -> None:
    row = _one("v_add_f32_dpp v0, -v1, |v2| row_ror:3 row_mask:0x5 bank_mask:0xe bound_ctrl:1")
    assert (row.opcode, row.format, row.form.is_dpp, row.size) == ("v_add_f32", "VOP2", True, 8)
    assert [(o.index, o.neg, o.abs) for o in row.src] == [(1, True, False), (2, False, True)]
    assert dict(row.modifiers) == {"dpp_ctrl": 0x123, "row_mask": 5, "bank_mask": 14, "bound_ctrl": 1}
    eight = _one("v_fma_f32_e64_dpp v0, v1, s2, 1.0 dpp8:[7,6,5,4,3,2,1,0] fi:1")
    assert (eight.opcode, eight.format, eight.size) == ("v_fma_f32", "VOP3", 12)
    assert [o.kind for o in eight.src] == ["v", "s", "imm"]
    assert [eight.modifiers["dpp8"] >> 3 * lane & 7 for lane in range(8)] == [7, 6, 5, 4, 3, 2, 1, 0]
    assert eight.modifiers["fi"] == 1


def test_a_message_is_no_literal() -> None:
    """Its number has the place of a source, where 255 says that a literal follows."""
    code = (0xBE804CFF).to_bytes(4, "little")
    instruction = decode_one(code, 0, 0, "gfx1100")
    assert instruction.size == 4
    assert text(instruction).startswith("s_sendmsg_rtn_b32 s0, ")


def test_any_vector_instruction_may_have_a_literal() -> None:
    instruction = _one("v_fma_f32 v0, v1, 0x40490fdb, v2")
    assert (instruction.size, instruction.src[1].value) == (12, 0x40490FDB)
    with pytest.raises(CodeObjectError, match="v_fma_f32 at address 0x0 is cut short: 8 of its 12 bytes"):
        decode(assemble(["v_fma_f32 v0, v1, 0x40490fdb, v2"], "gfx1201")[0][:8], 0, "gfx1201")


def test_memory_operands() -> None:
    load = _one("global_load_b128 v[8:11], v2, s[6:7] offset:-16 th:TH_LOAD_NT scope:SCOPE_SYS")
    assert [(o.kind, o.index, o.width) for o in load.src] == [("v", 2, 1), ("s", 6, 2)]
    assert dict(load.modifiers) == {"offset": -16, "th": 1, "scope": 3}
    quiet = _one("global_atomic_add_u32 v[0:1], v2, off")
    loud = _one("global_atomic_add_u32 v5, v[0:1], v2, off th:TH_ATOMIC_RETURN")
    assert (len(quiet.dst), loud.dst[0].index, len(loud.src)) == (0, 5, 3)
    scratch = _one("scratch_load_b32 v5, off, s4 offset:8")
    assert [o.kind for o in scratch.src] == ["off", "s"]
    buffer = _one("buffer_load_b64 v[4:5], v1, s[8:11], s3 offen offset:16")
    assert [(o.kind, o.index) for o in buffer.src] == [("v", 1), ("s", 8), ("s", 3)]
    scalar = _one("s_load_b64 s[4:5], s[8:9], s5 offset:0x20")
    assert (scalar.src[1].index, scalar.modifiers["offset"]) == (5, 0x20)


def test_branch_target_is_absolute() -> None:
    (encoding,) = assemble(["s_cbranch_scc1 65534"], "gfx1201")
    assert decode(encoding, 0x1000, "gfx1201")[0].src[0].value == 0x0FFC


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("s_wait_loadcnt 0x3", {"loadcnt": 3}),
        ("s_wait_loadcnt_dscnt 0x301", {"loadcnt": 3, "dscnt": 1}),
        ("s_wait_storecnt_dscnt 0x203", {"storecnt": 2, "dscnt": 3}),
        ("s_wait_kmcnt 0x0", {"kmcnt": 0}),
        ("s_nop 3", {}),
    ],
)
def test_counts_of_waits(source: str, expected: dict[str, int]) -> None:
    assert dict(wait_counts(_one(source))) == expected


def test_delays_and_dependencies() -> None:
    field = _one("s_delay_alu instid0(VALU_DEP_2) | instskip(SKIP_1) | instid1(SALU_CYCLE_1)").src[0].value
    assert delay(int(field or 0)) == Delay("VALU_DEP_2", 2, "SALU_CYCLE_1", reserved=False)
    assert delay(0) == Delay("", 0, "", reserved=False)
    assert delay(0x7FF).reserved
    field = _one("s_wait_alu depctr_va_vdst(3) depctr_sa_sdst(0)").src[0].value
    assert dependencies(int(field or 0)) == {"va_vdst": 3, "sa_sdst": 0}


def test_graphics_are_refused_by_name() -> None:
    with pytest.raises(CodeObjectError, match="image_sample at address 0x40 is a graphics instruction"):
        decode(bytes.fromhex("00c006e40000000000000000"), 0x40, "gfx1201")


def test_bytes_that_are_no_instruction() -> None:
    with pytest.raises(
        CodeObjectError, match="no gfx1201 instruction at address 0x4: the dwords there are ff"
    ):
        decode(b"\0\0\x80\xbf" + b"\xff" * 4, 0, "gfx1201")
    with pytest.raises(
        CodeObjectError, match=r"v_add_f32_e32 at .* a source operand with the reserved code 22"
    ):
        decode((0x06000000 | 220).to_bytes(4, "little"), 0, "gfx1201")


def test_random_bytes_never_raise_anything_else(draw: random.Random) -> None:
    for _ in range(10000):
        encoding = draw.randbytes(16)
        with contextlib.suppress(CodeObjectError):
            text(decode_one(encoding, 0, 0, draw.choice(TARGETS), draw.choice((32, 64))))


def test_every_format_with_dpp_is_found_by_its_source() -> None:
    for code, kind in ((DPP16, "dpp_ctrl"), (DPP8, "dpp8")):
        encoding = encode(layouts("gfx1201")["VOP1"], 1, {"src0": code}) + bytes(4)
        assert kind in decode_one(encoding, 0, 0, "gfx1201").modifiers


def _is_known(opcode: str) -> bool:
    return opcode in SEMANTICS or opcode in NATIVE or opcode in NO_OPERATION


@pytest.mark.parametrize("target", TARGETS)
def test_meanings_are_operations_with_the_same_operands(target: str) -> None:
    """A row of gfx9 that the meaning names has as many registers of each role, as wide as in waves of 64."""
    gfx9: dict[str, list[list[tuple[str, int]]]] = {}

    def shape(form):  # type: ignore[no-untyped-def]
        addresses = ("vaddr", "saddr", "soffset", "offset", "srsrc", "vcc")
        return sorted((e.role, e.width64) for e in form.entries if e.field not in addresses)

    for name in NAMES:
        for form in forms(name).values():
            gfx9.setdefault(form.opcode, []).append(shape(form))
    for form in forms(target).values():
        if form.meaning:
            assert _is_known(form.meaning) or form.record.not_compute, form.opcode
            assert shape(form) in gfx9[form.meaning], (form.opcode, form.meaning)


def test_what_changed_has_no_meaning_of_gfx9() -> None:
    by_name = {form.opcode: form.meaning for form in forms("gfx1201").values()}
    expected = {
        "s_add_co_u32": "s_add_u32",
        "v_add_nc_u32": "v_add_u32",
        "global_load_d16_hi_u8": "global_load_ubyte_d16_hi",
        "ds_load_2addr_stride64_b32": "ds_read2st64_b32",
        "flat_atomic_max_i64": "flat_atomic_smax_x2",
        "v_min_num_f32": "",
        "v_cmpx_lt_f32": "",
        "ds_cmpstore_b32": "",
        "s_wait_loadcnt": "",
    }
    assert {name: by_name[name] for name in expected} == expected
