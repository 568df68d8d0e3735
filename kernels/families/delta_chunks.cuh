/**
 * @file
 * @brief The gated delta rule chunk by chunk, with matrix products; delta_rule.cuh computes it token by token.
 *
 * Within a chunk of C tokens the corrections u of all tokens solve a triangular system (the WY representation of Yang
 * et al., Parallelizing Linear Transformers with the Delta Rule, 2024; with decay Gated Delta Networks, 2024). With G
 * the cumulative sum of g within the chunk:
 *
 *     A  = tril(beta_i k_i k_j exp(G_i - G_j), -1)          products
 *     Ai = (1 + A)^-1                                       inverse
 *     w  = Ai (beta exp(G) k),  u = Ai (beta v)             representation
 *     n  = u - w h;  h = exp(G_last) h + (exp(G_last - G) k)ᵀ n     states: the only part that goes chunk by chunk
 *     o  = scale (exp(G) q h + tril(q_i k_j exp(G_i - G_j)) n)      outputs
 *
 * Tensors are those of the token-by-token rule: (B, T, heads, ..), sequences of equal length or, with `starts`, packed.
 * Each wave computes 16 tokens of a chunk, or 16 columns of a state. Operands are of type T, sums of float; the result
 * of a product is in place as an operand of the next.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families::delta_chunks {

/** Columns of keys per matrix product. */
inline constexpr int SLICE = 64;
inline constexpr int SIDE = 16;

/** Positions of the sequences in a call's tensors. */
struct sequences {
    /** (count + 1): the first token of each sequence; null if each batch is a sequence. */
    const int *starts;
    int count, tokens;

    /** Chunks of `size` tokens of a sequence. */
    __device__ inline int chunks(int sequence, int size) const {
        return ceil_div(starts == nullptr ? tokens : starts[sequence + 1] - starts[sequence], size);
    }
    /** Chunks of all sequences before this one, which is the same in all lanes. */
    __device__ inline int chunks_before(int sequence, int size) const {
        if (starts == nullptr) return sequence * ceil_div(tokens, size);
        int sum = 0;
        for (int other = laneid(); other < sequence; other += WARP_THREADS) sum += chunks(other, size);
        return __builtin_amdgcn_readfirstlane(detail::reduce_lanes<base_ops::sum, 1, WARP_THREADS / 2>(sum));
    }
};

/** Tokens of one sequence, and a chunk of them, the same in all lanes. */
struct span {
    /** The first token, counted over all batches, and the number of tokens. */
    size_t first;
    int length;
    /** The sequence; the chunk's index in it, and among the chunks of all sequences. */
    int sequence, chunk, index;

    __device__ inline void take(const sequences &of, int which) {
        sequence = which;
        first = of.starts == nullptr ? static_cast<size_t>(which) * of.tokens : static_cast<size_t>(of.starts[which]);
        length = of.starts == nullptr ? of.tokens : of.starts[which + 1] - of.starts[which];
    }
    /** Chunk `number` of all chunks of `size` tokens; false if there are fewer. */
    __device__ inline bool find(const sequences &of, int number, int size) {
        index = number;
        if (of.starts == nullptr) {
            const int each = ceil_div(of.tokens, size);
            chunk = number % each;
            take(of, number / each);
            return true;
        }
        // Each lane counts the chunks of one sequence.
        for (int from = 0; from < of.count; from += WARP_THREADS) {
            const int mine = from + laneid() < of.count ? of.chunks(from + laneid(), size) : 0;
            const int until = scan_lanes<base_ops::sum>(mine);
            const uint64_t holds = __ballot(number >= until - mine && number < until);
            if (holds != 0) {
                const int lane = __builtin_ctzll(holds);
                chunk = number - __builtin_amdgcn_readlane(until - mine, lane);
                take(of, from + lane);
                return true;
            }
            number -= __builtin_amdgcn_readlane(until, WARP_THREADS - 1);
        }
        return false;
    }
    /** This sequence of a (B, T, heads, cols) tensor: tokens along axis 1, with those past its end out of range. */
    template <typename T>
    __device__ inline auto of(const T *tensor, int heads, int cols) const {
        const size_t before = first * static_cast<size_t>(heads) * static_cast<size_t>(cols);
        return gl<T, 1, -1, -1, -1>(const_cast<T *>(tensor) + before, nullptr, static_cast<size_t>(length),
                                    static_cast<size_t>(heads), static_cast<size_t>(cols));
    }
    /** A head's values for consecutive tokens from token `at` on. */
    template <typename RV>
    __device__ inline void numbers(RV &values, const float *tensor, int heads, int head, int at) const {
        load_along<1>(values, of(tensor, 1, heads), {0, at, 0, head});
    }
};

template <typename T, int rows, int cols, ducks::rt_layout::all layout>
using tile = rt<T, rows, cols, layout, rt_16x16_s>;
template <typename T, int rows, int cols>
using block = st<T, rows, cols, st_16x16_swizzled_s>;

/** The chunk of a work-group of C / 16 waves, its head of values, and the matching head of keys. */
template <int C>
struct worker : span {
    static constexpr int waves = C / SIDE, threads = waves * WARP_THREADS;
    using waves_together = group<waves>;
    int head, heads, shared, heads_of_keys, stripe;

    __device__ inline bool begin(const sequences &of, int groups) {
        head = static_cast<int>(blockIdx.y), heads = static_cast<int>(gridDim.y);
        shared = head / groups, heads_of_keys = heads / groups, stripe = warpid();
        return find(of, static_cast<int>(blockIdx.x), C);
    }
    /** Index of this wave's tile of 16 tokens. */
    __device__ inline int place() const { return chunk * waves + stripe; }

    /** x_ij *= exp(G_i - G_j) for this wave's tokens i and the chunk's tokens j. */
    template <typename RT>
    __device__ inline void decay(RT &x, const float *g) const {
        typename RT::col_vec of_rows;
        typename RT::row_vec of_cols;
        numbers(of_rows, g, heads, head, place() * SIDE);
        numbers(of_cols, g, heads, head, chunk * C);
        RT factors;
        broadcast_row(factors, of_rows);
        sub_col(factors, factors, of_cols);
        exp(factors, factors);
        mul(x, x, factors);
    }
    /** x += rows kᵀ of this wave's tokens of `rows` and the chunk's of k, a slice of keys. */
    template <typename T, typename RT, typename Rows, typename Keys>
    __device__ inline void add_products(RT &x, const Rows &rows, const Keys &keys, int slice) const {
        tile<T, SIDE, SLICE, row_l> own;
        tile<T, C, SLICE, row_l> all;
        load<1>(own, rows, {0, place(), shared, slice});
        load<1>(all, keys, {0, chunk, shared, slice});
        mma_ABt(x, own, all, x);
    }
};

/** sums[.., c] = scale times the sum of x[.., c] over the chunk's tokens up to this token, or from it on. */
template <int size>
__global__ __launch_bounds__(WARP_THREADS) void cumulative_sums(const float *x, float *sums, const int *starts,
                                                                int count, int tokens, int cols, float scale,
                                                                int reverse) {
    span s;
    if (!s.find({starts, count, tokens}, static_cast<int>(blockIdx.x), size)) return;
    const int col = static_cast<int>(blockIdx.y) * WARP_THREADS + laneid();
    if (col >= cols) return;
    const int begin = s.chunk * size, end = detail::min(begin + size, s.length);
    float sum = 0.0f;
    for (int step = begin; step < end; step++) {
        const size_t t = s.first + static_cast<size_t>(reverse ? begin + end - 1 - step : step);
        const size_t at = t * static_cast<size_t>(cols) + static_cast<size_t>(col);
        sum += x[at];
        sums[at] = scale * sum;
    }
}

/** (sequence, chunk in the sequence) of every chunk, -1 after the last. */
template <typename Index>
__global__ __launch_bounds__(WARP_THREADS) void indices(const int *starts, Index *out, int count, int size,
                                                        int chunks) {
    const sequences all{starts, count, 0};
    const int sequence = static_cast<int>(blockIdx.x);
    const int before = all.chunks_before(sequence, size), own = all.chunks(sequence, size);
    const int end = sequence == count - 1 ? chunks - before : own;
    for (int chunk = laneid(); chunk < end; chunk += WARP_THREADS) {
        out[2 * (before + chunk)] = chunk < own ? sequence : -1;
        out[2 * (before + chunk) + 1] = chunk < own ? chunk : -1;
    }
}

/** For each lane, the sum over the lanes up to it, of the first n, added in sequence. */
template <int n>
__device__ inline float sum_in_order(float x) {
    float all = 0.0f, own = 0.0f;
    for (int lane = 0; lane < n; lane++) {
        all += detail::from_lane(x, lane);
        own = laneid() == lane ? all : own;
    }
    return own;
}

/**
 * @brief A (B, T, H_v, C) of k (B, T, H, K), beta (B, T, H_v) and g, logarithms of decays: null for none.
 *
 * @tparam fused whether g is not yet summed: its sums within chunks are computed here, for `sums` and for A.
 * @tparam bounded whether A is zero where the decay is above one. Sums are then computed token by token: with decays of
 * at most one they never grow, not even by rounding, so that no product of such a layer becomes zero.
 */
template <typename T, int C, int K, bool fused = false, bool bounded = false>
__global__ __launch_bounds__(worker<C>::threads) void products(const T *k, const float *g, const float *beta, float *A,
                                                               float *sums, const int *starts, int count, int tokens,
                                                               int groups) {
    worker<C> w;
    if (!w.begin({starts, count, tokens}, groups)) return;
    tile<float, SIDE, C, row_l> a;
    zero(a);
    const auto keys = w.of(k, w.heads_of_keys, K);
    for (int slice = 0; slice < K / SLICE; slice++) w.template add_products<T>(a, keys, keys, slice);
    if constexpr (fused) {
        // A lane has a token of the chunk.
        const int lane = laneid(), token = w.chunk * C + lane;
        const bool has = lane < C && token < w.length;
        const size_t at = (w.first + static_cast<size_t>(has ? token : 0)) * static_cast<size_t>(w.heads) +
                          static_cast<size_t>(w.head);
        const float own = has ? g[at] : 0.0f;
        const float sum = bounded ? sum_in_order<C>(own) : scan_lanes<base_ops::sum>(own);
        if (has && w.stripe == 0) sums[at] = sum;
        map(a, a, [=](float v, int row, int col) {
            const float apart = detail::from_lane(sum, w.stripe * SIDE + row) - detail::from_lane(sum, col);
            return bounded && apart > 0.0f ? 0.0f : v * base_ops::exp::op(apart);
        });
    } else if (g != nullptr) {
        w.decay(a, g);
    }
    typename tile<float, SIDE, C, row_l>::col_vec strengths;
    w.numbers(strengths, beta, w.heads, w.head, w.place() * SIDE);
    mul_row(a, a, strengths);
    tril(a, a, 1 - w.stripe * SIDE);
    store<1>(w.of(A, w.heads, C), a, {0, w.place(), w.head, 0});
}

/**
 * @brief blocks[b] = (1 + A)^-1 of the 16x16 block b on the diagonal of A, by forward substitution.
 *
 * Each lane computes a column: lane 16 b + c column c of block b, where x_i = [i = c] - sum over j < i of A_ij x_j. Row
 * i of A is in the 16 lanes of a block, which read it from each other.
 */
template <int n>
__device__ inline void invert_diagonal(st_fl<SIDE, SIDE> (&blocks)[n], const float *A, int row_stride, int rows) {
    const int lane = laneid(), which = lane / SIDE, col = lane % SIDE;
    float a[SIDE], x[SIDE];
#pragma unroll
    for (int i = 0; i < SIDE; i++) {
        const int row = which * SIDE + i;
        a[i] = which < n && row < rows ? A[static_cast<size_t>(row) * static_cast<size_t>(row_stride) + lane] : 0.0f;
        x[i] = i == col ? 1.0f : 0.0f;
    }
    constexpr int FROM_LANE_OF_ROW = 0x150;
    detail::for_constants<SIDE>([&]<int j>() {
#pragma unroll
        for (int i = j + 1; i < SIDE; i++)
            x[i] -= detail::bit_cast<float>(detail::dpp<FROM_LANE_OF_ROW + j>(detail::bit_cast<unsigned>(a[i]))) * x[j];
    });
    if (which < n) {
#pragma unroll
        for (int i = 0; i < SIDE; i++) blocks[which][int2{i, col}] = x[i];
    }
    wait_and_barrier();
}

/** inverses (B, T, H_v, C) = (1 + A)^-1 of each chunk; only A's elements below the diagonal are read. */
template <int C>
__global__ __launch_bounds__(WARP_THREADS) void inverse(const float *A, float *inverses, const int *starts, int count,
                                                        int tokens) {
    worker<C> w;
    if (!w.begin({starts, count, tokens}, 1)) return;
    constexpr int n = C / SIDE;
    const auto matrices = w.of(A, w.heads, C), results = w.of(inverses, w.heads, C);
    __shared__ st_fl<SIDE, SIDE> diagonal[n];
    invert_diagonal<n>(diagonal, &matrices[{0, w.chunk * C, w.head, 0}], w.heads * C, w.length - w.chunk * C);
    // Row of blocks after row of blocks: X_ij = -X_ii sum over k from j to i - 1 of A_ik X_kj.
    tile<float, SIDE, SIDE, col_l> x[n][n];
#pragma unroll
    for (int i = 0; i < n; i++) {
        tile<float, SIDE, SIDE, row_l> a[n], own;
        load(own, diagonal[i]);
        load(x[i][i], diagonal[i]);
#pragma unroll
        for (int k = 0; k < i; k++) load<1>(a[k], matrices, {0, w.chunk * n + i, w.head, k});
#pragma unroll
        for (int j = 0; j < n; j++) {
            if (j != i) zero(x[i][j]);
            if (j < i) {
                tile<float, SIDE, SIDE, col_l> sum;
                zero(sum);
#pragma unroll
                for (int k = 0; k < n; k++)
                    if (k >= j && k < i) mma_AB(sum, a[k], x[k][j], sum);
                neg(sum, sum);
                mma_AB(x[i][j], own, sum, x[i][j]);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < n; i++)
#pragma unroll
        for (int j = 0; j < n; j++) store<1>(results, x[i][j], {0, w.chunk * n + i, w.head, j});
}

/** w (B, T, H_v, K) and u (B, T, H_v, V) of A's inverse: products with keys, and with values, for a few tokens. */
template <typename T, int C, int K, int COLS>
struct representation {
    using of_group = group<worker<C>::waves>;

    /** out = a x of `tiles` times `cols` columns, which pass through shared memory. */
    template <int cols, typename A>
    static __device__ inline void multiply(const worker<C> &w, const gl<T, 1, -1, -1, -1> &out, const A &a,
                                           const gl<T, 1, -1, -1, -1> &x, int head, int tiles,
                                           block<T, C, cols> &part) {
        for (int at = 0; at < tiles; at++) {
            of_group::template load_async<1>(part, x, {0, w.chunk, head, at});
            wait_and_barrier();
            tile<T, C, cols, col_l> factor;
            load(factor, part);
            tile<float, SIDE, cols, row_l> product;
            zero(product);
            mma_AB(product, a, factor, product);
            store<1>(out, product, {0, w.place(), w.head, at});
            wait_and_barrier();
        }
    }
    static __device__ inline void run(const T *k, const T *v, const float *beta, const float *A, const float *g, T *w,
                                      T *u, const sequences &of, int groups, int values) {
        worker<C> own;
        if (!own.begin(of, groups)) return;
        __shared__ block<T, C, SLICE> keys;
        __shared__ block<T, C, COLS> columns;
        tile<float, SIDE, C, row_l> a;
        tile<T, SIDE, C, row_l> rounded;
        typename tile<float, SIDE, C, row_l>::row_vec factors;
        load<1>(a, own.of(A, own.heads, C), {0, own.place(), own.head, 0});
        own.numbers(factors, beta, own.heads, own.head, own.chunk * C);
        mul_col(a, a, factors);
        copy(rounded, a);
        multiply(own, own.of(u, own.heads, values), rounded, own.of(v, own.heads, values), own.head, values / COLS,
                 columns);
        if (g != nullptr) {
            own.numbers(factors, g, own.heads, own.head, own.chunk * C);
            exp(factors, factors);
            mul_col(a, a, factors);
            copy(rounded, a);
        }
        multiply(own, own.of(w, own.heads, K), rounded, own.of(k, own.heads_of_keys, K), own.shared, K / SLICE, keys);
    }
};
template <typename T, int C, int K, int COLS>
__global__ __launch_bounds__(worker<C>::threads) void represent(const T *k, const T *v, const float *beta,
                                                                const float *A, const float *g, T *w, T *u,
                                                                const int *starts, int count, int tokens, int groups,
                                                                int values) {
    representation<T, C, K, COLS>::run(k, v, beta, A, g, w, u, {starts, count, tokens}, groups, values);
}

/** States h at the beginning of each chunk, corrections of all tokens, states after the last: WAVES tiles of columns.
 */
template <typename T, int C, int K, int WAVES>
struct recurrence {
    static constexpr int slices = K / SLICE;
    using state = tile<float, SLICE, SIDE, col_l>;
    using tokens = tile<float, C, SIDE, col_l>;

    struct arguments {
        const T *k, *w, *u;
        const float *g, *initial;
        T *h, *corrections;
        float *last;
        sequences of;
        int groups, values;
        /** Number of chunks in h; those that no sequence has become zero. */
        int chunks;
    };

    /** Rows of states (.., K, V), a state for each `number` of them. */
    template <typename U>
    static __device__ inline auto states(U *of, size_t count, int values) {
        return gl<U, 1, -1, K, -1>(const_cast<U *>(of), nullptr, count, nullptr, static_cast<size_t>(values));
    }
    static __device__ inline void run(const arguments &g) {
        const int head = static_cast<int>(blockIdx.y), heads = static_cast<int>(gridDim.y);
        const int sequence = static_cast<int>(blockIdx.z);
        const int column = static_cast<int>(blockIdx.x) * WAVES + warpid();
        span s;
        s.take(g.of, sequence);
        const int before = g.of.chunks_before(sequence, C), chunks = g.of.chunks(sequence, C);
        const auto all = states(g.h, static_cast<size_t>(g.chunks) * static_cast<size_t>(heads), g.values);
        const auto keys = s.of(g.k, heads / g.groups, K), ws = s.of(g.w, heads, K), us = s.of(g.u, heads, g.values);
        const int place = sequence * heads + head;
        state h[slices];
#pragma unroll
        for (int slice = 0; slice < slices; slice++) {
            zero(h[slice]);
            if (g.initial != nullptr)
                load(h[slice], states(const_cast<float *>(g.initial), static_cast<size_t>(place) + 1, g.values),
                     {0, place, slice, column});
        }
        __shared__ block<T, C, SLICE> shared[slices];
        for (int chunk = 0; chunk < chunks; chunk++) {
#pragma unroll
            for (int slice = 0; slice < slices; slice++)
                group<WAVES>::template load_async<1>(shared[slice], keys, {0, chunk, head / g.groups, slice});
            tokens known, corrected;
            zero(known);
#pragma unroll
            for (int slice = 0; slice < slices; slice++) {
                tile<T, SLICE, SIDE, col_l> now;
                tile<T, C, SLICE, row_l> w;
                copy(now, h[slice]);
                store(all, now, {0, (before + chunk) * heads + head, slice, column});
                load<1>(w, ws, {0, chunk, head, slice});
                mma_AB(known, w, now, known);
            }
            load<1>(corrected, us, {0, chunk, head, column});
            sub(corrected, corrected, known);
            if (g.corrections != nullptr)
                store<1>(s.of(g.corrections, heads, g.values), corrected, {0, chunk, head, column});
            if (g.g != nullptr) decay(h, corrected, g, s, chunk, head, heads);
            tile<T, C, SIDE, col_l> values;
            copy(values, corrected);
            wait_and_barrier();
#pragma unroll
            for (int slice = 0; slice < slices; slice++) {
                tile<T, C, SLICE, col_l> k;
                load(k, shared[slice]);
                mma_AtB(h[slice], k, values, h[slice]);
            }
            wait_and_barrier();
        }
        if (g.last != nullptr) {
#pragma unroll
            for (int slice = 0; slice < slices; slice++)
                store(states(g.last, static_cast<size_t>(place) + 1, g.values), h[slice], {0, place, slice, column});
        }
        if (sequence != static_cast<int>(gridDim.z) - 1) return;
        tile<T, SLICE, SIDE, col_l> nothing;
        zero(nothing);
        for (int chunk = before + chunks; chunk < g.chunks; chunk++)
            for (int slice = 0; slice < slices; slice++) store(all, nothing, {0, chunk * heads + head, slice, column});
    }

  private:
    /** h *= exp(G_last); corrections *= exp(G_last - G). */
    static __device__ inline void decay(state (&h)[slices], tokens &corrected, const arguments &g, const span &s,
                                        int chunk, int head, int heads) {
        const int last = detail::min((chunk + 1) * C, s.length) - 1;
        const float end = s.of(g.g, 1, heads)[{0, last, 0, head}];
        typename tokens::col_vec sums;
        s.numbers(sums, g.g, heads, head, chunk * C);
        map(sums, sums, [=](float sum) { return base_ops::exp::op(end - sum); });
        mul_row(corrected, corrected, sums);
#pragma unroll
        for (int slice = 0; slice < slices; slice++) mul(h[slice], h[slice], base_ops::exp::op(end));
    }
};
template <typename T, int C, int K, int WAVES>
__global__ __launch_bounds__(WAVES *WARP_THREADS) void states(const T *k, const T *w, const T *u, const float *g,
                                                              const float *initial, T *h, T *corrections, float *last,
                                                              const int *starts, int count, int tokens, int groups,
                                                              int values, int chunks) {
    recurrence<T, C, K, WAVES>::run(
        {k, w, u, g, initial, h, corrections, last, {starts, count, tokens}, groups, values, chunks});
}

/** o (B, T, H_v, V) of q, k, corrections, and states h at the beginning of each chunk. */
template <typename T, int C, int K, int COLS>
__global__ __launch_bounds__(worker<C>::threads) void outputs(const T *q, const T *k, const T *corrections, const T *h,
                                                              const float *g, T *o, float scale, const int *starts,
                                                              int count, int tokens, int groups, int values) {
    using of_group = group<worker<C>::waves>;
    worker<C> w;
    if (!w.begin({starts, count, tokens}, groups)) return;
    const int column = static_cast<int>(blockIdx.z);
    const auto queries = w.of(q, w.heads_of_keys, K), keys = w.of(k, w.heads_of_keys, K);
    const int state = w.index * w.heads + w.head;
    const gl<T, 1, -1, K, -1> states(const_cast<T *>(h), nullptr, static_cast<size_t>(state) + 1, nullptr,
                                     static_cast<size_t>(values));
    __shared__ block<T, SLICE, COLS> part;
    __shared__ block<T, C, COLS> own;
    tile<float, SIDE, C, row_l> p;
    tile<float, SIDE, COLS, row_l> out;
    zero(p);
    zero(out);
    of_group::template load_async<1>(own, w.of(corrections, w.heads, values), {0, w.chunk, w.head, column});
    for (int slice = 0; slice < K / SLICE; slice++) {
        of_group::load_async(part, states, {0, state, slice, column});
        w.template add_products<T>(p, queries, keys, slice);
        tile<T, SIDE, SLICE, row_l> of_slice;
        load<1>(of_slice, queries, {0, w.place(), w.shared, slice});
        wait_and_barrier();
        tile<T, SLICE, COLS, col_l> before;
        load(before, part);
        mma_AB(out, of_slice, before, out);
        wait_and_barrier();
    }
    if (g != nullptr) {
        typename tile<float, SIDE, COLS, row_l>::col_vec sums;
        w.numbers(sums, g, w.heads, w.head, w.place() * SIDE);
        exp(sums, sums);
        mul_row(out, out, sums);
        w.decay(p, g);
    }
    tril(p, p, -w.stripe * SIDE);
    tile<T, SIDE, C, row_l> rounded;
    copy(rounded, p);
    tile<T, C, COLS, col_l> corrected;
    load(corrected, own);
    mma_AB(out, rounded, corrected, out);
    mul(out, out, scale);
    store<1>(w.of(o, w.heads, values), out, {0, w.place(), w.head, column});
}

} // namespace kittens::families::delta_chunks
