/**
 * @file
 * @brief Attention of a few queries per sequence over a cache of keys and values (decode, speculative, chunked
 * prefill).
 *
 * The keys of a sequence are split over work-groups, each of which stores O and the logarithm of its denominator;
 * `merge` combines them (Flash-Decoding).
 *
 * The rows of the query operand are a sequence's queries, and for each query the heads that share keys and values,
 * 16 rows per wave. Keys are loaded to shared memory in blocks of 32, and as in the forward pass, Sᵀ = K Qᵀ is in place
 * as the operand of Oᵀ += Vᵀ P.
 *
 * If there is one head of keys whose first columns are the values (multi-head latent attention), a block is loaded once
 * and read as both.
 */
#pragma once

#include "attention_cache.cuh"

namespace kittens::families::attention {

/** Rows per wave, each a query of a head. */
inline constexpr int DECODE_ROWS = 16;
/** Columns of a head that are processed at a time. */
inline constexpr int PIECE = 64;
/** Unit of the strides of q's tokens and heads, in elements: 16 bytes. */
inline constexpr int UNIT = 8;

/** Bytes of a block of keys and of its values. */
template <typename Cache, int D, int D_V, bool latent>
inline constexpr int BLOCK_BYTES = DECODE_KEYS * (D + (latent ? 0 : D_V)) * static_cast<int>(sizeof(Cache));
/** Blocks in shared memory: two where they fit. */
template <typename Cache, int D, int D_V, bool latent>
inline constexpr int SLOTS = 2 * BLOCK_BYTES<Cache, D, D_V, latent> <= MAX_SHARED_MEMORY ? 2 : 1;
/** True if not even one fits: values then overwrite the keys after use. */
template <typename Cache, int D, int D_V, bool latent>
inline constexpr bool IN_TURNS = (BLOCK_BYTES<Cache, D, D_V, latent>) > MAX_SHARED_MEMORY;

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

/** Rotation of the last piece of q by its token's position: none, NeoX's halves, or GPT-J's adjacent pairs. */
enum class turn { none, halves, neighbours };

template <typename T, typename Cache, int D, int D_V, typename Place>
struct decode_globals {
    /** (1, tokens, H, D), with any strides. */
    gl_strided<T, 1, -1, -1, D> q;
    /** Keys and values, (pages, rows of a page, H_kv, D), with any strides; v is null if it is k's first columns. */
    gl_strided<Cache, -1, -1, -1, D> k;
    gl_strided<Cache, -1, -1, -1, D_V> v;
    Place where;
    /** (B + 1): the token of each sequence's first query; null if token s is the only one of sequence s. */
    const int *starts;
    /** Cosines and sines, (positions, PIECE / 2 and PIECE / 2), and the position of each token. */
    gl<T, 1, 1, -1, PIECE> angles;
    const int64_t *positions;
    /** (tokens, splits, H, D_V) and (tokens, splits, H): O, and logarithms to base 2, of each split. */
    gl<float, -1, -1, -1, D_V> partial;
    gl<float, 1, -1, -1, -1> partial_lse;
    /** (tokens, H, 1, D_V) and (tokens, H). */
    gl<T, -1, -1, 1, D_V> out;
    gl<float, 1, 1, -1, -1> lse;
    /** For each head, a logit that counts in the denominator only; null for none. */
    const float *sinks;
    /** Scale of logits, including that of keys; scale of values. */
    float scale, scale_v;
    /** Logits s become softcap tanh(s / softcap). */
    float softcap;
    /** Number of keys that a query sees to the left and right of its own position. */
    int left, right;
};

/** The last piece of q's rows, `row` of `rows`, rotated by the angles of position `at`. */
template <turn how, typename RT, typename GL, typename Angles>
__device__ inline void load_turned(RT &dst, const GL &rows, int piece, int row, const Angles &angles, int at) {
    using half = rt<float, DECODE_ROWS, PIECE / 2, row_l, rt_16x32_s>;
    using of_pairs = rt<float, DECODE_ROWS, PIECE / 2, row_l, ducks::rt_shape::rt_shape<DECODE_ROWS, 16, 4>>;
    const auto own = [&](int) { return row; };
    const auto position = [&](int) { return at; };
    detail::select<how == turn::halves, half, of_pairs> cos, sin;
    gather(cos, angles, {0, 0, 0, 0}, position);
    gather(sin, angles, {0, 0, 0, 1}, position);
    rt<float, DECODE_ROWS, PIECE, row_l, rt_16x32_s> turned;
    if constexpr (how == turn::halves) {
        half low, high;
        gather(low, rows, {0, 0, 0, 2 * piece}, own);
        gather(high, rows, {0, 0, 0, 2 * piece + 1}, own);
        rotate(low, high, low, high, cos, sin);
        turned.tiles[0][0] = low.tiles[0][0];
        turned.tiles[0][1] = high.tiles[0][0];
    } else {
        gather(turned, rows, {0, 0, 0, piece}, own);
        rotate_pairs(turned, turned, cos, sin);
    }
    copy(dst, turned);
}

/**
 * @tparam waves waves of the work-group, which share keys and values, each with 16 rows.
 * @tparam latent whether values are the first columns of keys.
 */
template <typename T, typename Cache, int D, int D_V, typename Place, int waves, bool latent, bool capped, turn how>
__device__ inline void decode(const decode_globals<T, Cache, D, D_V, Place> &g) {
    constexpr int slots = SLOTS<Cache, D, D_V, latent>;
    constexpr bool in_turns = IN_TURNS<Cache, D, D_V, latent>;
    using shared_k = st<Cache, DECODE_KEYS, D, typename cache_order<Cache>::shape>;
    using shared_v = st<Cache, DECODE_KEYS, D_V, typename cache_order<Cache>::shape>;
    extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
    shared_k *ks = &al.allocate<shared_k, slots>()[0];
    shared_v *vs = latent || in_turns ? reinterpret_cast<shared_v *>(ks) : &al.allocate<shared_v, slots>()[0];

    const int split = static_cast<int>(blockIdx.y), splits = static_cast<int>(gridDim.y);
    const int sequence = static_cast<int>(blockIdx.z);
    const int heads_k = static_cast<int>(g.k.rows()), shared_by = static_cast<int>(g.q.rows()) / heads_k;
    const int first_query = g.starts ? g.starts[sequence] : sequence;
    const int queries = g.starts ? g.starts[sequence + 1] - first_query : 1;
    // Work-groups per head of keys, if the rows that share it do not fit one; some have no rows.
    const int per_head = static_cast<int>(gridDim.x) / heads_k;
    const int head_k = static_cast<int>(blockIdx.x) / per_head;
    const int group_row = static_cast<int>(blockIdx.x) % per_head * waves * DECODE_ROWS, rows = queries * shared_by;
    if (group_row >= rows) return;
    const int group_end = group_row + waves * DECODE_ROWS < rows ? group_row + waves * DECODE_ROWS : rows;

    // A lane has one row of every tile.
    const int row = group_row + warpid() * DECODE_ROWS + laneid() % DECODE_ROWS;
    const int query = row / shared_by, token = first_query + query, head = head_k * shared_by + row % shared_by;

    const int keys = g.where.keys(sequence);
    const band seen{g.left, g.right, keys - queries};
    const int low_query = group_row / shared_by, high_query = (group_end - 1) / shared_by;
    const int first_block = seen.begin(low_query) / DECODE_KEYS;
    const int end_block = ceil_div(seen.end(high_query, keys), DECODE_KEYS);
    const int share = ceil_div(end_block - first_block, splits);
    const int begin = first_block + split * share, end = begin + share < end_block ? begin + share : end_block;
    typename Place::template stream<waves, shared_k, shared_v, decltype(g.k), decltype(g.v)> stream(
        g.where, g.k, g.v, ks[0], vs[0], sequence, head_k, keys, begin);
    const auto start = [&](int at) {
        stream.start_keys((at - begin) % slots, at);
        if constexpr (!latent && !in_turns) stream.start_values((at - begin) % slots, at);
    };
    if (begin < end) start(begin);

    // Rows past the last are zeros. There are two strides, of tokens and of heads, in units that divide both.
    const gl_strided<T, 1, 1, -1, D> units(g.q.raw_ptr, nullptr, nullptr, size_t{1} << 28, nullptr, 0, 0, UNIT);
    const int unit = row < rows ? token * static_cast<int>(g.q.template stride<1>() / UNIT) +
                                      head * static_cast<int>(g.q.template stride<2>() / UNIT)
                                : -1;
    rt<T, DECODE_ROWS, PIECE, row_l, rt_16x32_s> q[D / PIECE];
#pragma unroll
    for (int j = 0; j < D / PIECE; j++) {
        if constexpr (how == turn::none) {
            gather(q[j], units, {0, 0, 0, j}, [&](int) { return unit; });
        } else {
            if (j < D / PIECE - 1)
                gather(q[j], units, {0, 0, 0, j}, [&](int) { return unit; });
            else
                load_turned<how>(q[j], units, j, unit, g.angles,
                                 row < rows ? static_cast<int>(g.positions[token]) : -1);
        }
    }

    using scores = rt<float, DECODE_KEYS, DECODE_ROWS, col_l, rt_16x16_s>;
    rt<float, PIECE, DECODE_ROWS, col_l, rt_16x16_s> o[D_V / PIECE];
    typename scores::row_vec maximum, sum;
#pragma unroll
    for (int j = 0; j < D_V / PIECE; j++) zero(o[j]);
    neg_infty(maximum);
    zero(sum);
    float &m = maximum.data[0][0], &l = sum.data[0][0];
    for (int at = begin; at < end; at++) {
        [[maybe_unused]] int present = 0;
        if constexpr (Place::has_holes) present = stream.loading;
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
        if constexpr (in_turns) {
            wait_lgkmcnt<0>();
            barrier();
            stream.start_values(slot, at);
        }
        if constexpr (capped)
            map(s, s, [&](float x) { return g.softcap * LOG2_E * tanh_by_exp2(x * (g.scale / g.softcap)); });
        else
            mul(s, s, g.scale * LOG2_E);
        const int key = at * DECODE_KEYS;
        if constexpr (Place::has_holes)
            mask_map(s, s, MINUS_INFINITY, [&](int row, int) { return packed_shfl(MASK_ALL, present, row) < 0; });
        else if ((key + DECODE_KEYS > keys) | seen.cuts(low_query, high_query, key, DECODE_KEYS))
            keep_rows(
                s, [&](int) { return seen.begin(query) - key; }, [&](int) { return seen.end(query, keys) - key; });

        typename scores::row_vec largest;
        col_max(largest, s);
        const float raised = __builtin_fmaxf(m, largest.data[0][0]);
        const float base = raised == MINUS_INFINITY ? 0.0f : raised;
        const float factor = __builtin_amdgcn_exp2f(m - base);
        m = raised;
        sub(s, s, base);
        exp2(s, s);
        typename scores::row_vec added;
        col_sum(added, s);
        l = l * factor + added.data[0][0];

        rt<T, DECODE_KEYS, DECODE_ROWS, col_l, rt_16x16_s> rounded;
        rt<T, DECODE_KEYS, DECODE_ROWS, col_l, rt_32x16_4_s> p;
        copy_numbers(rounded, s);
        swap_layout(p, rounded);
        if constexpr (in_turns) {
            wait_vmcnt<0>();
            barrier();
        }
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

    const int part = token * splits + split;
    const gl<float, 1, 1, -1, D_V> parts(g.partial.raw_ptr, nullptr, nullptr,
                                         g.partial.batch() * g.partial.depth() * g.partial.rows(), nullptr);
    const int place = row < rows ? part * static_cast<int>(g.partial.rows()) + head : -1;
    const float weight = l == 0.0f ? 0.0f : g.scale_v / l;
#pragma unroll
    for (int j = 0; j < D_V / PIECE; j++) {
        mul(o[j], o[j], weight);
        rt<float, DECODE_ROWS, PIECE, row_l, rt_16x16_s> turned;
        transpose(turned, o[j]);
        scatter(parts, turned, {0, 0, 0, j}, [&](int) { return place; });
    }
    if (laneid() < DECODE_ROWS && row < rows)
        g.partial_lse[{token, split, head}] = l == 0.0f ? MINUS_INFINITY : m + __builtin_amdgcn_logf(l);
}

/** O and its logarithm from those of the splits; a wave for each head of a token. */
template <typename T, typename Cache, int D, int D_V, typename Place>
__device__ inline void merge(const decode_globals<T, Cache, D, D_V, Place> &g) {
    const int head = static_cast<int>(blockIdx.x), token = static_cast<int>(blockIdx.y);
    const int splits = static_cast<int>(g.partial.depth());
    const float sink = g.sinks ? g.sinks[head] * LOG2_E : MINUS_INFINITY;
    float largest = sink;
    for (int split = 0; split < splits; split++)
        largest = __builtin_fmaxf(largest, g.partial_lse[{token, split, head}]);
    const float base = largest == MINUS_INFINITY ? 0.0f : largest;
    float total = __builtin_amdgcn_exp2f(sink - base);
    rv_naive<float, D_V> o, part;
    zero(o);
    for (int split = 0; split < splits; split++) {
        const float weight = __builtin_amdgcn_exp2f(g.partial_lse[{token, split, head}] - base);
        load(part, g.partial, {token, split, head, 0});
        mul(part, part, weight);
        add(o, o, part);
        total += weight;
    }
    mul(o, o, total == 0.0f ? 0.0f : 1.0f / total);
    store(g.out, o, {token, head, 0, 0});
    if (laneid() == 0) g.lse[{token, head}] = (base + __builtin_amdgcn_logf(total)) * LN_2;
}

} // namespace kittens::families::attention
