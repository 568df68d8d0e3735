/* Matrix instructions with the CPU's matrix unit, AMX, if it has one: bf16 with TDPBF16PS, int8 with TDPBSSD.
 *
 * A pair of bf16 (four int8) of K is a dword, and the registers of A and of B are [pair][m] dwords, consecutive. AMX
 * takes its second factor in that form; its first has rows of M, so A is transposed. In memory the rows of a result are
 * in a different order from those of D; a tile takes them in memory order, and A's rows are permuted to match. Results
 * are read and written in place.
 *
 * Arithmetic (Intel's manual, TDPBF16PS): products of even K are added in sequence, and separately those of odd K, each
 * with one rounding to nearest even; then both sums are added, and the result to C. So the last bits differ from those
 * of matrix.c, and the error is no greater: a sum has half as many terms, and C is rounded once per instruction.
 * Denormals are read and written as zeros: the condition of matrix_dot.h holds here for the same reason. Each
 * instruction is one TDPBF16PS for every 32 of K regardless of its neighbours, so results do not depend on how
 * instructions are grouped. Integers wrap, and are exact.
 *
 * Tiles belong to a thread. They are configured at the first use in a turn of its work-groups and released at the end
 * (run/dispatch.c); outside a turn, around each instruction. The operating system must allow them: it is asked once.
 */
#ifndef HK_MATRIX_TILES_H
#define HK_MATRIX_TILES_H

#include "ops/matrix.h"

#if ((defined(__AMX_BF16__) && defined(__AMX_INT8__)) || defined(HK_SOFTWARE_TILES)) && defined(__AVX512BF16__) &&     \
    defined(__AVX512VBMI__) && defined(__linux__)
#define HK_TILES 1
#include "ops/tile_unit.h"
#include "run/lanes.h"

/* Nonzero if this process may use tiles. */
extern int hk_tiles_allowed;

typedef struct HkTilesOfThread {
    int turn;  /* nonzero: during a work-group's turn */
    int depth; /* dwords of K that the tiles are configured for; 0: not configured */
} HkTilesOfThread;
/* In the thread's static block, so that access needs no call. */
extern __thread HkTilesOfThread hk_tiles_here __attribute__((tls_model("initial-exec")));

void hk_tiles_configure(int depth);

/* Tiles: four for results, and two for each factor. */
enum { HK_TILE_C0, HK_TILE_C1, HK_TILE_C2, HK_TILE_C3, HK_TILE_A0, HK_TILE_A1, HK_TILE_B0, HK_TILE_B1 };
#define HK_TILES_TOGETHER 4

/* Dwords of K that an operand transposed for tiles may have, and the dwords that it takes. */
#define HK_TILES_TURNED (64 * 16)

HK_INLINE int hk_tiles_fit(int pairs) { return hk_tiles_allowed && (pairs == 4 || pairs == 8 || pairs % 16 == 0); }

HK_INLINE void hk_tiles_begin(int depth) {
    if (__builtin_expect(hk_tiles_here.depth != depth, 0)) hk_tiles_configure(depth);
}

HK_INLINE void hk_tiles_release(void) {
    if (!hk_tiles_here.depth) return;
    HK_UNIT_RELEASE();
    hk_tiles_here.depth = 0;
}

HK_INLINE void hk_tiles_end(void) {
    if (__builtin_expect(!hk_tiles_here.turn, 0)) hk_tiles_release();
}

/* The matrix unit sleeps half a microsecond after its last multiplication. The first multiplication after that takes
 * 0.3 us, or 3 us after a sleep of several microseconds (Granite Rapids; loads of tiles do not keep it awake). So a
 * kernel that uses the unit performs an unused multiplication whenever it moves data. */
HK_INLINE void hk_tiles_stay_awake(void) {
    if (hk_tiles_here.depth) HK_UNIT_WAKE(HK_TILE_C3, HK_TILE_A0, HK_TILE_B0);
}

/* Called at the start and the end of a work-group's turn on this thread. */
HK_INLINE void hk_tiles_turn_begins(void) { hk_tiles_here.turn = 1; }

HK_INLINE void hk_tiles_turn_ends(void) {
    hk_tiles_here.turn = 0;
    hk_tiles_release();
}

/* Transposes 4x4 dwords of each 128-bit lane: lane L of out[c] has column 4 L + c of the four rows. */
HK_INLINE void hk_tiles_turn_lanes(__m512i *out, const uint32_t *rows, int stride) {
    __m512i row[4];
#pragma clang loop unroll(full)
    for (int i = 0; i < 4; i++) row[i] = _mm512_load_si512(rows + i * stride);
    __m512i low = _mm512_unpacklo_epi32(row[0], row[1]), high = _mm512_unpackhi_epi32(row[0], row[1]);
    __m512i low2 = _mm512_unpacklo_epi32(row[2], row[3]), high2 = _mm512_unpackhi_epi32(row[2], row[3]);
    out[0] = _mm512_unpacklo_epi64(low, low2);
    out[1] = _mm512_unpackhi_epi64(low, low2);
    out[2] = _mm512_unpacklo_epi64(high, high2);
    out[3] = _mm512_unpackhi_epi64(high, high2);
}

/* Row of a tile of results that contains row 4 L + c of 16: the inverse of hk_result_offset's order. */
HK_INLINE int hk_tiles_row(int m, int lane, int c) {
    return m == 16 ? 4 * c + lane : 8 * (lane / 2) + 2 * c + lane % 2;
}

/* 16 columns of 16 rows of [pair][m] as rows of a tile. Pieces of 16 bytes are put together while they are loaded,
 * which leaves half as many shuffles as a transposition of whole rows needs. */
HK_INLINE void hk_tiles_turn_16(int m, uint32_t *to, const uint32_t *from) {
#pragma clang loop unroll(full)
    for (int lane = 0; lane < 4; lane++) {
        u32x16 part[4];
#pragma clang loop unroll(full)
        for (int k = 0; k < 4; k++) {
            const uint32_t *piece = from + k * m + 4 * lane;
            part[k] = hk_join4(*(const u32x4 *)piece, *(const u32x4 *)(piece + 4 * m), *(const u32x4 *)(piece + 8 * m),
                               *(const u32x4 *)(piece + 12 * m));
        }
        hk_transpose4(part);
#pragma clang loop unroll(full)
        for (int c = 0; c < 4; c++) *(u32x16 *)(to + 16 * hk_tiles_row(m, lane, c)) = part[c];
    }
}

/* The same for `depth` rows (4 or 8), `depth` dwords each. */
HK_INLINE void hk_tiles_turn_part(int m, int depth, uint32_t *to, const uint32_t *from) {
    __m512i part[2][4];
#pragma clang loop unroll(full)
    for (int k = 0; k < depth / 4; k++) hk_tiles_turn_lanes(part[k], from + 4 * k * m, m);
#pragma clang loop unroll(full)
    for (int c = 0; c < 4; c++) {
        if (depth == 4) {
            for (int lane = 0; lane < 4; lane += 2)
                _mm256_store_si256((__m256i *)(to + depth * hk_tiles_row(m, lane, c)),
                                   lane == 0 ? _mm512_castsi512_si256(part[0][c])
                                             : _mm512_extracti64x4_epi64(part[0][c], 1));
            continue;
        }
        const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
        const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
        _mm512_store_si512(to + depth * hk_tiles_row(m, 0, c),
                           _mm512_permutex2var_epi64(part[0][c], first, part[1][c]));
        _mm512_store_si512(to + depth * hk_tiles_row(m, 2, c),
                           _mm512_permutex2var_epi64(part[0][c], second, part[1][c]));
    }
}

/* Transposes an operand A, [pair][m]: for each run of up to 16 pairs, and each 16 rows of M, [row][pair]. */
HK_INLINE void hk_tiles_turn(int m, uint32_t *to, const uint32_t *from, int pairs) {
    HK_UNIT_COUNT(HK_UNIT_TURNS, 1);
    int depth = pairs < 16 ? pairs : 16;
    for (int k = 0; k < pairs; k += depth)
        for (int half = 0; half < m; half += 16, to += 16 * depth) {
            if (depth == 16)
                hk_tiles_turn_16(m, to, from + k * m + half);
            else if (depth == 8)
                hk_tiles_turn_part(m, 8, to, from + k * m + half);
            else
                hk_tiles_turn_part(m, 4, to, from + k * m + half);
        }
}

/* Replaces every NaN by the same one (matrix.h). 0 x is NaN for infinities, too; only then is each number checked. */
HK_INLINE void hk_tiles_one_nan(int m, uint32_t *d) {
    __m512 sum[4] = {_mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps(), _mm512_setzero_ps()};
    for (int i = 0; i < m * m; i += 64)
#pragma clang loop unroll(full)
        for (int n = 0; n < 4; n++)
            sum[n] = _mm512_fmadd_ps(_mm512_load_ps((const float *)d + i + 16 * n), _mm512_setzero_ps(), sum[n]);
    sum[0] = _mm512_add_ps(_mm512_add_ps(sum[0], sum[1]), _mm512_add_ps(sum[2], sum[3]));
    if (__builtin_expect(_mm512_cmp_ps_mask(sum[0], sum[0], _CMP_UNORD_Q) == 0, 1)) return;
    for (int i = 0; i < m * m; i += 16) {
        __m512 x = _mm512_load_ps((const float *)d + i);
        __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
        _mm512_mask_store_epi32(d + i, nan, _mm512_set1_epi32(0x7fc00000));
    }
}

/* D = C + A[0] B[0] + ...: A transposed, B [pair][m]. If `c` is NULL, every element of C is `constant`. */
typedef struct HkTilesSum {
    uint32_t *d;
    const uint32_t *c;
    uint32_t constant;
    const uint32_t *a[HK_LINKS], *b[HK_LINKS];
} HkTilesSum;

/* Macros, because tile numbers are immediates. */
#define HK_TILES_MULTIPLY(number, tile_a, tile_b)                                                                      \
    do {                                                                                                               \
        if (integer)                                                                                                   \
            HK_UNIT_MULTIPLY_INT8(HK_TILE_C0 + (number), tile_a, tile_b);                                              \
        else                                                                                                           \
            HK_UNIT_MULTIPLY_BF16(HK_TILE_C0 + (number), tile_a, tile_b);                                              \
    } while (0)

#define HK_TILES_LOAD(number, sum, offset, stride)                                                                     \
    do {                                                                                                               \
        __m512i row = _mm512_set1_epi32((int)(sum)->constant);                                                         \
        if ((sum)->c != NULL)                                                                                          \
            HK_UNIT_LOAD(HK_TILE_C0 + (number), (sum)->c + (offset), stride);                                          \
        else                                                                                                           \
            HK_UNIT_LOAD(HK_TILE_C0 + (number), &row, 0);                                                              \
    } while (0)

/* For each of `n` sums; the number is an immediate. */
#define HK_TILES_EACH(DO)                                                                                              \
    do {                                                                                                               \
        DO(0);                                                                                                         \
        if (n > 1) DO(1);                                                                                              \
        if (n > 2) DO(2);                                                                                              \
        if (n > 3) DO(3);                                                                                              \
    } while (0)

/* True if four sums are two factors A by two factors B. */
HK_INLINE int hk_tiles_are_square(const HkTilesSum *sums, int links) {
    uint64_t different = 0;
    for (int link = 0; link < links; link++)
        different |= ((uintptr_t)sums[0].a[link] ^ (uintptr_t)sums[1].a[link]) |
                     ((uintptr_t)sums[2].a[link] ^ (uintptr_t)sums[3].a[link]) |
                     ((uintptr_t)sums[0].b[link] ^ (uintptr_t)sums[2].b[link]) |
                     ((uintptr_t)sums[1].b[link] ^ (uintptr_t)sums[3].b[link]);
    return different == 0;
}

/* Four such sums of 16 x 16 results, whose factors are loaded once; else as below. */
HK_INLINE void hk_tiles_multiply_square(int integer, const HkTilesSum *sums, int links, int pairs) {
    const int depth = pairs < 16 ? pairs : 16;
    HK_TILES_LOAD(0, &sums[0], 0, 64);
    HK_TILES_LOAD(1, &sums[1], 0, 64);
    HK_TILES_LOAD(2, &sums[2], 0, 64);
    HK_TILES_LOAD(3, &sums[3], 0, 64);
    for (int link = 0; link < links; link++)
        for (int k = 0; k < 16 * pairs; k += 16 * depth) {
            HK_UNIT_LOAD(HK_TILE_A0, sums[0].a[link] + k, 4 * (size_t)depth);
            HK_UNIT_LOAD(HK_TILE_B0, sums[0].b[link] + k, 64);
            HK_TILES_MULTIPLY(0, HK_TILE_A0, HK_TILE_B0);
            HK_UNIT_LOAD(HK_TILE_B1, sums[1].b[link] + k, 64);
            HK_TILES_MULTIPLY(1, HK_TILE_A0, HK_TILE_B1);
            HK_UNIT_LOAD(HK_TILE_A1, sums[2].a[link] + k, 4 * (size_t)depth);
            HK_TILES_MULTIPLY(2, HK_TILE_A1, HK_TILE_B0);
            HK_TILES_MULTIPLY(3, HK_TILE_A1, HK_TILE_B1);
        }
    HK_UNIT_STORE(HK_TILE_C0, sums[0].d, 64);
    HK_UNIT_STORE(HK_TILE_C1, sums[1].d, 64);
    HK_UNIT_STORE(HK_TILE_C2, sums[2].d, 64);
    HK_UNIT_STORE(HK_TILE_C3, sums[3].d, 64);
}

/* Computes `n` sums, at most four, of 16 x 16 results and the same number of links of `pairs` dwords of K. They are
 * interleaved, so that the CPU need not wait for each; neighbours mostly share A. */
HK_INLINE void hk_tiles_multiply_16(int integer, const HkTilesSum *sums, int n, int links, int pairs) {
    const int depth = pairs < 16 ? pairs : 16;
#define HK_TILES_DO(number) HK_TILES_LOAD(number, &sums[number], 0, 64)
    HK_TILES_EACH(HK_TILES_DO);
#undef HK_TILES_DO
    for (int link = 0; link < links; link++)
        for (int k = 0; k < 16 * pairs; k += 16 * depth) {
            const uint32_t *loaded = NULL;
#define HK_TILES_DO(number)                                                                                            \
    do {                                                                                                               \
        const HkTilesSum *sum = &sums[number];                                                                         \
        if (sum->a[link] != loaded) HK_UNIT_LOAD(HK_TILE_A0, sum->a[link] + k, 4 * (size_t)depth);                     \
        loaded = sum->a[link];                                                                                         \
        HK_UNIT_LOAD(HK_TILE_B0 + (number) % 2, sum->b[link] + k, 64);                                                 \
        HK_TILES_MULTIPLY(number, HK_TILE_A0, HK_TILE_B0 + (number) % 2);                                              \
    } while (0)
            HK_TILES_EACH(HK_TILES_DO);
#undef HK_TILES_DO
        }
#define HK_TILES_DO(number) HK_UNIT_STORE(HK_TILE_C0 + (number), sums[number].d, 64)
    HK_TILES_EACH(HK_TILES_DO);
#undef HK_TILES_DO
}

/* One sum of 32 x 32 results: four tiles. */
HK_INLINE void hk_tiles_multiply_32(int integer, const HkTilesSum *sum, int links, int pairs) {
    const int depth = pairs < 16 ? pairs : 16, below = 8 * HK_LANES;
    HK_TILES_LOAD(0, sum, 0, 128);
    HK_TILES_LOAD(1, sum, 16, 128);
    HK_TILES_LOAD(2, sum, below, 128);
    HK_TILES_LOAD(3, sum, below + 16, 128);
    for (int link = 0; link < links; link++)
        for (int k = 0; k < 32 * pairs; k += 32 * depth) {
            const uint32_t *a = sum->a[link] + k, *b = sum->b[link] + k;
            HK_UNIT_LOAD(HK_TILE_A0, a, 4 * (size_t)depth);
            HK_UNIT_LOAD(HK_TILE_B0, b, 128);
            HK_TILES_MULTIPLY(0, HK_TILE_A0, HK_TILE_B0);
            HK_UNIT_LOAD(HK_TILE_B1, b + 16, 128);
            HK_TILES_MULTIPLY(1, HK_TILE_A0, HK_TILE_B1);
            HK_UNIT_LOAD(HK_TILE_A1, a + 16 * depth, 4 * (size_t)depth);
            HK_TILES_MULTIPLY(2, HK_TILE_A1, HK_TILE_B0);
            HK_TILES_MULTIPLY(3, HK_TILE_A1, HK_TILE_B1);
        }
    HK_UNIT_STORE(HK_TILE_C0, sum->d, 128);
    HK_UNIT_STORE(HK_TILE_C1, sum->d + 16, 128);
    HK_UNIT_STORE(HK_TILE_C2, sum->d + below, 128);
    HK_UNIT_STORE(HK_TILE_C3, sum->d + below + 16, 128);
}

/* Computes `n` sums with the same number of links of `pairs` dwords of K; for 32 x 32 results, n is 1. No sum reads
 * what another one writes. */
HK_INLINE void hk_tiles_multiply(int integer, int m, const HkTilesSum *sums, int n, int links, int pairs) {
    hk_tiles_begin(pairs < 16 ? pairs : 16);
    /* The most frequent cases, with constants, so that no branches remain between tiles. */
    if (m == 16 && n == HK_TILES_TOGETHER && pairs == 16 && hk_tiles_are_square(sums, links))
        hk_tiles_multiply_square(integer, sums, links, 16);
    else if (m == 16 && n == HK_TILES_TOGETHER && pairs == 16)
        hk_tiles_multiply_16(integer, sums, HK_TILES_TOGETHER, links, 16);
    else if (m == 16)
        hk_tiles_multiply_16(integer, sums, n, links, pairs);
    else
        hk_tiles_multiply_32(integer, sums, links, pairs);
    hk_tiles_end();
}

/* One instruction: `a` and `b` are [pair][m]. With `calm` no result can be a NaN. */
HK_INLINE void hk_tiles_one(int integer, int m, uint32_t *d, const uint32_t *c, uint32_t constant, const uint32_t *a,
                            const uint32_t *b, int pairs, int calm) {
    uint32_t turned[HK_TILES_TURNED] __attribute__((aligned(64)));
    HkTilesSum sum = {.d = d, .c = c, .constant = constant, .a = {turned}, .b = {b}};
    hk_tiles_turn(m, turned, a, pairs);
    hk_tiles_multiply(integer, m, &sum, 1, 1, pairs);
    if (!calm) hk_tiles_one_nan(m, d);
}
#else
/* Without tiles, nothing fits. */
HK_INLINE int hk_tiles_fit(int pairs) { return pairs & 0; }
HK_INLINE void hk_tiles_one(int integer, int m, uint32_t *d, const uint32_t *c, uint32_t constant, const uint32_t *a,
                            const uint32_t *b, int pairs, int calm) {
    (void)integer, (void)m, (void)d, (void)c, (void)constant, (void)a, (void)b, (void)pairs, (void)calm;
}
HK_INLINE void hk_tiles_stay_awake(void) {}
HK_INLINE void hk_tiles_release(void) {}
HK_INLINE void hk_tiles_turn_begins(void) {}
HK_INLINE void hk_tiles_turn_ends(void) {}
#endif

#endif
