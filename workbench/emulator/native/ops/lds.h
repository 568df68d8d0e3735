/* LDS accesses: bounds of the active lanes' offsets, and counters of them.
 *
 * Hardware does not stop at the end of the kernel's allocation: LDS is allocated in steps (Launch.lds_end), and
 * accesses up to the end of a step find whatever is there; behind it they read 0 and write nothing. Such accesses are
 * reported (hk_lds_overrun).
 */
#ifndef HK_LDS_H
#define HK_LDS_H

#include "run/lanes.h"

void hk_count_lds(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t exec, uint32_t bytes,
                  HkLdsKind kind);

/* The lanes of an access that are inside the LDS; nonzero `fault`: one was recorded. */
typedef struct {
    uint64_t exec;
    int32_t fault;
} HkLdsLanes;

HkLdsLanes hk_lds_beyond(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t exec, uint32_t bytes,
                         HkLdsKind kind);

/* Whether all of the active lanes' `bytes` are in the kernel's allocation. */
HK_INLINE int hk_in_lds(const Wave *w, const uint32_t *row, uint32_t offset, uint64_t exec, uint32_t bytes) {
    return (uint64_t)hk_span32(row, exec).hi + offset + bytes <= w->lds_size;
}

/* The lanes of `exec` of which `bytes` at row[lane] + offset are there. */
HK_INLINE HkLdsLanes hk_check_lds_row(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t exec,
                                      uint32_t bytes, HkLdsKind kind) {
    if (__builtin_expect(!hk_in_lds(w, row, offset, exec, bytes), 0))
        return hk_lds_beyond(w, op, row, offset, exec, bytes, kind);
    if (__builtin_expect(w->group->profile, 0)) hk_count_lds(w, op, row, offset, exec, bytes, kind);
    return (HkLdsLanes){exec, 0};
}

/* `lanes`, which are outside the LDS, load 0. */
void hk_load_nothing(HkData data, uint32_t *rows, uint64_t lanes);

/* Rows to use with `*offset`: address and immediate are added in 32 bits, so that a base below zero may come
 * with an immediate that brings it back (compilers make that of s[255 - i]). */
HK_INLINE const uint32_t *hk_lds_wrap(const uint32_t *row, uint32_t *offset, uint64_t exec, uint32_t *wrapped) {
    if (__builtin_expect((uint64_t)hk_span32(row, exec).hi + *offset <= UINT32_MAX, 1)) return row;
    for (int l = 0; l < HK_LANES; l++) wrapped[l] = row[l] + *offset;
    *offset = 0;
    return wrapped;
}

#endif
