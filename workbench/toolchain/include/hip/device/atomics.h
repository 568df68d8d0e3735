// Read-modify-write on memory. Each returns the value before it; order is relaxed, the scope is the device,
// with _system every agent of the system.
#pragma once

#include "hip/device/attributes.h"

#define __HIP_ATOMIC(name, builtin, T)                                                                                 \
    __hip_device_inline T name(T *address, T value) {                                                                  \
        return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);                                    \
    }                                                                                                                  \
    __hip_device_inline T name##_system(T *address, T value) {                                                         \
        return builtin(address, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);                                   \
    }
// For signed 64-bit integers, HIP has only atomicMin and atomicMax.
#define __HIP_ATOMIC_INTEGERS(name, builtin)                                                                           \
    __HIP_ATOMIC(name, builtin, int)                                                                                   \
    __HIP_ATOMIC(name, builtin, unsigned)                                                                              \
    __HIP_ATOMIC(name, builtin, unsigned long)                                                                         \
    __HIP_ATOMIC(name, builtin, unsigned long long)
#define __HIP_ATOMIC_NUMBERS(name, builtin)                                                                            \
    __HIP_ATOMIC_INTEGERS(name, builtin)                                                                               \
    __HIP_ATOMIC(name, builtin, float)                                                                                 \
    __HIP_ATOMIC(name, builtin, double)

__HIP_ATOMIC_NUMBERS(atomicAdd, __hip_atomic_fetch_add)
__HIP_ATOMIC_NUMBERS(atomicMin, __hip_atomic_fetch_min)
__HIP_ATOMIC_NUMBERS(atomicMax, __hip_atomic_fetch_max)
__HIP_ATOMIC_NUMBERS(atomicExch, __hip_atomic_exchange)
__HIP_ATOMIC_INTEGERS(atomicAnd, __hip_atomic_fetch_and)
__HIP_ATOMIC_INTEGERS(atomicOr, __hip_atomic_fetch_or)
__HIP_ATOMIC_INTEGERS(atomicXor, __hip_atomic_fetch_xor)
__HIP_ATOMIC(atomicMin, __hip_atomic_fetch_min, long long)
__HIP_ATOMIC(atomicMax, __hip_atomic_fetch_max, long long)
#undef __HIP_ATOMIC
#undef __HIP_ATOMIC_INTEGERS
#undef __HIP_ATOMIC_NUMBERS

#define __HIP_ATOMIC(T)                                                                                                \
    __hip_device_inline T atomicSub(T *address, T value) { return atomicAdd(address, static_cast<T>(-value)); }        \
    __hip_device_inline T atomicSub_system(T *address, T value) {                                                      \
        return atomicAdd_system(address, static_cast<T>(-value));                                                      \
    }                                                                                                                  \
    __hip_device_inline T atomicCAS(T *address, T compare, T value) {                                                  \
        __hip_atomic_compare_exchange_strong(address, &compare, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,             \
                                             __HIP_MEMORY_SCOPE_AGENT);                                                \
        return compare;                                                                                                \
    }                                                                                                                  \
    __hip_device_inline T atomicCAS_system(T *address, T compare, T value) {                                           \
        __hip_atomic_compare_exchange_strong(address, &compare, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,             \
                                             __HIP_MEMORY_SCOPE_SYSTEM);                                               \
        return compare;                                                                                                \
    }
__HIP_ATOMIC(int)
__HIP_ATOMIC(unsigned)
__HIP_ATOMIC(unsigned long)
__HIP_ATOMIC(unsigned long long)
__HIP_ATOMIC(float)
__HIP_ATOMIC(double)
#undef __HIP_ATOMIC

__hip_device_inline unsigned short atomicCAS(unsigned short *address, unsigned short compare, unsigned short value) {
    __hip_atomic_compare_exchange_strong(address, &compare, value, __ATOMIC_RELAXED, __ATOMIC_RELAXED,
                                         __HIP_MEMORY_SCOPE_AGENT);
    return compare;
}

// (old >= limit) ? 0 : old + 1
__hip_device_inline unsigned atomicInc(unsigned *address, unsigned limit) {
    return __builtin_amdgcn_atomic_inc32(address, limit, __ATOMIC_RELAXED, "agent");
}
// (old == 0 || old > limit) ? limit : old - 1
__hip_device_inline unsigned atomicDec(unsigned *address, unsigned limit) {
    return __builtin_amdgcn_atomic_dec32(address, limit, __ATOMIC_RELAXED, "agent");
}

// The hardware's own floating-point add also where the address could be fine-grained memory of the host, for
// which atomicAdd takes a loop of compare-and-swap.
__hip_device_inline double unsafeAtomicAdd(double *address, double value) {
    return __builtin_amdgcn_flat_atomic_fadd_f64(address, value);
}
__hip_device_inline float unsafeAtomicAdd(float *address, float value) {
#if defined(__gfx942__) || defined(__gfx950__) || defined(__gfx9_4_generic__)
    return __builtin_amdgcn_flat_atomic_fadd_f32(address, value);
#else
    return atomicAdd(address, value);
#endif
}
__hip_device_inline void atomicAddNoRet(float *address, float value) { atomicAdd(address, value); }
__hip_device_inline float safeAtomicAdd(float *address, float value) { return atomicAdd(address, value); }
__hip_device_inline double safeAtomicAdd(double *address, double value) { return atomicAdd(address, value); }
#define __HIP_ATOMIC(T)                                                                                                \
    __hip_device_inline T unsafeAtomicMax(T *address, T value) { return atomicMax(address, value); }                   \
    __hip_device_inline T unsafeAtomicMin(T *address, T value) { return atomicMin(address, value); }                   \
    __hip_device_inline T safeAtomicMax(T *address, T value) { return atomicMax(address, value); }                     \
    __hip_device_inline T safeAtomicMin(T *address, T value) { return atomicMin(address, value); }
__HIP_ATOMIC(float)
__HIP_ATOMIC(double)
#undef __HIP_ATOMIC
