/**
 * @file
 * @brief Matrix multiplication C = A Bᵀ of bf16 matrices, summed in float.
 *
 * A is M x K and B is N x K, both row-major, so that a lane's elements along K are neighbours in memory. A work-group
 * of 4 waves computes a TILE_M x TILE_N tile of C, a wave a quarter of it. Along K it goes in steps: while the matrix
 * cores work on one pair of shared tiles, the next pair is on its way from global memory straight into the other half
 * of shared memory.
 *
 * Rows past M and N and columns past K read as zero, and what is outside of C is not written, so only K must be a
 * multiple of 8: rows begin at multiples of 16 bytes.
 */
#include "kittens.cuh"

using namespace kittens;

#ifndef GEMM_TILE
#define GEMM_TILE 128
#endif

constexpr int TILE_M = GEMM_TILE;
constexpr int TILE_N = GEMM_TILE;
#if defined(KITTENS_CDNA4)
constexpr int K_STEP = 64;
#else
constexpr int K_STEP = 32; // two work-groups fit the 64 KB of LDS
#endif

constexpr int WARPS_M = 2;
constexpr int WARPS_N = 2;
constexpr int NUM_WARPS = WARPS_M * WARPS_N;
constexpr int NUM_THREADS = NUM_WARPS * WARP_THREADS;
constexpr int WARP_M = TILE_M / WARPS_M;
constexpr int WARP_N = TILE_N / WARPS_N;

using G = group<NUM_WARPS>;
using shared_a = st_bf<TILE_M, K_STEP, st_16x32_s>;
using shared_b = st_bf<TILE_N, K_STEP, st_16x32_s>;

struct gemm_globals {
    using matrix = gl<bf16, 1, 1, -1, -1>;

    matrix a, b, c;
    hipStream_t stream;

    dim3 grid() const {
        return dim3(static_cast<unsigned>(ceil_div(c.rows(), size_t{TILE_M}) * ceil_div(c.cols(), size_t{TILE_N})));
    }
    dim3 block() const { return dim3(NUM_THREADS); }
    size_t dynamic_shared_memory() const { return 2 * (sizeof(shared_a) + sizeof(shared_b)); }
};

__global__ __launch_bounds__(NUM_THREADS, 2) void gemm_bf16(const gemm_globals g) {
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
    shared_a(&As)[2] = al.allocate<shared_a, 2>();
    shared_b(&Bs)[2] = al.allocate<shared_b, 2>();

    const int m = static_cast<int>(g.c.rows()), n = static_cast<int>(g.c.cols()), k = static_cast<int>(g.a.cols());
    const int2 at = schedules::chiplet_tile(static_cast<int>(blockIdx.x), ceil_div(m, TILE_M), ceil_div(n, TILE_N), 2);
    const int row = at.x, col = at.y;

    // Everything about the loads that does not change along K.
    uint32_t offsets_a[G::loads_per_tile<shared_a>], offsets_b[G::loads_per_tile<shared_b>];
    G::prefill_swizzled_offsets(As[0], g.a, offsets_a);
    G::prefill_swizzled_offsets(Bs[0], g.b, offsets_b);
    const bf16 *base_a = &g.a[{0, 0, row * TILE_M, 0}];
    const bf16 *base_b = &g.b[{0, 0, col * TILE_N, 0}];
    const int rows_a = m - row * TILE_M < TILE_M ? m - row * TILE_M : TILE_M;
    const int rows_b = n - col * TILE_N < TILE_N ? n - col * TILE_N : TILE_N;
    const uint32_t pitch = static_cast<uint32_t>(k) * sizeof(bf16);
    const i32x4 resource_a = make_srsrc(base_a, static_cast<uint32_t>(rows_a) * pitch);
    const i32x4 resource_b = make_srsrc(base_b, static_cast<uint32_t>(rows_b) * pitch);
    const uint32_t lds_a[2] = {G::lds_base(As[0]), G::lds_base(As[1])};
    const uint32_t lds_b[2] = {G::lds_base(Bs[0]), G::lds_base(Bs[1])};

    const auto start_loads = [&](int step, int half) {
        if ((step + 1) * K_STEP <= k) {
            G::load_async(As[half], g.a, {0, 0, row, step}, offsets_a, resource_a, base_a, lds_a[half]);
            G::load_async(Bs[half], g.b, {0, 0, col, step}, offsets_b, resource_b, base_b, lds_b[half]);
        } else {
            G::load_bounded_async(As[half], g.a, {0, 0, row, step});
            G::load_bounded_async(Bs[half], g.b, {0, 0, col, step});
        }
    };

    rt_bf<WARP_M, K_STEP, row_l, rt_16x32_s> a;
    rt_bf<WARP_N, K_STEP, row_l, rt_16x32_s> b;
    // In the row layout a lane holds four neighbours in a row of C, which it stores at once.
    rt_fl<WARP_M, WARP_N, row_l, rt_16x16_s> c;
    zero(c);

    const int warp_row = warpid() / WARPS_N, warp_col = warpid() % WARPS_N;
    const int steps = ceil_div(k, K_STEP);
    start_loads(0, 0);
    for (int step = 0, half = 0; step < steps; step++, half ^= 1) {
        // What this step works on is there, and the other half, which the step before worked on, is free.
        wait_and_barrier();
        load(a, subtile_inplace<WARP_M, K_STEP>(As[half], {warp_row, 0}));
        load(b, subtile_inplace<WARP_N, K_STEP>(Bs[half], {warp_col, 0}));
        if (step + 1 < steps) start_loads(step + 1, half ^ 1);
        // Left alone the compiler reads each operand just before its use, and every use waits for shared memory.
        __builtin_amdgcn_sched_barrier(0);
        mma_ABt(c, a, b, c);
    }

    rt_bf<WARP_M, WARP_N, row_l, rt_16x16_s> result;
    copy(result, c);
    const coord<decltype(c)> to(0, 0, row * WARPS_M + warp_row, col * WARPS_N + warp_col);
    if ((col + 1) * TILE_N <= n && n % 4 == 0)
        store(g.c, result, to);
    else
        store_bounded(g.c, result, to);
}
