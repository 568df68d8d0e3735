/**
 * @file
 * @brief Explicit-register tiles from one type, register file or layout to another, and to and from register tiles.
 */
#pragma once

#include "../conversions.cuh"
#include "maps.cuh"

namespace kittens {

namespace detail {

/** The registers of base tile {i, j}, as the compiler sees them. */
template <int i, int j, ducks::art::all A>
__device__ inline typename A::base_tile read_base() {
    struct {
        unsigned w[A::registers_per_base_tile];
    } words;
    for_constants<A::registers_per_base_tile>(
        [&]<int r>() { words.w[r] = macros::read_gpr<A::template first_register<i, j> + r>(); });
    typename A::base_tile tile;
    __builtin_memcpy(&tile, &words, sizeof(tile));
    return tile;
}
template <int i, int j, ducks::art::all A>
__device__ inline void write_base(const typename A::base_tile &tile) {
    struct {
        unsigned w[A::registers_per_base_tile];
    } words;
    __builtin_memcpy(&words, &tile, sizeof(words));
    for_constants<A::registers_per_base_tile>(
        [&]<int r>() { macros::write_gpr<A::template first_register<i, j> + r>(words.w[r]); });
}

} // namespace detail

/** dst = src, a register tile with the same elements in the same lanes. One instruction for each register. */
template <ducks::rt::all RT, ducks::art::all A>
__device__ inline void copy(RT &dst, const A &) {
    constexpr bool alike = detail::is_same<RT, typename A::like>;
    static_assert(
        alike, "copy: the register tile has the same type, size, layout and base shape as the explicit-register tile");
    detail::for_base_tiles<A>([&]<int i, int j>() { dst.tiles[i][j] = detail::read_base<i, j, A>(); });
}
template <ducks::art::all A, ducks::rt::all RT>
__device__ inline void copy(A &, const RT &src) {
    constexpr bool alike = detail::is_same<RT, typename A::like>;
    static_assert(
        alike, "copy: the register tile has the same type, size, layout and base shape as the explicit-register tile");
    detail::for_base_tiles<A>([&]<int i, int j>() { detail::write_base<i, j, A>(src.tiles[i][j]); });
}

/**
 * @brief Base tile {N, M} of dst = src in dst's element type; both have the same layout and base shape.
 *
 * Registers are written lowest first, each after its sources are read, so dst may begin where src does. float to bf16
 * on gfx950 is one instruction per pair of elements; other conversions use registers of the compiler's choice.
 */
template <int N, int M, ducks::art::all T0, ducks::art::all T1>
__device__ inline void copy(T0 &, const T1 &) {
    constexpr bool same_shape = detail::same_distribution<T0, T1>;
    static_assert(same_shape,
                  "copy: the tiles have the same size, layout and base shape, and differ in the element type only");
    constexpr int to = T0::template first_register<N, M>, from = T1::template first_register<N, M>;
    constexpr bool in_vgprs = to < detail::FIRST_AGPR && from < detail::FIRST_AGPR;
    if constexpr (detail::is_same<typename T0::T, typename T1::T>) {
        detail::for_constants<T0::registers_per_base_tile>([]<int r>() {
            if constexpr (in_vgprs)
                macros::v_mov_b32_e32<to + r, from + r>();
            else
                macros::write_gpr<to + r>(macros::read_gpr<from + r>());
        });
        return;
    }
#if defined(KITTENS_CDNA4)
    if constexpr (in_vgprs && detail::is_same<typename T0::T, bf16> && detail::is_same<typename T1::T, float>) {
        detail::for_constants<T0::registers_per_base_tile>(
            []<int r>() { macros::v_cvt_pk_bf16_f32<to + r, from + 2 * r, from + 2 * r + 1>(); });
        return;
    }
#endif
    if constexpr (!detail::is_same<typename T0::T, typename T1::T>) {
        rt<typename T1::T, T1::base_tile_rows, T1::base_tile_cols, typename T1::layout, typename T1::shape> source;
        rt<typename T0::T, T0::base_tile_rows, T0::base_tile_cols, typename T0::layout, typename T0::shape> converted;
        source.tiles[0][0] = detail::read_base<N, M, T1>();
        copy(converted, source);
        detail::write_base<N, M, T0>(converted.tiles[0][0]);
    }
}
/** dst = src in dst's element type. */
template <ducks::art::all T0, ducks::art::all T1>
__device__ inline void copy(T0 &dst, const T1 &src) {
    detail::for_base_tiles<T0>([&]<int i, int j>() { copy<i, j>(dst, src); });
}

/** Copies a tile in AGPRs to a tile in VGPRs of any type and shape, base tile by base tile, bit for bit. */
template <ducks::art::all T0, ducks::art::all T1>
__device__ inline void accvgpr_read(T0 &, const T1 &) {
    constexpr bool as_many = T0::height == T1::height && T0::width == T1::width &&
                             T0::registers_per_base_tile == T1::registers_per_base_tile;
    static_assert(as_many, "accvgpr_read: the tiles have as many base tiles of as many registers");
    detail::for_base_tiles<T0>([]<int i, int j>() {
        detail::for_constants<T0::registers_per_base_tile>([]<int r>() {
            macros::v_accvgpr_read_b32<T0::template first_register<i, j> + r, T1::template first_register<i, j> + r>();
        });
    });
}
/** Copies a tile in VGPRs to a tile in AGPRs in the same way. */
template <ducks::art::all T0, ducks::art::all T1>
__device__ inline void accvgpr_write(T0 &, const T1 &) {
    constexpr bool as_many = T0::height == T1::height && T0::width == T1::width &&
                             T0::registers_per_base_tile == T1::registers_per_base_tile;
    static_assert(as_many, "accvgpr_write: the tiles have as many base tiles of as many registers");
    detail::for_base_tiles<T0>([]<int i, int j>() {
        detail::for_constants<T0::registers_per_base_tile>([]<int r>() {
            macros::v_accvgpr_write_b32<T0::template first_register<i, j> + r, T1::template first_register<i, j> + r>();
        });
    });
}

/**
 * @brief A tile of 2-byte elements in the column layout from base shape rt_16x16_s to rt_16x32_s, in the same
 * registers: a converted result of the matrix cores becomes an operand. Only on gfx950.
 *
 * A base tile of dst has the registers of two adjacent base tiles of src. Costs two instructions per base tile of dst.
 */
template <ducks::art::all T0, ducks::art::all T1>
__device__ inline void swap_layout_inplace(T0 &, const T1 &) {
    constexpr bool same_size = T0::rows == T1::rows && T0::cols == T1::cols && sizeof(typename T0::T) == 2 &&
                               detail::is_same<typename T0::T, typename T1::T>;
    static_assert(same_size, "swap_layout_inplace: the tiles have the same size and type, of 2 bytes");
    constexpr bool right_shapes = !T0::is_row && !T1::is_row && detail::is_same<typename T1::shape, rt_16x16_s> &&
                                  detail::is_same<typename T0::shape, rt_16x32_s>;
    static_assert(right_shapes,
                  "swap_layout_inplace: from base shape rt_16x16_s to rt_16x32_s, both in the column layout");
#if defined(KITTENS_CDNA4)
    // The registers may have been written just before, and are read through other lanes.
    wait_states<2>();
    detail::for_base_tiles<T0>([]<int i, int j>() {
        constexpr int first = T1::template first_register<i, 2 * j>, second = T1::template first_register<i, 2 * j + 1>;
        constexpr bool same_registers = first == T0::template first_register<i, j> && second == first + 2;
        static_assert(same_registers,
                      "swap_layout_inplace: the registers of dst's base tile are those of two of src's side by side");
        macros::v_permlane16_swap_b32_e32<first, second>();
        macros::v_permlane16_swap_b32_e32<first + 1, second + 1>();
    });
    wait_states<2>();
#else
    static_assert(detail::never<T0>, "swap_layout_inplace: only gfx950 (CDNA4) exchanges groups of lanes in registers");
#endif
}

namespace detail {

/** Lanes whose element `element` of a base tile is right of the diagonal. */
template <typename Base>
__host__ __device__ constexpr uint64_t right_of_diagonal(int element) {
    uint64_t mask = 0;
    for (int lane = 0; lane < WARP_THREADS; lane++)
        if (Base::col(lane, element) > Base::row(lane, element)) mask |= uint64_t{1} << lane;
    return mask;
}

} // namespace detail

/** Base tile {N, M} of dst = src, with the elements right of the base tile's diagonal from register `GPR`. For
    float. */
template <int N, int M, int GPR, ducks::art::all T0, ducks::art::all T1>
__device__ inline void make_causal(T0 &, const T1 &) {
    detail::check_map<macros::mul, T0, T1>();
    detail::for_constants<T0::registers_per_base_tile>([]<int r>() {
        constexpr uint64_t mask = detail::right_of_diagonal<typename T0::base_tile>(r);
        macros::v_cndmask_b32_e64<T0::template first_register<N, M> + r, T1::template first_register<N, M> + r, GPR>(
            mask);
    });
}

} // namespace kittens
