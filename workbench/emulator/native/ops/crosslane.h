/* Source lane of each lane. */
#pragma once
#include "run/lanes.h"

/* DS_BPERMUTE: lane (address / 4) modulo the wave size. */
HK_INLINE unsigned hk_bpermute_source(uint32_t address) { return address / 4 % HK_LANES; }

/* DS_SWIZZLE: source lane from the pattern in the offset field. */
HK_INLINE unsigned hk_swizzle_source(uint32_t pattern, unsigned l) {
    if (pattern >= 0xe000) {
        /* The order of a fast Fourier transform: bits reversed, except the masked ones. */
        unsigned mask = pattern & 31, reversed = 0;
        for (unsigned b = 0; b < 5; b++) reversed |= (l >> b & 1) << (4 - b);
        return (l & 32) | reversed >> __builtin_popcount(mask) | (l & mask);
    }
    if (pattern & 0x8000) {
        if ((pattern & 0xf000) == 0xc000) {
            /* Rotate in groups of 32: bits 9:5 give the distance, bit 10 the direction, bits 4:0 the lane bits that
               stay. */
            unsigned rotate = pattern >> 5 & 31, keep = pattern & 31;
            if (pattern & 0x400) rotate = 32 - rotate;
            unsigned turned = (l + rotate) & 31;
            return (l & 32) | (l & keep) | (turned & ~keep);
        }
        return (l & ~3u) | (pattern >> (2 * (l & 3)) & 3);
    }
    unsigned and_mask = pattern & 31, or_mask = pattern >> 5 & 31, xor_mask = pattern >> 10 & 31;
    return (l & 32) | ((((l & 31) & and_mask) | or_mask) ^ xor_mask);
}
