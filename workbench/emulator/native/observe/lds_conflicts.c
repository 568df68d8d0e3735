/* What an LDS access costs in bank conflicts, counted only while a launch is profiled.
 *
 * The LDS serves the lanes of an instruction in phases. Within a phase each bank gives one dword a cycle;
 * lanes that read the same dword share it. A phase takes as many cycles as its busiest bank has distinct
 * dwords, and SQ_LDS_BANK_CONFLICT counts the cycles beyond the first of each phase: a ds_write_b64 whose 64
 * lanes all fall on one bank counts 60, 4 phases of 16 lanes less 1.
 */
#include "ops/lds.h"
#include "observe/trace.h"
#include "observe/traffic.h"

/* Lanes of phase 0 of 32 lanes in ds_read_b128: measured on gfx950. Phase 1 has the others; lanes 32 and up
 * repeat the pattern as phases 2 and 3. */
#define HK_READ_B128_PHASE0 0x0ff0f00full

typedef struct HkPhases {
    uint32_t count;
    uint32_t banks;
    uint64_t lanes[16];
} HkPhases;

static void hk_even_phases(HkPhases *p, uint32_t lanes, uint32_t banks) {
    p->banks = banks;
    p->count = HK_LANES / lanes;
    for (uint32_t i = 0; i < p->count; i++)
        p->lanes[i] = (lanes == 64 ? HK_ALL_LANES : (1ull << lanes) - 1) << (i * lanes);
}

/* Phases and banks of an access of `bytes` a lane; the sources are in targets.py (CONFLICT_RULES). Only wide
 * reads reach more than 32 banks. */
static void hk_lds_phases(HkPhases *p, uint32_t banks, uint32_t bytes, int is_write) {
    if (banks == 64 && !is_write) {
        if (bytes == 16) {
            uint64_t first = HK_READ_B128_PHASE0, second = ~first & 0xffffffffull;
            *p = (HkPhases){4, banks, {first, second, first << 32, second << 32}};
            return;
        }
        if (bytes == 8) {
            hk_even_phases(p, 32, banks);
            return;
        }
    }
    /* 32 banks of 4 bytes: as many lanes together as 128 bytes hold. */
    hk_even_phases(p, bytes <= 4 ? 32 : bytes == 8 ? 16 : 8, 32);
}

void hk_count_lds(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t exec, uint32_t bytes,
                  int is_write) {
    Counters *c = w->group->counters;
    uint64_t cycles_before = c->lds_cycles, conflicts_before = c->lds_bank_conflict;
    uint64_t moved = (uint64_t)__builtin_popcountll(exec) * bytes;
    *(is_write ? &c->lds_bytes_written : &c->lds_bytes_read) += moved;
    HkPhases phases;
    hk_lds_phases(&phases, w->group->machine->lds_banks, bytes, is_write);
    HkAccess *access = hk_trace(w, op, is_write ? HK_TRACE_LDS_WRITE : HK_TRACE_LDS_READ, exec, bytes);
    if (access != NULL) {
        access->banks = phases.banks;
        access->phases = phases.count;
        memcpy(access->phase_lanes, phases.lanes, phases.count * sizeof phases.lanes[0]);
        for (unsigned l = 0; l < HK_LANES; l++) access->at[l] = (uint64_t)row[l] + offset;
    }
    for (uint32_t p = 0; p < phases.count; p++) {
        uint64_t active = exec & phases.lanes[p];
        if (active == 0) continue;
        uint32_t seen[64][HK_LANES]; /* distinct dwords of each bank */
        uint32_t depth[64] = {0};
        uint32_t cycles = 1;
        HK_FOR_LANES(lane, active) {
            uint64_t start = (uint64_t)row[lane] + offset;
            for (uint64_t dword = start / 4; dword <= (start + bytes - 1) / 4; dword++) {
                uint32_t bank = (uint32_t)dword % phases.banks, i = depth[bank];
                /* Two lanes that write one dword take a cycle each; lanes that read one share it. */
                if (!is_write)
                    while (i > 0 && seen[bank][i - 1] != (uint32_t)dword) i--;
                else
                    i = 0;
                if (i == 0 && depth[bank] < HK_LANES) {
                    seen[bank][depth[bank]++] = (uint32_t)dword;
                    if (depth[bank] > cycles) cycles = depth[bank];
                }
            }
        }
        if (access != NULL) {
            access->phase_cycles[p] = cycles;
            for (uint32_t b = 0; b < phases.banks; b++)
                if (depth[b] > 1) access->phase_conflicts[p] |= 1ull << b;
        }
        c->lds_cycles += cycles;
        c->lds_bank_conflict += cycles - 1;
    }
    if (w->group->traffic != NULL)
        hk_traffic_lds(w, op, c->lds_cycles - cycles_before, c->lds_bank_conflict - conflicts_before, moved);
}
