/**
 * @file
 * @brief Attention, forward, by eight waves that alternate between memory and the matrix cores (gfx950).
 *
 * A work-group has 256 queries of one head, which share each load of keys and values: half the loads, and half of
 * the work per load, of two work-groups of `attention.cuh`. The schedule is `schedules::ping_pong`: of the two waves on
 * a SIMD one computes while the other reads shared memory.
 *
 * A block of keys takes two turns:
 *
 *     turn 2 i      memory: K(i) to registers, K(i + 1) to shared    compute: S(i) = K(i) Qᵀ, exp2 of S(i - 1)
 *     turn 2 i + 1  memory: V(i - 1) to registers, V(i) to shared    compute: O += V(i - 1)ᵀ P(i - 1), max of S(i)
 *
 * so that in each compute cluster, vector instructions of one block overlap independent matrix instructions of another.
 * Each wave processes blocks that all of its queries see whole in a loop without masks, and blocks on the edges of the
 * band in copies of that loop with masks. With head dimensions of 128, all registers are in use: clang 22 spills none,
 * clang 21 some. Loads past the last block read rows that do not exist or that no query sees.
 */
#pragma once

#include "attention.cuh"

namespace kittens::families::attention {

inline constexpr int PING_PONG_WARPS = 8;
inline constexpr int PING_PONG_QUERIES = PING_PONG_WARPS * WARP_QUERIES;
inline constexpr int PING_PONG_KEYS = 64;

/** Loads of a head's blocks in order, by all waves of a work-group, alternately into two tiles. */
template <int waves, typename ST, typename GL>
struct head_stream {
    using stream = tile_stream<waves, ST>;
    static constexpr int loads = stream::loads;
    const stream offsets;
    /** The head's rows from the next block to load on: their beginning and their size in bytes, zero at the end. */
    uint64_t rest;
    uint32_t left;
    uint32_t lds, toggle, step;

    /** @param rows rows of one head; @param begin first block. */
    __device__ inline head_stream(const GL &rows, ST &first, int begin)
        : offsets(pitch_of(rows)), lds(stream::lds_base(first)), toggle(lds ^ stream::lds_base((&first)[1])),
          step(ST::rows * pitch_of(rows)) {
        const int count = static_cast<int>(rows.depth()) - begin * ST::rows;
        constexpr auto row_bytes = static_cast<uint32_t>(ST::cols * sizeof(typename GL::dtype));
        const i32x4 resource =
            stream::resource(&rows[{0, begin * ST::rows, 0, 0}],
                             count > 0 ? static_cast<uint32_t>(count - 1) * pitch_of(rows) + row_bytes : 0);
        rest = static_cast<uint64_t>(resource[1]) << 32 | static_cast<uint32_t>(resource[0]);
        left = static_cast<uint32_t>(resource[2]);
    }
    __device__ inline void start() {
        offsets.start(make_buffer_resource(rest, left, kittens::detail::RESOURCE_FORMAT), 0, lds);
        rest += step;
        // LLVM has a saturating subtraction for vector registers only; this must not become one.
        uint32_t less = left - step;
        asm("" : "+s"(less));
        left = left > step ? less : 0;
        lds ^= toggle;
    }

  private:
    static __device__ inline uint32_t pitch_of(const GL &rows) {
        return static_cast<uint32_t>(rows.template stride<1>() * sizeof(typename GL::dtype));
    }
};

/** A value that is the same in all lanes, in a scalar register. */
__device__ inline float uniform(float value) {
    // The compiler computes floats in vector registers, and leaves uniform values there.
    asm("" : "+v"(value));
    return kittens::detail::bit_cast<float>(__builtin_amdgcn_readfirstlane(kittens::detail::bit_cast<int>(value)));
}

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
    const int n_k = part.of.n_k, begin = part.begin(BLOCK), blocks = part.end(BLOCK) - begin;
    const band seen = part.seen;
    const int tile = part.block * PING_PONG_WARPS + warpid();
    const int query = tile * WARP_QUERIES, last_query = query + WARP_QUERIES - 1;

    // Blocks whose keys all of this wave's queries see; those before and after, on the band's edges, are masked.
    // Missing queries may see no keys, and all waves take the same number of turns.
    const int first_whole = kittens::detail::min(ceil_div(seen.begin(last_query), BLOCK) - begin, blocks);
    const int end_whole = seen.end(query, n_k) / BLOCK - begin;

    const auto k_rows = part.of.keys_of(g.k, part.head_k);
    const auto v_rows = part.of.keys_of(g.v, part.head_k);
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
    // Numbers subtracted from logits to base 2, and the pending factors of O from the blocks before.
    float base = g.sinks ? m : 0.0f, factor = 1.0f;
    // Factor from results of the matrix instructions to logits to base 2; soft-capped ones need none.
    const float unit = capped ? 1.0f : uniform(g.scale * LOG2_E);

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
    /** Computes weights from a block's exponents, in place. */
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
    /** Exponents of block i from its product, minus the maximum, which is raised if necessary. */
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
        using pair = typename scores::dtype;
        const pair units = base_types::pack(unit), less = base_types::pack(-base);
#pragma unroll
        for (int i = 0; i < scores::height; i++)
#pragma unroll
            for (pair &x : s.tiles[i][0].data) x = base_ops::fma_AxBtC::op(x, units, less);
    };
    const auto mask = [&](scores &s, int i, auto masked) {
        if constexpr (capped)
            map(s, s, [&](float x) { return g.softcap * LOG2_E * tanh_by_exp2(x * (g.scale / g.softcap)); });
        if constexpr (!decltype(masked)::v) return;
        const int key = (begin + i) * BLOCK;
        if ((key + BLOCK > n_k) | seen.cuts(query, last_query, key, BLOCK))
            keep_rows(
                s, [&](int col) { return seen.begin(query + col) - key; },
                [&](int col) { return seen.end(query + col, n_k) - key; });
    };
    /** The two turns of block i, with logits in `s`, and the rest of the block before, in `before`. */
    const auto step = [&](int i, scores &s, scores &before, auto masked) {
        turn([&] { read_keys(i); },
             [&] {
                 rescale();
                 multiply_keys(s);
                 weigh(before);
             });
        turn([&] { read_values(i - 1); },
             [&] {
                 mask(s, i, masked);
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
            load<1>(q, part.of.queries_of(g.q, part.head), {0, tile, 0, 0});
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
                    mask(even, 0, schedules::index<1>{});
                    subtract(even);
                });
            // Blocks in pairs, so that each has its own registers: a missing one is replaced by one that no query
            // sees.
            const auto pairs = [&](int i, int end, auto masked) {
                for (; i < end; i += 2) {
                    step(i, odd, even, masked);
                    step(i + 1, even, odd, masked);
                }
                return i;
            };
            int i = pairs(1, first_whole, schedules::index<1>{});
            i = pairs(i, end_whole - 1, schedules::index<0>{});
            i = pairs(i, blocks, schedules::index<1>{});
            last(i, even);
        },
        [&] {
            wait_vmcnt<0>();
            part.finish(g, tile, o, sum, base);
        });
}

} // namespace kittens::families::attention
