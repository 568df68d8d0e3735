/* Bank conflicts of an LDS access, counted only while a launch is profiled.
 *
 * The LDS serves the lanes of an instruction in phases; targets/lds.py has the lanes and the number of banks of each.
 * In a phase each bank delivers one dword per cycle; lanes that read the same dword share it. A phase takes as many
 * cycles as its busiest bank has distinct dwords, and SQ_LDS_BANK_CONFLICT counts the cycles beyond the first of each
 * phase: a ds_write_b64 whose 64 lanes all fall on one bank counts 60, 4 phases of 16 lanes less 1.
 *
 * A wide access counts at the bank of its first dword alone. Accesses that are aligned to their width share all of
 * their banks or none, so nothing else matters; where a sweep on hardware moved one lane by single banks, the counter
 * rose where the first dwords met and nowhere beside it.
 */
#include "ops/lds.h"
#include "observe/steps.h"
#include "observe/trace.h"
#include "observe/traffic.h"
#include "run/waiting.h"

void hk_count_lds(Wave *w, const Op *op, const uint32_t *row, uint32_t offset, uint64_t exec, uint32_t bytes,
                  HkLdsKind kind) {
    if (w->group->watch != NULL) hk_watch_lds(w, op, row, offset, exec, bytes, kind != HK_LDS_WRITE);
    if (!(w->group->profile & HK_PROFILE_ALL)) return;
    Counters *c = w->group->counters;
    uint64_t cycles_before = c->lds_cycles, conflicts_before = c->lds_bank_conflict;
    uint64_t moved = (uint64_t)__builtin_popcountll(exec) * bytes;
    int is_write = kind == HK_LDS_WRITE;
    *(is_write ? &c->lds_bytes_written : &c->lds_bytes_read) += moved;
    uint32_t dwords = (bytes + 3) / 4;
    const HkLdsRule *rule = &w->group->machine->lds_rules[kind * HK_LDS_WIDTHS + dwords - 1];
    if (!rule->measured) c->lds_unconfirmed++;
    HkAccess *access = hk_trace(w, op, is_write ? HK_TRACE_LDS_WRITE : HK_TRACE_LDS_READ, exec, bytes);
    if (access != NULL) {
        access->banks = rule->banks;
        access->phases = rule->phases;
        access->measured = rule->measured;
        memcpy(access->phase_lanes, rule->lanes, sizeof rule->lanes);
        for (unsigned l = 0; l < HK_LANES; l++) access->at[l] = (uint64_t)row[l] + offset;
    }
    for (uint32_t p = 0; p < rule->phases; p++) {
        uint64_t active = exec & rule->lanes[p];
        if (active == 0) continue;
        uint32_t seen[64][HK_LANES]; /* distinct first dwords in each bank */
        uint32_t depth[64] = {0};
        uint32_t cycles = 1;
        HK_FOR_LANES(lane, active) {
            uint32_t dword = (uint32_t)(((uint64_t)row[lane] + offset) / 4);
            uint32_t bank = dword % rule->banks, i = depth[bank];
            /* Two lanes that write the same dword take a cycle each; lanes that read it share a cycle. */
            if (!is_write)
                while (i > 0 && seen[bank][i - 1] != dword) i--;
            else
                i = 0;
            if (i == 0) {
                seen[bank][depth[bank]++] = dword;
                if (depth[bank] > cycles) cycles = depth[bank];
            }
        }
        if (access != NULL) {
            access->phase_cycles[p] = cycles;
            for (uint32_t b = 0; b < rule->banks; b++)
                for (uint32_t d = 0; depth[b] > 1 && d < dwords; d++)
                    access->phase_conflicts[p] |= 1ull << (b + d) % rule->banks;
        }
        c->lds_cycles += cycles;
        c->lds_bank_conflict += cycles - 1;
    }
    if (w->way != NULL) hk_steps_cost(w, op, (uint32_t)(c->lds_cycles - cycles_before), 0, 0, (uint32_t)moved);
    if (w->group->traffic != NULL)
        hk_traffic_lds(w, op, c->lds_cycles - cycles_before, c->lds_bank_conflict - conflicts_before, moved);
}
