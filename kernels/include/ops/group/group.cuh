/**
 * @file
 * @brief Operations of several waves together.
 */
#pragma once

#include "memory/registers.cuh"
#include "memory/tile/global_to_shared.cuh"
#include "memory/tile/register_buffer.cuh"
#include "memory/tile/stream.cuh"
#include "register.cuh"
#include "shared/reductions.cuh"

/** Check of a function for four waves, in class templates with N_WARPS waves, like HipKittens' groups. */
#define KITTENS_CHECK_WARPGROUP                                                                                        \
    static_assert(N_WARPS == 4, "a function of a warpgroup is called by a group of 4 waves");

namespace kittens {

/**
 * @brief N waves of a work-group that work together: waves with consecutive indices, starting at a multiple of N.
 *
 * All of them call a member with the same arguments.
 *
 * `load_async` loads straight from global to shared memory, without registers. It returns when the loads are in flight;
 * the kernel must call `wait_vmcnt` and `barrier` before anything reads the tile. A lane loads 16 bytes at a time on
 * gfx950 and 4 on gfx942, at addresses that are multiples of 4. `load` is the same on gfx950, and on gfx942 waits.
 *
 * Operations on shared tiles and vectors are in shared/.
 *
 * `axis` is the axis of the rows: 2, 1 or 0. `aligned` exists for source compatibility; nothing depends on it.
 */
template <int N>
struct group : detail::shared_maps<N>,
               detail::shared_reductions<N>,
               detail::group_registers<N>,
               detail::group_reductions<N> {
    using detail::group_registers<N>::load;
    using detail::group_registers<N>::store;

    static_assert(N >= 1 && N <= MAX_WARPS, "group: a work-group has 1 to 16 waves, of 32 lanes 1 to 32");

    static constexpr int GROUP_WARPS = N;
    static constexpr int GROUP_THREADS = N * WARP_THREADS;

    /** This thread's index in the group. */
    static __device__ inline int laneid() { return static_cast<int>(threadIdx.x) % GROUP_THREADS; }
    /** This wave's index in the group; the same in all lanes. */
    static __device__ inline int warpid() { return kittens::warpid() % N; }
    /** This group's index in the work-group; the same in all lanes. */
    static __device__ inline int groupid() { return kittens::warpid() / N; }

    /** Loads that each lane starts to fill a shared tile: the length of its array of swizzled offsets. */
    template <ducks::st::whole ST>
    static constexpr int loads_per_tile = detail::pieces<ST, N, ST::underlying_subtile_bytes_per_thread>::per_wave;

    /** Loads that every wave starts to fill a shared tile; if they do not divide evenly, some waves start one more. */
    template <ducks::st::whole ST>
    static constexpr int least_loads_per_tile =
        detail::pieces<ST, N, ST::underlying_subtile_bytes_per_thread>::total / N;

    /** Address in shared memory of this wave's first load of a tile; the same in all lanes. */
    template <ducks::st::whole ST>
    static __device__ inline uint32_t lds_base(const ST &tile) {
        using P = detail::pieces<ST, N, ST::underlying_subtile_bytes_per_thread>;
        return static_cast<uint32_t>(__builtin_amdgcn_readfirstlane(static_cast<int>(
            detail::shared_address(&tile.data[0]) + static_cast<uint32_t>(warpid() * P::bytes_per_wave))));
    }

    /**
     * @brief Fills `offsets` (`loads_per_tile<ST>` of them) with the byte offsets that this lane loads for a tile like
     * `dst`, from the tile's first element, in a layout with the row pitch of `src`.
     *
     * They depend on neither the coordinate nor the tile's address, so one array serves all loads of the kernel.
     */
    template <int axis = 2, bool aligned = false, ducks::st::whole ST, ducks::gl::all GL>
    static __device__ inline void prefill_swizzled_offsets([[maybe_unused]] ST &dst, const GL &src, uint32_t *offsets) {
        using P = detail::pieces<ST, N, ST::underlying_subtile_bytes_per_thread>;
        const auto pitch = static_cast<uint32_t>(src.template stride<axis>() * sizeof(typename GL::dtype));
        const int wave = warpid(), lane = kittens::laneid();
#pragma unroll
        for (int i = 0; i < P::per_wave; i++) {
            const auto place = P::at(i, wave, lane);
            offsets[i] = static_cast<uint32_t>(place.row) * pitch + static_cast<uint32_t>(place.col_bytes);
        }
    }

    /**
     * @brief Starts loading the tile at `idx` of `src`, with all values that do not change from tile to tile as
     * arguments.
     *
     * @param offsets from `prefill_swizzled_offsets`.
     * @param resource buffer resource over `src` from `base` on; elements outside its range read as zero.
     * @param base beginning of the resource, at or before the tile.
     * @param lds from `lds_base`.
     */
    template <int axis = 2, bool aligned = false, ducks::st::whole ST, ducks::gl::all GL,
              ducks::coord::tile COORD = coord<ST>>
    static __device__ inline void load_async([[maybe_unused]] ST &dst, const GL &src, const COORD &idx,
                                             const uint32_t *offsets, const i32x4 &resource, const void *base,
                                             uint32_t lds) {
        check_types<ST, GL>();
        using P = detail::pieces<ST, N, ST::underlying_subtile_bytes_per_thread>;
        const auto *first =
            reinterpret_cast<const char *>(src.raw_ptr + src.offset(idx.template unit_coord<axis, 3>()));
        const auto uniform = static_cast<uint32_t>(first - static_cast<const char *>(base));
        detail::start_loads<P, N, ST::underlying_subtile_bytes_per_thread>(offsets, resource, uniform, lds, warpid());
    }

    /** The same; creates the resource, whose range ends with the last row of the axis. */
    template <int axis = 2, bool aligned = false, ducks::st::whole ST, ducks::gl::all GL,
              ducks::coord::tile COORD = coord<ST>>
    static __device__ inline void load_async(ST &dst, const GL &src, const COORD &idx, const uint32_t *offsets) {
        check_types<ST, GL>();
        using P = detail::pieces<ST, N, ST::underlying_subtile_bytes_per_thread>;
        const detail::window<axis, GL> view(src, idx.template unit_coord<axis, 3>());
        detail::start_loads<P, N, ST::underlying_subtile_bytes_per_thread>(offsets, make_srsrc(view.base, view.bytes),
                                                                           0, lds_base(dst), warpid());
    }

    /** Starts loading the tile at `idx` of `src`. Rows past the end of the axis read as zero. */
    template <int axis = 2, bool aligned = false, ducks::st::whole ST, ducks::gl::all GL,
              ducks::coord::tile COORD = coord<ST>>
    static __device__ inline void load_async(ST &dst, const GL &src, const COORD &idx) {
        uint32_t offsets[loads_per_tile<ST>];
        prefill_swizzled_offsets<axis>(dst, src, offsets);
        load_async<axis, aligned, ST, GL, COORD>(dst, src, idx, offsets);
    }

    /**
     * @brief The same, where columns past the end of the row read as zero too.
     *
     * Each load of a lane must lie entirely within the row or past it: the number of columns is a multiple of
     * `bytes_per_load<ST>` bytes.
     */
    template <int axis = 2, bool aligned = false, ducks::st::whole ST, ducks::gl::all GL,
              ducks::coord::tile COORD = coord<ST>>
    static __device__ inline void load_bounded_async(ST &dst, const GL &src, const COORD &idx) {
        check_types<ST, GL>();
        using P = detail::pieces<ST, N, ST::underlying_subtile_bytes_per_thread>;
        const coord<> at = idx.template unit_coord<axis, 3>();
        const detail::window<axis, GL> view(src, at);
        const int bytes_left = (static_cast<int>(src.cols()) - at.c) * static_cast<int>(sizeof(typename GL::dtype));
        const int wave = warpid(), lane = kittens::laneid();
        uint32_t offsets[P::per_wave];
#pragma unroll
        for (int i = 0; i < P::per_wave; i++) {
            const auto place = P::at(i, wave, lane);
            const uint32_t offset =
                static_cast<uint32_t>(place.row) * view.pitch + static_cast<uint32_t>(place.col_bytes);
            offsets[i] = place.col_bytes < bytes_left ? offset : detail::OUT_OF_RANGE;
        }
        detail::start_loads<P, N, ST::underlying_subtile_bytes_per_thread>(offsets, make_srsrc(view.base, view.bytes),
                                                                           0, lds_base(dst), wave);
    }

    /**
     * @brief Starts loading rows rows(0), rows(1), ... of a matrix of `src`: row r of the tile is row rows(r).
     *
     * @param idx batch, depth and, counted in tiles, columns; its row is ignored.
     * @param rows a function of the tile's row, which differs from lane to lane. Rows outside the matrix (negative ones
     *             too) read as zero.
     * @param lds from `lds_base`.
     *
     * The matrix has less than 4 GiB.
     */
    template <ducks::st::whole ST, ducks::gl::all GL, typename Rows, ducks::coord::tile COORD = coord<ST>>
    static __device__ inline void gather_async([[maybe_unused]] ST &dst, const GL &src, const COORD &idx,
                                               const Rows &rows, uint32_t lds) {
        check_types<ST, GL>();
        using T = typename GL::dtype;
        using P = detail::pieces<ST, N, ST::underlying_subtile_bytes_per_thread>;
        const coord<> at = idx.template unit_coord<2, 3>();
        const detail::window<2, GL> view(src, coord<>(at.b, at.d, 0, at.c));
        const auto offset = detail::in_chosen_rows<T>(view.pitch, src.rows(), rows);
        const int wave = warpid(), lane = kittens::laneid();
        const i32x4 resource = make_srsrc(view.base, view.bytes);
        const detail::computed computed{[&](int i) {
            const auto place = P::at(i, wave, lane);
            return offset(place.row, place.col_bytes / static_cast<int>(sizeof(T)));
        }};
        if constexpr (P::per_wave > 64) {
            // There are too many offsets for the spare registers: each is computed just before its load.
            detail::start_loads<P, N, ST::underlying_subtile_bytes_per_thread>(computed, resource, 0, lds, wave);
        } else {
            uint32_t offsets[P::per_wave];
#pragma unroll
            for (int i = 0; i < P::per_wave; i++) offsets[i] = computed[i];
            detail::start_loads<P, N, ST::underlying_subtile_bytes_per_thread>(offsets, resource, 0, lds, wave);
        }
    }

    /**
     * @brief `load_async`, with its arguments; on gfx942 it returns when this wave's data has arrived.
     *
     * HipKittens' loads of this name do the same on each target: on gfx942 the other waves' part has arrived after a
     * barrier, on gfx950 after a wait and a barrier.
     */
    template <int axis = 2, bool aligned = false, ducks::st::whole ST, ducks::gl::all GL,
              ducks::coord::tile COORD = coord<ST>, typename... Prepared>
    static __device__ inline void load(ST &dst, const GL &src, const COORD &idx, const Prepared &...prepared) {
        load_async<axis, aligned, ST, GL, COORD>(dst, src, idx, prepared...);
        detail::arrive();
    }
    template <ducks::sv::all SV, ducks::gl::all GL, ducks::coord::vec COORD = coord<SV>>
    static __device__ inline void load(SV &dst, const GL &src, const COORD &idx) {
        load_async<SV, GL, COORD>(dst, src, idx);
        detail::arrive();
    }
    /** `load_bounded_async`, which returns when `load` does. */
    template <int axis = 2, bool aligned = false, ducks::st::whole ST, ducks::gl::all GL,
              ducks::coord::tile COORD = coord<ST>>
    static __device__ inline void load_bounded(ST &dst, const GL &src, const COORD &idx) {
        load_bounded_async<axis, aligned, ST, GL, COORD>(dst, src, idx);
        detail::arrive();
    }

    /** `kittens::load_global_to_register_buffer` by this group. */
    template <int axis = 2, bool aligned = false, ducks::st::whole ST, ducks::gl::all GL,
              ducks::coord::tile COORD = coord<ST>>
    static __device__ inline void load_global_to_register_buffer(float4 *buffer, int buffer_size, const GL &src,
                                                                 const COORD &idx, const ST &dst) {
        kittens::load_global_to_register_buffer<axis, aligned, GROUP_THREADS, ST, GL, COORD>(buffer, buffer_size, src,
                                                                                             idx, dst);
    }
    /** `kittens::store_register_buffer_to_shared` by this group. */
    template <bool wait = true, ducks::st::whole ST>
    static __device__ inline void
    store_register_buffer_to_shared(ST &dst, const float4 *buffer,
                                    int buffer_size = detail::buffered<ST, GROUP_THREADS>::per_thread) {
        kittens::store_register_buffer_to_shared<GROUP_THREADS, wait, ST>(dst, buffer, buffer_size);
    }

    /** Bytes that a lane loads at once into a shared tile. */
    template <ducks::st::whole ST>
    static constexpr int bytes_per_load = ST::underlying_subtile_bytes_per_thread;

    /**
     * @brief The tile at `idx` of dst = src. Rows past the end of the axis are not written.
     *
     * A wave stores the same part of a tile that it loads, so no wave has to wait for another in between.
     */
    template <int axis = 2, bool aligned = false, ducks::st::whole ST, ducks::gl::all GL,
              ducks::coord::tile COORD = coord<ST>>
    static __device__ inline void store(const GL &dst, const ST &src, const COORD &idx) {
        check_types<ST, GL>();
        constexpr int bytes = ST::atom_bytes;
        using P = detail::pieces<ST, N, ST::underlying_subtile_bytes_per_thread>;
        constexpr int step = bytes * WARP_THREADS, of_wave = P::per_wave * P::bytes_per_wave;
        using word = detail::select<bytes == 16, u32x4, u32x2>;
        const detail::program_order order;
        const detail::window<axis, GL> view(dst, idx.template unit_coord<axis, 3>());
        const detail::buffer memory(view.base, view.bytes);
        const auto shared = (detail::shared_pointer<const char>)reinterpret_cast<const char *>(&src.data[0]);
        const int wave = warpid(), lane = kittens::laneid();
#pragma unroll
        for (int i = 0; i < (of_wave + step - 1) / step; i++) {
            // On gfx942 a store moves more bytes at once than a load: several of the wave's pieces.
            const int mine = i * step + lane * bytes;
            const int byte = (mine / P::bytes_per_wave * N + wave) * P::bytes_per_wave + mine % P::bytes_per_wave;
            if (!(P::even && of_wave % step == 0) && byte >= P::tile_bytes) continue;
            const auto place = P::at_byte(byte);
            const auto piece = *reinterpret_cast<detail::shared_pointer<const word>>(shared + byte);
            memory.store(piece, static_cast<uint32_t>(place.row) * view.pitch + static_cast<uint32_t>(place.col_bytes));
        }
    }

    /**
     * @brief Starts loading the vector at `idx` of `src`, 4 bytes per lane. Elements past the end of the row read as
     * zero.
     *
     * Up to 12 bytes past the vector's last element are loaded into its alignment padding in shared memory.
     */
    template <ducks::sv::all SV, ducks::gl::all GL, ducks::coord::vec COORD = coord<SV>>
    static __device__ inline void load_async(SV &dst, const GL &src, const COORD &idx) {
        constexpr bool same_type = detail::is_same<typename SV::dtype, typename GL::dtype>;
        static_assert(same_type,
                      "group::load: goes straight to shared memory, so the vector and the global layout have the same "
                      "element type");
        constexpr int words = static_cast<int>(sizeof(SV)) / 4;
        const coord<> at = idx.template unit_coord<-1, 3>();
        const int left = (static_cast<int>(src.cols()) - at.c) * static_cast<int>(sizeof(typename GL::dtype));
        const i32x4 resource = make_srsrc(src.raw_ptr + src.offset(at), left <= 0 ? 0 : static_cast<uint32_t>(left));
        const int wave = warpid(), lane = kittens::laneid();
        const auto lds = static_cast<uint32_t>(
            __builtin_amdgcn_readfirstlane(static_cast<int>(detail::shared_address(&dst.data[0]))));
#pragma unroll
        for (int first = 0; first < words; first += GROUP_THREADS) {
            const int word = first + wave * WARP_THREADS + lane;
            if (word < words)
                detail::load_direct<4, 0>(resource, lds + static_cast<uint32_t>((first + wave * WARP_THREADS) * 4),
                                          static_cast<uint32_t>(word * 4), 0);
        }
    }

    /** The vector at `idx` of dst = src. Elements past the end of the row are not written. */
    template <ducks::sv::all SV, ducks::gl::all GL, ducks::coord::vec COORD = coord<SV>>
    static __device__ inline void store(const GL &dst, const SV &src, const COORD &idx) {
        using U = typename GL::dtype;
        const detail::program_order order;
        const detail::row_window<GL, SV::length> view(dst, idx.template unit_coord<-1, 3>());
        const detail::buffer memory(view.base, view.bytes);
#pragma unroll
        for (int first = 0; first < SV::length; first += GROUP_THREADS) {
            const int i = first + laneid();
            if (i < SV::length)
                memory.store(base_types::convertor<U, typename SV::dtype>::convert(src.data[i]),
                             static_cast<uint32_t>(i) * static_cast<uint32_t>(sizeof(U)));
        }
    }

  private:
    template <typename ST, typename GL>
    static __device__ inline constexpr void check_types() {
        constexpr bool same_type = detail::is_same<typename ST::dtype, typename GL::dtype>;
        static_assert(same_type,
                      "group: tiles move without passing through registers, so the shared tile and the global layout "
                      "have the same element type");
    }
};

/** The groups that kernels use most. */
using warpgroup = group<4>;

/** Loads a shared tile or vector by one wave: `group<1>::load`. */
template <ducks::st::whole ST, ducks::gl::all GL, ducks::coord::tile COORD = coord<ST>>
__device__ inline void load(ST &dst, const GL &src, const COORD &idx) {
    group<1>::load(dst, src, idx);
}
template <ducks::sv::all SV, ducks::gl::all GL, ducks::coord::vec COORD = coord<SV>>
__device__ inline void load(SV &dst, const GL &src, const COORD &idx) {
    group<1>::load(dst, src, idx);
}
/** The same by N_THREADS threads, with the axis of the rows, and with the prepared arguments of `group`'s members. */
template <int axis, bool aligned, ducks::st::whole ST, ducks::gl::all GL, ducks::coord::tile COORD = coord<ST>,
          int N_THREADS = WARP_THREADS, typename... Prepared>
__device__ inline void load(ST &dst, const GL &src, const COORD &idx, const Prepared &...prepared) {
    group<N_THREADS / WARP_THREADS>::template load<axis, aligned, ST, GL, COORD>(dst, src, idx, prepared...);
}
template <ducks::st::whole ST, ducks::gl::all GL, ducks::coord::tile COORD = coord<ST>>
__device__ inline void load(ST &dst, const GL &src, const COORD &idx, const uint32_t *offsets) {
    group<1>::load(dst, src, idx, offsets);
}
template <int axis, bool aligned, ducks::st::whole ST, ducks::gl::all GL, ducks::coord::tile COORD = coord<ST>,
          int N_THREADS = WARP_THREADS>
__device__ inline void store(const GL &dst, const ST &src, const COORD &idx) {
    group<N_THREADS / WARP_THREADS>::template store<axis, aligned, ST, GL, COORD>(dst, src, idx);
}
/** `group::prefill_swizzled_offsets` by N_THREADS threads. */
template <int axis = 2, bool aligned = false, ducks::st::whole ST, ducks::gl::all GL, int N_THREADS = WARP_THREADS>
__device__ inline void prefill_swizzled_offsets(ST &dst, const GL &src, uint32_t *offsets) {
    group<N_THREADS / WARP_THREADS>::template prefill_swizzled_offsets<axis, aligned>(dst, src, offsets);
}
/** `load` by one wave, under the name of the variant that returns when the loads are in flight. */
template <ducks::st::whole ST, ducks::gl::all GL, ducks::coord::tile COORD = coord<ST>>
__device__ inline void load_async(ST &dst, const GL &src, const COORD &idx) {
    group<1>::load_async(dst, src, idx);
}
template <ducks::sv::all SV, ducks::gl::all GL, ducks::coord::vec COORD = coord<SV>>
__device__ inline void load_async(SV &dst, const GL &src, const COORD &idx) {
    group<1>::load_async(dst, src, idx);
}
/** Waits until at most `n` of this wave's asynchronous loads are in flight; a barrier waits for the other waves. */
template <int n = 0>
__device__ inline void load_async_wait() {
    wait_vmcnt<n>();
}
/** Stores a shared tile or vector by one wave: `group<1>::store`. */
template <ducks::st::whole ST, ducks::gl::all GL, ducks::coord::tile COORD = coord<ST>>
__device__ inline void store(const GL &dst, const ST &src, const COORD &idx) {
    group<1>::store(dst, src, idx);
}
template <ducks::sv::all SV, ducks::gl::all GL, ducks::coord::vec COORD = coord<SV>>
__device__ inline void store(const GL &dst, const SV &src, const COORD &idx) {
    group<1>::store(dst, src, idx);
}

} // namespace kittens
