/**
 * @file
 * @brief Attention of one query a sequence over a paged cache of keys and values (decode).
 *
 * A cache is pages of rows; a table says which pages hold a sequence. The keys of a sequence are split over
 * work-groups, each of which leaves O and the logarithm of its denominator; `merge` puts them together
 * (Flash-Decoding).
 *
 * What are rows of queries elsewhere are here the heads that share keys and values, 16 a wave. Keys come in blocks of
 * 32 to shared memory, and as in the forward pass Sᵀ = K Qᵀ has the operand of Oᵀ += Vᵀ P where it is.
 *
 * With one head of keys and values that are the keys' first columns (multi-head latent attention), the block is loaded
 * once and read as both.
 */
#pragma once

#include "attention.cuh"

namespace kittens::families::attention {

inline constexpr int DECODE_KEYS = 32;
inline constexpr int DECODE_HEADS = 16;
/** Head dimensions that are computed with at a time. */
inline constexpr int PIECE = 64;

/** Blocks in shared memory: two where they fit. */
template <typename Cache, int D, int D_V, bool latent>
inline constexpr int SLOTS =
    2 * DECODE_KEYS * (D + (latent ? 0 : D_V)) * static_cast<int>(sizeof(Cache)) <= MAX_SHARED_MEMORY ? 2 : 1;

/** Order of a block in shared memory, free of bank conflicts for reads of keys by rows and of values by columns. */
template <typename Cache>
struct cache_order {
    using shape = st_8x32_s;
};
template <>
struct cache_order<fp8e4m3> {
#if defined(KITTENS_CDNA4)
    using shape = st_16x16_s;
#else
    using shape = st_16x16_swizzled_s;
#endif
};

template <typename T, typename Cache, int D, int D_V>
struct decode_globals {
    /** (B, H, 1, D). */
    gl<T, -1, -1, 1, D> q;
    /** (pages, rows of a page, H_kv, D); of latent attention values are the first columns of keys. */
    gl<Cache, -1, -1, -1, D> k;
    gl<Cache, -1, -1, -1, D_V> v;
    /** (B, pages of the longest sequence) and (B): pages in order, and keys of each sequence. */
    gl<int, 1, 1, -1, -1> table;
    const int *lengths;
    /** (B, splits, H, D_V) and (B, splits, H): O, and logarithms to base 2, of each split. */
    gl<float, -1, -1, -1, D_V> partial;
    gl<float, 1, -1, -1, -1> partial_lse;
    /** (B, H, 1, D_V) and (B, H). */
    gl<T, -1, -1, 1, D_V> out;
    gl<float, 1, 1, -1, -1> lse;
    /** Of logits, with the scale of keys, and of values. */
    float scale, scale_v;
};

/** Rows of a page, in shared memory as one tile after the other. */
template <int waves, int page, typename ST, typename GL>
struct paged_stream {
    static constexpr int rows = page < DECODE_KEYS ? page : DECODE_KEYS;
    static_assert(DECODE_KEYS % rows == 0 && page % rows == 0, "attention: a page has a multiple of 16 rows");
    using part = st<typename ST::dtype, rows, ST::cols, typename ST::shape>;
    using workers = group<waves>;
    const GL &cache;
    part &first_part;
    const int *pages;
    int head, keys;
    uint32_t lds;
    uint32_t offsets[workers::template loads_per_tile<part>];

    __device__ inline paged_stream(const GL &cache, ST &first, const int *pages, int head, int keys)
        : cache(cache), first_part(reinterpret_cast<part &>(first)), pages(pages), head(head), keys(keys),
          lds(workers::lds_base(first_part)) {
        workers::template prefill_swizzled_offsets<1>(first_part, cache, offsets);
    }
    /** Starts loading block `at` into tile `slot`; rows past the last key are zero. */
    __device__ inline void start(int slot, int at) const {
        const auto pitch = static_cast<uint32_t>(cache.template stride<1>() * sizeof(typename GL::dtype));
#pragma unroll
        for (int i = 0; i < DECODE_KEYS / rows; i++) {
            const int key = at * DECODE_KEYS + i * rows, left = keys - key;
            const int number = left > 0 ? pages[key / page] : 0;
            const auto *from = &cache[{number, key % page, head, 0}];
            const i32x4 resource =
                make_srsrc(from, left <= 0 ? 0 : static_cast<uint32_t>(left < rows ? left : rows) * pitch);
            workers::template load_async<1>(first_part, cache, {number, key % page / rows, head, 0}, offsets, resource,
                                            from,
                                            lds + static_cast<uint32_t>(slot) * static_cast<uint32_t>(sizeof(ST)) +
                                                static_cast<uint32_t>(i) * static_cast<uint32_t>(sizeof(part)));
        }
    }
};

/**
 * @tparam waves of the work-group, which share keys and values, each with 16 heads.
 * @tparam page rows of a page.
 * @tparam latent whether values are the first columns of keys.
 */
template <typename T, typename Cache, int D, int D_V, int waves, int page, bool latent>
__device__ inline void decode(const decode_globals<T, Cache, D, D_V> &g) {
    constexpr int slots = SLOTS<Cache, D, D_V, latent>;
    using shared_k = st<Cache, DECODE_KEYS, D, typename cache_order<Cache>::shape>;
    using shared_v = st<Cache, DECODE_KEYS, D_V, typename cache_order<Cache>::shape>;
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
    shared_k *ks = &al.allocate<shared_k, slots>()[0];
    shared_v *vs = latent ? nullptr : &al.allocate<shared_v, slots>()[0];

    const int split = static_cast<int>(blockIdx.y), splits = static_cast<int>(gridDim.y);
    const int sequence = static_cast<int>(blockIdx.z);
    const int heads_k = static_cast<int>(g.k.rows()), shared_by = static_cast<int>(g.q.depth()) / heads_k;
    // Work-groups of a head of keys, where not all heads that share it fit one.
    const int per_head = ceil_div(shared_by, waves * DECODE_HEADS);
    const int head_k = static_cast<int>(blockIdx.x) / per_head;
    const int within = (static_cast<int>(blockIdx.x) % per_head * waves + warpid()) * DECODE_HEADS;
    const int head = head_k * shared_by + within;
    const int heads = shared_by - within < 0              ? 0
                      : shared_by - within < DECODE_HEADS ? shared_by - within
                                                          : DECODE_HEADS;

    const int keys = g.lengths[sequence];
    const int blocks = ceil_div(keys, DECODE_KEYS), share = ceil_div(blocks, splits);
    const int begin = split * share, end = begin + share < blocks ? begin + share : blocks;
    const int *pages = &g.table[{sequence, 0}];
    const paged_stream<waves, page, shared_k, decltype(g.k)> stream_k(g.k, ks[0], pages, head_k, keys);
    const paged_stream<waves, page, shared_v, decltype(g.v)> stream_v(
        g.v, latent ? reinterpret_cast<shared_v &>(ks[0]) : vs[0], pages, head_k, keys);
    const auto start = [&](int at) {
        const int slot = (at - begin) % slots;
        stream_k.start(slot, at);
        if constexpr (!latent) stream_v.start(slot, at);
    };
    if (begin < end) start(begin);

    // Heads past the last of those that share the keys are zeros.
    const gl<T, 1, -1, 1, D> own(&g.q[{sequence, head, 0, 0}], nullptr, static_cast<size_t>(heads), nullptr, nullptr);
    rt<T, DECODE_HEADS, PIECE, row_l, rt_16x32_s> q[D / PIECE];
#pragma unroll
    for (int j = 0; j < D / PIECE; j++) load<1>(q[j], own, {0, 0, 0, j});

    using scores = rt<float, DECODE_KEYS, DECODE_HEADS, col_l, rt_16x16_s>;
    rt<float, PIECE, DECODE_HEADS, col_l, rt_16x16_s> o[D_V / PIECE];
    typename scores::row_vec maximum, sum;
#pragma unroll
    for (int j = 0; j < D_V / PIECE; j++) zero(o[j]);
    neg_infty(maximum);
    zero(sum);
    float &m = maximum.data[0][0], &l = sum.data[0][0];
    for (int at = begin; at < end; at++) {
        wait_vmcnt<0>();
        barrier();
        if (slots > 1 && at + 1 < end) start(at + 1);
        const int slot = (at - begin) % slots;

        scores s;
        zero(s);
#pragma unroll
        for (int j = 0; j < D / PIECE; j++) {
            rt<T, DECODE_KEYS, PIECE, row_l, rt_16x32_s> k;
            load(k, subtile_inplace<DECODE_KEYS, PIECE>(ks[slot], {0, j}));
            mma_ABt(s, k, q[j], s);
        }
        mul(s, s, g.scale * LOG2_E);
        const int left = keys - at * DECODE_KEYS;
        if (left < DECODE_KEYS) mask_map(s, s, MINUS_INFINITY, [&](int row, int) { return row >= left; });

        typename scores::row_vec largest;
        col_max(largest, s);
        // A block has a key at least, so that the maximum is a number.
        const float raised = __builtin_fmaxf(m, largest.data[0][0]);
        const float factor = __builtin_amdgcn_exp2f(m - raised);
        m = raised;
        sub(s, s, m);
        exp2(s, s);
        typename scores::row_vec added;
        col_sum(added, s);
        l = l * factor + added.data[0][0];

        rt<T, DECODE_KEYS, DECODE_HEADS, col_l, rt_16x16_s> rounded;
        rt<T, DECODE_KEYS, DECODE_HEADS, col_l, rt_32x16_4_s> p;
        copy_numbers(rounded, s);
        swap_layout(p, rounded);
#pragma unroll
        for (int j = 0; j < D_V / PIECE; j++) {
            rt<T, DECODE_KEYS, PIECE, col_l, rt_32x16_4_s> v;
            if constexpr (latent)
                load(v, subtile_inplace<DECODE_KEYS, PIECE>(ks[slot], {0, j}));
            else
                load(v, subtile_inplace<DECODE_KEYS, PIECE>(vs[slot], {0, j}));
            mul(o[j], o[j], factor);
            mma_AtB(o[j], v, p, o[j]);
        }
        if constexpr (slots == 1) {
            wait_lgkmcnt<0>();
            barrier();
            if (at + 1 < end) start(at + 1);
        }
    }

    const gl<float, 1, -1, 1, D_V> partial(&g.partial[{sequence, split, head, 0}], nullptr, static_cast<size_t>(heads),
                                           nullptr, nullptr);
    const float weight = l == 0.0f ? 0.0f : g.scale_v / l;
#pragma unroll
    for (int j = 0; j < D_V / PIECE; j++) {
        mul(o[j], o[j], weight);
        rt<float, DECODE_HEADS, PIECE, row_l, rt_16x16_s> turned;
        transpose(turned, o[j]);
        store<1>(partial, turned, {0, 0, 0, j});
    }
    l = l == 0.0f ? MINUS_INFINITY : m + __builtin_amdgcn_logf(l);
    const gl<float, 1, 1, 1, -1> partial_lse(&g.partial_lse[{sequence, split, head}], nullptr, nullptr, nullptr,
                                             static_cast<size_t>(heads));
    store(partial_lse, sum, {0});
}

/** O and its logarithm from those of the splits; a wave for each head. */
template <typename T, typename Cache, int D, int D_V>
__device__ inline void merge(const decode_globals<T, Cache, D, D_V> &g) {
    const int head = static_cast<int>(blockIdx.x), sequence = static_cast<int>(blockIdx.z);
    const int splits = static_cast<int>(g.partial.depth());
    float largest = MINUS_INFINITY, total = 0.0f;
    for (int split = 0; split < splits; split++)
        largest = __builtin_fmaxf(largest, g.partial_lse[{sequence, split, head}]);
    const float base = largest == MINUS_INFINITY ? 0.0f : largest;
    rv_naive<float, D_V> o, part;
    zero(o);
    for (int split = 0; split < splits; split++) {
        const float weight = __builtin_amdgcn_exp2f(g.partial_lse[{sequence, split, head}] - base);
        load(part, g.partial, {sequence, split, head, 0});
        mul(part, part, weight);
        add(o, o, part);
        total += weight;
    }
    mul(o, o, total == 0.0f ? 0.0f : 1.0f / total);
    store(g.out, o, {sequence, head, 0, 0});
    if (laneid() == 0) g.lse[{sequence, head}] = (base + __builtin_amdgcn_logf(total)) * LN_2;
}

} // namespace kittens::families::attention
