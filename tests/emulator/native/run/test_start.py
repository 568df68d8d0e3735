"""What a work-group's LDS holds before the work-group has written it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import workbench as wb
from workbench import targets
from workbench.emulator.native import abi
from workbench.emulator.node.dispatch import POISON

DWORDS = 12_000
SOURCE = """
#include <hip/hip_runtime.h>
extern __shared__ unsigned shared[];

// A work-group notes the dwords that its order asks for, one after the other, before it writes any LDS.
__global__ void before(const int *order, unsigned *seen, int count, int dwords) {
    for (int i = 0; i < count; i++) {
        int at = order[i] + threadIdx.x;
        if (at < dwords) seen[blockIdx.x * dwords + at] = shared[at];
    }
    __syncthreads();
    for (int at = threadIdx.x; at < dwords; at += 64) shared[at] = 0x11111111 + blockIdx.x;
}

// Writes a part, reads around it.
__global__ void around(unsigned *seen, int first, int dwords) {
    shared[first + threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (int at = threadIdx.x; at < dwords; at += 64) seen[blockIdx.x * dwords + at] = shared[at];
    __syncthreads();
    for (int at = threadIdx.x; at < dwords; at += 64) shared[at] = 0x22222222;
}

// A load to LDS that covers whole chunks, and one whose last lanes are off.
__global__ void loaded(unsigned *from, unsigned *seen, int first, int lanes, int dwords) {
    if ((int)threadIdx.x < lanes)
        __builtin_amdgcn_global_load_lds(
            (__attribute__((address_space(1))) unsigned *)from + threadIdx.x * 4,
            (__attribute__((address_space(3))) unsigned *)shared + first, 16, 0, 0);
    __builtin_amdgcn_s_waitcnt(0);
    __syncthreads();
    for (int at = threadIdx.x; at < dwords; at += 64) seen[blockIdx.x * dwords + at] = shared[at];
    __syncthreads();
    for (int at = threadIdx.x; at < dwords; at += 64) shared[at] = 0x33333333;
}
"""
GROUPS = 3


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work-groups of a launch have the same memory, one after the other."""
    monkeypatch.setenv("HIPKITTENS_THREADS", "1")


@pytest.fixture(scope="module")
def module() -> wb.Module:
    return wb.compile(SOURCE, arch="gfx950")


def seen_of(seen: torch.Tensor) -> np.ndarray:
    return seen.view(GROUPS, DWORDS).numpy().view(np.uint32)


def test_lds_is_poisoned_in_whatever_order_it_is_read(module: wb.Module) -> None:
    places = list(range(0, DWORDS, 64))
    generator = np.random.default_rng(0)
    orders = places, places[::-1], list(generator.permutation(places)), places[100:101] + places
    for order in orders:
        seen = torch.zeros(GROUPS * DWORDS, dtype=torch.int32)
        module["before"][GROUPS, 64, 4 * DWORDS](
            torch.tensor(order, dtype=torch.int32), seen, len(order), DWORDS
        )
        assert (seen_of(seen) == POISON).all()


@pytest.mark.parametrize("first", [0, 5, 256, 4100, DWORDS - 64])
def test_a_write_leaves_poison_around_it(module: wb.Module, first: int) -> None:
    seen = torch.zeros(GROUPS * DWORDS, dtype=torch.int32)
    module["around"][GROUPS, 64, 4 * DWORDS](seen, first, DWORDS)
    expected = np.full(DWORDS, POISON, np.uint32)
    expected[first : first + 64] = np.arange(64)
    assert (seen_of(seen) == expected).all()


@pytest.mark.parametrize("lanes", [64, 63])
@pytest.mark.parametrize("first", [0, 256, 260, 4352, DWORDS - 256])
def test_a_load_to_lds_leaves_poison_around_it(module: wb.Module, first: int, lanes: int) -> None:
    seen = torch.zeros(GROUPS * DWORDS, dtype=torch.int32)
    module["loaded"][GROUPS, 64, 4 * DWORDS](torch.arange(256, dtype=torch.int32), seen, first, lanes, DWORDS)
    expected = np.full(DWORDS, POISON, np.uint32)
    expected[first : first + 4 * lanes] = np.arange(4 * lanes)
    assert (seen_of(seen) == expected).all()


def test_the_record_of_bare_chunks_has_room_for_every_target() -> None:
    assert max(target.lds_bytes for target in targets.TARGETS + targets.PARTIAL) <= abi.MAX_LDS
    assert abi.MAX_LDS % (64 * abi.LDS_CHUNK) == 0
