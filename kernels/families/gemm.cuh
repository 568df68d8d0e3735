/**
 * @file
 * @brief Matrix multiplication: schedules, each for any operand, problem and epilogue.
 *
 * A kernel is `gemm::ping_pong<...>`, `interleave<...>`, `double_buffer<...>` or `few_rows<...>`: `arguments` is its
 * parameter, `run` is its body, `threads` and `waves_per_simd` are its launch bounds. Template arguments select the
 * operands, the part that a work-group computes (gemm_problem.cuh) and the use of the sums (gemm_epilogue.cuh).
 */
#pragma once

#include "families/gemm_block_scaled.cuh"
#include "families/gemm_double_buffer.cuh"
#include "families/gemm_few_rows.cuh"
#include "families/gemm_interleave.cuh"
#include "families/gemm_ping_pong.cuh"
#include "families/gemm_sum_parts.cuh"
