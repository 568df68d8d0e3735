/**
 * @file
 * @brief Attention, backward: dQ, dK and dV, bit-identical from run to run.
 *
 * With P = softmax(scale Q Kᵀ), dP = dO Vᵀ and delta = the sum of dO O over a row:
 *
 *   dV = Pᵀ dO,   dS = P (dP - delta),   dQ = scale dS K,   dK = scale dSᵀ Q.
 *
 * The kernels: `prepare` for delta, `keys` for dK and dV, `queries` for dQ, `sinks` for the gradient of sinks. P is
 * recomputed from the logarithms that the forward pass stored. dQ is a sum over keys, dK and dV are sums over queries,
 * and each kernel sums in registers over its loop: seven matrix products. With `by_atomics`, `keys` adds to dQ in
 * memory instead, in no fixed order, and `convert` replaces `queries`: five products.
 *
 * A wave has 32 keys (queries) and a loop over blocks of queries (keys) in shared memory, two of each. As in the
 * forward pass, each lane holds one of the wave's rows, and results are operands of the next product in place.
 */
#pragma once

#include "attention.cuh"

namespace kittens::families::attention {

/** Rows per work-group and per block in shared memory, if there is room for `besides` more rows. */
inline constexpr int OWN = WARPS * 32;
template <int D, int besides = 0>
inline constexpr int BACKWARD_BLOCK = D <= 128 && D * (8 * 64 + 2 * besides) <= MAX_SHARED_MEMORY ? 64 : 32;
/** Waves per SIMD of `keys` and of `queries`. */
template <int D, bool capped>
inline constexpr int KEYS_OCCUPANCY = D > 64 || capped ? 1 : 2;
template <int D>
inline constexpr int QUERIES_OCCUPANCY = D > 64 ? 1 : 2;
/** Multiple to which lengths are rounded up in tensors with one value per query. */
inline constexpr int PADDED = 64;

template <typename T, int D, int D_V = D>
struct backward_globals {
    /** (B, N, H, D), rows with any stride; outputs are contiguous. */
    gl_strided<T, -1, -1, -1, D> q, k;
    gl_strided<T, -1, -1, -1, D_V> v, out, dout;
    gl<T, -1, -1, -1, D> dq, dk;
    gl<T, -1, -1, -1, D_V> dv;
    /** (B, H, N): stored by the forward pass. */
    gl<float, 1, -1, -1, -1> lse;
    /** Gradient of the logarithms; null for zero. */
    const float *dlse;
    /** (B, H, N rounded up): added to logits before they are scaled (if capped: to exponents), and to dP. */
    gl<float, 1, -1, -1, -1> shift, delta;
    /** Sums of dQ, (B, H, N rounded up, D), in the order of `sums_of`; null where `queries` computes dQ. */
    float *dq_sums;
    /** The sink of each head, and its gradient; null for none. */
    const float *sinks;
    float *dsinks;
    /** First query and first key of each sequence, and the end of the last; null for sequences of one length. */
    const int *cu_seqlens_q, *cu_seqlens_k;
    int sequences;
    float scale, softcap;
    int left, right;
};

/** A sequence, and where values of its queries are, as a multiple of `PADDED`. */
struct backward_part : sequence_part {
    int values;

    template <typename Globals>
    __device__ inline backward_part(const Globals &g, int sequence)
        // Leaves room for each sequence, rounded up to a multiple of `PADDED`.
        : sequence_part(g, sequence), values(g.cu_seqlens_q ? (first_q / PADDED + sequence) * PADDED : 0) {}
    /** A head's values; whole runs are read at once, since their number is a multiple of `PADDED`. */
    template <typename GL>
    __device__ inline gl<float, 1, 1, 1, -1> values_of(const GL &all, int head) const {
        return {&all[{batch, head, values}], nullptr, nullptr, nullptr,
                static_cast<size_t>(ceil_div(n_q, PADDED) * PADDED)};
    }
};

/**
 * @brief Address of the sums of dQ of 32 queries from `query` on.
 *
 * The 64 lanes of a register are contiguous, one register after the other, so that a wave's atomics fill cache lines.
 */
template <typename T, int D>
__device__ inline float *sums_of(const backward_globals<T, D> &g, const backward_part &of, int head, int query) {
    const size_t rows = g.delta.offset({of.batch, head, of.values + query});
    return g.dq_sums + rows * D + laneid();
}
/** Calls f(number of the tile, place in a lane's sums) for all of a lane's numbers. */
template <typename Tile, typename F>
__device__ inline void for_each_sum(Tile &tile, F f) {
#pragma unroll
    for (int i = 0; i < Tile::height; i++)
#pragma unroll
        for (int j = 0; j < Tile::width; j++)
#pragma unroll
            for (int k = 0; k < Tile::packed_per_base_tile; k++) {
                const int at = ((i * Tile::width + j) * Tile::packed_per_base_tile + k) * 2;
                f(tile.tiles[i][j].data[k].x, at * WARP_THREADS);
                f(tile.tiles[i][j].data[k].y, (at + 1) * WARP_THREADS);
            }
}

/** shift and delta; a wave takes 32 queries of a head. */
template <typename T, int D, int D_V, bool capped>
__device__ inline void prepare(const backward_globals<T, D, D_V> &g) {
    const int head = static_cast<int>(blockIdx.x), tile = static_cast<int>(blockIdx.y) * WARPS + warpid();
    const backward_part of(g, static_cast<int>(blockIdx.z));
    const auto deltas = of.values_of(g.delta, head), shifts = of.values_of(g.shift, head);
    if (tile * 32 >= static_cast<int>(deltas.cols())) return;

    // As many adjacent lanes as a row has whole base shapes.
    using shape = rt_rows_s<T, (TILE<D_V> & (TILE<D_V> - 1)) == 0 ? TILE<D_V> : 32>;
    rt<T, 32, TILE<D_V>, row_l, shape> out, dout;
    rt<float, 32, TILE<D_V>, row_l, shape> products;
    typename decltype(products)::col_vec delta, shift;
    load_rows(out, of.queries_of(g.out, head), coord<decltype(out)>(0, tile, 0, 0));
    load_rows(dout, of.queries_of(g.dout, head), coord<decltype(out)>(0, tile, 0, 0));
    map(products, out, dout, [](float a, float b) { return -a * b; });
    row_sum(delta, products);
    const size_t first = g.lse.offset({of.batch, head, of.first_q});
    using row = gl<float, 1, 1, 1, -1>;
    const row lse(g.lse.raw_ptr + first, nullptr, nullptr, nullptr, static_cast<size_t>(of.n_q));
    if (g.dlse) {
        load(shift, row(const_cast<float *>(g.dlse) + first, nullptr, nullptr, nullptr, static_cast<size_t>(of.n_q)),
             {tile});
        add(delta, delta, shift);
    }
    store(deltas, delta, {tile});

    // A query that sees no key: its weights are 2 to the power of -infinity.
    load(shift, lse, {tile});
    const float unit = capped ? LOG2_E : 1.0f / g.scale;
    map(shift, shift, [&](float x) { return x == MINUS_INFINITY ? MINUS_INFINITY : -x * unit; });
    store(shifts, shift, {tile});
}

/**
 * @brief P from products of q and k (not capped: with `shift` added), and dS from dP with `delta` added, in place.
 *
 * @param hide sets the logits of keys that are not seen to -infinity.
 * @param add_shift adds `shift` to exponents; not called unless capped.
 */
template <bool capped, typename Scores, typename Hide, typename Add>
__device__ inline void differentiate(Scores &s, Scores &ds, float scale, float softcap, Hide hide, Add add_shift) {
    Scores slope;
    if constexpr (capped) {
        map(s, s, [&](float x) { return tanh_by_exp2(x * (scale / softcap)); });
        map(slope, s, [](float x) { return 1.0f - x * x; });
        mul(s, s, softcap * LOG2_E);
        add_shift();
    } else {
        mul(s, s, scale * LOG2_E);
    }
    hide();
    exp2(s, s);
    mul(ds, ds, s);
    if constexpr (capped) mul(ds, ds, slope);
}

/** A result as an operand whose rows run along K. */
template <typename T, typename Scores>
__device__ inline rt<T, Scores::rows, Scores::cols, col_l, rt_16x32_4_s> as_operand(const Scores &s) {
    rt<T, Scores::rows, Scores::cols, col_l, rt_32x32_s> rounded;
    rt<T, Scores::rows, Scores::cols, col_l, rt_16x32_4_s> operand;
    copy_numbers(rounded, s);
    swap_layout(operand, rounded);
    return operand;
}

/** Stores 32 rows, the columns of `sums`. */
template <typename GL, typename Sums>
__device__ inline void store_turned(const GL &rows, const Sums &sums, const coord<> &at) {
    rt<float, Sums::cols, Sums::rows, row_l, rt_32x32_s> turned;
    transpose(turned, sums);
    store_rows(rows, turned, coord<decltype(turned)>(at.b, at.d, at.r, at.c));
}

/** Operand with which a wave transposes dS. */
template <typename T, int D>
struct turning {
    st<T, 32, D, st_32x32_s> &memory;
    /** The wave's keys, as an operand whose rows run along K. */
    rt<T, 32, D, col_l, rt_16x32_4_s> k;

    template <typename Keys>
    __device__ inline turning(st<T, 32, D, st_32x32_s> &memory, const Keys &keys) : memory(memory) {
        store(memory, keys);
        load(k, memory);
    }
    /** Adds K dSᵀ to the sums of dQ, 32 queries at a time: dS has a lane for each key, and the sums one for each
        query. */
    template <typename Scores>
    __device__ inline void add(const backward_globals<T, D> &g, const backward_part &of, int head, int query,
                               const Scores &ds) {
        rt<T, Scores::rows, 32, col_l, rt_32x32_s> rounded;
        rt<T, 32, Scores::rows, row_l, rt_32x32_s> by_key;
        copy_numbers(rounded, ds);
        transpose(by_key, rounded);
        static_assert(Scores::rows <= D, "attention: what turns dS is as large as the keys");
        auto &turned = reinterpret_cast<st<T, 32, Scores::rows, st_32x32_swizzled_s> &>(memory);
        store(turned, by_key);
#pragma unroll
        for (int h = 0; h < Scores::rows / 32; h++) {
            rt<T, 32, 32, col_l, rt_16x32_4_s> operand;
            load(operand, subtile_inplace<32, 32>(turned, {0, h}));
            rt<float, D, 32, col_l, rt_32x32_s> dq;
            zero(dq);
            mma_AtB(dq, k, operand, dq);
            float *sums = sums_of(g, of, head, query + h * 32);
            for_each_sum(dq, [&](float x, int at) { unsafeAtomicAdd(sums + at, x); });
        }
    }
};

/** dQ of 32 queries a wave from its sums. */
template <typename T, int D>
__device__ inline void convert(const backward_globals<T, D> &g) {
    const int head = static_cast<int>(blockIdx.x), tile = static_cast<int>(blockIdx.y) * WARPS + warpid();
    const backward_part of(g, static_cast<int>(blockIdx.z));
    if (tile * 32 >= of.n_q) return;
    rt<float, D, 32, col_l, rt_32x32_s> dq;
    const float *sums = sums_of(g, of, head, tile * 32);
    for_each_sum(dq, [&](float &x, int at) { x = sums[at] * g.scale; });
    store_turned(of.queries_of(g.dq, head), dq, {0, tile, 0, 0});
}

/** dK and dV; a wave has 32 keys, and goes through the queries of all heads that share them. */
template <typename T, int D, int D_V, bool capped, bool by_atomics>
__device__ inline void keys(const backward_globals<T, D, D_V> &g) {
    static_assert(!by_atomics || (D == D_V && D == TILE<D>), "attention: sums of dQ are of whole tiles");
    constexpr int BLOCK = BACKWARD_BLOCK < TILE<D>, by_atomics ? OWN : 0 > ;
    using shared_q = st<T, BLOCK, TILE<D>, st_32x32_s>;
    using shared_dout = st<T, BLOCK, TILE<D_V>, st_32x32_s>;

    extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
    shared_q(&qs)[2] = al.allocate<shared_q, 2>();
    shared_dout(&douts)[2] = al.allocate<shared_dout, 2>();

    const int head_k = static_cast<int>(blockIdx.x), first = static_cast<int>(blockIdx.y) * OWN;
    const int heads = static_cast<int>(g.q.rows()) / static_cast<int>(g.k.rows());
    const backward_part of(g, static_cast<int>(blockIdx.z));
    const int n_q = of.n_q, n_k = of.n_k;
    if (first >= n_k) return;
    const auto q_rows = sequence_of(g.q, of.batch, of.first_q, n_q);
    const auto dout_rows = sequence_of(g.dout, of.batch, of.first_q, n_q);

    const band seen{g.left, g.right, n_k - n_q};
    const int end_key = first + OWN < n_k ? first + OWN : n_k;
    const int tile = static_cast<int>(blockIdx.y) * WARPS + warpid(), key = tile * 32;
    // Queries that see some of the work-group's keys.
    const int from = first - seen.offset - seen.right, to = end_key - seen.offset + seen.left;
    const int begin = (from < 0 ? 0 : from) / BLOCK, end = ceil_div(to < n_q ? (to < 0 ? 0 : to) : n_q, BLOCK);

    const block_stream<shared_q, decltype(q_rows)> stream_q(q_rows, qs[0]);
    const block_stream<shared_dout, decltype(dout_rows)> stream_dout(dout_rows, douts[0]);
    const auto start = [&](int slot, int head, int at) {
        stream_q.start(slot, at, head);
        stream_dout.start(slot, at, head);
    };
    if (begin < end) start(0, head_k * heads, begin);

    rt<T, 32, TILE<D>, row_l, rt_32x16_s> k;
    rt<T, 32, TILE<D_V>, row_l, rt_32x16_s> v;
    load_rows(k, of.keys_of(g.k, head_k), coord<decltype(k)>(0, tile, 0, 0));
    load_rows(v, of.keys_of(g.v, head_k), coord<decltype(v)>(0, tile, 0, 0));

    using turns = detail::select<by_atomics, turning<T, D>, decltype(nullptr)>;
    turns turned = [&] {
        if constexpr (by_atomics)
            return turns(al.allocate<st<T, 32, D, st_32x32_s>, WARPS>()[warpid()], k);
        else
            return nullptr;
    }();
    rt<float, TILE<D>, 32, col_l, rt_32x32_s> dk;
    rt<float, TILE<D_V>, 32, col_l, rt_32x32_s> dv;
    zero(dk);
    zero(dv);
    int slot = 0;
    for (int head = head_k * heads; head < (head_k + 1) * heads; head++)
        for (int at = begin; at < end; at++) {
            wait_vmcnt<0>();
            barrier();
            if (at + 1 < end)
                start(slot ^ 1, head, at + 1);
            else if (head + 1 < (head_k + 1) * heads)
                start(slot ^ 1, head + 1, begin);

            using scores = rt<float, BLOCK, 32, col_l, rt_32x32_s>;
            typename scores::col_vec shift, delta;
            load(shift, of.values_of(g.shift, head), {at});
            load(delta, of.values_of(g.delta, head), {at});
            scores s, ds;
            if constexpr (capped)
                zero(s);
            else
                broadcast_row(s, shift);
            broadcast_row(ds, delta);
            rt<T, BLOCK, TILE<D>, row_l, rt_32x16_s> q;
            load(q, qs[slot]);
            mma_ABt(s, q, k, s);
            rt<T, BLOCK, TILE<D_V>, row_l, rt_32x16_s> dout;
            load(dout, douts[slot]);
            mma_ABt(ds, dout, v, ds);
            const int query = at * BLOCK;
            differentiate<capped>(
                s, ds, g.scale, g.softcap,
                [&] {
                    // Only dQ is a sum over keys; dK and dV of keys past the last are not stored.
                    if (!((by_atomics & (key + 32 > n_k)) | seen.cuts(query, query + BLOCK - 1, key, 32))) return;
                    // The first query that sees a key, and one past the last.
                    const int from = key - seen.offset - seen.right - query;
                    keep_rows(
                        s, [&](int col) { return by_atomics && key + col >= n_k ? BLOCK : from + col; },
                        [&](int col) { return from + col + seen.left + seen.right + 1; });
                },
                [&] { add_row(s, s, shift); });
            rt<T, BLOCK, TILE<D_V>, col_l, rt_16x32_4_s> dout_columns;
            load(dout_columns, douts[slot]);
            mma_AtB(dv, dout_columns, as_operand<T>(s), dv);
            rt<T, BLOCK, TILE<D>, col_l, rt_16x32_4_s> q_columns;
            load(q_columns, qs[slot]);
            mma_AtB(dk, q_columns, as_operand<T>(ds), dk);
            if constexpr (by_atomics) turned.add(g, of, head, query, ds);
            slot ^= 1;
        }
    mul(dk, dk, g.scale);
    store_turned(of.keys_of(g.dk, head_k), dk, {0, tile, 0, 0});
    store_turned(of.keys_of(g.dv, head_k), dv, {0, tile, 0, 0});
}

/** dQ; a wave has 32 queries, and goes through the keys that they see. */
template <typename T, int D, int D_V, bool capped>
__device__ inline void queries(const backward_globals<T, D, D_V> &g) {
    constexpr int BLOCK = BACKWARD_BLOCK<TILE<D>>;
    using shared_k = st<T, BLOCK, TILE<D>, st_32x32_s>;
    using shared_v = st<T, BLOCK, TILE<D_V>, st_32x32_s>;

    extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
    shared_k(&ks)[2] = al.allocate<shared_k, 2>();
    shared_v(&vs)[2] = al.allocate<shared_v, 2>();

    const int head = static_cast<int>(blockIdx.x), first = static_cast<int>(blockIdx.y) * OWN;
    const int head_k = head / (static_cast<int>(g.q.rows()) / static_cast<int>(g.k.rows()));
    const backward_part of(g, static_cast<int>(blockIdx.z));
    const int n_k = of.n_k;
    if (first >= of.n_q) return;
    const auto k_rows = sequence_of(g.k, of.batch, of.first_k, n_k);
    const auto v_rows = sequence_of(g.v, of.batch, of.first_k, n_k);

    const band seen{g.left, g.right, n_k - of.n_q};
    const int tile = static_cast<int>(blockIdx.y) * WARPS + warpid(), query = tile * 32;
    const int begin = seen.begin(first) / BLOCK, end = ceil_div(seen.end(first + OWN - 1, n_k), BLOCK);

    const block_stream<shared_k, decltype(k_rows)> stream_k(k_rows, ks[0]);
    const block_stream<shared_v, decltype(v_rows)> stream_v(v_rows, vs[0]);
    const auto start = [&](int at) {
        stream_k.start(at & 1, at, head_k);
        stream_v.start(at & 1, at, head_k);
    };
    if (begin < end) start(begin);

    using scores = rt<float, BLOCK, 32, col_l, rt_32x32_s>;
    rt<T, 32, TILE<D>, row_l, rt_32x16_s> q;
    rt<T, 32, TILE<D_V>, row_l, rt_32x16_s> dout;
    typename scores::row_vec shift, delta;
    load_rows(q, of.queries_of(g.q, head), coord<decltype(q)>(0, tile, 0, 0));
    load_rows(dout, of.queries_of(g.dout, head), coord<decltype(dout)>(0, tile, 0, 0));
    load(shift, of.values_of(g.shift, head), {tile});
    load(delta, of.values_of(g.delta, head), {tile});

    rt<float, TILE<D>, 32, col_l, rt_32x32_s> dq;
    zero(dq);
    for (int at = begin; at < end; at++) {
        wait_vmcnt<0>();
        barrier();
        if (at + 1 < end) start(at + 1);

        scores s, ds;
        zero(s);
        zero(ds);
        rt<T, BLOCK, TILE<D>, row_l, rt_32x16_s> k;
        load(k, ks[at & 1]);
        mma_ABt(s, k, q, s);
        rt<T, BLOCK, TILE<D_V>, row_l, rt_32x16_s> v;
        load(v, vs[at & 1]);
        mma_ABt(ds, v, dout, ds);
        if constexpr (!capped) add_col(s, s, shift);
        add_col(ds, ds, delta);
        const int key = at * BLOCK;
        differentiate<capped>(
            s, ds, g.scale, g.softcap,
            [&] {
                if (!((key + BLOCK > n_k) | seen.cuts(query, query + 31, key, BLOCK))) return;
                keep_rows(
                    s, [&](int col) { return seen.begin(query + col) - key; },
                    [&](int col) { return seen.end(query + col, n_k) - key; });
            },
            [&] { add_col(s, s, shift); });
        rt<T, BLOCK, TILE<D>, col_l, rt_16x32_4_s> columns;
        load(columns, ks[at & 1]);
        mma_AtB(dq, columns, as_operand<T>(ds), dq);
    }
    mul(dq, dq, g.scale);
    store_turned(of.queries_of(g.dq, head), dq, {0, tile, 0, 0});
}

/** Gradient of a head's sink: its weight times `delta`, summed over all queries by one wave. */
template <typename T, int D, int D_V, bool capped>
__device__ inline void sinks(const backward_globals<T, D, D_V> &g) {
    const int head = static_cast<int>(blockIdx.x);
    const float c = capped ? 1.0f : g.scale * LOG2_E, sink = g.sinks[head] * LOG2_E;
    rv_naive<float, WARP_THREADS> shift, delta, total;
    zero(total);
    for (int sequence = 0; sequence < g.sequences; sequence++) {
        const backward_part of(g, sequence);
        const auto shifts = of.values_of(g.shift, head), deltas = of.values_of(g.delta, head);
        for (int at = 0; at < static_cast<int>(shifts.cols()) / WARP_THREADS; at++) {
            load(shift, shifts, {at});
            load(delta, deltas, {at});
            map(shift, shift, [&](float x) { return __builtin_amdgcn_exp2f(x * c + sink); });
            mul(delta, delta, shift);
            add(total, total, delta);
        }
    }
    float gradient;
    sum(gradient, total);
    if (laneid() == 0) g.dsinks[head] = gradient;
}

} // namespace kittens::families::attention
