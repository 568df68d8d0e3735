/**
 * @file
 * @brief Register tiles and vectors of a whole group, from and to shared and global memory.
 *
 * Each wave has a part: the whole consists of the waves' register tiles stacked vertically, or of their vectors
 * concatenated.
 */
#pragma once

#include "../../warp/warp.cuh"

namespace kittens::detail {

template <int N>
struct group_registers {
    /** This wave's part of a shared tile of N times as many rows. */
    template <ducks::rt::all RT, ducks::st::whole ST>
    static __device__ inline void load(RT &dst, const ST &src) {
        check_rows<RT, ST>();
        kittens::load(dst, part_of<RT>(src));
    }
    template <ducks::st::whole ST, ducks::rt::all RT>
    static __device__ inline void store(ST &dst, const RT &src) {
        check_rows<RT, ST>();
        auto part = part_of<RT>(dst);
        kittens::store(part, src);
    }
    /** This wave's part of a shared vector of N times the length. */
    template <ducks::rv::all RV, ducks::sv::all SV>
    static __device__ inline void load(RV &dst, const SV &src) {
        check_length<RV, SV>();
        kittens::load(dst, subvec_inplace<RV::length>(const_cast<SV &>(src), wave()));
    }
    template <ducks::sv::all SV, ducks::rv::all RV>
    static __device__ inline void store(SV &dst, const RV &src) {
        check_length<RV, SV>();
        kittens::store(subvec_inplace<RV::length>(dst, wave()), src);
    }
    /** This wave's part of the tile or vector at `idx` of a global layout; `idx` counts those of the whole group. */
    template <ducks::rv::all RV, ducks::gl::all GL, ducks::coord::vec COORD = coord<RV>>
    static __device__ inline void load(RV &dst, const GL &src, const COORD &idx) {
        kittens::load(dst, src, coord<RV>(idx.b, idx.d, idx.r, idx.c * N + wave()));
    }
    template <ducks::rv::all RV, ducks::gl::all GL, ducks::coord::vec COORD = coord<RV>>
    static __device__ inline void store(const GL &dst, const RV &src, const COORD &idx) {
        kittens::store(dst, src, coord<RV>(idx.b, idx.d, idx.r, idx.c * N + wave()));
    }

  private:
    static __device__ inline int wave() { return kittens::warpid() % N; }
    template <typename RT, typename ST>
    static __device__ inline auto part_of(const ST &tile) {
        return subtile_inplace<RT::rows, RT::cols>(const_cast<ST &>(tile), int2{wave(), 0});
    }
    template <typename RT, typename ST>
    static __device__ inline constexpr void check_rows() {
        constexpr bool fits = ST::rows == N * RT::rows && ST::cols == RT::cols;
        static_assert(fits, "group: the shared tile is as wide as a wave's register tile and has N times as many rows");
    }
    template <typename RV, typename SV>
    static __device__ inline constexpr void check_length() {
        constexpr bool fits = SV::length == N * RV::length;
        static_assert(fits, "group: the shared vector is N times as long as a wave's register vector");
    }
};

} // namespace kittens::detail
