/* The heap of malloc in kernels: accesses outside blocks in use. hip/device/heap.h has its layout. */
#include "observe/sanitizer/state.h"

#include <stdlib.h>

typedef struct Block {
    uint32_t size_class, state;
    uint64_t size;
} Block;

enum { HEAD = 1024, CLASSES = 48, FREED = 0x46524545 };

HK_EXPORT void hk_san_watch_heap(San *s, uint64_t base, uint64_t end) {
    s->heap_base = base;
    s->heap_end = end;
}

void san_heap_free(San *s) { free(s->heap_blocks); }

static const Block *block_at(uint64_t address) { return (const Block *)(uintptr_t)address; }

/* End of the known blocks; blocks after one under construction are not known yet. */
static uint64_t known_end(San *s) {
    uint64_t used = s->heap_base + *(const uint64_t *)(uintptr_t)s->heap_base, end = s->heap_base + HEAD;
    if (used > s->heap_end) used = s->heap_end;
    if (s->heap_block_count) {
        uint64_t last = s->heap_blocks[s->heap_block_count - 1];
        end = last + (1ull << block_at(last)->size_class % CLASSES);
    }
    while (end < used) {
        uint32_t size_class = block_at(end)->size_class;
        if (size_class == 0 || size_class >= CLASSES) return end;
        if (s->heap_block_count == s->heap_block_room) {
            uint64_t room = s->heap_block_room ? 2 * s->heap_block_room : 1024;
            uint64_t *more = realloc(s->heap_blocks, room * sizeof *more);
            if (more == NULL) return end;
            s->heap_blocks = more;
            s->heap_block_room = room;
        }
        s->heap_blocks[s->heap_block_count++] = end;
        end += 1ull << size_class;
    }
    return end;
}

static uint64_t block_of(const San *s, uint64_t address) {
    uint64_t low = 0, high = s->heap_block_count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (s->heap_blocks[middle] <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? s->heap_blocks[low - 1] : 0;
}

static void found(Wave *w, const SanOp *o, int32_t lane, uint64_t address, uint64_t what, uint64_t distance,
                  uint64_t size) {
    const uint64_t most = (1u << SAN_HEAP_WHAT) - 1;
    uint64_t detail = (distance < most ? distance : most) | what << SAN_HEAP_WHAT;
    san_found(w, SAN_FOUND_HEAP, &o->op, ~0ull, lane, address,
              detail | (size < UINT32_MAX ? size : UINT32_MAX) << SAN_HEAP_SIZE, 0, 0);
}

void san_heap(Wave *w, const SanOp *o, uint64_t address, uint32_t bytes, int32_t lane) {
    const SanWave *sw = w->san;
    San *s = sw->group->san;
    if (address < s->heap_base + HEAD || address >= s->heap_end) return;
    uint64_t end = known_end(s);
    if (address >= end) {
        uint64_t used = s->heap_base + *(const uint64_t *)(uintptr_t)s->heap_base;
        if (end >= used) found(w, o, lane, address, SAN_HEAP_UNUSED, 0, 0);
        return;
    }
    uint64_t start = block_of(s, address);
    const Block *block = block_at(start);
    if (address < start + sizeof *block) {
        /* malloc and free access blocks with the device's scope. */
        if (o->flags & (SAN_ATOMIC | SAN_DEVICE)) return;
        found(w, o, lane, address, SAN_HEAP_BEFORE, start + sizeof *block - address, block->size);
    } else if (block->state == FREED) {
        found(w, o, lane, address, SAN_HEAP_FREED, address - start - sizeof *block, 0);
    } else if (address + bytes > start + sizeof *block + block->size) {
        found(w, o, lane, address, SAN_HEAP_PAST, address + bytes - start - sizeof *block - block->size, block->size);
    }
}
