/**
 * @file
 * @brief How gfx1250 issues a wave's instructions: the scheduling mode, priorities, and a fence for the compiler.
 */
#pragma once

#include "../../common/common.cuh"

#if defined(KITTENS_CDNA5)
namespace kittens::sched {

namespace detail {
/** Operand of s_setreg: bits `first` to `first` + `count` - 1 of register 26, WAVE_SCHED_MODE. */
constexpr int mode_bits(int first, int count) { return 26 | first << 6 | (count - 1) << 11; }
} // namespace detail

/**
 * @brief Turns expert mode on or off for this wave.
 *
 * In expert mode (2, of vector memory alone) the hardware does not hold a load or store back until earlier vector and
 * matrix instructions have read and written their registers: call `wait_alu` where one depends on the other.
 */
__device__ inline void set_expert(bool on) {
    const kittens::detail::program_order order;
    __builtin_amdgcn_s_setreg(detail::mode_bits(0, 2), on ? 2u : 0u);
}

/** Expert mode as long as the object exists. */
struct expert_scope {
    /** Turns expert mode on. */
    __device__ inline expert_scope() { set_expert(true); }
    __device__ inline ~expert_scope() { set_expert(false); }
    expert_scope(const expert_scope &) = delete;
    expert_scope &operator=(const expert_scope &) = delete;
};

/** Lets this wave issue matrix instructions one right behind the other, for the rest of its life: for a wave that is
 * alone on its SIMD. */
__device__ inline void lock_simd() { __builtin_amdgcn_s_setreg(detail::mode_bits(4, 1), 1u); }

/** In expert mode, waits until earlier vector and matrix instructions have written their results, and until earlier
 * loads and stores have read their registers. It does not wait for loaded values. */
__device__ inline void wait_alu() {
    asm volatile("s_wait_alu depctr_va_vdst(0)\n\ts_wait_alu depctr_vm_vsrc(0)" ::: "memory");
}

/** Sets this wave's priority, 0 to 3. */
template <int priority>
__device__ inline void set_priority() {
    static_assert(priority >= 0 && priority <= 3, "sched::set_priority: the priority is 0 to 3");
    const kittens::detail::program_order order;
    __builtin_amdgcn_s_setprio(priority);
}

/** Raises the priority of the work-group's waves on this SIMD by 0 to 3. */
template <int more>
__device__ inline void boost_priority() {
    static_assert(more >= 0 && more <= 3, "sched::boost_priority: the increment is 0 to 3");
    const kittens::detail::program_order order;
    __builtin_amdgcn_s_setprio_inc_wg(more);
}

/** Keeps the compiler from moving instructions across it; no instruction. */
__device__ inline void compiler_fence() {
    const kittens::detail::program_order order;
    __builtin_amdgcn_sched_barrier(0);
}

} // namespace kittens::sched

#endif
