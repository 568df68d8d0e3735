/**
 * @file
 * @brief Attention, forward: O = softmax(scale Q Kᵀ) V and the logarithm of the softmax's denominator.
 *
 * A work-group of four waves computes 128 queries of one head, a wave 32 of them; waves of 32 lanes 16. Blocks of keys
 * and values are loaded straight from global to shared memory, which holds two of each: the next block is loaded during
 * the computation. Work-groups are small enough that a compute unit runs two, so that on each SIMD one wave's softmax
 * overlaps the other's matrix instructions.
 *
 * A wave computes Sᵀ = K Qᵀ, so that a lane holds keys of one query: maximum and sum over keys stay within a lane
 * except for one exchange, and a query's scale is a value of the lane. The result of that product is, element for
 * element, the operand of Oᵀ += Vᵀ P (with K in runs of 4), so no element of P changes its lane or register.
 *
 * The softmax is online (Milakov and Gimelshein, arXiv 1805.02867), in powers of two. The running maximum is raised,
 * and O rescaled, only when a block exceeds it by more than 2^8 (as in FlashAttention-4); sums in float have room for
 * that.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families::attention {

inline constexpr int WARPS = 4;
inline constexpr int THREADS = WARPS * WARP_THREADS;
#if defined(KITTENS_WAVE32)
/** Base shapes of logits and O, of Q and K, and of V and P; the last has the keys of a lane in the order of the first.
 */
using result_shape = rt_16x16_s;
using head_shape = rt_16x32_s;
#if defined(KITTENS_CDNA5)
using keys_shape = rt_32x16_s;
#else
using keys_shape = rt_16x16_s;
#endif
#else
/** Base shapes of logits and O, of Q and K, and of V and P; the last has the keys of a lane in the order of the first.
 */
using result_shape = rt_32x32_s;
using head_shape = rt_32x16_s;
using keys_shape = rt_16x32_4_s;
#endif

/** Queries per wave and per work-group. */
inline constexpr int WARP_QUERIES = result_shape::cols;
inline constexpr int QUERIES = WARPS * WARP_QUERIES;

inline constexpr float LOG2_E = 1.4426950408889634f;
inline constexpr float LN_2 = 0.6931471805599453f;
inline constexpr float MINUS_INFINITY = -__builtin_inff();

/** Columns of the tiles for heads with D columns: those past D read as zero and are not written. */
template <int D>
inline constexpr int TILE = ceil_div(D, 32) * 32;

/** Waves per SIMD, and so work-groups per compute unit: one if O and its operands take more than 256 registers. */
template <int D, int D_V>
inline constexpr int OCCUPANCY = D + D_V > 320 ? 1 : 2;
/** Keys in a block; shared memory has two blocks per work-group; 64 if the waves' loads do not fill 32. */
template <int D, int D_V>
inline constexpr int KEYS =
    TILE<D> % 64 != 0 || 4 * (TILE<D> + TILE<D_V>)*64 <= MAX_SHARED_MEMORY / OCCUPANCY<D, D_V> ? 64 : 32;

/** Keys that a query sees: k with -left <= k - (query + offset) <= right. */
struct band {
    int left, right, offset;

    /** First key, and one past the last, of `keys` that any of the queries `first` to `last` sees. */
    __device__ inline int begin(int first) const {
        const int at = first + offset - left;
        return at < 0 ? 0 : at;
    }
    __device__ inline int end(int last, int keys) const {
        const int at = last + offset + right + 1;
        return at < keys ? at : keys;
    }
    /** First block of `count` keys that query `last` and those before it see from the block's first key on. */
    __device__ inline int first_whole(int last, int count) const { return ceil_div(begin(last), count); }
    /** One past the last block of `count` keys that query `first` and those after it see up to the block's last key. */
    __device__ inline int last_whole(int first, int keys, int count) const {
        const int at = end(first, keys);
        return at < 0 ? 0 : at / count;
    }
    /**
     * @brief True if some of the queries `first` to `last` do not see some of the keys `key` to `key` + `count` - 1.
     *
     * This is a single condition, not several in sequence: where several paths of different lengths lead from a matrix
     * instruction to an instruction, LLVM counts wait states along the first path that it looks at.
     */
    __device__ inline bool cuts(int first, int last, int key, int count) const {
        return (key < last + offset - left) | (key + count - 1 > first + offset + right);
    }
};

/** Tensors (B, N, H, D), rows with any stride; for packed sequences, B is 1 and `cu_seqlens` holds the first row of
    each. */
template <typename T, int D, int D_V>
struct forward_globals {
    gl_strided<T, -1, -1, -1, D> q, k;
    gl_strided<T, -1, -1, -1, D_V> v, out;
    /** (B, H, N) logarithms, to base e, of the sums of exponentials. */
    gl<float, 1, -1, -1, -1> lse;
    /** For each head, a logit that counts in the denominator only; null for none. */
    const float *sinks;
    /** First query and first key of each sequence, and the end of the last; null for sequences of one length. */
    const int *cu_seqlens_q, *cu_seqlens_k;
    float scale;
    /** Logits s become softcap tanh(s / softcap). */
    float softcap;
    /** Number of keys that a query sees to the left and right of its own position. */
    int left, right;
};

/** Rows of one sequence of a (B, N, H, D) tensor. */
template <typename GL>
__device__ inline GL sequence_of(const GL &whole, int batch, int first, int length) {
    return GL(whole.raw_ptr + whole.offset({batch, first, 0, 0}), size_t{1}, static_cast<size_t>(length), whole.rows(),
              nullptr, 0, whole.depth_stride, whole.rows_stride);
}
/** Rows of a head of one sequence, without those of other heads, whatever the layout. */
template <typename GL>
__device__ inline auto head_of(const GL &whole, int batch, int first, int length, int head) {
    return gl_strided<typename GL::dtype, 1, -1, 1, GL::__c__>(whole.raw_ptr + whole.offset({batch, first, head, 0}),
                                                               nullptr, static_cast<size_t>(length), nullptr, nullptr,
                                                               0, whole.template stride<1>(), 0);
}

/** Loads a tile from row `at` of a head, and stores it; columns past a row's end read as zero and are not written. */
template <typename RT, typename GL, typename COORD>
__device__ inline void load_rows(RT &dst, const GL &rows, const COORD &at) {
    if constexpr (GL::__c__ == RT::cols)
        load<1>(dst, rows, at);
    else
        load_bounded<1>(dst, rows, at);
}
template <typename RT, typename GL, typename COORD>
__device__ inline void store_rows(const GL &rows, const RT &src, const COORD &at) {
    if constexpr (GL::__c__ == RT::cols)
        store<1>(rows, src, at);
    else
        store_bounded<1>(rows, src, at);
}

/** Position and length of a sequence in the tensors; all packed sequences are in batch 0. */
struct sequence_part {
    int first_q = 0, first_k = 0, n_q, n_k, batch;

    template <typename Globals>
    __device__ inline sequence_part(const Globals &g, int sequence)
        : n_q(static_cast<int>(g.q.depth())), n_k(static_cast<int>(g.k.depth())) {
        if (g.cu_seqlens_q) {
            first_q = g.cu_seqlens_q[sequence], n_q = g.cu_seqlens_q[sequence + 1] - first_q;
            first_k = g.cu_seqlens_k[sequence], n_k = g.cu_seqlens_k[sequence + 1] - first_k;
        }
        batch = g.cu_seqlens_q ? 0 : sequence;
    }
    /** The sequence's queries, or keys, of a head. */
    template <typename GL>
    __device__ inline auto queries_of(const GL &whole, int head) const {
        return head_of(whole, batch, first_q, n_q, head);
    }
    template <typename GL>
    __device__ inline auto keys_of(const GL &whole, int head) const {
        return head_of(whole, batch, first_k, n_k, head);
    }
};

/** This work-group's head; those that share keys and values are next to each other on one chiplet. */
__device__ inline int forward_head() {
    const int heads = static_cast<int>(gridDim.x), per_xcd = heads / NUM_XCDS;
    return per_xcd ? chiplet_transform_chunked(static_cast<int>(blockIdx.x), heads, NUM_XCDS, per_xcd)
                   : static_cast<int>(blockIdx.x);
}

/** The work of a work-group: `queries` of one head of a sequence. */
template <int queries>
struct forward_part {
    int head, head_k;
    /** The last queries of a head, which see the most keys, come first. */
    int block;
    sequence_part of;
    band seen;

    template <typename Globals>
    __device__ inline explicit forward_part(const Globals &g)
        : head(forward_head()), head_k(head / (static_cast<int>(gridDim.x) / static_cast<int>(g.k.rows()))),
          block(static_cast<int>(gridDim.y - 1 - blockIdx.y)), of(g, static_cast<int>(blockIdx.z)),
          seen{g.left, g.right, of.n_k - of.n_q} {}
    __device__ inline bool empty() const { return block * queries >= of.n_q; }
    /** First block of `keys` keys, and one past the last, that some of the queries see. */
    __device__ inline int begin(int keys) const { return seen.begin(block * queries) / keys; }
    __device__ inline int end(int keys) const {
        return ceil_div(seen.end(block * queries + queries - 1, of.n_k), keys);
    }
    /** Stores tile `tile` of O, divided by the sums `l` of exponentials relative to `base`, and their logarithms. */
    template <typename Globals, typename O, typename Sum>
    __device__ inline void finish(const Globals &g, int tile, O &o, Sum &sum, float base) const {
        float &l = sum.data[0][0];
        mul(o, o, l == 0.0f ? 0.0f : 1.0f / l);
        rt<float, O::cols, O::rows, row_l, typename O::shape> turned;
        transpose(turned, o);
        store_rows(of.queries_of(g.out, head), turned, coord<decltype(turned)>(0, tile, 0, 0));
        l = (base + __builtin_amdgcn_logf(l)) * LN_2;
        const gl<float, 1, 1, 1, -1> lse_row(&g.lse[{of.batch, head, of.first_q}], nullptr, nullptr, nullptr,
                                             static_cast<size_t>(of.n_q));
        store(lse_row, sum, {tile});
    }
};

/** Sets the elements of a column above row `begin(col)`, and from row `end(col)` on, to -infinity. */
template <typename Scores, typename Begin, typename End>
__device__ inline void keep_rows(Scores &s, Begin begin, End end) {
    mask_map(s, s, MINUS_INFINITY, [&](int row, int col) {
        const int from = begin(col), rows = end(col) - from;
        return static_cast<unsigned>(row - from) >= static_cast<unsigned>(rows < 0 ? 0 : rows);
    });
}

/** tanh with one exponential, within 2^-22. */
__device__ inline float tanh_by_exp2(float x) {
    return 1.0f - 2.0f * __builtin_amdgcn_rcpf(1.0f + __builtin_amdgcn_exp2f(2.0f * LOG2_E * x));
}

/** Loads of blocks of a sequence's rows into two adjacent shared tiles, by the work-group. */
template <typename ST, typename GL>
struct block_stream {
    using workers = group<WARPS>;
    static constexpr auto row_bytes = static_cast<uint32_t>(GL::__c__ * sizeof(typename GL::dtype));
    const GL &rows;
    ST &first;
    uint32_t lds;
    /** From one row to the next, and from a head's first row to the end of its last. */
    uint32_t pitch, bytes;
    uint32_t offsets[workers::template loads_per_tile<ST>];

    __device__ inline block_stream(const GL &rows, ST &first)
        : rows(rows), first(first), lds(workers::lds_base(first)),
          pitch(static_cast<uint32_t>(rows.template stride<1>() * sizeof(typename GL::dtype))),
          bytes(rows.depth() ? static_cast<uint32_t>(rows.depth() - 1) * pitch + row_bytes : 0) {
        workers::template prefill_swizzled_offsets<1>(first, rows, offsets);
        if constexpr (GL::__c__ < ST::cols) {
            using pieces = kittens::detail::pieces<ST, WARPS, ST::underlying_subtile_bytes_per_thread>;
#pragma unroll
            for (int i = 0; i < pieces::per_wave; i++)
                if (pieces::at(i, warpid(), laneid()).col_bytes >= static_cast<int>(row_bytes))
                    offsets[i] = kittens::detail::OUT_OF_RANGE;
        }
    }
    /** Starts loading block `at` of a head into tile `slot`; rows past the last are zero. */
    __device__ inline void start(int slot, int at, int head) const {
        // Each load has its own resource, since the offset shared by all lanes is not checked against the range.
        const auto *from = &rows[{0, at * ST::rows, head, 0}];
        const uint32_t skipped = static_cast<uint32_t>(at * ST::rows) * pitch;
        const i32x4 resource = make_srsrc(from, skipped < bytes ? bytes - skipped : 0);
        workers::template load_async<1>(first, rows, {0, at, head, 0}, offsets, resource, from,
                                        lds + static_cast<uint32_t>(slot) * static_cast<uint32_t>(sizeof(ST)));
    }
};

/** @tparam BLOCK keys of a block. */
template <typename T, int D, int D_V, bool capped, int BLOCK = KEYS<D, D_V>>
__device__ inline void forward(const forward_globals<T, D, D_V> &g) {
    using shared_k = st<T, BLOCK, TILE<D>, st_32x32_s>;
    using shared_v = st<T, BLOCK, TILE<D_V>, st_32x32_s>;

    extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
    shared_k(&ks)[2] = al.allocate<shared_k, 2>();
    shared_v(&vs)[2] = al.allocate<shared_v, 2>();

    const forward_part<QUERIES> part(g);
    if (part.empty()) return;
    const int head = part.head, n_k = part.of.n_k;
    const band seen = part.seen;
    const auto k_rows = sequence_of(g.k, part.of.batch, part.of.first_k, n_k);
    const auto v_rows = sequence_of(g.v, part.of.batch, part.of.first_k, n_k);
    const int tile = part.block * WARPS + warpid();
    const int query = tile * WARP_QUERIES, last_query = query + WARP_QUERIES - 1;
    const int begin = part.begin(BLOCK), end = part.end(BLOCK);

    const block_stream<shared_k, decltype(k_rows)> stream_k(k_rows, ks[0]);
    const block_stream<shared_v, decltype(v_rows)> stream_v(v_rows, vs[0]);
    const auto start = [&](int at) {
        stream_k.start(at & 1, at, part.head_k);
        stream_v.start(at & 1, at, part.head_k);
    };
    if (begin < end) start(begin);

    rt<T, WARP_QUERIES, TILE<D>, row_l, head_shape> q;
    load_rows(q, part.of.queries_of(g.q, head), coord<decltype(q)>(0, tile, 0, 0));

    using scores = rt<float, BLOCK, WARP_QUERIES, col_l, result_shape>;
    rt<float, TILE<D_V>, WARP_QUERIES, col_l, result_shape> o;
    typename scores::row_vec maximum, sum;
    zero(o);
    neg_infty(maximum);
    zero(sum);
    float &m = maximum.data[0][0], &l = sum.data[0][0];
    if (g.sinks) {
        m = g.sinks[head] * LOG2_E;
        l = 1.0f;
    }
    // Number subtracted from logits: the maximum, or zero while a query has seen no key.
    float base = g.sinks ? m : 0.0f;

    // Waves of 32 lanes lack the registers for keys and values at once.
    constexpr bool early_values = !capped && WARP_THREADS == 64;

    // The loop itself tests whether a mask cuts a block: with a second loop without the mask, the registers do not
    // suffice, and about 200 bytes per lane spill to scratch memory (D of 128, on either target).
    const int whole = seen.first_whole(last_query, BLOCK), stop = seen.last_whole(query, n_k, BLOCK);
    const unsigned wholes = stop < whole ? 0u : static_cast<unsigned>(stop - whole);
    for (int at = begin; at < end; at++) {
        wait_vmcnt<0>();
        barrier();
        if (at + 1 < end) start(at + 1);

        // Reads are started together; those of values precede the softmax, which hides them, if there are enough
        // registers. The order is pinned, since LLVM would otherwise read into a few registers before each use.
        scores s;
        rt<T, BLOCK, TILE<D>, row_l, head_shape> k;
        rt<T, BLOCK, TILE<D_V>, col_l, keys_shape> v;
        load(k, ks[at & 1]);
        schedules::pin();
        zero(s);
        mma_ABt(s, k, q, s);
        if constexpr (early_values) {
            load(v, vs[at & 1]);
            schedules::pin();
        }
        // Logits to base 2. Every element is read here, before the branch, since LLVM would otherwise count the wait
        // states after matrix instructions along only one of the two paths.
        if constexpr (capped)
            map(s, s, [&](float x) { return g.softcap * LOG2_E * tanh_by_exp2(x * (g.scale / g.softcap)); });
        else
            mul(s, s, g.scale * LOG2_E);
        const int key = at * BLOCK;
        if (static_cast<unsigned>(at - whole) >= wholes)
            keep_rows(
                s, [&](int col) { return seen.begin(query + col) - key; },
                [&](int col) { return seen.end(query + col, n_k) - key; });

        typename scores::row_vec largest;
        col_max(largest, s);
        const float top = largest.data[0][0];
        if (__any(top - m > 8.0f)) {
            const float raised = __builtin_fmaxf(m, top);
            base = raised == MINUS_INFINITY ? 0.0f : raised;
            const float factor = __builtin_amdgcn_exp2f(m - base);
            m = raised;
            l *= factor;
            mul(o, o, factor);
        }
        sub(s, s, base);
        exp2(s, s);
        typename scores::row_vec added;
        col_sum(added, s);
        l += added.data[0][0];

        rt<T, BLOCK, WARP_QUERIES, col_l, result_shape> rounded;
        rt<T, BLOCK, WARP_QUERIES, col_l, keys_shape> p;
        copy_numbers(rounded, s);
        if constexpr (kittens::detail::is_same<keys_shape, result_shape>)
            p = rounded;
        else
            swap_layout(p, rounded);
        if constexpr (!early_values) load(v, vs[at & 1]);
        mma_AtB(o, v, p, o);
    }

    part.finish(g, tile, o, sum, base);
}

} // namespace kittens::families::attention
