/* DS_READ_B64_TR_B16, _TR_B8, _TR_B4 and DS_READ_B96_TR_B6 (gfx950): reads that transpose.
 *
 * Each group of 16 lanes reads a matrix of 16 columns: a lane reads a piece of a row, the next lanes the rest
 * of it and then the next rows. The lane's result is column (lane % 16), its elements one row after the other.
 * (CDNA4 ISA guide, "MFMA transpose load from LDS"; the element order is the one that HipKittens' column layout
 * and rocRoller's hardware tests rely on.) A lane that is not active, or finds no LDS at its place, contributes zeros.
 *
 * Op fields as in lds.c.
 */
#include "ops/lds.h"
#include "ops/matrix_tiles.h"

#ifdef __AVX512BW__
#include <immintrin.h>
#endif

/* Source addresses of the lanes. */
typedef struct {
    const uint32_t *row;
    uint32_t offset;
    HkLdsLanes lanes;
    uint32_t wrapped[HK_LANES] __attribute__((aligned(64)));
} HkPieces;

HK_INLINE void hk_find_pieces(Wave *w, const Op *op, uint32_t bytes, HkPieces *at) {
    uint64_t exec = hk_exec(w);
    at->offset = (uint32_t)op->offset;
    at->row = hk_lds_wrap(hk_row(w, op->src0), &at->offset, exec, at->wrapped);
    at->lanes = hk_check_lds_row(w, op, at->row, at->offset, exec, bytes, HK_LDS_TRANSPOSE);
}

/* Data read by the 64 lanes, at a stride of 16 bytes for 96-bit pieces and 8 bytes for 64-bit ones. */
HK_INLINE void hk_read_pieces(const Wave *w, const HkPieces *at, uint8_t *pieces, uint32_t bytes, uint32_t step) {
    hk_tiles_stay_awake();
    const uint8_t *base = w->lds + at->offset;
    if (at->lanes.exec == HK_ALL_LANES) {
#pragma clang loop unroll(full)
        for (unsigned l = 0; l < HK_LANES; l++) memcpy(pieces + l * step, base + at->row[l], bytes);
        return;
    }
    memset(pieces, 0, HK_LANES * step);
    HK_FOR_LANES(l, at->lanes.exec) { memcpy(pieces + l * step, base + at->row[l], bytes); }
}

HK_INLINE void hk_put_rows(Wave *w, const Op *op, const uint32_t *result, int count) {
    uint64_t exec = hk_exec(w);
    for (int r = 0; r < count; r++) hk_row_blend(hk_row(w, op->dst) + r * HK_LANES, result + r * HK_LANES, exec);
}

typedef uint16_t hk_u16x16 __attribute__((vector_size(32), aligned(1)));
typedef uint8_t hk_u8x16 __attribute__((vector_size(16), aligned(1)));

#ifdef __AVX512BW__
/* 16 bits, all lanes active: two rows of the matrix at a time. Assembling the pieces in memory would stall on their
 * stores. */
HK_INLINE void hk_transpose_halves(Wave *w, const Op *op) {
    hk_tiles_stay_awake();
    const uint32_t *row = hk_row(w, op->src0);
    const uint8_t *base = w->lds + op->offset;
    typedef uint16_t halves __attribute__((vector_size(64)));
    halves rows[HK_LANES / 8];
#pragma clang loop unroll(full)
    for (int n = 0; n < HK_LANES / 8; n++)
        rows[n] = (halves)_mm512_i32gather_epi64(_mm256_loadu_si256((const __m256i *)(row + 8 * n)), base, 1);
#pragma clang loop unroll(full)
    for (int n = 0; n < HK_LANES / 8; n++)
        *(u32x16 *)(hk_row(w, op->dst) + n % 2 * HK_LANES + n / 2 * 16) =
            (u32x16)__builtin_shufflevector(rows[n], rows[n], 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8,
                                            24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
#endif

/* The general case: any active lanes, any addresses. */
static __attribute__((noinline)) int32_t hk_transpose_some_halves(Wave *w, const Op *op) {
    HkPieces at;
    hk_find_pieces(w, op, 8, &at);
    if (at.lanes.fault) return 1;
    uint8_t pieces[HK_LANES * 8];
    uint32_t result[2 * HK_LANES] __attribute__((aligned(64)));
    hk_read_pieces(w, &at, pieces, 8, 8);
#pragma clang loop unroll(full)
    for (int g = 0; g < HK_LANES; g += 16) {
        const hk_u16x16 *row = (const hk_u16x16 *)(pieces + 8 * g);
#pragma clang loop unroll(full)
        for (int r = 0; r < 2; r++)
            *(u32x16 *)(result + r * HK_LANES + g) =
                __builtin_convertvector(row[2 * r], u32x16) | __builtin_convertvector(row[2 * r + 1], u32x16) << 16;
    }
    hk_put_rows(w, op, result, 2);
    return 0;
}

HK_EXPORT int32_t hk_ds_read_b64_tr_b16(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
#ifdef __AVX512BW__
    uint32_t offset = (uint32_t)op->offset;
    const uint32_t *row = hk_row(w, op->src0);
    if (__builtin_expect(exec == HK_ALL_LANES && hk_in_lds(w, row, offset, HK_ALL_LANES, 8), 1)) {
        if (__builtin_expect(w->group->profile, 0)) hk_count_lds(w, op, row, offset, exec, 8, HK_LDS_TRANSPOSE);
        hk_transpose_halves(w, op);
        return 0;
    }
#endif
    return hk_transpose_some_halves(w, op);
}

HK_EXPORT int32_t hk_ds_read_b64_tr_b8(Wave *w, const Op *op) {
    if (hk_exec(w) == 0) return 0;
    HkPieces at;
    hk_find_pieces(w, op, 8, &at);
    if (at.lanes.fault) return 1;
    uint8_t pieces[HK_LANES * 8];
    uint32_t result[2 * HK_LANES] __attribute__((aligned(64)));
    hk_read_pieces(w, &at, pieces, 8, 8);
#pragma clang loop unroll(full)
    for (int g = 0; g < HK_LANES; g += 16) {
        const hk_u8x16 *row = (const hk_u8x16 *)(pieces + 8 * g);
#pragma clang loop unroll(full)
        for (int r = 0; r < 2; r++) {
            u32x16 value = {};
#pragma clang loop unroll(full)
            for (int e = 0; e < 4; e++) value |= __builtin_convertvector(row[4 * r + e], u32x16) << (8 * e);
            *(u32x16 *)(result + r * HK_LANES + g) = value;
        }
    }
    hk_put_rows(w, op, result, 2);
    return 0;
}

/* 4 and 6 bits: a lane's piece is one row of 16 elements. */
HK_INLINE int32_t hk_transpose_small(Wave *w, const Op *op, uint32_t bits) {
    if (hk_exec(w) == 0) return 0;
    HkPieces at;
    hk_find_pieces(w, op, 2 * bits, &at);
    if (at.lanes.fault) return 1;
    uint8_t pieces[HK_LANES * 16];
    uint32_t result[3 * HK_LANES] __attribute__((aligned(64))) = {0};
    hk_read_pieces(w, &at, pieces, 2 * bits, 16);
    for (unsigned lane = 0; lane < HK_LANES; lane++)
        for (unsigned e = 0; e < 16; e++) {
            const uint8_t *piece = pieces + (lane / 16 * 16 + e) * 16;
            unsigned from = lane % 16 * bits, to = e * bits;
            uint32_t element = (piece[from / 8] | (uint32_t)piece[(from + bits - 1) / 8] << 8) >> (from % 8);
            uint64_t placed = (uint64_t)(element & ((1u << bits) - 1)) << (to % 32);
            result[to / 32 * HK_LANES + lane] |= (uint32_t)placed;
            if (placed >> 32) result[(to / 32 + 1) * HK_LANES + lane] |= (uint32_t)(placed >> 32);
        }
    hk_put_rows(w, op, result, (int)(16 * bits / 32));
    return 0;
}

HK_EXPORT int32_t hk_ds_read_b64_tr_b4(Wave *w, const Op *op) { return hk_transpose_small(w, op, 4); }
HK_EXPORT int32_t hk_ds_read_b96_tr_b6(Wave *w, const Op *op) { return hk_transpose_small(w, op, 6); }
