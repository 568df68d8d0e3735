"""V_WMMA and V_SWMMAC as calls of native/ops/wmma.c."""

from __future__ import annotations

from workbench import targets
from workbench.codeobject.instruction import Instruction
from workbench.codeobject.instructions import WAVE_MATRICES, Matrix
from workbench.emulator.native import abi
from workbench.emulator.native.abi import NO_REGISTER
from workbench.emulator.native.ops.operation import NativeOp, OpFields, Rows, unsupported
from workbench.targets import WaveMatrixLayout

_SIDE = 16
"""Rows of A and columns of B, which are the lanes of a group."""

_ELEMENTS = {"f32": abi.F32, "f16": abi.F16, "bf16": abi.BF16, "fp8": abi.FP8, "bf8": abi.BF8}
_INTEGERS = {"iu8": (abi.UINT8, abi.INT8), "iu4": (abi.UINT4, abi.INT4)}
"""Elements without and with a sign."""

_BITS = {"f32": 32, "f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "iu8": 8, "iu4": 4}
_RESULTS = {"f32": abi.WMMA_F32, "f16": abi.WMMA_F16, "bf16": abi.WMMA_BF16, "i32": abi.WMMA_I32}


def _function(shape: Matrix) -> str:
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


NATIVE: dict[str, NativeOp] = {
    opcode: NativeOp(_function(shape), _encode, can_fault=False) for opcode, shape in WAVE_MATRICES.items()
}
