/**
 * @file
 * @brief Element-wise operations on shared tiles and vectors by several waves, as members of `group`.
 *
 * Each thread computes the elements at its index, its index plus the number of threads, and so on. Operands have the
 * type and size of the destination. Results are visible to the other waves after `wait_lgkmcnt` and a barrier, and to
 * other lanes of the same wave when the functions return.
 */
#pragma once

#include "../../warp/warp.cuh"

namespace kittens {

namespace ducks {
/** A shared tile, part of one, or a shared vector. */
template <typename T>
concept shared = st::all<T> || sv::all<T>;
} // namespace ducks

namespace detail {

/** Calls `f(at)` for the elements of a thread in N waves: `at` is an index of a vector, {row, column} of a tile. */
template <int N, ducks::shared T, typename F>
__device__ inline void for_own_elements(F f) {
    const program_order order;
    constexpr int threads = N * WARP_THREADS;
    const int first = static_cast<int>(threadIdx.x) % threads;
    if constexpr (ducks::sv::all<T>) {
        for (int i = first; i < T::length; i += threads) f(i);
    } else {
        for (int i = first; i < T::num_elements; i += threads) f(int2{i / T::cols, i % T::cols});
    }
}

template <int N>
struct shared_maps {
    /** dst = op(src). */
    template <typename op, ducks::shared T>
    static __device__ inline void unary_map(T &dst, const T &src) {
        for_own_elements<N, T>([&](auto at) { dst[at] = op::template op<typename T::dtype>(src[at]); });
    }
    /** dst = op(lhs, rhs), where rhs has the same type or is one value. */
    template <typename op, ducks::shared T, typename U>
    static __device__ inline void bin_map(T &dst, const T &lhs, const U &rhs) {
        using V = typename T::dtype;
        if constexpr (ducks::shared<U>) {
            constexpr bool same_type = is_same<T, U>;
            static_assert(same_type, "the operands of an operation on shared tiles or vectors have its type");
            for_own_elements<N, T>([&](auto at) { dst[at] = op::template op<V>(lhs[at], rhs[at]); });
        } else {
            const V value = base_types::convertor<V, U>::convert(rhs);
            for_own_elements<N, T>([&](auto at) { dst[at] = op::template op<V>(lhs[at], value); });
        }
    }
    template <typename op, ducks::sv::all T>
    static __device__ inline void unary_op(T &dst, const T &src) {
        unary_map<op>(dst, src);
    }
    template <typename op, ducks::sv::all T, typename U>
    static __device__ inline void bin_op(T &dst, const T &lhs, const U &rhs) {
        bin_map<op>(dst, lhs, rhs);
    }
    /** dst = op(src, values), with a value for each row. */
    template <typename op, ducks::st::all T, ducks::sv::all V>
    static __device__ inline void row_map(T &dst, const T &src, const V &values) {
        check_vector<T, V, T::rows>();
        for_own_elements<N, T>([&](int2 at) { dst[at] = op::template op<typename T::dtype>(src[at], values[at.x]); });
    }
    /** dst = op(src, values), with a value for each column. */
    template <typename op, ducks::st::all T, ducks::sv::all V>
    static __device__ inline void col_map(T &dst, const T &src, const V &values) {
        check_vector<T, V, T::cols>();
        for_own_elements<N, T>([&](int2 at) { dst[at] = op::template op<typename T::dtype>(src[at], values[at.y]); });
    }
    /** dst = src in dst's element type: a tile or vector of the same size, or one value. */
    template <ducks::shared T, typename U>
    static __device__ inline void copy(T &dst, const U &src) {
        using V = typename T::dtype;
        if constexpr (ducks::shared<U>) {
            constexpr bool same_size = same_sizes<T, U>();
            static_assert(same_size, "copy: both shared tiles or shared vectors, of the same size");
            if constexpr (same_size)
                for_own_elements<N, T>(
                    [&](auto at) { dst[at] = base_types::convertor<V, typename U::dtype>::convert(src[at]); });
        } else {
            const V value = base_types::convertor<V, U>::convert(src);
            for_own_elements<N, T>([&](auto at) { dst[at] = value; });
        }
    }

#define KITTENS_CONSTANT(name)                                                                                         \
    template <ducks::shared T>                                                                                         \
    static __device__ inline void name(T &dst) {                                                                       \
        unary_map<base_ops::name>(dst, dst);                                                                           \
    }
#define KITTENS_UNARY(name)                                                                                            \
    template <ducks::shared T>                                                                                         \
    static __device__ inline void name(T &dst, const T &src) {                                                         \
        unary_map<base_ops::name>(dst, src);                                                                           \
    }
#define KITTENS_BINARY(name, op)                                                                                       \
    template <ducks::shared T, typename U>                                                                             \
    static __device__ inline void name(T &dst, const T &lhs, const U &rhs) {                                           \
        bin_map<base_ops::op>(dst, lhs, rhs);                                                                          \
    }
#define KITTENS_WITH_VECTOR(name, op)                                                                                  \
    template <ducks::st::all T, ducks::sv::all V>                                                                      \
    static __device__ inline void name##_row(T &dst, const T &src, const V &row_values) {                              \
        row_map<base_ops::op>(dst, src, row_values);                                                                   \
    }                                                                                                                  \
    template <ducks::st::all T, ducks::sv::all V>                                                                      \
    static __device__ inline void name##_col(T &dst, const T &src, const V &col_values) {                              \
        col_map<base_ops::op>(dst, src, col_values);                                                                   \
    }
    KITTENS_CONSTANT(zero)
    KITTENS_CONSTANT(one)
    KITTENS_CONSTANT(pos_infty)
    KITTENS_CONSTANT(neg_infty)
    KITTENS_UNARY(exp)
    KITTENS_UNARY(exp2)
    KITTENS_UNARY(log)
    KITTENS_UNARY(log2)
    KITTENS_UNARY(abs)
    KITTENS_UNARY(relu)
    KITTENS_UNARY(sqrt)
    KITTENS_UNARY(rsqrt)
    KITTENS_UNARY(rcp)
    KITTENS_UNARY(neg)
    KITTENS_UNARY(sigmoid)
    KITTENS_UNARY(silu)
    KITTENS_UNARY(gelu)
    KITTENS_UNARY(gelu_tanh)
    KITTENS_UNARY(dgelu)
    KITTENS_UNARY(tanh)
    KITTENS_UNARY(erf)
    KITTENS_UNARY(softplus)
    KITTENS_UNARY(sin)
    KITTENS_UNARY(cos)
    KITTENS_UNARY(floor)
    KITTENS_UNARY(ceil)
    KITTENS_UNARY(round)
    KITTENS_BINARY(max, max)
    KITTENS_BINARY(min, min)
    KITTENS_BINARY(add, sum)
    KITTENS_BINARY(sub, sub)
    KITTENS_BINARY(mul, mul)
    KITTENS_BINARY(div, div)
    KITTENS_WITH_VECTOR(add, sum)
    KITTENS_WITH_VECTOR(sub, sub)
    KITTENS_WITH_VECTOR(mul, mul)
    KITTENS_WITH_VECTOR(div, div)
#undef KITTENS_CONSTANT
#undef KITTENS_UNARY
#undef KITTENS_BINARY
#undef KITTENS_WITH_VECTOR

    /** dst = src, but `low` where it is less and `high` where it is more. */
    template <ducks::shared T>
    static __device__ inline void clamp(T &dst, const T &src, float low, float high) {
        map(dst, src, [=](float v) { return __builtin_fminf(__builtin_fmaxf(v, low), high); });
    }

    /**
     * @brief dst = f(src) or f(src, others...), element by element, computed in float and rounded once; f may also take
     * the position: the index in a vector, row and column in a tile.
     *
     * The operands may differ in the element type.
     */
    template <ducks::shared T, typename... Rest>
    static __device__ inline void map(T &dst, const Rest &...rest) {
        apply(dst, rest...);
    }
    /** Every element becomes f of its position. */
    template <ducks::shared T, typename F>
    static __device__ inline void fill(T &dst, const F &f) {
        apply(dst, f);
    }

    /** Each row of dst = its value. */
    template <ducks::st::all T, ducks::sv::all V>
    static __device__ inline void broadcast_row(T &dst, const V &row_values) {
        row_map<base_ops::copy2>(dst, dst, row_values);
    }
    /** Each column of dst = its value. */
    template <ducks::st::all T, ducks::sv::all V>
    static __device__ inline void broadcast_col(T &dst, const V &col_values) {
        col_map<base_ops::copy2>(dst, dst, col_values);
    }

  private:
    /** dst = f of the elements of the preceding operands, up to three. */
    template <typename T, typename F>
    static __device__ inline void apply(T &dst, const F &f) {
        for_own_elements<N, T>([&](auto at) { set(dst, at, call(f, at)); });
    }
    template <typename T, typename A, typename F>
    static __device__ inline void apply(T &dst, const A &a, const F &f) {
        check_sizes<T, A>();
        for_own_elements<N, T>([&](auto at) { set(dst, at, call(f, at, number(a, at))); });
    }
    template <typename T, typename A, typename B, typename F>
    static __device__ inline void apply(T &dst, const A &a, const B &b, const F &f) {
        check_sizes<T, A, B>();
        for_own_elements<N, T>([&](auto at) { set(dst, at, call(f, at, number(a, at), number(b, at))); });
    }
    template <typename T, typename A, typename B, typename C, typename F>
    static __device__ inline void apply(T &dst, const A &a, const B &b, const C &c, const F &f) {
        check_sizes<T, A, B, C>();
        for_own_elements<N, T>(
            [&](auto at) { set(dst, at, call(f, at, number(a, at), number(b, at), number(c, at))); });
    }
    template <typename F, typename... Values>
    static __device__ inline auto call(const F &f, int2 at, Values... values) {
        return call_at(f, at.x, at.y, values...);
    }
    template <typename F, typename... Values>
    static __device__ inline auto call(const F &f, int at, Values... values) {
        return call_at(f, at, values...);
    }
    template <typename U, typename At>
    static __device__ inline auto number(const U &operand, At at) {
        return numbers<typename U::dtype>::of(operand[at]).n[0];
    }
    template <typename T, typename At, typename V>
    static __device__ inline void set(T &dst, At at, V value) {
        numbers<typename T::dtype> made;
        made.n[0] = value;
        dst[at] = made.packed();
    }
    /** True if the operands are shared tiles, or shared vectors, of one size. */
    template <typename T, typename... U>
    static __device__ inline constexpr void check_sizes() {
        constexpr bool same_size = (same_sizes<T, U>() && ...);
        static_assert(same_size, "map: the operands are shared tiles or shared vectors of the same size");
    }
    template <typename T, typename U>
    static __host__ __device__ constexpr bool same_sizes() {
        if constexpr (ducks::sv::all<T> && ducks::sv::all<U>)
            return T::length == U::length;
        else if constexpr (ducks::st::all<T> && ducks::st::all<U>)
            return T::rows == U::rows && T::cols == U::cols;
        else
            return false;
    }
    template <typename T, typename V, int length>
    static __device__ inline constexpr void check_vector() {
        constexpr bool fits = V::length == length && is_same<typename T::dtype, typename V::dtype>;
        static_assert(fits, "a shared vector that goes with a shared tile has a value of its type for each row "
                            "(column)");
    }
};

} // namespace detail
} // namespace kittens
