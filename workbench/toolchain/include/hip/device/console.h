// printf and assert in kernels.
//
// Work-items append records to a buffer, which whoever launches the kernel gives it through the variable below
// and reads when the kernel has ended (workbench/emulator/console.py). Without a buffer printf prints nothing.
//
// A record is made of 8-byte words: its own length in words and its kind, the work-group, the work-item, then
// texts (a length in bytes, the bytes) and numbers (what they are, the value).
#pragma once

#include "hip/device/attributes.h"
#include "hip/device/index.h"

#include <cstddef>
#include <cstdint>
#include <type_traits>

// The buffer: words in use, words there are, then the records.
extern "C" {
inline __device__ std::uint64_t *hipkittens_console = nullptr;
}

namespace __hip_console {

enum kind : std::uint32_t { print = 1, assertion = 2 };
enum tag : std::uint64_t { integer = 1, real = 2, text = 3 };

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
    *at++ = s == nullptr ? ~std::uint64_t(0) : n;
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

// Room for a record of `count` words with its head filled in; null where there is none.
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

} // namespace __hip_console

// The number of arguments, or -1 where the buffer is full, as CUDA has it.
template <typename... Arguments>
__attribute__((format(printf, 1, 2))) __device__ inline int printf(const char *format, Arguments... arguments) {
    const std::uint64_t count = ((3 + __hip_console::text_words(format)) + ... + __hip_console::words(arguments));
    std::uint64_t *at = __hip_console::begin(__hip_console::print, count);
    if (at == nullptr) return -1;
    at = __hip_console::put_text(at, format);
    ((at = __hip_console::put(at, arguments)), ...);
    return int(sizeof...(arguments));
}

// What the assert macro of the C library calls.
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
