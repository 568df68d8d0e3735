"""Shapes and passes of each matrix instruction.

Names are LLVM's, older spellings (gfx90a) included.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

from workbench import targets
from workbench.targets import Target
from workbench.targets.matrix_units import CYCLES_OF_A_PASS

_SLOW_PASSES = 8
"""Passes of f32 instructions, and of those with 16 by 16 results in several blocks."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """One matrix instruction: D (m x n) = A (m x k) B (k x n) + C, `blocks` times.

    Attributes:
        m, n, k, blocks: the shape.
        type_a, type_b, type_d: types of the elements: "f16", "bf16", "f32", "xf32", "f64", "i8", "i32",
            "fp8", "bf8"; "iu8" and "iu4" are signed if the instruction's neg_lo says so; "f8f6f4" if its cbsz
            and blgp, or matrix_a_fmt and matrix_b_fmt, select them; "f4" is e2m1.
        sparse: True if only half of A's elements are stored, with their indices; C is the destination.
        passes: passes of the matrix core, four cycles each, on the record's target (LLVM's SISchedule.td). An
            f8f6f4 instruction with an 8-bit input takes twice as many. 0 for V_WMMA, whose times are unknown.
        type_c: type of C's elements; "" if it is D's.
    """

    m: int
    n: int
    k: int
    blocks: int
    type_a: str
    type_b: str
    type_d: str
    sparse: bool = False
    passes: int = 0
    type_c: str = ""

    @property
    def pipeline(self) -> str:
        """Class for data hazard rules: "xdl", "sgemm" (f32), "dgemm_4x4" or "dgemm_16x16" (f64)."""
        if self.type_d == "f64":
            return f"dgemm_{self.m}x{self.m}"
        return "sgemm" if self.type_a == "f32" else "xdl"

    @property
    def operations(self) -> int:
        """Multiplications and additions of one wave instruction."""
        return 2 * self.m * self.n * self.k * self.blocks

    def has_8_bits(self, modifiers: Mapping[str, int]) -> bool:
        """True if A or B of an f8f6f4 instruction has elements of 8 bits (CDNA4 ISA guide: formats 0, 1)."""
        return self.type_a == "f8f6f4" and min(modifiers.get("cbsz", 0), modifiers.get("blgp", 0)) < 2

    def passes_with(self, modifiers: Mapping[str, int]) -> int:
        """Passes of an instruction with these modifiers."""
        return self.passes * (2 if self.has_8_bits(modifiers) else 1)

    def cycles_with(self, modifiers: Mapping[str, int]) -> int:
        """Cycles for which such an instruction keeps the matrix core busy."""
        return int(CYCLES_OF_A_PASS) * self.passes_with(modifiers)


def _dense() -> dict[str, Matrix]:
    shapes: dict[str, Matrix] = {}

    def add(name: str, *shape: int, a: str, b: str | None = None, d: str = "f32") -> None:
        m, n, k, blocks = shape
        shapes[name] = Matrix(m, n, k, blocks, a, b or a, d)

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
    # gfx90a has these in addition.
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


def _sparse() -> dict[str, Matrix]:
    shapes: dict[str, Matrix] = {}
    for data, k in (("f16", 32), ("bf16", 32), ("f16", 64), ("bf16", 64)):
        shapes[f"v_smfmac_f32_16x16x{k}_{data}"] = Matrix(16, 16, k, 1, data, data, "f32", sparse=True)
        shapes[f"v_smfmac_f32_32x32x{k // 2}_{data}"] = Matrix(
            32, 32, k // 2, 1, data, data, "f32", sparse=True
        )
    for k in (64, 128):
        shapes[f"v_smfmac_i32_16x16x{k}_i8"] = Matrix(16, 16, k, 1, "i8", "i8", "i32", sparse=True)
        shapes[f"v_smfmac_i32_32x32x{k // 2}_i8"] = Matrix(32, 32, k // 2, 1, "i8", "i8", "i32", sparse=True)
        for a in ("fp8", "bf8"):
            for b in ("fp8", "bf8"):
                shapes[f"v_smfmac_f32_16x16x{k}_{a}_{b}"] = Matrix(16, 16, k, 1, a, b, "f32", sparse=True)
                shapes[f"v_smfmac_f32_32x32x{k // 2}_{a}_{b}"] = Matrix(
                    32, 32, k // 2, 1, a, b, "f32", sparse=True
                )
    return shapes


MATRICES: Mapping[str, Matrix] = {
    **_dense(),
    **_sparse(),
    **{
        f"v_mfma{scale}_f32_{m}x{m}x{k}_f8f6f4": Matrix(m, m, k, 1, "f8f6f4", "f8f6f4", "f32")
        for scale in ("", "_scale")
        for m, k in ((16, 128), (32, 64))
    },
}
"""Every matrix instruction with layouts of CDNA, of any target, without its passes."""

_WAVE_MATRIX = re.compile(
    r"v_(?P<kind>wmma(_scale(16)?)?|swmmac)_(?P<d>bf16f32|[a-z]+\d+)_(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)"
    r"_(?P<a>f8f6f4|[a-z]+\d+)(_(?P<b>\w+))?"
)


def _wave_matrix(opcode: str) -> Matrix:
    """V_WMMA or V_SWMMAC by its name, which says everything: types of D, A and B, and the shape."""
    name = _WAVE_MATRIX.fullmatch(opcode)
    assert name is not None, opcode
    m, n, k = (int(name[size]) for size in "mnk")
    # "bf16f32": D of bf16, C of f32.
    result, addend = ("bf16", "f32") if name["d"] == "bf16f32" else (name["d"], "")
    sparse = name["kind"] == "swmmac"
    return Matrix(m, n, k, 1, name["a"], name["b"] or name["a"], result, sparse, type_c=addend)


def _wave_matrices() -> Iterator[str]:
    eights = [f"{a}_{b}" for a in ("fp8", "bf8") for b in ("fp8", "bf8")]
    # gfx11 has the first six, without fp8; gfx12 all.
    for kind, k in (("wmma", 16), ("swmmac", 32)):
        for names in ("f32 f16", "f32 bf16", "f16 f16", "bf16 bf16", "i32 iu8", "i32 iu4"):
            result, factor = names.split()
            yield f"v_{kind}_{result}_16x16x{k}_{factor}"
        yield from (f"v_{kind}_f32_16x16x{k}_{factors}" for factors in eights)
        yield f"v_{kind}_i32_16x16x{2 * k}_iu4"
    # gfx1250's are deeper.
    yield "v_wmma_f32_16x16x4_f32"
    for names in ("f32 f16", "f32 bf16", "f16 f16", "bf16 bf16", "bf16f32 bf16"):
        result, factor = names.split()
        yield f"v_wmma_{result}_16x16x32_{factor}"
        yield f"v_swmmac_{result}_16x16x64_{factor}"
    yield "v_wmma_i32_16x16x64_iu8"
    yield "v_swmmac_i32_16x16x128_iu8"
    for result in ("f32", "f16"):
        for k in (64, 128):
            yield from (f"v_wmma_{result}_16x16x{k}_{factors}" for factors in eights)
        yield from (f"v_swmmac_{result}_16x16x128_{factors}" for factors in eights)
    for scales in ("", "_scale", "_scale16"):
        yield f"v_wmma{scales}_f32_16x16x128_f8f6f4"
        yield f"v_wmma{scales}_f32_32x16x128_f4"


WAVE_MATRICES: Mapping[str, Matrix] = {opcode: _wave_matrix(opcode) for opcode in _wave_matrices()}
"""V_WMMA and V_SWMMAC of any target, whose layouts `Target.wave_matrices` has."""


def _passes(matrix: Matrix, unit: Target) -> int:
    if matrix.m == 4:
        return 4 if matrix.type_d == "f64" else 2
    if matrix.type_d == "f64":
        return matrix.operations // unit.matrix_rates["F64"]
    assert unit.matrix_passes is not None, unit.name
    # Full rate is for the shapes that came with gfx940.
    passes = _SLOW_PASSES if matrix.blocks > 1 or matrix.type_a == "f32" else unit.matrix_passes
    return passes * (matrix.m // 16)


@cache
def matrix_of(target: str, opcode: str) -> Matrix | None:
    """A matrix instruction of a target; None for another instruction."""
    if opcode in WAVE_MATRICES:
        return WAVE_MATRICES[opcode]
    matrix = MATRICES.get(opcode)
    return None if matrix is None else replace(matrix, passes=_passes(matrix, targets.target(target)))
