/**
 * @file
 * @brief Element-wise operations on explicit-register tiles.
 *
 * `unary_map` and `bin_map` apply a functor of `macros`; the named functions apply the usual ones. They support float
 * tiles in VGPRs, with one vector instruction per register; `zero`, `mov` and `copy` support any tile. The tiles have
 * the same shape; the destination may be one of the sources.
 *
 * Overloads with <N, M> process only base tile {N, M}, those with <N, M, R> only its register R; between those and the
 * instructions that write their operands or read their results, the kernel inserts the wait states (macros.cuh).
 */
#pragma once

#include "../maps.cuh"

namespace kittens {

namespace detail {

/** Calls f.template operator()<i, j>() for every base tile. */
template <ducks::art::all A, typename F>
__device__ inline void for_base_tiles(F f) {
    for_constants<A::height>(
        [&]<int i>() { for_constants<A::width>([&]<int j>() { f.template operator()<i, j>(); }); });
}

/** True if a functor of `macros` works on any register, not only on floats. */
template <typename op>
inline constexpr bool any_type = is_same<op, macros::zero> || is_same<op, macros::copy>;
/** True if it uses a transcendental instruction, whose result the next instruction may not read. */
template <typename op>
inline constexpr bool transcendental =
    is_same<op, macros::exp2> || is_same<op, macros::log2> || is_same<op, macros::rcp> || is_same<op, macros::rsqrt> ||
    is_same<op, macros::sqrt>;

template <typename op, typename A, typename... Bs>
__device__ inline constexpr void check_map() {
    constexpr bool is_float = any_type<op> || is_same<typename A::T, float>;
    static_assert(is_float, "maps of explicit-register tiles are of float tiles; copy converts");
    constexpr bool same_shape = (same_distribution<A, Bs> && ...);
    static_assert(same_shape, "maps of explicit-register tiles: the tiles have the same size, layout and base shape");
    constexpr bool same_type = (is_same<typename A::T, typename Bs::T> && ...);
    static_assert(same_type, "maps of explicit-register tiles: the tiles have the same element type");
}

} // namespace detail

/** One register of base tile {N, M}: dst = op(src). */
template <int N, int M, int R, typename op, ducks::art::all T0, ducks::art::all T1>
__device__ inline void unary_map() {
    detail::check_map<op, T0, T1>();
    op::template op<T0::template first_register<N, M> + R, T1::template first_register<N, M> + R>();
}
/** Base tile {N, M}: dst = op(src). */
template <int N, int M, typename op, ducks::art::all T0, ducks::art::all T1>
__device__ inline void unary_map() {
    detail::for_constants<T0::registers_per_base_tile>([]<int r>() { unary_map<N, M, r, op, T0, T1>(); });
}
/** dst = op(src). */
template <typename op, ducks::art::all T0, ducks::art::all T1>
__device__ inline void unary_map() {
    detail::for_base_tiles<T0>([]<int i, int j>() { unary_map<i, j, op, T0, T1>(); });
    if constexpr (detail::transcendental<op>) wait_states<1>();
}
template <typename op, ducks::art::all T0, ducks::art::all T1>
__device__ inline void unary_map(T0 &, const T1 &) {
    unary_map<op, T0, T1>();
}

/** One register of base tile {N, M}: dst = op(src, value). */
template <int N, int M, int R, typename op, ducks::art::all T0, ducks::art::all T1>
__device__ inline void bin_map(T0 &, const T1 &, const float &value) {
    detail::check_map<op, T0, T1>();
    op::template op<T0::template first_register<N, M> + R, T1::template first_register<N, M> + R>(value);
}
/** One register of base tile {N, M}: dst = op(lhs, rhs). */
template <int N, int M, int R, typename op, ducks::art::all T0, ducks::art::all T1, ducks::art::all T2>
__device__ inline void bin_map(T0 &, const T1 &, const T2 &) {
    detail::check_map<op, T0, T1, T2>();
    op::template op<T0::template first_register<N, M> + R, T1::template first_register<N, M> + R,
                    T2::template first_register<N, M> + R>();
}
/** Base tile {N, M}: dst = op(lhs, rhs), rhs a tile or one value for all elements. */
template <int N, int M, typename op, ducks::art::all T0, ducks::art::all T1, typename U>
__device__ inline void bin_map(T0 &dst, const T1 &lhs, const U &rhs) {
    detail::for_constants<T0::registers_per_base_tile>([&]<int r>() { bin_map<N, M, r, op>(dst, lhs, rhs); });
}
/** dst = op(lhs, rhs), rhs a tile or one value for all elements. */
template <typename op, ducks::art::all T0, ducks::art::all T1, typename U>
__device__ inline void bin_map(T0 &dst, const T1 &lhs, const U &rhs) {
    detail::for_base_tiles<T0>([&]<int i, int j>() { bin_map<i, j, op>(dst, lhs, rhs); });
}

#define KITTENS_ART_UNARY(name)                                                                                        \
    template <int N, int M, int R, ducks::art::all T0, ducks::art::all T1>                                             \
    __device__ inline void name(T0 &, const T1 &) {                                                                    \
        unary_map<N, M, R, macros::name, T0, T1>();                                                                    \
    }                                                                                                                  \
    template <int N, int M, ducks::art::all T0, ducks::art::all T1>                                                    \
    __device__ inline void name(T0 &, const T1 &) {                                                                    \
        unary_map<N, M, macros::name, T0, T1>();                                                                       \
    }                                                                                                                  \
    template <ducks::art::all T0, ducks::art::all T1>                                                                  \
    __device__ inline void name(T0 &, const T1 &) {                                                                    \
        unary_map<macros::name, T0, T1>();                                                                             \
    }
KITTENS_ART_UNARY(exp2)
KITTENS_ART_UNARY(log2)
KITTENS_ART_UNARY(rcp)
KITTENS_ART_UNARY(rsqrt)
KITTENS_ART_UNARY(sqrt)
KITTENS_ART_UNARY(abs)
KITTENS_ART_UNARY(neg)
KITTENS_ART_UNARY(relu)
#undef KITTENS_ART_UNARY

#define KITTENS_ART_SET(name)                                                                                          \
    template <int N, int M, ducks::art::all T0>                                                                        \
    __device__ inline void name(T0 &) {                                                                                \
        unary_map<N, M, macros::name, T0, T0>();                                                                       \
    }                                                                                                                  \
    template <ducks::art::all T0>                                                                                      \
    __device__ inline void name(T0 &) {                                                                                \
        unary_map<macros::name, T0, T0>();                                                                             \
    }
KITTENS_ART_SET(zero)
KITTENS_ART_SET(one)
KITTENS_ART_SET(pos_infty)
KITTENS_ART_SET(neg_infty)
#undef KITTENS_ART_SET

/** Registers of dst = register `GPR`. */
template <int N, int M, int R, int GPR, ducks::art::all T0>
__device__ inline void mov(T0 &) {
    macros::v_mov_b32_e32<T0::template first_register<N, M> + R, GPR>();
}
template <int N, int M, int GPR, ducks::art::all T0>
__device__ inline void mov(T0 &dst) {
    detail::for_constants<T0::registers_per_base_tile>([&]<int r>() { mov<N, M, r, GPR>(dst); });
}
template <int GPR, ducks::art::all T0>
__device__ inline void mov(T0 &dst) {
    detail::for_base_tiles<T0>([&]<int i, int j>() { mov<i, j, GPR>(dst); });
}

// Binary operations, the right-hand side a tile or a value; on single registers; with a vector of the rows.
#define KITTENS_ART_BINARY(name, functor)                                                                              \
    template <int N, int M, int R, ducks::art::all T0, ducks::art::all T1, typename U>                                 \
    __device__ inline void name(T0 &dst, const T1 &lhs, const U &rhs) {                                                \
        bin_map<N, M, R, macros::functor>(dst, lhs, rhs);                                                              \
    }                                                                                                                  \
    template <int N, int M, ducks::art::all T0, ducks::art::all T1, typename U>                                        \
    __device__ inline void name(T0 &dst, const T1 &lhs, const U &rhs) {                                                \
        bin_map<N, M, macros::functor>(dst, lhs, rhs);                                                                 \
    }                                                                                                                  \
    template <ducks::art::all T0, ducks::art::all T1, typename U>                                                      \
    __device__ inline void name(T0 &dst, const T1 &lhs, const U &rhs) {                                                \
        bin_map<macros::functor>(dst, lhs, rhs);                                                                       \
    }                                                                                                                  \
    /** Register DST = register SRC with a value. */                                                                   \
    template <int DST, int SRC>                                                                                        \
    __device__ inline void name(float value) {                                                                         \
        macros::functor::template op<DST, SRC>(value);                                                                 \
    }
KITTENS_ART_BINARY(add, add)
KITTENS_ART_BINARY(sub, sub)
KITTENS_ART_BINARY(mul, mul)
KITTENS_ART_BINARY(mul_vgpr, mul)
KITTENS_ART_BINARY(max, max)
KITTENS_ART_BINARY(min, min)
#undef KITTENS_ART_BINARY

namespace detail {

/** dst = op(src, value of the element's row or column), the values in registers of the compiler's choice. */
template <typename op, bool along_rows, ducks::art::all T0, ducks::art::all T1, ducks::rv::all RV>
__device__ inline void vector_map(T0 &, const T1 &, const RV &values) {
    check_map<op, T0, T1>();
    for_base_tiles<T0>([&]<int i, int j>() {
        for_constants<T0::packed_per_base_tile>([&]<int k>() {
            const float2 pair = vector_value<along_rows, typename T0::like>(values, i, j, k);
            constexpr int to = T0::template first_register<i, j> + 2 * k;
            constexpr int from = T1::template first_register<i, j> + 2 * k;
            op::template op<to, from>(pair.x);
            op::template op<to + 1, from + 1>(pair.y);
        });
    });
}

/** Base tile {i, j}: dst = op(src, value of the element's row), register `GPR` holding the values of the rows. */
template <int i, int j, int GPR, typename op, ducks::art::all T0, ducks::art::all T1>
__device__ inline void register_row_map() {
    check_map<op, T0, T1>();
    constexpr bool in_columns = !T0::is_row && is_same<typename T0::shape, rt_16x16_s>;
    static_assert(in_columns,
                  "row maps with a register of values are of tiles in the column layout with base shape rt_16x16_s");
    for_constants<4>([]<int r>() {
        op::template op_of_quad<T0::template first_register<i, j> + r, T1::template first_register<i, j> + r, GPR, r>();
    });
}

} // namespace detail

// Combines each element with the value of its row or column: in a register vector, or (rows of a tile of 16 rows,
// column layout) in register GPR, which `load<GPR>` fills from a shared vector.
#define KITTENS_ART_VECTOR(name, functor)                                                                              \
    template <ducks::art::all T0, ducks::art::all T1, ducks::rv::all RV>                                               \
    __device__ inline void name##_row(T0 &dst, const T1 &src, const RV &row_values) {                                  \
        detail::vector_map<macros::functor, true>(dst, src, row_values);                                               \
    }                                                                                                                  \
    template <ducks::art::all T0, ducks::art::all T1, ducks::rv::all RV>                                               \
    __device__ inline void name##_col(T0 &dst, const T1 &src, const RV &col_values) {                                  \
        detail::vector_map<macros::functor, false>(dst, src, col_values);                                              \
    }                                                                                                                  \
    template <int N, int M, int GPR, ducks::art::all T0, ducks::art::all T1>                                           \
    __device__ inline void name##_row(T0 &, const T1 &) {                                                              \
        detail::register_row_map<N, M, GPR, macros::functor, T0, T1>();                                                \
    }                                                                                                                  \
    template <int GPR, ducks::art::all T0, ducks::art::all T1>                                                         \
    __device__ inline void name##_row(T0 &, const T1 &) {                                                              \
        static_assert(T0::height == 1, "row maps with a register of values are of tiles of 16 rows");                  \
        /* The register may just have been written, and is read by way of other lanes. */                              \
        wait_states<2>();                                                                                              \
        detail::for_constants<T0::width>(                                                                              \
            []<int j>() { detail::register_row_map<0, j, GPR, macros::functor, T0, T1>(); });                          \
    }
KITTENS_ART_VECTOR(add, add)
KITTENS_ART_VECTOR(sub, sub)
KITTENS_ART_VECTOR(mul, mul)
#undef KITTENS_ART_VECTOR

namespace detail {

/** Reduces a float tile along rows or columns into `dst`, after `start` where `has_start`. */
template <typename op, bool along_rows, bool has_start, ducks::art::all A, ducks::rv::all RV>
__device__ inline void reduce_pinned(RV &dst, const RV &start) {
    using wanted = select<along_rows, typename A::col_vec, typename A::row_vec>;
    constexpr bool own_vector = is_same<RV, wanted>;
    static_assert(own_vector, "a row reduction gives the tile's own col_vec, a column reduction its row_vec");
    constexpr bool is_float = is_same<typename A::T, float>;
    static_assert(is_float, "reductions of explicit-register tiles are of float tiles");
    using distribution = typename A::base_tile::distribution;
    constexpr int outer_size = along_rows ? A::height : A::width, inner_size = along_rows ? A::width : A::height;
    for_constants<outer_size>([&]<int outer>() {
        for_constants<RV::inner_dim>([&]<int k>() {
            // The register with element e of the base tile that is the `inner`-th along the reduction.
            const auto element = [&]<int inner, int e>() {
                return bit_cast<float>(
                    macros::read_gpr<
                        A::template first_register<along_rows ? outer : inner, along_rows ? inner : outer> + e>());
            };
            if constexpr (RV::is_ortho) {
                float total = element.template operator()<0, 0>();
                for_constants<inner_size>([&]<int inner>() {
                    for_constants<A::registers_per_base_tile, inner == 0 ? 1 : 0>([&]<int e>() {
                        total = op::template op<float>(total, element.template operator()<inner, e>());
                    });
                });
                total = reduce_lanes<op, distribution::minor, WARP_THREADS / 2>(total);
                if constexpr (has_start) total = op::template op<float>(start.data[outer][k], total);
                dst.data[outer][k] = total;
            } else {
                float2 total = {element.template operator()<0, 2 * k>(), element.template operator()<0, 2 * k + 1>()};
                for_constants<inner_size, 1>([&]<int inner>() {
                    total = op::template op<float2>(total, float2{element.template operator()<inner, 2 * k>(),
                                                                  element.template operator()<inner, 2 * k + 1>()});
                });
                total = reduce_lanes<op, 1, distribution::minor / 2>(total);
                if constexpr (has_start) total = op::template op<float2>(start.data[outer][k], total);
                dst.data[outer][k] = total;
            }
        });
    });
}

} // namespace detail

// Reductions of a float tile to its col_vec (rows) or row_vec (columns), with and without a start value. Costs two
// instructions per register, and the lane exchanges of register tiles' reductions.
#define KITTENS_ART_REDUCTION(name, functor)                                                                           \
    template <ducks::rv::all RV, ducks::art::all A>                                                                    \
    __device__ inline void row_##name(RV &row_values, const A &) {                                                     \
        detail::reduce_pinned<base_ops::functor, true, false, A>(row_values, row_values);                              \
    }                                                                                                                  \
    template <ducks::rv::all RV, ducks::art::all A>                                                                    \
    __device__ inline void row_##name(RV &row_values, const A &, const RV &start) {                                    \
        detail::reduce_pinned<base_ops::functor, true, true, A>(row_values, start);                                    \
    }                                                                                                                  \
    template <ducks::rv::all RV, ducks::art::all A>                                                                    \
    __device__ inline void col_##name(RV &col_values, const A &) {                                                     \
        detail::reduce_pinned<base_ops::functor, false, false, A>(col_values, col_values);                             \
    }                                                                                                                  \
    template <ducks::rv::all RV, ducks::art::all A>                                                                    \
    __device__ inline void col_##name(RV &col_values, const A &, const RV &start) {                                    \
        detail::reduce_pinned<base_ops::functor, false, true, A>(col_values, start);                                   \
    }
KITTENS_ART_REDUCTION(max, max)
KITTENS_ART_REDUCTION(min, min)
KITTENS_ART_REDUCTION(sum, sum)
#undef KITTENS_ART_REDUCTION

} // namespace kittens
