/* Memory traffic of a launch: counts by instruction, and the lines that each wave touches in order.
 *
 * Recorded only if a launch requests it, with one recorder per worker. The cache model (caches.c) replays the streams
 * of lines after the launch: waves of the emulated device have no clock, so hits on lines that another wave fetched
 * cannot be determined while they run.
 */
#ifndef HK_TRAFFIC_H
#define HK_TRAFFIC_H

#include "run/wave.h"

#define HK_LINE_SHIFT 7 /* L1 and L2 both have lines of 128 bytes (AMD CDNA 3 white paper) */

/* A touched line: address >> 7 in bits 40:0, touched 32-byte sectors in 44:41, HK_LINE_* in 47:45, and in 63:48 the
 * distance in memory instructions from the line before it in the stream (65535: that or more). */
#define HK_EVENT_LINE(e) ((e) & ((1ull << 41) - 1))
#define HK_EVENT_SECTORS(e) ((uint32_t)((e) >> 41) & 15)
#define HK_EVENT_KIND(e) ((uint32_t)((e) >> 45) & 7)
#define HK_EVENT_DELAY(e) ((uint32_t)((e) >> 48))

/* Stream of the lines that one wave touches. */
struct HkStream {
    struct HkStream *next, *previous;
    uint64_t group; /* linear index of the work-group */
    uint32_t wave;
    uint32_t capacity;
    uint32_t ended; /* nonzero: the work-group is over */
    uint64_t *events;
    uint32_t *sites; /* for each event, its instruction's dword in the code */
    uint64_t count;
    uint64_t clock; /* turns so far; a barrier raises all waves of a group to the maximum */
    uint64_t last;  /* clock of the last event */
};

#define HK_STREAM_COST 12u /* memory of a stream itself, in events */

/* A line's set in a cache: its address bits are folded, so that adjacent lines lie in different sets and strides of
 * powers of two still spread. Real caches fold address bits too; their hash is not published. */
static inline uint64_t hk_fold(uint64_t line) { return line ^ line >> 11 ^ line >> 22 ^ line >> 33; }

/* Hash without correlation between neighbouring lines, or lines a power of two apart: a sample must take the same
 * fraction of an instruction's lines as of all lines, or it fills a small cache at once (finalizer of MurmurHash3, A.
 * Appleby, public domain). */
static inline uint64_t hk_mixed(uint64_t line) {
    line = (line ^ line >> 33) * 0xff51afd7ed558ccdull;
    line = (line ^ line >> 33) * 0xc4ceb9fe1a85ec53ull;
    return line ^ line >> 33;
}

static inline int hk_sampled(uint64_t line, uint32_t sampling) {
    return (hk_mixed(line) & ((1ull << sampling) - 1)) == 0;
}

void hk_traffic_start(HkTraffic *t, Group *g, Wave *waves);
void hk_traffic_end(HkTraffic *t, const Group *g, Wave *waves);
void hk_traffic_barrier(const Group *g, Wave *waves);
/* `placed`: the addresses on a GPU, where allocations begin at a line. */
void hk_traffic_lanes(Wave *w, const Op *op, const uint64_t *at, const uint64_t *placed, uint64_t exec, uint32_t bytes,
                      int is_write);
void hk_traffic_lds(Wave *w, const Op *op, uint64_t cycles, uint64_t conflicts, uint64_t bytes);

#endif
