/**
 * @file
 * @brief Explicit-register tiles from and to global memory.
 *
 * The functions return when their loads are in flight, straight to the tile's registers, VGPRs or AGPRs; the kernel
 * must call `wait_vmcnt` before anything uses them. Rows past the end of the axis read as zero and are not written.
 *
 * The tile is at `idx`, or at `idx` + `warp_idx`, both counted in tiles.
 */
#pragma once

#include "../../../register/tile/assembly/conversions.cuh"
#include "../global_to_register.cuh"

namespace kittens {

namespace detail {

/** The sum of two coordinates, in elements. */
template <int axis, ducks::coord::tile COORD>
__device__ inline coord<> sum_of(const COORD &idx, const COORD &warp_idx) {
    const coord<> first = idx.template unit_coord<axis, 3>(), second = warp_idx.template unit_coord<axis, 3>();
    return coord<>(first.b + second.b, first.d + second.d, first.r + second.r, first.c + second.c);
}

/** A resource for inline assembly: waits five cycles after vector instructions that wrote its parts. */
template <int axis, ducks::gl::all GL>
__device__ inline i32x4 settled_resource(const window<axis, GL> &view) {
    i32x4 resource = make_srsrc(view.base, view.bytes);
    asm volatile("s_nop 4" : "+s"(resource));
    return resource;
}

} // namespace detail

/**
 * @brief Starts loading dst = the tile at `idx` + `warp_idx` of src, its rows along `axis`. The element types are the
 * same.
 *
 * Costs one load for each run of consecutive elements of a lane in a row, up to 16 bytes; in the column layout, one for
 * each element.
 */
template <int axis, ducks::art::all A, ducks::gl::all GL, ducks::coord::tile COORD = coord<A>>
__device__ inline void load(A &, const GL &src, const COORD &idx, const COORD &warp_idx) {
    using T = typename A::T;
    using base = typename A::base_tile;
    constexpr int size = static_cast<int>(sizeof(T));
    constexpr bool same_type = detail::is_same<T, typename GL::dtype>;
    static_assert(same_type,
                  "load: an explicit-register tile has the global layout's element type; copy converts in registers");
    constexpr bool accessible = A::is_row || size >= 2;
    static_assert(
        accessible,
        "load: there is no access to single bytes of given registers, so that tiles of fp8 are in the row layout");
    const detail::window<axis, GL> view(src, detail::sum_of<axis>(idx, warp_idx));
    const i32x4 resource = detail::settled_resource(view);
    const int lane = laneid();
    constexpr int bytes = A::is_row ? detail::run<T, base::stride>::word_bytes : size;
    constexpr bool whole_words = !A::is_row || bytes >= 4;
    static_assert(whole_words, "load: a lane of an explicit-register tile holds whole words of a row");
    constexpr int per_step = bytes / size, count = base::elements_per_thread / per_step;
    detail::for_base_tiles<A>([&]<int i, int j>() {
        constexpr int first = A::template first_register<i, j>;
        const auto offset = [&](int step) {
            const int row = i * base::rows + base::row(lane, step * per_step);
            const int col = j * base::cols + base::col(lane, step * per_step);
            return static_cast<uint32_t>(row) * view.pitch + static_cast<uint32_t>(col * size);
        };
        if constexpr (bytes == 2) {
            uint16_t halves[count];
            detail::for_constants<count>(
                [&]<int step>() { halves[step] = llvm_amdgcn_raw_buffer_load_b16(resource, offset(step), 0, 0); });
            detail::for_constants<count / 2>(
                [&]<int n>() { macros::write_halves<first + n>(halves[2 * n], halves[2 * n + 1]); });
        } else {
            detail::for_constants<count>(
                [&]<int step>() { macros::buffer_load<first + step * bytes / 4, bytes / 4>(resource, offset(step)); });
        }
    });
}
template <int axis, ducks::art::all A, ducks::gl::all GL, ducks::coord::tile COORD = coord<A>>
__device__ inline void load(A &dst, const GL &src, const COORD &idx) {
    load<axis, A, GL, COORD>(dst, src, idx, COORD());
}
template <ducks::art::all A, ducks::gl::all GL, ducks::coord::tile COORD = coord<A>>
__device__ inline void load(A &dst, const GL &src, const COORD &idx, const COORD &warp_idx) {
    load<2, A, GL, COORD>(dst, src, idx, warp_idx);
}
template <ducks::art::all A, ducks::gl::all GL, ducks::coord::tile COORD = coord<A>>
__device__ inline void load(A &dst, const GL &src, const COORD &idx) {
    load<2, A, GL, COORD>(dst, src, idx, COORD());
}

/**
 * @brief The tile at `idx` + `warp_idx` of dst = src, its rows along `axis`.
 *
 * Straight from the tile's registers if the element types are the same and the layout is the row layout; otherwise
 * through registers of the compiler's choice, with conversion.
 */
template <int axis, ducks::art::all A, ducks::gl::all GL, ducks::coord::tile COORD = coord<A>>
__device__ inline void store(const GL &dst, const A &, const COORD &idx, const COORD &warp_idx) {
    using T = typename A::T;
    using U = typename GL::dtype;
    using base = typename A::base_tile;
    const detail::program_order order;
    const detail::window<axis, GL> view(dst, detail::sum_of<axis>(idx, warp_idx));
    const int lane = laneid();
    constexpr int size = static_cast<int>(sizeof(U));
    constexpr int bytes = detail::run<U, base::stride>::word_bytes;
    if constexpr (A::is_row && detail::is_same<T, U> && bytes >= 4) {
        const i32x4 resource = detail::settled_resource(view);
        constexpr int per_step = bytes / size, count = base::elements_per_thread / per_step;
        detail::for_base_tiles<A>([&]<int i, int j>() {
            detail::for_constants<count>([&]<int step>() {
                const int row = i * base::rows + base::row(lane, step * per_step);
                const int col = j * base::cols + base::col(lane, step * per_step);
                macros::buffer_store<A::template first_register<i, j> + step * bytes / 4, bytes / 4>(
                    resource, static_cast<uint32_t>(row) * view.pitch + static_cast<uint32_t>(col * size));
            });
        });
        wait_states<2>();
    } else {
        const detail::buffer memory(view.base, view.bytes);
        using one = rt<T, base::rows, base::cols, typename A::layout, typename A::shape>;
        detail::for_base_tiles<A>([&]<int i, int j>() {
            one tile;
            tile.tiles[0][0] = detail::read_base<i, j, A>();
            const uint32_t first =
                static_cast<uint32_t>(i * base::rows) * view.pitch + static_cast<uint32_t>(j * base::cols * size);
            const auto place = [&](int row, int col) {
                return first + static_cast<uint32_t>(row) * view.pitch + static_cast<uint32_t>(col * size);
            };
            detail::store_runs<one, U, detail::unbounded>(memory, place, 0, tile);
        });
    }
}
template <int axis, ducks::art::all A, ducks::gl::all GL, ducks::coord::tile COORD = coord<A>>
__device__ inline void store(const GL &dst, const A &src, const COORD &idx) {
    store<axis, A, GL, COORD>(dst, src, idx, COORD());
}
template <ducks::art::all A, ducks::gl::all GL, ducks::coord::tile COORD = coord<A>>
__device__ inline void store(const GL &dst, const A &src, const COORD &idx, const COORD &warp_idx) {
    store<2, A, GL, COORD>(dst, src, idx, warp_idx);
}
template <ducks::art::all A, ducks::gl::all GL, ducks::coord::tile COORD = coord<A>>
__device__ inline void store(const GL &dst, const A &src, const COORD &idx) {
    store<2, A, GL, COORD>(dst, src, idx, COORD());
}

} // namespace kittens
