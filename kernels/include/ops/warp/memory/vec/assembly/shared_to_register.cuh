/**
 * @file
 * @brief Vectors from shared memory to a register selected by number.
 */
#pragma once

#include "../shared_to_register.cuh"

namespace kittens {

/**
 * @brief Starts loading 16 floats to register `GPR`, for `sub_row<GPR>` and its like: the values of the rows of tiles
 * of 16 rows in the column layout.
 *
 * Lane l gets element 4 (l / 16) + l % 4. Costs one ds_read_b32, which the kernel waits for with `wait_lgkmcnt`.
 */
template <int GPR, ducks::sv::all SV>
__device__ inline void load(const SV &src) {
    constexpr bool right_vector = detail::is_same<typename SV::dtype, float> && SV::length == 16;
    static_assert(right_vector,
                  "load<GPR>: the shared vector has 16 floats; subvec_inplace takes a part of a longer one");
    constexpr bool is_vgpr = GPR < detail::FIRST_AGPR;
    static_assert(is_vgpr, "load<GPR>: the register is a VGPR, number 0 to 255");
    macros::clobber_gpr<GPR>();
    const int lane = laneid();
    macros::ds_read<GPR, 1>(detail::shared_address(&src.data[0]) +
                            static_cast<uint32_t>((lane / 16 * 4 + lane % 4) * 4));
}

} // namespace kittens
