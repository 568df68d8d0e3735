/* V_MFMA_F32_*_F8F6F4 and V_MFMA_SCALE_F32_*_F8F6F4 (gfx950): 8, 6 and 4 bit floats, a scale every 32 of K.
 *
 * CBSZ and BLGP name the formats of A and B: 0 e4m3, 1 e5m2, 2 e2m3, 3 e3m2, 4 e2m1. Lane group g (of 4 with 16
 * rows, of 2 with 32) holds 32 elements of K. With 6 and 4 bits they are K = 32 g and up; with 8 bits two runs
 * of 16, from 16 g and from K/2 + 16 g. The scale of lane (row, g) is 2^(byte - 127) of its scale register, 255
 * is NaN; it belongs to K = 32 g .. 32 g + 31 of the row whatever the format. (AMD's matrix core blog; the
 * register tables of composable_kernel's mx_mfma_op test agree.)
 *
 * Arithmetic as in matrix.c; scaled products are exact too.
 *
 * Op fields as in matrix.c, and imm[2] bits 17:16 and 19:18 the byte of the scale registers of A and B, imm[3]
 * their rows (0xffff: scalar register ssrc0 or ssrc1, or where there is none the byte in imm[1]).
 */
#include "ops/matrix_backend.h"
#include "ops/matrix_exact.h"

/* Unpacks A or B to floats, [k][m]. */
static void hk_unpack_small(float *out, int m, const uint32_t *rows, uint32_t format) {
    int groups = HK_LANES / m, depth = 32 * groups;
    for (int g = 0; g < groups; g++)
        for (int half = 0; half < m; half += 16) {
            const uint32_t *from = rows + m * g + half;
            if (format <= 1) {
                HkElement type = format == 0 ? HK_FP8 : HK_BF8;
                hk_unpack(type, out + 16 * g * m + half, m, from, 4, 1, 0);
                hk_unpack(type, out + (depth / 2 + 16 * g) * m + half, m, from + 4 * HK_LANES, 4, 1, 0);
                continue;
            }
            float *to = out + 32 * g * m + half;
            switch (format) {
            case 2:
                for (int e = 0; e < 32; e++) *(f32x16 *)(to + e * m) = hk_packed_element(from, 6, 3, 0x1p14f, e);
                break;
            case 3:
                for (int e = 0; e < 32; e++) *(f32x16 *)(to + e * m) = hk_packed_element(from, 6, 2, 0x1p12f, e);
                break;
            default:
                for (int e = 0; e < 32; e++) *(f32x16 *)(to + e * m) = hk_packed_element(from, 4, 1, 0x1p14f, e);
                break;
            }
        }
}

/* Exponents of the scales, [lane group][row]; updates the least and greatest in `range`. */
static void hk_scales(const Wave *w, int *exponents, uint32_t row, uint16_t scalar, uint32_t constant, uint32_t byte,
                      int *range) {
    int least = range[0], greatest = range[1];
    for (int lane = 0; lane < HK_LANES; lane++) {
        uint32_t word = row != HK_NO_REGISTER      ? hk_row(w, row)[lane]
                        : scalar != HK_NO_REGISTER ? w->s[scalar]
                                                   : constant;
        exponents[lane] = (int)(word >> (8 * byte) & 255) - 127;
        least = exponents[lane] < least ? exponents[lane] : least;
        greatest = exponents[lane] > greatest ? exponents[lane] : greatest;
    }
    range[0] = least;
    range[1] = greatest;
}

static void hk_apply_scales(float *elements, int m, const int *exponents) {
    for (int g = 0; g < HK_LANES / m; g++)
        for (int i = 0; i < m; i++) {
            float scale = hk_float((uint32_t)(exponents[g * m + i] + 127) << 23);
            for (int k = 32 * g; k < 32 * g + 32; k++) elements[k * m + i] *= scale;
        }
}

/* For scales near the ends of their range: products in double precision, where they are exact. */
static void hk_multiply_wide(int m, float *d, const float *c, const float *a, const float *b, int depth,
                             const int *scale_a, const int *scale_b) {
    for (int i = 0; i < m; i++)
        for (int j = 0; j < m; j++) {
            float sum = c[hk_result_offset(m, i) + j];
            for (int n = 0; n < depth; n++) {
                int k = n ^ 1, ea = scale_a[k / 32 * m + i], eb = scale_b[k / 32 * m + j];
                double product = (double)a[k * m + i] * (double)b[k * m + j];
                product = ea == 128 || eb == 128 ? (double)__builtin_nanf("") : __builtin_ldexp(product, ea + eb);
                sum = (float)((double)sum + product);
            }
            d[hk_result_offset(m, i) + j] = sum == sum ? sum : __builtin_nanf("");
        }
}

/* An element is 0 or 2^-16 to 2^16: with these scales it remains a normal number, and with the smaller range a factor
 * that matrix_dot.h accepts. */
HK_INLINE int hk_scales_within(const int *range, int least) { return range[0] >= least && range[1] <= 110; }

HK_INLINE int32_t hk_mfma_small(Wave *w, const Op *op, int m) {
    float a[HK_MATRIX_MAX_K * 16] __attribute__((aligned(64))), b[HK_MATRIX_MAX_K * 16] __attribute__((aligned(64)));
    float c[16 * HK_LANES] __attribute__((aligned(64)));
    int count = m * m / HK_LANES, depth = 32 * HK_LANES / m;
    int scale_a[HK_LANES], scale_b[HK_LANES], range[2] = {0, 0};
    int scaled = (op->flags & HK_MATRIX_SCALED) != 0;
    if (scaled) {
        hk_scales(w, scale_a, op->imm[3] & 0xffff, op->ssrc0, op->imm[1] & 0xffff, op->imm[2] >> 16 & 3, range);
        hk_scales(w, scale_b, op->imm[3] >> 16, op->ssrc1, op->imm[1] >> 16, op->imm[2] >> 18 & 3, range);
    }
    if (HK_BACKEND.scaled != NULL && hk_scales_within(range, -40) &&
        HK_BACKEND.scaled(w, op, m, (uint32_t *)a, (uint32_t *)b, c, scaled ? scale_a : NULL, scaled ? scale_b : NULL))
        return 0;
    hk_unpack_small(a, m, hk_row(w, op->src0), HK_MATRIX_CBSZ(op));
    hk_unpack_small(b, m, hk_row(w, op->src1), HK_MATRIX_BLGP(op));
    if (op->flags & HK_MATRIX_C_CONSTANT)
        hk_fill_constant(c, count, op->imm[0]);
    else
        memcpy(c, hk_row(w, op->src2), sizeof(float) * HK_LANES * (size_t)count);
    float *d = (float *)hk_row(w, op->dst);
    if (scaled) {
        if (!hk_scales_within(range, -110)) {
            hk_multiply_wide(m, d, c, a, b, depth, scale_a, scale_b);
            return 0;
        }
        hk_apply_scales(a, m, scale_a);
        hk_apply_scales(b, m, scale_b);
    }
    hk_multiply(m, d, c, a, b, depth, 1);
    return 0;
}

HK_EXPORT int32_t hk_mfma_f8f6f4_16x16(Wave *w, const Op *op) { return hk_mfma_small(w, op, 16); }
HK_EXPORT int32_t hk_mfma_f8f6f4_32x32(Wave *w, const Op *op) { return hk_mfma_small(w, op, 32); }

/* Products of the sum and exponents as in matrix_exact.h, with the scales' exponents added: an assumption. */
HK_INLINE int32_t hk_mfma_small_exact(Wave *w, const Op *op, int m) {
    static const HkElement types[] = {HK_FP8, HK_BF8, HK_FP6, HK_BF6, HK_FP4};
    float a[HK_MATRIX_MAX_K * 16] __attribute__((aligned(64))), b[HK_MATRIX_MAX_K * 16] __attribute__((aligned(64)));
    float c[16 * HK_LANES] __attribute__((aligned(64)));
    int count = m * m / HK_LANES, depth = 32 * HK_LANES / m, range[2] = {0, 0};
    int scale_a[HK_LANES], scale_b[HK_LANES];
    HkElement type_a = types[HK_MATRIX_CBSZ(op)], type_b = types[HK_MATRIX_BLGP(op)];
    int scaled = (op->flags & HK_MATRIX_SCALED) != 0;
    if (scaled) {
        hk_scales(w, scale_a, op->imm[3] & 0xffff, op->ssrc0, op->imm[1] & 0xffff, op->imm[2] >> 16 & 3, range);
        hk_scales(w, scale_b, op->imm[3] >> 16, op->ssrc1, op->imm[1] >> 16, op->imm[2] >> 18 & 3, range);
    }
    hk_unpack_small(a, m, hk_row(w, op->src0), HK_MATRIX_CBSZ(op));
    hk_unpack_small(b, m, hk_row(w, op->src1), HK_MATRIX_BLGP(op));
    if (op->flags & HK_MATRIX_C_CONSTANT)
        hk_fill_constant(c, count, op->imm[0]);
    else
        memcpy(c, hk_row(w, op->src2), sizeof(float) * HK_LANES * (size_t)count);
    HkExactFactor left = {a, hk_exact_least(type_a), scaled ? scale_a : NULL};
    HkExactFactor right = {b, hk_exact_least(type_b), scaled ? scale_b : NULL};
    hk_exact_multiply(m, (float *)hk_row(w, op->dst), c, left, right, depth, hk_exact_group(type_a, depth), 1);
    return 0;
}

HK_EXPORT int32_t hk_mfma_exact_f8f6f4_16x16(Wave *w, const Op *op) { return hk_mfma_small_exact(w, op, 16); }
HK_EXPORT int32_t hk_mfma_exact_f8f6f4_32x32(Wave *w, const Op *op) { return hk_mfma_small_exact(w, op, 32); }
