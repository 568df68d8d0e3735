"""Waves that hand over work through memory, as the memory model allows: nothing is reported."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.targets import NAMES  # noqa: E402

SOURCE = r"""
#include <hip/hip_runtime.h>
#define GROUP __HIP_MEMORY_SCOPE_WORKGROUP
#define DEVICE __HIP_MEMORY_SCOPE_AGENT
#define SLEEP __builtin_amdgcn_s_sleep(1)
// A lock in LDS around a sum that plain accesses change.
__global__ void lock(const float *in, float *out) {
    __shared__ int taken;
    __shared__ float sum;
    if (threadIdx.x == 0) taken = 0, sum = 0;
    __syncthreads();
    if ((threadIdx.x & 63) == 0) {
        while (__hip_atomic_exchange(&taken, 1, __ATOMIC_ACQUIRE, GROUP)) SLEEP;
        sum += in[threadIdx.x];
        __hip_atomic_store(&taken, 0, __ATOMIC_RELEASE, GROUP);
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = sum;
}
// One wave writes a buffer that three read, again and again: each side counts.
__device__ __forceinline__ void go_round(const float *in, float *out, float *s) {
    __shared__ int full, empty;
    if (threadIdx.x == 0) full = empty = 0;
    __syncthreads();
    unsigned lane = threadIdx.x & 63, wave = threadIdx.x / 64;
    float t = 0;
    for (int turn = 0; turn < 4; turn++) {
        if (wave == 0) {
            while (__hip_atomic_load(&empty, __ATOMIC_ACQUIRE, GROUP) != 3 * turn) SLEEP;
            s[lane] = in[lane] + turn;
            if (lane == 0) __hip_atomic_store(&full, turn + 1, __ATOMIC_RELEASE, GROUP);
        } else {
            while (__hip_atomic_load(&full, __ATOMIC_ACQUIRE, GROUP) <= turn) SLEEP;
            t += s[63 - lane];
            if (lane == 0) __hip_atomic_fetch_add(&empty, 1, __ATOMIC_RELEASE, GROUP);
        }
    }
    if (wave) out[blockIdx.x * 192 + threadIdx.x - 64] = t;
}
__global__ void ring(const float *in, float *out) {
    __shared__ float s[64];
    go_round(in, out, s);
}
__global__ void ring_in_memory(const float *in, float *out) {
    go_round(in, out, out + 1024 + 64 * blockIdx.x);
}
// What a wave learns of a second one that has learnt of a third.
__global__ void chain(const float *in, float *out) {
    __shared__ float s[64];
    __shared__ int f[4];
    if (threadIdx.x < 4) f[threadIdx.x] = threadIdx.x == 0;
    __syncthreads();
    unsigned lane = threadIdx.x & 63, wave = threadIdx.x / 64;
    while (__hip_atomic_load(&f[wave], __ATOMIC_ACQUIRE, GROUP) == 0) SLEEP;
    if (wave == 0) s[lane] = in[lane];
    if (wave == 3) out[blockIdx.x * 64 + lane] = s[63 - lane];
    if (wave < 3) __hip_atomic_store(&f[wave + 1], 1, __ATOMIC_RELEASE, GROUP);
}
// The last work-group sums what all have left in memory.
__global__ void last(const float *in, float *out) {
    __shared__ int is_last;
    out[64 + blockIdx.x * 256 + threadIdx.x] = in[threadIdx.x];
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicAdd((int *)out + 32, 1) == gridDim.x - 1;
    __syncthreads();
    if (!is_last) return;
    __threadfence();
    float t = 0;
    for (unsigned i = 0; i < gridDim.x; i++) t += out[64 + i * 256 + threadIdx.x];
    atomicAdd(out, t);
}
// Each work-group adds to what the one before it has left, with a store of release and a load of acquire.
__global__ void serial(const float *in, float *out) {
    int *turn = (int *)out + 1024;
    if (threadIdx.x == 0)
        while (__hip_atomic_load(turn, __ATOMIC_ACQUIRE, DEVICE) != blockIdx.x) SLEEP;
    __syncthreads();
    out[threadIdx.x] += in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) __hip_atomic_store(turn, blockIdx.x + 1, __ATOMIC_RELEASE, DEVICE);
}
// All work-groups meet at a counter and read what the next one has written.
__global__ void meet(const float *in, float *out) {
    int *count = (int *)out + 2048;
    out[blockIdx.x * 256 + threadIdx.x] = in[threadIdx.x] + blockIdx.x;
    __syncthreads();
    if (threadIdx.x == 0) {
        __hip_atomic_fetch_add(count, 1, __ATOMIC_ACQ_REL, DEVICE);
        while (__hip_atomic_load(count, __ATOMIC_ACQUIRE, DEVICE) != gridDim.x) SLEEP;
    }
    __syncthreads();
    out[1024 + blockIdx.x * 256 + threadIdx.x] = out[(blockIdx.x + 1) % gridDim.x * 256 + threadIdx.x];
}
// An atomic that is a loop of compare-and-swap begins with a plain load.
__global__ void loop(const float *in, float *out) {
    __shared__ float most;
    if (threadIdx.x == 0) most = 0;
    __syncthreads();
    float seen = most;
    while (seen < in[threadIdx.x]) {
        int old = atomicCAS((int *)&most, __float_as_int(seen), __float_as_int(in[threadIdx.x]));
        if (old == __float_as_int(seen)) break;
        seen = __int_as_float(old);
    }
    atomicMax(out + (threadIdx.x & 31), in[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) out[64 + blockIdx.x] = most;
}
// Hardware has no such atomic: LLVM makes a loop of compare-and-swap, which begins with a plain load.
__global__ void expanded(const float *in, float *out) {
    int *place = (int *)out + (threadIdx.x & 31);
    for (int turn = 0; turn < 3; turn++) __hip_atomic_fetch_xor(place, 1, __ATOMIC_RELAXED, DEVICE);
    __atomic_fetch_nand(place, -1, __ATOMIC_RELAXED);
}
// Which of the waves that write the same comes last makes no difference.
__global__ void same(const float *in, float *out) {
    __shared__ float all[64];
    all[threadIdx.x & 63] = in[threadIdx.x & 63];
    __syncthreads();
    out[threadIdx.x & 63] = all[63 - (threadIdx.x & 63)];
}
"""
GRID, BLOCK = 4, 256
GIVEN = torch.arange(256.0)
WANTED = {
    "lock": (0, GIVEN[::64].sum().repeat(GRID)),
    "ring": (0, (4 * GIVEN[:64].flip(0) + 6).repeat(3 * GRID)),
    "ring_in_memory": (0, (4 * GIVEN[:64].flip(0) + 6).repeat(3 * GRID)),
    "chain": (0, GIVEN[:64].flip(0).repeat(GRID)),
    "last": (0, GRID * GIVEN.sum().reshape(1)),
    "serial": (0, GRID * GIVEN),
    "meet": (1024, torch.cat([GIVEN + (group + 1) % GRID for group in range(GRID)])),
    "expanded": (0, torch.zeros(32)),
    "same": (0, GIVEN[:64].flip(0)),
    "loop": (0, torch.cat([GIVEN[-32:], torch.zeros(32), GIVEN[-1:].repeat(GRID)])),
}
"""Offset and values of each kernel's result."""


@pytest.mark.parametrize("arch", NAMES)
@pytest.mark.parametrize("name", WANTED)
def test_a_correct_handover_is_not_reported(name: str, arch: str) -> None:
    module = wb.compile(SOURCE, arch=arch, name="handover.hip")
    out = torch.zeros(4096)
    result = wb.sanitize(module[name][GRID, BLOCK], GIVEN, out, device=f"emulated:{arch}")
    assert result.passed, str(result)
    start, expected = WANTED[name]
    assert torch.equal(out[start : start + len(expected)], expected)


ONCE = r"""
#include <hip/hip_runtime.h>
#define GROUP __HIP_MEMORY_SCOPE_WORKGROUP
#define KERNEL(name, set, seen)                                                                  \
    __global__ void name(const float *in, float *out) {                                          \
        __shared__ float s[64];                                                                  \
        __shared__ int flag;                                                                     \
        if (threadIdx.x == 0) flag = 0;                                                          \
        __syncthreads();                                                                         \
        unsigned lane = threadIdx.x & 63;                                                        \
        if (threadIdx.x < 64) {                                                                  \
            s[lane] = in[lane];                                                                  \
            if (lane == 0) set;                                                                  \
        } else if (seen)                                                                         \
            out[threadIdx.x] = s[63 - lane];                                                     \
    }
#define STORE __hip_atomic_store(&flag, 1, __ATOMIC_RELEASE, GROUP)
#define SET __hip_atomic_fetch_or(&flag, 1, __ATOMIC_RELEASE, GROUP)
#define LOADED __hip_atomic_load(&flag, __ATOMIC_ACQUIRE, GROUP)
#define ASKED __hip_atomic_fetch_max(&flag, 0, __ATOMIC_ACQUIRE, GROUP)
KERNEL(store_load, STORE, LOADED)
KERNEL(store_ask, STORE, ASKED)
KERNEL(set_load, SET, LOADED)
KERNEL(set_ask, SET, ASKED)
"""


@pytest.mark.parametrize("name", ["store_load", "store_ask", "set_load", "set_ask"])
def test_a_flag_that_is_read_once(name: str) -> None:
    """Plain accesses on one side look like data behind a forgotten barrier; atomics on both sides show the
    intent."""
    module = wb.compile(ONCE, arch="gfx950", name="once.hip")
    result = wb.sanitize(module[name][1, 128], GIVEN, torch.zeros(128), device="emulated:gfx950")
    assert result.passed == (name == "set_ask"), str(result)
    assert all("race in shared memory" in finding.message for finding in result.findings), str(result)
