/**
 * @file
 * @brief Tiles between global and shared memory on gfx1250: through registers, by asynchronous copies, and by the
 * tensor data mover (TDM), which moves a tile by one instruction.
 *
 * `idx` counts in tiles, and rows of the matrix are `row_stride` elements apart. The first three take N_THREADS threads
 * of the work-group, from thread 0 on; the tile lies within the matrix, and its rows begin at multiples of 16 bytes.
 */
#pragma once

#include "sync.cuh"

#if defined(KITTENS_CDNA5)
namespace kittens {

namespace detail {

/** The first element of tile `idx` of a matrix. */
template <typename ST, typename GL, typename COORD>
__device__ inline auto *tile_of(const GL &matrix, const COORD &idx) {
    return matrix.raw_ptr + matrix.offset(coord<>(idx.b, idx.d, idx.r * ST::rows, idx.c * ST::cols));
}

/** Calls `move(element offset from the tile's first in global memory, row, column)` for this thread's pieces. */
template <typename ST, int threads, int elements, typename Move>
__device__ inline void for_each_piece(int row_stride, Move move) {
    static_assert(ST::cols % elements == 0, "load, store: a row of the tile is a multiple of 16 bytes");
    constexpr int total = ST::num_elements / elements, turns = (total + threads - 1) / threads;
    const int thread = static_cast<int>(threadIdx.x);
    if (thread >= threads) return;
#pragma unroll
    for (int turn = 0; turn < turns; turn++) {
        const int piece = turn * threads + thread;
        if (total % threads != 0 && piece >= total) break;
        const int row = piece * elements / ST::cols, col = piece * elements % ST::cols;
        move(static_cast<int64_t>(row) * row_stride + col, row, col);
    }
}

/** Elements of a piece of 16 bytes, or fewer if the tile's order keeps less together. */
template <typename ST>
inline constexpr int piece_elements = ST::atom_bytes / static_cast<int>(sizeof(typename ST::dtype));

template <typename ST, int bytes>
using lds_piece = __attribute__((address_space(3))) select<bytes == 16, u32x4, select<bytes == 8, u32x2, uint32_t>>;

} // namespace detail

/** dst = tile `idx` of src, through registers. It returns when this thread's part is written; others see it after a
 * `sync`. */
template <int N_THREADS = WARP_THREADS, ducks::st::whole ST, ducks::gl::all GL, ducks::coord::tile COORD = coord<>>
__device__ inline void load(ST &dst, const GL &src, const COORD &idx, int row_stride) {
    using T = typename ST::dtype;
    static_assert(detail::is_same<T, typename GL::dtype>, "load: the tile and the matrix have one element type");
    const detail::program_order order;
    constexpr int elements = detail::piece_elements<ST>, bytes = elements * static_cast<int>(sizeof(T));
    using piece = detail::select<bytes == 16, u32x4, detail::select<bytes == 8, u32x2, uint32_t>>;
    const auto *from = detail::tile_of<ST>(src, idx);
    const uint32_t to = detail::shared_address(&dst.data[0]);
    detail::for_each_piece<ST, N_THREADS, elements>(row_stride, [&](int64_t at, int row, int col) {
        piece value;
        __builtin_memcpy(&value, __builtin_assume_aligned(from + at, bytes), bytes);
        *(detail::lds_piece<ST, bytes> *)(to + ST::offset(row, col)) = value;
    });
    sync::wait_ds<0>();
}

/** Tile `idx` of dst = src, which other threads may have written before a `sync`. */
template <int N_THREADS = WARP_THREADS, ducks::st::whole ST, ducks::gl::all GL, ducks::coord::tile COORD = coord<>>
__device__ inline void store(const GL &dst, const ST &src, const COORD &idx, int row_stride) {
    using T = typename ST::dtype;
    static_assert(detail::is_same<T, typename GL::dtype>, "store: the tile and the matrix have one element type");
    const detail::program_order order;
    constexpr int elements = detail::piece_elements<ST>, bytes = elements * static_cast<int>(sizeof(T));
    using piece = detail::select<bytes == 16, u32x4, detail::select<bytes == 8, u32x2, uint32_t>>;
    auto *to = detail::tile_of<ST>(dst, idx);
    const uint32_t from = detail::shared_address(&src.data[0]);
    detail::for_each_piece<ST, N_THREADS, elements>(row_stride, [&](int64_t at, int row, int col) {
        const piece value = *(detail::lds_piece<ST, bytes> *)(from + ST::offset(row, col));
        __builtin_memcpy(__builtin_assume_aligned(to + at, bytes), &value, bytes);
    });
}

namespace detail {

using async_global = __attribute__((address_space(1))) i32x4;
using async_shared = __attribute__((address_space(3))) i32x4;

/** Calls `copy(global pointer, shared pointer)` for this thread's 16-byte copies of a tile. */
template <int threads, typename ST, typename GL, typename COORD, typename Copy>
__device__ inline void start_copies(ST &dst, const GL &src, const COORD &idx, int row_stride, Copy copy) {
    using T = typename ST::dtype;
    static_assert(is_same<T, typename GL::dtype>, "load_async: the tile and the matrix have one element type");
    static_assert(ST::atom_bytes == 16, "load_async: a lane copies 16 bytes, which the tile's base shape must keep "
                                        "together; st_16x32_padded does");
    const program_order order;
    const auto *from = tile_of<ST>(src, idx);
    const uint32_t to = shared_address(&dst.data[0]);
    for_each_piece<ST, threads, 16 / static_cast<int>(sizeof(T))>(row_stride, [&](int64_t at, int row, int col) {
        copy((async_global *)(from + at), (async_shared *)(to + ST::offset(row, col)));
    });
}

} // namespace detail

/**
 * @brief Starts copying tile `idx` of src to dst: global_load_async_to_lds_b128, one for each 16 bytes a lane.
 *
 * The copies are complete after `sync::wait_async`, for other waves also after a `sync::sync`.
 */
template <int N_THREADS = WARP_THREADS, ducks::st::whole ST, ducks::gl::all GL, ducks::coord::tile COORD = coord<>>
__device__ inline void load_async(ST &dst, const GL &src, const COORD &idx, int row_stride) {
    detail::start_copies<N_THREADS>(dst, src, idx, row_stride, [](auto *from, auto *to) {
        __builtin_amdgcn_global_load_async_to_lds_b128(from, to, 0, 0);
    });
}
/** The same for the work-groups of `cluster_mask`, from `cluster::mask`, all of which call it with the same tile. With
 * a mask of 0, for this work-group alone. */
template <int N_THREADS = WARP_THREADS, ducks::st::whole ST, ducks::gl::all GL, ducks::coord::tile COORD = coord<>>
__device__ inline void load_async(ST &dst, const GL &src, const COORD &idx, int row_stride, uint32_t cluster_mask) {
    if (cluster_mask == 0) return load_async<N_THREADS, ST, GL, COORD>(dst, src, idx, row_stride);
    detail::start_copies<N_THREADS>(dst, src, idx, row_stride, [&](auto *from, auto *to) {
        __builtin_amdgcn_cluster_load_async_to_lds_b128(from, to, 0, 0, static_cast<int>(cluster_mask));
    });
}

namespace detail {

using tdm_words4 = unsigned __attribute__((ext_vector_type(4)));
using tdm_words8 = unsigned __attribute__((ext_vector_type(8)));

/** Padding of a shared tile's rows: dwords between gaps, and dwords of a gap; 0 without. */
template <typename ST>
struct tdm_padding {
    static constexpr int interval = 0, amount = 0;
};
template <typename ST>
    requires ducks::st_shape::padded<typename ST::shape>
struct tdm_padding<ST> {
    static constexpr int interval = ST::shape::pad_interval * static_cast<int>(sizeof(typename ST::dtype)) / 4;
    static constexpr int amount = ST::shape::pad_amount * static_cast<int>(sizeof(typename ST::dtype)) / 4;
    static_assert(is_power_of_two(interval) && interval >= 2 && interval <= 256 && amount >= 1 && amount <= 128,
                  "load_tdm: the tensor data mover leaves gaps of 1 to 128 dwords, every 2 to 256 dwords, a power of 2");
};

/**
 * @brief tensor_load_to_lds of a tile with two dimensions. Rows and columns past the tensor's end become zero.
 *
 * Fields by bits (MI400's descriptor, as in Triton's TDMUtility.cpp and rocjitsu): group 0: count 1:0, LDS address 63:32,
 * address 120:64, type (2) 127:126; group 1: work-groups 15:0, log2 of an element's bytes 17:16, arrival 18, padding 20,
 * log2 of its interval in dwords, less one, 24:22, its dwords less one 31:25, barrier's address / 8 47:32, columns 79:48
 * and rows 111:80 of the tensor from the tile on, columns 127:112 and rows 143:128 of the tile, elements from a row to
 * the next 207:160.
 */
template <bool arrives = false, typename ST, typename GL, typename COORD>
__device__ inline void tdm_tile(ST &dst, const GL &src, const COORD &idx, int tensor_rows, int tensor_cols,
                                int row_stride, uint32_t cluster_mask, uint32_t barrier, uint32_t count) {
    using T = typename ST::dtype;
    static_assert(is_same<T, typename GL::dtype>, "load_tdm: the tile and the matrix have one element type");
    static_assert(ST::order::by_rows, "load_tdm: the tensor data mover writes whole rows one after the other: use a tile "
                                      "with the base shape st_16x32_padded");
    const program_order order;
    const auto address = reinterpret_cast<uint64_t>(tile_of<ST>(src, idx));
    const auto left = [](int size, int skipped) { return static_cast<uint32_t>(max(size - skipped, 0)); };
    const uint32_t columns = left(tensor_cols, idx.c * ST::cols), rows = left(tensor_rows, idx.r * ST::rows);
    using padding = tdm_padding<ST>;
    constexpr uint32_t pads =
        padding::interval == 0
            ? 0u
            : 1u << 20 | static_cast<uint32_t>(__builtin_ctz(static_cast<unsigned>(padding::interval)) - 1) << 22 |
                  static_cast<uint32_t>(padding::amount - 1) << 25;
    constexpr auto size = static_cast<uint32_t>(__builtin_ctz(static_cast<unsigned>(sizeof(T))));
    const tdm_words4 where = {count, shared_address(&dst.data[0]), static_cast<uint32_t>(address),
                              (static_cast<uint32_t>(address >> 32) & 0x1ffffffu) | 2u << 30};
    const tdm_words8 what = {(cluster_mask & 0xffffu) | size << 16 | (arrives ? 1u << 18 : 0u) | pads,
                             (barrier >> 3 & 0xffffu) | columns << 16,
                             columns >> 16 | rows << 16,
                             rows >> 16 | static_cast<uint32_t>(ST::cols) << 16,
                             static_cast<uint32_t>(ST::rows),
                             static_cast<uint32_t>(row_stride),
                             0,
                             0};
    __builtin_amdgcn_tensor_load_to_lds_d2(where, what, 0);
}

} // namespace detail

/**
 * @brief Starts copying tile `idx` of src to dst by one instruction of one wave: tensor_load_to_lds.
 *
 * It does not depend on which lanes are active. The copy is complete after `sync::wait_tdm` of the same wave, for others
 * also after a `sync::sync`. Elements past the matrix become zero.
 *
 * @param tensor_rows,tensor_cols size of the matrix in elements.
 * @param cluster_mask from `cluster::mask`; 0 for this work-group alone.
 */
template <ducks::st::whole ST, ducks::gl::all GL, ducks::coord::tile COORD = coord<>>
__device__ inline void load_tdm(ST &dst, const GL &src, const COORD &idx, int tensor_rows, int tensor_cols,
                                int row_stride, uint32_t cluster_mask = 0) {
    detail::tdm_tile(dst, src, idx, tensor_rows, tensor_cols, row_stride, cluster_mask, 0, 1);
}

/** The same; at its end the copy arrives once at barrier `bar` in the first 512 KiB of shared memory, on which others
 * wait by `sync::wait_barrier`. */
template <ducks::st::whole ST, ducks::gl::all GL, ducks::coord::tile COORD = coord<>>
__device__ inline void load_tdm_arrive(ST &dst, const GL &src, const COORD &idx, int tensor_rows, int tensor_cols,
                                       int row_stride, uint64_t *bar, uint32_t cluster_mask = 0) {
    detail::tdm_tile<true>(dst, src, idx, tensor_rows, tensor_cols, row_stride, cluster_mask,
                           detail::shared_address(bar), 1);
}

namespace tdm {
/** `load_tdm` by the name that HipKittens has used since the summer of 2026. With a `count` of 0 nothing is copied. */
template <ducks::st::whole ST, ducks::gl::all GL, ducks::coord::tile COORD = coord<>>
__device__ inline void load_async(ST &dst, const GL &src, const COORD &idx, int tensor_rows, int tensor_cols,
                                  int row_stride, uint32_t cluster_mask = 0, uint32_t count = 1) {
    kittens::detail::tdm_tile(dst, src, idx, tensor_rows, tensor_cols, row_stride, cluster_mask, 0, count);
}
} // namespace tdm

/** Brings tile `idx`, of ROWS x COLS, of src into the L2 cache: global_prefetch_b8 for each 16 bytes. */
template <int ROWS, int COLS, int N_THREADS = WARP_THREADS, typename T = void, ducks::gl::all GL,
          ducks::coord::tile COORD = coord<>>
__device__ inline void prefetch_l2(const GL &src, const COORD &idx, int row_stride) {
    using element = typename GL::dtype;
    static_assert(ROWS > 0 && COLS > 0, "prefetch_l2: the tile has rows and columns");
    using tile = st<element, ROWS, COLS, st_16x32_padded_s>;
    const detail::program_order order;
    const auto *from = detail::tile_of<tile>(src, idx);
    detail::for_each_piece<tile, N_THREADS, 16 / static_cast<int>(sizeof(element))>(
        row_stride, [&](int64_t at, int, int) {
            __builtin_amdgcn_global_prefetch((const __attribute__((address_space(1))) void *)(from + at), 0);
        });
}

/**
 * @brief dst = the part of src whose first element is number `origin` of src, counted row by row.
 *
 * `origin` is in a row that is a multiple of dst's base tiles' rows, and in a column that is a multiple of their
 * columns. It is the same in all lanes.
 */
template <ducks::rt::row_layout RT, ducks::st::all ST>
__device__ inline void load(RT &dst, const ST &src, int origin) {
    using U = typename ST::dtype;
    using base = typename RT::base_tile;
    constexpr int stride = base::stride;
    const detail::program_order order;
    const auto memory = (detail::shared_pointer<const char>)reinterpret_cast<const char *>(&src.data[0]);
    const int lane = laneid(), first_row = origin / ST::cols, first_col = origin % ST::cols;
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++)
#pragma unroll
            for (int s = 0; s < base::num_strides; s++) {
                const auto got = detail::shared_run<U, stride, ST::atom_bytes>::load(memory, [&](int e) {
                    return detail::shared_offset<RT, ST>(first_row, first_col, i, j, base::row(lane, s * stride + e),
                                                         base::col(lane, s * stride + e));
                });
                detail::set_run(dst.tiles[i][j], s, detail::convert_run<typename RT::T, U, stride>(got));
            }
}

} // namespace kittens

#endif
