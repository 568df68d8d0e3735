/* Code common to all global memory instructions: the check of each lane's address, counting, and moves into LDS. */
#include "ops/addresses.h"
#include "ops/matrix_tiles.h"
#include "observe/steps.h"
#include "observe/trace.h"
#include "observe/traffic.h"
#include "run/waiting.h"

int32_t hk_check_each(Wave *w, const Op *op, const HkAddresses *a, uint32_t bytes, int is_write) {
    HK_FOR_LANES(lane, a->exec) {
        if (hk_check(w, op, hk_address(a, lane), bytes, is_write, (int32_t)lane) == NULL) return 1;
    }
    return 0;
}

/* Distinct lines of 1 << shift bytes that the lanes' accesses touch. */
static uint32_t hk_distinct_lines(const uint64_t *at, uint64_t exec, uint32_t bytes, int shift) {
    uint64_t seen[2 * HK_LANES];
    uint32_t count = 0;
    HK_FOR_LANES(lane, exec) {
        uint64_t last = (at[lane] + bytes - 1) >> shift;
        for (uint64_t line = at[lane] >> shift; line <= last; line++) {
            uint32_t i = count;
            /* Neighbouring lanes mostly share lines, so search from the newest back. */
            while (i > 0 && seen[i - 1] != line) i--;
            if (i == 0) seen[count++] = line;
        }
    }
    return count;
}

/* Turns that L1 needs for an access. Sixteen lanes of at most a dword each take one turn if they lie in one 64-byte
 * block, which L1 serves in a cycle; otherwise four lanes share a turn, one for each block that they touch. So a wave
 * needs 4 cycles or 16 ("Understanding Memory Coalescing on GCN", GPUOpen; Gluon's tutorials give the same figures for
 * gfx950), and more if groups of four lanes straddle blocks. Of wider lanes, four share a turn whatever they touch; the
 * cost of their lines is counted in lines. */
static uint32_t hk_l1_turns(const uint64_t *at, uint64_t exec, uint32_t bytes) {
    uint32_t turns = 0;
    for (unsigned first = 0; first < HK_LANES; first += 16) {
        uint64_t lanes = exec & 0xffffull << first;
        if (lanes == 0) continue;
        if (bytes <= 4 && hk_distinct_lines(at, lanes, bytes, 6) == 1) {
            turns++;
            continue;
        }
        for (unsigned quad = first; quad < first + 16; quad += 4) {
            uint64_t four = exec & 0xfull << quad;
            turns += bytes <= 4 ? hk_distinct_lines(at, four, bytes, 6) : four != 0;
        }
    }
    return turns;
}

/* Addresses that the lanes' data would have on a GPU. The emulated device uses host memory in place, which begins at
 * any multiple of 64, at addresses that differ between processes. */
static void hk_place(const Wave *w, const uint64_t *at, uint64_t exec, uint64_t *placed) {
    const Allocation *a = NULL;
    HK_FOR_LANES(lane, exec) {
        if (a == NULL || at[lane] < a->base || at[lane] >= a->end) a = hk_find_allocation(w->group->machine, at[lane]);
        placed[lane] = a != NULL ? at[lane] - a->base + a->placed : at[lane];
    }
}

static void hk_count_lanes(Wave *w, const Op *op, const uint64_t *at, uint64_t exec, uint32_t bytes, int is_write) {
    if (w->group->watch != NULL) hk_watch_lanes(w, op, at, exec, bytes, !is_write);
    if (w->group->profile == HK_PROFILE_WATCH) return;
    HkAccess *access = hk_trace(w, op, is_write ? HK_TRACE_GLOBAL_WRITE : HK_TRACE_GLOBAL_READ, exec, bytes);
    if (access != NULL) memcpy(access->at, at, sizeof access->at);
    uint64_t placed[HK_LANES];
    hk_place(w, at, exec, placed);
    if (w->group->traffic != NULL) hk_traffic_lanes(w, op, at, placed, exec, bytes, is_write);
    if (!(w->group->profile & HK_PROFILE_ALL)) return;
    Counters *c = w->group->counters;
    uint64_t moved = (uint64_t)__builtin_popcountll(exec) * bytes;
    uint32_t lines_64 = hk_distinct_lines(placed, exec, bytes, 6);
    uint32_t lines_128 = hk_distinct_lines(placed, exec, bytes, HK_LINE_SHIFT);
    if (w->way != NULL) hk_steps_cost(w, op, 0, lines_128, hk_l1_turns(placed, exec, bytes), (uint32_t)moved);
    if (is_write) {
        c->global_bytes_written += moved;
        c->global_write_lines_64 += lines_64;
        c->global_write_lines_128 += lines_128;
    } else {
        c->global_bytes_read += moved;
        c->global_read_lines_64 += lines_64;
        c->global_read_lines_128 += lines_128;
    }
}

void hk_count_global(Wave *w, const Op *op, const HkAddresses *a, uint32_t bytes, int is_write) {
    uint64_t at[HK_LANES];
    for (unsigned l = 0; l < HK_LANES; l++) at[l] = hk_address(a, l);
    hk_count_lanes(w, op, at, a->exec, bytes, is_write);
}

void hk_count_flat(Wave *w, const Op *op, const HkAddresses *a, uint64_t exec, uint32_t bytes, int is_write) {
    if (!w->group->profile) return;
    Counters *c = w->group->counters;
    uint64_t global = 0;
    HK_FOR_LANES(lane, exec) {
        uint64_t window = a->at[lane] & HK_APERTURE_MASK;
        if (window == HK_SHARED_APERTURE) {
            *(is_write ? &c->lds_bytes_written : &c->lds_bytes_read) += bytes;
            if (w->group->watch != NULL) hk_watch_range(w, op->pc, a->at[lane], bytes, !is_write);
        } else if (window == HK_PRIVATE_APERTURE)
            *(is_write ? &c->scratch_bytes_written : &c->scratch_bytes_read) += bytes;
        else
            global |= 1ull << lane;
    }
    if (global != 0) hk_count_lanes(w, op, a->at, global, bytes, is_write);
}

/* True if each group of four lanes reads 16 contiguous bytes. */
HK_INLINE int hk_lie_in_fours(const uint64_t *at) {
    const u64x8 step = {0, 4, 8, 12, 0, 4, 8, 12};
    u64x8 apart = {};
    for (int l = 0; l < HK_LANES; l += 8) {
        u64x8 address = *(const u64x8 *)(at + l);
        apart |= address - step - __builtin_shufflevector(address, address, 0, 0, 0, 0, 4, 4, 4, 4);
    }
    return __builtin_reduce_or(apart) == 0;
}

int32_t hk_to_lds(Wave *w, const Op *op, HkData data, const uint64_t *at, uint64_t exec, uint64_t out_of_range) {
    hk_tiles_stay_awake();
    uint32_t start = hk_to_lds_start(w, op);
    uint32_t rows = data == HK_B96 ? 3 : data == HK_B128 ? 4 : 1;
    uint32_t width = 4 * rows, step = hk_to_lds_step(width);
    exec &= hk_lanes_below(w->group->lds_end, start, step, width); /* hardware drops the loads of the other lanes */
    if (exec == 0) return 0;
    uint64_t end = (uint64_t)start + HK_LANES * step;
    if (__builtin_expect(end > w->lds_size, 0)) hk_lds_reach(w, start, end, exec == HK_ALL_LANES && width == step);
    out_of_range &= exec;
    if (w->group->profile) {
        Counters *c = w->group->counters;
        uint64_t moved = (uint64_t)__builtin_popcountll(exec & ~out_of_range) * hk_data_bytes(data);
        c->direct_to_lds_bytes += moved;
        c->lds_bytes_written += (uint64_t)__builtin_popcountll(exec) * width;
        HkAccess *access = hk_trace(w, op, HK_TRACE_TO_LDS, exec, width);
        if (access != NULL)
            for (unsigned l = 0; l < HK_LANES; l++) access->at[l] = (uint64_t)start + l * step;
    }
    int lanes = data == HK_B128 ? 1 : 4; /* lanes that share 16 bytes */
    if (exec == HK_ALL_LANES && out_of_range == 0 && (data == HK_B128 || (data == HK_B32 && hk_lie_in_fours(at)))) {
        /* Prefetches a tile's next columns: its rows are usually far apart, which the CPU's prefetcher does not follow.
         */
        for (int l = 0; l < HK_LANES; l += 4 * lanes) __builtin_prefetch((const void *)(uintptr_t)(at[l] + 256));
        for (int l = 0; l < HK_LANES; l += 4 * lanes)
            *(u32x16 *)(w->lds + start + step * (uint32_t)l) =
                hk_join4(*(const u32x4 *)(uintptr_t)at[l], *(const u32x4 *)(uintptr_t)at[l + lanes],
                         *(const u32x4 *)(uintptr_t)at[l + 2 * lanes], *(const u32x4 *)(uintptr_t)at[l + 3 * lanes]);
        return 0;
    }
    HK_FOR_LANES(lane, exec) {
        uint8_t *to = w->lds + start + lane * step;
        const uint8_t *from = (const uint8_t *)(uintptr_t)at[lane];
        if (out_of_range >> lane & 1)
            memset(to, 0, width);
        else if (rows == 1)
            hk_put32(to, hk_loaded(data, from));
        else
            memcpy(to, from, width);
    }
    return 0;
}
