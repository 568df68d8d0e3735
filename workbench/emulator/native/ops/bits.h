/* Conversions between floats and their bit patterns. */
#ifndef HK_BITS_H
#define HK_BITS_H

#include "run/lanes.h"

HK_INLINE float hk_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

HK_INLINE uint32_t hk_float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

HK_INLINE double hk_double(uint64_t bits) {
    double value;
    memcpy(&value, &bits, 8);
    return value;
}

HK_INLINE uint64_t hk_double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

/* A half-precision float in the low 16 bits, as float. */
HK_INLINE float hk_from_half(uint32_t bits) {
    uint16_t low = (uint16_t)bits;
    _Float16 value;
    memcpy(&value, &low, 2);
    return (float)value;
}

HK_INLINE uint32_t hk_to_half(float value) {
    _Float16 rounded = (_Float16)value;
    uint16_t bits;
    memcpy(&bits, &rounded, 2);
    return bits;
}

#endif
