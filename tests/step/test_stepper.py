"""The stepper against the kernel's results, in both directions, and its errors for wrong use."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.errors import DeviceError, LaunchError, UsageError
from workbench.kernel.show import Kind
from workbench.step import Stepper
from workbench.targets import TILE_TARGETS

TURNS = """#include <hip/hip_runtime.h>
__global__ void turns(const float *x, float *out, int count) {
    __shared__ float tile[256];
    float sum = 0;
    for (int turn = 0; turn < count; turn++) {
        tile[threadIdx.x] = x[turn * 256 + threadIdx.x];
        __syncthreads();
        sum += tile[255 - threadIdx.x];
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.x] = sum;
}
"""
LOAD, ADD, STORE = 6, 8, 11

TILES = """#include "kittens.cuh"
using namespace kittens;
using halves = gl<bf16, -1, -1, -1, -1>;
__global__ void product(const halves a, const halves b, const gl<float, -1, -1, -1, -1> c) {
    extern __shared__ alignment_dummy memory[];
    shared_allocator al(reinterpret_cast<int *>(memory));
    st_bf<32, 64> &kept = al.allocate<st_bf<32, 64>>();
    rt_bf<32, 64> left, right;
    rt_fl<32, 32, col_l> sums;
    load(kept, a, {0, 0, 0, 0});
    __syncthreads();
    load(left, kept);
    load(right, b, {0, 0, 0, 0});
    zero(sums);
    mma_ABt(sums, left, right, sums);
    store(c, sums, {0, 0, 0, 0});
}
"""


def turns(arch: str = "gfx950", count: int = 4, **options: Any) -> tuple[Stepper, torch.Tensor, torch.Tensor]:
    x, out = torch.arange(256.0 * count), torch.zeros(512)
    kernel = wb.compile(TURNS, arch=arch, name="turns.hip")["turns"]
    return wb.step(kernel[2, 256], x, out, count, **options), x, out


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_both_directions_lead_to_the_same(arch: str) -> None:
    s, x, out = turns(arch, group=1)
    expected = x.view(4, 256).flip(1).sum(0)
    torch.testing.assert_close(out, torch.cat((torch.zeros(256), expected)))
    seen = []
    while not s.ended:
        seen.append((s.address, s.held.scalars.tobytes(), s.held.rows.tobytes(), s.held.lds.tobytes()))
        s.step()
    assert len(seen) == s.length
    for position in [*random.sample(range(s.length), 20), 0, s.length - 1]:
        s.goto(position)
        held = s.held
        assert (s.address, held.scalars.tobytes(), held.rows.tobytes(), held.lds.tobytes()) == seen[position]


def test_each_instruction_finds_what_the_one_before_left() -> None:
    """The reported changes, applied to the previous state, give the state; other registers stay."""
    s, *_ = turns()
    before = s.held.rows[0].copy()
    while not s.ended:
        s.step()
        after = s.held.rows[0]
        named = {int(change.name[1:]) for change in s.changed if change.name[0] == "v"}
        differing = {row for row in range(len(before)) if (before[row] != after[row]).any()}
        assert differing == named
        for change in s.changed:
            if change.name[0] == "v":
                assert (change.before == before[int(change.name[1:])]).all()
                assert (change.after == after[int(change.name[1:])]).all()
        before = after.copy()


def test_lines_barriers_and_conditions() -> None:
    s, *_ = turns(wave=2)
    loads = [s.to(LOAD).position for _ in range(2)]
    assert loads == sorted(loads)
    s.goto(0).to("barrier")
    assert s.instruction is not None
    assert s.instruction.opcode == "s_barrier"
    here = s.position
    assert s.to("wait").position > here
    assert s.back_to("barrier").position == here
    line = s.line
    assert s.next().line != line
    assert s.previous().line == line
    # At the second arrival at the line, the sum is that of the first turn.
    s.goto(0)
    s.break_at(LOAD)
    first, second = s.run().position, s.run().position
    assert 0 < first < second
    assert s.line == LOAD
    assert s.run_back().position == first
    s.breakpoints.clear()
    s.break_at(LOAD, when=lambda s: s.position > second)
    assert s.run().position > second
    s.goto(0).to(lambda s: s.exec == 0)
    assert s.ended
    with pytest.raises(UsageError, match=r"no instruction of turns comes from line 99; line \d+ has some"):
        s.to(99)
    with pytest.raises(UsageError, match="expected 'barrier', 'wait', a line's number or a condition"):
        s.to("end")
    with pytest.raises(UsageError, match="expected a line, a condition, or both"):
        s.break_at()


def test_waves_stand_where_the_scheduler_left_them() -> None:
    s, *_ = turns()
    s.to("barrier").step()
    assert [wave.state for wave in s.waves] == ["here", "ready", "ready", "ready"]
    assert [wave.done for wave in s.waves][1:] == [0, 0, 0]
    at = s.waves
    s.choose(3)
    assert (s.wave, s.position) == (3, 0)
    assert [wave.done for wave in s.waves] == [wave.done for wave in at]
    s.to("barrier").step()
    assert s.waves[0].state == "at a barrier"
    assert s.waves[0].line in (7, ADD)
    with pytest.raises(UsageError, match="wave 4 was not recorded; expected one of 0, 1, 2, 3"):
        s.choose(4)


def test_memory_and_what_is_under_way() -> None:
    s, x, _ = turns()
    s.to(lambda s: any(i.opcode == "global_load_dword" for i in s.last))
    (vm, lgkm) = s.outstanding
    assert (vm.counter, vm.count, lgkm.count) == ("vmcnt", 1, 0)
    (access,) = s.accesses
    start = x.data_ptr()
    assert access.addresses == {lane: start + 4 * lane for lane in range(64)}
    s.to(lambda s: any(i.opcode.startswith("ds_write") for i in s.last))
    assert s.outstanding[0].count == 0
    assert s.outstanding[1].count == 1
    assert {change.name.partition("[")[0] for change in s.changed} == {"lds"}
    assert torch.equal(s.lds.view(torch.float32)[:64], x[:64])
    assert s.accesses[0].conflicts == 0
    assert s.v(0).dtype is torch.int32
    assert s.v(0, torch.float32).shape == (64,)
    with pytest.raises(UsageError, match="v\\(999\\): wave 0 has"):
        s.v(999)


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_tiles_by_their_names(arch: str) -> None:
    kernel = wb.compile(TILES, arch=arch, name="product.hip")["product"]
    a, b, c = (
        torch.randn(1, 1, 32, 64).bfloat16(),
        torch.randn(1, 1, 32, 64).bfloat16(),
        torch.zeros(1, 1, 32, 32),
    )
    s = wb.step(kernel[1, 64, 8192], a=a, b=b, c=c, debug=True)
    s.to(16)
    assert {name for name, variable in s.variables.items() if variable.is_tile} == {
        "kept",
        "left",
        "right",
        "sums",
    }
    assert torch.equal(s.tile("left")[0].values, a[0, 0])
    tile = s.tile("kept")[0]
    assert tile.kind is Kind.SHARED_TILE
    assert torch.equal(tile.values, a[0, 0])
    torch.testing.assert_close(s.tile("sums")[0].values, c[0, 0])
    expected = a[0, 0].double() @ b[0, 0].double().T
    torch.testing.assert_close(c[0, 0].double(), expected, rtol=1e-3, atol=1e-3)
    assert s.tile("sums").figure.data
    # Optimized code has them in registers without names.
    plain = wb.step(kernel[1, 64, 8192], a=a, b=b, c=c).to(16)
    with pytest.raises(UsageError, match=r"'sums' is not a tile at this instruction.*debug=True"):
        plain.tile("sums")


def test_scalars_by_their_names() -> None:
    s, _, out = turns(debug=True)
    s.to(STORE)
    assert s.variables["count"].value == 4
    torch.testing.assert_close(torch.from_numpy(s.variables["sum"].value), out[:64])


def test_an_operator_and_what_is_skipped() -> None:
    s = wb.step("normalization/rmsnorm", shape={"rows": 4, "cols": 256}, device="emulated:gfx950")
    whole = s.length
    again = wb.step(
        "normalization/rmsnorm", shape={"rows": 4, "cols": 256}, device="emulated:gfx950", skip=whole - 5
    )
    assert again.length == 5
    last = again.address
    assert s.goto(whole - 5).address == last
    with pytest.raises(UsageError, match="skip= is larger"):
        wb.step("normalization/rmsnorm", shape={"rows": 4, "cols": 256}, device="emulated:gfx950", skip=whole)


def test_registers_that_m0_counts_from() -> None:
    """Instructions between s_set_gpr_idx_on and _off are one step, and their writes are on the tape."""
    source = """#include <hip/hip_runtime.h>
__global__ void pick(const float *x, float *out, int at) {
    float kept[16];
    for (int i = 0; i < 16; i++) kept[i] = x[16 * threadIdx.x + i];
    kept[15 - at] = 7.0f;
    out[threadIdx.x] = kept[at];
}"""
    kernel = wb.compile(source, arch="gfx950", name="pick.hip")["pick"]
    assert any("gpr_idx" in instruction.opcode for instruction in kernel.instructions)
    x, out = torch.randn(64, 16), torch.zeros(64)
    s = wb.step(kernel[1, 64], x, out, 5)
    assert torch.equal(out, x[:, 5])
    s.to(lambda s: any("gpr_idx" in instruction.opcode for instruction in s.last))
    assert len(s.last) > 2


def test_a_full_tape_is_reported() -> None:
    s, *_ = turns(count=256, bytes=1 << 18)
    assert s.tape.cut
    assert s.goto(s.length).ended
    assert "the tape was full then" in repr(s)


def test_wrong_use_is_an_error() -> None:
    with pytest.raises(LaunchError, match="wave 9 of work-group 0 is asked for"):
        turns(wave=9)
    with pytest.raises(LaunchError, match="work-groups 0 to 1, of waves 0 to 3"):
        turns(group=2)
    with pytest.raises(UsageError, match=r"launch=3: .* has launches 0 to 0"):
        turns(launch=3)
    with pytest.raises(UsageError, match="debug=True compiles a kernel again"):
        wb.step(print, debug=True)
    loaded = wb.load(wb.compile(TURNS, arch="gfx950", name="turns.hip").code)
    with pytest.raises(UsageError, match="was loaded without its source"):
        wb.step(loaded["turns"][1, 256], torch.zeros(1024), torch.zeros(256), 4, debug=True)


def test_the_text_form() -> None:
    s, *_ = turns()
    s.to(ADD)
    text = repr(s)
    assert "turns on emulated:gfx950: wave 0 of work-group 0" in text
    assert f"->    {ADD}          sum += tile[255 - threadIdx.x];" in text
    assert "waiting  vmcnt 0, lgkmcnt" in text
    assert "waves    0 here" in text
    assert "->" in text.split("\n\n")[1]


def test_a_fault_ends_as_ever() -> None:
    kernel = wb.compile(TURNS, arch="gfx950", name="turns.hip")["turns"]
    with pytest.raises(wb.KernelFault):
        wb.step(kernel[2, 256], torch.zeros(256), torch.zeros(512), 4)


def test_a_gpu_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    where = wb.device("emulated:gfx950")
    monkeypatch.setattr(type(where.backend), "observes", False)
    with pytest.raises(DeviceError, match="does not report what each instruction does"):
        turns()
