/* Prints a digest of the results of each native operation below, on random and on special operands: built for several
 * CPUs, it must print the same. test_arm.py runs it. */
#include "ops/matrix.h"

#include <stdio.h>

#define ROWS 128
#define CASES 24

int32_t hk_mfma_f32_16x16(Wave *w, const Op *op);
int32_t hk_mfma_f32_32x32(Wave *w, const Op *op);
int32_t hk_mfma_i32_16x16(Wave *w, const Op *op);
int32_t hk_mfma_i32_32x32(Wave *w, const Op *op);
int32_t hk_mfma_f32_16x16_chain(Wave *w, const Op *op, int32_t count);
int32_t hk_mfma_f32_32x32_chain(Wave *w, const Op *op, int32_t count);

static const char *const NAMES[] = {"f32", "xf32", "f16", "bf16", "fp8", "bf8", "fp8_fnuz", "bf8_fnuz", "i8"};

static uint64_t state = 0x9e3779b97f4a7c15u;
static uint32_t next(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 16);
}

/* Bits of a float of 32 or 16 bits: near 1, arbitrary, or with the smallest or largest exponents. */
static uint32_t number(int kind, uint32_t exponent_bits, uint32_t mantissa_bits) {
    uint32_t bits = next(), width = exponent_bits + mantissa_bits, all = (1u << exponent_bits) - 1;
    uint32_t sign = bits >> 31 << width, mantissa = bits & ((1u << mantissa_bits) - 1), exponent = next();
    if (kind == 0)
        exponent = all / 2 - 3 + exponent % 6;
    else if (kind == 1)
        exponent = exponent & 1 ? exponent / 2 % 4 : all - exponent / 2 % 4;
    else
        exponent &= all;
    return sign | exponent << mantissa_bits | (next() % 8 ? mantissa : 0);
}

static uint32_t dword(HkElement type, int kind) {
    if (type <= HK_XF32) return number(kind, 8, 23);
    if (type == HK_F16) return number(kind, 5, 10) | number(kind, 5, 10) << 16;
    if (type == HK_BF16) return number(kind, 8, 7) | number(kind, 8, 7) << 16;
    return kind == 0 ? next() & 0xbfbfbfbfu : next();
}

static uint64_t digest(uint64_t sum, const uint32_t *v, int count) {
    for (int i = 0; i < count; i++) sum = (sum ^ v[i]) * 0x100000001b3u;
    return sum;
}

static uint32_t v[ROWS * HK_LANES] __attribute__((aligned(64)));
static Wave wave;

/* A at rows 0.., B at 8.., C or D at 64.., D beside at 96... */
static void one(HkElement a, HkElement b, int m, int rows) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (int n = 0; n < CASES; n++) {
        int kind = n % 3, place = n / 3 % 4;
        for (int i = 0; i < 8 * HK_LANES; i++) v[i] = dword(a, kind), v[8 * HK_LANES + i] = dword(b, kind);
        for (int i = 16 * HK_LANES; i < ROWS * HK_LANES; i++) v[i] = a == HK_INT8 ? next() : number(kind, 8, 23);
        Op op = {.src0 = 0, .src1 = 8, .src2 = 64, .dst = 64, .imm = {next(), 0, (uint32_t)(rows | rows << 8), 0}};
        op.flags = (uint32_t)a | (uint32_t)b << 4 | 1u << 8;
        if (place == 1) op.dst = 96;
        if (place == 2) op.dst = 66;            /* across C */
        if (place == 3) op.dst = n & 1 ? 0 : 7; /* over A or B, or both */
        if (n % 8 == 7) op.flags |= HK_MATRIX_C_CONSTANT;
        (a == HK_INT8 ? m == 16 ? hk_mfma_i32_16x16 : hk_mfma_i32_32x32
         : m == 16    ? hk_mfma_f32_16x16
                      : hk_mfma_f32_32x32)(&wave, &op);
        sum = digest(sum, v, ROWS * HK_LANES);
    }
    printf("%s %s %dx%d of %d rows: %016llx\n", NAMES[a], NAMES[b], m, m, rows, (unsigned long long)sum);
}

/* Four instructions that add to one result, and one beside them. */
static void chain(HkElement type, int m, int rows) {
    uint64_t sum = 0xcbf29ce484222325u;
    for (int n = 0; n < CASES; n++) {
        for (int i = 0; i < 64 * HK_LANES; i++) v[i] = dword(type, n % 3);
        for (int i = 64 * HK_LANES; i < ROWS * HK_LANES; i++) v[i] = number(n % 3, 8, 23);
        Op ops[5];
        for (uint16_t i = 0; i < 5; i++) {
            ops[i] = (Op){.src0 = (uint16_t)(8 * i), .src1 = (uint16_t)(8 * i + 4), .src2 = 64, .dst = 64};
            ops[i].imm[2] = (uint32_t)(rows | rows << 8);
            ops[i].flags = (uint32_t)type | (uint32_t)type << 4 | 1u << 8 | (i < 3 ? HK_MATRIX_LINKED : 0);
        }
        ops[4].src2 = ops[4].dst = 96;
        (m == 16 ? hk_mfma_f32_16x16_chain : hk_mfma_f32_32x32_chain)(&wave, ops, 5);
        sum = digest(sum, v, ROWS * HK_LANES);
    }
    printf("chain of %s %dx%d of %d rows: %016llx\n", NAMES[type], m, m, rows, (unsigned long long)sum);
}

/* 64 bits per lane from and to memory, at any byte address. */
static void memory(int wide) {
    static uint8_t bytes[16384] __attribute__((aligned(4)));
    static uint64_t places[HK_LANES];
    uint64_t sum = 0xcbf29ce484222325u;
    for (int n = 0; n < CASES; n++) {
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)next();
        for (int l = 0; l < HK_LANES; l++) {
            uint32_t at = n % 3 == 0 ? 8 * (uint32_t)l : next() % (sizeof bytes - 8);
            if (wide)
                places[l] = (uint64_t)(uintptr_t)(bytes + at);
            else
                ((uint32_t *)places)[l] = at;
        }
        hk_gather(HK_B64, v, wide, bytes, places);
        sum = digest(sum, v, 2 * HK_LANES);
        for (int i = 0; i < 2 * HK_LANES; i++) v[i] = next();
        hk_scatter(HK_B64, v, wide, bytes, places, HK_ALL_LANES);
        sum = digest(sum, (const uint32_t *)(const void *)bytes, sizeof bytes / 4);
    }
    printf("64 bits of memory, offsets of %d bits: %016llx\n", wide ? 64 : 32, (unsigned long long)sum);
}

int main(void) {
    wave.v = v;
    wave.mode = 0xf0;
    memory(0);
    memory(1);
    for (int m = 16; m <= 32; m += 16) {
        for (int rows = 1; rows <= 4; rows *= 2) {
            for (int type = HK_F16; type <= HK_BF16; type++) {
                one((HkElement)type, (HkElement)type, m, rows);
                chain((HkElement)type, m, rows);
            }
            one(HK_INT8, HK_INT8, m, rows);
        }
        one(HK_F32, HK_F32, m, 1);
        one(HK_XF32, HK_XF32, m, 2);
        for (int a = HK_FP8; a <= HK_BF8_FNUZ; a++) one((HkElement)a, (HkElement)(a ^ 1), m, 2);
        one(HK_FP8, HK_FP8, m, 2);
    }
    return 0;
}
