// rocRAND's device functions for its two usual generators, Philox4x32-10 and XORWOW, with rocRAND's seeding,
// subsequences and distributions: the same integers and uniform numbers, bit by bit. Normal numbers come from the
// same integers by the same transform, and are as accurate as the device's logarithm and sine.
#pragma once

#include "hip/device/push_names.h"

#include "hip/hip_runtime.h"

// Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3 (2011).
struct rocrand_state_philox4x32_10 {
    uint4 counter, result; // the numbers that the counter gives
    uint2 key;
    unsigned substate; // index of the next one of the four numbers
    bool has_normal, has_normal_double;
    float normal;
    double normal_double;

    __host__ __device__ void start(unsigned long long seed) {
        counter = {0, 0, 0, 0};
        key = {static_cast<unsigned>(seed), static_cast<unsigned>(seed >> 32)};
        substate = 0;
    }
    // A subsequence is 2**66 numbers: the upper half of the counter.
    __host__ __device__ void skip_subsequences(unsigned long long count) {
        add(counter.z, counter.w, count);
        generate();
    }
    __host__ __device__ void skip(unsigned long long count) {
        const unsigned next = substate + static_cast<unsigned>(count & 3);
        substate = next & 3;
        const unsigned long long steps = (count >> 2) + (next >> 2);
        if (add(counter.x, counter.y, steps)) add(counter.z, counter.w, 1);
        generate();
    }
    __host__ __device__ unsigned next() {
        const unsigned value = result[substate];
        if (substate == 3)
            skip(1);
        else
            substate++;
        return value;
    }

  private:
    // Adds to a 64-bit number in two words; true if it wraps.
    __host__ __device__ static bool add(unsigned &low, unsigned &high, unsigned long long count) {
        const unsigned long long before = low | static_cast<unsigned long long>(high) << 32, after = before + count;
        low = static_cast<unsigned>(after), high = static_cast<unsigned>(after >> 32);
        return after < before;
    }
    __host__ __device__ void generate() {
        uint4 c = counter;
        uint2 k = key;
        for (int round = 0; round < 10; round++, k += uint2{0x9e3779b9u, 0xbb67ae85u}) {
            const unsigned long long even = 0xd2511f53ull * c.x, odd = 0xcd9e8d57ull * c.z;
            c = {static_cast<unsigned>(odd >> 32) ^ c.y ^ k.x, static_cast<unsigned>(odd),
                 static_cast<unsigned>(even >> 32) ^ c.w ^ k.y, static_cast<unsigned>(even)};
        }
        result = c;
    }
};

// Marsaglia: Xorshift RNGs (2003). The shift register's step is linear over GF(2), so that many steps at once are
// a polynomial of it: x**count modulo the characteristic polynomial, which the register satisfies.
struct rocrand_state_xorwow {
    unsigned d, x[5];
    bool has_normal, has_normal_double;
    float normal;
    double normal_double;

    __host__ __device__ void start(unsigned long long seed) {
        const unsigned low = 1228688033u * (static_cast<unsigned>(seed) ^ 0x2c7f967fu);
        const unsigned high = 2073658381u * (static_cast<unsigned>(seed >> 32) ^ 0xa03697cbu);
        x[0] = 123456789u + low;
        x[1] = 362436069u ^ low;
        x[2] = 521288629u + high;
        x[3] = 88675123u ^ high;
        x[4] = 5783321u + low;
        d = 6615241u + low + high;
    }
    // A subsequence is 2**67 numbers; d comes around in each.
    __host__ __device__ void skip_subsequences(unsigned long long count) {
        jump({{0x26294934u, 0x77bbc248u, 0x1a87dad0u, 0x930052d4u, 0x947e6dd2u}}, count); // x**(2**67)
    }
    __host__ __device__ void skip(unsigned long long count) {
        jump({{2, 0, 0, 0, 0}}, count);
        d += weyl * static_cast<unsigned>(count);
    }
    __host__ __device__ unsigned next() {
        step();
        d += weyl;
        return d + x[4];
    }

  private:
    static constexpr unsigned weyl = 362437;
    struct polynomial {
        unsigned word[5]; // coefficients; degree at most 159
        __host__ __device__ bool operator[](int power) const { return word[power / 32] >> power % 32 & 1; }
        __host__ __device__ void times_x() {
            constexpr unsigned characteristic[5] = {0x00060001u, 0x08610030u, 0x00062121u, 0x0f3c0035u, 0x00000f0eu};
            const unsigned reduce = 0u - (word[4] >> 31);
            for (int i = 4; i >= 0; i--)
                word[i] = (word[i] << 1 | (i > 0 ? word[i - 1] >> 31 : 0)) ^ (reduce & characteristic[i]);
        }
        __host__ __device__ polynomial operator*(const polynomial &other) const {
            polynomial product = {};
            for (int power = 159; power >= 0; power--) {
                product.times_x();
                if (other[power])
                    for (int i = 0; i < 5; i++) product.word[i] ^= word[i];
            }
            return product;
        }
    };
    __host__ __device__ void step() {
        const unsigned t = x[0] ^ x[0] >> 2;
        for (int i = 0; i < 4; i++) x[i] = x[i + 1];
        x[4] = x[4] ^ x[4] << 4 ^ t ^ t << 1;
    }
    __host__ __device__ void jump(polynomial base, unsigned long long count) {
        if (count == 0) return;
        polynomial steps = {{1}};
        for (; count > 0; count >>= 1) {
            if (count & 1) steps = steps * base;
            base = base * base;
        }
        unsigned sum[5] = {};
        for (int power = 0; power < 160; power++) {
            if (steps[power])
                for (int i = 0; i < 5; i++) sum[i] ^= x[i];
            step();
        }
        for (int i = 0; i < 5; i++) x[i] = sum[i];
    }
};

#define __ROCRAND_ABSENT(name)                                                                                         \
    struct __attribute__((unavailable("this rocRAND generator needs ROCm's headers: use rocrand_state_philox4x32_10 "  \
                                      "or rocrand_state_xorwow"))) rocrand_state_##name;
__ROCRAND_ABSENT(lfsr113)
__ROCRAND_ABSENT(mrg31k3p)
__ROCRAND_ABSENT(mrg32k3a)
__ROCRAND_ABSENT(mtgp32)
__ROCRAND_ABSENT(sobol32)
__ROCRAND_ABSENT(sobol64)
__ROCRAND_ABSENT(scrambled_sobol32)
__ROCRAND_ABSENT(scrambled_sobol64)
__ROCRAND_ABSENT(threefry2x32_20)
__ROCRAND_ABSENT(threefry2x64_20)
__ROCRAND_ABSENT(threefry4x32_20)
__ROCRAND_ABSENT(threefry4x64_20)
#undef __ROCRAND_ABSENT

namespace __hip_random {

template <typename State>
using if_generator =
    __hip_if<std::is_same_v<State, rocrand_state_philox4x32_10> || std::is_same_v<State, rocrand_state_xorwow>>;

// In (0, 1]: the powers of two make all but the last addition exact.
__host__ __device__ inline float uniform(unsigned bits) { return static_cast<float>(bits) * 0x1p-32f + 0x1p-32f; }
__host__ __device__ inline double uniform_double(unsigned long long bits) {
    return static_cast<double>(bits) * 0x1p-53 + 0x1p-53;
}

// Two normal numbers from two uniform ones, by Box and Muller.
__host__ __device__ inline float2 normal(unsigned a, unsigned b) {
    constexpr float turn = 0x1p-32f * 6.283185307179586f;
    const float radius = sqrtf(-2.0f * logf(uniform(a))), angle = static_cast<float>(b) * turn + turn;
    return {sinf(angle) * radius, cosf(angle) * radius};
}
__host__ __device__ inline double2 normal_double(uint4 bits) {
    const double a = uniform_double(bits.x ^ static_cast<unsigned long long>(bits.y) << 21);
    const double b = uniform_double(bits.z ^ static_cast<unsigned long long>(bits.w) << 21);
    const double radius = sqrt(-2.0 * log(a)), angle = b * 6.283185307179586;
    return {sin(angle) * radius, cos(angle) * radius};
}

} // namespace __hip_random

#define __ROCRAND_FUNCTION                                                                                             \
    template <typename State, __hip_random::if_generator<State> = 0>                                                   \
    __host__ __device__ inline

__ROCRAND_FUNCTION void rocrand_init(unsigned long long seed, unsigned long long subsequence, unsigned long long offset,
                                     State *state) {
    *state = {};
    state->start(seed);
    state->skip_subsequences(subsequence);
    state->skip(offset);
}
__ROCRAND_FUNCTION void skipahead(unsigned long long count, State *state) { state->skip(count); }
__ROCRAND_FUNCTION void skipahead_subsequence(unsigned long long count, State *state) {
    state->skip_subsequences(count);
}
__ROCRAND_FUNCTION void skipahead_sequence(unsigned long long count, State *state) { state->skip_subsequences(count); }

__ROCRAND_FUNCTION unsigned rocrand(State *state) { return state->next(); }
__ROCRAND_FUNCTION uint4 rocrand4(State *state) {
    uint4 result;
    for (unsigned i = 0; i < 4; i++) result[i] = state->next();
    return result;
}

__ROCRAND_FUNCTION float rocrand_uniform(State *state) { return __hip_random::uniform(rocrand(state)); }
__ROCRAND_FUNCTION float2 rocrand_uniform2(State *state) {
    const float first = rocrand_uniform(state);
    return {first, rocrand_uniform(state)};
}
__ROCRAND_FUNCTION float4 rocrand_uniform4(State *state) {
    const float2 first = rocrand_uniform2(state), second = rocrand_uniform2(state);
    return {first.x, first.y, second.x, second.y};
}
__ROCRAND_FUNCTION double rocrand_uniform_double(State *state) {
    const unsigned low = rocrand(state);
    return __hip_random::uniform_double(low | static_cast<unsigned long long>(rocrand(state) >> 11) << 32);
}
__ROCRAND_FUNCTION double2 rocrand_uniform_double2(State *state) {
    const double first = rocrand_uniform_double(state);
    return {first, rocrand_uniform_double(state)};
}
__ROCRAND_FUNCTION double4 rocrand_uniform_double4(State *state) {
    const double2 first = rocrand_uniform_double2(state), second = rocrand_uniform_double2(state);
    return {first.x, first.y, second.x, second.y};
}

__ROCRAND_FUNCTION float2 rocrand_normal2(State *state) {
    const unsigned first = rocrand(state);
    return __hip_random::normal(first, rocrand(state));
}
__ROCRAND_FUNCTION float4 rocrand_normal4(State *state) {
    const float2 first = rocrand_normal2(state), second = rocrand_normal2(state);
    return {first.x, first.y, second.x, second.y};
}
__ROCRAND_FUNCTION double2 rocrand_normal_double2(State *state) { return __hip_random::normal_double(rocrand4(state)); }
__ROCRAND_FUNCTION double4 rocrand_normal_double4(State *state) {
    const double2 first = rocrand_normal_double2(state), second = rocrand_normal_double2(state);
    return {first.x, first.y, second.x, second.y};
}
// One number per call: the second of a pair is kept for the next call.
__ROCRAND_FUNCTION float rocrand_normal(State *state) {
    state->has_normal = !state->has_normal;
    if (!state->has_normal) return state->normal;
    const float2 pair = rocrand_normal2(state);
    state->normal = pair.y;
    return pair.x;
}
__ROCRAND_FUNCTION double rocrand_normal_double(State *state) {
    state->has_normal_double = !state->has_normal_double;
    if (!state->has_normal_double) return state->normal_double;
    const double2 pair = rocrand_normal_double2(state);
    state->normal_double = pair.y;
    return pair.x;
}

__ROCRAND_FUNCTION float rocrand_log_normal(State *state, float mean, float deviation) {
    return expf(mean + deviation * rocrand_normal(state));
}
__ROCRAND_FUNCTION float2 rocrand_log_normal2(State *state, float mean, float deviation) {
    const float2 pair = rocrand_normal2(state);
    return {expf(mean + deviation * pair.x), expf(mean + deviation * pair.y)};
}
__ROCRAND_FUNCTION float4 rocrand_log_normal4(State *state, float mean, float deviation) {
    const float2 first = rocrand_log_normal2(state, mean, deviation);
    const float2 second = rocrand_log_normal2(state, mean, deviation);
    return {first.x, first.y, second.x, second.y};
}
__ROCRAND_FUNCTION double rocrand_log_normal_double(State *state, double mean, double deviation) {
    return exp(mean + deviation * rocrand_normal_double(state));
}
__ROCRAND_FUNCTION double2 rocrand_log_normal_double2(State *state, double mean, double deviation) {
    const double2 pair = rocrand_normal_double2(state);
    return {exp(mean + deviation * pair.x), exp(mean + deviation * pair.y)};
}
#undef __ROCRAND_FUNCTION

#include "hip/device/pop_names.h"
