"""V_MFMA and V_SMFMAC instructions as calls of native/matrix*.c.

One table says what each instruction multiplies; its names are LLVM's, older spellings (gfx90a) included.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench import targets
from workbench.codeobject.instruction import Instruction
from workbench.emulator.native import abi
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, unsupported


@dataclass(frozen=True)
class Shape:
    """One matrix instruction: D (m x n) = A (m x k) B (k x n) + C, `blocks` times."""

    m: int
    n: int
    k: int
    blocks: int
    type_a: str
    type_b: str
    type_d: str


def _dense() -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}

    def add(name: str, *shape: int, a: str, b: str | None = None, d: str = "f32") -> None:
        m, n, k, blocks = shape
        shapes[name] = Shape(m, n, k, blocks, a, b or a, d)

    for name, size in (("16x16x8", (16, 16, 8, 1)), ("32x32x4", (32, 32, 4, 1))):
        add(f"v_mfma_f32_{name}_xf32", *size, a="xf32")
    for name, old, size in (
        ("32x32x2", "32x32x2", (32, 32, 2, 1)),
        ("16x16x4", "16x16x4", (16, 16, 4, 1)),
        ("32x32x1_2b", "32x32x1", (32, 32, 1, 2)),
        ("16x16x1_4b", "16x16x1", (16, 16, 1, 4)),
        ("4x4x1_16b", "4x4x1", (4, 4, 1, 16)),
    ):
        add(f"v_mfma_f32_{name}_f32", *size, a="f32")
        add(f"v_mfma_f32_{old}f32", *size, a="f32")
    for name, old, size in (
        ("32x32x8", "32x32x8", (32, 32, 8, 1)),
        ("16x16x16", "16x16x16", (16, 16, 16, 1)),
        ("32x32x4_2b", "32x32x4", (32, 32, 4, 2)),
        ("16x16x4_4b", "16x16x4", (16, 16, 4, 4)),
        ("4x4x4_16b", "4x4x4", (4, 4, 4, 16)),
    ):
        for data in ("f16", "bf16"):
            add(f"v_mfma_f32_{name}_{data}", *size, a=data)
        add(f"v_mfma_f32_{old}f16", *size, a="f16")
        add(f"v_mfma_f32_{old}bf16_1k", *size, a="bf16")
    for name, size in (("32x32x16", (32, 32, 16, 1)), ("16x16x32", (16, 16, 32, 1))):
        for data in ("f16", "bf16"):
            add(f"v_mfma_f32_{name}_{data}", *size, a=data)
        for a in ("fp8", "bf8"):
            for b in ("fp8", "bf8"):
                add(f"v_mfma_f32_{name}_{a}_{b}", *size, a=a, b=b)
        add(f"v_mfma_i32_{name}_i8", *size, a="i8", d="i32")
    for name, size in (("16x16x64", (16, 16, 64, 1)), ("32x32x32", (32, 32, 32, 1))):
        add(f"v_mfma_i32_{name}_i8", *size, a="i8", d="i32")
    for name, old, size in (
        ("32x32x4_2b", "32x32x4", (32, 32, 4, 2)),
        ("16x16x4_4b", "16x16x4", (16, 16, 4, 4)),
        ("4x4x4_16b", "4x4x4", (4, 4, 4, 16)),
    ):
        add(f"v_mfma_i32_{name}_i8", *size, a="i8", d="i32")
        add(f"v_mfma_i32_{old}i8", *size, a="i8", d="i32")
    # gfx90a has these besides.
    for old, size in (("32x32x8", (32, 32, 8, 1)), ("16x16x16", (16, 16, 16, 1))):
        add(f"v_mfma_i32_{old}i8", *size, a="i8", d="i32")
    for old, size in (
        ("32x32x2", (32, 32, 2, 2)),
        ("16x16x2", (16, 16, 2, 4)),
        ("4x4x2", (4, 4, 2, 16)),
        ("32x32x4", (32, 32, 4, 1)),
        ("16x16x8", (16, 16, 8, 1)),
    ):
        add(f"v_mfma_f32_{old}bf16", *size, a="bf16")
    for name, old, size in (
        ("16x16x4", "16x16x4", (16, 16, 4, 1)),
        ("4x4x4_4b", "4x4x4", (4, 4, 4, 4)),
    ):
        add(f"v_mfma_f64_{name}_f64", *size, a="f64", d="f64")
        add(f"v_mfma_f64_{old}f64", *size, a="f64", d="f64")
    return shapes


DENSE: dict[str, Shape] = _dense()

_ELEMENTS = {
    "f32": abi.F32,
    "xf32": abi.XF32,
    "f16": abi.F16,
    "bf16": abi.BF16,
    "i8": abi.INT8,
    "f64": abi.F32,
}
_BITS = {"f32": 32, "xf32": 32, "f16": 16, "bf16": 16, "i8": 8, "fp8": 8, "bf8": 8, "f64": 64}


def _element(name: str, target: str) -> int:
    if name == "fp8":
        return abi.FP8 if targets.target(target).fp8_encoding is targets.OCP else abi.FP8_FNUZ
    if name == "bf8":
        return abi.BF8 if targets.target(target).fp8_encoding is targets.OCP else abi.BF8_FNUZ
    return _ELEMENTS[name]


def _registers(shape: Shape, elements: int, kind: str) -> int:
    """Registers of A or B a lane: all of its elements spread over 64 lanes."""
    return max(1, elements * shape.k * shape.blocks * _BITS[kind] // 32 // 64)


def _encode_dense(instruction: Instruction, rows: Rows) -> OpFields:
    shape = DENSE[instruction.opcode]
    modifiers = instruction.modifiers
    a, b, c = instruction.src[:3]
    flags = (
        _element(shape.type_a, rows.target)
        | _element(shape.type_b, rows.target) << 4
        | shape.blocks << 8
        | modifiers.get("cbsz", 0) << 16
        | modifiers.get("abid", 0) << 19
        | modifiers.get("blgp", modifiers.get("neg_lo", 0)) << 23
    )
    src2, constant = NO_REGISTER, 0
    if c.kind == "imm":
        flags |= abi.MATRIX_C_CONSTANT
        constant = c.bits(shape.type_d)
    else:
        src2 = rows.row(c)
    registers = _registers(shape, shape.m, shape.type_a) | _registers(shape, shape.n, shape.type_b) << 8
    return OpFields(
        function=f"hk_mfma_{shape.type_d}_{shape.m}x{shape.n}",
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(a),
        src1=rows.row(b),
        src2=src2,
        flags=flags,
        imm=(constant & 0xFFFFFFFF, constant >> 32, registers),
    )


def _sparse() -> dict[str, Shape]:
    shapes: dict[str, Shape] = {}
    for data, k in (("f16", 32), ("bf16", 32), ("f16", 64), ("bf16", 64)):
        shapes[f"v_smfmac_f32_16x16x{k}_{data}"] = Shape(16, 16, k, 1, data, data, "f32")
        shapes[f"v_smfmac_f32_32x32x{k // 2}_{data}"] = Shape(32, 32, k // 2, 1, data, data, "f32")
    for k in (64, 128):
        shapes[f"v_smfmac_i32_16x16x{k}_i8"] = Shape(16, 16, k, 1, "i8", "i8", "i32")
        shapes[f"v_smfmac_i32_32x32x{k // 2}_i8"] = Shape(32, 32, k // 2, 1, "i8", "i8", "i32")
        for a in ("fp8", "bf8"):
            for b in ("fp8", "bf8"):
                shapes[f"v_smfmac_f32_16x16x{k}_{a}_{b}"] = Shape(16, 16, k, 1, a, b, "f32")
                shapes[f"v_smfmac_f32_32x32x{k // 2}_{a}_{b}"] = Shape(32, 32, k // 2, 1, a, b, "f32")
    return shapes


SPARSE: dict[str, Shape] = _sparse()


def _encode_sparse(instruction: Instruction, rows: Rows) -> OpFields:
    shape = SPARSE[instruction.opcode]
    modifiers = instruction.modifiers
    a, b, indices = instruction.src[-3:]
    flags = (
        _element(shape.type_a, rows.target)
        | _element(shape.type_b, rows.target) << 4
        | 1 << 8
        | modifiers.get("cbsz", 0) << 16
        | modifiers.get("abid", 0) << 19
    )
    registers = _registers(shape, shape.m, shape.type_a) // 2 | _registers(shape, shape.n, shape.type_b) << 8
    return OpFields(
        function=f"hk_smfmac_{shape.type_d}_{shape.m}x{shape.n}",
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(a),
        src1=rows.row(b),
        src2=rows.row(indices),
        flags=flags,
        imm=(0, 0, registers),
    )


SMALL: dict[str, Shape] = {
    f"v_mfma{scale}_f32_{m}x{m}x{k}_f8f6f4": Shape(m, m, k, 1, "f8f6f4", "f8f6f4", "f32")
    for scale in ("", "_scale")
    for m, k in ((16, 128), (32, 64))
}
_SMALL_FORMATS = 5


def _encode_small(instruction: Instruction, rows: Rows) -> OpFields:
    shape = SMALL[instruction.opcode]
    modifiers = instruction.modifiers
    a, b, c, *scales = instruction.src
    formats = modifiers.get("cbsz", 0), modifiers.get("blgp", 0)
    if max(formats) >= _SMALL_FORMATS:
        raise unsupported(instruction, f"cbsz {formats[0]} or blgp {formats[1]} names no element format.")
    flags = formats[0] << 16 | formats[1] << 23
    src2, constant = NO_REGISTER, 0
    if c.kind == "imm":
        flags |= abi.MATRIX_C_CONSTANT
        constant = c.bits("f32")
    else:
        src2 = rows.row(c)
    scale_rows, scalars, constants, selects = [NO_REGISTER] * 2, [NO_REGISTER] * 2, [0, 0], 0
    if scales:
        flags |= abi.MATRIX_SCALED
        for index, scale in enumerate(scales):
            if scale.kind == "imm":
                # The exponent of an inline float, whichever byte is asked for.
                constants[index] = (scale.bits("f32") >> 23 & 255) * 0x0101
                continue
            if scale.kind == "s":
                scalars[index] = scale.index
            else:
                scale_rows[index] = rows.row(scale)
            byte = modifiers.get("op_sel", 0) >> index & 1 | (modifiers.get("op_sel_hi", 0) >> index & 1) << 1
            selects |= byte << 16 + 2 * index
    return OpFields(
        function=f"hk_mfma_f8f6f4_{shape.m}x{shape.n}",
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(a),
        src1=rows.row(b),
        src2=src2,
        ssrc0=scalars[0],
        ssrc1=scalars[1],
        flags=flags,
        imm=(constant, constants[0] | constants[1] << 16, selects, scale_rows[0] | scale_rows[1] << 16),
    )


NATIVE: dict[str, NativeOp] = {
    **{
        name: NativeOp(f"hk_mfma_{shape.type_d}_{shape.m}x{shape.n}", _encode_dense, can_fault=False)
        for name, shape in DENSE.items()
    },
    **{
        name: NativeOp(f"hk_mfma_f8f6f4_{shape.m}x{shape.n}", _encode_small, can_fault=False)
        for name, shape in SMALL.items()
    },
    **{
        name: NativeOp(f"hk_smfmac_{shape.type_d}_{shape.m}x{shape.n}", _encode_sparse, can_fault=False)
        for name, shape in SPARSE.items()
    },
}
