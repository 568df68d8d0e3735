/* V_SMFMAC: D += A B with A stored at two of every four elements of K.
 *
 * A lane holds the stored elements of its row, and src2 two bits for each: its position in its group of four. If CBSZ
 * is 0, ABID selects one of the sets of indices in the register, else the first one is used (CDNA3 ISA guide, "Sparse
 * matrices"). B is dense, and its lanes hold the same part of K as A's.
 *
 * Arithmetic as in matrix.c, over the stored elements only and in the order in which they are stored: other elements
 * are not multiplied, so an infinity in B at their position causes no NaN.
 *
 * Op fields as in matrix.c, src2 the row of the indices.
 */
#include "ops/matrix_exact.h"

/* d += A B; a is [stored][m], b [k][m], place [stored][m] the k of each stored element. */
HK_INLINE void hk_multiply_sparse(int m, float *d, const float *a, const float *b, const uint16_t *place, int stored) {
    for (int column = 0; column < m; column += 16)
        for (int i = 0; i < m; i++) {
            f32x16 *row = (f32x16 *)(d + hk_result_offset(m, i) + column);
            f32x16 sum = *row;
            for (int n = 0; n < stored; n++) {
                f32x16 b_row = *(const f32x16 *)(b + place[n * m + i] * m + column);
                sum = __builtin_elementwise_fma(hk_splat(a[n * m + i]), b_row, sum);
            }
            *row = hk_one_nan(sum);
        }
}

/* The same to the bit (matrix_exact.h): it is assumed that only stored elements count as K. */
static void hk_multiply_sparse_exact(int m, float *d, const float *a, const float *b, const uint16_t *place, int stored,
                                     HkElement type_a, HkElement type_b) {
    float row[HK_MATRIX_MAX_K], column[HK_MATRIX_MAX_K];
    int group = hk_exact_group(type_a, stored);
    for (int i = 0; i < m; i++) {
        for (int n = 0; n < stored; n++) row[n] = a[n * m + i];
        for (int j = 0; j < m; j++) {
            for (int n = 0; n < stored; n++) column[n] = b[place[n * m + i] * m + j];
            float *to = d + hk_result_offset(m, i) + j;
            *to = hk_exact_element(row, hk_exact_least(type_a), NULL, column, hk_exact_least(type_b), NULL, 1, *to,
                                   stored, group, hk_exact_split(type_a));
        }
    }
}

HK_INLINE int32_t hk_smfmac(Wave *w, const Op *op, int m, int integer, int exact) {
    float a[HK_MATRIX_MAX_K * 8] __attribute__((aligned(64))), b[HK_MATRIX_MAX_K * 16] __attribute__((aligned(64)));
    uint16_t place[HK_MATRIX_MAX_K * 8];
    int count = m * m / HK_LANES;
    int stored = hk_unpack_block(HK_TYPE_A(op, integer), a, m, hk_row(w, op->src0), HK_MATRIX_ROWS_A(op), 1, 0);
    hk_unpack_block(HK_TYPE_B(op, integer), b, m, hk_row(w, op->src1), HK_MATRIX_ROWS_B(op), 1, 0);
    int per_lane = stored / (HK_LANES / m), sets = 32 / (2 * per_lane);
    int set = HK_MATRIX_CBSZ(op) == 0 ? (int)HK_MATRIX_ABID(op) % sets : 0;
    const uint32_t *indices = hk_row(w, op->src2);
    for (int lane = 0; lane < HK_LANES; lane++) {
        int group = lane / m, i = lane % m;
        uint32_t word = indices[lane] >> (set * 2 * per_lane % 32);
        for (int e = 0; e < per_lane; e++)
            place[(group * per_lane + e) * m + i] =
                (uint16_t)(2 * group * per_lane + e / 2 * 4 + (int)(word >> (2 * e) & 3));
    }
    float *d = (float *)hk_row(w, op->dst);
    if (exact) {
        hk_multiply_sparse_exact(m, d, a, b, place, stored, HK_MATRIX_TYPE_A(op), HK_MATRIX_TYPE_B(op));
        return 0;
    }
    if (!integer) {
        hk_multiply_sparse(m, d, a, b, place, stored);
        return 0;
    }
    float sum[16 * HK_LANES] __attribute__((aligned(64))) = {0};
    hk_multiply_sparse(m, sum, a, b, place, stored);
    for (int i = 0; i < count * HK_LANES; i++) ((uint32_t *)d)[i] += (uint32_t)(int32_t)sum[i];
    return 0;
}

HK_EXPORT int32_t hk_smfmac_f32_16x16(Wave *w, const Op *op) { return hk_smfmac(w, op, 16, 0, 0); }
HK_EXPORT int32_t hk_smfmac_f32_32x32(Wave *w, const Op *op) { return hk_smfmac(w, op, 32, 0, 0); }
HK_EXPORT int32_t hk_smfmac_i32_16x16(Wave *w, const Op *op) { return hk_smfmac(w, op, 16, 1, 0); }
HK_EXPORT int32_t hk_smfmac_i32_32x32(Wave *w, const Op *op) { return hk_smfmac(w, op, 32, 1, 0); }
HK_EXPORT int32_t hk_smfmac_exact_f32_16x16(Wave *w, const Op *op) { return hk_smfmac(w, op, 16, 0, 1); }
HK_EXPORT int32_t hk_smfmac_exact_f32_32x32(Wave *w, const Op *op) { return hk_smfmac(w, op, 32, 0, 1); }
