/* A table of functions for matrix instructions that a CPU executes faster than matrix.h's loops.
 *
 * The library is built for one level of CPU (toolchain/native.py), which chooses the table at compile time; the
 * compiler inlines the functions. Whether there are tiles, and whether VDPBF16PS is faster, is known when the library
 * is loaded: the functions check that.
 */
#ifndef HK_MATRIX_BACKEND_H
#define HK_MATRIX_BACKEND_H

#include "ops/matrix_avx512.h"
#include "ops/matrix_chain.h"
#include "ops/matrix_dot_scaled.h"
#include "ops/matrix_neon.h"

/* NULL: this CPU has nothing faster. `m` is 16 or 32; instructions have one block. If `c` may be NULL, every element of
 * C is then `constant`, or the instruction's. Functions with a result return 0, without having written D, if they
 * cannot handle the case. */
typedef struct HkMatrixBackend {
    /* D = C + A B of int8, modulo 2^32, of `count` rows; with 32 rows D overlaps no factor, and overlaps C only if it
     * is C. */
    void (*bytes)(int m, uint32_t *d, const uint32_t *c, uint32_t constant, const uint32_t *rows_a,
                  const uint32_t *rows_b, int count);
    /* An instruction of bf16 or 8-bit floats, computed with pairs of bf16 stored in `room`. */
    int (*pairs)(const Op *op, int m, uint32_t *room, float *d, const float *c, const uint32_t *rows_a,
                 const uint32_t *rows_b);
    /* D = C + A B of 8-bit floats; `pairs` has room for both factors, of `count` rows. */
    void (*eights)(HkElement type_a, HkElement type_b, int m, float *d, const float *c, uint32_t *pairs,
                   const HkFactors *factors, int count);
    /* D = C + A[0] B[0] + ... of f16 or bf16; `a` has room for all of A as floats. */
    void (*halves)(HkElement type, int m, float *d, const float *c, float *a, const HkFactors *factors, int links,
                   int count);
    /* Instructions of a chain of bf16 that add to one result; returns flags of the operands (matrix_dot.h). */
    int (*links)(Wave *w, const Op *op, int links, int m, int known);
    /* A chain of bf16. */
    int (*chain)(Wave *w, const Op *op, int32_t count, int m);
    /* An instruction of 8, 6 or 4 bits; `a`, `b`, `c` are room for operands, scales are NULL if there are none. */
    int (*scaled)(Wave *w, const Op *op, int m, uint32_t *a, uint32_t *b, float *c, const int *scale_a,
                  const int *scale_b);
} HkMatrixBackend;

static const HkMatrixBackend HK_BACKEND = {
#ifdef HK_AVX512
    .halves = hk_avx512_halves,
#endif
#ifdef HK_DOT_BYTES
    .bytes = hk_dot_bytes,
#endif
#ifdef HK_DOT
    .pairs = hk_dot_instruction,
    .links = hk_dot_links,
    .scaled = hk_dot_scaled,
#endif
#ifdef HK_TILES
    .chain = hk_tiles_chain,
#endif
#ifdef HK_NEON
    .halves = hk_neon_multiply_halves,
#endif
#ifdef HK_NEON_EIGHTS
    .eights = hk_neon_multiply_eights,
#endif
#ifdef HK_NEON_BYTES
    .bytes = hk_neon_multiply_bytes,
#endif
};

#endif
