/**
 * @file
 * @brief Shared tiles: matrices in the LDS of a work-group.
 */
#pragma once

#include "st_shape.cuh"
#include "sv.cuh"

namespace kittens {

namespace ducks::st {
struct identifier {};
} // namespace ducks::st

namespace detail {

/** Offsets of elements in a grid of base tiles; `pitch` base tiles from one row of base tiles to the next. */
template <typename T, ducks::st_shape::all shape, int pitch>
struct st_order {
    static constexpr int subtile_bytes = shape::num_elements * static_cast<int>(sizeof(T));
    /** True if the whole tile is in memory row by row. */
    static constexpr bool by_rows = pitch == 1 && shape::template swizzle<static_cast<int>(sizeof(T))>(1u << 7) == 1u << 7;
    static constexpr bool by_flips = !is_same<T, fp8e8m0> && !is_fp6<T> && !is_six_bits<T>;
    static constexpr int atom_bytes = !by_flips ? 16 : shape::template swizzle<static_cast<int>(sizeof(T))>.atom();

    /** The swizzled byte offset for an unswizzled one in a base tile, and the reverse. */
    static __host__ __device__ constexpr uint32_t swizzled(uint32_t offset) {
        static_assert(!is_six_bits<T>, "st: a program lays out and moves shared tiles of fp6_e2m3 itself; the library "
                                       "does so for tiles of fp6e2m3_4, which count fours");
        if constexpr (is_fp6<T> && shape::cols == 32) {
            // Rows of 96 bytes, of which a lane reads 24: eight rows use different banks, and so do the next eight if
            // their halves are exchanged.
            const uint32_t inside = offset % 96;
            if (offset / 96 & 8) return inside < 48 ? offset + 48 : offset - 48;
            return offset;
        } else if constexpr (!by_flips) {
            // Scales are read in memory order, one word per lane.
            return offset;
        } else {
            // A separate copy, because the compiler does not evaluate constants in the GPU's memory.
            constexpr ducks::st_shape::swizzling swizzling = shape::template swizzle<static_cast<int>(sizeof(T))>;
            return swizzling(offset);
        }
    }
    /** Byte offset of an element in a base tile. */
    static __host__ __device__ constexpr uint32_t inside(int row, int col) {
        return swizzled(static_cast<uint32_t>((row * shape::cols + col) * static_cast<int>(sizeof(T))));
    }
    /** Byte offset in the whole. */
    static __host__ __device__ constexpr uint32_t offset(int row, int col) {
        const int subtile = row / shape::rows * pitch + col / shape::cols;
        return static_cast<uint32_t>(subtile * subtile_bytes) + inside(row % shape::rows, col % shape::cols);
    }
};

/** The same of a tile with gaps: rows as wide as the tile. */
template <typename T, ducks::st_shape::padded shape, int pitch>
struct st_order<T, shape, pitch> {
    static constexpr bool by_rows = true;
    static constexpr int gap_bytes = shape::pad_amount * static_cast<int>(sizeof(T));
    static constexpr int atom_bytes = min(16, gap_bytes & -gap_bytes);
    static constexpr int cols = pitch * shape::cols;
    static_assert(cols % shape::pad_interval == 0 || shape::pad_interval % cols == 0,
                  "st: the columns of a padded tile divide the interval of its gaps, or are a multiple of it");
    static_assert(atom_bytes >= 4, "st: a gap of a padded tile is a multiple of 4 bytes");
    static __host__ __device__ constexpr uint32_t bytes_at(int flat) {
        return static_cast<uint32_t>(shape::padded(flat)) * static_cast<uint32_t>(sizeof(T));
    }
    /** An element's offset is the sum of that of its base tile and that in the base tile. */
    static __host__ __device__ constexpr uint32_t of_base(int row, int col) { return bytes_at(row * cols + col); }
    static __host__ __device__ constexpr uint32_t inside(int row, int col) { return bytes_at(row * cols + col); }
    static __host__ __device__ constexpr uint32_t offset(int row, int col) { return bytes_at(row * cols + col); }
};

/** The default base shape of a shared tile. */
template <typename T>
using default_st_shape = select<is_six_bits<T>, st_16x128_s, st_16x16_s>;

} // namespace detail

template <typename ST, int rows, int cols>
struct st_subtile;

/**
 * @brief A matrix in shared memory.
 *
 * @tparam _T element type.
 * @tparam _rows,_cols dimensions, multiples of the base shape's.
 * @tparam _shape base shape: the order of elements in memory, chosen for the register tiles that read it.
 *
 * Takes rows * cols * sizeof(T) bytes, and those of the gaps of `st_16x32_padded`.
 */
template <typename _T, int _rows, int _cols, ducks::st_shape::all _shape = detail::default_st_shape<_T>>
struct KITTENS_DEFAULT_ALIGN st {
    using identifier = ducks::st::identifier;
    using T = typename base_types::packing<_T>::unpacked_type;
    using T2 = typename base_types::packing<_T>::packed_type;
    using dtype = T;
    using shape = _shape;

    static constexpr int rows = _rows;
    static constexpr int cols = _cols;
    static constexpr int num_elements = rows * cols;

    static constexpr int underlying_rows = rows;
    static constexpr int underlying_cols = cols;
    static constexpr int underlying_subtile_rows = shape::rows;
    static constexpr int underlying_subtile_cols = shape::cols;
    static constexpr int underlying_subtile_row_bytes = shape::cols * static_cast<int>(sizeof(T));
    static constexpr int underlying_subtile_elements = shape::num_elements;
    static constexpr int underlying_subtile_bytes = underlying_subtile_elements * static_cast<int>(sizeof(T));
    static constexpr int underlying_subtiles_per_row = cols / shape::cols;
    static constexpr int underlying_subtiles_per_col = rows / shape::rows;
    static constexpr int underlying_num_elements = num_elements;
    /** Base tiles from top to bottom and from left to right, as `subtiles_per_col` and `subtiles_per_row`. */
    static constexpr int height = rows / shape::rows;
    static constexpr int width = cols / shape::cols;
    static constexpr int underlying_height = underlying_rows / shape::rows;
    static constexpr int underlying_width = underlying_cols / shape::cols;
    /** Base tiles from left to right and from top to bottom. */
    static constexpr int subtiles_per_row = cols / shape::cols;
    static constexpr int subtiles_per_col = rows / shape::rows;
    /**
     * Contiguous columns and bytes of a row of a base tile, and the period of its swizzle in bytes. HipKittens' values
     * may be larger, because its base tiles have another order: compute addresses by `idx`.
     */
    static constexpr int subtile_cols = shape::cols;
    static constexpr int swizzle_bytes = underlying_subtile_row_bytes;
    static constexpr int swizzle_repeat = underlying_subtile_bytes;

    static_assert(rows > 0 && rows % shape::rows == 0, "st: the number of rows is a multiple of the base shape's");
    static_assert(cols > 0 && cols % shape::cols == 0, "st: the number of columns is a multiple of the base shape's");

    using order = detail::st_order<T, shape, underlying_subtiles_per_row>;
    /** Bytes that the swizzle keeps together: the most that a lane reads at once. */
    static constexpr int atom_bytes = order::atom_bytes;
    /** Bytes that a lane loads at once when the tile is filled straight from global memory. */
    static constexpr int underlying_subtile_bytes_per_thread =
        detail::min(MAX_DIRECT_LOAD_BYTES, atom_bytes >= 16 ? 16 : 4);

    /** Vectors with an element for each column and for each row. */
    using row_vec = sv<dtype, cols>;
    using col_vec = sv<dtype, rows>;
    /** A part of it, as returned by `subtile_inplace`. */
    template <int rows, int cols>
    using subtile = st_subtile<st, rows, cols>;

    /** Elements of memory of a tile with such a base shape, and of this one. */
    template <typename S>
    static constexpr int storage_for() {
        if constexpr (ducks::st_shape::padded<S>)
            return S::storage_elems(num_elements);
        else
            return num_elements;
    }
    static constexpr int storage_elements = storage_for<shape>();

    dtype data[storage_elements];

    /** Position in memory, but for gaps and swizzle, of element `flat`, counted row by row. */
    static __host__ __device__ constexpr int subtile_flat(int flat) {
        if constexpr (ducks::st_shape::padded<shape>) {
            return flat;
        } else {
            const int row = flat / cols, col = flat % cols;
            return (row / shape::rows * underlying_subtiles_per_row + col / shape::cols) * underlying_subtile_elements +
                   row % shape::rows * shape::cols + col % shape::cols;
        }
    }
    /** The position with gaps. */
    static __host__ __device__ constexpr int padded(int flat) {
        if constexpr (ducks::st_shape::padded<shape>)
            return shape::padded(flat);
        else
            return flat;
    }
    /** Position in memory, in elements, of element `flat`, counted row by row. */
    static __host__ __device__ constexpr int lds_offset(int flat) {
        return static_cast<int>(offset(flat / cols, flat % cols) / sizeof(dtype));
    }

    /** Byte offset of an element in the base tile that it is in. */
    static __host__ __device__ constexpr uint32_t swizzle(int row, int col) { return order::inside(row, col); }
    static __host__ __device__ constexpr uint32_t swizzle(const int2 &at) { return swizzle(at.x, at.y); }
    /** Byte offset of an element in the tile. */
    static __host__ __device__ constexpr uint32_t offset(int row, int col) { return order::offset(row, col); }

    /** An element of the tile at `first`, as a pointer or as an address in shared memory. */
    static __device__ inline T *idx(T *first, const int2 &at) { return first + offset(at.x, at.y) / sizeof(T); }
    static __device__ inline uint32_t idx(uint32_t first, const int2 &at) { return first + offset(at.x, at.y); }

    /** An element by its position in memory. */
    __device__ inline dtype &operator[](int i) { return data[i]; }
    __device__ inline const dtype &operator[](int i) const { return data[i]; }
    __device__ inline dtype &operator[](const int2 &at) { return data[offset(at.x, at.y) / sizeof(dtype)]; }
    __device__ inline const dtype &operator[](const int2 &at) const { return data[offset(at.x, at.y) / sizeof(dtype)]; }
};

/**
 * @brief A part of a shared tile that consists of whole base tiles, in place. Used like a shared tile.
 */
template <typename _ST, int _rows, int _cols>
struct st_subtile {
    using identifier = ducks::st::identifier;
    using ST = _ST;
    using T = typename ST::T;
    using T2 = typename ST::T2;
    using dtype = T;
    using shape = typename ST::shape;

    static constexpr int rows = _rows;
    static constexpr int cols = _cols;
    static constexpr int num_elements = rows * cols;
    static constexpr int underlying_rows = ST::underlying_rows;
    static constexpr int underlying_cols = ST::underlying_cols;
    static constexpr int underlying_subtile_rows = shape::rows;
    static constexpr int underlying_subtile_cols = shape::cols;
    static constexpr int underlying_subtile_row_bytes = ST::underlying_subtile_row_bytes;
    static constexpr int underlying_subtile_elements = shape::num_elements;
    static constexpr int underlying_subtile_bytes = ST::underlying_subtile_bytes;
    static constexpr int underlying_subtiles_per_row = ST::underlying_subtiles_per_row;
    static constexpr int underlying_subtiles_per_col = ST::underlying_subtiles_per_col;
    static constexpr int underlying_num_elements = ST::underlying_num_elements;
    /** Base tiles from top to bottom and from left to right, as `subtiles_per_col` and `subtiles_per_row`. */
    static constexpr int height = rows / shape::rows;
    static constexpr int width = cols / shape::cols;
    static constexpr int underlying_height = underlying_rows / shape::rows;
    static constexpr int underlying_width = underlying_cols / shape::cols;
    /** Base tiles from left to right and from top to bottom. */
    static constexpr int subtiles_per_row = cols / shape::cols;
    static constexpr int subtiles_per_col = rows / shape::rows;
    static constexpr int subtile_cols = ST::subtile_cols;
    static constexpr int swizzle_bytes = ST::swizzle_bytes;
    static constexpr int swizzle_repeat = ST::swizzle_repeat;
    static constexpr int underlying_subtile_bytes_per_thread = ST::underlying_subtile_bytes_per_thread;

    static_assert(!ducks::st_shape::padded<shape>,
                  "subtile_inplace: parts of a padded tile are read by `load(registers, tile, origin)`");
    static_assert(rows % shape::rows == 0 && cols % shape::cols == 0,
                  "subtile_inplace: a subtile is made of whole base tiles of the shared tile");
    static_assert(ST::rows % rows == 0 && ST::cols % cols == 0,
                  "subtile_inplace: the shared tile is a whole number of subtiles");

    using order = typename ST::order;
    static constexpr int atom_bytes = ST::atom_bytes;

    /** Vectors with an element for each column and for each row. */
    using row_vec = sv<dtype, cols>;
    using col_vec = sv<dtype, rows>;

    /** The first base tile. */
    dtype *data;
    /** First element of the part in the shared tile. */
    int row_offset, col_offset;

    __device__ inline st_subtile(ST &tile, const int2 &at)
        : data(tile.data +
               places((at.x * (rows / shape::rows) * underlying_subtiles_per_row + at.y * (cols / shape::cols)) *
                      underlying_subtile_elements)),
          row_offset(at.x * rows), col_offset(at.y * cols) {}

    /** Distance in `data` between elements of whole base tiles. */
    static __host__ __device__ constexpr int places(int elements) {
        // HipKittens' fp6 branch holds two copies of its library. Programs for the one in fp6_dwordx3, which fill 12 of
        // each 16 bytes, are compiled with KITTENS_FP6=3.
#if defined(KITTENS_FP6) && KITTENS_FP6 != 3
        if (detail::is_six_bits<T>) return elements * 6 / 8;
#endif
        return elements;
    }

    /** Byte offset of an element in the base tile that it is in. */
    static __host__ __device__ constexpr uint32_t swizzle(const int2 &at) { return ST::swizzle(at); }

    /** Byte offset of an element from `data`. */
    static __host__ __device__ constexpr uint32_t offset(int row, int col) { return order::offset(row, col); }

    /** An element of the part, which begins at `first`. */
    static __device__ inline T *idx(T *first, const int2 &at) { return first + offset(at.x, at.y) / sizeof(T); }
    static __device__ inline uint32_t idx(uint32_t first, const int2 &at) { return first + offset(at.x, at.y); }

    __device__ inline dtype &operator[](const int2 &at) const { return data[offset(at.x, at.y) / sizeof(dtype)]; }
};

namespace ducks::st {
/** Any shared tile, or part of one. */
template <typename T>
concept all = requires { typename T::identifier; } && detail::is_same<typename T::identifier, identifier>;
/** A whole shared tile. */
template <typename T>
concept whole = all<T> && !requires { typename T::ST; };
} // namespace ducks::st

namespace detail {

/**
 * True for a tile of a type that a program derives from `st` and gives a `swizzle(int2)` of its own, as HipKittens
 * allows. It is the byte offset of an element in its base tile: a run of `ST::atom_bytes` stays together, and applied
 * to an offset's own place it gives that offset back.
 */
template <typename ST>
inline constexpr bool own_swizzle = !requires { static_cast<uint32_t (*)(const int2 &)>(&ST::swizzle); };
template <typename ST>
    requires requires { typename ST::ST; }
inline constexpr bool own_swizzle<ST> = own_swizzle<typename ST::ST>;

/** Byte offset of an element in the base tile of a shared tile that it is in. */
template <typename ST>
__host__ __device__ constexpr uint32_t inside_base(int row, int col) {
    if constexpr (own_swizzle<ST>)
        return ST::swizzle(int2{row, col});
    else
        return ST::order::inside(row, col);
}

} // namespace detail

/** Part {at.x, at.y} of a shared tile, counted in parts of rows x cols elements. HipKittens' cdna3 branch has a third
 * argument, on which nothing depends. */
template <int rows, int cols, ducks::st::whole ST>
__device__ inline st_subtile<ST, rows, cols> subtile_inplace(ST &tile, int2 at, bool = false) {
    return st_subtile<ST, rows, cols>(tile, at);
}

#if defined(KITTENS_CDNA5)
/** Base shape of the types below without one; on gfx1250, as in HipKittens, one with gaps. */
using st_named_shape = st_16x32_padded_s;
#else
/** Base shape of the types below without one. */
using st_named_shape = st_16x16_s;
#endif
template <int rows, int cols, ducks::st_shape::all shape = st_named_shape>
using st_bf = st<bf16, rows, cols, shape>;
template <int rows, int cols, ducks::st_shape::all shape = st_named_shape>
using st_hf = st<half, rows, cols, shape>;
template <int rows, int cols, ducks::st_shape::all shape = st_named_shape>
using st_fl = st<float, rows, cols, shape>;
template <int rows, int cols, ducks::st_shape::all shape = st_named_shape>
using st_fp8e4m3 = st<fp8e4m3, rows, cols, shape>;
/** Tile of fp8e5m2. */
template <int rows, int cols, ducks::st_shape::all shape = st_named_shape>
using st_fp8e5m2 = st<fp8e5m2, rows, cols, shape>;
/** Tile of pairs of fp4, which `cols` counts. */
template <int rows, int cols, ducks::st_shape::all shape = st_16x64_s>
using st_fp4e2m1_2 = st<fp4e2m1_2, rows, cols, shape>;
/** Tile of fp6 in groups of four, which `cols` counts. */
template <int rows, int cols, ducks::st_shape::all shape = st_16x32_s>
using st_fp6e2m3_4 = st<fp6e2m3_4, rows, cols, shape>;
template <int rows, int cols, ducks::st_shape::all shape = st_16x32_s>
using st_fp6e3m2_4 = st<fp6e3m2_4, rows, cols, shape>;
#if defined(KITTENS_FP6)
/** Tile of fp6; `cols` counts single numbers, with a byte of memory each, which the program lays out itself. */
template <int rows, int cols>
using st_f6 = st<fp6_e2m3, rows, cols>;
#endif

} // namespace kittens
