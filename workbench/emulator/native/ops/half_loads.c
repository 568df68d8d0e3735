/* Loads of half a register that leave the other half as it was: those of targets without SRAM-ECC.
 *
 * Op fields as of the same load elsewhere (flat.c, buffer.c, typed_buffer.c, lds.c); flags say which half stays.
 */
#include "ops/buffer.h"

static int32_t hk_keep_half(Wave *w, const Op *op, uint32_t row, NativeFn load) {
    uint32_t *to = hk_row(w, op->dst + row), kept = op->flags & HK_KEEPS_LOW ? 0xffff : 0xffff0000;
    uint32_t old[HK_LANES] __attribute__((aligned(64)));
    memcpy(old, to, sizeof old);
    int32_t fault = load(w, op);
    for (int l = 0; l < HK_LANES; l++) to[l] = (to[l] & ~kept) | (old[l] & kept);
    return fault;
}

#define HK_DEFINE_KEEPING(name)                                                                                        \
    int32_t hk_##name(Wave *w, const Op *op);                                                                          \
    HK_EXPORT int32_t hk_##name##_keep(Wave *w, const Op *op) { return hk_keep_half(w, op, 0, hk_##name); }
#define HK_DEFINE_KEEPING_HALVES(load)                                                                                 \
    HK_DEFINE_KEEPING(load##_ubyte_d16)                                                                                \
    HK_DEFINE_KEEPING(load##_ubyte_d16_hi)                                                                             \
    HK_DEFINE_KEEPING(load##_sbyte_d16)                                                                                \
    HK_DEFINE_KEEPING(load##_sbyte_d16_hi)                                                                             \
    HK_DEFINE_KEEPING(load##_short_d16)                                                                                \
    HK_DEFINE_KEEPING(load##_short_d16_hi)

HK_DEFINE_KEEPING_HALVES(global_load)
HK_DEFINE_KEEPING_HALVES(flat_load)
HK_DEFINE_KEEPING_HALVES(scratch_load)
HK_DEFINE_KEEPING_HALVES(buffer_load)
HK_DEFINE_KEEPING(ds_read_u8_d16)
HK_DEFINE_KEEPING(ds_read_u8_d16_hi)
HK_DEFINE_KEEPING(ds_read_i8_d16)
HK_DEFINE_KEEPING(ds_read_i8_d16_hi)
HK_DEFINE_KEEPING(ds_read_u16_d16)
HK_DEFINE_KEEPING(ds_read_u16_d16_hi)

int32_t hk_buffer_format(Wave *w, const Op *op);
HK_EXPORT int32_t hk_buffer_format_keep(Wave *w, const Op *op) {
    /* The last register of an odd number of components. */
    return hk_keep_half(w, op, (op->imm[1] & 7) / 2, hk_buffer_format);
}
