"""Two Gluon kernels on PyTorch's "cuda": a sum of rows, and a product by the matrix cores; prints "right"."""

from __future__ import annotations

import sys

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl

ROWS, COLUMNS = 64, 1024
TILE, DEPTH = 64, 64


@gluon.jit
def row_sums(x, out, COLUMNS: gl.constexpr):
    """One row per program; 4 consecutive numbers per lane, 4 waves."""
    layout: gl.constexpr = gl.BlockedLayout([4], [64], [4], [0])
    row = gl.program_id(0)
    values = gl.load(x + row * COLUMNS + gl.arange(0, COLUMNS, layout))
    gl.store(out + row, gl.sum(values, 0))


@gluon.jit
def product(a, b, out, TILE: gl.constexpr, DEPTH: gl.constexpr, VERSION: gl.constexpr):
    """One tile of A B by `v_mfma_f32_32x32x8_f16` or wider, 4 waves in a square."""
    blocked: gl.constexpr = gl.BlockedLayout([1, 8], [8, 8], [4, 1], [1, 0])
    matrix: gl.constexpr = gl.amd.AMDMFMALayout(
        version=VERSION,
        instr_shape=[32, 32, 8 if VERSION == 3 else 16],
        transposed=True,
        warps_per_cta=[2, 2],
    )
    left: gl.constexpr = gl.DotOperandLayout(operand_index=0, parent=matrix, k_width=4 if VERSION == 3 else 8)
    right: gl.constexpr = gl.DotOperandLayout(
        operand_index=1, parent=matrix, k_width=4 if VERSION == 3 else 8
    )
    rows = gl.arange(0, TILE, gl.SliceLayout(1, blocked))
    columns = gl.arange(0, DEPTH, gl.SliceLayout(0, blocked))
    places = rows[:, None] * DEPTH + columns[None, :]
    x = gl.convert_layout(gl.load(a + places), left)
    y = gl.convert_layout(gl.load(b + places), right)
    total = gl.zeros((TILE, TILE), gl.float32, matrix)
    # Gluon compiles only the target's branch.
    total = gl.amd.cdna3.mfma(x, y, total) if VERSION == 3 else gl.amd.cdna4.mfma(x, y, total)
    rows_out = gl.arange(0, TILE, gl.SliceLayout(1, matrix))
    columns_out = gl.arange(0, TILE, gl.SliceLayout(0, matrix))
    gl.store(out + rows_out[:, None] * TILE + columns_out[None, :], total)


def main() -> int:
    torch.manual_seed(0)
    x = torch.randn(ROWS, COLUMNS, device="cuda")
    sums = torch.empty(ROWS, device="cuda")
    row_sums[(ROWS,)](x, sums, COLUMNS, num_warps=4)
    torch.testing.assert_close(sums, x.sum(1), rtol=1e-5, atol=1e-4)

    version = 4 if torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx950") else 3
    a, b = (torch.randn(TILE, DEPTH, device="cuda").half() for _ in range(2))
    out = torch.empty(TILE, TILE, device="cuda")
    product[(1,)](a, b, out, TILE, DEPTH, version, num_warps=4)
    torch.testing.assert_close(out, a.float() @ b.float(), rtol=1e-3, atol=1e-2)
    print("right: row sums, product")
    return 0


if __name__ == "__main__":
    sys.exit(main())
