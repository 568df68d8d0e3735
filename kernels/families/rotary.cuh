/**
 * @file
 * @brief Rotary position embeddings: pairs of a vector's elements are rotated by angles that depend on its position.
 *
 * Bound by memory: every element is read and written once. A wave processes as many tokens as fit its lanes, 16 bytes
 * per lane, and reads their cosines and sines once for all heads.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families {

/**
 * @brief Work of a wave on the heads of its tokens.
 *
 * @tparam Table element type of cosines and sines, positions x turned / 2.
 * @tparam dim elements of a head.
 * @tparam turned number of leading elements that are rotated; the others are copied.
 * @tparam interleaved whether elements 2 i and 2 i + 1 make a pair (GPT-J), or i and i + turned / 2 (NeoX).
 */
template <typename T, typename Table, int dim, int turned, bool interleaved>
struct rotary {
    static_assert(turned % 2 == 0 && turned <= dim, "rotary: turned is an even number of a head's elements");
    static constexpr int half = turned / 2;
    static constexpr int waves = 4;
    static constexpr int threads = waves * WARP_THREADS;
    static constexpr uint32_t SIZE = sizeof(T);

    /** A tensor of heads, batch x heads x tokens x dim, with any strides, in bytes. */
    struct heads {
        T *first;
        size_t batch, head;
        /** Bytes from a wave's head to its next, which is `apart` heads further. */
        size_t step;
        uint32_t token;
        int count;
    };
    /** First and second elements of pairs, half a head apart or adjacent; adjacent ones have their angles in the same
        lanes. */
    using shape = rt_rows_s<T, interleaved ? turned : half>;
    static constexpr int tokens = shape::rows;
    template <int cols>
    static constexpr int padded = ceil_div(cols, shape::cols) * shape::cols;
    using tile = rt_fl<tokens, padded<interleaved ? turned : half>, row_l, shape>;
    using half_shape = ducks::rt_shape::rt_shape<tokens, shape::cols / 2, shape::stride / 2>;
    using angles = detail::select<interleaved, rt_fl<tokens, tile::cols / 2, row_l, half_shape>, tile>;

    /** The tokens of a launch, and their rows in the tables, which are smaller than 4 GiB each. */
    struct places {
        const Table *cos, *sin;
        /** Rows of the tables for batch x tokens, `batch_stride` apart; null where token s is at position s. */
        const int64_t *positions;
        uint64_t rows;
        uint32_t batch_stride, tokens;
        /** Distance between a wave's heads. */
        int apart;
        /** -1 rotates back, for the gradient. */
        float direction;
    };
    angles cos, sin;
    /** The wave's first token, and the number of its tokens. */
    uint32_t batch, token, following;

    /**
     * @brief The wave's tokens in one head after the other; addresses are computed only once, for the first head.
     *
     * All columns are reached through one buffer resource, in which a column is a constant.
     */
    struct head_rows {
        /** An address of 48 bits, as in a resource, which can then be used without further instructions. */
        uint64_t first, step;
        /** Size of these tokens' part. */
        uint32_t bytes, pitch;

        __device__ inline head_rows(const rotary &w, const heads &h, int head)
            : first((reinterpret_cast<uint64_t>(h.first) + w.batch * h.batch + static_cast<uint32_t>(head) * h.head +
                     static_cast<uint64_t>(w.token) * h.token) &
                    ADDRESS),
              step(h.step), bytes(w.following * h.token + dim * SIZE), pitch(h.token) {}
        /** Loads `count` elements from `from` on. */
        template <int count, int from, typename Tile>
        __device__ inline void load(Tile &dst) const {
            const detail::program_order order;
            detail::load_runs<Tile, T, detail::bounded>(dst, memory(), columns_from<from>(), count);
        }
        template <int count, int from, typename Tile>
        __device__ inline void store(const Tile &src) const {
            const detail::program_order order;
            detail::store_runs<Tile, T, detail::bounded>(memory(), columns_from<from>(), count, src);
        }
        __device__ inline void next() { first = (first + step) & ADDRESS; }

      private:
        static constexpr uint64_t ADDRESS = (uint64_t{1} << 48) - 1;

        __device__ inline detail::buffer memory() const { return {reinterpret_cast<const void *>(first), bytes}; }
        template <int from>
        __device__ inline auto columns_from() const {
            return [pitch = pitch](int row, int col) {
                return static_cast<uint32_t>(row) * pitch + static_cast<uint32_t>(from + col) * SIZE;
            };
        }
    };

    __device__ inline explicit rotary(const places &g) : batch(blockIdx.y), token(blockIdx.x * tokens) {
        const uint32_t left = g.tokens - 1 - token;
        following = left < tokens ? left : tokens - 1;
        // A lane has one row of the tables' tiles, the same in both.
        const auto own = static_cast<uint32_t>(angles::base_tile::row(laneid(), 0));
        uint64_t position = token + own;
        if (g.positions != nullptr)
            position = static_cast<uint64_t>(
                g.positions[static_cast<uint64_t>(batch) * g.batch_stride + token + (own < left ? own : left)]);
        const bool there = position < g.rows;
        const uint32_t row = static_cast<uint32_t>(position) * half;
        const auto place = [=](int, int col) {
            return there ? (row + static_cast<uint32_t>(col)) * static_cast<uint32_t>(sizeof(Table))
                         : detail::OUT_OF_RANGE;
        };
        const uint32_t bytes = static_cast<uint32_t>(g.rows) * static_cast<uint32_t>(half * sizeof(Table));
        const detail::program_order order;
        detail::load_runs<angles, Table, detail::bounded>(cos, detail::buffer(g.cos, bytes), place, half);
        detail::load_runs<angles, Table, detail::bounded>(sin, detail::buffer(g.sin, bytes), place, half);
        mul(sin, sin, g.direction);
    }

    /** Rotates a head of src into a head of dst. */
    __device__ inline void turn(const head_rows &dst, const head_rows &src) const {
        if constexpr (interleaved) {
            tile x;
            src.template load<turned, 0>(x);
            rotate_pairs(x, x, cos, sin);
            dst.template store<turned, 0>(x);
        } else {
            tile low, high;
            src.template load<half, 0>(low);
            src.template load<half, half>(high);
            rotate(low, high, low, high, cos, sin);
            dst.template store<half, 0>(low);
            dst.template store<half, half>(high);
        }
        if constexpr (turned < dim) copy_from<turned>(dst, src);
    }
    /** Copies a head's elements from `from` on. */
    template <int from = 0>
    __device__ inline void copy_from(const head_rows &dst, const head_rows &src) const {
        rt<T, tokens, padded<dim - from>, row_l, shape> x;
        src.template load<dim - from, from>(x);
        dst.template store<dim - from, from>(x);
    }
    static __device__ inline int first_head() { return warpid() + static_cast<int>(blockIdx.z) * waves; }
};

/** Turns heads of one tensor. */
template <typename rotary>
struct rope : rotary {
    struct arguments {
        typename rotary::heads x, out;
        typename rotary::places places;
    };
    static __device__ inline void run(const arguments &g) {
        const rotary w(g.places);
        int head = rotary::first_head();
        typename rotary::head_rows src(w, g.x, head), dst(w, g.out, head);
        for (; head < g.x.count; head += g.places.apart, src.next(), dst.next()) w.turn(dst, src);
    }
};

/** Splits a fused tensor into queries, keys and values, and rotates the first two; or, backward, merges the
    gradients. */
template <typename rotary, bool backward>
struct rope_of_fused : rotary {
    struct arguments {
        typename rotary::heads qkv, q, k, v;
        typename rotary::places places;
    };
    static __device__ inline void run(const arguments &g) {
        const rotary w(g.places);
        int head = rotary::first_head(), before = 0;
        typename rotary::head_rows fused(w, g.qkv, head);
        const auto go_through = [&](const typename rotary::heads &part, auto move) {
            typename rotary::head_rows own(w, part, head - before);
            before += part.count;
            for (; head < before; head += g.places.apart, fused.next(), own.next())
                backward ? move(fused, own) : move(own, fused);
        };
        const auto turn = [&](const auto &dst, const auto &src) { w.turn(dst, src); };
        go_through(g.q, turn);
        go_through(g.k, turn);
        go_through(g.v, [&](const auto &dst, const auto &src) { w.copy_from(dst, src); });
    }
};

} // namespace kittens::families
