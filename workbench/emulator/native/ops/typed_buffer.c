/* BUFFER_LOAD_FORMAT_, BUFFER_STORE_FORMAT_ and TBUFFER_: typed elements, converted by the instruction.
 *
 * Op fields as in buffer.c; imm[1] the registers' components in bits 2:0, 16-bit components in bit 3,
 * the high half only in bit 4, a store in bit 5, and the data and number format of a TBUFFER instruction in
 * bits 11:8 and 14:12 with bit 15 set (without it both come from the resource); with bit 16 both are one number, in
 * bits 14:8, or 17:12 of the resource's last dword. Element formats and the order
 * of their bits as in the CDNA3 ISA guide, "Data formats".
 */
#include "ops/bits.h"
#include "ops/buffer.h"

#define HK_FORMAT_COMPONENTS(op) ((op)->imm[1] & 7)

enum { HK_UNORM, HK_SNORM, HK_USCALED, HK_SSCALED, HK_UINT, HK_SINT, HK_NO_FORMAT, HK_FLOAT };

typedef struct HkFormat {
    uint8_t count, bits[4]; /* component sizes, from the least significant bit on */
} HkFormat;

static const HkFormat hk_formats[16] = {
    {0, {0}},
    {1, {8}},
    {1, {16}},
    {2, {8, 8}},
    {1, {32}},
    {2, {16, 16}},
    {3, {11, 11, 10}},
    {3, {10, 11, 11}},
    {4, {2, 10, 10, 10}},
    {4, {10, 10, 10, 2}},
    {4, {8, 8, 8, 8}},
    {2, {32, 32}},
    {4, {16, 16, 16, 16}},
    {3, {32, 32, 32}},
    {4, {32, 32, 32, 32}},
    {0, {0}},
};

/* Data and number format of each unified format of gfx11 and later (RDNA3 ISA guide, "Buffer formats"). */
static const uint8_t hk_unified_formats[64][2] = {
    {0, 0},
#define HK_NORMS(data)                                                                                                 \
    {data, HK_UNORM}, { data, HK_SNORM }
#define HK_SCALED(data)                                                                                                \
    {data, HK_USCALED}, { data, HK_SSCALED }
#define HK_INTEGERS(data)                                                                                              \
    {data, HK_UINT}, { data, HK_SINT }
#define HK_ALL_BUT_FLOAT(data) HK_NORMS(data), HK_SCALED(data), HK_INTEGERS(data)
    HK_ALL_BUT_FLOAT(1),
    HK_ALL_BUT_FLOAT(2),
    {2, HK_FLOAT},
    HK_ALL_BUT_FLOAT(3),
    HK_INTEGERS(4),
    {4, HK_FLOAT},
    HK_ALL_BUT_FLOAT(5),
    {5, HK_FLOAT},
    {6, HK_FLOAT},
    {7, HK_FLOAT},
    HK_NORMS(8),
    HK_INTEGERS(8),
    HK_ALL_BUT_FLOAT(9),
    HK_ALL_BUT_FLOAT(10),
    HK_INTEGERS(11),
    {11, HK_FLOAT},
    HK_ALL_BUT_FLOAT(12),
    {12, HK_FLOAT},
    HK_INTEGERS(13),
    {13, HK_FLOAT},
    HK_INTEGERS(14),
    {14, HK_FLOAT},
};

static int hk_is_integer(uint32_t number) { return number == HK_UINT || number == HK_SINT; }

/* A component of `bits` bits as its 32-bit register value. */
static uint32_t hk_expand(uint32_t raw, uint32_t bits, uint32_t number) {
    int32_t signed_raw = (int32_t)(raw << (32 - bits)) >> (32 - bits);
    switch (number) {
    case HK_UNORM:
        return hk_float_bits((float)((double)raw / (double)(0xffffffffu >> (32 - bits))));
    case HK_SNORM: {
        double value = (double)signed_raw / (double)((1u << (bits - 1)) - 1);
        return hk_float_bits((float)(value < -1 ? -1 : value));
    }
    case HK_USCALED:
        return hk_float_bits((float)raw);
    case HK_SSCALED:
        return hk_float_bits((float)signed_raw);
    case HK_UINT:
        return raw;
    case HK_SINT:
        return (uint32_t)signed_raw;
    case HK_FLOAT:
        if (bits == 32) return raw;
        if (bits == 16) return hk_float_bits(hk_from_half(raw));
        /* 10 and 11 bits: a half without its sign and its lowest mantissa bits. */
        if (bits == 10 || bits == 11) return hk_float_bits(hk_from_half(raw << (15 - bits)));
        return 0;
    default:
        return 0;
    }
}

static double hk_clamped(double value, double low, double high) {
    return value != value ? 0 : value < low ? low : value > high ? high : value;
}

/* A register's value as a component of `bits` bits. */
static uint32_t hk_pack(uint32_t value, uint32_t bits, uint32_t number) {
    uint32_t mask = 0xffffffffu >> (32 - bits);
    double high = (double)(mask >> 1), real = (double)hk_float(value);
    switch (number) {
    case HK_UNORM:
        return (uint32_t)(int64_t)__builtin_rint(hk_clamped(real, 0, 1) * (double)mask);
    case HK_SNORM:
        return (uint32_t)(int64_t)__builtin_rint(hk_clamped(real, -1, 1) * high) & mask;
    case HK_USCALED:
        return (uint32_t)(int64_t)hk_clamped(real, 0, (double)mask);
    case HK_SSCALED:
        return (uint32_t)(int64_t)hk_clamped(real, -high - 1, high) & mask;
    case HK_UINT:
        return value > mask ? mask : value;
    case HK_SINT:
        return (uint32_t)(int64_t)hk_clamped((double)(int32_t)value, -high - 1, high) & mask;
    case HK_FLOAT:
        if (bits == 32) return value;
        if (bits == 16) return hk_to_half(hk_float(value));
        if (bits == 10 || bits == 11) return hk_to_half((float)hk_clamped(real, 0, 65504)) >> (15 - bits);
        return 0;
    default:
        return 0;
    }
}

typedef struct HkElementMove {
    const HkResource *resource;
    HkFormat format;
    uint32_t number, bytes;
} HkElementMove;

/* Address of dword or part `at` of an element; a swizzled buffer keeps only 4 bytes contiguous. */
static uint8_t *hk_element_byte(const HkElementMove *m, uint64_t address, uint32_t at) {
    uint64_t step = m->resource->swizzle ? (uint64_t)4 * m->resource->index_stride : 4;
    return (uint8_t *)(uintptr_t)(address + at / 4 * step + at % 4);
}

static void hk_load_element(const Op *op, const HkElementMove *m, uint64_t address, int inside, uint32_t *rows,
                            unsigned lane) {
    uint32_t one = hk_is_integer(m->number) ? 1 : 0x3f800000, value[4] = {0, 0, 0, 0};
    if (inside) {
        uint32_t bit = 0;
        value[3] = one;
        for (uint32_t c = 0; c < m->format.count; c++) {
            uint64_t word = 0;
            for (uint32_t b = 0; b < 4; b++)
                if (bit / 8 / 4 * 4 + b < m->bytes)
                    word |= (uint64_t)*hk_element_byte(m, address, bit / 32 * 4 + b) << (8 * b);
            uint32_t raw = (uint32_t)(word >> (bit % 32)) & (0xffffffffu >> (32 - m->format.bits[c]));
            value[c] = hk_expand(raw, m->format.bits[c], m->number);
            bit += m->format.bits[c];
        }
    }
    uint32_t result[4];
    for (uint32_t c = 0; c < 4; c++) {
        uint32_t select = op->imm[1] & HK_FORMAT_TYPED ? 4 + c : m->resource->select[c];
        result[c] = select == 1 ? one : select >= 4 ? value[select - 4] : 0;
    }
    uint32_t count = HK_FORMAT_COMPONENTS(op);
    if (!(op->imm[1] & HK_FORMAT_D16)) {
        for (uint32_t c = 0; c < count; c++) rows[c * HK_LANES + lane] = result[c];
        return;
    }
    for (uint32_t c = 0; c < count; c++)
        result[c] = hk_is_integer(m->number) ? result[c] & 0xffff : hk_to_half(hk_float(result[c]));
    if (op->imm[1] & HK_FORMAT_HIGH)
        rows[lane] = result[0] << 16;
    else
        for (uint32_t c = 0; c < count; c += 2)
            rows[c / 2 * HK_LANES + lane] = result[c] | (c + 1 < count ? result[c + 1] << 16 : 0);
}

static void hk_store_element(const Op *op, const HkElementMove *m, uint64_t address, const uint32_t *rows,
                             unsigned lane) {
    uint32_t count = HK_FORMAT_COMPONENTS(op), bit = 0;
    uint8_t element[16] = {0};
    for (uint32_t c = 0; c < m->format.count; c++) {
        uint32_t value = 0;
        if (c < count) {
            if (op->imm[1] & HK_FORMAT_D16) {
                uint32_t pair = rows[c / 2 * HK_LANES + lane],
                         half = c % 2 || op->imm[1] & HK_FORMAT_HIGH ? pair >> 16 : pair & 0xffff;
                value = hk_is_integer(m->number) ? (m->number == HK_SINT ? (uint32_t)(int32_t)(int16_t)half : half)
                                                 : hk_float_bits(hk_from_half(half));
            } else
                value = rows[c * HK_LANES + lane];
        }
        uint64_t placed = (uint64_t)hk_pack(value, m->format.bits[c], m->number) << (bit % 8);
        for (uint32_t b = bit / 8; placed != 0 && b < 16; b++, placed >>= 8) element[b] |= (uint8_t)placed;
        bit += m->format.bits[c];
    }
    for (uint32_t b = 0; b < m->bytes; b++) *hk_element_byte(m, address, b) = element[b];
}

HK_EXPORT int32_t hk_buffer_format(Wave *w, const Op *op) {
    uint64_t exec = hk_exec(w);
    if (exec == 0) return 0;
    HkResource r = hk_resource(w, op);
    uint32_t data = op->imm[1] & HK_FORMAT_TYPED ? op->imm[1] >> 8 & 15 : r.data_format;
    uint32_t number = op->imm[1] & HK_FORMAT_TYPED ? op->imm[1] >> 12 & 7 : r.num_format;
    if (op->imm[1] & HK_FORMAT_UNIFIED) {
        const uint8_t *both = hk_unified_formats[op->imm[1] & HK_FORMAT_TYPED ? op->imm[1] >> 8 & 63 : r.unified];
        data = both[0], number = both[1];
    }
    int is_write = (op->imm[1] & HK_FORMAT_STORE) != 0;
    HkElementMove move = {&r, hk_formats[data], number, 0};
    for (uint32_t c = 0; c < move.format.count; c++) move.bytes += move.format.bits[c];
    move.bytes /= 8;
    uint32_t *rows = hk_row(w, is_write ? op->src1 : op->dst);
    HkBuffer b;
    /* Bytes are checked one by one, so that an element is in range only as a whole. */
    uint32_t count = move.bytes ? move.bytes : 1;
    hk_buffer_addresses(w, op, &r, exec, count, 1, &b);
    uint64_t inside = move.bytes ? exec & ~b.out : 0;
    HK_FOR_LANES(lane, inside) {
        for (uint32_t at = 0; at < move.bytes; at += 4) {
            uint32_t size = move.bytes - at < 4 ? move.bytes - at : 4;
            uint64_t address = (uint64_t)(uintptr_t)hk_element_byte(&move, hk_address(&b.address, lane), at);
            if (hk_check(w, op, address, size, is_write, (int32_t)lane) == NULL) return 1;
        }
    }
    if (w->group->profile && inside != 0) {
        HkAddresses whole = b.address;
        whole.exec = inside;
        hk_count_global(w, op, &whole, move.bytes, is_write);
    }
    HK_FOR_LANES(lane, exec) {
        uint64_t address = hk_address(&b.address, lane);
        int in = (int)(inside >> lane & 1);
        if (!is_write)
            hk_load_element(op, &move, address, in, rows, lane);
        else if (in)
            hk_store_element(op, &move, address, rows, lane);
    }
    return 0;
}
