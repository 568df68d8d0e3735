"""The interface as big kernels use it."""

from __future__ import annotations

import torch
from tile_cases import random

import workbench as wb
from workbench.runtime import device

BIG = """
#include "kittens.cuh"
using namespace kittens;

constexpr int TILE = 256, HALF = TILE / 2, K_STEP = 64, WARPS_M = 2, WARPS_N = 4;
constexpr int NUM_WARPS = WARPS_M * WARPS_N, NUM_THREADS = NUM_WARPS * WARP_THREADS;
constexpr int REG_M = HALF / WARPS_M, REG_N = HALF / WARPS_N;
using G = kittens::group<NUM_WARPS>;
using ST_A = st_bf<HALF, K_STEP, st_16x32_s>;
using ST_B = st_bf<HALF, K_STEP, st_16x32_s>;

struct big_globals {
    gl<bf16, -1, -1, -1, -1> a, b, c;
    hipStream_t stream;
};

__global__ __launch_bounds__(NUM_THREADS, 2) void big(const big_globals g) {
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al((int *)&__shm[0]);
    ST_A(&As)[2][2] = al.allocate<ST_A, 2, 2>();
    ST_B(&Bs)[2][2] = al.allocate<ST_B, 2, 2>();
    rt_bf<REG_M, K_STEP, row_l, rt_16x32_s> a_tile;
    rt_bf<REG_N, K_STEP, row_l, rt_16x32_s> b_tile[2];
    rt_fl<REG_M, REG_N, col_l, rt_16x16_s> accum[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) zero(accum[i][j]);

    const int row = blockIdx.x, col = blockIdx.y, steps = static_cast<int>(g.a.cols()) / K_STEP;
    const int warp_row = warpid() / WARPS_N, warp_col = warpid() % WARPS_N;

    using T = typename ST_A::dtype;
    constexpr int bytes_per_memcpy = ST_A::underlying_subtile_bytes_per_thread * NUM_THREADS;
    constexpr int memcpy_per_tile = HALF * K_STEP * sizeof(T) / bytes_per_memcpy;
    static_assert(memcpy_per_tile == G::loads_per_tile<ST_A>);
    uint32_t offsets_a[memcpy_per_tile], offsets_b[memcpy_per_tile];
    G::prefill_swizzled_offsets(As[0][0], g.a, offsets_a);
    G::prefill_swizzled_offsets(Bs[0][0], g.b, offsets_b);
    const bf16 *a_base = (const bf16 *)&g.a[{0, 0, 0, 0}];
    const bf16 *b_base = (const bf16 *)&g.b[{0, 0, 0, 0}];
    const int a_stride = g.a.template stride<2>() * sizeof(bf16);
    const int b_stride = g.b.template stride<2>() * sizeof(bf16);
    i32x4 a_srsrc = make_srsrc(a_base, g.a.rows() * a_stride, a_stride);
    i32x4 b_srsrc = make_srsrc(b_base, g.b.rows() * b_stride, b_stride);

    const auto address = [](const auto &tile) {
        constexpr int per_warp = ST_A::underlying_subtile_bytes_per_thread * WARP_THREADS;
        return static_cast<uint32_t>(__builtin_amdgcn_readfirstlane(
            static_cast<uint32_t>(reinterpret_cast<uintptr_t>(&tile.data[0])) + warpid() * per_warp));
    };

    int tic = 0, toc = 1;
    const auto start = [&](int half, int step) {
        for (int i = 0; i < 2; i++) {
            ST_A &a = As[half][i];
            ST_B &b = Bs[half][i];
            G::load(a, g.a, {0, 0, row * 2 + i, step}, offsets_a, a_srsrc, a_base, address(a));
            G::load(b, g.b, {0, 0, col * 2 + i, step}, offsets_b, b_srsrc, b_base, address(b));
        }
    };
    start(tic, 0);
    for (int step = 0; step < steps; step++, tic ^= 1, toc ^= 1) {
        asm volatile("s_waitcnt vmcnt(0)");
        __builtin_amdgcn_s_barrier();
        if (step + 1 < steps) start(toc, step + 1);
        for (int j = 0; j < 2; j++)
            load(b_tile[j], subtile_inplace<REG_N, K_STEP>(Bs[tic][j], {warp_col, 0}));
        for (int i = 0; i < 2; i++) {
            load(a_tile, subtile_inplace<REG_M, K_STEP>(As[tic][i], {warp_row, 0}));
            asm volatile("s_waitcnt lgkmcnt(0)");
            __builtin_amdgcn_sched_barrier(0);
            __builtin_amdgcn_s_setprio(1);
            for (int j = 0; j < 2; j++) mma_ABt(accum[i][j], a_tile, b_tile[j], accum[i][j]);
            __builtin_amdgcn_s_setprio(0);
        }
        __builtin_amdgcn_s_barrier();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const int down = (row * 2 + i) * WARPS_M + warp_row, along = (col * 2 + j) * WARPS_N + warp_col;
            store(g.c, accum[i][j], {0, 0, down, along});
        }
}
"""


def test_eight_waves_in_the_style_of_big_kernels() -> None:
    """256 x 256 tiles, 8 waves, 128 KB of shared memory; the kernel makes addresses and resources itself."""
    module = wb.compile(BIG, arch="gfx950", name="big.hip", flags=("-Wall", "-Wextra"))
    assert not module.result.diagnostics
    resources = module["big"].resources_at(512, 131072)
    assert resources.scratch == 0
    a, b = random(512, 192, dtype=torch.bfloat16, seed=1), random(256, 192, dtype=torch.bfloat16, seed=2)
    c = torch.full((512, 256), float("nan"), dtype=torch.bfloat16)
    module["big"].launch(
        wb.Launch((2, 1), 512, 131072), (), {"a": a, "b": b, "c": c}, device=device("emulated:gfx950")
    )
    torch.testing.assert_close(c.double(), a.double() @ b.double().T, rtol=8e-3, atol=1e-2)
