"""Waves of 32 lanes: a target's record is changed, and nothing else, and the device runs its kernels so.

No target with such waves has an opcode table yet. What compilers make for gfx942 works in waves of 32 lanes
too, as long as it does not count on 64: the upper halves of its lane masks are registers that nothing reads.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench import errors, targets  # noqa: E402
from workbench.codeobject import CodeObject  # noqa: E402
from workbench.kernel import Module  # noqa: E402

WAVE = 32
TARGET = targets.GFX942
DEVICE = "emulated:gfx942"

SOURCE = r"""
#include <hip/hip_runtime.h>
// Lane, wave's first item, lanes that take part and their number in each of three branches.
__global__ void lanes(unsigned *lane, unsigned *first, unsigned *ballot) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    lane[i] = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0u));
    first[i] = __builtin_amdgcn_readfirstlane(threadIdx.x);
    ballot[i] = 0;
    if (i % 3 == 1) ballot[i] = (unsigned)__builtin_amdgcn_ballot_w64(i % 2 == 0);
}
// Different numbers of turns, a sum through LDS of the whole block, and 64-bit carries.
__global__ void sums(const unsigned *x, unsigned long long *out) {
    __shared__ unsigned long long part[1024];
    unsigned long long sum = 0;
    for (unsigned n = 0; n < threadIdx.x % 7; n++) sum += (unsigned long long)x[n] * x[threadIdx.x];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = part[0] + sum;
}
// Lanes read other lanes; scratch that is indexed at run time; wide loads and stores; atomics.
__global__ void moves(const uint4 *x, uint4 *out, unsigned *total, const int *where) {
    const unsigned i = threadIdx.x;
    uint4 mine = x[i];
    unsigned apart[9];
    for (int n = 0; n < 9; n++) apart[n] = mine.x * n;
    apart[where[i]] += 5;
    mine.y = __builtin_amdgcn_ds_bpermute((i + 33) * 4, mine.y);
    mine.z = __builtin_amdgcn_ds_swizzle(mine.z, 0x401f);
    mine.w = apart[where[i] / 2] + apart[where[i]];
    out[i] = mine;
    atomicAdd(total + i % 3, i);
}
__global__ void beyond(float *x, int n) { if ((int)threadIdx.x <= n) x[threadIdx.x] = 1.0f; }
__global__ void race(unsigned *out) {
    __shared__ unsigned part[64];
    part[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = part[threadIdx.x ^ 32];
}
"""


@pytest.fixture(scope="module")
def module() -> Iterator[Module]:
    """The kernels, on a gfx942 with waves of 32 lanes."""
    facts = {
        "wave_size": targets.Fact(WAVE, "", "this test"),
        "wave_sizes": (WAVE,),
        "vgpr_encoding": {WAVE: TARGET.vgpr_granule},
    }
    before = {name: getattr(TARGET, name) for name in facts}
    assert set(facts) <= {field.name for field in dataclasses.fields(TARGET)}
    code = wb.compile(SOURCE, arch=TARGET.name).code.replace(b".wavefront_size\x40", b".wavefront_size\x20")
    for name, value in facts.items():
        object.__setattr__(TARGET, name, value)
    yield Module(code, name="wave32")
    for name, value in before.items():
        object.__setattr__(TARGET, name, value)
    for device in wb.devices():
        device.__dict__.pop("properties", None)  # they have the wave size


def test_the_metadata_must_agree_with_the_descriptor(module: Module) -> None:
    damaged = CodeObject.from_bytes(module.code.replace(b".wavefront_size\x20", b".wavefront_size\x40"))
    with pytest.raises(errors.CodeObjectError, match="32 lanes by its descriptor, and of 64"):
        damaged.kernels[next(iter(damaged.kernels))]


@pytest.mark.parametrize("block", [WAVE, 96, 75, 1024])
def test_lanes(module: Module, block: int) -> None:
    lane, first, ballot = (torch.zeros(3 * block, dtype=torch.int32) for _ in range(3))
    module["lanes"][3, block](lane, first, ballot)
    item, item_of_grid = np.arange(3 * block) % block, np.arange(3 * block)
    assert np.array_equal(lane, item % WAVE)
    assert np.array_equal(first, item // WAVE * WAVE)
    wave = item_of_grid // block * 100 + item // WAVE
    bit = np.where((item_of_grid % 3 == 1) & (item_of_grid % 2 == 0), 1 << item % WAVE, 0)
    expected = np.array([bit[wave == number].sum() for number in wave])
    assert np.array_equal(ballot.numpy().view(np.uint32), np.where(item_of_grid % 3 == 1, expected, 0))


@pytest.mark.parametrize("block", [WAVE, 256, 1024])
def test_branches_barriers_and_carries(module: Module, block: int) -> None:
    x = np.random.default_rng(block).integers(0, 1 << 32, block, dtype=np.uint64)
    turns = np.arange(block) % 7
    mine = np.array([x[:count].sum() for count in turns], dtype=np.uint64) * x
    out = torch.zeros(2 * block, dtype=torch.int64)
    module["sums"][2, block](torch.from_numpy(x.astype(np.uint32).view(np.int32)), out)
    assert np.array_equal(out.numpy().view(np.uint64), np.tile(mine.sum() + mine, 2))


def test_moves_between_lanes_and_memory(module: Module) -> None:
    draw = np.random.default_rng(3)
    block = 80
    x = draw.integers(0, 1 << 31, (block, 4)).astype(np.uint32)
    where = draw.integers(0, 9, block).astype(np.int32)
    out, total = torch.zeros((block, 4), dtype=torch.int32), torch.zeros(3, dtype=torch.int32)
    module["moves"][1, block](torch.from_numpy(x.view(np.int32)), out, total, torch.from_numpy(where))
    item = np.arange(block)

    def from_lane(values: np.ndarray, lane: np.ndarray) -> np.ndarray:
        source = item // WAVE * WAVE + lane
        return np.where(source < block, values[np.minimum(source, block - 1)], 0)

    expected = x.copy()
    expected[:, 1] = from_lane(x[:, 1], (item + 33) % WAVE)
    expected[:, 2] = from_lane(x[:, 2], item % WAVE ^ 16)
    apart = x[:, :1] * np.arange(9, dtype=np.uint32)
    apart[item, where] += 5
    expected[:, 3] = apart[item, where // 2] + apart[item, where]
    assert np.array_equal(out.numpy().view(np.uint32), expected)
    assert total.tolist() == [int(item[item % 3 == n].sum()) for n in range(3)]


def test_a_fault_names_wave_and_lane(module: Module) -> None:
    x = torch.zeros(70)
    with pytest.raises(errors.AddressFault, match="lane 6 of wave 2 in work-group") as caught:
        module["beyond"][1, 128](x, 70)
    assert (caught.value.wave, caught.value.lane) == (2, 6)


def test_the_sanitizer_sees_two_waves(module: Module) -> None:
    """In waves of 64 lanes there is no race: one wave does both."""
    out = torch.zeros(64, dtype=torch.int32)
    text = str(wb.sanitize(module["race"][1, 64], out))
    assert "race in shared memory" in text
    assert "wave 1, lane 0" in text


@pytest.mark.parametrize("block", [64, 1024])
def test_the_sanitizer_has_nothing_against_kernels_without_faults(module: Module, block: int) -> None:
    x, out = torch.ones(block, dtype=torch.int32), torch.zeros(block, dtype=torch.int64)
    assert not wb.sanitize(module["sums"][1, block], x, out).findings


def test_a_step_shows_the_registers_of_32_lanes(module: Module) -> None:
    x, out = torch.ones(64, dtype=torch.int32), torch.zeros(64, dtype=torch.int64)
    stepper = wb.step(module["sums"][1, 64], x, out, wave=1)
    assert stepper.exec == (1 << WAVE) - 1
    assert stepper.v(0).tolist() == [*range(WAVE, 2 * WAVE)]
    stepper.run()
    last = stepper.v(0)
    stepper.goto(0)
    assert stepper.v(0).tolist() == [*range(WAVE, 2 * WAVE)]
    assert len(last) == WAVE


def test_counts_are_those_of_twice_as_many_waves(module: Module) -> None:
    x, out = torch.ones(256, dtype=torch.int32), torch.zeros(256, dtype=torch.int64)
    profile = wb.profile(module["sums"][1, 256], x, out)
    assert profile.counters["SQ_WAVES"].value == 256 // WAVE
