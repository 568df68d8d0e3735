/* Conversions between floats and 16-bit floats that clang calls in host code by the names of its compiler-rt.
 *
 * libgcc has those of _Float16 since GCC 12 and those of __bf16 since GCC 13, zig's compiler-rt only the former.
 * Each rounds once, to nearest even. They are hidden and weak: a library that has them, too, keeps its own.
 */
#include <stdint.h>

#define HELPER __attribute__((weak, visibility("hidden")))

enum { FLOAT_DIGITS = 23, HALF_DIGITS = 10 };
static const uint32_t FLOAT_SIGN = 0x80000000u, FLOAT_INFINITY = 0x7f800000u;

/* Bits and values of one size are copied: a cast in the language could call what is defined here. */
#define COPY(to, from) __builtin_memcpy(&(to), &(from), sizeof(to))

static uint32_t bits_of(float value) {
    uint32_t bits;
    COPY(bits, value);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    COPY(value, bits);
    return value;
}

static int is_nan(uint32_t bits) { return (bits & ~FLOAT_SIGN) > FLOAT_INFINITY; }

/* A wider value as a float whose last digit is odd if it is not exact. Rounding that to half as many digits
 * rounds the value itself. */
#define TO_ODD(wide)                                                                                                   \
    ({                                                                                                                 \
        float near = (float)(wide);                                                                                    \
        uint32_t bits = bits_of(near);                                                                                 \
        if (near != (wide) && !is_nan(bits) && !(bits & 1))                                                            \
            bits += ((wide) < 0 ? near > (wide) : near < (wide)) ? 1 : -1;                                             \
        bits;                                                                                                          \
    })

static __bf16 bfloat_of(uint32_t bits) {
    uint32_t last = bits >> 16 & 1;
    /* A NaN stays one, quiet, although the digits that tell may be among those that go. */
    uint16_t upper = (uint16_t)((is_nan(bits) ? bits | 1u << (FLOAT_DIGITS - 1) : bits + 0x7fff + last) >> 16);
    __bf16 result;
    COPY(result, upper);
    return result;
}

static _Float16 half_of(uint32_t bits) {
    const uint32_t dropped = FLOAT_DIGITS - HALF_DIGITS, magnitude = bits & ~FLOAT_SIGN;
    const uint32_t infinity = 0x7c00, least_normal = 0x38800000u, rounds_to_infinity = 0x477ff000u;
    uint32_t half;
    if (is_nan(bits)) {
        half = infinity | 0x200 | (magnitude >> dropped & 0x3ff);
    } else if (magnitude >= rounds_to_infinity) {
        half = infinity;
    } else if (magnitude < least_normal) {
        /* The last digit of a sum with 0.5 counts 2**-24, the least half. */
        half = bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f);
    } else {
        /* The exponents' biases are 127 and 15. */
        uint32_t rebiased = magnitude - (112u << FLOAT_DIGITS);
        half = (rebiased + 0xfff + (rebiased >> dropped & 1)) >> dropped;
    }
    uint16_t word = (uint16_t)(half | (bits & FLOAT_SIGN) >> 16);
    _Float16 result;
    COPY(result, word);
    return result;
}

HELPER __bf16 __truncsfbf2(float value) { return bfloat_of(bits_of(value)); }
HELPER __bf16 __truncdfbf2(double value) { return bfloat_of(TO_ODD(value)); }
HELPER _Float16 __truncsfhf2(float value) { return half_of(bits_of(value)); }
HELPER _Float16 __truncdfhf2(double value) { return half_of(TO_ODD(value)); }
#if defined(__x86_64__)
HELPER __bf16 __truncxfbf2(long double value) { return bfloat_of(TO_ODD(value)); }
HELPER _Float16 __truncxfhf2(long double value) { return half_of(TO_ODD(value)); }
#endif

HELPER float __extendbfsf2(__bf16 value) {
    uint16_t word;
    COPY(word, value);
    return float_of((uint32_t)word << 16);
}

HELPER float __extendhfsf2(_Float16 value) {
    uint16_t word;
    COPY(word, value);
    const uint32_t magnitude = word & 0x7fff, sign = (uint32_t)(word & 0x8000) << 16, infinity = 0x7c00;
    const uint32_t moved = magnitude << (FLOAT_DIGITS - HALF_DIGITS);
    if (magnitude >= infinity) {
        const uint32_t quiet = magnitude > infinity ? 1u << (FLOAT_DIGITS - 1) : 0;
        return float_of(sign | FLOAT_INFINITY | moved | quiet);
    }
    return float_of(sign | bits_of(float_of(moved) * 0x1p112f));
}
