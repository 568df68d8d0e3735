"""Clusters of work-groups on gfx1250, their barrier and their copies; named barriers in a work-group."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

import workbench as wb
from workbench import errors, runtime
from workbench.emulator import hip as emulated
from workbench.emulator.hip import structures
from workbench.kernel import Module

torch = pytest.importorskip("torch")

SOURCE = r"""
#include <hip/hip_runtime.h>
#define IDS \
    const int x = __builtin_amdgcn_workgroup_id_x(), y = __builtin_amdgcn_workgroup_id_y(), \
              z = __builtin_amdgcn_workgroup_id_z(); \
    int *at = out + 16 * (x + gridDim.x * (y + gridDim.y * z)); \
    at[0] = x; at[1] = y; at[2] = z; \
    at[3] = __builtin_amdgcn_cluster_id_x(); at[4] = __builtin_amdgcn_cluster_id_y(); \
    at[5] = __builtin_amdgcn_cluster_id_z(); at[6] = __builtin_amdgcn_cluster_workgroup_id_x(); \
    at[7] = __builtin_amdgcn_cluster_workgroup_id_y(); at[8] = __builtin_amdgcn_cluster_workgroup_id_z(); \
    at[9] = __builtin_amdgcn_cluster_workgroup_flat_id(); \
    at[10] = __builtin_amdgcn_cluster_workgroup_max_flat_id(); \
    at[11] = __builtin_amdgcn_cluster_workgroup_max_id_y();
extern "C" __global__ __cluster_dims__(2, 2, 3) void ids(int *out) { IDS }
extern "C" __global__ void no_cluster(int *out) { IDS }

// In each round every work-group adds to its cluster's cell, and all see the sum after the barrier.
extern "C" __global__ __cluster_dims__(4, 2, 1) void rounds(int *cells, int *sums, int n) {
    const int cluster = blockIdx.x / 4 + gridDim.x / 4 * (blockIdx.y / 2);
    const int group = blockIdx.x + gridDim.x * blockIdx.y;
    for (int round = 0; round < n; round++) {
        if (threadIdx.x == 0) atomicAdd(cells + cluster, 1 + group % 3);
        __builtin_amdgcn_s_cluster_barrier();
        if (threadIdx.x == 0) sums[group * n + round] = __hip_atomic_load(cells + cluster, __ATOMIC_RELAXED,
                                                                          __HIP_MEMORY_SCOPE_AGENT);
        __builtin_amdgcn_s_cluster_barrier();
    }
}
extern "C" __global__ __cluster_dims__(2, 1, 1) void leaves(int *out) {
    if (blockIdx.x % 2 == 0) {
        __builtin_amdgcn_s_cluster_barrier();
        out[0] = 1;
    }
}

// One wave signals for its work-group, and goes on before the others have waited: none may miss a round.
extern "C" __global__ __cluster_dims__(2, 1, 1) void ahead(int *out, int n) {
    const int wave = __builtin_amdgcn_readfirstlane(threadIdx.x / 32);
    int rounds = 0;
    for (; rounds < n; rounds++) {
        if (wave == 0) __builtin_amdgcn_s_barrier_signal(-3);
        __builtin_amdgcn_s_barrier_wait(-3);
    }
    if (threadIdx.x % 32 == 0) out[8 * blockIdx.x + wave] = rounds;
}

// Waves 0 and 1 produce, waves 2 and 3 consume what they produced: two named barriers of four signals each.
extern "C" __global__ void named(const int *x, int *out, int n) {
    __shared__ int tile[64];
    const int wave = threadIdx.x / 32, i = threadIdx.x % 64;
    if (wave == 0) {
        asm volatile("s_mov_b32 m0, 0x40001\n s_barrier_init m0");
        asm volatile("s_mov_b32 m0, 0x40002\n s_barrier_init m0");
    }
    __syncthreads();
    if (wave < 2) asm volatile("s_mov_b32 m0, 2\n s_barrier_join m0");
    else asm volatile("s_barrier_join 1");
    int state = 0;
    for (int round = 0; round < n; round++) {
        if (wave < 2) {
            tile[i] = x[64 * round + i];
            asm volatile("s_wait_dscnt 0\n s_barrier_signal 1\n s_barrier_signal 2" ::: "memory");
            asm volatile("s_barrier_wait 1" ::: "memory");
        } else {
            asm volatile("s_barrier_signal 1\n s_barrier_wait 1" ::: "memory");
            out[64 * round + i] = tile[i];
            asm volatile("s_wait_dscnt 0\n s_mov_b32 m0, 2\n s_barrier_signal m0" ::: "memory");
        }
    }
    __syncthreads();
    asm volatile("s_barrier_signal 1\n s_get_barrier_state %0, 1\n s_wait_kmcnt 0" : "=s"(state));
    if (threadIdx.x == 0) out[64 * n] = state & 0x7f0;
}
extern "C" __global__ void not_joined(int *out) {
    asm volatile("s_barrier_wait 1");
    out[threadIdx.x] = 7;
}
"""


@pytest.fixture(scope="module")
def module() -> Module:
    return wb.compile(SOURCE, arch="gfx1250")


def test_ids(module: Module) -> None:
    grid, cluster = (4, 6, 3), (2, 2, 3)
    for kernel in ("ids", "no_cluster"):
        out = torch.full((3, 6, 4, 16), -1, dtype=torch.int32)
        module[kernel][grid, 1](out)
        for z, y, x in np.ndindex(3, 6, 4):
            row = out[z, y, x].tolist()
            assert row[:3] == [x, y, z]
            if kernel == "no_cluster":
                assert row[3:12] == [x, y, z, 0, 0, 0, 0, 0, 0]
                continue
            inside = [place % across for place, across in zip((x, y, z), cluster, strict=True)]
            rank = inside[0] + 2 * (inside[1] + 2 * inside[2])
            assert row[3:6] == [x // 2, y // 2, z // 3]
            assert row[6:12] == [*inside, rank, 11, 1]


def test_barrier_of_a_cluster(module: Module) -> None:
    grid, n = (8, 6), 4
    cells, sums = torch.zeros(6, dtype=torch.int32), torch.zeros(6, 8, n, dtype=torch.int32)
    module["rounds"][grid, 64](cells, sums, n)
    for y, x in np.ndindex(6, 8):
        members = [
            8 * j + i for j in range(y // 2 * 2, y // 2 * 2 + 2) for i in range(x // 4 * 4, x // 4 * 4 + 4)
        ]
        total = sum(1 + group % 3 for group in members)
        assert sums[y, x].tolist() == [total * (round + 1) for round in range(n)]


def test_a_wave_that_is_late_at_the_barrier_of_its_cluster(module: Module) -> None:
    out = torch.zeros(4, 8, dtype=torch.int32)
    module["ahead"][4, 256](out, 5)
    assert torch.equal(out, torch.full((4, 8), 5, dtype=torch.int32))


def test_a_cluster_whose_barrier_lacks_a_signal(module: Module) -> None:
    with pytest.raises(errors.KernelDeadlock, match=r"work-group 0 waits at cell\.hip"):
        module["leaves"][2, 32](torch.zeros(1, dtype=torch.int32))


def test_grids_that_clusters_do_not_fit(module: Module) -> None:
    out = torch.zeros(1, dtype=torch.int32)
    with pytest.raises(errors.LaunchError, match=r"grid \(3, 1, 1\) does not consist of whole clusters"):
        module["leaves"][3, 32](out)


def test_named_barriers(module: Module) -> None:
    n = 5
    x, out = torch.arange(64 * n, dtype=torch.int32), torch.zeros(64 * n + 1, dtype=torch.int32)
    module["named"][1, 128](x, out, n)
    assert torch.equal(out[:-1], x)
    assert out[-1] == 4 << 4
    out = torch.zeros(64, dtype=torch.int32)
    module["not_joined"][1, 64](out)
    assert torch.equal(out, torch.full((64,), 7, dtype=torch.int32))


def test_named_barriers_order_what_the_sanitizer_sees(module: Module) -> None:
    """Producers and consumers that wait for one another in every round have no race."""
    x, out = torch.arange(64 * 5, dtype=torch.int32), torch.zeros(64 * 5 + 1, dtype=torch.int32)
    result = wb.sanitize(module["named"][1, 128], x, out, 5)
    assert result.passed, str(result)


@pytest.mark.parametrize(
    ("groups", "cluster", "status"),
    [
        (4, (2, 1, 1), 0),
        (4, (0, 1, 1), structures.INVALID_CONFIGURATION),
        (3, (2, 1, 1), structures.INVALID_CONFIGURATION),
        (32, (32, 1, 1), structures.INVALID_CONFIGURATION),
    ],
)
def test_clusters_of_a_launch(
    module: Module, groups: int, cluster: tuple[int, int, int], status: int
) -> None:
    """Work-groups know their place in clusters that the launch alone asks for; bad ones have clr's code."""
    device = runtime.device("emulated:gfx1250")
    library = emulated.load().handle
    loaded, function, memory = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    assert library.hipSetDevice(device.ordinal) == 0
    assert library.hipModuleLoadData(ctypes.byref(loaded), module.code_object.data) == 0
    assert library.hipModuleGetFunction(ctypes.byref(function), loaded, b"no_cluster") == 0
    out = np.zeros((groups, 16), dtype=np.int32)
    assert library.hipMalloc(ctypes.byref(memory), ctypes.c_size_t(out.nbytes)) == 0
    attribute = structures.LaunchAttribute(
        id=structures.ATTRIBUTE_CLUSTER_DIMENSION, words=(ctypes.c_uint * 16)(*cluster)
    )
    config = structures.DriverLaunchConfig(attrs=ctypes.addressof(attribute), numAttrs=1)
    config.gridDim = structures.Dim3(groups, 1, 1)
    config.blockDim = structures.Dim3(1, 1, 1)
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(memory))
    assert library.hipDrvLaunchKernelEx(ctypes.byref(config), function, arguments, None) == status
    if status == 0:
        size = ctypes.c_size_t(out.nbytes)
        assert library.hipMemcpy(out.ctypes.data_as(ctypes.c_void_p), memory, size, 2) == 0
        assert out[:, [0, 3, 6, 10]].tolist() == [[n, n // 2, n % 2, 1] for n in range(groups)]
    if cluster[0] == 32:
        further = structures.LaunchConfig(attrs=ctypes.addressof(attribute), numAttrs=1)
        further.gridDim, further.blockDim = config.gridDim, config.blockDim
        status = library.hipLaunchKernelExC(ctypes.byref(further), function, arguments)
        assert status == structures.INVALID_CLUSTER_SIZE
    assert library.hipFree(memory) == 0
    assert library.hipModuleUnload(loaded) == 0
    assert library.hipSetDevice(0) == 0
