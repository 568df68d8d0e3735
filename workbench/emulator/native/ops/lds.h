/* LDS accesses: bounds of the active lanes' offsets, and counters.
 *
 * Hardware does not stop at the end of the kernel's allocation: LDS is allocated in steps (Launch.lds_end), and
 * accesses up to the end of a step see whatever is there; past it, reads give 0 and writes are dropped. All such
 * accesses are reported (hk_lds_overrun).
 */
#ifndef HK_LDS_H
#define HK_LDS_H

#include "run/lanes.h"

void hk_count_lds(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t exec, uint32_t bytes,
                  HkLdsKind kind);

/* The lanes of an access that are inside the LDS; `fault` is nonzero if a fault was recorded. */
typedef struct {
    uint64_t exec;
    int32_t fault;
} HkLdsLanes;

HkLdsLanes hk_lds_beyond(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t exec, uint32_t bytes,
                         HkLdsKind kind);

/* True if the `bytes` of every active lane are in the kernel's allocation, and none is bare. */
HK_INLINE int hk_in_lds(const Wave *w, const uint32_t *row, uint32_t offset, uint64_t exec, uint32_t bytes) {
    return (uint64_t)hk_span32(row, exec).hi + offset + bytes <= w->lds_size;
}

/* The lanes of `exec` for which `bytes` at row[lane] + offset exist. */
HK_INLINE HkLdsLanes hk_check_lds_row(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t exec,
                                      uint32_t bytes, HkLdsKind kind) {
    if (__builtin_expect(!hk_in_lds(w, row, offset, exec, bytes), 0))
        return hk_lds_beyond(w, op, row, offset, exec, bytes, kind);
    if (__builtin_expect(w->group->profile, 0)) hk_count_lds(w, op, row, offset, exec, bytes, kind);
    return (HkLdsLanes){exec, 0};
}

/* Loads 0 into `lanes`, which are outside the LDS. */
void hk_load_nothing(HkData data, uint32_t *rows, uint64_t lanes);

/* The rows to use with `*offset`. Address and immediate are added in 32 bits, so a negative base may be combined with
 * an immediate that makes it positive (compilers do that for s[255 - i]). */
HK_INLINE const uint32_t *hk_lds_wrap(const uint32_t *row, uint32_t *offset, uint64_t exec, uint32_t *wrapped) {
    if (__builtin_expect((uint64_t)hk_span32(row, exec).hi + *offset <= UINT32_MAX, 1)) return row;
    for (int l = 0; l < HK_LANES; l++) wrapped[l] = row[l] + *offset;
    *offset = 0;
    return wrapped;
}

/* Both in one: `*row` and `*offset` become what to use. Nearly all accesses are inside the allocation, so that they
 * cannot wrap either, and the offsets are looked at only once. */
HK_INLINE HkLdsLanes hk_lds_lanes(Wave *w, const Op *op, const uint32_t **row, uint32_t *offset, uint64_t exec,
                                  uint32_t *wrapped, uint32_t bytes, HkLdsKind kind) {
    if (__builtin_expect(!hk_in_lds(w, *row, *offset, exec, bytes), 0)) {
        *row = hk_lds_wrap(*row, offset, exec, wrapped);
        return hk_check_lds_row(w, op, *row, *offset, exec, bytes, kind);
    }
    if (__builtin_expect(w->group->profile, 0)) hk_count_lds(w, op, *row, *offset, exec, bytes, kind);
    return (HkLdsLanes){exec, 0};
}

#endif
