"""Registers that a kernel may read before it has written them."""

from __future__ import annotations

import struct
from functools import partial
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.codeobject.decoder import decode
from workbench.emulator.native.abi import ffi
from workbench.emulator.native.ops import Rows
from workbench.emulator.node import dispatch
from workbench.emulator.translate.unwritten import rows_read_first

ROWS = Rows("gfx942", 64)
# v_mov_b32 and v_fmac_f32 (which adds to its result) in VOP1 and VOP2; s_endpgm.
END = 0xBF810000


def mov(target: int, source: int) -> int:
    return 0x7E000200 | target << 17 | 256 + source


def fmac(target: int, first: int, second: int) -> int:
    return 0x3B << 25 | target << 17 | second << 9 | 256 + first


def rows_of(*words: int, follows: dict[int, list[int]] | None = None, blocks: int = 1) -> set[int] | None:
    """Rows of code that is cut into equally long blocks; `follows` has the blocks after each."""
    code = decode(struct.pack(f"<{len(words)}I", *words), 0, "gfx942")
    size = len(code) // blocks
    pieces = [code[at : at + size] for at in range(0, len(code), size)]
    rows = rows_read_first(pieces, lambda index: (follows or {}).get(index, []), 0, ROWS)
    return None if rows is None else set(rows)


def test_a_row_is_wanted_until_it_is_written() -> None:
    assert rows_of(mov(1, 0), mov(2, 1), mov(0, 3), mov(4, 0), END) == {0, 3}
    assert rows_of(fmac(5, 0, 1), mov(5, 0), END) == {0, 1, 5}
    assert rows_of(mov(5, 0), fmac(5, 0, 5), END) == {0}


def test_every_way_through_the_code_counts() -> None:
    code = mov(1, 0), mov(2, 0), mov(1, 0), mov(3, 0), mov(4, 1), mov(5, 2)
    # Block 1 alone writes v1 before the last block reads it; each way needs v2, written by block 0.
    assert rows_of(mov(7, 0), mov(2, 0), *code[2:], blocks=3, follows={0: [1, 2], 1: [2]}) == {0, 1}
    assert rows_of(mov(1, 0), mov(2, 0), *code[2:], blocks=3, follows={0: [1, 2], 1: [2]}) == {0}
    # A loop: its second turn reads what the first wrote, its first turn does not.
    assert rows_of(mov(1, 6), mov(6, 0), follows={0: [0]}) == {0, 6}


@pytest.mark.parametrize(
    ("word", "why"),
    [
        (0xBEFE01C1, "s_mov_b64 exec, -1"),
        (0x7DB20300, "v_cmpx_lt_u32 v0, v1"),
        (0xBE801D02, "s_setpc_b64 s[2:3]"),
        (0xBF110002, "s_set_gpr_idx_on s2, gpr_idx()"),
        (0xBE802C02, "s_movreld_b32 s0, s2"),
    ],
)
def test_nothing_is_known_of_other_lanes_and_registers(word: int, why: str) -> None:
    assert rows_of(mov(1, 0), END) == {0}
    assert rows_of(mov(1, 0), word, END) is None, why


def test_a_write_of_a_part_is_no_write() -> None:
    # v_writelane_b32 v1, s0, 0; v_mov_b32_sdwa v2, v4 to the high half; v_mov_b32_dpp v3, v0 row_shr:1.
    assert rows_of(0xD28A0001, 0x00010000, mov(6, 1), END) == {1}
    assert rows_of(0x7E0402F9, 0x00061504, mov(6, 2), END) == {2, 4}
    assert rows_of(0x7E0602FA, 0xFF011100, mov(6, 3), END) == {0, 3}


SOURCE = """
#include <hip/hip_runtime.h>
__global__ void product(const float *a, const float *b, float *c, int n) {
    __shared__ float row[64];
    float sums[8] = {};
    for (int k = 0; k < n; k++) {
        row[threadIdx.x] = b[k * 64 + threadIdx.x];
        __syncthreads();
        for (int i = 0; i < 8; i++) sums[i] += a[(blockIdx.x * 8 + i) * n + k] * row[threadIdx.x ^ i] ;
        __syncthreads();
    }
    for (int i = 0; i < 8; i++) c[(blockIdx.x * 8 + i) * 64 + threadIdx.x] = sums[i];
}
"""


@pytest.fixture(scope="module")
def code() -> bytes:
    return wb.compile(SOURCE, arch="gfx950").code_object.data


def launched(code: bytes, block: int = 64) -> torch.Tensor:
    """The kernel's result on integers, by a new copy of the code on the device."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-8, 8, size, generator=generator).float() for size in ((32, 16), (16, 64)))
    c = torch.zeros(32, 64)
    wb.load(code)["product"][4, block](a, b, c, 16)
    return c


def test_results_do_not_depend_on_what_other_rows_hold(code: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    describe, poisoned = dispatch.describe, []

    def everywhere(poison: int | None, **arguments: Any) -> dispatch.Description:
        description = describe(**arguments)
        launch = description.launch
        rows = launch.poisoned
        poisoned.append([rows[row] for row in range(launch.row_count)] if rows else None)
        if poison is not None:
            launch.poisoned, launch.poison = ffi.NULL, poison
        return description

    results = []
    # The last launch finds what the others left in its registers.
    for poison in (0x3F80_0000, 0xFFFB_FFFB, None):
        monkeypatch.setattr(dispatch, "describe", partial(everywhere, poison))
        results.append(launched(code))
    assert results[0].any()
    assert all(torch.equal(result, results[0]) for result in results)
    # Work-item ids are in row 0.
    assert all(rows is not None and sum(rows) <= 1 for rows in poisoned)


def test_lanes_without_a_work_item_have_poison(code: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    describe, rows = dispatch.describe, []

    def noting(**arguments: Any) -> dispatch.Description:
        description = describe(**arguments)
        rows.append(bool(description.launch.poisoned))
        return description

    monkeypatch.setattr(dispatch, "describe", noting)
    launched(code, 64)
    launched(code, 48)
    assert rows == [True, False]
