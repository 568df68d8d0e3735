/* Dense V_MFMA of 16x16 and 32x32 (fp32 and int32 results), 4x4, and fp64.
 *
 * Arithmetic: each product is exact, and D[i][j] starts from C[i][j] and takes one product after the other with one
 * fp32 fused multiply-add each, rounded to nearest even, denormals kept (of fp32 inputs as MODE says); a NaN comes
 * out as 0x7fc00000. The order is k = 0, 1, 2, ... for 32 and 64 bits, and k = 1, 0, 3, 2, ... for smaller floats:
 * that of instructions that multiply pairs, so that every CPU gives the same bits (matrix_dot.h). Of XF32 inputs 10
 * mantissa bits are used, the others cut off. One rounding a product is what the hardware does for fp32 and fp64; of
 * the smaller types it adds groups of products at once and rounds less often (measured for CDNA3 in
 * arXiv:2511.10909), so its last bits differ within the usual fp32 bounds.
 * Integer results are exact modulo 2^32. EXEC is ignored, as in hardware.
 *
 * Op fields: src0 and src1 the first rows of A and B, src2 of C (or the constant in imm[0]), dst of D;
 * flags and imm[2] as matrix.h says. D may be C; a D that overlaps A, B or a shifted C works too.
 */
#include "ops/matrix.h"
#include "ops/matrix_dot.h"
#include "ops/matrix_neon.h"

/* Where the operands of one instruction are unpacked. B follows A directly: were they 4096 bytes apart, loads of
 * one would seem to wait for stores of the other. */
typedef struct __attribute__((aligned(64))) HkScratchpad {
    float a[HK_MATRIX_MAX_K * 32];
    float c[32 * HK_LANES];
    uint32_t arranged[16 * HK_LANES];
} HkScratchpad;

#ifdef HK_DOT
/* The whole instruction by VDPBF16PS; 0, and nothing written, where that is not possible or not exact. */
HK_INLINE int hk_mfma_dot(const Op *op, int m, HkScratchpad *pad, float *d, const float *c, const uint32_t *rows_a,
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
        uint32_t *pairs_a = (uint32_t *)pad->a, *pairs_b = pairs_a + 2 * count * HK_LANES;
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
#endif

HK_INLINE int32_t hk_mfma(Wave *w, const Op *op, int m, int integer) {
    HkScratchpad pad;
    HkElement type_a = HK_TYPE_A(op, integer), type_b = HK_TYPE_B(op, integer);
    int blocks = HK_MATRIX_BLOCKS(op), result_rows = m * m * blocks / HK_LANES;
    const uint32_t *rows_a = hk_row(w, op->src0), *rows_b = hk_row(w, op->src1);
    float *d = (float *)hk_row(w, op->dst);
    const float *c = op->flags & HK_MATRIX_C_CONSTANT ? NULL : (const float *)hk_row(w, op->src2);
    if (__builtin_expect(HK_MATRIX_BLGP(op) != 0, 0)) {
        hk_arrange_b(pad.arranged, rows_b, HK_MATRIX_ROWS_B(op), HK_MATRIX_BLGP(op));
        rows_b = pad.arranged;
    }
#ifdef HK_DOT_BYTES
    if (blocks == 1 && integer && (c == NULL || c == d || !hk_rows_overlap(c, result_rows, d, result_rows)) &&
        (m == 16 || (!hk_rows_overlap(rows_a, HK_MATRIX_ROWS_A(op), d, result_rows) &&
                     !hk_rows_overlap(rows_b, HK_MATRIX_ROWS_B(op), d, result_rows)))) {
        hk_dot_bytes(m, (uint32_t *)d, (const uint32_t *)c, op->imm[0], rows_a, rows_b, HK_MATRIX_ROWS_A(op));
        return 0;
    }
#endif
#ifdef HK_DOT
    if (blocks == 1 && !integer && hk_mfma_dot(op, m, &pad, d, c, rows_a, rows_b)) return 0;
#endif
    if (c == NULL) {
        hk_fill_constant(pad.c, result_rows, op->imm[0]);
        c = pad.c;
    } else if (blocks > 1 || (c != d && hk_rows_overlap(c, result_rows, d, result_rows))) {
        memcpy(pad.c, c, sizeof(float) * HK_LANES * (size_t)result_rows);
        c = pad.c;
    }
#ifdef HK_NEON_EIGHTS
    if (blocks == 1 && !integer && type_a >= HK_FP8) {
        HkFactors factors = {rows_a, rows_b};
        hk_neon_multiply_eights(type_a, type_b, m, d, c, (uint32_t *)pad.a, &factors, HK_MATRIX_ROWS_A(op));
        return 0;
    }
#endif
#ifdef HK_MULTIPLY_HALVES
    if (blocks == 1 && (type_a == HK_F16 || type_a == HK_BF16) &&
        (m == 16 || !hk_rows_overlap(rows_b, HK_MATRIX_ROWS_B(op), d, result_rows))) {
        HkFactors factors = {rows_a, rows_b};
        if (type_a == HK_F16)
            hk_multiply_halves(HK_F16, m, d, c, pad.a, &factors, 1, HK_MATRIX_ROWS_A(op));
        else
            hk_multiply_halves(HK_BF16, m, d, c, pad.a, &factors, 1, HK_MATRIX_ROWS_A(op));
        return 0;
    }
#endif
    float result[32 * HK_LANES] __attribute__((aligned(64)));
    float *to = blocks > 1 || integer ? result : d;
    for (int block = 0; block < blocks; block++) {
        int depth = hk_unpack_block(type_a, pad.a, m, rows_a, HK_MATRIX_ROWS_A(op), blocks, hk_source_block(op, block));
        float *b = pad.a + depth * m;
        hk_unpack_block(type_b, b, m, rows_b, HK_MATRIX_ROWS_B(op), blocks, block);
        if (type_a <= HK_XF32) hk_flush_inputs(w, pad.a, 2 * depth * m);
        int at = block * (m * m / HK_LANES) * HK_LANES;
        if (integer) {
            /* Sums of at most 64 products of int8 stay below 2^24: exact in fp32. */
            float zero[16 * HK_LANES] __attribute__((aligned(64))) = {0};
            hk_multiply(m, to + at, zero, pad.a, b, depth, 0);
        } else if (type_a <= HK_XF32)
            hk_multiply(m, to + at, c + at, pad.a, b, depth, 0);
        else
            hk_multiply(m, to + at, c + at, pad.a, b, depth, 1);
    }
    if (integer) {
        uint32_t *out = (uint32_t *)d;
        const uint32_t *in = (const uint32_t *)c;
        for (int i = 0; i < result_rows * HK_LANES; i++) out[i] = in[i] + (uint32_t)(int32_t)result[i];
    } else if (blocks > 1)
        memcpy(d, result, sizeof(float) * HK_LANES * (size_t)result_rows);
    return 0;
}

HK_EXPORT int32_t hk_mfma_f32_16x16(Wave *w, const Op *op) { return hk_mfma(w, op, 16, 0); }
HK_EXPORT int32_t hk_mfma_f32_32x32(Wave *w, const Op *op) { return hk_mfma(w, op, 32, 0); }
HK_EXPORT int32_t hk_mfma_i32_16x16(Wave *w, const Op *op) { return hk_mfma(w, op, 16, 1); }
HK_EXPORT int32_t hk_mfma_i32_32x32(Wave *w, const Op *op) { return hk_mfma(w, op, 32, 1); }

/* A chain: the same instruction of f16 or bf16 several times in a row, with flags that say what is known of the
 * operands (translate/matrix_chain.py). No result overlaps an addend that is not itself or, with 32 rows, its own
 * factors. */

#ifdef HK_DOT
/* Whether an earlier chain made all rows of an addend, exact and calm, and nothing has changed them. */
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
#endif

#ifdef HK_TILES
/* Factors of a chain, turned for tiles once. */
#define HK_TURNED 64
typedef struct __attribute__((aligned(64))) HkTurned {
    uint32_t rows[HK_TURNED][4 * HK_LANES];
    uint8_t of[HK_MAX_ROWS]; /* 1 + the index in `rows` by the first row, where it was turned */
    int used;
} HkTurned;

/* A's registers turned; `seen` where they are what an earlier instruction of the chain read. */
HK_INLINE const uint32_t *hk_turned(HkTurned *kept, int m, const Wave *w, uint32_t first, int rows, int seen) {
    int n = kept->of[first];
    if (n != 0 && seen) return kept->rows[n - 1];
    if (n == 0) n = kept->of[first] = (uint8_t)++kept->used;
    hk_tiles_turn(m, kept->rows[n - 1], hk_row(w, first), HK_LANES / m * rows);
    return kept->rows[n - 1];
}

/* Instructions that add to one result as a sum of tiles: HK_DOT_EXACT where that may be done, and HK_DOT_CALM. `known`
 * is what all earlier ones of the chain gave: where those are exact what they saw need not be looked at again. */
HK_INLINE int hk_mfma_sum(Wave *w, const Op *op, int links, int m, int rows, int known, HkTurned *kept,
                          HkTilesSum *sum) {
    int now = HK_DOT_EXACT | HK_DOT_CALM, result_rows = m * m / HK_LANES;
    /* Sums that are not done yet have places among the turned: there is room for those of all. */
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
        /* It is wanted when the sums before it are done. */
        for (int i = 0; i < HK_LANES * result_rows; i += 16) __builtin_prefetch(sum->c + i);
    else
        now &= hk_dot_addends((const float *)sum->c, result_rows);
    /* What is not calm may be seen again. */
    now = now & HK_DOT_EXACT ? now & (known | HK_DOT_EXACT) : 0;
    hk_keep_sum(w, op->dst, result_rows, now & HK_DOT_CALM);
    return now;
}

/* Sums that are done together. */
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

/* Whether a sum wants what one before it makes; a long one goes on with its own. */
HK_INLINE int hk_waits(const Op *op, const Op *first) {
    return op->flags & HK_MATRIX_WAITS || (op > first && op[-1].flags & HK_MATRIX_LINKED);
}

HK_INLINE int32_t hk_mfma_chain_by_tiles(Wave *w, const Op *op, int32_t count, int m, int rows) {
    HkTurned kept;
    HkBatch batches[2];
    HkBatch *before = &batches[0], *batch = &batches[1];
    int known = HK_DOT_EXACT | HK_DOT_CALM, together = m == 16 ? HK_TILES_TOGETHER : 1, pairs = HK_LANES / m * rows;
    memset(kept.of, 0, sizeof kept.of);
    kept.used = 0;
    before->n = 0;
    for (const Op *first = op, *end = op + count; op < end;) {
        int links = 0, now = 0;
        if (hk_waits(op, first)) hk_batch_done(before, m, pairs);
        for (batch->n = 0; batch->n < together && op < end; batch->n++, op += links) {
            if (batch->n > 0 && hk_waits(op, first)) break;
            for (links = 1; links < HK_LINKS && op[links - 1].flags & HK_MATRIX_LINKED;) links++;
            if (batch->n > 0 && links != batch->links) break;
            now = hk_mfma_sum(w, op, links, m, rows, known, &kept, &batch->sums[batch->n]);
            if (!now) break;
            known &= now;
            batch->links = links;
        }
        batch->calm = known & HK_DOT_CALM;
        /* A tile is loaded from what was stored a batch before: it would have to wait for stores that have just been
         * made. */
        hk_batch_done(before, m, pairs);
        if (batch->n > 0) {
            HkBatch *other = before;
            before = batch;
            batch = other;
            continue;
        }
        /* Tiles have an order of their own: whether an instruction takes it must not depend on its neighbours. */
        for (int i = 0; i < links; i++, op++) (m == 16 ? hk_mfma_f32_16x16 : hk_mfma_f32_32x32)(w, op);
        known = 0;
    }
    hk_batch_done(before, m, pairs);
    return 0;
}
#endif

#ifdef HK_DOT
/* Instructions that add to one result; no HK_DOT_EXACT, and nothing written, where VDPBF16PS is not exact. `known` is
 * what all earlier ones of the chain gave: those that are exact need not be looked at again. */
HK_INLINE int hk_mfma_links(Wave *w, const Op *op, int links, int m, int known) {
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
    /* What is not calm may be seen again. */
    now &= known | HK_DOT_EXACT;
    hk_keep_sum(w, op->dst, result_rows, now & HK_DOT_CALM);
    hk_dot_multiply(m, (float *)hk_row(w, op->dst), c, op->imm[0], a, b, links, HK_LANES / m, rows, now & HK_DOT_CALM);
    return now;
}
#endif

#ifdef HK_MULTIPLY_HALVES
HK_INLINE void hk_mfma_halves(const Wave *w, const Op *op, int links, int m) {
    float a[HK_LINKS * 16 * 32] __attribute__((aligned(64))), constant[16 * HK_LANES] __attribute__((aligned(64)));
    HkFactors factors[HK_LINKS];
    for (int n = 0; n < links; n++) factors[n] = (HkFactors){hk_row(w, op[n].src0), hk_row(w, op[n].src1)};
    const float *c = constant;
    if (op->flags & HK_MATRIX_C_CONSTANT)
        hk_fill_constant(constant, m * m / HK_LANES, op->imm[0]);
    else
        c = (const float *)hk_row(w, op->src2);
    float *d = (float *)hk_row(w, op->dst);
    if (HK_MATRIX_TYPE_A(op) == HK_F16)
        hk_multiply_halves(HK_F16, m, d, c, a, factors, links, HK_MATRIX_ROWS_A(op));
    else
        hk_multiply_halves(HK_BF16, m, d, c, a, factors, links, HK_MATRIX_ROWS_A(op));
}
#endif

HK_INLINE int32_t hk_mfma_chain(Wave *w, const Op *op, int32_t count, int m) {
#ifdef HK_TILES
    if (HK_MATRIX_TYPE_A(op) == HK_BF16 && hk_tiles_fit(HK_LANES / m * HK_MATRIX_ROWS_A(op)))
        return hk_mfma_chain_by_tiles(w, op, count, m, HK_MATRIX_ROWS_A(op));
#endif
#ifdef HK_DOT
    int known = HK_MATRIX_TYPE_A(op) == HK_BF16 ? HK_DOT_EXACT | HK_DOT_CALM : 0;
#endif
    for (const Op *end = op + count; op < end;) {
        int links = 1;
        while (links < HK_LINKS && op[links - 1].flags & HK_MATRIX_LINKED) links++;
#ifdef HK_DOT
        int done = HK_MATRIX_TYPE_A(op) == HK_BF16 ? hk_mfma_links(w, op, links, m, known) : 0;
        known &= done;
#else
        int done = 0;
#endif
#ifdef HK_MULTIPLY_HALVES
        if (!done) hk_mfma_halves(w, op, links, m);
#else
        for (int n = 0; n < links && !done; n++) (m == 16 ? hk_mfma_f32_16x16 : hk_mfma_f32_32x32)(w, op + n);
#endif
        op += links;
    }
    return 0;
}

/* Between the matrix instructions of a kernel. */
HK_EXPORT int32_t hk_stay_awake(Wave *w) {
    (void)w;
    hk_tiles_stay_awake();
    return 0;
}

/* For each of `count` records: imm[0] rows from dst on get other data than sums of chains. */
HK_EXPORT int32_t hk_forget_sums(Wave *w, const Op *op, int32_t count) {
    for (int i = 0; i < count; i++) memset(w->sums + op[i].dst, 0, op[i].imm[0]);
    return 0;
}

/* imm[0] rows from src0 on to dst: factors of a chain whose registers get other data before it runs. */
HK_EXPORT int32_t hk_copy_rows(Wave *w, const Op *op) {
    memcpy(hk_row(w, op->dst), hk_row(w, op->src0), (size_t)op->imm[0] * HK_LANES * 4);
    return 0;
}

HK_EXPORT int32_t hk_mfma_f32_16x16_chain(Wave *w, const Op *op, int32_t count) {
    return hk_mfma_chain(w, op, count, 16);
}
HK_EXPORT int32_t hk_mfma_f32_32x32_chain(Wave *w, const Op *op, int32_t count) {
    return hk_mfma_chain(w, op, count, 32);
}

/* 16 blocks of 4x4: lane 4 * block + j, register i. Row i of all blocks is one register: B's lanes times A's
 * element i of the lane's own block. */
HK_INLINE int32_t hk_mfma_4x4(Wave *w, const Op *op, int integer) {
    float a[4 * HK_LANES] __attribute__((aligned(64))), b[4 * HK_LANES] __attribute__((aligned(64)));
    uint32_t arranged[2 * HK_LANES];
    const uint32_t *rows_a = hk_row(w, op->src0), *rows_b = hk_row(w, op->src1);
    if (HK_MATRIX_BLGP(op) != 0) {
        hk_arrange_b(arranged, rows_b, HK_MATRIX_ROWS_B(op), HK_MATRIX_BLGP(op));
        rows_b = arranged;
    }
    HkElement type_a = HK_TYPE_A(op, integer), type_b = HK_TYPE_B(op, integer);
    int depth = HK_MATRIX_ROWS_A(op) * hk_per_dword(type_a), paired = type_a > HK_XF32;
    for (int lane = 0; lane < HK_LANES; lane += 16) {
        hk_unpack(type_a, a + lane, HK_LANES, rows_a + lane, HK_MATRIX_ROWS_A(op), 1, 0);
        hk_unpack(type_b, b + lane, HK_LANES, rows_b + lane, HK_MATRIX_ROWS_B(op), 1, 0);
    }
    if (type_a <= HK_XF32) {
        hk_flush_inputs(w, a, depth * HK_LANES);
        hk_flush_inputs(w, b, depth * HK_LANES);
    }
    float c[4 * HK_LANES] __attribute__((aligned(64)));
    if (op->flags & HK_MATRIX_C_CONSTANT)
        hk_fill_constant(c, 4, op->imm[0]);
    else
        memcpy(c, hk_row(w, op->src2), sizeof c);
    uint32_t *d = hk_row(w, op->dst);
    for (int i = 0; i < 4; i++)
        for (int lane = 0; lane < HK_LANES; lane++) {
            int source = 4 * hk_source_block(op, lane / 4) + i;
            if (integer) {
                int32_t sum = 0;
                for (int k = 0; k < depth; k++)
                    sum += (int32_t)a[k * HK_LANES + source] * (int32_t)b[k * HK_LANES + lane];
                d[i * HK_LANES + lane] = ((const uint32_t *)c)[i * HK_LANES + lane] + (uint32_t)sum;
            } else {
                float sum = c[i * HK_LANES + lane];
                for (int k = 0; k < depth; k++) {
                    int at = (k ^ paired) * HK_LANES;
                    sum = __builtin_fmaf(a[at + source], b[at + lane], sum);
                }
                if (sum != sum) sum = __builtin_nanf("");
                memcpy(d + i * HK_LANES + lane, &sum, 4);
            }
        }
    return 0;
}

HK_EXPORT int32_t hk_mfma_f32_4x4(Wave *w, const Op *op) { return hk_mfma_4x4(w, op, 0); }
HK_EXPORT int32_t hk_mfma_i32_4x4(Wave *w, const Op *op) { return hk_mfma_4x4(w, op, 1); }

/* fp64: a value is in two registers, low half first. BLGP negates A, B and C (bits 0 to 2) as it does for no
 * other type. */
HK_INLINE double hk_double_at(const uint32_t *rows, int lane, int negate) {
    uint64_t bits = rows[lane] | (uint64_t)rows[HK_LANES + lane] << 32;
    return hk_double(negate ? bits ^ 1ull << 63 : bits);
}

HK_INLINE void hk_put_double(uint32_t *rows, int lane, double value) {
    uint64_t bits = hk_double_bits(value);
    rows[lane] = (uint32_t)bits;
    rows[HK_LANES + lane] = (uint32_t)(bits >> 32);
}

HK_INLINE int32_t hk_mfma_f64(Wave *w, const Op *op, int m) {
    const uint32_t *rows_a = hk_row(w, op->src0), *rows_b = hk_row(w, op->src1);
    uint32_t neg = HK_MATRIX_BLGP(op);
    int pairs = m == 16 ? 4 : 1;
    double a[HK_LANES], b[HK_LANES], c[4][HK_LANES];
    uint64_t constant = op->imm[0] | (uint64_t)op->imm[1] << 32;
    for (int lane = 0; lane < HK_LANES; lane++) {
        a[lane] = hk_double_at(rows_a, lane, neg & 1);
        b[lane] = hk_double_at(rows_b, lane, neg >> 1 & 1);
        for (int p = 0; p < pairs; p++) {
            if (op->flags & HK_MATRIX_C_CONSTANT) {
                memcpy(&c[p][lane], &constant, 8);
                if (neg & 4) c[p][lane] = -c[p][lane];
            } else
                c[p][lane] = hk_double_at(hk_row(w, op->src2) + 2 * p * HK_LANES, lane, neg >> 2 & 1);
        }
    }
    uint32_t *d = hk_row(w, op->dst);
    for (int p = 0; p < pairs; p++)
        for (int lane = 0; lane < HK_LANES; lane++) {
            /* m 16: row 4 p + lane / 16. m 4: row lane / 16 of block lane / 4 % 4. */
            int row = m == 16 ? 4 * p + lane / 16 : lane / 16;
            int column = m == 16 ? lane % 16 : lane % 4, block = m == 16 ? 0 : lane / 4 % 4;
            double sum = c[p][lane];
            for (int k = 0; k < 4; k++)
                sum = __builtin_fma(a[16 * k + 4 * block + row], b[16 * k + 4 * block + column], sum);
            hk_put_double(d + 2 * p * HK_LANES, lane, sum);
        }
    return 0;
}

HK_EXPORT int32_t hk_mfma_f64_16x16(Wave *w, const Op *op) { return hk_mfma_f64(w, op, 16); }
HK_EXPORT int32_t hk_mfma_f64_4x4(Wave *w, const Op *op) { return hk_mfma_f64(w, op, 4); }
