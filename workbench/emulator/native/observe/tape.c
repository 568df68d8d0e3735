/* See tape.h. */
#include "observe/tape.h"

#include <stdlib.h>

enum { CHUNK = 16 }; /* words that are compared and stored as a unit */

static uint32_t *scalars_of(const HkState *s, uint32_t wave) { return s->scalars + (size_t)wave * HK_TAPE_SCALARS; }

static uint32_t *row_of(const HkTape *t, const HkState *s, uint32_t wave, uint32_t row) {
    return s->rows + ((size_t)wave * t->rows + row) * HK_LANES;
}

static uint32_t *scratch_of(const HkTape *t, const HkState *s, uint32_t wave) {
    return s->scratch + (size_t)wave * t->scratch_words;
}

static void read_scalars(const Wave *w, uint32_t *to) {
    memcpy(to, w->s, sizeof w->s);
    to[128] = w->scc;
    to[129] = w->mode;
}

/* Copies a work-group's whole state; its memory is read in whole chunks, including guard bytes. */
static void copy_state(const HkTape *t, const HkState *s, const Wave *waves) {
    for (uint32_t i = 0; i < t->waves; i++) {
        const Wave *w = &waves[i];
        read_scalars(w, scalars_of(s, i));
        memcpy(row_of(t, s, i, 0), w->v, (size_t)t->rows * HK_LANES * 4);
        memcpy(scratch_of(t, s, i), w->scratch, (size_t)t->scratch_words * 4);
    }
    memcpy(s->lds, waves[0].lds, (size_t)t->lds_words * 4);
}

/* Makes room for `count` more words; 0 if the tape is full. */
static int room_for(HkTape *t, uint64_t count) {
    if (t->word_count + count <= t->word_room) return 1;
    uint64_t room = t->word_room ? t->word_room * 2 : 1 << 16;
    while (room < t->word_count + count) room *= 2;
    uint32_t *larger = room * 4 <= t->limit ? realloc(t->words, room * 4) : NULL;
    if (larger == NULL) return 0;
    t->words = larger;
    t->word_room = room;
    return 1;
}

static void put_scalar(HkTape *t, uint32_t *known, uint32_t value, uint32_t place) {
    t->words[t->word_count++] = (uint32_t)HK_CHANGED_SCALAR << HK_CHANGED_KIND | place;
    t->words[t->word_count++] = *known ^ value;
    *known = value;
}

/* Writes those chunks of words `first` to `end` that have changed. */
static int put_chunks(HkTape *t, uint32_t *known, const uint32_t *now, size_t first, size_t end, uint32_t kind) {
    for (size_t at = first; at < end; at += CHUNK) {
        if (memcmp(known + at, now + at, CHUNK * 4) == 0) continue;
        if (!room_for(t, CHUNK + 1)) return 0;
        t->words[t->word_count++] = kind << HK_CHANGED_KIND | (uint32_t)(at / CHUNK);
        for (int i = 0; i < CHUNK; i++) t->words[t->word_count++] = known[at + i] ^ now[at + i];
        memcpy(known + at, now + at, CHUNK * 4);
    }
    return 1;
}

static int put_row(HkTape *t, uint32_t *known, const uint32_t *now, uint32_t row) {
    if (memcmp(known, now, HK_LANES * 4) == 0) return 1;
    if (!room_for(t, HK_LANES + 1)) return 0;
    uint32_t *head = &t->words[t->word_count++];
    *head = (uint32_t)HK_CHANGED_ROW << HK_CHANGED_KIND | row;
    for (uint32_t quarter = 0; quarter < HK_LANES / CHUNK; quarter++) {
        uint32_t *before = known + quarter * CHUNK;
        const uint32_t *after = now + quarter * CHUNK;
        if (memcmp(before, after, CHUNK * 4) == 0) continue;
        *head |= 1u << (HK_CHANGED_QUARTERS + quarter);
        for (int i = 0; i < CHUNK; i++) t->words[t->word_count++] = before[i] ^ after[i];
        memcpy(before, after, CHUNK * 4);
    }
    return 1;
}

static int put_changes(HkTape *t, Wave *w, const HkChanges *c) {
    uint32_t scalars[HK_TAPE_SCALARS], *known = scalars_of(&t->now, w->index);
    if (!room_for(t, 2 * HK_TAPE_SCALARS)) return 0;
    read_scalars(w, scalars);
    if (memcmp(known, scalars, sizeof scalars) != 0)
        for (uint32_t i = 0; i < HK_TAPE_SCALARS; i++)
            if (known[i] != scalars[i]) put_scalar(t, &known[i], scalars[i], i);
    if (c->flags & HK_TAPE_ROWS) {
        for (uint32_t row = 0; row < t->rows; row++)
            if (!put_row(t, row_of(t, &t->now, w->index, row), w->v + (size_t)row * HK_LANES, row)) return 0;
    } else {
        for (uint32_t range = 0; range < HK_TAPE_RANGES; range++)
            for (uint32_t row = c->first[range]; row < (uint32_t)c->first[range] + c->count[range]; row++)
                if (!put_row(t, row_of(t, &t->now, w->index, row), w->v + (size_t)row * HK_LANES, row)) return 0;
    }
    if (c->flags & HK_TAPE_LDS && !put_chunks(t, t->now.lds, (const uint32_t *)w->lds, 0, t->lds_words, HK_CHANGED_LDS))
        return 0;
    /* A dword of all lanes spans four chunks. */
    uint32_t first = w->scratch_low / 4 * HK_LANES, end = (w->scratch_high + 3) / 4 * HK_LANES;
    w->scratch_low = ~0u;
    w->scratch_high = 0;
    return first >= end || put_chunks(t, scratch_of(t, &t->now, w->index), (const uint32_t *)w->scratch, first, end,
                                      HK_CHANGED_SCRATCH);
}

void hk_tape_before(HkTape *t, Wave *w) {
    if (t->running == 0) {
        if (t->skip > 0) {
            t->skip -= w->index == t->watched;
            return;
        }
        const Wave *waves = w - w->index;
        copy_state(t, &t->begin, waves);
        copy_state(t, &t->now, waves);
        t->running = 1;
    }
    if (t->running != 1) return;
    if (t->event_count == t->event_room) {
        uint64_t room = t->event_room ? t->event_room * 2 : 1 << 12;
        HkEvent *larger = room * sizeof *larger <= t->limit ? realloc(t->events, room * sizeof *larger) : NULL;
        if (larger == NULL) {
            t->running = 2;
            t->cut = 1;
            return;
        }
        t->events = larger;
        t->event_room = room;
    }
    t->events[t->event_count].accesses = t->trace->count;
}

void hk_tape_after(HkTape *t, Wave *w, int32_t block) {
    if (t->running != 1) return;
    HkEvent *e = &t->events[t->event_count];
    e->at = t->word_count;
    e->block = block;
    e->wave = w->index;
    if (put_changes(t, w, &t->changes[block]))
        t->event_count++;
    else {
        /* An event without room is dropped. The state that the tape has reached is not used any more. */
        t->word_count = e->at;
        t->running = 2;
        t->cut = 1;
    }
}

void hk_tape_late(HkTape *t, Wave *w) {
    if (t->running != 1 || t->event_count == 0 || t->events[t->event_count - 1].wave != w->index) return;
    static const HkChanges anything = {.flags = HK_TAPE_ROWS | HK_TAPE_LDS};
    uint64_t before = t->word_count;
    if (put_changes(t, w, &anything)) return;
    t->word_count = before;
    t->running = 2;
    t->cut = 1;
}

static uint64_t differing(const uint32_t *a, const void *b, size_t count) {
    uint64_t found = 0;
    for (size_t i = 0; i < count; i++) found += a[i] != ((const uint32_t *)b)[i];
    return found;
}

void hk_tape_end(HkTape *t, const Group *g, const Wave *waves) {
    if (t->running != 1) return;
    t->running = 2;
    for (uint32_t i = 0; i < g->wave_count; i++) {
        uint32_t scalars[HK_TAPE_SCALARS];
        read_scalars(&waves[i], scalars);
        t->differs += differing(scalars_of(&t->now, i), scalars, HK_TAPE_SCALARS);
        t->differs += differing(row_of(t, &t->now, i, 0), waves[i].v, (size_t)t->rows * HK_LANES);
        t->differs += differing(scratch_of(t, &t->now, i), waves[i].scratch, t->scratch_words);
    }
    t->differs += differing(t->now.lds, waves[0].lds, t->lds_words);
}

static void flip(uint32_t *state, const uint32_t *change, int count) {
    for (int i = 0; i < count; i++) state[i] ^= change[i];
}

HK_EXPORT void hk_tape_move(const HkTape *t, const HkState *s, uint64_t from, uint64_t to) {
    uint64_t low = from < to ? from : to, high = from < to ? to : from;
    for (uint64_t n = low; n < high; n++) {
        const HkEvent *e = &t->events[n];
        const uint32_t *word = t->words + e->at;
        const uint32_t *end = t->words + (n + 1 < t->event_count ? t->events[n + 1].at : t->word_count);
        while (word < end) {
            uint32_t head = *word++, place = head & HK_CHANGED_PLACE;
            switch (head >> HK_CHANGED_KIND) {
            case HK_CHANGED_SCALAR:
                scalars_of(s, e->wave)[place] ^= *word++;
                break;
            case HK_CHANGED_ROW:
                for (int quarter = 0; quarter < HK_LANES / CHUNK; quarter++) {
                    if (!(head >> (HK_CHANGED_QUARTERS + quarter) & 1)) continue;
                    flip(row_of(t, s, e->wave, place) + quarter * CHUNK, word, CHUNK);
                    word += CHUNK;
                }
                break;
            case HK_CHANGED_LDS:
                flip(s->lds + (size_t)place * CHUNK, word, CHUNK);
                word += CHUNK;
                break;
            default:
                flip(scratch_of(t, s, e->wave) + (size_t)place * CHUNK, word, CHUNK);
                word += CHUNK;
            }
        }
    }
}

HK_EXPORT void hk_tape_free(HkTape *t) {
    free(t->events);
    free(t->words);
    t->events = NULL;
    t->words = NULL;
    t->event_count = t->word_count = 0;
}
