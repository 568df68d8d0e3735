/* Data moves between the lanes of a wave: DS_PERMUTE, DS_BPERMUTE, DS_SWIZZLE, V_PERMLANE16_SWAP and
 * V_PERMLANE32_SWAP.
 *
 * Op fields: dst, src0 (DS: the address row), src1 (DS: the data row), offset the DS immediate.
 */
#include "run/lanes.h"

/* Each lane reads the data of lane (address / 4) % 64; a lane that is not active gives 0. */
HK_EXPORT int32_t hk_ds_bpermute_b32(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    const uint32_t *address = hk_row(w, op->src0), *data = hk_row(w, op->src1);
    uint32_t given[HK_LANES] __attribute__((aligned(64))) = {0}, taken[HK_LANES] __attribute__((aligned(64)));
    hk_row_blend(given, data, exec);
    for (int l = 0; l < HK_LANES; l++) taken[l] = given[(address[l] + (uint32_t)op->offset) >> 2 & 63];
    hk_row_blend(hk_row(w, op->dst), taken, exec);
    return 0;
}

/* Each active lane sends its data to lane (address / 4) % 64; the highest sender wins, lanes without one get 0. */
HK_EXPORT int32_t hk_ds_permute_b32(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    const uint32_t *address = hk_row(w, op->src0), *data = hk_row(w, op->src1);
    uint32_t sent[HK_LANES] __attribute__((aligned(64))) = {0};
    HK_FOR_LANES(l, exec) { sent[(address[l] + (uint32_t)op->offset) >> 2 & 63] = data[l]; }
    hk_row_blend(hk_row(w, op->dst), sent, exec);
    return 0;
}

/* Lane that lane `l` reads from, by the pattern in the offset field. */
static unsigned hk_swizzle_source(uint32_t pattern, unsigned l) {
    if (pattern >= 0xe000) {
        /* The order of a fast Fourier transform: bits reversed, the masked ones kept. */
        unsigned mask = pattern & 31, reversed = 0;
        for (unsigned b = 0; b < 5; b++) reversed |= (l >> b & 1) << (4 - b);
        return (l & 32) | reversed >> __builtin_popcount(mask) | (l & mask);
    }
    if (pattern & 0x8000) {
        if ((pattern & 0xf000) == 0xc000) {
            /* Rotate in groups of 32: bits 9:5 say how far, bit 10 which way, bits 4:0 which lane bits stay. */
            unsigned rotate = pattern >> 5 & 31, keep = pattern & 31;
            if (pattern & 0x400) rotate = 32 - rotate;
            unsigned turned = (l + rotate) & 31;
            return (l & 32) | (l & keep) | (turned & ~keep);
        }
        return (l & ~3u) | (pattern >> (2 * (l & 3)) & 3);
    }
    unsigned and_mask = pattern & 31, or_mask = pattern >> 5 & 31, xor_mask = pattern >> 10 & 31;
    return (l & 32) | ((((l & 31) & and_mask) | or_mask) ^ xor_mask);
}

HK_EXPORT int32_t hk_ds_swizzle_b32(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    const uint32_t *data = hk_row(w, op->src0);
    uint32_t taken[HK_LANES] __attribute__((aligned(64)));
    for (unsigned l = 0; l < HK_LANES; l++) {
        unsigned source = hk_swizzle_source((uint32_t)op->offset & 0xffff, l);
        taken[l] = exec >> source & 1 ? data[source] : 0;
    }
    hk_row_blend(hk_row(w, op->dst), taken, exec);
    return 0;
}

/* Swap the odd groups of 16 (or 32) lanes of the first register with the even groups of the second.
 * A lane that is not active keeps its values. */
HK_INLINE int32_t hk_permlane_swap(Wave *w, const Op *op, unsigned group) {
    uint64_t exec = hk_exec(w);
    uint32_t *first = hk_row(w, op->dst), *second = hk_row(w, op->src0);
    uint32_t new_first[HK_LANES] __attribute__((aligned(64))), new_second[HK_LANES] __attribute__((aligned(64)));
    for (unsigned l = 0; l < HK_LANES; l++) {
        int odd = (l / group) & 1;
        new_first[l] = odd ? second[l - group] : first[l];
        new_second[l] = odd ? second[l] : first[l + group];
    }
    hk_row_blend(first, new_first, exec);
    hk_row_blend(second, new_second, exec);
    return 0;
}

HK_EXPORT int32_t hk_v_permlane16_swap_b32(Wave *w, const Op *op) { return hk_permlane_swap(w, op, 16); }
HK_EXPORT int32_t hk_v_permlane32_swap_b32(Wave *w, const Op *op) { return hk_permlane_swap(w, op, 32); }
