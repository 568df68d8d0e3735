/* Addresses of BUFFER_ instructions: a resource of four SGPRs, an index, offsets and a range check. */
#ifndef HK_MEMORY_BUFFER_H
#define HK_MEMORY_BUFFER_H

#include "ops/addresses.h"

/* Fields of a buffer resource (CDNA3 and CDNA4 ISA guides, "Buffer resource descriptor"). */
typedef struct HkResource {
    uint64_t base, records;
    uint32_t stride, index_stride;
    int swizzle, add_tid;
    uint32_t num_format, data_format, unified;
    uint32_t select[4];
} HkResource;

/* Fields of the wide form (HK_WIDE_RESOURCE). */
HK_INLINE uint64_t hk_wide_base(const uint32_t *s) { return (uint64_t)s[0] | (uint64_t)(s[1] & 0x1ffffff) << 32; }
HK_INLINE uint64_t hk_wide_records(const uint32_t *s) {
    return (uint64_t)(s[1] >> 25) | (uint64_t)s[2] << 7 | (uint64_t)(s[3] & 0x3f) << 39;
}

HK_INLINE HkResource hk_resource(const Wave *w, const Op *op) {
    const uint32_t *s = w->s + op->ssrc0;
    HkResource r;
    if (op->flags & HK_WIDE_RESOURCE) {
        /* 57 bits of base, 45 of num_records, 6 of zero, 14 of stride, 2 of its scale, 4 of flags (LLVM,
         * SIISelLowering.cpp, lowerPointerAsRsrcIntrin). No source says how these swizzle, and LLVM sets none of them;
         * the scale is read as 1. */
        r = (HkResource){.base = hk_wide_base(s), .records = hk_wide_records(s), .index_stride = 8};
        r.stride = s[3] >> 12 & 0x3fff;
        return r;
    }
    r.base = (uint64_t)s[0] | (uint64_t)(s[1] & 0xffff) << 32;
    r.stride = s[1] >> 16 & 0x3fff;
    r.add_tid = (int)(s[3] >> 23 & 1);
    /* Without any index the layout is linear: "the behavior of bound checking and swizzling changes depending on
     * whether idxen is set in the instruction" on gfx9 (LLVM, IntrinsicsAMDGPU.td, raw and struct buffer loads). */
    r.swizzle = (int)(s[1] >> 31) && (r.add_tid || (op->flags & HK_BUFFER_IDXEN));
    r.records = s[2];
    for (int i = 0; i < 4; i++) r.select[i] = s[3] >> (3 * i) & 7;
    r.num_format = s[3] >> 12 & 7;
    r.data_format = s[3] >> 15 & 15;
    r.unified = s[3] >> 12 & 63;
    r.index_stride = 8u << (s[3] >> 21 & 3);
    /* If the instruction does not use the data format, that field holds the upper bits of the stride. */
    if (r.add_tid && !(op->flags & HK_BUFFER_FORMAT)) r.stride |= r.data_format << 14;
    return r;
}

/* True for the resource in the first SGPRs of a kernel compiled for scratch in buffers (code for gfx90a). Its base has
 * a bit that is set in no address of a process; the rest of the base is the offset in the wave's scratch. */
HK_INLINE int hk_is_private(const HkResource *r) { return (int)(r->base >> 47) & r->add_tid & r->swizzle; }

/* Addresses of the lanes' data, and the mask of lanes out of range. */
typedef struct HkBuffer {
    HkAddresses address;          /* valid for lanes whose data is fully in range */
    uint64_t out;                 /* active lanes with at least one component out of range */
    uint8_t components[HK_LANES]; /* number of leading components in range, for the lanes of `out` */
} HkBuffer;

/* Checks `count` components of `size` bytes separately; format and atomic accesses pass 1. */
void hk_buffer_addresses(const Wave *w, const Op *op, const HkResource *r, uint64_t exec, uint32_t count, uint32_t size,
                         HkBuffer *b);

HK_INLINE uint32_t hk_buffer_scalar_offset(const Wave *w, const Op *op) {
    return op->ssrc1 == HK_NO_REGISTER ? op->imm[0] : w->s[op->ssrc1];
}

#endif
