// printf and assert in kernels.
//
// Work-items append records to a buffer, which the launcher passes through the variable below and reads when the kernel
// has ended (workbench/emulator/console.py). Without a buffer printf prints nothing.
//
// A record consists of 8-byte words: its length in words and its kind, the work-group, the work-item, then texts (a
// length in bytes, the bytes) and numbers (their type, the value).
//
// A printf whose result is used asks the host for it: only the host formats. Its question goes the way of ROCm's
// hostcalls (workbench/emulator/node/hostcall.py), with a service of the workbench's own.
#pragma once

#include "hip/device/attributes.h"
#include "hip/device/index.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

// The buffer: number of words in use, number of words, then the records.
extern "C" {
inline __device__ std::uint64_t *hipkittens_console = nullptr;
// The buffer of hostcalls, a __hip_console::calls.
inline __device__ void *hipkittens_hostcalls = nullptr;
// Bytes that the host prints for a record, or -1. Declared without side effects, since a caller sees none, so a call
// with an unused result is removed.
__device__ __attribute__((pure)) int hipkittens_printed(const std::uint64_t *record);
}

namespace __hip_console {

enum kind : std::uint32_t { print = 1, assertion = 2 };
enum tag : std::uint64_t { integer = 1, real = 2, text = 3 };

// A null pointer prints nothing, as with ROCm: its __ockl_printf_append_string_n sends an empty text.
__device__ inline std::uint64_t length(const char *s) {
    std::uint64_t n = 0;
    if (s != nullptr)
        while (s[n] != 0) n++;
    return n;
}
__device__ inline std::uint64_t text_words(const char *s) { return 1 + (length(s) + 7) / 8; }

template <typename T>
inline constexpr bool is_text = std::is_same<typename std::decay<T>::type, char *>::value ||
                                std::is_same<typename std::decay<T>::type, const char *>::value;

template <typename T>
__device__ inline std::uint64_t words(const T &value) {
    if constexpr (is_text<T>)
        return 1 + text_words(value);
    else
        return 2;
}

__device__ inline std::uint64_t *put_text(std::uint64_t *at, const char *s) {
    const std::uint64_t n = length(s);
    *at++ = n;
    for (std::uint64_t i = 0; i < n; i += 8) {
        std::uint64_t word = 0;
        for (std::uint64_t j = i; j < n && j < i + 8; j++) word |= std::uint64_t((unsigned char)s[j]) << 8 * (j - i);
        *at++ = word;
    }
    return at;
}

template <typename T>
__device__ inline std::uint64_t *put(std::uint64_t *at, const T &value) {
    using U = typename std::decay<T>::type;
    static_assert(std::is_arithmetic<U>::value || std::is_enum<U>::value || std::is_pointer<U>::value ||
                      std::is_same<U, decltype(nullptr)>::value,
                  "printf takes numbers and pointers; convert this argument, for example to float");
    if constexpr (is_text<T>) {
        *at++ = text;
        return put_text(at, value);
    } else if constexpr (std::is_floating_point<U>::value) {
        *at++ = real;
        *at++ = __builtin_bit_cast(std::uint64_t, double(value));
    } else if constexpr (std::is_pointer<U>::value) {
        *at++ = integer;
        *at++ = reinterpret_cast<std::uint64_t>(value);
    } else if constexpr (std::is_same<U, decltype(nullptr)>::value) {
        *at++ = integer;
        *at++ = 0;
    } else {
        *at++ = integer;
        *at++ = std::uint64_t(std::int64_t(value));
    }
    return at;
}

// Room for a record of `count` words with its head filled in; null if there is none.
__device__ inline std::uint64_t *begin(kind what, std::uint64_t count) {
    std::uint64_t *buffer = hipkittens_console;
    if (buffer == nullptr) return nullptr;
    const std::uint64_t first = __hip_atomic_fetch_add(buffer, count, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    if (first + count > buffer[1]) return nullptr;
    std::uint64_t *at = buffer + 2 + first;
    const std::uint64_t group =
        blockIdx.x + std::uint64_t(gridDim.x) * (blockIdx.y + std::uint64_t(gridDim.y) * blockIdx.z);
    const std::uint64_t item = threadIdx.x + blockDim.x * (threadIdx.y + std::uint64_t(blockDim.y) * threadIdx.z);
    *at++ = count | std::uint64_t(what) << 32;
    *at++ = group;
    *at++ = item;
    return at;
}

// Layouts of ROCm's hostcalls.
struct packet {
    std::uint64_t next, lanes;
    std::uint32_t service, control;
};
struct signal {
    std::int64_t kind, value;
};
struct calls {
    packet *packets;
    std::uint64_t (*payloads)[64][8];
    signal *doorbell;
    std::uint64_t free_stack, ready_stack, index_mask;
};
enum service : std::uint32_t { printed_bytes = 0x68690001 };

template <typename T>
__device__ inline T load(const T *place) {
    return __hip_atomic_load(place, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline bool replace(std::uint64_t *place, std::uint64_t &seen, std::uint64_t value) {
    return __hip_atomic_compare_exchange_strong(place, &seen, value, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED,
                                                __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ inline void push(std::uint64_t *stack, packet *pushed, std::uint64_t pointer) {
    std::uint64_t top = load(stack);
    do pushed->next = top;
    while (!replace(stack, top, pointer));
}

// hipkittens_printed: one packet for the active lanes of a wave, in which the host answers.
__device__ __attribute__((noinline)) inline int ask_printed(const std::uint64_t *record) __asm__("hipkittens_printed");
__device__ inline int ask_printed(const std::uint64_t *record) {
    calls *buffer = static_cast<calls *>(hipkittens_hostcalls);
    if (buffer == nullptr) return -1;
    const std::uint32_t lane = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
    const std::uint64_t lanes = __builtin_amdgcn_read_exec();
    const bool leads = lane == std::uint32_t(__builtin_ctzl(lanes));
    std::uint64_t taken = 0;
    if (leads) {
        taken = load(&buffer->free_stack);
        while (!replace(&buffer->free_stack, taken, load(&buffer->packets[taken & buffer->index_mask].next)))
            __builtin_amdgcn_s_sleep(1);
    }
    taken = __builtin_amdgcn_readfirstlane(std::uint32_t(taken)) |
            std::uint64_t(__builtin_amdgcn_readfirstlane(std::uint32_t(taken >> 32))) << 32;
    packet *mine = &buffer->packets[taken & buffer->index_mask];
    std::uint64_t *slot = buffer->payloads[taken & buffer->index_mask][lane];
    if (leads) {
        mine->service = printed_bytes;
        mine->lanes = lanes;
        mine->control = 1;
    }
    slot[0] = reinterpret_cast<std::uint64_t>(record);
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "");
    if (leads) {
        push(&buffer->ready_stack, mine, taken);
        __hip_atomic_fetch_add(&buffer->doorbell->value, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    }
    for (;;) {
        std::uint32_t busy = 1;
        if (leads) busy = load(&mine->control) & 1;
        if (__builtin_amdgcn_readfirstlane(busy) == 0) break;
        __builtin_amdgcn_s_sleep(1);
    }
    const int answer = int(slot[0]);
    if (leads) push(&buffer->free_stack, mine, taken + buffer->index_mask + 1);
    return answer;
}

// The record of a printf; null if the buffer is full.
template <typename... Arguments>
__device__ inline const std::uint64_t *write(const char *format, Arguments... arguments) {
    const std::uint64_t count = ((3 + text_words(format)) + ... + words(arguments));
    std::uint64_t *record = begin(print, count);
    if (record == nullptr) return nullptr;
    std::uint64_t *at = put_text(record, format);
    ((at = put(at, arguments)), ...);
    return record - 3;
}

} // namespace __hip_console

// The bytes that the host prints, as with ROCm: clang's calls of __ockl_printf_* (llvm's AMDGPUEmitPrintf.cpp) end in
// what vfprintf returned to the host (handlePrintf in clr's devhcprintf.cpp). -1 if the buffer is full.
template <typename... Arguments>
__attribute__((format(printf, 1, 2), always_inline)) __device__ inline int printf(const char *format,
                                                                                  Arguments... arguments) {
    const std::uint64_t *record = __hip_console::write(format, arguments...);
    return record == nullptr ? -1 : hipkittens_printed(record);
}

// Called by the assert macro of the C library.
extern "C" __device__ __attribute__((noinline, weak, noreturn)) void
__assert_fail(const char *condition, const char *file, unsigned line, const char *function) {
    std::uint64_t *at = __hip_console::begin(__hip_console::assertion, 4 + __hip_console::text_words(condition) +
                                                                           __hip_console::text_words(file) +
                                                                           __hip_console::text_words(function));
    if (at != nullptr) {
        *at++ = line;
        at = __hip_console::put_text(at, condition);
        at = __hip_console::put_text(at, file);
        __hip_console::put_text(at, function);
    }
    __builtin_trap();
}
