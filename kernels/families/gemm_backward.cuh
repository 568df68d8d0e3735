/**
 * @file
 * @brief Gradient of a product's result, propagated back through its epilogue.
 */
#pragma once

#include "families/rowwise.cuh"

namespace kittens::families {

namespace activation {

/** No function. */
struct none {
    template <typename T = float, typename W>
    static __device__ inline W value(const W &x) {
        return x;
    }
    static __device__ inline float slope(float) { return 1.0f; }
};

} // namespace activation

/**
 * @brief For C = f(Z) gate, element by element: dZ = dC gate f'(Z), dgate = dC f(Z), C recomputed, and dZ's sums by
 * column.
 *
 * Each work-group processes 64 columns and every n-th block of rows; `column_sums` adds their results, so that two runs
 * give the same bits. Results with null pointers are not computed.
 *
 * @tparam has_z,has_gate whether there is a Z, which f needs, and a gate.
 */
template <typename T, typename f, bool has_z, bool has_gate>
struct epilogue_backward {
    static constexpr int waves = 4, threads = waves * WARP_THREADS, width = 64;
    using matrix = gl<T, 1, -1, -1, -1>;
    using tile = rt_fl<16, width, row_l, rt_rows_s<T, width>>;

    struct arguments {
        matrix dc;
        T *z, *gate, *dz, *dgate, *c;
        /** For each matrix, work-groups x columns. */
        float *parts;
    };

    static __device__ inline void run(const arguments &g) {
        const int at = static_cast<int>(blockIdx.x), batch = static_cast<int>(blockIdx.z);
        const int tiles = ceil_div(static_cast<int>(g.dc.rows()), tile::rows);
        const auto like = [&](T *memory) {
            return matrix(memory + g.dc.offset({0, batch, 0, 0}), nullptr, size_t{1}, g.dc.rows(), g.dc.cols());
        };
        typename tile::row_vec sums;
        zero(sums);
        for (int row = static_cast<int>(blockIdx.y) * waves + warpid(); row < tiles;
             row += static_cast<int>(gridDim.y) * waves) {
            const coord<tile> place{0, 0, row, at};
            tile dc, z, gate;
            load_bounded(dc, like(g.dc.raw_ptr), place);
            if constexpr (has_z) load_bounded(z, like(g.z), place);
            if constexpr (has_gate) load_bounded(gate, like(g.gate), place);
            tile dz;
            copy(dz, dc);
            if constexpr (has_gate) mul(dz, dz, gate);
            if constexpr (has_z) {
                map(dz, dz, z, [](float d, float v) { return d * f::slope(v); });
                activation::apply<f, T>(z);
                if constexpr (has_gate) {
                    mul(gate, gate, z);
                    if (g.c != nullptr) store_bounded(like(g.c), gate, place);
                    mul(dc, dc, z);
                    if (g.dgate != nullptr) store_bounded(like(g.dgate), dc, place);
                } else {
                    if (g.c != nullptr) store_bounded(like(g.c), z, place);
                }
            }
            if (g.dz != nullptr) store_bounded(like(g.dz), dz, place);
            col_sum(sums, dz, sums);
        }
        if (g.parts == nullptr) return;
        __shared__ sv_fl<waves * width> scratch;
        group<waves>::template all_reduce<base_ops::sum, false>(sums, scratch);
        const gl<float, 1, -1, -1, -1> left(g.parts, nullptr, size_t{gridDim.z}, size_t{gridDim.y}, g.dc.cols());
        if (warpid() == 0) store(left, sums, {0, batch, static_cast<int>(blockIdx.y), at});
    }
};

} // namespace kittens::families
