/* Data moves between the lanes of a wave: DS_PERMUTE, DS_BPERMUTE, DS_SWIZZLE, V_PERMLANE16_SWAP and
 * V_PERMLANE32_SWAP.
 *
 * Op fields: dst, src0 (DS: the address row), src1 (DS: the data row), offset the DS immediate.
 */
#include "ops/crosslane.h"

/* Each lane reads the data of lane (address / 4) modulo the wave size; inactive source lanes give 0. */
HK_EXPORT int32_t hk_ds_bpermute_b32(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    const uint32_t *address = hk_row(w, op->src0), *data = hk_row(w, op->src1);
    uint32_t given[HK_LANES] __attribute__((aligned(64))) = {0}, taken[HK_LANES] __attribute__((aligned(64)));
    hk_row_blend(given, data, exec);
    for (int l = 0; l < HK_LANES; l++) taken[l] = given[hk_bpermute_source(address[l] + (uint32_t)op->offset)];
    hk_row_blend(hk_row(w, op->dst), taken, exec);
    return 0;
}

/* Each active lane sends its data to lane (address / 4) modulo the wave size; the highest sender wins, and lanes
 * without a sender get 0. */
HK_EXPORT int32_t hk_ds_permute_b32(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    const uint32_t *address = hk_row(w, op->src0), *data = hk_row(w, op->src1);
    uint32_t sent[HK_LANES] __attribute__((aligned(64))) = {0};
    HK_FOR_LANES(l, exec) { sent[hk_bpermute_source(address[l] + (uint32_t)op->offset)] = data[l]; }
    hk_row_blend(hk_row(w, op->dst), sent, exec);
    return 0;
}

/* Inactive source lanes give 0. */
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

/* Swaps the odd groups of 16 (or 32) lanes of the first register with the even groups of the second. Inactive lanes
 * keep their values. */
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
