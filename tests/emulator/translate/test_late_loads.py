"""Successive loads: each reads its address before the data of an earlier one has arrived."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import torch

import workbench as wb
from workbench.codeobject.instruction import Instruction
from workbench.emulator.translate.late_loads import by_arrival
from workbench.runtime import device

SOURCE = r"""
#include <hip/hip_runtime.h>
__global__ __launch_bounds__(64) void reads(const int *in, int *out) {
    __shared__ int s[256];
    for (int i = threadIdx.x; i < 256; i += 64) s[i] = in[i];
    __syncthreads();
    const int at = 8 * threadIdx.x + (int)(size_t)s;
    int a, b, c, d, e, f;
    asm volatile("v_mov_b32 v40, %6\n\t"
                 "ds_read_b32 v40, v40 offset:16\n\t"
                 "ds_read_b32 v42, v40 offset:4\n\t"
                 "ds_read_b32 v43, v40 offset:8\n\t"
                 "s_waitcnt lgkmcnt(0)\n\t"
                 "ds_read_b32 v44, v40\n\t"
                 "v_mov_b32 v46, %7\n\tv_mov_b32 v47, %8\n\t"
                 "global_load_dword v46, v[46:47], off offset:4\n\t"
                 "global_load_dword v48, v[46:47], off offset:12\n\t"
                 "s_waitcnt vmcnt(0) lgkmcnt(0)\n\t"
                 "v_mov_b32 %0, v40\n\tv_mov_b32 %1, v42\n\tv_mov_b32 %2, v43\n\t"
                 "v_mov_b32 %3, v44\n\tv_mov_b32 %4, v46\n\tv_mov_b32 %5, v48"
                 : "=&v"(a), "=&v"(b), "=&v"(c), "=&v"(d), "=&v"(e), "=&v"(f)
                 : "v"(at), "v"((int)(size_t)in), "v"((int)((size_t)in >> 32))
                 : "v40", "v42", "v43", "v44", "v46", "v47", "v48", "memory");
    const int given[] = {a, b, c, d, e, f};
    for (int i = 0; i < 6; i++) out[64 * i + threadIdx.x] = given[i];
}
"""


def test_an_address_is_read_before_it_is_overwritten() -> None:
    """As in HipKittens' inline assembly without early clobbers; reported, with the same result."""
    module = wb.compile(SOURCE, arch="gfx950", name="late.hip")
    table = 4 * torch.randperm(256, generator=torch.Generator().manual_seed(1)).int()
    at = 2 * torch.arange(64)
    expected = torch.stack(
        [
            *(table[at + n] for n in (4, 1, 2)),
            table[table[at + 4].long() // 4],
            *(table[n].expand(64) for n in (1, 3)),
        ]
    )
    out = torch.zeros(6, 64, dtype=torch.int32)
    module["reads"].launch(wb.Launch(1, 64), (table, out), {}, device=device("emulated:gfx950"))
    assert torch.equal(out, expected)
    out.zero_()
    result = wb.sanitize(module["reads"][1, 64], table, out, device="emulated:gfx950")
    assert torch.equal(out, expected)
    findings = [finding for finding in result.findings if finding.category == "missing wait"]
    assert len(findings) == 2, result  # one for each register


def test_random_loads(native: SimpleNamespace, random: np.random.Generator) -> None:
    """If any order of loads into separate registers delays the use of their data, this one does."""
    changed = 0
    for _ in range(200):
        loads = [
            native.instruction("ds_read_b64", [native.v(int(to), 2)], [native.v(int(random.integers(12)))])
            for to in random.permutation(6)[: random.integers(2, 5)] * 2
        ]
        late = {n: f"v{n}" for n in range(12)}
        for load, data in [(load, f"[v{load.src[0].index}]") for load in loads]:
            late.update(dict.fromkeys((load.dst[0].index, load.dst[0].index + 1), data))
        steps = list(by_arrival(loads))
        assert [one for _, issued in steps for one in issued] == loads
        done = [load for load, _ in steps]
        if any(at_once(order) == late for order in itertools.permutations(loads)):
            assert at_once(done) == late
        else:
            assert done == loads
        changed += done != loads
    assert changed > 20


def at_once(loads: Sequence[Instruction]) -> dict[int, str]:
    """Contents of registers after loads that run one by one."""
    held = {n: f"v{n}" for n in range(12)}
    for load in loads:
        held.update(dict.fromkeys((load.dst[0].index, load.dst[0].index + 1), f"[{held[load.src[0].index]}]"))
    return held


def test_what_is_no_row_of_loads_stays(native: SimpleNamespace) -> None:
    """A wait between them, a store, the same destination twice."""
    first = native.instruction("ds_read_b32", [native.v(3)], [native.v(3)])
    second = native.instruction("ds_read_b32", [native.v(4)], [native.v(3)])
    same = native.instruction("ds_read_b32", [native.v(3)], [native.v(3)], offset=4)
    store = native.instruction("ds_write_b32", [], [native.v(3), native.v(5)])
    wait = native.instruction("s_waitcnt", [], [native.imm(0)])
    for block in ([first, wait, second], [first, store, second], [first, same]):
        assert [one for one, _ in by_arrival(block)] == block
    assert [one for one, _ in by_arrival([first, second])] == [second, first]
