/**
 * @file
 * @brief Attention, forward, by eight waves that take turns at memory and at the matrix cores (gfx950).
 *
 * A work-group has 256 queries of one head, which share each load of keys and values: half the loads, and half of what
 * belongs to them, of two work-groups of `attention.cuh`. The schedule is `schedules::ping_pong`: of the two waves on a
 * SIMD one computes while the other reads shared memory.
 *
 * A block of keys takes two turns:
 *
 *     turn 2 i      memory: K(i) to registers, K(i + 1) to shared    compute: S(i) = K(i) Qᵀ, exp2 of S(i - 1)
 *     turn 2 i + 1  memory: V(i - 1) to registers, V(i) to shared    compute: O += V(i - 1)ᵀ P(i - 1), max of S(i)
 *
 * so that in each compute cluster vector instructions of one block stand beside matrix instructions of another, which
 * do not wait for them. With head dimensions of 128 that takes all registers: clang 22 spills none, clang 21 some, and
 * reads seven of them in each block. Loads past the last block are of rows that do not exist or that nobody sees.
 */
#pragma once

#include "attention.cuh"

namespace kittens::families::attention {

inline constexpr int PING_PONG_WARPS = 8;
inline constexpr int PING_PONG_QUERIES = PING_PONG_WARPS * WARP_QUERIES;
inline constexpr int PING_PONG_KEYS = 64;

/** Loads of a head's blocks one after the other, by all waves of a work-group, each into the next of two tiles. */
template <int waves, typename ST, typename GL>
struct head_stream {
    using workers = group<waves>;
    static constexpr int loads = workers::template loads_per_tile<ST>;
    static constexpr auto row_bytes = static_cast<uint32_t>(ST::cols * sizeof(typename GL::dtype));
    const GL &rows;
    ST &first;
    /** Of the block that is loaded next: where it begins, and what is left from there, less than zero at the end. */
    const typename GL::dtype *from;
    int left;
    uint32_t lds, toggle;
    int step;
    uint32_t offsets[loads];

    /** @param rows of one head; @param begin block to begin with. */
    __device__ inline head_stream(const GL &rows, ST &first, int begin)
        : rows(rows), first(first), from(&rows[{0, begin * ST::rows, 0, 0}]), lds(workers::lds_base(first)),
          toggle(lds ^ workers::lds_base((&first)[1])) {
        const int pitch = static_cast<int>(rows.template stride<1>() * sizeof(typename GL::dtype));
        step = ST::rows * pitch;
        // A sequence may have 4 GiB, and a range has 32 bits: what is further than half of that is read in order.
        const int64_t after = (static_cast<int64_t>(rows.depth()) - begin * ST::rows - 1) * pitch + row_bytes;
        left = after > 0x7fffffff ? 0x7fffffff : static_cast<int>(after);
        workers::template prefill_swizzled_offsets<1>(first, rows, offsets);
    }
    __device__ inline void start() {
        const i32x4 resource = make_srsrc(from, left < 0 ? 0 : static_cast<uint32_t>(left));
        workers::template load_async<1>(
            first, GL(const_cast<typename GL::dtype *>(from), nullptr, 1, nullptr, nullptr, 0, rows.depth_stride, 0),
            {0, 0, 0, 0}, offsets, resource, from, lds);
        from = reinterpret_cast<const typename GL::dtype *>(reinterpret_cast<const char *>(from) + step);
        left -= step;
        lds ^= toggle;
    }
};

template <typename T, int D, bool capped>
__device__ inline void forward_ping_pong(const forward_globals<T, D, D> &g) {
    using schedule = schedules::ping_pong<PING_PONG_WARPS>;
    constexpr int BLOCK = PING_PONG_KEYS;
    using shared = st<T, BLOCK, D, st_32x32_s>;
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
    shared(&ks)[2] = al.allocate<shared, 2>();
    shared(&vs)[2] = al.allocate<shared, 2>();

    const forward_part<PING_PONG_QUERIES> part(g);
    if (part.empty()) return;
    const int n_k = part.n_k, begin = part.begin(BLOCK), blocks = part.end(BLOCK) - begin;
    const band seen = part.seen;
    const int tile = part.block * PING_PONG_WARPS + warpid();
    const int query = tile * WARP_QUERIES, last_query = query + WARP_QUERIES - 1;

    const auto k_rows = head_of(g.k, part.batch, part.first_k, n_k, part.head_k);
    const auto v_rows = head_of(g.v, part.batch, part.first_k, n_k, part.head_k);
    head_stream<PING_PONG_WARPS, shared, decltype(k_rows)> stream_k(k_rows, ks[0], begin);
    head_stream<PING_PONG_WARPS, shared, decltype(v_rows)> stream_v(v_rows, vs[0], begin);
    constexpr int loads = decltype(stream_k)::loads;

    rt<T, WARP_QUERIES, D, row_l, rt_32x16_s> q;
    using scores = rt<float, BLOCK, WARP_QUERIES, col_l, rt_32x32_s>;
    rt<float, D, WARP_QUERIES, col_l, rt_32x32_s> o;
    rt<T, BLOCK, WARP_QUERIES, col_l, rt_16x32_4_s> p;
    rt<T, BLOCK, D, row_l, rt_32x16_s> k;
    rt<T, BLOCK, D, col_l, rt_16x32_4_s> v;
    typename scores::row_vec maximum, sum;
    neg_infty(maximum);
    zero(sum);
    zero(o);
    float &m = maximum.data[0][0], &l = sum.data[0][0];
    if (g.sinks) {
        m = g.sinks[part.head] * LOG2_E;
        l = 1.0f;
    }
    // What is subtracted from logits to base 2, and by what O of the blocks before is still to be multiplied.
    float base = g.sinks ? m : 0.0f, factor = 1.0f;
    // Logits to base 2 are this times what the matrix instructions give; soft-capped ones are there already.
    const float unit = capped ? 1.0f : g.scale * LOG2_E;

    const auto turn = [&](auto memory, auto compute) {
        schedule::template turns<0, 1>([&](auto) { memory(); }, [&](auto) { compute(); });
    };
    const auto read_keys = [&](int i) {
        load(k, ks[i & 1]);
        stream_k.start();
        wait_vmcnt<loads>();
    };
    const auto read_values = [&](int i) {
        load(v, vs[i & 1]);
        stream_v.start();
        wait_vmcnt<loads>();
    };
    const auto rescale = [&] {
        if (__any(factor != 1.0f)) {
            mul(o, o, factor);
            factor = 1.0f;
        }
    };
    /** Weights from a block's exponents, which take their place. */
    const auto weigh = [&](scores &s) {
        exp2(s, s);
        typename scores::row_vec added;
        col_sum(added, s);
        l += added.data[0][0];
        rt<T, BLOCK, WARP_QUERIES, col_l, rt_32x32_s> rounded;
        copy_numbers(rounded, s);
        swap_layout(p, rounded);
    };
    const auto multiply_keys = [&](scores &s) {
        zero(s);
        mma_ABt(s, k, q, s);
    };
    /** Exponents of block i from what its product gave, less a maximum that is raised where it must be. */
    const auto subtract = [&](scores &s) {
        typename scores::row_vec largest;
        col_max(largest, s);
        const float top = largest.data[0][0] * unit;
        if (__any(top - m > 8.0f)) {
            const float raised = __builtin_fmaxf(m, top);
            base = raised == MINUS_INFINITY ? 0.0f : raised;
            factor = __builtin_amdgcn_exp2f(m - base);
            m = raised;
            l *= factor;
        }
        map(s, s, [&](float x) { return __builtin_fmaf(x, unit, -base); });
    };
    const auto mask = [&](scores &s, int i) {
        if constexpr (capped)
            map(s, s, [&](float x) { return g.softcap * LOG2_E * tanh_by_exp2(x * (g.scale / g.softcap)); });
        const int key = (begin + i) * BLOCK;
        if ((key + BLOCK > n_k) | seen.cuts(query, last_query, key, BLOCK))
            keep_rows(
                s, [&](int col) { return seen.begin(query + col) - key; },
                [&](int col) { return seen.end(query + col, n_k) - key; });
    };
    /** The two turns of block i, whose logits go to `s`, beside what is left of the block before, in `before`. */
    const auto step = [&](int i, scores &s, scores &before) {
        turn([&] { read_keys(i); },
             [&] {
                 rescale();
                 multiply_keys(s);
                 weigh(before);
             });
        turn([&] { read_values(i - 1); },
             [&] {
                 mask(s, i);
                 mma_AtB(o, v, p, o);
                 subtract(s);
             });
    };
    const auto last = [&](int i, scores &s) {
        turn([&] { read_keys(i); },
             [&] {
                 rescale();
                 weigh(s);
             });
        turn([&] { read_values(i - 1); }, [&] { mma_AtB(o, v, p, o); });
    };

    schedule::run(
        [&] {
            if (blocks > 0) stream_k.start();
            load<1>(q, head_of(g.q, part.batch, part.first_q, part.n_q, part.head), {0, tile, 0, 0});
            wait_vmcnt<0>();
        },
        [&] {
            if (blocks <= 0) return;
            scores even, odd;
            turn([&] { read_keys(0); }, [&] { multiply_keys(even); });
            turn(
                [&] {
                    stream_v.start();
                    wait_vmcnt<loads>();
                },
                [&] {
                    mask(even, 0);
                    subtract(even);
                });
            // Blocks in pairs, so that each has registers of its own: where one is missing, one that nobody sees.
            int i = 1;
            for (; i < blocks; i += 2) {
                step(i, odd, even);
                step(i + 1, even, odd);
            }
            last(i, even);
        },
        [&] {
            wait_vmcnt<0>();
            part.finish(g, tile, o, sum, base);
        });
}

} // namespace kittens::families::attention
