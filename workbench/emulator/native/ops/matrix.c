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
#include "ops/matrix_backend.h"

/* Room for the unpacked operands of one instruction. B follows A directly: at a distance of 4096 bytes, loads of one
 * would appear to depend on stores of the other. */
typedef struct __attribute__((aligned(64))) HkScratchpad {
    float a[HK_MATRIX_MAX_K * 32];
    float c[32 * HK_LANES];
    uint32_t arranged[16 * HK_LANES];
} HkScratchpad;

/* Calls the back end's function with the type as a constant, f16 or bf16, so that each has its own code. */
HK_INLINE void hk_halves(HkElement type, int m, float *d, const float *c, float *a, const HkFactors *factors, int links,
                         int count) {
    if (type == HK_F16)
        HK_BACKEND.halves(HK_F16, m, d, c, a, factors, links, count);
    else
        HK_BACKEND.halves(HK_BF16, m, d, c, a, factors, links, count);
}

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
    if (HK_BACKEND.bytes != NULL && blocks == 1 && integer &&
        (c == NULL || c == d || !hk_rows_overlap(c, result_rows, d, result_rows)) &&
        (m == 16 || (!hk_rows_overlap(rows_a, HK_MATRIX_ROWS_A(op), d, result_rows) &&
                     !hk_rows_overlap(rows_b, HK_MATRIX_ROWS_B(op), d, result_rows)))) {
        HK_BACKEND.bytes(m, (uint32_t *)d, (const uint32_t *)c, op->imm[0], rows_a, rows_b, HK_MATRIX_ROWS_A(op));
        return 0;
    }
    if (HK_BACKEND.pairs != NULL && blocks == 1 && !integer &&
        HK_BACKEND.pairs(op, m, (uint32_t *)pad.a, d, c, rows_a, rows_b))
        return 0;
    if (c == NULL) {
        hk_fill_constant(pad.c, result_rows, op->imm[0]);
        c = pad.c;
    } else if (blocks > 1 || (c != d && hk_rows_overlap(c, result_rows, d, result_rows))) {
        memcpy(pad.c, c, sizeof(float) * HK_LANES * (size_t)result_rows);
        c = pad.c;
    }
    HkFactors factors = {rows_a, rows_b};
    if (HK_BACKEND.eights != NULL && blocks == 1 && !integer && type_a >= HK_FP8) {
        HK_BACKEND.eights(type_a, type_b, m, d, c, (uint32_t *)pad.a, &factors, HK_MATRIX_ROWS_A(op));
        return 0;
    }
    if (HK_BACKEND.halves != NULL && blocks == 1 && (type_a == HK_F16 || type_a == HK_BF16) &&
        (m == 16 || !hk_rows_overlap(rows_b, HK_MATRIX_ROWS_B(op), d, result_rows))) {
        hk_halves(type_a, m, d, c, pad.a, &factors, 1, HK_MATRIX_ROWS_A(op));
        return 0;
    }
    float result[32 * HK_LANES] __attribute__((aligned(64)));
    float *to = blocks > 1 || integer ? result : d;
    for (int block = 0; block < blocks; block++) {
        int depth = hk_unpack_block(type_a, pad.a, m, rows_a, HK_MATRIX_ROWS_A(op), blocks, hk_source_block(op, block));
        float *b = pad.a + depth * m;
        hk_unpack_block(type_b, b, m, rows_b, HK_MATRIX_ROWS_B(op), blocks, block);
        if (type_a <= HK_XF32) hk_flush_inputs(w, pad.a, 2 * depth * m);
        int at = block * (m * m / HK_LANES) * HK_LANES;
        if (integer) {
            /* Sums of at most 64 products of int8 stay below 2^24, so they are exact in fp32. */
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

/* A chain: the same instruction of f16 or bf16 several times in a row, with flags for known properties of the operands
 * (translate/matrix_chain.py). A result overlaps no other addend and, with 32 rows, none of its own factors. */

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
    hk_halves(HK_MATRIX_TYPE_A(op), m, d, c, a, factors, links, HK_MATRIX_ROWS_A(op));
}

HK_INLINE int32_t hk_mfma_chain(Wave *w, const Op *op, int32_t count, int m) {
    int is_bf16 = HK_MATRIX_TYPE_A(op) == HK_BF16;
    if (HK_BACKEND.chain != NULL && is_bf16 && HK_BACKEND.chain(w, op, count, m)) return 0;
    int known = is_bf16 ? HK_DOT_EXACT | HK_DOT_CALM : 0;
    for (const Op *end = op + count; op < end;) {
        int links = 1, done = 0;
        while (links < HK_LINKS && op[links - 1].flags & HK_MATRIX_LINKED) links++;
        if (HK_BACKEND.links != NULL) {
            done = is_bf16 ? HK_BACKEND.links(w, op, links, m, known) : 0;
            known &= done;
        }
        if (HK_BACKEND.halves != NULL) {
            if (!done) hk_mfma_halves(w, op, links, m);
        } else
            for (int n = 0; n < links && !done; n++) (m == 16 ? hk_mfma_f32_16x16 : hk_mfma_f32_32x32)(w, op + n);
        op += links;
    }
    return 0;
}

/* Called between the matrix instructions of a kernel. */
HK_EXPORT int32_t hk_stay_awake(Wave *w) {
    (void)w;
    hk_tiles_stay_awake();
    return 0;
}

/* For each of `count` records: the imm[0] rows from dst no longer contain sums of chains. */
HK_EXPORT int32_t hk_forget_sums(Wave *w, const Op *op, int32_t count) {
    for (int i = 0; i < count; i++) memset(w->sums + op[i].dst, 0, op[i].imm[0]);
    return 0;
}

/* Copies imm[0] rows from src0 to dst: factors of a chain whose registers change before the chain runs. */
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

/* 16 blocks of 4x4: lane 4 * block + j, register i. Row i of all blocks is one register: B's lanes times element i of A
 * in the lane's block. */
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

/* fp64: a value occupies two registers, low half first. BLGP negates A, B and C (bits 0 to 2), for this type only. */
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
