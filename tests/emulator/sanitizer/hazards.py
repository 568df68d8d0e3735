"""Pairs of instructions for every row of the hazard table, as inline assembly, and pairs without a hazard."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.emulator.sanitizer.hazard_rules import RULES, TARGETS, Rule

_BY_NAME = {rule.name: rule for rule in RULES}


@dataclass(frozen=True)
class Pair:
    """Two instructions that need wait states in between.

    Attributes:
        rule: name of the row.
        first, second: their text; v10 is 0, s[20:21] an address in memory, v0 to v63 and a0 to a31 are 0.
        passes: of the first, where it is a matrix instruction.
        only: the target that has the instructions; "" where the rule's targets do.
    """

    rule: str
    first: str
    second: str
    passes: int = 0
    only: str = ""

    @property
    def row(self) -> Rule:
        return _BY_NAME[self.rule]


_MFMA = {
    2: "v_mfma_f32_4x4x4_16b_f16 v[32:35], v[0:1], v[2:3], v[40:43]",
    4: "v_mfma_f32_16x16x16_f16 v[32:35], v[0:1], v[2:3], v[40:43]",
    8: "v_mfma_f32_32x32x8_f16 v[32:47], v[0:1], v[2:3], 0",
    16: "v_mfma_f32_32x32x4_2b_f16 v[32:63], v[0:1], v[2:3], 0",
}
_SGEMM = {
    2: "v_mfma_f32_4x4x1_16b_f32 v[32:35], v0, v2, v[40:43]",
    8: "v_mfma_f32_16x16x4_f32 v[32:35], v0, v2, v[40:43]",
    16: "v_mfma_f32_32x32x2_f32 v[32:47], v0, v2, 0",
}
_MFMA_32 = "v_mfma_f32_16x16x32_f16 v[32:35], v[0:3], v[0:3], 0"
_DGEMM_4 = "v_mfma_f64_4x4x4_4b_f64 v[32:33], v[0:1], v[2:3], v[40:41]"
_DGEMM_16 = "v_mfma_f64_16x16x4_f64 v[32:39], v[0:1], v[2:3], v[40:47]"
_DGEMM_16_PASSES = {"gfx942": 8, "gfx950": 16}
_READ_A = "v_mfma_f32_16x16x16_f16 v[4:7], v[32:33], v[2:3], 0"
_READ_B = "v_mfma_f32_16x16x16_f16 v[4:7], v[2:3], v[32:33], 0"
_INDEX = "v_smfmac_f32_16x16x32_f16 v[4:7], v[0:1], v[12:15], v33"
_C_XDL = "v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[2:3], v[34:37]"
_C_SGEMM = "v_mfma_f32_16x16x4_f32 v[4:7], v0, v2, v[34:37]"
_C_DGEMM = "v_mfma_f64_4x4x4_4b_f64 v[4:5], v[0:1], v[2:3], v[34:35]"
_LOAD = "global_load_dword v32, v10, s[20:21]"
_STORE = "global_store_dword v10, v32, s[20:21]"
_DPP = "v_mov_b32_dpp v20, v1 row_shl:1 row_mask:0xf bank_mask:0xf"
_CMPX = "v_cmpx_eq_u32_e64 s[30:31], v1, v2"
_SDWA = "v_add_f16_sdwa v20, v1, v2 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0 src1_sel:WORD_0"


def _exactly(reader: str) -> str:
    """A matrix instruction whose SrcC begins in v32, and whose result is elsewhere."""
    opcode, operands = reader.split(None, 1)
    _, a, b, c = operands.split(", ")
    first, last = map(int, c.removeprefix("v[").removesuffix("]").split(":"))
    return f"{opcode} v[4:{4 + last - first}], {a}, {b}, v[32:{32 + last - first}]"


def _plain() -> list[Pair]:
    return [
        Pair("sgpr-vmem", "v_readfirstlane_b32 s20, v11", "global_load_dword v24, v10, s[20:21]"),
        Pair("sgpr-vmem", "v_readlane_b32 s30, v10, 3", "buffer_load_dword v24, off, s[24:27], s30"),
        Pair("sgpr-mask", "v_cmp_eq_u32_e32 vcc, v1, v2", "v_cndmask_b32_e32 v20, v1, v2, vcc"),
        Pair("sgpr-mask", "v_cmp_eq_u32_e64 s[30:31], v1, v2", "v_cndmask_b32_e64 v20, v1, v2, s[30:31]"),
        Pair("sgpr-valu", "v_readfirstlane_b32 s30, v1", "v_add_u32_e32 v20, s30, v2"),
        Pair("lane-select", "v_readfirstlane_b32 s30, v10", "v_readlane_b32 s31, v1, s30"),
        Pair("lane-select", "v_readfirstlane_b32 s30, v10", "v_writelane_b32 v1, 1, s30"),
        Pair("vcc-div-fmas", "v_cmp_eq_u32_e32 vcc, v1, v2", "v_div_fmas_f32 v20, v1, v2, v3"),
        Pair("vccz-execz", "v_cmp_eq_u32_e32 vcc, v1, v2", "v_mov_b32_e32 v20, src_vccz"),
        Pair("vccz-execz", _CMPX, "v_mov_b32_e32 v20, src_execz"),
        Pair("exec-dpp", _CMPX, _DPP),
        Pair("exec-lane", _CMPX, "v_readfirstlane_b32 s33, v1"),
        Pair("exec-lane", _CMPX, "v_writelane_b32 v1, 1, 5"),
        Pair("exec-mfma", _CMPX, "v_mfma_f32_4x4x4_16b_f16 v[4:7], v[0:1], v[2:3], 0"),
        Pair("exec-permlane", _CMPX, "v_permlane32_swap_b32 v1, v2"),
        Pair("m0", "s_mov_b32 m0, 0", "s_movrels_b32 s30, s20"),
        Pair("m0", "s_mov_b32 m0, 0", "global_load_lds_dword v10, s[20:21]"),
        Pair("m0-buffer", "s_mov_b32 m0, 0", "buffer_load_dword v10, s[24:27], 0 offen lds"),
        Pair(
            "setreg", "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0", "s_getreg_b32 s30, hwreg(HW_REG_MODE)"
        ),
        Pair(
            "setreg",
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0",
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 2, 2), 0",
        ),
        Pair("vgpr-dpp", "v_mov_b32_e32 v1, 0", _DPP),
        Pair("vgpr-readlane", "v_mov_b32_e32 v1, 0", "v_readlane_b32 s30, v1, 3"),
        Pair("vgpr-readlane", "v_mov_b32_e32 v1, 0", "v_readfirstlane_b32 s30, v1"),
        Pair("vgpr-permlane", "v_mov_b32_e32 v1, 0", "v_permlane16_swap_b32 v1, v2"),
        Pair("vgpr-permlane", "v_mov_b32_e32 v1, 0", "v_permlane32_swap_b32 v2, v1"),
        Pair("trans", "v_exp_f32_e32 v20, v1", "v_add_f32_e32 v21, v20, v1"),
        Pair("trans", "v_rcp_f64_e32 v[20:21], v[2:3]", "v_mul_f64 v[22:23], v[20:21], v[20:21]"),
        Pair("partial", _SDWA, "v_add_f32_e32 v21, v20, v1"),
        Pair("partial", "v_fma_f16 v20, v1, v2, v3 op_sel:[0,0,0,1]", "v_mov_b32_e32 v21, v20"),
        Pair(
            "partial",
            "v_cvt_scalef32_pk_fp4_f32 v20, v1, v2, v3 op_sel:[0,0,1,0]",
            "v_mov_b32_e32 v21, v20",
            only="gfx950",
        ),
        Pair("fp4", "v_cvt_scalef32_sr_pk_fp4_f32 v20, v[2:3], v4, v5", "v_mov_b32_e32 v21, v20"),
        Pair("store-data", "global_store_dwordx4 v10, v[24:27], s[20:21]", "v_mov_b32_e32 v25, 0"),
        Pair("store-data", "global_atomic_cmpswap_x2 v10, v[24:27], s[20:21]", "v_mov_b32_e32 v27, 0"),
        Pair("store-data", "buffer_atomic_cmpswap_x2 v[28:31], off, s[24:27], 0", "v_mov_b32_e32 v30, 0"),
        Pair("store-data", "buffer_store_dwordx3 v[28:30], off, s[24:27], 0", "v_add_f32_e32 v30, 1.0, v1"),
        Pair("dot-read", "v_dot2_f32_f16 v20, v1, v2, v3", "v_add_f32_e32 v21, v20, v1"),
        Pair("dot-read", "v_dot2_f32_f16 v20, v1, v2, v3", "v_dot2_f32_f16 v21, v20, v2, v3"),
        Pair("dot-read", "v_dot4_i32_i8 v20, v1, v2, v3", "global_store_dword v10, v20, s[20:21]"),
        Pair("dot-read", "v_dot4_i32_i8 v20, v1, v2, v3", "v_dot8_i32_i4 v21, v1, v2, v20"),
        Pair("dot-write", "v_dot2_f32_f16 v20, v1, v2, v3", "v_mov_b32_e32 v20, 0"),
        Pair("vgpr-mfma", "v_mov_b32_e32 v1, 0", "v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[2:3], 0"),
        Pair("vgpr-mfma", "v_mov_b32_e32 v35, 0", _C_XDL),
        Pair("vgpr-mfma", "v_accvgpr_write_b32 a1, v3", "v_mfma_f32_4x4x1_16b_f32 v[4:7], a1, v2, 0"),
    ]


def _matrix(target: str) -> list[Pair]:
    pairs = []
    for passes, first in _MFMA.items():
        pairs += [Pair("xdl-ab", first, second, passes) for second in (_READ_A, _READ_B, _INDEX)]
        pairs.append(Pair("xdl-c-overlap", first, _C_XDL, passes))
        pairs += [Pair("xdl-gemm-c-overlap", first, second, passes) for second in (_C_SGEMM, _C_DGEMM)]
        reads = ("v_add_f32_e32 v20, v32, v1", _STORE, "ds_write_b32 v10, v33", "v_accvgpr_write_b32 a0, v32")
        pairs += [Pair("xdl-read", first, second, passes) for second in reads]
        pairs.append(Pair("xdl-write", first, "v_mov_b32_e32 v32, 0", passes))
        pairs += [Pair("xdl-load", first, second, passes) for second in (_LOAD, "ds_read_b32 v32, v10")]
        reads_c = {
            8: "v_mfma_f32_32x32x8_f16 v[32:47], v[0:1], v[2:3], v[48:63]",
            16: "v_mfma_f32_32x32x4_2b_f16 v[32:63], a[0:1], a[2:3], v[0:31]",
        }.get(passes, first)
        c = {8: 50, 16: 20}.get(passes, 42)
        pairs.append(Pair("xdl-c-write", reads_c, f"v_mov_b32_e32 v{c}, 0", passes))
        pairs.append(Pair("xdl-c-load", reads_c, f"ds_read_b32 v{c}, v10", passes))
    pairs += [
        Pair("two-pass-c", _MFMA[2], _exactly(_MFMA[2]), 2),
        Pair("sgemm-two-pass-c", _SGEMM[2], _exactly(_SGEMM[2]), 2),
        # Exactly the same registers by another opcode.
        Pair("xdl-c-overlap", _MFMA[2], _exactly(_C_XDL), 2),
        Pair("xdl-c-overlap", _MFMA_32, _exactly(_C_XDL), 4, only="gfx950"),
        Pair("xdl-gemm-c-overlap", _MFMA[4], _exactly(_C_SGEMM), 4),
        Pair("sgemm-c-overlap", _SGEMM[2], _exactly(_C_SGEMM), 2),
        Pair("dgemm-16x16-c-overlap", _DGEMM_16, _exactly(_C_DGEMM), _DGEMM_16_PASSES[target]),
    ]
    for passes, first in _SGEMM.items():
        pairs += [
            Pair("sgemm-ab", first, _READ_A, passes),
            Pair("sgemm-c-overlap", first, _C_SGEMM, passes),
            Pair("sgemm-c-overlap", first, _C_DGEMM, passes),
            Pair("sgemm-read", first, "v_add_f32_e32 v20, v32, v1", passes),
            Pair("sgemm-read", first, _STORE, passes),
            Pair("sgemm-write", first, "v_mov_b32_e32 v32, 0", passes),
            Pair("sgemm-load", first, _LOAD, passes),
        ]
    pairs += [
        Pair("dgemm-4x4-ab", _DGEMM_4, "v_mfma_f64_4x4x4_4b_f64 v[4:5], v[32:33], v[2:3], 0", 4),
        Pair("dgemm-4x4-c", _DGEMM_4, "v_mfma_f64_4x4x4_4b_f64 v[4:5], v[0:1], v[2:3], v[32:33]", 4),
        Pair("dgemm-4x4-c", _DGEMM_4, _C_SGEMM.replace("34:37", "32:35"), 4),
        Pair("dgemm-4x4-valu", _DGEMM_4, "v_add_f64 v[20:21], v[32:33], v[4:5]", 4),
        Pair("dgemm-4x4-valu", _DGEMM_4, "v_mov_b32_e32 v33, 0", 4),
        Pair("dgemm-4x4-load", _DGEMM_4, _LOAD, 4),
        Pair("dgemm-4x4-memory", _DGEMM_4, _STORE, 4),
    ]
    sixteen = _DGEMM_16_PASSES[target]
    pairs += [
        Pair("dgemm-16x16-ab", _DGEMM_16, "v_mfma_f64_4x4x4_4b_f64 v[4:5], v[34:35], v[2:3], 0", sixteen),
        Pair("dgemm-16x16-c-overlap", _DGEMM_16, _C_DGEMM, sixteen),
        Pair("dgemm-16x16-read", _DGEMM_16, "v_add_f64 v[20:21], v[32:33], v[4:5]", sixteen),
        Pair("dgemm-16x16-write", _DGEMM_16, "v_mov_b32_e32 v33, 0", sixteen),
        Pair("dgemm-16x16-load", _DGEMM_16, _LOAD, sixteen),
        Pair("dgemm-16x16-memory", _DGEMM_16, _STORE, sixteen),
        Pair("dgemm-fma64", _DGEMM_4, "v_fma_f64 v[20:21], v[4:5], v[4:5], v[6:7]", 4),
        Pair("dgemm-fma64", _DGEMM_4, "v_fmac_f64_e32 v[20:21], v[4:5], v[4:5]", 4),
    ]
    return pairs


def pairs(target: str) -> list[Pair]:
    """Pairs of instructions, each with the row of the table that it tests, of a target."""
    pairs = (*_plain(), *_matrix(target))
    return [pair for pair in pairs if target in pair.row.counts and pair.only in ("", target)]


INTERLOCKED: tuple[tuple[str, str], ...] = (
    ("v_mov_b32_e32 v1, 0", "v_add_f32_e32 v20, v1, v2"),
    ("v_mov_b32_e32 v10, 0", "global_load_dword v24, v10, s[20:21]"),
    ("s_mov_b32 s30, 0", "v_add_u32_e32 v20, s30, v2"),
    ("s_mov_b32 s30, 0", "buffer_load_dword v24, off, s[24:27], s30"),
    ("s_mov_b64 vcc, -1", "v_cndmask_b32_e32 v20, v1, v2, vcc"),
    ("v_readfirstlane_b32 s30, v1", "s_add_u32 s31, s30, 1"),
    ("v_cmp_eq_u32_e32 vcc, v1, v2", "s_and_b64 s[30:31], vcc, exec"),
    ("s_mov_b64 exec, -1", _DPP),
    ("v_add_co_u32_e32 v1, vcc, v1, v2", "v_addc_co_u32_e32 v20, vcc, v3, v4, vcc"),
    ("v_sub_co_u32_e64 v1, s[30:31], v1, v2", "v_subb_co_u32_e64 v20, s[32:33], v3, v4, s[30:31]"),
    ("v_exp_f32_e32 v20, v1", "v_log_f32_e32 v21, v20"),
    ("v_dot2_f32_f16 v20, v1, v2, v3", "v_dot2_f32_f16 v20, v1, v2, v20"),
    (_MFMA[4], _MFMA[4].replace("v[40:43]", "v[32:35]")),
    (_MFMA[8], "v_mfma_f32_32x32x8_f16 v[32:47], v[0:1], v[2:3], v[32:47]"),
    (_DGEMM_16, "v_mfma_f64_16x16x4_f64 v[32:39], v[0:1], v[2:3], v[32:39]"),
    (_MFMA[8], "v_add_f32_e32 v20, v1, v2"),
    (_SGEMM[2], _C_XDL.replace("34:37", "32:35")),
    ("global_atomic_cmpswap v10, v[24:25], s[20:21]", "v_mov_b32_e32 v25, 0"),
    ("global_store_dwordx2 v10, v[24:25], s[20:21]", "v_mov_b32_e32 v25, 0"),
)
"""Pairs that share a register and that hardware handles."""


def nops(count: int) -> str:
    """Code with `count` wait states."""
    return "\n".join(f"s_nop {min(16, count - done) - 1}" for done in range(0, count, 16))


def kernel(name: str, body: str) -> str:
    """A kernel `name(float *out, int n)` of assembly; s34 holds n."""
    lines = [
        "s_mov_b64 s[20:21], %0",
        "s_mov_b32 s34, %1",
        *("s_mov_b64 s[24:25], %0", "s_and_b32 s25, s25, 0xffff", "s_movk_i32 s26, 0x1000"),
        "s_mov_b32 s27, 0x00020000",
        *(f"v_mov_b32_e32 v{n}, 0" for n in range(64)),
        *(f"v_accvgpr_write_b32 a{n}, 0" for n in range(32)),
        "v_mov_b32_e32 v11, s20",
        *("s_nop 15", "s_nop 15"),
        *(line for line in body.splitlines() if line),
        *("s_nop 15", "s_nop 15", "s_waitcnt vmcnt(0) lgkmcnt(0)", "s_mov_b64 exec, -1"),
    ]
    text = "\\n\\t".join(lines)
    registers = [
        *(f"v{n}" for n in range(64)),
        *(f"a{n}" for n in range(32)),
        *(f"s{n}" for n in range(20, 36)),
    ]
    clobbers = ", ".join(f'"{name}"' for name in (*registers, "vcc", "m0", "scc", "memory"))
    return (
        f'extern "C" __global__ void {name}(float *out, int n) {{\n'
        f"    __shared__ float shared[64];\n"
        f"    shared[threadIdx.x] = 0;\n"
        f"    __syncthreads();\n"
        f'    asm volatile("{text}" : : "s"(out), "s"(n) : {clobbers});\n'
        f"    __syncthreads();\n"
        f"    out[threadIdx.x] = shared[threadIdx.x];\n}}\n"
    )


__all__ = ["INTERLOCKED", "TARGETS", "Pair", "kernel", "nops", "pairs"]
