/* The CPU's matrix unit, AMX: its instructions, or with HK_SOFTWARE_TILES the same in software, to test on CPUs that
 * have AVX-512 but no AMX what runs on those that have both.
 *
 * The software form follows Intel's manual: a tile has the rows and bytes that LDTILECFG gave it; TDPBF16PS adds
 * products of even K and of odd K separately, reads denormals as zeros and flushes tiny results; TDPBSSD wraps. An
 * instruction that would raise #UD (not configured, shapes that do not match) stops the process. It counts what it
 * does.
 */
#ifndef HK_TILE_UNIT_H
#define HK_TILE_UNIT_H

#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* LDTILECFG's operand, palette 1: bytes per row, and rows, of eight tiles of at most 16 rows of 64 bytes. */
typedef struct __attribute__((aligned(64))) HkTileShapes {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} HkTileShapes;

#ifndef HK_SOFTWARE_TILES
/* Macros, because tile numbers are immediates. */
#define HK_UNIT_CONFIGURE(shapes) _tile_loadconfig(shapes)
#define HK_UNIT_RELEASE() _tile_release()
#define HK_UNIT_LOAD(tile, base, stride) _tile_loadd(tile, base, stride)
#define HK_UNIT_STORE(tile, base, stride) _tile_stored(tile, base, stride)
#define HK_UNIT_MULTIPLY_BF16(c, a, b) _tile_dpbf16ps(c, a, b)
#define HK_UNIT_MULTIPLY_INT8(c, a, b) _tile_dpbssd(c, a, b)
/* A multiplication whose result nobody uses. */
#define HK_UNIT_WAKE(c, a, b) _tile_dpbf16ps(c, a, b)
#define HK_UNIT_COUNT(what, number) ((void)0)
#else
#define HK_UNIT_CONFIGURE(shapes) hk_unit_configure(shapes)
#define HK_UNIT_RELEASE() hk_unit_release()
#define HK_UNIT_LOAD(tile, base, stride) hk_unit_load(tile, base, stride)
#define HK_UNIT_STORE(tile, base, stride) hk_unit_store(tile, base, stride)
#define HK_UNIT_MULTIPLY_BF16(c, a, b) hk_unit_multiply_bf16(c, a, b)
#define HK_UNIT_MULTIPLY_INT8(c, a, b) hk_unit_multiply_int8(c, a, b)
#define HK_UNIT_WAKE(c, a, b) hk_unit_wake(c, a, b)
/* Operands turned into the form of a tile are counted by their users. */
#define HK_UNIT_COUNT(what, number) __atomic_fetch_add(&hk_unit_counts[what], (uint64_t)(number), __ATOMIC_RELAXED)

/* What the units of all threads have done; hk_unit_counted (matrix_tiles.c) reads the counts. */
enum { HK_UNIT_LOADS, HK_UNIT_STORES, HK_UNIT_MULTIPLIES, HK_UNIT_TURNS, HK_UNIT_COUNTS };
extern uint64_t hk_unit_counts[HK_UNIT_COUNTS];

typedef struct __attribute__((aligned(64))) HkTileUnit {
    uint32_t tile[8][16][16];
    HkTileShapes shapes;
} HkTileUnit;
/* NULL while not configured. Too large for the static block of threads. */
extern __thread HkTileUnit *hk_unit __attribute__((tls_model("initial-exec")));

static inline void hk_unit_check(int right) {
    if (!right) __builtin_trap();
}

static inline void hk_unit_configure(const HkTileShapes *shapes) {
    if (hk_unit == NULL) hk_unit = (HkTileUnit *)aligned_alloc(64, sizeof *hk_unit);
    hk_unit_check(hk_unit != NULL);
    memset(hk_unit, 0, sizeof *hk_unit);
    hk_unit->shapes = *shapes;
}

static inline void hk_unit_release(void) {
    free(hk_unit);
    hk_unit = NULL;
}

static inline void hk_unit_load(int tile, const void *base, size_t stride) {
    hk_unit_check(hk_unit != NULL && hk_unit->shapes.bytes[tile] != 0);
    size_t bytes = hk_unit->shapes.bytes[tile];
    memset(hk_unit->tile[tile], 0, sizeof hk_unit->tile[tile]);
    for (size_t row = 0; row < hk_unit->shapes.rows[tile]; row++)
        memcpy(hk_unit->tile[tile][row], (const char *)base + row * stride, bytes);
    HK_UNIT_COUNT(HK_UNIT_LOADS, 1);
}

static inline void hk_unit_store(int tile, void *base, size_t stride) {
    hk_unit_check(hk_unit != NULL && hk_unit->shapes.bytes[tile] != 0);
    for (size_t row = 0; row < hk_unit->shapes.rows[tile]; row++)
        memcpy((char *)base + row * stride, hk_unit->tile[tile][row], hk_unit->shapes.bytes[tile]);
    HK_UNIT_COUNT(HK_UNIT_STORES, 1);
}

/* C's columns are a vector's lanes: those past C's width are zeros and remain so. Returns the dwords of K. */
static inline int hk_unit_depth(int c, int a, int b) {
    hk_unit_check(hk_unit != NULL);
    const HkTileShapes *s = &hk_unit->shapes;
    hk_unit_check(c != a && c != b && a != b && s->rows[a] == s->rows[c] && s->bytes[b] == s->bytes[c] &&
                  s->bytes[a] == 4 * s->rows[b] && s->rows[c] != 0);
    return s->rows[b];
}

/* Nobody may use the result: it becomes NaNs. */
static inline void hk_unit_wake(int c, int a, int b) {
    (void)hk_unit_depth(c, a, b);
    memset(hk_unit->tile[c], 0xff, sizeof hk_unit->tile[c]);
}

/* Noinline: no arithmetic leaves the part in which denormals are zeros. */
__attribute__((noinline, unused)) static void hk_unit_multiply_bf16(int c, int a, int b) {
    const int depth = hk_unit_depth(c, a, b);
    HK_UNIT_COUNT(HK_UNIT_MULTIPLIES, 1);
    const __m512i odd = _mm512_set1_epi32((int)0xffff0000u);
    const unsigned mode = _mm_getcsr();
    _mm_setcsr(0x1f80 | 0x8040); /* to nearest even, no exceptions; FTZ, DAZ */
    __asm__ volatile("" ::: "memory");
    for (int row = 0; row < hk_unit->shapes.rows[c]; row++) {
        __m512 sum[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
        for (int k = 0; k < depth; k++) {
            __m512i x = _mm512_set1_epi32((int)hk_unit->tile[a][row][k]), y = _mm512_load_si512(hk_unit->tile[b][k]);
            sum[0] = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_slli_epi32(x, 16)),
                                     _mm512_castsi512_ps(_mm512_slli_epi32(y, 16)), sum[0]);
            sum[1] = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_and_si512(x, odd)),
                                     _mm512_castsi512_ps(_mm512_and_si512(y, odd)), sum[1]);
        }
        __m512 before = _mm512_load_ps((const float *)hk_unit->tile[c][row]);
        _mm512_store_ps((float *)hk_unit->tile[c][row], _mm512_add_ps(before, _mm512_add_ps(sum[0], sum[1])));
    }
    __asm__ volatile("" ::: "memory");
    _mm_setcsr(mode);
}

static inline void hk_unit_multiply_int8(int c, int a, int b) {
    const int depth = hk_unit_depth(c, a, b);
    HK_UNIT_COUNT(HK_UNIT_MULTIPLIES, 1);
    for (int row = 0; row < hk_unit->shapes.rows[c]; row++)
        for (int k = 0; k < depth; k++)
            for (int n = 0; n < 16; n++)
                for (int byte = 0; byte < 32; byte += 8) {
                    int32_t x = (int8_t)(hk_unit->tile[a][row][k] >> byte),
                            y = (int8_t)(hk_unit->tile[b][k][n] >> byte);
                    hk_unit->tile[c][row][n] += (uint32_t)(x * y);
                }
}
#endif

#endif
