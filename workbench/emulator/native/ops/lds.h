/* LDS accesses: bounds of the active lanes' offsets, and what is counted of them. */
#ifndef HK_LDS_H
#define HK_LDS_H

#include "run/lanes.h"

void hk_count_lds(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t exec, uint32_t bytes,
                  HkLdsKind kind);
int32_t hk_lds_fault(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t exec, uint32_t bytes,
                     int is_write);

/* Nonzero after recording a fault: every active lane's `bytes` at row[lane] + offset must be in the share. */
HK_INLINE int32_t hk_check_lds_row(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t exec,
                                   uint32_t bytes, HkLdsKind kind) {
    uint64_t end = (uint64_t)hk_span32(row, exec).hi + offset + bytes;
    if (__builtin_expect(end > w->lds_size, 0))
        return hk_lds_fault(w, op, row, offset, exec, bytes, kind == HK_LDS_WRITE);
    if (__builtin_expect(w->group->profile, 0)) hk_count_lds(w, op, row, offset, exec, bytes, kind);
    return 0;
}

/* Rows to use with `*offset`: address and immediate are added in 32 bits, so that a base below zero may come
 * with an immediate that brings it back (compilers make that of s[255 - i]). */
HK_INLINE const uint32_t *hk_lds_wrap(const uint32_t *row, uint32_t *offset, uint64_t exec, uint32_t *wrapped) {
    if (__builtin_expect((uint64_t)hk_span32(row, exec).hi + *offset <= UINT32_MAX, 1)) return row;
    for (int l = 0; l < HK_LANES; l++) wrapped[l] = row[l] + *offset;
    *offset = 0;
    return wrapped;
}

#endif
