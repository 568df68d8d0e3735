/**
 * @file
 * @brief Matrix multiplication: operands whose rows run along K, in shared memory and in registers.
 */
#pragma once

#include "kittens.cuh"

namespace kittens::families::gemm {

/**
 * @brief What a step along K takes of elements of type T: 128 bytes of a row, 64 on gfx942, whose LDS has 64 KB.
 *
 * @tparam T of 2 or 1 bytes.
 */
template <typename T>
struct along_k {
#if defined(KITTENS_CDNA4)
    static constexpr int BYTES = 128;
#else
    static constexpr int BYTES = 64;
#endif
    static constexpr bool wide = sizeof(T) == 2;
    static_assert(wide || sizeof(T) == 1, "gemm: elements have 1 or 2 bytes");
    static constexpr int K_STEP = BYTES / static_cast<int>(sizeof(T));

    /** Base shape in shared memory: rows of a step are whole cache lines, or halves. */
    using shared_shape =
        detail::select<K_STEP == 128, st_16x128_s, detail::select<K_STEP == 64, st_16x64_s, st_16x32_s>>;
    /** Base shape in registers. */
    using shape = detail::select<wide, rt_16x32_s, detail::select<K_STEP == 128, rt_16x128_s, rt_16x64_s>>;
};

} // namespace kittens::families::gemm
