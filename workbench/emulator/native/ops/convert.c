/* Conversions between the host's floats and the small formats that it does not have: 8, 6 and 4 bits, and the
 * stochastic roundings to 16 bits.
 *
 * A format consists of its exponent and mantissa widths, its bias, and the meaning of its top codes: IEEE infinities
 * (bf8 of OCP), one NaN at the top (fp8 of OCP), one NaN in place of -0 (the NANOO formats of gfx940), or only numbers
 * (6 and 4 bits).
 */
#include "ops/bits.h"
#include "run/lanes.h"

#include <math.h>

#define LANES 16
#define LOOP for (int i = 0; i < LANES; i++)

typedef enum { IEEE, TOP_NAN, FNUZ, NUMBERS } Specials;

typedef struct Format {
    int exponent_bits, mantissa_bits, bias;
    Specials specials;
} Format;

static const Format FP8_OCP = {4, 3, 7, TOP_NAN};
static const Format BF8_OCP = {5, 2, 15, IEEE};
static const Format FP8_FNUZ = {4, 3, 8, FNUZ};
static const Format BF8_FNUZ = {5, 2, 16, FNUZ};
/* No sign: its bit is above the byte. */
static const Format E5M3 = {5, 3, 15, TOP_NAN};
static const Format FP6 = {2, 3, 1, NUMBERS};
static const Format BF6 = {3, 2, 3, NUMBERS};
static const Format FP4 = {2, 1, 1, NUMBERS};
static const Format F16 = {5, 10, 15, IEEE};
static const Format BF16 = {8, 7, 127, IEEE};

static inline double power_of_two(int n) { return hk_double((uint64_t)(n + 1023) << 52); }

static inline uint32_t sign_bit(Format f) { return 1u << (f.exponent_bits + f.mantissa_bits); }

/* Code of the largest finite number, without the sign. */
static inline uint32_t largest(Format f) {
    uint32_t all = sign_bit(f) - 1;
    if (f.specials == IEEE) return (all & ~((1u << f.mantissa_bits) - 1)) - 1;
    return f.specials == TOP_NAN ? all - 1 : all;
}

static inline uint32_t nan_code(Format f, uint32_t sign) {
    if (f.specials == FNUZ) return sign_bit(f);
    if (f.specials == NUMBERS) return sign | largest(f);
    /* The quiet NaN: all ones for the 8-bit formats, the first mantissa bit for those of 16 bits. */
    return f.mantissa_bits > 3 ? sign | (largest(f) + 1) | 1u << (f.mantissa_bits - 1) : sign | (sign_bit(f) - 1);
}

static inline uint32_t overflow_code(Format f, uint32_t sign) {
    if (f.specials == IEEE) return sign | (largest(f) + 1);
    return nan_code(f, sign);
}

/* The code of x, rounded to nearest even if bits = 0; else stochastically: `random` times 2**-bits units in the last
 * place are added to the magnitude, which is then truncated. */
static inline uint32_t encode(double x, Format f, int saturate, uint32_t random, int bits) {
    uint64_t pattern = hk_double_bits(x);
    uint32_t sign = pattern >> 63 ? sign_bit(f) : 0;
    double magnitude = hk_double(pattern & 0x7fffffffffffffffull);
    int exponent = (int)(pattern >> 52 & 0x7ff) - 1023;
    int lowest = 1 - f.bias;
    exponent = exponent < lowest ? lowest : exponent;
    /* x in units of the result's last place: exact here, rounded to an integer below. */
    double units = exponent > 900 ? 0x1p60 : magnitude * power_of_two(f.mantissa_bits - exponent);
    double step = power_of_two(bits);
    double dithered = __builtin_trunc((__builtin_trunc(units * step) + (double)random) * power_of_two(-bits));
    units = bits ? dithered : __builtin_rint(units);
    uint32_t whole = units < 65536.0 ? (uint32_t)units : 65535u;
    /* A normal number's code is the exponent field plus the units without the implicit one; a carry propagates
     * correctly. */
    uint32_t code = whole + ((uint32_t)(exponent - lowest) << f.mantissa_bits);
    uint32_t top = largest(f);
    uint32_t over = saturate || f.specials == NUMBERS ? sign | top : overflow_code(f, sign);
    int is_over = exponent > 900 || exponent - lowest >= 1 << f.exponent_bits || code > top || units >= 65536.0;
    uint32_t result = is_over ? over : sign | code;
    if (f.specials == IEEE && magnitude == INFINITY) result = overflow_code(f, sign);
    if (f.specials == FNUZ && code == 0) result = 0;
    return x != x ? nan_code(f, sign) : result;
}

static inline double decode(uint32_t code, Format f) {
    uint32_t sign = code & sign_bit(f);
    uint32_t magnitude = code & (sign_bit(f) - 1);
    uint32_t mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
    int exponent = (int)(magnitude >> f.mantissa_bits);
    int normal = exponent != 0;
    double units = (double)(mantissa | (normal ? 1u << f.mantissa_bits : 0));
    double value = units * power_of_two((normal ? exponent : 1) - f.bias - f.mantissa_bits);
    if (f.specials == IEEE && magnitude > largest(f)) value = mantissa ? NAN : INFINITY;
    if (f.specials == TOP_NAN && magnitude > largest(f)) value = NAN;
    value = sign ? -value : value;
    if (f.specials == FNUZ && code == sign_bit(f)) value = NAN;
    return value;
}

/* The upper bits of a random number: as many as the mantissa of `from` has more than that of `to`. */
static inline uint32_t upper_bits(uint32_t random, int count) { return random >> (32 - count); }

#define SMALL_FORMAT(name, format)                                                                                     \
    HK_EXPORT void hk_##name##_from_f32_x16(uint32_t *restrict, const float *restrict, const uint32_t *restrict);      \
    void hk_##name##_from_f32_x16(uint32_t *restrict out, const float *restrict in,                                    \
                                  const uint32_t *restrict saturate) {                                                 \
        LOOP out[i] = encode((double)in[i], format, saturate[i] != 0, 0, 0) & 255;                                     \
    }                                                                                                                  \
    HK_EXPORT void hk_##name##_stochastic_x16(uint32_t *restrict, const float *restrict, const uint32_t *restrict,     \
                                              const uint32_t *restrict);                                               \
    void hk_##name##_stochastic_x16(uint32_t *restrict out, const float *restrict in, const uint32_t *restrict random, \
                                    const uint32_t *restrict saturate) {                                               \
        const int dropped = 23 - format.mantissa_bits;                                                                 \
        LOOP out[i] =                                                                                                  \
            encode((double)in[i], format, saturate[i] != 0, upper_bits(random[i], dropped), dropped) & 255;            \
    }                                                                                                                  \
    HK_EXPORT void hk_f32_from_##name##_x16(float *restrict, const uint32_t *restrict);                                \
    void hk_f32_from_##name##_x16(float *restrict out, const uint32_t *restrict in) {                                  \
        LOOP out[i] = (float)decode(in[i] & 255, format);                                                              \
    }

SMALL_FORMAT(fp8_ocp, FP8_OCP)
SMALL_FORMAT(bf8_ocp, BF8_OCP)
SMALL_FORMAT(fp8_fnuz, FP8_FNUZ)
SMALL_FORMAT(bf8_fnuz, BF8_FNUZ)
SMALL_FORMAT(fp8_e5m3, E5M3)

/* From f16: a half in each dword. */
#define SMALL_FROM_HALF(name, format)                                                                                  \
    HK_EXPORT void hk_##name##_from_f16_x16(uint32_t *restrict, const uint32_t *restrict, const uint32_t *restrict);   \
    void hk_##name##_from_f16_x16(uint32_t *restrict out, const uint32_t *restrict in,                                 \
                                  const uint32_t *restrict saturate) {                                                 \
        LOOP out[i] = encode(decode(in[i] & 0xffff, F16), format, saturate[i] != 0, 0, 0) & 255;                       \
    }                                                                                                                  \
    HK_EXPORT void hk_##name##_stochastic_f16_x16(uint32_t *restrict, const uint32_t *restrict,                        \
                                                  const uint32_t *restrict, const uint32_t *restrict);                 \
    void hk_##name##_stochastic_f16_x16(uint32_t *restrict out, const uint32_t *restrict in,                           \
                                        const uint32_t *restrict random, const uint32_t *restrict saturate) {          \
        const int dropped = 10 - format.mantissa_bits;                                                                 \
        LOOP out[i] = encode(decode(in[i] & 0xffff, F16), format, saturate[i] != 0, upper_bits(random[i], dropped),    \
                             dropped) &                                                                                \
                      255;                                                                                             \
    }

SMALL_FROM_HALF(fp8_ocp, FP8_OCP)
SMALL_FROM_HALF(bf8_ocp, BF8_OCP)
SMALL_FROM_HALF(fp8_e5m3, E5M3)

#define STOCHASTIC_16(name, format)                                                                                    \
    HK_EXPORT void hk_##name##_stochastic_x16(uint32_t *restrict, const float *restrict, const uint32_t *restrict);    \
    void hk_##name##_stochastic_x16(uint32_t *restrict out, const float *restrict in,                                  \
                                    const uint32_t *restrict random) {                                                 \
        const int dropped = 23 - format.mantissa_bits;                                                                 \
        LOOP out[i] = encode((double)in[i], format, 0, upper_bits(random[i], dropped), dropped);                       \
    }

STOCHASTIC_16(f16, F16)
STOCHASTIC_16(bf16, BF16)

/* Scaled conversions of gfx950 (v_cvt_scalef32_*). */

static const Format SMALL[] = {[HK_SMALL_FP8] = FP8_OCP,
                               [HK_SMALL_BF8] = BF8_OCP,
                               [HK_SMALL_FP6] = FP6,
                               [HK_SMALL_BF6] = BF6,
                               [HK_SMALL_FP4] = FP4};
static const int SMALL_BITS[] = {
    [HK_SMALL_FP8] = 8, [HK_SMALL_BF8] = 8, [HK_SMALL_FP6] = 6, [HK_SMALL_BF6] = 6, [HK_SMALL_FP4] = 4};

static uint32_t next_random(uint32_t x) { return x << 1 ^ (x >> 31 ? 197u : 0); }

/* Value number n, of the large format, in a lane's consecutive registers. */
static double large_number(const uint32_t *rows, int lane, int n, int large) {
    if (large == HK_LARGE_F32) return (double)hk_float(rows[(size_t)n * HK_LANES + (size_t)lane]);
    uint32_t half = rows[(size_t)(n / 2) * HK_LANES + (size_t)lane] >> 16 * (n & 1) & 0xffff;
    return decode(half, large == HK_LARGE_F16 ? F16 : BF16);
}

static uint32_t get_bits(const uint32_t *rows, int lane, int bit, int width) {
    uint64_t low = rows[(size_t)(bit / 32) * HK_LANES + (size_t)lane];
    if (bit % 32 + width > 32) low |= (uint64_t)rows[(size_t)(bit / 32 + 1) * HK_LANES + (size_t)lane] << 32;
    return (uint32_t)(low >> bit % 32) & ((1u << width) - 1);
}

static void set_bits(uint32_t *rows, int lane, int bit, int width, uint32_t value) {
    for (int n = 0; n < width; n++) {
        uint32_t *word = &rows[(size_t)((bit + n) / 32) * HK_LANES + (size_t)lane];
        uint32_t one = 1u << (bit + n) % 32;
        *word = value >> n & 1 ? *word | one : *word & ~one;
    }
}

/* Converts one chunk of 16 lanes: out, in and in2 point to the registers of the chunk's first lane, scale and random to
 * 16 values. The scale is the power of two in the exponent field of an f32; a large number is the small one times the
 * scale. */
HK_EXPORT void hk_convert_scaled(uint32_t *out, const uint32_t *in, const uint32_t *in2, const uint32_t *scale,
                                 const uint32_t *random, uint32_t how, uint32_t mask);
void hk_convert_scaled(uint32_t *out, const uint32_t *in, const uint32_t *in2, const uint32_t *scale,
                       const uint32_t *random, uint32_t how, uint32_t mask) {
    int kind = how >> HK_SCALED_SMALL & 7, large = how >> HK_SCALED_LARGE & 3, count = how >> HK_SCALED_COUNT & 63;
    int place = how >> HK_SCALED_PLACE & 31, width = SMALL_BITS[kind];
    Format format = SMALL[kind];
    for (int lane = 0; lane < LANES; lane++) {
        if (!(mask >> lane & 1)) continue;
        int exponent = (int)(scale[lane] >> 23 & 255) - 127;
        uint32_t result[32];
        uint32_t seed = random[lane];
        for (int n = 0; n < count; n++) {
            if (how >> HK_SCALED_NARROW & 1) {
                int interleaved = how >> HK_SCALED_INTERLEAVED & 1;
                const uint32_t *source = interleaved && n & 1 ? in2 : in;
                double x = large_number(source, lane, interleaved ? n / 2 : n, large) * power_of_two(-exponent);
                int dropped = (large == HK_LARGE_F32 ? 23 : large == HK_LARGE_F16 ? 10 : 7) - format.mantissa_bits;
                int stochastic = how >> HK_SCALED_STOCHASTIC & 1;
                result[n] = encode(x, format, 0, stochastic ? upper_bits(seed, dropped) : 0, stochastic ? dropped : 0);
                seed = next_random(seed);
            } else {
                double x = decode(get_bits(in, lane, place + n * width, width), format) * power_of_two(exponent);
                result[n] = large == HK_LARGE_F32 ? hk_float_bits((float)x)
                                                  : encode(x, large == HK_LARGE_F16 ? F16 : BF16, 0, 0, 0);
            }
        }
        /* Stored after all reads: the result may overlap the source. */
        for (int n = 0; n < count; n++) {
            if (how >> HK_SCALED_NARROW & 1) {
                set_bits(out, lane, place + n * width, width, result[n]);
            } else if (large == HK_LARGE_F32) {
                out[(size_t)n * HK_LANES + (size_t)lane] = result[n];
            } else {
                set_bits(out, lane, (count == 1 && how >> HK_SCALED_HIGH & 1 ? 16 : 0) + 16 * n, 16, result[n]);
            }
        }
    }
}

/* V_CVT_SCALE_PK8 and PK16 of gfx1250: numbers of 8, 6 or 4 bits times 2^(byte - 127), with 255 a NaN, to a large format.
 * Lane l takes the scales of lane l % 16, or of the 16 lanes above.
 *
 * Op fields: dst; src0 the numbers; src1 the row of scales, or scalar register ssrc0, or the constant imm[1]; imm[0] the
 * formats and the number of values, as for hk_convert_scaled; flags: bits 1:0 and 3:2 the byte for lanes 0 to 15 and for
 * those above, bit 4 the scales of the upper lanes. */
HK_EXPORT int32_t hk_convert_blocks(Wave *w, const Op *op);
int32_t hk_convert_blocks(Wave *w, const Op *op) {
    uint32_t how = op->imm[0];
    int kind = how >> HK_SCALED_SMALL & 7, large = how >> HK_SCALED_LARGE & 3, count = how >> HK_SCALED_COUNT & 63;
    const uint32_t *numbers = hk_row(w, op->src0);
    uint32_t scales[HK_LANES];
    for (int lane = 0; lane < HK_LANES; lane++) {
        int from = lane % 16 + (op->flags & 16 ? 16 : 0);
        uint32_t word = op->src1 != HK_NO_REGISTER    ? hk_row(w, op->src1)[from]
                        : op->ssrc0 != HK_NO_REGISTER ? w->s[op->ssrc0]
                                                      : op->imm[1];
        scales[lane] = word >> 8 * (op->flags >> (lane < 16 ? 0 : 2) & 3) & 255;
    }
    uint64_t exec = hk_exec(w);
    uint32_t *to = hk_row(w, op->dst);
    for (int lane = 0; lane < HK_LANES; lane++) {
        if (!(exec >> lane & 1)) continue;
        double scale = scales[lane] == 255 ? NAN : power_of_two((int)scales[lane] - 127);
        uint32_t result[16];
        for (int n = 0; n < count; n++) {
            double x = decode(get_bits(numbers, lane, n * SMALL_BITS[kind], SMALL_BITS[kind]), SMALL[kind]) * scale;
            result[n] = large == HK_LARGE_F32 ? hk_float_bits((float)x)
                                              : encode(x, large == HK_LARGE_F16 ? F16 : BF16, 0, 0, 0);
        }
        /* Stored after all reads: the result may overlap the source. */
        for (int n = 0; n < count; n++)
            if (large == HK_LARGE_F32)
                to[n * HK_LANES + lane] = result[n];
            else
                set_bits(to, lane, 16 * n, 16, result[n]);
    }
    return 0;
}

/* V_PERM_PK16: sixteen entries of a table by indices of 4 bits. The table has src0 above src1, each of as many registers
 * as imm[1] and imm[0] say; imm[2] is the number of bits of an entry; src2 the indices. */
HK_EXPORT int32_t hk_perm_pk16(Wave *w, const Op *op);
int32_t hk_perm_pk16(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    uint32_t *to = hk_row(w, op->dst);
    const uint32_t *high = hk_row(w, op->src0), *low = hk_row(w, op->src1), *indices = hk_row(w, op->src2);
    int bits = (int)op->imm[2];
    for (int lane = 0; lane < HK_LANES; lane++) {
        if (!(exec >> lane & 1)) continue;
        uint32_t table[5 * HK_LANES] = {0}, result[16];
        for (uint32_t r = 0; r < op->imm[0]; r++) table[r * HK_LANES] = low[r * HK_LANES + (uint32_t)lane];
        for (uint32_t r = 0; r < op->imm[1]; r++)
            table[(op->imm[0] + r) * HK_LANES] = high[r * HK_LANES + (uint32_t)lane];
        for (int n = 0; n < 16; n++)
            result[n] = get_bits(table, 0, bits * (int)get_bits(indices, lane, 4 * n, 4), bits);
        for (int n = 0; n < 16; n++) set_bits(to, lane, bits * n, bits, result[n]);
    }
    return 0;
}
