"""V_WMMA and V_SWMMAC as calls of native/ops/wmma.c."""

from __future__ import annotations

from workbench import dtypes, targets
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import WAVE_MATRICES, Matrix
from workbench.emulator.native import abi
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, unsupported
from workbench.targets import WaveMatrixLayout

_SIDE = 16
"""Rows of A and columns of B, which are the lanes of a group."""

_WHOLE_SETS = 64
"""From this K on, gfx1250's set of indices fills its registers."""

_ELEMENTS = {"f32": abi.F32, "f16": abi.F16, "bf16": abi.BF16, "fp8": abi.FP8, "bf8": abi.BF8}
_INTEGERS = {"iu8": (abi.UINT8, abi.INT8), "iu4": (abi.UINT4, abi.INT4)}
"""Elements without and with a sign."""

_BITS = {
    "f32": dtypes.FP32.bits,
    "f16": dtypes.FP16.bits,
    "bf16": dtypes.BF16.bits,
    "fp8": dtypes.E4M3FN.bits,
    "bf8": dtypes.E5M2.bits,
    "iu8": dtypes.INT8.bits,
    "iu4": dtypes.INT4.bits,
}
_BLOCK_FORMATS = (
    ("fp8", abi.FP8, dtypes.E4M3FN.bits),
    ("bf8", abi.BF8, dtypes.E5M2.bits),
    ("fp6", abi.FP6, dtypes.E2M3.bits),
    ("bf6", abi.BF6, dtypes.E3M2.bits),
    ("fp4", abi.FP4, dtypes.E2M1.bits),
)
"""Formats of f8f6f4 by their numbers: name, element, bits."""

_FP4 = 4
_SCALES = ("E8M0", "E5M3", "E4M3")
_E8M0 = abi.SCALE_E8M0

_RESULTS = {"f32": abi.WMMA_F32, "f16": abi.WMMA_F16, "bf16": abi.WMMA_BF16, "i32": abi.WMMA_I32}


def _function(shape: Matrix) -> str:
    if shape.type_a in ("f8f6f4", "f4"):
        return "hk_wmma_blocks"
    return "hk_swmmac" if shape.sparse else "hk_wmma"


def _spread(kind: str, elements: int, run_factor: int, layout: WaveMatrixLayout, wave_size: int) -> int:
    """Where a factor's elements are, as native/ops/wmma.c reads it.

    Args:
        elements: elements of K that are in registers.
        run_factor: the layout's runs are this many times as long.
    """
    if layout.shared_factors:
        return elements * _BITS[kind] // 32 | 1 << 8
    of_lane = elements // 2
    run = min(of_lane, layout.runs[_BITS[kind]] * run_factor)
    registers, groups = of_lane * _BITS[kind] // 32, 2
    if wave_size // _SIDE > groups and registers > 1:
        registers, groups = registers // 2, 4
    return registers | groups << 8 | run.bit_length() - 1 << 16


def _element(kind: str, is_signed: int) -> int:
    return _INTEGERS[kind][is_signed] if kind in _INTEGERS else _ELEMENTS[kind]


def _encode(instruction: Instruction, rows: Rows) -> OpFields:
    shape, layout = WAVE_MATRICES[instruction.opcode], targets.target(rows.target).wave_matrices
    if layout is None:
        raise unsupported(instruction, "The layout of its matrices is not recorded for this target.")
    modifiers = instruction.modifiers
    if _BITS[shape.type_a] not in layout.runs and not layout.shared_factors:
        raise unsupported(instruction, "The layout of its elements is not published for this target.")
    if modifiers.get("index_key", 0) and layout.ordered_indices and shape.k >= _WHOLE_SETS:
        raise unsupported(instruction, "One set of indices fills its registers, so index_key has no meaning.")
    a, b, last = instruction.src
    signs = modifiers.get("neg_lo", 0)
    type_c = shape.type_c or shape.type_d
    flags = (
        _element(shape.type_a, signs & 1)
        | _element(shape.type_b, signs >> 1 & 1) << 4
        | _RESULTS[shape.type_d] << 8
        | _RESULTS[type_c] << 10
    )
    if shape.type_a not in _INTEGERS:
        flags |= signs << 12 | modifiers.get("neg_hi", 0) << 15
    flags |= abi.WMMA_ORDERED if layout.ordered_indices and shape.k >= _WHOLE_SETS else 0
    flags |= abi.WMMA_CLAMP if modifiers.get("clamp") else 0
    flags |= abi.WMMA_INTERLEAVED if layout.interleaved_rows else 0
    if not layout.packed_results and _RESULTS[shape.type_d] in (abi.WMMA_F16, abi.WMMA_BF16):
        flags |= abi.WMMA_HALVES | (abi.WMMA_HIGH if modifiers.get("op_sel", 0) & 4 else 0)
    spread_a = _spread(shape.type_a, shape.k // 2 if shape.sparse else shape.k, 1, layout, rows.wave_size)
    spread_b = _spread(shape.type_b, shape.k, 2 if shape.sparse else 1, layout, rows.wave_size)
    src2, constant = NO_REGISTER, 0
    if last.kind == "imm":
        flags |= abi.MATRIX_C_CONSTANT
        constant = last.bits(type_c)
    else:
        src2 = rows.row(last)
    return OpFields(
        function=_function(shape),
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(a),
        src1=rows.row(b),
        src2=src2,
        flags=flags,
        imm=(constant, spread_a, spread_b, modifiers.get("index_key", 0)),
    )


def _check_scales(instruction: Instruction, formats: tuple[int, int], scales: tuple[int, int]) -> None:
    """Refuse the combinations that AMD's ISA guide does not have (Tensile, MXScaleFormatValidation)."""
    for matrix, element, scale in zip("AB", formats, scales, strict=True):
        if scale >= len(_SCALES):
            raise unsupported(instruction, f"Scale format {scale} of {matrix} names no format.")
        if element != _FP4 and scale != _E8M0:
            name = _BLOCK_FORMATS[element][0]
            raise unsupported(
                instruction, f"Scales of {name} are E8M0; those of {matrix} are {_SCALES[scale]}."
            )
    if formats == (_FP4, _FP4) and scales[0] != scales[1]:
        names = " and ".join(_SCALES[scale] for scale in scales)
        raise unsupported(instruction, f"Scales of two fp4 matrices have the same format; these are {names}.")


def _encode_blocks(instruction: Instruction, rows: Rows) -> OpFields:
    """V_WMMA of f8f6f4 and f4, with scales or without."""
    shape, layout = WAVE_MATRICES[instruction.opcode], targets.target(rows.target).wave_matrices
    assert layout is not None
    modifiers = instruction.modifiers
    a, b, last, *scales = instruction.src
    formats = _FP4, _FP4
    if shape.type_a == "f8f6f4":
        formats = modifiers.get("matrix_a_fmt", 0), modifiers.get("matrix_b_fmt", 0)
    if max(formats) >= len(_BLOCK_FORMATS):
        raise unsupported(instruction, f"Formats {formats[0]} and {formats[1]}: 0 to 4 name element formats.")
    spreads, flags = [], 0
    for position, (_, element, bits) in enumerate(_BLOCK_FORMATS[number] for number in formats):
        registers = shape.k // 2 * bits // 32
        spreads.append(registers | 2 << 8 | layout.block_runs[bits].bit_length() - 1 << 16)
        flags |= element << 4 * position
    signs = modifiers.get("neg_lo", 0), modifiers.get("neg_hi", 0)
    if (signs[0] | signs[1]) & 3:
        raise unsupported(instruction, "neg_lo and neg_hi of A and B are not defined for these formats.")
    flags |= signs[0] << 12 | signs[1] << 15
    flags |= abi.WMMA_TALL if shape.m > _SIDE else 0
    src2, constant = NO_REGISTER, 0
    if last.kind == "imm":
        flags |= abi.MATRIX_C_CONSTANT
        constant = last.bits("f32")
    else:
        src2 = rows.row(last)
    scale_rows, scalars, offset = [NO_REGISTER] * 2, [NO_REGISTER] * 2, 0
    if scales:
        flags |= abi.MATRIX_SCALED
        kinds = modifiers.get("matrix_a_scale_fmt", 0), modifiers.get("matrix_b_scale_fmt", 0)
        _check_scales(instruction, formats, kinds)
        offset = kinds[0] | kinds[1] << 2
        offset |= abi.SCALE_UPPER_A if modifiers.get("matrix_a_scale", 0) else 0
        offset |= abi.SCALE_UPPER_B if modifiers.get("matrix_b_scale", 0) else 0
        offset |= abi.SCALE_16 if "_scale16_" in instruction.opcode else 0
        for position, operand in enumerate(scales):
            if operand.kind == "imm":
                raise unsupported(instruction, "Which scales a constant stands for is not published.")
            if operand.kind == "s":
                scalars[position] = operand.index
            else:
                scale_rows[position] = rows.row(operand)
    return OpFields(
        function=_function(shape),
        dst=rows.row(instruction.dst[0]),
        src0=rows.row(a),
        src1=rows.row(b),
        src2=src2,
        ssrc0=scalars[0],
        ssrc1=scalars[1],
        offset=offset,
        flags=flags,
        imm=(constant, *spreads, scale_rows[0] | scale_rows[1] << 16),
    )


def _operation(shape: Matrix) -> NativeOp:
    function = _function(shape)
    return NativeOp(function, _encode_blocks if function == "hk_wmma_blocks" else _encode, can_fault=False)


NATIVE: dict[str, NativeOp] = {opcode: _operation(shape) for opcode, shape in WAVE_MATRICES.items()}
