/**
 * @file
 * @brief Kernels on the rows of a matrix: normalization, softmax, cross-entropy, gated activations, and their common
 * parts.
 *
 * All are bound by memory. A wave reads 16 bytes per lane, keeps them in registers as floats, and writes once. Short
 * rows share a wave; the waves of a work-group share long rows, and rows that exceed a work-group's registers take
 * several passes. Pointers to tensors that a call omits are null.
 */
#pragma once

#include "kittens.cuh"

/** Tunables: the largest number of elements of a row per lane, 0 for the kernel's choice, and waves of a work-group
 * whose waves have separate rows. */
#ifndef ROW_PER_LANE
#define ROW_PER_LANE 0
#endif
#ifndef ROW_WAVES
#define ROW_WAVES 4
#endif

namespace kittens::families {

/**
 * @brief Distribution of rows of `cols` elements of type T over waves.
 *
 * @tparam suits largest number of elements of a row per lane, unless tuned.
 * @tparam stride number of them that are contiguous.
 */
template <typename T, int cols, int suits = 32, int stride = 16 / static_cast<int>(sizeof(T))>
struct row_plan {
    using shape = rt_rows_s<T, cols, stride>;
    /** A matrix of such rows, and a vector with a value for each column. */
    using matrix = gl<T, 1, 1, -1, cols>;
    using vector = gl<T, 1, 1, 1, cols>;
    static constexpr int per_lane = ROW_PER_LANE != 0 ? ROW_PER_LANE : suits;
    /** Largest number of columns per wave; smaller if rows take several passes. */
    static constexpr int part = (cols <= MAX_WARPS * WARP_THREADS * per_lane ? per_lane : per_lane / 2) * WARP_THREADS;
    /** Waves that share a row, their passes over it, and waves per work-group. */
    static constexpr int parts = ceil_div(cols, part);
    static constexpr int across = parts < MAX_WARPS ? parts : MAX_WARPS;
    static constexpr int passes = ceil_div(parts, across);
    static constexpr int waves = across > 1 ? across : ROW_WAVES;
    static constexpr int threads = waves * WARP_THREADS;
    /** Columns of a part; the last part begins within the row. */
    static constexpr int width = passes > 1 ? part : ceil_div(ceil_div(cols, across), shape::cols) * shape::cols;
    static constexpr int rows = shape::rows;
    static constexpr int rows_of_group = across > 1 ? rows : rows * waves;
    /** Elements of shared memory for a reduction over the waves of a row. */
    static constexpr int slots = waves * rows;
    /** True if lanes hold columns past the end of the row. */
    static constexpr bool ragged = passes * across * width != cols;
};

/** A wave's rows: loads, stores and reductions of its part of them. */
template <typename T, int cols, int suits = 32, int stride = 16 / static_cast<int>(sizeof(T))>
struct row_worker : row_plan<T, cols, suits, stride> {
    using plan = row_plan<T, cols, suits, stride>;
    using plan::across, plan::passes, plan::ragged, plan::width;
    using tile = rt_fl<plan::rows, width, row_l, typename plan::shape>;
    using per_row = typename tile::col_vec;
    using per_col = typename tile::row_vec;

    static constexpr int columns = cols;

    /** Rows of the matrix; this wave's rows, counted in tiles; and its part of them. */
    int rows, at, part;

    __device__ inline row_worker(size_t rows, int group)
        : rows(static_cast<int>(rows)), at(across > 1 ? group : group * plan::waves + warpid()),
          part(across > 1 ? warpid() : 0) {}
    __device__ inline explicit row_worker(size_t rows) : row_worker(rows, static_cast<int>(blockIdx.x)) {}

    /** First column of this wave's part in a pass, and whether the row reaches it. */
    __device__ inline int column(int pass) const { return (pass * across + part) * width; }
    __device__ inline bool reaches(int pass) const { return passes == 1 || column(pass) < cols; }

    /**
     * @brief Loads this wave's part of its rows; elements past the end of a row or after the last row are zero.
     *
     * @tparam stored elements of the rows of the matrix, where they are shorter than those of the work.
     * @param which,of index of a row among the `of` rows of `cols` elements in a row of the matrix.
     */
    template <int stored = cols>
    __device__ inline void load(tile &x, const T *matrix, int pass = 0, int which = 0, int of = 1) const {
        load_bounded<1>(x, view<stored>(const_cast<T *>(matrix), of), coord<tile>{0, at, which, pass * across + part});
    }
    template <int stored = cols>
    __device__ inline void store(T *matrix, const tile &x, int pass = 0, int which = 0, int of = 1) const {
        store_bounded<1>(view<stored>(matrix, of), x, coord<tile>{0, at, which, pass * across + part});
    }
    /** A value for each column of this wave's part. */
    template <int stored = cols, typename U>
    __device__ inline void load_columns(per_col &values, const U *vector) const {
        kittens::load(values, gl<U, 1, 1, 1, stored>(const_cast<U *>(vector), nullptr, nullptr, nullptr, nullptr),
                      {0, 0, 0, part});
    }
    /** A value for each row. */
    template <typename U>
    __device__ inline void load_rows(per_row &values, const U *vector) const {
        kittens::load(values, row_view(const_cast<U *>(vector)), {0, 0, 0, at});
    }
    template <typename U>
    __device__ inline void store_rows(U *vector, const per_row &values) const {
        if (part == 0) kittens::store(row_view(vector), values, {0, 0, 0, at});
    }

    /** Sets the elements past the end of the row. */
    __device__ inline void fill_rest(tile &x, float value, int pass = 0) const {
        if constexpr (ragged) right_fill(x, x, cols - column(pass), value);
    }

    /**
     * @brief Combines the waves' values for their parts of a row to values for the row.
     *
     * @param slot shared memory that no other reduction of the kernel uses.
     */
    template <typename op, int slots>
    __device__ inline void all_waves(per_row &values, sv_fl<slots> &slot) const {
        if constexpr (across > 1) group<across>::template all_reduce<op>(values, slot);
    }
    /** result = op over each row of x, of which this wave holds a part. */
    template <typename op, int slots>
    __device__ inline void reduce(per_row &result, const tile &x, sv_fl<slots> &slot) const {
        row_reduce<op>(result, x);
        all_waves<op>(result, slot);
    }

  private:
    template <int stored>
    __device__ inline auto view(T *matrix, int of) const {
        return gl<T, 1, -1, -1, stored>(matrix, nullptr, static_cast<size_t>(rows), static_cast<size_t>(of), nullptr);
    }
    template <typename U>
    __device__ inline auto row_view(U *vector) const {
        return gl<U, 1, 1, 1, -1>(vector, nullptr, nullptr, nullptr, static_cast<size_t>(rows));
    }
};

/** A float rounded to T. */
template <typename T>
__device__ inline float rounded(float value) {
    return base_types::convertor<float, T>::convert(base_types::convertor<T, float>::convert(value));
}

template <typename T, int cols, int suits = 32>
inline constexpr int slots = row_plan<T, cols, suits>::slots;

/**
 * @brief RMSNorm and LayerNorm: h = dropout(x) + residual; (h - mean(h)) / sqrt(var(h) + eps) * weight + bias.
 *
 * @tparam centered whether the mean is subtracted (LayerNorm).
 * @tparam drops whether there is dropout: columns are kept as `keep_mask` says, and divided by 1 - p.
 * @tparam out_cols columns of the result, zero after the first `cols`.
 */
template <typename T, int cols, bool centered, bool drops = false, int out_cols = cols>
struct normalize : row_plan<T, out_cols> {
    static_assert(row_plan<T, out_cols>::passes == 1, "normalize: a work-group holds a row");
    static_assert(out_cols == cols || !centered, "normalize: padded rows are of RMSNorm");

    struct arguments {
        const typename row_plan<T, cols>::matrix x;
        const T *residual, *weight, *bias;
        T *out, *residual_out;
        float eps, p;
        uint64_t seed;
    };

    static __device__ inline void run(const arguments &g) {
        using worker = row_worker<T, out_cols>;
        const worker w(g.x.rows());
        __shared__ sv_fl<slots<T, out_cols>> slot[2];
        typename worker::tile h, squares;
        typename worker::per_row scale;

        w.template load<cols>(h, g.x.raw_ptr);
        if constexpr (drops) dropout(h, h, g.p, g.seed, w.at * worker::tile::rows, w.column(0));
        if (g.residual != nullptr) {
            typename worker::tile residual;
            w.template load<cols>(residual, g.residual);
            add(h, h, residual);
        }
        if (g.residual_out != nullptr) w.template store<cols>(g.residual_out, h);
        // Normalises the rounded sum that the caller gets, from which the backward pass starts.
        if (g.residual_out != nullptr) map(h, h, [](float v) { return rounded<T>(v); });
        if constexpr (centered) {
            typename worker::per_row mean;
            w.template reduce<base_ops::sum>(mean, h, slot[0]);
            mul(mean, mean, 1.0f / cols);
            sub_row(h, h, mean);
            w.fill_rest(h, 0.0f);
        }
        mul(squares, h, h);
        w.template reduce<base_ops::sum>(scale, squares, slot[1]);
        map(scale, scale, [=](float v) { return __builtin_amdgcn_rsqf(v * (1.0f / cols) + g.eps); });
        mul_row(h, h, scale);
        if (g.weight != nullptr) {
            typename worker::per_col weight;
            w.template load_columns<cols>(weight, g.weight);
            mul_col(h, h, weight);
        }
        if (g.bias != nullptr) {
            typename worker::per_col bias;
            w.load_columns(bias, g.bias);
            add_col(h, h, bias);
        }
        w.store(g.out, h);
    }
};

/**
 * @brief Gradients of `normalize`: of h, and each work-group's share of the gradients of weight and bias.
 *
 * Mean and deviation are recomputed from h, which is read anyway. Each work-group processes every n-th row;
 * `column_sums` adds up their results, so that two runs give the same bits.
 *
 * @param dresidual_out gradient of h itself, in addition to the one through the result.
 * @param dweight,dbias work-groups x cols.
 */
template <typename T, int cols, bool centered, bool drops = false>
struct normalize_backward : row_plan<T, cols, 16> {
    static_assert(row_plan<T, cols, 16>::passes == 1, "normalize_backward: a work-group holds a row");

    struct arguments {
        const typename row_plan<T, cols, 16>::matrix h;
        const T *weight, *dout, *dresidual_out;
        T *dx, *dresidual;
        float *dweight, *dbias;
        float eps, p;
        uint64_t seed;
    };

    static __device__ inline void run(const arguments &g) {
        using worker = row_worker<T, cols, 16>;
        using plan = row_plan<T, cols, 16>;
        __shared__ sv_fl<slots<T, cols, 16>> slot[4];
        typename worker::per_col weight, dweight, dbias;
        one(weight);
        zero(dweight);
        zero(dbias);
        const int groups = static_cast<int>(gridDim.x),
                  tiles = ceil_div(static_cast<int>(g.h.rows()), plan::rows_of_group);
        if (g.weight != nullptr) worker(g.h.rows()).load_columns(weight, g.weight);
        for (int group = static_cast<int>(blockIdx.x); group < tiles; group += groups) {
            const worker w(g.h.rows(), group);
            typename worker::tile h, dout, products;
            typename worker::per_row scale, shift;
            w.load(h, g.h.raw_ptr);
            w.load(dout, g.dout);
            if constexpr (centered) {
                w.template reduce<base_ops::sum>(shift, h, slot[0]);
                mul(shift, shift, 1.0f / cols);
                sub_row(h, h, shift);
                w.fill_rest(h, 0.0f);
            }
            mul(products, h, h);
            w.template reduce<base_ops::sum>(scale, products, slot[1]);
            map(scale, scale, [=](float v) { return __builtin_amdgcn_rsqf(v * (1.0f / cols) + g.eps); });
            mul_row(h, h, scale);
            mul(products, h, dout);
            col_sum(dweight, products, dweight);
            if constexpr (centered) col_sum(dbias, dout, dbias);
            mul_col(dout, dout, weight);
            // Minus its components along the normalized row and along the constant row, which the norm removes.
            mul(products, h, dout);
            w.template reduce<base_ops::sum>(shift, products, slot[2]);
            mul(shift, shift, 1.0f / cols);
            mul_row(h, h, shift);
            if constexpr (centered) {
                w.template reduce<base_ops::sum>(shift, dout, slot[3]);
                mul(shift, shift, 1.0f / cols);
                sub_row(dout, dout, shift);
            }
            sub(dout, dout, h);
            mul_row(dout, dout, scale);
            if (g.dresidual_out != nullptr) {
                w.load(h, g.dresidual_out);
                add(dout, dout, h);
            }
            if (g.dresidual != nullptr) w.store(g.dresidual, dout);
            if constexpr (drops) dropout(dout, dout, g.p, g.seed, w.at * worker::tile::rows, w.column(0));
            w.store(g.dx, dout);
        }
        if (g.dweight != nullptr) leave(g.dweight, dweight);
        if constexpr (centered)
            if (g.dbias != nullptr) leave(g.dbias, dbias);
    }

  private:
    /** A work-group's sums; if its waves have separate rows, over all of these. */
    template <typename PER_COL>
    static __device__ inline void leave(float *memory, PER_COL &sums) {
        using plan = row_plan<T, cols, 16>;
        const gl<float, 1, 1, -1, cols> left(memory, nullptr, nullptr, gridDim.x, nullptr);
        if constexpr (plan::across == 1) {
            __shared__ sv_fl<plan::waves * PER_COL::length> scratch;
            // The previous sums have been read from the scratch.
            wait_lgkmcnt();
            barrier();
            group<plan::waves>::template all_reduce<base_ops::sum, false>(sums, scratch);
        }
        if (plan::across > 1 || warpid() == 0)
            store(left, sums, {0, 0, static_cast<int>(blockIdx.x), plan::across > 1 ? warpid() : 0});
    }
};

/**
 * @brief out = the sum of the rows of `parts`, column by column, in an order that depends only on their number;
 * blockIdx.y selects one of several matrices.
 */
template <typename T, int cols>
struct column_sums {
    static constexpr int waves = 8;
    static constexpr int threads = waves * WARP_THREADS;
    /** Columns of a work-group. */
    static constexpr int width = 64;

    struct arguments {
        gl<float, 1, -1, -1, cols> parts;
        gl<T, 1, -1, 1, cols> out;
    };
    static __device__ inline void run(const arguments &g) {
        using tile = rt_fl<16, width, row_l, rt_rows_s<float, width>>;
        __shared__ sv_fl<waves * width> scratch;
        const int at = static_cast<int>(blockIdx.x), which = static_cast<int>(blockIdx.y);
        typename tile::row_vec sums;
        zero(sums);
        for (int row = warpid(); row < ceil_div(static_cast<int>(g.parts.rows()), tile::rows); row += waves) {
            tile parts;
            load_bounded(parts, g.parts, {0, which, row, at});
            col_sum(sums, parts, sums);
        }
        group<waves>::template all_reduce<base_ops::sum, false>(sums, scratch);
        if (warpid() == 0) store(g.out, sums, {0, which, 0, at});
    }
};

namespace activation {

/** 1 / (1 + exp(-x)) with its derivative, from exp(-|x|): no subtraction from one cancels, so the derivative keeps its
 * digits where a large x multiplies it. */
struct logistic {
    float value, slope;
    explicit __device__ inline logistic(float x) {
        const float small = base_ops::exp2::op(__builtin_fabsf(x) * -LOG2_E),
                    large = __builtin_amdgcn_rcpf(1.0f + small);
        value = x < 0.0f ? small * large : large;
        slope = small * large * large;
    }
};

/** A function of one or several floats, as exact as results in T need, with its derivative. */
struct silu {
    template <typename T = float, typename W>
    static __device__ inline W value(const W &x) {
        return base_ops::silu::op(x);
    }
    static __device__ inline float slope(float x) {
        const logistic s(x);
        return s.value + x * s.slope;
    }
};
struct gelu {
    template <typename T = float, typename W>
    static __device__ inline W value(const W &x) {
        if constexpr (sizeof(T) == 2)
            return detail::narrow<W>(detail::gelu_of_16_bits(detail::widen(x)));
        else
            return base_ops::gelu::op(x);
    }
    static __device__ inline float slope(float x) {
        constexpr float one_over_sqrt_two_pi = 0x1.988454p-2f;
        const detail::normal_tail_parts at = detail::normal_tail(x);
        return (x < 0.0f ? at.tail : 1.0f - at.tail) + x * one_over_sqrt_two_pi * at.exponential;
    }
};
struct gelu_tanh {
    template <typename T = float, typename W>
    static __device__ inline W value(const W &x) {
        return base_ops::gelu_tanh::op(x);
    }
    static __device__ inline float slope(float x) {
        constexpr float linear = 0x1.988454p+0f, cubic = 0x1.2444f2p-4f;
        const logistic s(x * (linear + cubic * x * x));
        return s.value + x * s.slope * (linear + 3.0f * cubic * x * x);
    }
};
struct relu {
    template <typename T = float, typename W>
    static __device__ inline W value(const W &x) {
        return base_ops::relu::op(x);
    }
    static __device__ inline float slope(float x) { return x > 0.0f ? 1.0f : 0.0f; }
};
struct sigmoid {
    template <typename T = float, typename W>
    static __device__ inline W value(const W &x) {
        return base_ops::sigmoid::op(x);
    }
    static __device__ inline float slope(float x) { return logistic(x).slope; }
};
struct tanh {
    template <typename T = float, typename W>
    static __device__ inline W value(const W &x) {
        return base_ops::tanh::op(x);
    }
    static __device__ inline float slope(float x) {
        const float t = base_ops::tanh::op(x);
        return 1.0f - t * t;
    }
};

/** The values of f for results in T, for maps. */
template <typename f, typename T>
struct rounded_to {
    template <typename W>
    static __device__ inline W op(const W &x) {
        return f::template value<T>(x);
    }
};

/**
 * @brief x = f(x) for results in T.
 *
 * gelu processes all of a lane's elements of a base tile together: each step of its polynomial waits for the previous
 * one, and the compiler would process one pair after the other.
 */
template <typename f, typename T, ducks::rt::all Tile>
__device__ inline void apply(Tile &x) {
    if constexpr (detail::is_same<f, gelu> && sizeof(T) == 2) {
        using elements = float __attribute__((ext_vector_type(2 * Tile::packed_per_base_tile)));
#pragma unroll
        for (int i = 0; i < Tile::height; i++)
#pragma unroll
            for (int j = 0; j < Tile::width; j++) {
                auto &data = x.tiles[i][j].data;
                elements all;
                __builtin_memcpy(&all, &data, sizeof(all));
                all = detail::gelu_of_16_bits(all);
                __builtin_memcpy(&data, &all, sizeof(all));
            }
    } else {
        unary_map<rounded_to<f, T>>(x, x);
    }
}

} // namespace activation

/** out = f(x), and backward dx = dout * f'(x); a lane holds at most `held` elements of a row. */
template <typename T, int cols, typename f, int held>
struct activate : row_plan<T, cols, held> {
    struct arguments {
        const typename row_plan<T, cols, held>::matrix x;
        const T *dout;
        T *out;
    };
    static __device__ inline void run(const arguments &g) {
        using worker = row_worker<T, cols, held>;
        const worker w(g.x.rows());
        for (int pass = 0; pass < worker::passes && w.reaches(pass); pass++) {
            typename worker::tile x;
            // Each branch has its own loads: before the condition, the compiler would wait for them there.
            if (g.dout == nullptr) [[likely]] {
                w.load(x, g.x.raw_ptr, pass);
                activation::apply<f, T>(x);
            } else {
                typename worker::tile dout;
                w.load(x, g.x.raw_ptr, pass);
                w.load(dout, g.dout, pass);
                map(x, x, dout, [](float v, float d) { return d * f::slope(v); });
            }
            w.store(g.out, x, pass);
        }
    }
};

/** x is gate and up side by side: out = f(gate) * up; backward gives the gradients of both side by side. */
template <typename T, int cols, typename f, int held>
struct gated : row_plan<T, cols, held> {
    struct arguments {
        const gl<T, 1, 1, -1, 2 * cols> x;
        const T *dout;
        T *out;
    };
    static __device__ inline void run(const arguments &g) {
        using worker = row_worker<T, cols, held>;
        const worker w(g.x.rows());
        for (int pass = 0; pass < worker::passes && w.reaches(pass); pass++) {
            typename worker::tile gate, up;
            const auto load = [&] {
                w.load(gate, g.x.raw_ptr, pass, 0, 2);
                w.load(up, g.x.raw_ptr, pass, 1, 2);
            };
            if (g.dout == nullptr) [[likely]] {
                load();
                activation::apply<f, T>(gate);
                mul(gate, gate, up);
                w.store(g.out, gate, pass);
            } else {
                typename worker::tile dout;
                load();
                w.load(dout, g.dout, pass);
                map(up, up, gate, dout, [](float b, float a, float d) { return d * b * f::slope(a); });
                activation::apply<f, T>(gate);
                mul(gate, gate, dout);
                w.store(g.out, up, pass, 0, 2);
                w.store(g.out, gate, pass, 1, 2);
            }
        }
    }
};

/** Maximum and sum of exponentials of rows that are processed part by part. */
template <typename worker>
struct running_exponentials {
    typename worker::per_row largest, total;

    __device__ inline running_exponentials() {
        neg_infty(largest);
        zero(total);
    }
    /** Minus infinity, from which nothing can be subtracted, counts as zero. */
    static __device__ inline void finite(typename worker::per_row &dst, const typename worker::per_row &src) {
        map(dst, src, [](float v) { return v == -__builtin_inff() ? 0.0f : v; });
    }
    /** x = exp(x - largest). */
    static __device__ inline void exponentials(typename worker::tile &x, const typename worker::per_row &largest) {
        typename worker::per_row base;
        finite(base, largest);
        sub_row(x, x, base);
        mul(x, x, LOG2_E);
        exp2(x, x);
    }
    /** Adds another part of the rows, and may change x. */
    __device__ inline void take(typename worker::tile &x) {
        typename worker::per_row before = largest, sum;
        row_max(largest, x, before);
        exponentials(x, largest);
        row_sum(sum, x);
        rescale(before);
        add(total, total, sum);
    }
    /** The row's parts among those of this wave. */
    template <int slots>
    __device__ inline void all_waves(const worker &w, sv_fl<slots> (&slot)[2]) {
        if constexpr (worker::across > 1) {
            const typename worker::per_row before = largest;
            w.template all_waves<base_ops::max>(largest, slot[0]);
            rescale(before);
            w.template all_waves<base_ops::sum>(total, slot[1]);
        }
    }

  private:
    __device__ inline void rescale(const typename worker::per_row &before) {
        typename worker::per_row base;
        finite(base, largest);
        map(total, total, before, base,
            [](float sum, float was, float is) { return sum * base_ops::exp2::op((was - is) * LOG2_E); });
    }
};

/** exp(x - max(x)) / sum(exp(x - max(x))) of each row; rows longer than a work-group holds are read twice. */
template <typename T, int cols>
struct softmax : row_plan<T, cols> {
    struct arguments {
        const typename row_plan<T, cols>::matrix x;
        T *out;
    };
    static __device__ inline void run(const arguments &g) {
        using worker = row_worker<T, cols>;
        const worker w(g.x.rows());
        __shared__ sv_fl<slots<T, cols>> slot[2];
        typename worker::tile x, part;
        running_exponentials<worker> rows;
        for (int pass = 0; pass < worker::passes && w.reaches(pass); pass++) {
            w.load(x, g.x.raw_ptr, pass);
            w.fill_rest(x, -__builtin_inff(), pass);
            copy(part, x);
            rows.take(part);
        }
        rows.all_waves(w, slot);
        rcp(rows.total, rows.total);
        for (int pass = 0; pass < worker::passes && w.reaches(pass); pass++) {
            if (worker::passes > 1) w.load(x, g.x.raw_ptr, pass);
            rows.exponentials(x, rows.largest);
            mul_row(x, x, rows.total);
            w.store(g.out, x, pass);
        }
    }
};

/** dx = out * (dout - sum(out * dout)) of each row, where out is softmax's result. */
template <typename T, int cols>
struct softmax_backward : row_plan<T, cols> {
    struct arguments {
        const typename row_plan<T, cols>::matrix out;
        const T *dout;
        T *dx;
    };
    static __device__ inline void run(const arguments &g) {
        using worker = row_worker<T, cols>;
        const worker w(g.out.rows());
        __shared__ sv_fl<slots<T, cols>> slot;
        typename worker::tile out, dout, products;
        typename worker::per_row total, sum;
        zero(total);
        for (int pass = 0; pass < worker::passes && w.reaches(pass); pass++) {
            w.load(out, g.out.raw_ptr, pass);
            w.load(dout, g.dout, pass);
            mul(products, out, dout);
            row_sum(sum, products);
            add(total, total, sum);
        }
        w.template all_waves<base_ops::sum>(total, slot);
        for (int pass = 0; pass < worker::passes && w.reaches(pass); pass++) {
            if (worker::passes > 1) {
                w.load(out, g.out.raw_ptr, pass);
                w.load(dout, g.dout, pass);
            }
            sub_row(dout, dout, total);
            mul(out, out, dout);
            w.store(g.dx, out, pass);
        }
    }
};

/** y = x rstd along rows, rstd = 1 / sqrt(sum(x^2) + eps); `rstd`, a float for each row, may be null. */
template <typename T, int cols>
struct l2_normalize : row_plan<T, cols> {
    static_assert(row_plan<T, cols>::passes == 1, "l2_normalize: a work-group holds a row");

    struct arguments {
        const typename row_plan<T, cols>::matrix x;
        T *y;
        float *rstd;
        float eps;
    };
    static __device__ inline void run(const arguments &g) {
        using worker = row_worker<T, cols>;
        const worker w(g.x.rows());
        __shared__ sv_fl<slots<T, cols>> slot;
        typename worker::tile x, squares;
        typename worker::per_row rstd;
        w.load(x, g.x.raw_ptr);
        mul(squares, x, x);
        w.template reduce<base_ops::sum>(rstd, squares, slot);
        map(rstd, rstd, [=](float sum) { return __builtin_amdgcn_rsqf(sum + g.eps); });
        if (g.rstd != nullptr) w.store_rows(g.rstd, rstd);
        mul_row(x, x, rstd);
        w.store(g.y, x);
    }
};

/** dx = rstd (dy - y sum(dy y)) along rows: the gradient of `l2_normalize`. */
template <typename T, int cols>
struct l2_normalize_backward : row_plan<T, cols> {
    static_assert(row_plan<T, cols>::passes == 1, "l2_normalize_backward: a work-group holds a row");

    struct arguments {
        const typename row_plan<T, cols>::matrix y;
        const float *rstd;
        const T *dy;
        T *dx;
    };
    static __device__ inline void run(const arguments &g) {
        using worker = row_worker<T, cols>;
        const worker w(g.y.rows());
        __shared__ sv_fl<slots<T, cols>> slot;
        typename worker::tile y, dy, products;
        typename worker::per_row sums, rstd;
        w.load(y, g.y.raw_ptr);
        w.load(dy, g.dy);
        mul(products, y, dy);
        w.template reduce<base_ops::sum>(sums, products, slot);
        mul_row(y, y, sums);
        sub(dy, dy, y);
        w.load_rows(rstd, g.rstd);
        mul_row(dy, dy, rstd);
        w.store(g.dx, dy);
    }
};

/**
 * @brief loss = log(sum(exp(x))) - x[target] of each row, zero where the target is `ignore_index`; and the logarithm
 * itself.
 *
 * Every row is read once, however long it is.
 */
template <typename T, int cols>
struct cross_entropy : row_plan<T, cols> {
    struct arguments {
        const typename row_plan<T, cols>::matrix x;
        const int64_t *target;
        float *loss, *lse;
        int64_t ignore_index;
    };
    static __device__ inline void run(const arguments &g) {
        using worker = row_worker<T, cols>;
        const worker w(g.x.rows());
        __shared__ sv_fl<slots<T, cols>> slot[2];
        running_exponentials<worker> rows;
        for (int pass = 0; pass < worker::passes && w.reaches(pass); pass++) {
            typename worker::tile x;
            w.load(x, g.x.raw_ptr, pass);
            w.fill_rest(x, -__builtin_inff(), pass);
            rows.take(x);
        }
        rows.all_waves(w, slot);
        typename worker::per_row logarithm, lse, loss;
        map(logarithm, rows.total, [](float total) { return base_ops::log2::op(total) * LN_2; });
        add(lse, rows.largest, logarithm);
        // Not lse minus the target's logit: a loss far smaller than both would consist of their rounding errors.
        map(loss, rows.largest, logarithm, [&](float largest, float logarithm, int row) {
            const int64_t at = static_cast<int64_t>(w.at) * worker::tile::rows + row;
            if (at >= w.rows) return 0.0f;
            const int64_t target = g.target[at];
            return target == g.ignore_index ? 0.0f
                                            : largest - static_cast<float>(g.x.raw_ptr[at * cols + target]) + logarithm;
        });
        w.store_rows(g.lse, lse);
        w.store_rows(g.loss, loss);
    }
};

/** dx = (exp(x - lse) - (1 where the column is the target)) * dloss of each row, zero where the target is
 * `ignore_index`. */
template <typename T, int cols>
struct cross_entropy_backward : row_plan<T, cols> {
    struct arguments {
        const typename row_plan<T, cols>::matrix x;
        const int64_t *target;
        const float *lse, *dloss;
        T *dx;
        int64_t ignore_index;
    };
    static __device__ inline void run(const arguments &g) {
        using worker = row_worker<T, cols>;
        const worker w(g.x.rows());
        typename worker::per_row lse, dloss, target;
        w.load_rows(lse, g.lse);
        w.load_rows(dloss, g.dloss);
        // Column numbers are floats, which are exact for all supported rows.
        map(target, dloss, [&](float, int row) {
            const int64_t at = static_cast<int64_t>(w.at) * worker::tile::rows + row;
            return at < w.rows ? static_cast<float>(g.target[at]) : 0.0f;
        });
        map(dloss, dloss, target, [&](float d, float t) { return t == static_cast<float>(g.ignore_index) ? 0.0f : d; });
        for (int pass = 0; pass < worker::passes && w.reaches(pass); pass++) {
            typename worker::tile x, hot;
            w.load(x, g.x.raw_ptr, pass);
            running_exponentials<worker>::exponentials(x, lse);
            const int first = w.column(pass);
            fill(hot, [=](int, int col) { return static_cast<float>(first + col); });
            sub_row(hot, hot, target);
            map(x, x, hot, [](float v, float distance) { return distance == 0.0f ? v - 1.0f : v; });
            mul_row(x, x, dloss);
            w.store(g.dx, x, pass);
        }
    }
};

/** The k largest elements of each row, in descending order, and their columns; equal ones keep their order. */
template <typename T, int cols>
struct topk : row_plan<T, cols> {
    static_assert(row_plan<T, cols>::passes == 1, "topk: a work-group holds a row");
    struct arguments {
        const typename row_plan<T, cols>::matrix x;
        float *values;
        int64_t *columns;
        int k;
    };
    static __device__ inline void run(const arguments &g) {
        using worker = row_worker<T, cols>;
        constexpr int rows = worker::tile::rows;
        const worker w(g.x.rows());
        /** The waves' results, of this turn and of the next. */
        __shared__ detail::candidate found[2][slots<T, cols>];
        typename worker::tile x;
        typename worker::per_row value, column;
        w.load(x, g.x.raw_ptr);
        // Selected elements, and missing ones, become NaN, which is selected last.
        w.fill_rest(x, __builtin_nanf(""));
        const int lane = laneid(), row = lane % rows;
        const int at = w.at * rows + row, first = w.column(0);
        for (int n = 0; n < g.k; n++) {
            row_argmax(value, column, x);
            detail::candidate best{value.data[0][0], first + static_cast<int>(column.data[0][0])};
            if constexpr (worker::across > 1) {
                if (lane < rows) found[n % 2][w.part * rows + row] = best;
                __syncthreads();
                best = found[n % 2][row];
                for (int other = 1; other < worker::across; other++)
                    best = detail::larger::op(best, found[n % 2][other * rows + row]);
            }
            if (w.part == 0 && lane < rows && at < w.rows) {
                g.values[static_cast<size_t>(at) * g.k + n] = best.value;
                g.columns[static_cast<size_t>(at) * g.k + n] = best.column;
            }
            column.data[0][0] = static_cast<float>(best.column - first);
            typename worker::tile taken;
            broadcast_row(taken, column);
            map(x, x, taken, [](float v, float place, int, int col) {
                return static_cast<float>(col) == place ? __builtin_nanf("") : v;
            });
        }
    }
};

} // namespace kittens::families
