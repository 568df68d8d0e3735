/**
 * @file
 * @brief Single instructions on registers selected by number: the basis of explicit-register tiles (`art`).
 *
 * Registers 0 to 255 are VGPRs v0 to v255, registers 256 to 511 AGPRs a0 to a255. The compiler does not know their
 * contents, and avoids them only in kernels with the attribute KITTENS_PINS_FROM, which every kernel that uses them
 * needs.
 *
 * Nothing here waits. The kernel waits for loads by `wait_vmcnt` and `wait_lgkmcnt`, and for matrix instructions and
 * other hazards that the hardware does not resolve (CDNA3 ISA guide, "Manually inserted wait states") by `wait_states`.
 * The functions on whole tiles insert these wait states themselves.
 */
#pragma once

#include "buffer.cuh"
#include "util.cuh"

/**
 * @brief Attribute of a kernel that pins VGPRs from v(n) on and AGPRs up to a(agprs - 1): the compiler keeps to v0 to
 * v(n - 1).
 *
 * If those do not suffice, it uses any AGPRs, so a kernel that pins AGPRs must leave it enough VGPRs.
 *
 * The attribute amdgpu_num_vgpr is half of the kernel's registers, VGPRs and AGPRs together, and their division depends
 * on the compiler: since LLVM 22, there are as many AGPRs as inline assembly names; before, half, or none if it names
 * none.
 */
#if __clang_major__ >= 22
#define KITTENS_PINS_FROM(n, agprs) __attribute__((amdgpu_num_vgpr(((n) + ((agprs) + 3) / 4 * 4) / 2)))
#else
#define KITTENS_PINS_FROM(n, agprs) __attribute__((amdgpu_num_vgpr((agprs) == 0 ? (n) / 2 : (n))))
#endif

namespace kittens {

namespace detail {

/** The first AGPR's number. */
inline constexpr int FIRST_AGPR = 256;

/** Register `GPR`; `clobber` tells the compiler about it. */
template <int GPR>
struct pinned {
    static_assert(never<pinned<GPR>>, "registers have the numbers 0 to 255 (VGPRs) and 256 to 511 (AGPRs)");
};
#define KITTENS_PIN(n)                                                                                                 \
    template <>                                                                                                        \
    struct pinned<n> {                                                                                                 \
        static __device__ inline void clobber() { asm volatile("" ::: "v" #n); }                                       \
    };                                                                                                                 \
    template <>                                                                                                        \
    struct pinned<FIRST_AGPR + n> {                                                                                    \
        static __device__ inline void clobber() { asm volatile("" ::: "a" #n); }                                       \
    };
#define KITTENS_PIN_6(d)                                                                                               \
    KITTENS_PIN(d##0) KITTENS_PIN(d##1) KITTENS_PIN(d##2) KITTENS_PIN(d##3) KITTENS_PIN(d##4) KITTENS_PIN(d##5)
#define KITTENS_PIN_10(d) KITTENS_PIN_6(d) KITTENS_PIN(d##6) KITTENS_PIN(d##7) KITTENS_PIN(d##8) KITTENS_PIN(d##9)
KITTENS_PIN(0)
KITTENS_PIN(1)
KITTENS_PIN(2)
KITTENS_PIN(3)
KITTENS_PIN(4)
KITTENS_PIN(5)
KITTENS_PIN(6)
KITTENS_PIN(7)
KITTENS_PIN(8)
KITTENS_PIN(9)
KITTENS_PIN_10(1)
KITTENS_PIN_10(2)
KITTENS_PIN_10(3)
KITTENS_PIN_10(4)
KITTENS_PIN_10(5)
KITTENS_PIN_10(6)
KITTENS_PIN_10(7)
KITTENS_PIN_10(8)
KITTENS_PIN_10(9)
KITTENS_PIN_10(10)
KITTENS_PIN_10(11)
KITTENS_PIN_10(12)
KITTENS_PIN_10(13)
KITTENS_PIN_10(14)
KITTENS_PIN_10(15)
KITTENS_PIN_10(16)
KITTENS_PIN_10(17)
KITTENS_PIN_10(18)
KITTENS_PIN_10(19)
KITTENS_PIN_10(20)
KITTENS_PIN_10(21)
KITTENS_PIN_10(22)
KITTENS_PIN_10(23)
KITTENS_PIN_10(24)
KITTENS_PIN_6(25)
#undef KITTENS_PIN_10
#undef KITTENS_PIN_6
#undef KITTENS_PIN

/** One instruction with pinned registers `GPR` on as its data: `before` and `after` surround them in the text. */
#define KITTENS_WITH_DATA(GPR, words, before, after, ...)                                                              \
    if constexpr (GPR < FIRST_AGPR && words == 1)                                                                      \
        asm volatile(before "v[%0]" after::"n"(GPR), "n"(GPR), __VA_ARGS__ : "memory");                                \
    else if constexpr (GPR < FIRST_AGPR)                                                                               \
        asm volatile(before "v[%0:%1]" after::"n"(GPR), "n"(GPR + words - 1), __VA_ARGS__ : "memory");                 \
    else if constexpr (words == 1)                                                                                     \
        asm volatile(before "a[%0]" after::"n"(GPR - FIRST_AGPR), "n"(GPR), __VA_ARGS__ : "memory");                   \
    else                                                                                                               \
        asm volatile(before "a[%0:%1]" after::"n"(GPR - FIRST_AGPR), "n"(GPR - FIRST_AGPR + words - 1), __VA_ARGS__    \
                     : "memory")

} // namespace detail

/** Waits `n` issue cycles, 1 to 32, for hazards that the hardware does not resolve. */
template <int n>
__device__ inline void wait_states() {
    static_assert(n >= 1 && n <= 32, "wait_states: from 1 to 32");
    if constexpr (n <= 16)
        asm volatile("s_nop %0" ::"n"(n - 1));
    else
        asm volatile("s_nop 15\n\ts_nop %0" ::"n"(n - 17));
}

namespace macros {

/** Largest constant offsets of instructions for shared memory, those with two offsets, and buffers. */
__host__ __device__ constexpr uint32_t max_ds_inst_offset() { return 65535; }
__host__ __device__ constexpr uint32_t max_ds_pk2_inst_offset() { return 255; }
__host__ __device__ constexpr uint32_t max_mubuf_inst_offset() { return 4095; }

/** Tells the compiler that a register is in use, so that it allocates enough for the kernel. */
template <int GPR>
__device__ inline void clobber_gpr() {
    detail::pinned<GPR>::clobber();
}

/** 4, 8 or 16 bytes per lane (1, 2 or 4 `words`) from shared memory at `address` + `offset` to registers `GPR` on. */
template <int GPR, int words, int offset = 0>
__device__ inline void ds_read(uint32_t address) {
    static_assert(words == 1 || words == 2 || words == 4, "ds_read: a lane reads 1, 2 or 4 words");
    static_assert(offset >= 0 && offset < 65536, "ds_read: the offset has 16 bits");
    using detail::FIRST_AGPR;
    if constexpr (words == 1) {
        KITTENS_WITH_DATA(GPR, words, "ds_read_b32 ", ", %2 offset:%3", "v"(address), "n"(offset));
    } else if constexpr (words == 2) {
        KITTENS_WITH_DATA(GPR, words, "ds_read_b64 ", ", %2 offset:%3", "v"(address), "n"(offset));
    } else {
        KITTENS_WITH_DATA(GPR, words, "ds_read_b128 ", ", %2 offset:%3", "v"(address), "n"(offset));
    }
}
/** The read that transposes elements of 16, 8 or 4 `bits`: 8 bytes a lane to registers `GPR` and `GPR` + 1. */
template <int GPR, int bits, int offset = 0>
__device__ inline void ds_read_transposed(uint32_t address) {
    static_assert(bits == 16 || bits == 8 || bits == 4, "ds_read_b64_tr: elements have 16, 8 or 4 bits");
    static_assert(offset >= 0 && offset < 65536, "ds_read: the offset has 16 bits");
    using detail::FIRST_AGPR;
#if defined(KITTENS_CDNA4)
    if constexpr (bits == 16) {
        KITTENS_WITH_DATA(GPR, 2, "ds_read_b64_tr_b16 ", ", %2 offset:%3", "v"(address), "n"(offset));
    } else if constexpr (bits == 8) {
        KITTENS_WITH_DATA(GPR, 2, "ds_read_b64_tr_b8 ", ", %2 offset:%3", "v"(address), "n"(offset));
    } else {
        KITTENS_WITH_DATA(GPR, 2, "ds_read_b64_tr_b4 ", ", %2 offset:%3", "v"(address), "n"(offset));
    }
#else
    (void)address;
    static_assert(detail::never<detail::pinned<GPR>>, "ds_read_b64_tr: only gfx950 (CDNA4) has reads that transpose");
#endif
}
/** Registers `GPR` on to shared memory, 4, 8 or 16 bytes per lane. */
template <int GPR, int words, int offset = 0>
__device__ inline void ds_write(uint32_t address) {
    static_assert(words == 1 || words == 2 || words == 4, "ds_write: a lane writes 1, 2 or 4 words");
    static_assert(offset >= 0 && offset < 65536, "ds_write: the offset has 16 bits");
    using detail::FIRST_AGPR;
    if constexpr (words == 1) {
        KITTENS_WITH_DATA(GPR, words, "ds_write_b32 %2, ", " offset:%3", "v"(address), "n"(offset));
    } else if constexpr (words == 2) {
        KITTENS_WITH_DATA(GPR, words, "ds_write_b64 %2, ", " offset:%3", "v"(address), "n"(offset));
    } else {
        KITTENS_WITH_DATA(GPR, words, "ds_write_b128 %2, ", " offset:%3", "v"(address), "n"(offset));
    }
}
/** 1 to 4 `words` of 4 bytes a lane from global memory, at an offset in a buffer resource, to registers `GPR` on. */
template <int GPR, int words, int offset = 0>
__device__ inline void buffer_load(i32x4 resource, uint32_t lane_offset, uint32_t uniform_offset = 0) {
    static_assert(words >= 1 && words <= 4, "buffer_load: a lane loads 1 to 4 words");
    static_assert(offset >= 0 && offset < 4096, "buffer_load: the offset has 12 bits");
    using detail::FIRST_AGPR;
    if constexpr (words == 1) {
        KITTENS_WITH_DATA(GPR, words, "buffer_load_dword ", ", %2, %3, %4 offen offset:%5", "v"(lane_offset),
                          "s"(resource), "s"(uniform_offset), "n"(offset));
    } else if constexpr (words == 2) {
        KITTENS_WITH_DATA(GPR, words, "buffer_load_dwordx2 ", ", %2, %3, %4 offen offset:%5", "v"(lane_offset),
                          "s"(resource), "s"(uniform_offset), "n"(offset));
    } else if constexpr (words == 3) {
        KITTENS_WITH_DATA(GPR, words, "buffer_load_dwordx3 ", ", %2, %3, %4 offen offset:%5", "v"(lane_offset),
                          "s"(resource), "s"(uniform_offset), "n"(offset));
    } else {
        KITTENS_WITH_DATA(GPR, words, "buffer_load_dwordx4 ", ", %2, %3, %4 offen offset:%5", "v"(lane_offset),
                          "s"(resource), "s"(uniform_offset), "n"(offset));
    }
}
/** Registers `GPR` on to global memory. They may be written again two wait states later. */
template <int GPR, int words, int offset = 0>
__device__ inline void buffer_store(i32x4 resource, uint32_t lane_offset, uint32_t uniform_offset = 0) {
    static_assert(words >= 1 && words <= 4, "buffer_store: a lane stores 1 to 4 words");
    static_assert(offset >= 0 && offset < 4096, "buffer_store: the offset has 12 bits");
    using detail::FIRST_AGPR;
    if constexpr (words == 1) {
        KITTENS_WITH_DATA(GPR, words, "buffer_store_dword ", ", %2, %3, %4 offen offset:%5", "v"(lane_offset),
                          "s"(resource), "s"(uniform_offset), "n"(offset));
    } else if constexpr (words == 2) {
        KITTENS_WITH_DATA(GPR, words, "buffer_store_dwordx2 ", ", %2, %3, %4 offen offset:%5", "v"(lane_offset),
                          "s"(resource), "s"(uniform_offset), "n"(offset));
    } else if constexpr (words == 3) {
        KITTENS_WITH_DATA(GPR, words, "buffer_store_dwordx3 ", ", %2, %3, %4 offen offset:%5", "v"(lane_offset),
                          "s"(resource), "s"(uniform_offset), "n"(offset));
    } else {
        KITTENS_WITH_DATA(GPR, words, "buffer_store_dwordx4 ", ", %2, %3, %4 offen offset:%5", "v"(lane_offset),
                          "s"(resource), "s"(uniform_offset), "n"(offset));
    }
}
/** Adds a register's two bf16 numbers to two in global memory, atomically. */
template <int GPR, int offset = 0>
__device__ inline void buffer_atomic_pk_add_bf16(i32x4 resource, uint32_t lane_offset, uint32_t uniform_offset = 0) {
    using detail::FIRST_AGPR;
    KITTENS_WITH_DATA(GPR, 1, "buffer_atomic_pk_add_bf16 ", ", %2, %3, %4 offen offset:%5", "v"(lane_offset),
                      "s"(resource), "s"(uniform_offset), "n"(offset));
}
/** Adds a register's float to one in global memory, `lane_offset` + `offset` bytes from `base`, atomically. */
template <int GPR, int offset = 0>
__device__ inline void global_atomic_add_f32(const float *base, uint32_t lane_offset) {
    static_assert(offset >= -4096 && offset < 4096, "global_atomic_add_f32: the offset has 13 bits");
    using detail::FIRST_AGPR;
    KITTENS_WITH_DATA(GPR, 1, "global_atomic_add_f32 %2, ", ", %3 offset:%4", "v"(lane_offset), "s"(base), "n"(offset));
}
#undef KITTENS_WITH_DATA

// The names by width, with an offset that may be a variable; it costs an addition.

/** 4 bytes per lane from shared memory at `address` + `offset` to register `GPR`. */
template <int GPR>
__device__ inline void ds_read_b32(uint32_t address, int offset = 0) {
    ds_read<GPR, 1>(address + static_cast<uint32_t>(offset));
}
/** 8 bytes per lane to registers `GPR` and `GPR` + 1. */
template <int GPR>
__device__ inline void ds_read_b64(uint32_t address, int offset = 0) {
    ds_read<GPR, 2>(address + static_cast<uint32_t>(offset));
}
/** 16 bytes per lane to registers `GPR` to `GPR` + 3. */
template <int GPR>
__device__ inline void ds_read_b128(uint32_t address, int offset = 0) {
    ds_read<GPR, 4>(address + static_cast<uint32_t>(offset));
}
/** Transposing read of 2-byte elements, 8 bytes per lane. Only on gfx950. */
template <int GPR>
__device__ inline void ds_read_b64_tr_b16(uint32_t address, int offset = 0) {
    ds_read_transposed<GPR, 16>(address + static_cast<uint32_t>(offset));
}
/** Transposing read of 1-byte elements, 8 bytes per lane. Only on gfx950. */
template <int GPR>
__device__ inline void ds_read_b64_tr_b8(uint32_t address, int offset = 0) {
    ds_read_transposed<GPR, 8>(address + static_cast<uint32_t>(offset));
}
/** The read that transposes elements of 4 bits, 8 bytes a lane. Only on gfx950. */
template <int GPR>
__device__ inline void ds_read_b64_tr_b4(uint32_t address, int offset = 0) {
    ds_read_transposed<GPR, 4>(address + static_cast<uint32_t>(offset));
}
/** Register `GPR` to shared memory at `address` + `offset`. */
template <int GPR>
__device__ inline void ds_write_b32(uint32_t address, int offset = 0) {
    ds_write<GPR, 1>(address + static_cast<uint32_t>(offset));
}
/** Registers `GPR` and `GPR` + 1 to shared memory. */
template <int GPR>
__device__ inline void ds_write_b64(uint32_t address, int offset = 0) {
    ds_write<GPR, 2>(address + static_cast<uint32_t>(offset));
}
/** Registers `GPR` to `GPR` + 3 to shared memory. */
template <int GPR>
__device__ inline void ds_write_b128(uint32_t address, int offset = 0) {
    ds_write<GPR, 4>(address + static_cast<uint32_t>(offset));
}
/** 4 bytes per lane of global memory, at the sum of the offsets in a buffer resource, to register `GPR`. */
template <int GPR>
__device__ inline void buffer_load_dword(const i32x4 &resource, uint32_t lane_offset, uint32_t uniform_offset = 0,
                                         int offset = 0) {
    buffer_load<GPR, 1>(resource, lane_offset + static_cast<uint32_t>(offset), uniform_offset);
}
/** 8 bytes per lane of global memory to registers `GPR` and `GPR` + 1. */
template <int GPR>
__device__ inline void buffer_load_dwordx2(const i32x4 &resource, uint32_t lane_offset, uint32_t uniform_offset = 0,
                                           int offset = 0) {
    buffer_load<GPR, 2>(resource, lane_offset + static_cast<uint32_t>(offset), uniform_offset);
}
/** 12 bytes a lane of global memory to registers `GPR` to `GPR` + 2. */
template <int GPR>
__device__ inline void buffer_load_dwordx3(const i32x4 &resource, uint32_t lane_offset, uint32_t uniform_offset = 0,
                                           int offset = 0) {
    buffer_load<GPR, 3>(resource, lane_offset + static_cast<uint32_t>(offset), uniform_offset);
}
/** 16 bytes a lane of global memory to registers `GPR` to `GPR` + 3. */
template <int GPR>
__device__ inline void buffer_load_dwordx4(const i32x4 &resource, uint32_t lane_offset, uint32_t uniform_offset = 0,
                                           int offset = 0) {
    buffer_load<GPR, 4>(resource, lane_offset + static_cast<uint32_t>(offset), uniform_offset);
}
/** Register `GPR` to global memory, at the sum of the offsets in a buffer resource. */
template <int GPR>
__device__ inline void buffer_store_dword(const i32x4 &resource, uint32_t lane_offset, uint32_t uniform_offset = 0,
                                          int offset = 0) {
    buffer_store<GPR, 1>(resource, lane_offset + static_cast<uint32_t>(offset), uniform_offset);
}
/** Registers `GPR` and `GPR` + 1 to global memory. */
template <int GPR>
__device__ inline void buffer_store_dwordx2(const i32x4 &resource, uint32_t lane_offset, uint32_t uniform_offset = 0,
                                            int offset = 0) {
    buffer_store<GPR, 2>(resource, lane_offset + static_cast<uint32_t>(offset), uniform_offset);
}
/** Registers `GPR` to `GPR` + 2 to global memory. */
template <int GPR>
__device__ inline void buffer_store_dwordx3(const i32x4 &resource, uint32_t lane_offset, uint32_t uniform_offset = 0,
                                            int offset = 0) {
    buffer_store<GPR, 3>(resource, lane_offset + static_cast<uint32_t>(offset), uniform_offset);
}
/** Registers `GPR` to `GPR` + 3 to global memory. */
template <int GPR>
__device__ inline void buffer_store_dwordx4(const i32x4 &resource, uint32_t lane_offset, uint32_t uniform_offset = 0,
                                            int offset = 0) {
    buffer_store<GPR, 4>(resource, lane_offset + static_cast<uint32_t>(offset), uniform_offset);
}

/** A register's value, as the compiler sees it. */
template <int GPR>
__device__ inline unsigned read_gpr() {
    unsigned value;
    if constexpr (GPR < detail::FIRST_AGPR)
        asm volatile("v_mov_b32 %0, v[%1]" : "=v"(value) : "n"(GPR));
    else
        asm volatile("v_accvgpr_read_b32 %0, a[%1]" : "=v"(value) : "n"(GPR - detail::FIRST_AGPR));
    return value;
}
/** Puts a value into a register. */
template <int GPR>
__device__ inline void write_gpr(unsigned value) {
    if constexpr (GPR < detail::FIRST_AGPR)
        asm volatile("v_mov_b32 v[%0], %1" ::"n"(GPR), "v"(value));
    else
        asm volatile("v_accvgpr_write_b32 a[%0], %1" ::"n"(GPR - detail::FIRST_AGPR), "v"(value));
}
/**
 * @brief Puts two halves together in a register.
 *
 * No load does it: those of 16 bits (`*_d16`) clear the other half on these targets, which have SRAM-ECC.
 */
template <int GPR>
__device__ inline void write_halves(uint16_t low, uint16_t high) {
    write_gpr<GPR>(low | static_cast<unsigned>(high) << 16);
}
/** An AGPR to a VGPR. */
template <int DST, int SRC>
__device__ inline void v_accvgpr_read_b32() {
    static_assert(DST < detail::FIRST_AGPR && SRC >= detail::FIRST_AGPR, "v_accvgpr_read_b32: an AGPR to a VGPR");
    asm volatile("v_accvgpr_read_b32 v[%0], a[%1]" ::"n"(DST), "n"(SRC - detail::FIRST_AGPR));
}
/** A VGPR to an AGPR. */
template <int DST, int SRC>
__device__ inline void v_accvgpr_write_b32() {
    static_assert(DST >= detail::FIRST_AGPR && SRC < detail::FIRST_AGPR, "v_accvgpr_write_b32: a VGPR to an AGPR");
    asm volatile("v_accvgpr_write_b32 a[%0], v[%1]" ::"n"(DST - detail::FIRST_AGPR), "n"(SRC));
}
/** A value of 4 bytes to a register, and a register's value, as HipKittens calls them. */
template <int GPR, typename T>
__device__ inline void v_mov_b32_up2p(const T value) {
    write_gpr<GPR>(detail::bit_cast<unsigned>(value));
}
template <int GPR, typename T = uint32_t>
__device__ inline T v_mov_b32_p2up() {
    return detail::bit_cast<T>(read_gpr<GPR>());
}
/** A constant to a VGPR. */
template <int GPR>
__device__ inline void v_mov_b32(uint32_t value) {
    write_gpr<GPR>(value);
}
/** A VGPR to a VGPR. */
template <int DST, int SRC>
__device__ inline void v_mov_b32_e32() {
    asm volatile("v_mov_b32 v[%0], v[%1]" ::"n"(DST), "n"(SRC));
}
/** DST = MASK's bit of the lane ? TRUE_SRC : FALSE_SRC. */
template <int DST, int FALSE_SRC, int TRUE_SRC>
__device__ inline void v_cndmask_b32_e64(uint64_t mask) {
    asm volatile("v_cndmask_b32 v[%0], v[%1], v[%2], %3" ::"n"(DST), "n"(FALSE_SRC), "n"(TRUE_SRC), "s"(mask));
}
/** DST and DST + 1 = A and A + 1 times a value, which is the same in all lanes, or times B and B + 1. */
template <int DST, int A>
__device__ inline void v_pk_mul_f32(float value) {
    const float2 both = {value, value};
    asm volatile("v_pk_mul_f32 v[%0:%1], v[%2:%3], %4" ::"n"(DST), "n"(DST + 1), "n"(A), "n"(A + 1), "s"(both));
}
template <int DST, int A, int B>
__device__ inline void v_pk_mul_f32() {
    asm volatile("v_pk_mul_f32 v[%0:%1], v[%2:%3], v[%4:%5]" ::"n"(DST), "n"(DST + 1), "n"(A), "n"(A + 1), "n"(B),
                 "n"(B + 1));
}
/** DST where the mask has the lane's bit, else a value. Waits for a mask that a comparison has just written. */
template <int DST>
__device__ inline void keep_where(uint64_t mask, float otherwise) {
    asm volatile("s_nop 1\n\tv_cndmask_b32 v[%0], %1, v[%0], %2" ::"n"(DST), "v"(otherwise), "s"(mask));
}
#if defined(KITTENS_CDNA4)
/** Two floats to a pair of bf16, nearest, ties to even. */
template <int DST, int FIRST, int SECOND>
__device__ inline void v_cvt_pk_bf16_f32() {
    asm volatile("v_cvt_pk_bf16_f32 v[%0], v[%1], v[%2]" ::"n"(DST), "n"(FIRST), "n"(SECOND));
}
/** Exchanges the odd groups of 16 lanes of the first register with the even ones of the second. */
template <int FIRST, int SECOND>
__device__ inline void v_permlane16_swap_b32_e32() {
    asm volatile("v_permlane16_swap_b32 v[%0], v[%1]" ::"n"(FIRST), "n"(SECOND));
}
/** The same with groups of 32 lanes. */
template <int FIRST, int SECOND>
__device__ inline void v_permlane32_swap_b32_e32() {
    asm volatile("v_permlane32_swap_b32 v[%0], v[%1]" ::"n"(FIRST), "n"(SECOND));
}
#endif

// Operations on a register of floats, for the maps over explicit-register tiles. op<DST, A>() is of one register,
// op<DST, A>(value) of one and a value, op<DST, A, B>() of two.
#define KITTENS_UNARY(name, text)                                                                                      \
    struct name {                                                                                                      \
        template <int DST, int A>                                                                                      \
        static __device__ inline void op() {                                                                           \
            static_assert(DST < detail::FIRST_AGPR && A < detail::FIRST_AGPR,                                          \
                          "vector instructions take VGPRs; accvgpr_read and accvgpr_write copy to and from AGPRs");    \
            asm volatile(text::"n"(DST), "n"(A));                                                                      \
        }                                                                                                              \
    }
KITTENS_UNARY(copy, "v_mov_b32 v[%0], v[%1]");
/** 2 to the power of; denormal results are flushed. */
KITTENS_UNARY(exp2, "v_exp_f32 v[%0], v[%1]");
KITTENS_UNARY(log2, "v_log_f32 v[%0], v[%1]");
KITTENS_UNARY(rcp, "v_rcp_f32 v[%0], v[%1]");
KITTENS_UNARY(rsqrt, "v_rsq_f32 v[%0], v[%1]");
KITTENS_UNARY(sqrt, "v_sqrt_f32 v[%0], v[%1]");
KITTENS_UNARY(abs, "v_and_b32 v[%0], 0x7fffffff, v[%1]");
KITTENS_UNARY(neg, "v_xor_b32 v[%0], 0x80000000, v[%1]");
KITTENS_UNARY(relu, "v_max_f32 v[%0], 0, v[%1]");
KITTENS_UNARY(one, "v_mov_b32 v[%0], 1.0");
KITTENS_UNARY(pos_infty, "v_mov_b32 v[%0], 0x7f800000");
KITTENS_UNARY(neg_infty, "v_mov_b32 v[%0], 0xff800000");
#undef KITTENS_UNARY
/** Zero, also in AGPRs, for any type. */
struct zero {
    template <int DST, int>
    static __device__ inline void op() {
        if constexpr (DST < detail::FIRST_AGPR)
            asm volatile("v_mov_b32 v[%0], 0" ::"n"(DST));
        else
            asm volatile("v_accvgpr_write_b32 a[%0], 0" ::"n"(DST - detail::FIRST_AGPR));
    }
};
#define KITTENS_BINARY(name, instruction, reversed)                                                                    \
    struct name {                                                                                                      \
        template <int DST, int A>                                                                                      \
        static __device__ inline void op(float value) {                                                                \
            static_assert(DST < detail::FIRST_AGPR && A < detail::FIRST_AGPR,                                          \
                          "vector instructions take VGPRs; accvgpr_read and accvgpr_write copy to and from AGPRs");    \
            asm volatile(reversed " v[%0], %2, v[%1]" ::"n"(DST), "n"(A), "v"(value));                                 \
        }                                                                                                              \
        template <int DST, int A, int B>                                                                               \
        static __device__ inline void op() {                                                                           \
            static_assert(DST < detail::FIRST_AGPR && A < detail::FIRST_AGPR && B < detail::FIRST_AGPR,                \
                          "vector instructions take VGPRs; accvgpr_read and accvgpr_write copy to and from AGPRs");    \
            asm volatile(instruction " v[%0], v[%1], v[%2]" ::"n"(DST), "n"(A), "n"(B));                               \
        }                                                                                                              \
        /** Two registers, one after the other. */                                                                     \
        template <int DST, int A>                                                                                      \
        static __device__ inline void op_pk2(float value) {                                                            \
            op<DST, A>(value);                                                                                         \
            op<DST + 1, A + 1>(value);                                                                                 \
        }                                                                                                              \
        template <int DST, int A, int B>                                                                               \
        static __device__ inline void op_pk2() {                                                                       \
            op<DST, A, B>();                                                                                           \
            op<DST + 1, A + 1, B + 1>();                                                                               \
        }                                                                                                              \
        /** The second operand of register r of a lane is lane r's of its four. */                                     \
        template <int DST, int A, int B, int r>                                                                        \
        static __device__ inline void op_of_quad() {                                                                   \
            asm volatile(reversed                                                                                      \
                         "_dpp v[%0], v[%2], v[%1] quad_perm:[%3,%3,%3,%3] row_mask:0xf bank_mask:0xf" ::"n"(DST),     \
                         "n"(A), "n"(B), "n"(r));                                                                      \
        }                                                                                                              \
    }
KITTENS_BINARY(add, "v_add_f32", "v_add_f32");
KITTENS_BINARY(sub, "v_sub_f32", "v_subrev_f32");
KITTENS_BINARY(mul, "v_mul_f32", "v_mul_f32");
KITTENS_BINARY(max, "v_max_f32", "v_max_f32");
KITTENS_BINARY(min, "v_min_f32", "v_min_f32");
#undef KITTENS_BINARY
/** `mul`, whose value need not be the same in all lanes. */
using mul_vgpr = mul;

/** Four registers from DST on: those from A on, minus register B of the first to fourth of a lane's group of four
    lanes. */
template <int DST, int A, int B>
__device__ inline void v_subrev_f32_dpp() {
    sub::op_of_quad<DST, A, B, 0>();
    sub::op_of_quad<DST + 1, A + 1, B, 1>();
    sub::op_of_quad<DST + 2, A + 2, B, 2>();
    sub::op_of_quad<DST + 3, A + 3, B, 3>();
}

} // namespace macros
} // namespace kittens
