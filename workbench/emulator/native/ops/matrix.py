"""V_MFMA and V_SMFMAC instructions as calls of native/ops/matrix*.c."""

from __future__ import annotations

from workbench import dtypes, targets
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import MATRICES, Matrix
from workbench.emulator.native import abi
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, unsupported

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
        return abi.FP8 if targets.target(target).fp8_encoding is dtypes.OCP else abi.FP8_FNUZ
    if name == "bf8":
        return abi.BF8 if targets.target(target).fp8_encoding is dtypes.OCP else abi.BF8_FNUZ
    return _ELEMENTS[name]


def _registers(shape: Matrix, elements: int, kind: str) -> int:
    """Registers of A or B per lane: all of its elements, spread over the lanes."""
    return max(1, elements * shape.k * shape.blocks * _BITS[kind] // 32 // abi.MAX_LANES)


_ALIKE = ("f32", "f64", "i8")
"""Types whose instructions give a matrix core's bits in any mode: products one by one, or integers."""


def _function(shape: Matrix, exact: bool = False) -> str:
    kind = "smfmac" if shape.sparse else "mfma"
    exactly = "_exact" if exact and shape.type_a not in _ALIKE else ""
    result = shape.type_a if shape.type_a == "f8f6f4" else shape.type_d
    return f"hk_{kind}{exactly}_{result}_{shape.m}x{shape.n}"


def _shape(instruction: Instruction) -> Matrix:
    shape = instruction.record.matrix
    assert shape is not None
    return shape


def _encode_dense(instruction: Instruction, rows: Rows) -> OpFields:
    shape = _shape(instruction)
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
        function=_function(shape, rows.exact),
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(a),
        src1=rows.row(b),
        src2=src2,
        flags=flags,
        imm=(constant & 0xFFFFFFFF, constant >> 32, registers),
    )


def _encode_sparse(instruction: Instruction, rows: Rows) -> OpFields:
    shape = _shape(instruction)
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
        function=_function(shape, rows.exact),
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(a),
        src1=rows.row(b),
        src2=rows.row(indices),
        flags=flags,
        imm=(0, 0, registers),
    )


_SMALL_FORMATS = 5


def _encode_small(instruction: Instruction, rows: Rows) -> OpFields:
    shape = _shape(instruction)
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
                # The exponent of an inline float, whichever byte is selected.
                constants[index] = (scale.bits("f32") >> 23 & 255) * 0x0101
                continue
            if scale.kind == "s":
                scalars[index] = scale.index
            else:
                scale_rows[index] = rows.row(scale)
            byte = modifiers.get("op_sel", 0) >> index & 1 | (modifiers.get("op_sel_hi", 0) >> index & 1) << 1
            selects |= byte << 16 + 2 * index
    return OpFields(
        function=_function(shape, rows.exact),
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(a),
        src1=rows.row(b),
        src2=src2,
        ssrc0=scalars[0],
        ssrc1=scalars[1],
        flags=flags,
        imm=(constant, constants[0] | constants[1] << 16, selects, scale_rows[0] | scale_rows[1] << 16),
    )


def _operation(shape: Matrix) -> NativeOp:
    encode = _encode_small if shape.type_a == "f8f6f4" else _encode_sparse if shape.sparse else _encode_dense
    return NativeOp(_function(shape), encode, can_fault=False)


NATIVE: dict[str, NativeOp] = {name: _operation(shape) for name, shape in MATRICES.items()}
