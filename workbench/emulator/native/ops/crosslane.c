/* Data moves between the lanes of a wave: DS_PERMUTE, DS_BPERMUTE, DS_SWIZZLE, V_PERMLANE16 and its kin,
 * V_PERMLANE16_SWAP and V_PERMLANE32_SWAP.
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

/* The same with inactive source lanes' data. */
HK_EXPORT int32_t hk_ds_bpermute_fi_b32(Wave *w, const Op *op) {
    const uint32_t *address = hk_row(w, op->src0), *data = hk_row(w, op->src1);
    uint32_t taken[HK_LANES] __attribute__((aligned(64)));
    for (int l = 0; l < HK_LANES; l++) taken[l] = data[hk_bpermute_source(address[l] + (uint32_t)op->offset)];
    hk_row_blend(hk_row(w, op->dst), taken, hk_exec(w));
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

/* V_PERMLANE16, V_PERMLANEX16 (from the neighbouring row of 16 lanes), and with a lane's own select, the VAR forms.
 * Selects of four bits for each lane of a row are in scalars ssrc0 and ssrc1, in constants imm[0] and imm[1], or in row
 * src1. flags: bit 0 the other row, bit 1 an inactive source gives its data, bit 2 (without bit 1) it gives 0; else the
 * lane keeps its value. */
HK_EXPORT int32_t hk_permlane16(Wave *w, const Op *op);
int32_t hk_permlane16(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w), written = exec;
    const uint32_t *data = hk_row(w, op->src0), *selects = op->src1 == HK_NO_REGISTER ? NULL : hk_row(w, op->src1);
    uint32_t low = op->ssrc0 == HK_NO_REGISTER ? op->imm[0] : w->s[op->ssrc0];
    uint32_t high = op->ssrc1 == HK_NO_REGISTER ? op->imm[1] : w->s[op->ssrc1];
    uint32_t taken[HK_LANES] __attribute__((aligned(64)));
    for (unsigned l = 0; l < HK_LANES; l++) {
        uint32_t nibbles = l % 16 < 8 ? low : high;
        uint32_t select = selects != NULL ? selects[l] & 15 : nibbles >> 4 * (l % 8) & 15;
        unsigned source = (l & ~15u) + select;
        if (op->flags & 1) source ^= 16;
        int off = !(exec >> source & 1) && !(op->flags & 2);
        taken[l] = off ? 0 : data[source];
        if (off && !(op->flags & 4)) written &= ~(1ull << l);
    }
    hk_row_blend(hk_row(w, op->dst), taken, written);
    return 0;
}

/* V_PERMLANE_BCAST, UP, DOWN and XOR of gfx1250: moves in groups of lanes whose width, a power of two, is ssrc1 or
 * imm[1]; by ssrc0 or imm[0]. flags: 0 to 3 in this order; 4 is V_PERMLANE_IDX_GEN, the addresses for DS_BPERMUTE of
 * places in a group. Lanes that would come from outside of their group keep their own. Inactive lanes give what they
 * have: AMD's ISA guide, section 15.14, by what a test of it says. */
HK_EXPORT int32_t hk_permlane_group(Wave *w, const Op *op);
int32_t hk_permlane_group(Wave *w, const Op *op) {
    const uint32_t *data = hk_row(w, op->src0);
    uint32_t by = op->ssrc0 == HK_NO_REGISTER ? op->imm[0] : w->s[op->ssrc0];
    uint32_t width = op->ssrc1 == HK_NO_REGISTER ? op->imm[1] : w->s[op->ssrc1];
    uint32_t taken[HK_LANES] __attribute__((aligned(64)));
    for (uint32_t l = 0; l < HK_LANES; l++) {
        uint32_t place = l & (width - 1), base = l - place, distance = by < width ? by : width, from = l;
        if (op->flags == 0) from = base + (by & 63 & (width - 1));
        if (op->flags == 1 && place >= distance) from = l - distance;
        if (op->flags == 2 && place + distance < width) from = l + distance;
        if (op->flags == 3 && by < HK_LANES && (l ^ by) < base + width) from = l ^ by;
        taken[l] = op->flags == 4 ? (base + (data[l] & (width - 1))) << 2 : data[from % HK_LANES];
    }
    hk_row_blend(hk_row(w, op->dst), taken, hk_exec(w));
    return 0;
}

/* Swaps the halves of 64 lanes; nothing with 32. */
HK_EXPORT int32_t hk_permlane64(Wave *w, const Op *op);
int32_t hk_permlane64(Wave *w, const Op *op) {
    if (HK_LANES == 32) return 0;
    uint32_t taken[HK_LANES] __attribute__((aligned(64)));
    const uint32_t *data = hk_row(w, op->src0);
    for (unsigned l = 0; l < HK_LANES; l++) taken[l] = data[(l + HK_LANES / 2) % HK_LANES];
    hk_row_blend(hk_row(w, op->dst), taken, hk_exec(w));
    return 0;
}

/* V_MOVRELS, V_MOVRELD and their kin: registers chosen by M0. flags: bit 0 the source, bit 1 the result, bit 2 by bits
 * 9:0 and 25:16 of M0 rather than all of it, bit 3 swap. A source that is no register is ssrc0, or imm[0]. The
 * registers are imm[1] rows; a number beyond the last is the last. */
HK_EXPORT int32_t hk_movrel(Wave *w, const Op *op);
int32_t hk_movrel(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    uint32_t m0 = w->s[HK_M0], last = op->imm[1] - 1, source = op->src0, result = op->dst;
    if (op->flags & 1) source += op->flags & 4 ? m0 & 1023 : m0;
    if (op->flags & 2) result += op->flags & 4 ? m0 >> 16 & 1023 : m0;
    uint32_t *to = hk_row(w, result < last ? result : last);
    uint32_t data[HK_LANES] __attribute__((aligned(64))), old[HK_LANES] __attribute__((aligned(64)));
    memcpy(old, to, sizeof old);
    if (op->src0 == HK_NO_REGISTER) {
        uint32_t value = op->ssrc0 == HK_NO_REGISTER ? op->imm[0] : w->s[op->ssrc0];
        for (int l = 0; l < HK_LANES; l++) data[l] = value;
        hk_row_blend(to, data, exec);
        return 0;
    }
    uint32_t *from = hk_row(w, source < last ? source : last);
    memcpy(data, from, sizeof data);
    hk_row_blend(to, data, exec);
    if (op->flags & 8) hk_row_blend(from, old, exec);
    return 0;
}
