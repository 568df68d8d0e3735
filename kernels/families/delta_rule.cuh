/**
 * @file
 * @brief The gated delta rule, one token at a time: a state of keys by values decays, is corrected and is read.
 *
 *     h *= exp(g);  u = beta (v - hᵀ k);  h += k uᵀ;  o = scale hᵀ q
 *
 * Columns of the state are independent, so a wave holds K x 16 of the state in registers from the first token of a
 * sequence to the last. Each token takes two sums over the state and an outer product, while the next token's vectors
 * are loading.
 */
#pragma once

#include "families/delta_gates.cuh"
#include "kittens.cuh"

namespace kittens::families {

/** Source of decays, strengths and states: tensors with one state for each sequence. */
template <typename T>
struct given_gates {
    static constexpr bool projected = false;
    struct arguments {
        /** Logarithms of decays, null for none: (B, T, H_v), (B, T, H_v, K), (B, T, H_v, V). */
        const float *g, *gk, *gv;
        /** (B, T, H_v), or (B, T, H_v, V) with `beta_of_columns`; null means ones. */
        const float *beta;
        int beta_of_columns;
        /** (sequences, H_v, K, V); `initial` null for zeros. */
        const float *initial;
        float *last;
    };
    static __device__ inline int state_of(const arguments &, int sequence) { return sequence; }
    static __device__ inline const float *before(const arguments &g, int) { return g.initial; }
    static __device__ inline float *after(const arguments &g, int) { return g.last; }
};

/** exp(-exp(a_log) softplus(a + dt_bias)) and sigmoid(b) from a layer's projections; states of a pool. */
template <typename T>
struct sigmoid_gates {
    static constexpr bool projected = true;
    struct arguments {
        /** (H_v). */
        const float *a_log, *dt_bias;
        /** (B, T, H_v). */
        const T *a, *b;
        /** softplus(x) is log(1 + exp(x * softplus_beta)) / softplus_beta, or x if the exponent exceeds the
            threshold. */
        float softplus_beta, softplus_threshold;
        /** (states, H_v, K, V), and the index of each sequence's state; negative for none. */
        float *states;
        const int *indices;
    };
    static __device__ inline int state_of(const arguments &g, int sequence) { return g.indices[sequence]; }
    static __device__ inline const float *before(const arguments &g, int state) { return after(g, state); }
    static __device__ inline float *after(const arguments &g, int state) { return state < 0 ? nullptr : g.states; }
    static __device__ inline float number(const T &value) { return base_types::convertor<float, T>::convert(value); }
    static __device__ inline float decay(const arguments &g, size_t at, int head) {
        const float x = number(g.a[at]) + g.dt_bias[head];
        return base_ops::exp::op(delta_gates::log_decay(g.a_log[head], x, g.softplus_beta, g.softplus_threshold));
    }
};

/** One sequence, one head, 16 columns of its values. */
template <typename T, int K, typename gates = given_gates<T>>
struct delta_rule {
    static constexpr int COLS = 16;
    static constexpr int threads = WARP_THREADS;
    using state = rt_fl<K, COLS, col_l, rt_16x16_s>;
    using keys = typename state::col_vec;
    using values = typename state::row_vec;

    struct arguments : gates::arguments {
        /** (B, T, H, K). */
        gl<T, -1, -1, -1, K> q, k;
        /** (B, T, H_v, V); H_v is a multiple of H. */
        gl<T, -1, -1, -1, -1> v;
        /** (sequences + 1): the first token of each sequence, with B = 1; null if each batch is a sequence. */
        const int *starts;
        gl<T, -1, -1, -1, -1> o;
        float scale;
        /** True if q and k are divided by their lengths. */
        int normalize;
    };

    /** Inputs of the rule for a token. */
    struct token {
        keys q, k;
        values v;
    };

    template <int rows>
    using vectors = gl<float, 1, 1, -1, rows>;

    /** A token's value for each column, from a tensor like v. */
    static __device__ inline void of_columns(values &x, const float *from, const arguments &g, int at, int tile) {
        load(x, vectors<-1>(const_cast<float *>(from), nullptr, nullptr, at + 1, g.v.cols()), {0, 0, at, tile});
    }
    static __device__ inline void decayed(state &h, const arguments &g, int at, int head, int tile) {
        if constexpr (gates::projected) {
            mul(h, h, gates::decay(g, at, head));
        } else {
            if (g.g != nullptr) mul(h, h, base_ops::exp::op(g.g[at]));
            if (g.gk != nullptr) {
                keys decay;
                load(decay, vectors<K>(const_cast<float *>(g.gk), nullptr, nullptr, at + 1, nullptr), {0, 0, at, 0});
                exp(decay, decay);
                mul_row(h, h, decay);
            }
            if (g.gv != nullptr) {
                values decay;
                of_columns(decay, g.gv, g, at, tile);
                exp(decay, decay);
                mul_col(h, h, decay);
            }
        }
    }
    /** Multiplies u, the state's error, by the strength. */
    static __device__ inline void weighted(values &u, const arguments &g, int at, int tile) {
        if constexpr (gates::projected) {
            mul(u, u, base_ops::sigmoid::op(gates::number(g.b[at])));
        } else if (g.beta != nullptr) {
            if (g.beta_of_columns) {
                values strength;
                of_columns(strength, g.beta, g, at, tile);
                mul(u, u, strength);
            } else {
                mul(u, u, g.beta[at]);
            }
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
        const int which = gates::state_of(g, sequence), place = which * heads + head;
        const auto states = [&](const float *at) {
            return gl<float, 1, -1, K, -1>(const_cast<float *>(at), nullptr, (which + 1) * heads, nullptr, g.v.cols());
        };
        const float *const from = gates::before(g, which);
        float *const to = gates::after(g, which);
        state h;
        if (from == nullptr)
            zero(h);
        else
            load(h, states(from), {0, place, 0, tile});
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
            decayed(h, g, at, head, tile);
            state product;
            values u, o;
            mul_row(product, h, x.k);
            col_sum(u, product);
            sub(u, x.v, u);
            weighted(u, g, at, tile);
            outer_add(h, h, x.k, u);
            mul_row(product, h, x.q);
            col_sum(o, product);
            mul(o, o, g.scale);
            store(g.o, o, {batch, t, head, tile});
        }
        if (to != nullptr) store(states(to), h, {0, place, 0, tile});
    }
};

} // namespace kittens::families
