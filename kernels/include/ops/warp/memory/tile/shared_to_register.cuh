/**
 * @file
 * @brief Register tiles from and to shared tiles.
 *
 * The register tile is as large as the shared tile (or part of one: `subtile_inplace`) and of the same element type or
 * another. A lane moves consecutive elements of a row layout at once, up to 16 bytes or as many as the shared tile's
 * swizzle keeps together. Elements of a column layout are moved one by one, except for loads on CDNA4, which has
 * transposing reads: these load 8 bytes of elements of 1 or 2 bytes at once, if the swizzle keeps 8 bytes together.
 *
 * Addresses of base tiles differ only by constants, which fit the instructions' offset field unless a register base
 * tile extends beyond a shared base tile.
 */
#pragma once

#include "global_to_register.cuh"

namespace kittens {

namespace detail {

template <typename T>
using shared_pointer = __attribute__((address_space(3))) T *;

/** The LDS address of an object in shared memory. */
template <typename T>
__device__ inline uint32_t shared_address(const T *object) {
    return static_cast<uint32_t>(reinterpret_cast<uintptr_t>((shared_pointer<const T>)object));
}

/** Moves `count` consecutive elements, at most `atom` bytes at a time, at `place(element)` bytes from `base`. */
template <typename T, int count, int atom>
struct shared_run {
    static constexpr int bytes = count * static_cast<int>(sizeof(T));
    static constexpr int piece_bytes = min(bytes, atom);
    static constexpr int per_piece = piece_bytes / static_cast<int>(sizeof(T));
    using piece = run<T, per_piece>;
    /** A scalar if one suffices: LLVM 21 splits a vector of two and reads its halves separately. */
    using word = select<piece::word_bytes == 8, unsigned long long, typename piece::word>;
    struct words {
        word w[piece::count];
    };

    template <typename Place>
    static __device__ inline typename run<T, count>::elements load(shared_pointer<const char> base, Place place) {
        typename run<T, count>::elements result;
#pragma unroll
        for (int first = 0; first < count; first += per_piece) {
            const auto from = (shared_pointer<const word>)(base + place(first));
            words got;
#pragma unroll
            for (int w = 0; w < piece::count; w++) got.w[w] = from[w];
            const auto elements = bit_cast<typename piece::elements>(got);
#pragma unroll
            for (int e = 0; e < per_piece; e++) result.e[first + e] = elements.e[e];
        }
        return result;
    }
    template <typename Place>
    static __device__ inline void store(shared_pointer<char> base, Place place,
                                        const typename run<T, count>::elements &values) {
#pragma unroll
        for (int first = 0; first < count; first += per_piece) {
            typename piece::elements out;
#pragma unroll
            for (int e = 0; e < per_piece; e++) out.e[e] = values.e[first + e];
            const auto in_words = bit_cast<words>(out);
            const auto to = (shared_pointer<word>)(base + place(first));
#pragma unroll
            for (int w = 0; w < piece::count; w++) to[w] = in_words.w[w];
        }
    }
};

/** Byte offset in a shared tile of element {row, col} of base tile {i, j} of a register tile. */
template <typename RT, ducks::st::all ST>
__host__ __device__ constexpr uint32_t shared_offset(int i, int j, int row, int col) {
    using base = typename RT::base_tile;
    using shape = typename ST::shape;
    const int first_row = i * base::rows, first_col = j * base::cols;
    if constexpr (ducks::st_shape::padded<shape>) {
        if constexpr (shape::rows % base::rows == 0 && shape::cols % base::cols == 0)
            return ST::order::of_base(first_row, first_col) + ST::order::inside(row, col);
        else
            return ST::offset(first_row + row, first_col + col);
    } else if constexpr (shape::rows % base::rows == 0 && shape::cols % base::cols == 0) {
        // The base tile lies in one of the shared tile's, so the lane's part of the offset is the same for all of
        // these.
        const int subtile = first_row / shape::rows * ST::underlying_subtiles_per_row + first_col / shape::cols;
        return static_cast<uint32_t>(subtile * ST::underlying_subtile_bytes) +
               inside_base<ST>(first_row % shape::rows + row, first_col % shape::cols + col);
    } else if constexpr (own_swizzle<ST>) {
        row += first_row, col += first_col;
        const int subtile = row / shape::rows * ST::underlying_subtiles_per_row + col / shape::cols;
        return static_cast<uint32_t>(subtile * ST::underlying_subtile_bytes) +
               inside_base<ST>(row % shape::rows, col % shape::cols);
    } else {
        return ST::offset(first_row + row, first_col + col);
    }
}

/** The same of a part of a shared tile, whose first element is {part_row, part_col}. */
template <typename RT, ducks::st::all ST>
__host__ __device__ constexpr uint32_t shared_offset(int part_row, int part_col, int i, int j, int row, int col) {
    using base = typename RT::base_tile;
    using shape = typename ST::shape;
    const int first_row = part_row + i * base::rows, first_col = part_col + j * base::cols;
    if constexpr (ducks::st_shape::padded<shape> && shape::rows % base::rows == 0 && shape::cols % base::cols == 0)
        return ST::order::of_base(first_row, first_col) + ST::order::inside(row, col);
    else
        return ST::offset(first_row + row, first_col + col);
}

/** The same for an element that a lane holds. */
template <typename RT, ducks::st::all ST>
__host__ __device__ constexpr uint32_t held_offset(int i, int j, int lane, int element) {
    return shared_offset<RT, ST>(i, j, RT::base_tile::row(lane, element), RT::base_tile::col(lane, element));
}

/**
 * @brief Lanes that the LDS serves together, as the lane numbers that span them, and the number of banks.
 *
 * Published measurements for reads of 8 and 16 bytes per lane and writes of 8 on gfx950; otherwise as many lanes as 128
 * bytes hold.
 */
struct lds_phase {
    int lanes[5] = {};
    int count = 0;
    int banks = 32;

    __host__ __device__ constexpr lds_phase(int bytes, bool writes) {
#if defined(KITTENS_CDNA4)
        if (!writes && bytes == 16) {
            // Lanes 0-3, 12-15, 20-23, 24-27: an even number of bits 2, 3 and 4.
            banks = 64;
            count = 4;
            lanes[0] = 1, lanes[1] = 2, lanes[2] = 12, lanes[3] = 24;
            return;
        }
        if (!writes && bytes == 8) banks = 64;
#else
        (void)writes;
#endif
        for (int together = 1; together * bytes < banks * 4; together *= 2) lanes[count++] = together;
    }
};

/**
 * @brief Moves of a base tile's elements between a lane and shared memory: in cells of `bytes` bytes, one per
 * instruction.
 *
 * In the row layout, a cell is a piece of a run. In the column layout, where the elements of a register belong to
 * different rows, adjacent lanes first exchange elements, so that each has consecutive elements of one row: a cell is 4
 * bytes of it.
 *
 * Lanes that are served together may still conflict in a bank. Then, as long as there are enough cells, some lanes move
 * another cell first: lane bit b flips bit k of the cell that a lane moves, which spreads the lanes over the banks.
 * Offsets are linear in the bits of lane and cell (bits are flipped by bits, sides are powers of two), so elimination
 * yields the bits to flip.
 */
template <typename RT, ducks::st::all ST>
struct cells {
    using base = typename RT::base_tile;
    using U = typename ST::dtype;
    static constexpr int size = static_cast<int>(sizeof(U));
    static constexpr bool is_row = base::is_row;
    /** Number of adjacent lanes whose elements make up 4 bytes of a row, in the column layout. */
    static constexpr int side = is_row || size >= 4 ? 1 : 4 / size;
    static constexpr int run_bytes = is_row ? base::stride * size : size * side;
    static constexpr int total_bytes = base::elements_per_thread * size;
    /** True if the scheme applies: whole words, sides that are powers of two, and the library's own swizzle. */
    static constexpr bool possible = !ducks::st_shape::padded<typename ST::shape> && !own_swizzle<ST> && is_power_of_two(size) && run_bytes % 4 == 0 &&
                                     ST::atom_bytes % 4 == 0 && is_power_of_two(base::rows) &&
                                     is_power_of_two(base::cols) && is_power_of_two(base::stride) &&
                                     (is_row || (base::stride % side == 0 && base::cols % side == 0));
    static constexpr int widest = min(min(run_bytes & -run_bytes, ST::atom_bytes), 16);

    /** Row and column in the base tile of the first element of a lane's cell. */
    static __host__ __device__ constexpr int row(int lane, int cell, int bytes) {
        return is_row ? base::row(lane, cell * bytes / size) : base::row(lane, cell * side + lane % side);
    }
    static __host__ __device__ constexpr int col(int lane, int cell, int bytes) {
        return is_row ? base::col(lane, cell * bytes / size) : base::col(lane, cell * side + lane % side) / side * side;
    }

    struct plan {
        int bytes = 0;
        /** Lane bit that flips each bit of the cell, or -1. */
        int flips[6] = {-1, -1, -1, -1, -1, -1};
        /** No two lanes that are served together conflict in a bank. */
        bool clean = false;
    };

    static __host__ __device__ constexpr plan plan_of(int bytes, bool writes, bool may_flip) {
        plan result;
        result.bytes = bytes;
        const lds_phase phase(bytes, writes);
        const auto banks = static_cast<uint32_t>(phase.banks * 4 - 1) & ~static_cast<uint32_t>(bytes - 1);
        const auto at = [&](int lane, int cell) {
            return shared_offset<RT, ST>(0, 0, row(lane, cell, bytes), col(lane, cell, bytes)) & banks;
        };
        uint32_t basis[6] = {};
        int rank = 0;
        // The remainder of a vector after elimination; the basis is kept with distinct highest bits.
        const auto rest = [&](uint32_t v) {
            for (int b = 0; b < rank; b++)
                if ((v ^ basis[b]) < v) v ^= basis[b];
            return v;
        };
        for (int l = 0; l < phase.count; l++) {
            const int lane = phase.lanes[l];
            const uint32_t own = at(lane, 0);
            uint32_t left = rest(own);
            for (int k = 0; left == 0 && may_flip && is_power_of_two(lane) && (bytes << k) < total_bytes; k++) {
                if (result.flips[k] != -1) continue;
                left = rest(own ^ at(0, 1 << k));
                if (left != 0) result.flips[k] = __builtin_ctz(static_cast<unsigned>(lane));
            }
            if (left == 0) return result;
            basis[rank++] = left;
            for (int b = rank - 1; b > 0 && basis[b] > basis[b - 1]; b--) {
                const uint32_t higher = basis[b];
                basis[b] = basis[b - 1];
                basis[b - 1] = higher;
            }
        }
        result.clean = true;
        return result;
    }

    /** The widest cells without a conflict; if there are none, the widest. */
    static __host__ __device__ constexpr plan best(bool writes) {
        for (int bytes = widest; bytes >= 4; bytes /= 2) {
            const plan found = plan_of(bytes, writes, true);
            if (found.clean) return found;
        }
        return plan_of(widest, writes, false);
    }

    static constexpr plan store_plan = best(true);
    /** Inner loops load rows, and the shapes are designed for that: row loads are never split. */
    static constexpr plan load_plan = is_row ? plan_of(widest, false, false) : best(false);
};

/** Words of a lane's elements of a base tile, in the order of its cells. */
template <typename RT, ducks::st::all ST>
struct cell_words {
    static constexpr int count = cells<RT, ST>::total_bytes / 4;
    unsigned w[count];
};

/** In each group of `side` lanes and 4 / side bytes: element e of lane l moves to place l of lane e. The operation is
    its own inverse. */
template <int side>
__device__ inline unsigned transpose_word(unsigned word, int lane) {
    if constexpr (side == 1) {
        return word;
    } else if constexpr (side == 2) {
        return __builtin_amdgcn_perm(lane_xor<1>(word), word, lane & 1 ? 0x03020706u : 0x05040100u);
    } else {
        word = __builtin_amdgcn_perm(lane_xor<1>(word), word, lane & 1 ? 0x03070105u : 0x06020400u);
        return __builtin_amdgcn_perm(lane_xor<2>(word), word, lane & 2 ? 0x03020706u : 0x05040100u);
    }
}

/** Exchanges cells where a plan's lane bits are set, so that cell t becomes the t-th that a lane moves, or back. */
template <typename RT, ducks::st::all ST, typename Cells = cells<RT, ST>>
__device__ inline void flip_cells(cell_words<RT, ST> &words, const typename Cells::plan &how, int lane) {
    const int per_cell = how.bytes / 4;
#pragma unroll
    for (int k = 0; k < 6; k++) {
        if (how.flips[k] < 0) continue;
        const bool exchange = lane >> how.flips[k] & 1;
        const int distance = per_cell << k;
#pragma unroll
        for (int first = 0; first < cell_words<RT, ST>::count; first++) {
            if (first & distance) continue;
            const unsigned low = words.w[first], high = words.w[first + distance];
            words.w[first] = exchange ? high : low;
            words.w[first + distance] = exchange ? low : high;
        }
    }
}

/** The cell that a lane moves first. */
template <typename Plan>
__device__ inline int first_cell(const Plan &how, int lane) {
    int cell = 0;
#pragma unroll
    for (int k = 0; k < 6; k++)
        if (how.flips[k] >= 0) cell |= (lane >> how.flips[k] & 1) << k;
    return cell;
}

/** Calls `move(offset in shared memory, cell's first word)` for each of a lane's cells of base tile {i, j}. */
template <typename RT, ducks::st::all ST, bool writes, typename Move>
__device__ inline void for_each_cell(int i, int j, int lane, Move move) {
    using C = cells<RT, ST>;
    using base = typename RT::base_tile;
    using shape = typename ST::shape;
    constexpr typename C::plan how = writes ? C::store_plan : C::load_plan;
    constexpr int count = C::total_bytes / how.bytes;
    const int first = first_cell(how, lane);
    if constexpr (shape::rows % base::rows == 0 && shape::cols % base::cols == 0) {
        // Offsets in one of the shared tile's base tiles are linear: the lane's part is computed once.
        const uint32_t lanes = ST::order::inside(C::row(lane, first, how.bytes), C::col(lane, first, how.bytes));
        const int first_row = i * base::rows, first_col = j * base::cols;
        const int subtile = first_row / shape::rows * ST::underlying_subtiles_per_row + first_col / shape::cols;
#pragma unroll
        for (int t = 0; t < count; t++) {
            const uint32_t fixed = ST::order::inside(first_row % shape::rows + C::row(0, t, how.bytes),
                                                     first_col % shape::cols + C::col(0, t, how.bytes));
            move(static_cast<uint32_t>(subtile * ST::underlying_subtile_bytes) + (lanes ^ fixed), t * how.bytes / 4);
        }
    } else {
#pragma unroll
        for (int t = 0; t < count; t++)
            move(shared_offset<RT, ST>(i, j, C::row(lane, t ^ first, how.bytes), C::col(lane, t ^ first, how.bytes)),
                 t * how.bytes / 4);
    }
}

template <int bytes>
using cell_word = select<bytes == 16, u32x4, select<bytes == 8, unsigned long long, unsigned>>;

#if defined(KITTENS_CDNA4)
/**
 * @brief A transposing read of CDNA4 (ds_read_b64_tr_b16, _tr_b8): 16 lanes read 8 bytes each of several rows of 16
 * columns, and each gets a column, 4 elements of 2 bytes or 8 of 1 byte.
 */
template <int size>
struct transposing_read {
    /** Rows that one read covers, and lanes that read a row of 16 columns. */
    static constexpr int rows = 8 / size;
    static constexpr int lanes_of_row = 2 * size;
    /** The row and the column that a lane reads from. */
    static __host__ __device__ constexpr int row(int lane) { return lane % 16 / lanes_of_row; }
    static __host__ __device__ constexpr int col(int lane) { return lane % lanes_of_row * rows; }

    static __device__ inline u32x2 load(shared_pointer<const char> at) {
        if constexpr (size == 2) {
            using piece = short __attribute__((ext_vector_type(4)));
            return bit_cast<u32x2>(__builtin_amdgcn_ds_read_tr16_b64_v4i16((shared_pointer<piece>)at));
        } else {
            using piece = int __attribute__((ext_vector_type(2)));
            return bit_cast<u32x2>(__builtin_amdgcn_ds_read_tr8_b64_v2i32((shared_pointer<piece>)at));
        }
    }
};

/** The reads of a column layout with these instructions, if any. */
template <typename RT, ducks::st::all ST>
struct transposing {
    static constexpr int size = static_cast<int>(sizeof(typename ST::dtype));
    static constexpr bool possible = !RT::is_row && size <= 2 && ST::atom_bytes >= 8 && RT::base_tile_cols % 16 == 0 &&
                                     RT::base_tile_stride * size % 8 == 0;
    using read = transposing_read<size>;
    static constexpr int rows = read::rows;

    /** A lane's elements from `element` on, `rows` of them. */
    static __device__ inline u32x2 load(shared_pointer<const char> memory, int i, int j, int lane, int element) {
        const int row = RT::base_tile::row(lane, element) + read::row(lane);
        const int col = RT::base_tile::col(lane, element) / 16 * 16 + read::col(lane);
        return read::load(memory + shared_offset<RT, ST>(i, j, row, col));
    }
};
#endif

/**
 * @brief Offset of a lane's run of fp6: groups of four in three bytes are moved 8 bytes at a time, in the row layout
 * and in whole runs.
 */
template <typename RT, ducks::st::all ST>
struct fp6_run {
    using base = typename RT::base_tile;
    using U = typename ST::dtype;
    using words = typename run<U, base::stride>::words;
    static constexpr int count = static_cast<int>(sizeof(words)) / 8;
    static constexpr bool possible =
        RT::is_row && base::stride * 3 % 8 == 0 && 48 % (base::stride * 3) == 0 && is_same<U, typename RT::T>;
    struct pieces {
        unsigned long long w[count > 0 ? count : 1];
    };
};

template <typename RT, typename ST>
inline constexpr void check_sizes() {
    constexpr bool same_size = RT::rows == ST::rows && RT::cols == ST::cols;
    static_assert(same_size,
                  "load, store: the register tile and the shared tile have the same size; subtile_inplace takes a part "
                  "of a shared tile");
    if constexpr (is_fp6<typename ST::dtype>) {
        constexpr bool whole_runs = fp6_run<RT, ST>::possible;
        static_assert(whole_runs, "load, store: tiles of fp6 are in the row layout with a stride of 8 (rt_16x32_s, "
                                  "rt_32x16_s), and of the same type in registers and shared memory");
    }
}

} // namespace detail

/**
 * @brief dst = src, of the same size. The compiler waits for the values where they are used.
 *
 * If a group's `load` filled src, call `wait_vmcnt` and `barrier` first.
 *
 * Costs, for each 16 bytes per lane: in the row layout one ds_read_b128, or two ds_read_b64 if the swizzle or the base
 * shape's stride keep less together; in the column layout two ds_read_b64_tr on gfx950; on gfx942 four ds_read_b32, and
 * two instructions for each to sort elements of 2 bytes (four for 1 byte).
 */
template <ducks::rt::all RT, ducks::st::all ST>
__device__ inline void load(RT &dst, const ST &src) {
    detail::check_sizes<RT, ST>();
    using U = typename ST::dtype;
    using base = typename RT::base_tile;
    using C = detail::cells<RT, ST>;
    constexpr int stride = base::stride;
#if defined(KITTENS_CDNA4)
    using using_transpose = detail::transposing<RT, ST>;
#endif
    const detail::program_order order;
    const auto memory = (detail::shared_pointer<const char>)reinterpret_cast<const char *>(&src.data[0]);
    const int lane = laneid();
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++) {
#if defined(KITTENS_CDNA4)
            if constexpr (using_transpose::possible) {
#pragma unroll
                for (int s = 0; s < base::num_strides; s++) {
                    typename detail::run<U, stride>::words column;
#pragma unroll
                    for (int e = 0; e < stride; e += using_transpose::rows) {
                        const auto piece = using_transpose::load(memory, i, j, lane, s * stride + e);
                        __builtin_memcpy(reinterpret_cast<char *>(&column) + e * sizeof(U), &piece, sizeof(piece));
                    }
                    detail::set_words<U>(dst.tiles[i][j], s, column);
                }
                continue;
            }
#endif
            if constexpr (detail::is_fp6<U>) {
                using fours = detail::fp6_run<RT, ST>;
                if constexpr (fours::possible)
#pragma unroll
                    for (int s = 0; s < base::num_strides; s++) {
                        const auto from =
                            (detail::shared_pointer<const unsigned long long>)(memory + detail::held_offset<RT, ST>(
                                                                                            i, j, lane, s * stride));
                        typename fours::pieces got;
#pragma unroll
                        for (int p = 0; p < fours::count; p++) got.w[p] = from[p];
                        detail::set_words<U>(dst.tiles[i][j], s, detail::bit_cast<typename fours::words>(got));
                    }
            } else if constexpr (C::possible) {
                constexpr typename C::plan how = C::load_plan;
                using word = detail::cell_word<how.bytes>;
                detail::cell_words<RT, ST> got;
                detail::for_each_cell<RT, ST, false>(i, j, lane, [&](uint32_t offset, int first) {
                    const word cell = *(detail::shared_pointer<const word>)(memory + offset);
                    __builtin_memcpy(&got.w[first], &cell, sizeof(cell));
                });
                detail::flip_cells<RT, ST>(got, how, lane);
                if constexpr (!C::is_row)
#pragma unroll
                    for (int w = 0; w < got.count; w++) got.w[w] = detail::transpose_word<C::side>(got.w[w], lane);
#pragma unroll
                for (int s = 0; s < base::num_strides; s++) {
                    typename detail::run<U, stride>::words run;
                    __builtin_memcpy(&run, &got.w[s * stride * C::size / 4], sizeof(run));
                    detail::set_words<U>(dst.tiles[i][j], s, run);
                }
            } else {
                constexpr int together = RT::is_row ? ST::atom_bytes : static_cast<int>(sizeof(U));
#pragma unroll
                for (int s = 0; s < base::num_strides; s++) {
                    const auto got = detail::shared_run<U, stride, together>::load(
                        memory, [&](int e) { return detail::held_offset<RT, ST>(i, j, lane, s * stride + e); });
                    detail::set_run(dst.tiles[i][j], s, detail::convert_run<typename RT::T, U, stride>(got));
                }
            }
        }
}

namespace detail {

/** Stores base tile {i, j} of a tile like RT to the shared tile whose first element is at `memory`. */
template <typename RT, ducks::st::all ST>
__device__ inline void store_base(ST &, shared_pointer<char> memory, int i, int j, int lane,
                                  const typename RT::base_tile &src) {
    using U = typename ST::dtype;
    using base = typename RT::base_tile;
    using C = cells<RT, ST>;
    constexpr int stride = base::stride;
    if constexpr (is_fp6<U>) {
        using fours = fp6_run<RT, ST>;
        if constexpr (fours::possible)
#pragma unroll
            for (int s = 0; s < base::num_strides; s++) {
                const auto out = bit_cast<typename fours::pieces>(get_words<U>(src, s));
                const auto to =
                    (shared_pointer<unsigned long long>)(memory + held_offset<RT, ST>(i, j, lane, s * stride));
#pragma unroll
                for (int p = 0; p < fours::count; p++) to[p] = out.w[p];
            }
    } else if constexpr (C::possible) {
        constexpr typename C::plan how = C::store_plan;
        using word = cell_word<how.bytes>;
        cell_words<RT, ST> out;
#pragma unroll
        for (int s = 0; s < base::num_strides; s++) {
            const auto run = get_words<U>(src, s);
            __builtin_memcpy(&out.w[s * stride * C::size / 4], &run, sizeof(run));
        }
        if constexpr (!C::is_row)
#pragma unroll
            for (int w = 0; w < out.count; w++) out.w[w] = transpose_word<C::side>(out.w[w], lane);
        flip_cells<RT, ST>(out, how, lane);
        for_each_cell<RT, ST, true>(i, j, lane, [&](uint32_t offset, int first) {
            word cell;
            __builtin_memcpy(&cell, &out.w[first], sizeof(cell));
            *(shared_pointer<word>)(memory + offset) = cell;
        });
    } else {
        constexpr int together = RT::is_row ? ST::atom_bytes : static_cast<int>(sizeof(U));
#pragma unroll
        for (int s = 0; s < base::num_strides; s++)
            shared_run<U, stride, together>::store(
                memory, [&](int e) { return held_offset<RT, ST>(i, j, lane, s * stride + e); },
                convert_run<U, typename RT::T, stride>(get_run(src, s)));
    }
}

} // namespace detail

/**
 * @brief dst = src, of the same size. Other waves see it after `wait_lgkmcnt` here and a barrier. All lanes take part.
 *
 * Costs, for each 16 bytes per lane: one ds_write_b128 if the swizzle spreads the lanes that are served together over
 * the banks; otherwise more and narrower writes without conflicts, down to four ds_write_b32 and eight v_cndmask; if
 * all have conflicts, the widest. In the column layout four ds_write_b32, and two instructions for each to sort
 * elements of 2 bytes (four for 1 byte).
 */
template <ducks::st::all ST, ducks::rt::all RT>
__device__ inline void store(ST &dst, const RT &src) {
    detail::check_sizes<RT, ST>();
    const detail::program_order order;
    const auto memory = (detail::shared_pointer<char>)reinterpret_cast<char *>(&dst.data[0]);
    const int lane = laneid();
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++) detail::store_base<RT>(dst, memory, i, j, lane, src.tiles[i][j]);
}

} // namespace kittens
