/* Dense instructions of bf16 and smaller floats, single and in chains, with VDPBF16PS or tiles. */
#ifndef HK_MATRIX_CHAIN_H
#define HK_MATRIX_CHAIN_H

#include "ops/matrix_dot.h"

#ifdef HK_DOT
/* Executes the whole instruction with VDPBF16PS; returns 0, with nothing written to `d`, if that is impossible or
 * inexact. `room` is for both factors. */
HK_INLINE int hk_dot_instruction(const Op *op, int m, uint32_t *room, float *d, const float *c, const uint32_t *rows_a,
                                 const uint32_t *rows_b) {
    HkElement type_a = HK_MATRIX_TYPE_A(op), type_b = HK_MATRIX_TYPE_B(op);
    int groups = HK_LANES / m, count = HK_MATRIX_ROWS_A(op), result_rows = m * m / HK_LANES;
    HkPairs a = {rows_a, m, HK_LANES}, b = {rows_b, m, HK_LANES};
    if (type_a < HK_BF16 || type_a == HK_INT8) return 0;
    if (!hk_dot_wanted(groups * count * (type_a == HK_BF16 ? 1 : 2))) return 0;
    int known = c == NULL ? hk_dot_addend(op->imm[0]) : hk_dot_addends(c, result_rows);
    if (!(known & HK_DOT_EXACT)) return 0;
    if (c != NULL && c != d && hk_rows_overlap(c, result_rows, d, result_rows)) return 0;
    if (type_a == HK_BF16) {
        known &= hk_dot_factors(rows_a, count) & hk_dot_factors(rows_b, count);
        if (!(known & HK_DOT_EXACT)) return 0;
        if (m > 16 &&
            (hk_rows_overlap(rows_a, count, d, result_rows) || hk_rows_overlap(rows_b, count, d, result_rows)))
            return 0;
    } else {
        uint32_t *pairs_a = room, *pairs_b = pairs_a + 2 * count * HK_LANES;
        hk_dot_convert(type_a, m, pairs_a, rows_a, count);
        hk_dot_convert(type_b, m, pairs_b, rows_b, count);
        count *= 2;
        a = (HkPairs){pairs_a, count * m, m};
        b = (HkPairs){pairs_b, count * m, m};
        known = 0; /* there may be NaNs */
    }
    hk_dot_multiply(m, d, c, op->imm[0], &a, &b, 1, groups, count, known & HK_DOT_CALM);
    return 1;
}

/* True if an earlier chain produced all rows of an addend, exact and calm, and they have not changed since. */
HK_INLINE int hk_sum_kept(const Wave *w, uint32_t first, int rows) {
    uint32_t all = 0x01010101u, four;
    for (int r = 0; r < rows; r += 4) {
        memcpy(&four, w->sums + first + r, 4);
        all &= four;
    }
    return all == 0x01010101u;
}

HK_INLINE void hk_keep_sum(Wave *w, uint32_t first, int rows, int kept) {
    memset(w->sums + first, kept ? 1 : 0, (size_t)rows);
}

/* Executes instructions that add to one result. Returns no HK_DOT_EXACT, with nothing written, if VDPBF16PS is not
 * exact. `known` is the result for all earlier instructions of the chain: exact operands are not checked again. */
HK_INLINE int hk_dot_links(Wave *w, const Op *op, int links, int m, int known) {
    int rows = HK_MATRIX_ROWS_A(op), result_rows = m * m / HK_LANES;
    const float *c = op->flags & HK_MATRIX_C_CONSTANT ? NULL : (const float *)hk_row(w, op->src2);
    HkPairs a[HK_LINKS], b[HK_LINKS];
    int now = HK_DOT_EXACT | HK_DOT_CALM;
    int kept = c != NULL && hk_sum_kept(w, op->src2, result_rows);
    hk_keep_sum(w, op->dst, result_rows, 0);
    if (!hk_dot_wanted(HK_LANES / m * rows)) return 0;
    for (int n = 0; n < links; n++) {
        uint32_t seen = known & HK_DOT_EXACT ? op[n].flags : 0;
        const uint32_t *rows_a = hk_row(w, op[n].src0), *rows_b = hk_row(w, op[n].src1);
        if (!(seen & HK_MATRIX_SEEN_A)) now &= hk_dot_factors(rows_a, rows);
        if (!(seen & HK_MATRIX_SEEN_B)) now &= hk_dot_factors(rows_b, rows);
        if (!(now & HK_DOT_EXACT)) return 0;
        a[n] = (HkPairs){rows_a, m, HK_LANES};
        b[n] = (HkPairs){rows_b, m, HK_LANES};
    }
    if (c == NULL)
        now &= hk_dot_addend(op->imm[0]);
    else if (!kept)
        now &= hk_dot_addends(c, result_rows);
    if (!(now & HK_DOT_EXACT)) return 0;
    /* Operands that are not calm may be used again. */
    now &= known | HK_DOT_EXACT;
    hk_keep_sum(w, op->dst, result_rows, now & HK_DOT_CALM);
    hk_dot_multiply(m, (float *)hk_row(w, op->dst), c, op->imm[0], a, b, links, HK_LANES / m, rows, now & HK_DOT_CALM);
    return now;
}

#ifdef HK_TILES
/* Factors of a chain, each transposed once for tiles. */
#define HK_TURNED 64
typedef struct __attribute__((aligned(64))) HkTurned {
    uint32_t rows[HK_TURNED][4 * HK_LANES];
    uint8_t of[HK_MAX_ROWS]; /* 1 + the index in `rows`, by the first row of a transposed factor; else 0 */
    int used;
} HkTurned;

/* A's registers transposed for tiles; `seen` if an earlier instruction of the chain read the same registers. */
HK_INLINE const uint32_t *hk_turned(HkTurned *kept, int m, const Wave *w, uint32_t first, int rows, int seen) {
    int n = kept->of[first];
    if (n != 0 && seen) return kept->rows[n - 1];
    if (n == 0) n = kept->of[first] = (uint8_t)++kept->used;
    hk_tiles_turn(m, kept->rows[n - 1], hk_row(w, first), HK_LANES / m * rows);
    return kept->rows[n - 1];
}

/* Sets up instructions that add to one result as a sum of tiles: returns HK_DOT_EXACT if that is exact, and
 * HK_DOT_CALM. `known` is the result for all earlier instructions of the chain: exact operands are not checked again.
 */
HK_INLINE int hk_tiles_sum(Wave *w, const Op *op, int links, int m, int rows, int known, HkTurned *kept,
                           HkTilesSum *sum) {
    int now = HK_DOT_EXACT | HK_DOT_CALM, result_rows = m * m / HK_LANES;
    /* Unfinished sums use places among the transposed factors: there must be room for all of them. */
    for (int n = 0; n < links; n++) {
        uint32_t seen = known & HK_DOT_EXACT ? op[n].flags : 0;
        sum->b[n] = hk_row(w, op[n].src1);
        if (!(seen & HK_MATRIX_SEEN_A)) now &= hk_dot_factors(hk_row(w, op[n].src0), rows);
        if (!(seen & HK_MATRIX_SEEN_B)) now &= hk_dot_factors(sum->b[n], rows);
        sum->a[n] = hk_turned(kept, m, w, op[n].src0, rows, (int)(seen & HK_MATRIX_SEEN_A));
    }
    sum->d = hk_row(w, op->dst);
    sum->constant = op->imm[0];
    sum->c = op->flags & HK_MATRIX_C_CONSTANT ? NULL : hk_row(w, op->src2);
    if (sum->c == NULL)
        now &= hk_dot_addend(op->imm[0]);
    else if (hk_sum_kept(w, op->src2, result_rows))
        /* Needed once the sums before it are done. */
        for (int i = 0; i < HK_LANES * result_rows; i += 16) __builtin_prefetch(sum->c + i);
    else
        now &= hk_dot_addends((const float *)sum->c, result_rows);
    /* Operands that are not calm may be used again. */
    now = now & HK_DOT_EXACT ? now & (known | HK_DOT_EXACT) : 0;
    hk_keep_sum(w, op->dst, result_rows, now & HK_DOT_CALM);
    return now;
}

/* Sums that are computed together. */
typedef struct HkBatch {
    HkTilesSum sums[HK_TILES_TOGETHER];
    int n, links, calm;
} HkBatch;

HK_INLINE void hk_batch_done(HkBatch *batch, int m, int pairs) {
    if (batch->n == 0) return;
    hk_tiles_multiply(0, m, batch->sums, batch->n, batch->links, pairs);
    if (__builtin_expect(!batch->calm, 0))
        for (int i = 0; i < batch->n; i++) hk_tiles_one_nan(m, batch->sums[i].d);
    batch->n = 0;
}

/* True if a sum needs the result of an earlier one in the batch; a long sum continues with its own. */
HK_INLINE int hk_tiles_waits(const Op *op, const Op *first) {
    return op->flags & HK_MATRIX_WAITS || (op > first && op[-1].flags & HK_MATRIX_LINKED);
}

/* Executes a chain of bf16; returns 0, with nothing done, if its factors do not fit tiles. */
HK_INLINE int hk_tiles_chain(Wave *w, const Op *op, int32_t count, int m) {
    HkTurned kept;
    const int rows = HK_MATRIX_ROWS_A(op);
    if (!hk_tiles_fit(HK_LANES / m * rows)) return 0;
    HkBatch batches[2];
    HkBatch *before = &batches[0], *batch = &batches[1];
    int known = HK_DOT_EXACT | HK_DOT_CALM, together = m == 16 ? HK_TILES_TOGETHER : 1, pairs = HK_LANES / m * rows;
    memset(kept.of, 0, sizeof kept.of);
    kept.used = 0;
    before->n = 0;
    for (const Op *first = op, *end = op + count; op < end;) {
        int links = 0, now = 0;
        if (hk_tiles_waits(op, first)) hk_batch_done(before, m, pairs);
        for (batch->n = 0; batch->n < together && op < end; batch->n++, op += links) {
            if (batch->n > 0 && hk_tiles_waits(op, first)) break;
            for (links = 1; links < HK_LINKS && op[links - 1].flags & HK_MATRIX_LINKED;) links++;
            if (batch->n > 0 && links != batch->links) break;
            now = hk_tiles_sum(w, op, links, m, rows, known, &kept, &batch->sums[batch->n]);
            if (!now) break;
            known &= now;
            batch->links = links;
        }
        batch->calm = known & HK_DOT_CALM;
        /* Tiles are loaded from results stored a batch before; loading from stores just made would stall. */
        hk_batch_done(before, m, pairs);
        if (batch->n > 0) {
            HkBatch *other = before;
            before = batch;
            batch = other;
            continue;
        }
        /* Tiles add in a different order: whether an instruction uses them must not depend on its neighbours. */
        for (int i = 0; i < links; i++, op++) (m == 16 ? hk_mfma_f32_16x16 : hk_mfma_f32_32x32)(w, op);
        known = 0;
    }
    hk_batch_done(before, m, pairs);
    return 1;
}
#endif
#endif

#endif
