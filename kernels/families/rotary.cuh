/**
 * @file
 * @brief Rotary position embeddings: pairs of a vector's elements turned by angles that depend on its position.
 *
 * Bound by memory: every element is read and written once. A wave takes as many tokens as fit its lanes, 16 bytes a
 * lane, reads their cosines and sines once and goes through the heads.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families {

/**
 * @brief What a wave does with the heads of its tokens.
 *
 * @tparam Table element type of cosines and sines, positions x turned / 2.
 * @tparam dim elements of a head.
 * @tparam turned the first so many are turned, the others copied.
 * @tparam interleaved whether elements 2 i and 2 i + 1 make a pair (GPT-J), or i and i + turned / 2 (NeoX).
 */
template <typename T, typename Table, int dim, int turned, bool interleaved>
struct rotary {
    static_assert(turned % 2 == 0 && turned <= dim, "rotary: turned is an even number of a head's elements");
    static constexpr int half = turned / 2;
    static constexpr int waves = 4;
    static constexpr int threads = waves * WARP_THREADS;

    /** Heads: batch x heads x tokens x dim, any distance apart. */
    using heads = gl_strided<T, -1, -1, -1, dim>;
    using table = gl<Table, 1, 1, -1, half>;
    /** First and second elements of pairs apart, or side by side; the latter's angles are in the same lanes. */
    using shape = rt_rows_s<T, interleaved ? turned : half>;
    static constexpr int tokens = shape::rows;
    template <int cols>
    static constexpr int padded = ceil_div(cols, shape::cols) * shape::cols;
    using tile = rt_fl<tokens, padded<interleaved ? turned : half>, row_l, shape>;
    using half_shape = ducks::rt_shape::rt_shape<tokens, shape::cols / 2, shape::stride / 2>;
    using angles = detail::select<interleaved, rt_fl<tokens, tile::cols / 2, row_l, half_shape>, tile>;

    /** Where the tokens of a launch are in the tables. */
    struct places {
        table cos, sin;
        /** Rows of the tables for batch x tokens, `batch_stride` apart; null where token s is at position s. */
        const int64_t *positions;
        int64_t batch_stride;
    };
    angles cos, sin;
    int batch, at;

    /** The wave's tokens; `direction` -1 turns back, which is the gradient of turning. */
    __device__ inline rotary(const places &g, int count, float direction)
        : batch(static_cast<int>(blockIdx.y)), at(static_cast<int>(blockIdx.x)) {
        if (g.positions == nullptr) {
            load_bounded(cos, g.cos, {0, 0, at, 0});
            load_bounded(sin, g.sin, {0, 0, at, 0});
        } else {
            const int64_t *positions = g.positions + batch * g.batch_stride;
            const auto position = [&](int row) {
                const int token = at * tokens + row;
                return token < count ? positions[token] : int64_t{-1};
            };
            gather(cos, g.cos, {0, 0, 0, 0}, position);
            gather(sin, g.sin, {0, 0, 0, 0}, position);
        }
        mul(sin, sin, direction);
    }

    /** Turns head `from` of src into head `to` of dst. */
    __device__ inline void turn(const heads &dst, int to, const heads &src, int from) const {
        if constexpr (interleaved) {
            tile x;
            load_bounded(x, part<turned>(src, 0), {batch, from, at, 0});
            rotate_pairs(x, x, cos, sin);
            store_bounded(part<turned>(dst, 0), x, {batch, to, at, 0});
        } else {
            tile low, high;
            load_bounded(low, part<half>(src, 0), {batch, from, at, 0});
            load_bounded(high, part<half>(src, half), {batch, from, at, 0});
            rotate(low, high, low, high, cos, sin);
            store_bounded(part<half>(dst, 0), low, {batch, to, at, 0});
            store_bounded(part<half>(dst, half), high, {batch, to, at, 0});
        }
        if constexpr (turned < dim) copy_from<turned>(dst, to, src, from);
    }
    /** Copies a head's elements from `first` on. */
    template <int first = 0>
    __device__ inline void copy_from(const heads &dst, int to, const heads &src, int from) const {
        rt<T, tokens, padded<dim - first>, row_l, shape> x;
        load_bounded(x, part<dim - first>(src, first), {batch, from, at, 0});
        store_bounded(part<dim - first>(dst, first), x, {batch, to, at, 0});
    }
    /** Calls f(head) for those of `count` heads that are this wave's. */
    template <typename F>
    static __device__ inline void for_each_head(size_t count, F f) {
        const int step = waves * static_cast<int>(gridDim.z);
        for (int head = warpid() + static_cast<int>(blockIdx.z) * waves; head < static_cast<int>(count); head += step)
            f(head);
    }

  private:
    template <int count>
    static __device__ inline auto part(const heads &h, int first) {
        return gl_strided<T, -1, -1, -1, count>(h.raw_ptr + first, h.batch(), h.depth(), h.rows(), nullptr,
                                                h.batch_stride, h.depth_stride, h.rows_stride);
    }
};

/** Turns heads of one tensor. */
template <typename rotary>
struct rope : rotary {
    struct arguments {
        typename rotary::heads x, out;
        typename rotary::places places;
        float direction;
    };
    static __device__ inline void run(const arguments &g) {
        const rotary w(g.places, static_cast<int>(g.x.rows()), g.direction);
        rotary::for_each_head(g.x.depth(), [&](int head) { w.turn(g.out, head, g.x, head); });
    }
};

/** Takes queries, keys and values of a fused tensor apart, and turns the first two; or, backward, the gradients. */
template <typename rotary, bool backward>
struct rope_of_fused : rotary {
    struct arguments {
        typename rotary::heads qkv, q, k, v;
        typename rotary::places places;
    };
    static __device__ inline void run(const arguments &g) {
        const rotary w(g.places, static_cast<int>(g.qkv.rows()), backward ? -1.0f : 1.0f);
        const int queries = static_cast<int>(g.q.depth()), keys = static_cast<int>(g.k.depth());
        rotary::for_each_head(g.qkv.depth(), [&](int head) {
            const bool is_query = head < queries, is_key = !is_query && head < queries + keys;
            const auto &own = is_query ? g.q : is_key ? g.k : g.v;
            const int index = is_query ? head : is_key ? head - queries : head - queries - keys;
            const auto &src = backward ? own : g.qkv, &dst = backward ? g.qkv : own;
            const int from = backward ? index : head, to = backward ? head : index;
            if (is_query || is_key)
                w.turn(dst, to, src, from);
            else
                w.copy_from(dst, to, src, from);
        });
    }
};

} // namespace kittens::families
