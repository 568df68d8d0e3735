/**
 * @file
 * @brief Quantization of the rows of a matrix, optionally normalized or gated.
 *
 * A kernel combines a source, which computes the values, with scales for rows or for blocks of columns.
 */
#pragma once

#include "rowwise.cuh"

namespace kittens::families {

/** Distribution of rows of T over lanes for conversion to format Q: lanes hold whole words of elements, for fp6 a whole
 * block. */
template <typename T, int cols, typename Q>
struct quantize_plan {
    static constexpr int n = detail::numbers_in<Q>;
    static constexpr int stride = n == 4 ? 32 : 8;
    using plan = row_plan<T, cols, 32, stride>;
    using worker = row_worker<T, cols, 32, stride>;
    static_assert(plan::passes == 1, "quantize: a work-group holds a row");
    using wide = typename worker::tile;
    using S = typename plan::shape;
    using numbers = rt<Q, wide::rows, wide::cols / n, row_l, rt_shape<S::rows, S::cols / n, S::stride / n>>;
};

/**
 * @brief Arguments of a kernel of this family; unused ones are null.
 *
 * @param x rows; for a gated source with twice as many columns: gate, then up.
 * @param unquantized the values before quantization, as T.
 */
template <typename T, int cols, typename Q, typename Scale, int scales_of_row>
struct quantize_arguments {
    const gl<T, 1, 1, -1, cols> x;
    const T *residual, *weight;
    T *residual_out, *unquantized;
    Q *out;
    Scale *scales;
    float eps;
};

namespace source {

/** Rows as they are. */
struct plain {
    static constexpr int width = 1;
    template <typename W, typename A, int slots>
    static __device__ inline void load(const W &w, typename W::tile &x, const A &g, sv_fl<slots> &) {
        w.load(x, g.x.raw_ptr);
    }
};

/** h = x + residual; h / sqrt(mean(h^2) + eps) * weight. */
struct rms_norm {
    static constexpr int width = 1;
    template <typename W, typename A, int slots>
    static __device__ inline void load(const W &w, typename W::tile &x, const A &g, sv_fl<slots> &slot) {
        w.load(x, g.x.raw_ptr);
        if (g.residual != nullptr) {
            typename W::tile residual;
            w.load(residual, g.residual);
            add(x, x, residual);
            w.store(g.residual_out, x);
        }
        typename W::tile squares;
        typename W::per_row scale;
        mul(squares, x, x);
        w.template reduce<base_ops::sum>(scale, squares, slot);
        map(scale, scale, [=](float v) { return __builtin_amdgcn_rsqf(v * (1.0f / W::columns) + g.eps); });
        mul_row(x, x, scale);
        typename W::per_col weight;
        w.load_columns(weight, g.weight);
        mul_col(x, x, weight);
    }
};

/** f(gate) * up. */
template <typename f>
struct gated {
    static constexpr int width = 2;
    template <typename W, typename A, int slots>
    static __device__ inline void load(const W &w, typename W::tile &x, const A &g, sv_fl<slots> &) {
        typename W::tile up;
        w.load(x, g.x.raw_ptr, 0, 0, 2);
        w.load(up, g.x.raw_ptr, 0, 1, 2);
        map(x, x, up, [](float a, float b) { return f::value(a) * b; });
    }
};

} // namespace source

/**
 * @brief Elements of format Q and scales of the rows of a matrix.
 *
 * @tparam Source from `source`.
 * @tparam Scale float, or fp8e8m0 for powers of two.
 * @tparam block columns that share a scale; 0: a whole row, with a float.
 */
template <typename T, int cols, typename Source, typename Q, typename Scale, int block,
          scale_rounding rounding = scale_rounding::even>
struct quantize : quantize_plan<T, cols, Q>::plan {
    using made = quantize_plan<T, cols, Q>;
    using worker = typename made::worker;
    static constexpr int scales_of_row = block == 0 ? 1 : ceil_div(cols, block == 0 ? 1 : block);
    using arguments = quantize_arguments<T, cols * Source::width, Q, Scale, scales_of_row>;

    static __device__ inline void run(const arguments &g) {
        __shared__ sv_fl<made::plan::slots> slot[2];
        const worker w(g.x.rows());
        typename made::wide x;
        typename made::numbers out;
        Source::load(w, x, g, slot[0]);
        if (g.unquantized != nullptr) w.store(g.unquantized, x);
        if constexpr (block == 0) {
            typename worker::per_row scales;
            w.template reduce<base_ops::absmax>(scales, x, slot[1]);
            map(scales, scales, [](float v) { return scale_of<Q>(__builtin_fabsf(v)); });
            quantize_rows(out, static_cast<const typename made::wide &>(x),
                          static_cast<const typename worker::per_row &>(scales));
            w.store_rows(g.scales, scales);
        } else {
            typename made::wide scales;
            if constexpr (detail::is_same<Scale, fp8e8m0>)
                quantize_mx<block, rounding>(out, scales, x);
            else
                quantize_blocks<block>(out, scales, x);
            const gl<Scale, 1, 1, -1, scales_of_row> to(g.scales, nullptr, nullptr, g.x.rows(), nullptr);
            store_blocks<block>(to, scales, w.at * made::wide::rows, w.column(0));
        }
        const gl<Q, 1, 1, -1, cols / made::n> to(g.out, nullptr, nullptr, g.x.rows(), nullptr);
        store_bounded(to, out, coord<typename made::numbers>{0, 0, w.at, w.part});
    }
};

/** Output of `quantize` times its scales, as T. */
template <typename T, int cols, typename Q, typename Scale, int block>
struct dequantize : quantize_plan<T, cols, Q>::plan {
    using made = quantize_plan<T, cols, Q>;
    using worker = typename made::worker;
    static constexpr int scales_of_row = ceil_div(cols, block);
    struct arguments {
        gl<Q, 1, 1, -1, cols / made::n> x;
        gl<Scale, 1, 1, -1, scales_of_row> scales;
        T *out;
    };
    static __device__ inline void run(const arguments &g) {
        const worker w(g.x.rows());
        typename made::wide x;
        load_dequantized<block>(x, g.x, g.scales, {0, 0, w.at, w.part});
        w.store(g.out, x);
    }
};

} // namespace kittens::families
