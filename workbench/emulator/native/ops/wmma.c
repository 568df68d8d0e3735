/* V_WMMA_F32_16X16X16_F16 and _BF16 of gfx12 in waves of 32 lanes: D = A B + C, 16 by 16 each.
 *
 * Lane l has row l % 16 of A and column l % 16 of B, from k = 8 * (l / 16) on, and column l % 16 of D and C, from row
 * 8 * (l / 16) on (RDNA4 ISA guide, on WMMA). EXEC is ignored. How hardware rounds is not published: here products
 * are exact, and are added to C in single precision in the order of k.
 *
 * Op fields: dst, src0 (A), src1 (B), src2 (C, or no register and imm[0] its constant), flags nonzero for bf16.
 */
#include "ops/bits.h"

enum { SIDE = 16, OF_LANE = 8 };

/* The numbers of A by row and k, or of B by column and k. */
static void load(float to[SIDE][SIDE], Wave *w, uint32_t row, uint32_t is_brain) {
    for (uint32_t dword = 0; dword < OF_LANE / 2; dword++) {
        const uint32_t *values = hk_row(w, row + dword);
        for (uint32_t l = 0; l < HK_LANES; l++) {
            float *place = &to[l % SIDE][OF_LANE * (l / SIDE) + 2 * dword];
            uint32_t low = values[l] & 0xffff, high = values[l] >> 16;
            place[0] = is_brain ? hk_float(low << 16) : hk_from_half(low);
            place[1] = is_brain ? hk_float(high << 16) : hk_from_half(high);
        }
    }
}

HK_EXPORT int32_t hk_wmma_f32_16x16x16(Wave *w, const Op *op);
int32_t hk_wmma_f32_16x16x16(Wave *w, const Op *op) {
    float a[SIDE][SIDE], columns[SIDE][SIDE], b[SIDE][SIDE], sums[SIDE][SIDE];
    load(a, w, op->src0, op->flags);
    load(columns, w, op->src1, op->flags);
    for (uint32_t k = 0; k < SIDE; k++)
        for (uint32_t n = 0; n < SIDE; n++) b[k][n] = columns[n][k];
    for (uint32_t i = 0; i < OF_LANE; i++)
        for (uint32_t l = 0; l < HK_LANES; l++)
            sums[OF_LANE * (l / SIDE) + i][l % SIDE] =
                hk_float(op->src2 == HK_NO_REGISTER ? op->imm[0] : hk_row(w, op->src2 + i)[l]);
    for (uint32_t m = 0; m < SIDE; m++)
        for (uint32_t k = 0; k < SIDE; k++)
            for (uint32_t n = 0; n < SIDE; n++) sums[m][n] += a[m][k] * b[k][n];
    for (uint32_t i = 0; i < OF_LANE; i++)
        for (uint32_t l = 0; l < HK_LANES; l++)
            hk_row(w, op->dst + i)[l] = hk_float_bits(sums[OF_LANE * (l / SIDE) + i][l % SIDE]);
    return 0;
}
