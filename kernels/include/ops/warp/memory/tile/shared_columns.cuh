/**
 * @file
 * @brief Rows of a register tile from columns of a shared tile: an operand whose rows in memory run across K.
 */
#pragma once

#include "shared_to_register.cuh"

namespace kittens {

namespace detail {

/**
 * @brief Eight elements of 2 bytes of a column of `from`, rows `row` to `row + 7`, as a lane's run.
 *
 * Lanes that are 16 apart want rows 8 further on, the 16 beside each other a column each, from `first_col` on.
 */
template <ducks::st::all ST>
__device__ inline void column_run(unsigned (&words)[4], shared_pointer<const char> from, int first_row, int first_col,
                                  int lane) {
    const int row = first_row + lane / 16 * 8;
#if defined(KITTENS_CDNA4)
    // 16 lanes read 8 bytes each of four rows of 16 columns, and each gets a column of them.
    using piece = short __attribute__((ext_vector_type(4)));
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const auto at =
            (shared_pointer<piece>)(from + ST::offset(row + 4 * half + lane % 16 / 4, first_col + lane % 4 * 4));
        const auto got = bit_cast<u32x2>(__builtin_amdgcn_ds_read_tr16_b64_v4i16(at));
        words[2 * half] = got[0], words[2 * half + 1] = got[1];
    }
#else
    // Lanes side by side read two columns of every other row each, and exchange the halves.
#pragma unroll
    for (int pair = 0; pair < 4; pair++) {
        const auto at = (shared_pointer<const unsigned>)(from + ST::offset(row + 2 * pair + lane % 2,
                                                                           first_col + lane % 16 / 2 * 2));
        words[pair] = transpose_word<2>(*at, lane);
    }
#endif
}

} // namespace detail

/**
 * @brief dst = the transpose of columns `first_col` and further of src, which has as many rows as dst has columns.
 *
 * What was loaded into src with a group's `load` must be waited for first: `wait_vmcnt`, `barrier`.
 *
 * Costs, for each 16 bytes that a lane gets: two ds_read_b64_tr on gfx950, on gfx942 four ds_read_b32 (two to an
 * instruction) and eight instructions to sort elements. Without bank conflicts from `st_32x128_s`.
 *
 * @param first_col a multiple of 16.
 */
template <ducks::rt::row_layout RT, ducks::st::whole ST>
__device__ inline void load_columns(RT &dst, const ST &src, int first_col) {
    static_assert(sizeof(typename ST::dtype) == 2 && detail::is_same<typename RT::T, typename ST::dtype>,
                  "load_columns: both tiles have the same elements, of 2 bytes");
    static_assert(detail::is_same<typename RT::shape, rt_16x32_s>, "load_columns: the register tile is of rt_16x32_s");
    static_assert(RT::cols == ST::rows && RT::rows <= ST::cols,
                  "load_columns: the shared tile has as many rows as the register tile has columns");
    const detail::program_order order;
    const auto from = (detail::shared_pointer<const char>)reinterpret_cast<const char *>(&src.data[0]);
    const int lane = laneid();
#pragma unroll
    for (int i = 0; i < RT::height; i++)
#pragma unroll
        for (int j = 0; j < RT::width; j++) {
            unsigned words[4];
            detail::column_run<ST>(words, from, j * RT::base_tile_cols, first_col + i * RT::base_tile_rows, lane);
            __builtin_memcpy(&dst.tiles[i][j].data, words, sizeof(words));
        }
}

} // namespace kittens
