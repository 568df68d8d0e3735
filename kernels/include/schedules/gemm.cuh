/**
 * @file
 * @brief What the host gives a matrix multiplication of which each work-group computes a square tile.
 */
#pragma once

#include "sequence.cuh"

namespace kittens::schedules {

/**
 * @brief Operands and launch of C = A Bᵀ: A is M x K, B is N x K, C is M x N, all row-major.
 *
 * @tparam T,U element types of A and B, and of C.
 * @tparam tile rows and columns of C that a work-group computes.
 * @tparam threads of a work-group.
 * @tparam shared_bytes shared memory of a work-group.
 */
template <typename T, typename U, int tile, int threads, int shared_bytes>
struct gemm_globals {
    using operand = gl<T, 1, 1, -1, -1>;
    using result = gl<U, 1, 1, -1, -1>;

    operand a, b;
    result c;
    hipStream_t stream;

    dim3 grid() const {
        return dim3(static_cast<unsigned>(ceil_div(c.rows(), size_t{tile}) * ceil_div(c.cols(), size_t{tile})));
    }
    dim3 block() const { return dim3(threads); }
    size_t dynamic_shared_memory() const { return shared_bytes; }
};

} // namespace kittens::schedules
