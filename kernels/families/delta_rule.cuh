/**
 * @file
 * @brief The gated delta rule, token after token: a state of keys by values that decays, is corrected and is read.
 *
 *     h *= exp(g);  u = beta (v - hᵀ k);  h += k uᵀ;  o = scale hᵀ q
 *
 * Columns of the state don't depend on one another, so a wave holds K x 16 of them in registers from the first token of
 * a sequence to the last. A token costs a sum over the state twice and an outer product; the next token's vectors
 * are on their way meanwhile.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families {

/** One sequence, one head, 16 columns of its values. */
template <typename T, int K>
struct delta_rule {
    static constexpr int COLS = 16;
    static constexpr int threads = WARP_THREADS;
    using state = rt_fl<K, COLS, col_l, rt_16x16_s>;
    using keys = typename state::col_vec;
    using values = typename state::row_vec;

    struct arguments {
        /** (B, T, H, K). */
        gl<T, -1, -1, -1, K> q, k;
        /** (B, T, H_v, V); H_v is a multiple of H. */
        gl<T, -1, -1, -1, -1> v;
        /** Logarithms of decays, null for none: (B, T, H_v), (B, T, H_v, K), (B, T, H_v, V). */
        const float *g, *gk, *gv;
        /** (B, T, H_v); null for ones. */
        const float *beta;
        /** (sequences, H_v, K, V); `initial` null for zeros. */
        const float *initial;
        float *last;
        /** (sequences + 1): the token that is a sequence's first, of B = 1; null where each batch is one. */
        const int *starts;
        gl<T, -1, -1, -1, -1> o;
        float scale;
        /** Whether q and k are divided by their lengths. */
        int normalize;
    };

    /** What the rule reads of a token. */
    struct token {
        keys q, k;
        values v;
    };

    template <int rows>
    using vectors = gl<float, 1, 1, -1, rows>;

    static __device__ inline void decayed(state &h, const arguments &g, int at, int tile) {
        if (g.g != nullptr) mul(h, h, base_ops::exp::op(g.g[at]));
        if (g.gk != nullptr) {
            keys decay;
            load(decay, vectors<K>(const_cast<float *>(g.gk), nullptr, nullptr, at + 1, nullptr), {0, 0, at, 0});
            exp(decay, decay);
            mul_row(h, h, decay);
        }
        if (g.gv != nullptr) {
            values decay;
            load(decay, vectors<-1>(const_cast<float *>(g.gv), nullptr, nullptr, at + 1, g.v.cols()), {0, 0, at, tile});
            exp(decay, decay);
            mul_col(h, h, decay);
        }
    }

    static __device__ inline void scaled_to_one(keys &x) {
        keys squares;
        mul(squares, x, x);
        float length;
        sum(length, squares);
        mul(x, x, __builtin_amdgcn_rsqf(length + 1e-6f));
    }

    static __device__ inline void run(const arguments &g) {
        const int tile = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
        const int sequence = static_cast<int>(blockIdx.z), heads = static_cast<int>(gridDim.y);
        const int batch = g.starts == nullptr ? sequence : 0;
        const int first = g.starts == nullptr ? 0 : g.starts[sequence];
        const int end = g.starts == nullptr ? static_cast<int>(g.q.depth()) : g.starts[sequence + 1];
        const int shared = head / (heads / static_cast<int>(g.q.rows()));
        const auto fetch = [&](token &x, int t) {
            load(x.q, g.q, {batch, t, shared, 0});
            load(x.k, g.k, {batch, t, shared, 0});
            load(x.v, g.v, {batch, t, head, tile});
        };
        const auto states = [&](const float *at) {
            return gl<float, 1, -1, K, -1>(const_cast<float *>(at), nullptr, (sequence + 1) * heads, nullptr,
                                           g.v.cols());
        };
        const int place = sequence * heads + head;
        state h;
        if (g.initial == nullptr)
            zero(h);
        else
            load(h, states(g.initial), {0, place, 0, tile});
        token next;
        if (first < end) fetch(next, first);
        for (int t = first; t < end; t++) {
            token x = next;
            if (t + 1 < end) fetch(next, t + 1);
            const int at = (batch * static_cast<int>(g.q.depth()) + t) * heads + head;
            if (g.normalize) {
                scaled_to_one(x.q);
                scaled_to_one(x.k);
            }
            decayed(h, g, at, tile);
            state product;
            values u, o;
            mul_row(product, h, x.k);
            col_sum(u, product);
            sub(u, x.v, u);
            if (g.beta != nullptr) mul(u, u, g.beta[at]);
            outer_add(h, h, x.k, u);
            mul_row(product, h, x.q);
            col_sum(o, product);
            mul(o, o, g.scale);
            store(g.o, o, {batch, t, head, tile});
        }
        store(states(g.last), h, {0, place, 0, tile});
    }
};

} // namespace kittens::families
