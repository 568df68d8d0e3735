/* An allocator for the memory of PyTorch's CPU tensors that records the blocks in use.
 *
 * c10::Allocator (c10/core/Allocator.h) is a C++ class. Our object replaces an allocator of PyTorch: it has a copy of
 * that allocator's table of virtual functions, in which `allocate` is ours.
 */
#include "run/wave.h"

#include <pthread.h>
#include <stdlib.h>

/* Both destructor entries precede `allocate` in every release. */
enum { ALLOCATE = 2, BEFORE_TABLE = 2, TABLE = 10 };

/* c10::DataPtr: the data, its owner and deleter, in an order that depends on the C++ library; and the device. */
typedef struct DataPtr {
    void *data, *first, *second;
    int8_t device[8];
} DataPtr;

typedef void (*Deleter)(void *owner);
typedef struct Allocator {
    void *const *functions;
} Allocator;
typedef DataPtr (*Allocate)(Allocator *self, size_t bytes);

typedef struct Entry {
    HkStorage storage;
    Deleter deleter;
} Entry;

static Allocator *wrapped;
static void *functions[BEFORE_TABLE + TABLE];
static Allocator allocator = {functions + BEFORE_TABLE};

/* Hash table by address with linear probing; at most half of the slots are taken. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Entry *entries;
static uint64_t slots, taken, changes, numbers, bytes_now, bytes_most;

static uint64_t slot_of(uint64_t base) { return (base >> 6) * 0x9e3779b97f4a7c15ull >> 20 & (slots - 1); }

static uint64_t look_up(uint64_t base) {
    uint64_t slot = slot_of(base);
    while (entries[slot].storage.base != 0 && entries[slot].storage.base != base) slot = (slot + 1) & (slots - 1);
    return slot;
}

static int grow(void) {
    uint64_t before = slots;
    Entry *old = entries, *larger = calloc(before ? 2 * before : 1024, sizeof *larger);
    if (larger == NULL) return 0;
    entries = larger;
    slots = before ? 2 * before : 1024;
    for (uint64_t i = 0; i < before; i++)
        if (old[i].storage.base != 0) entries[look_up(old[i].storage.base)] = old[i];
    free(old);
    return 1;
}

/* Bytes that kernels may read of a piece: to the end of memory of the size that PyTorch's allocator asks a GPU for,
 * kSmallBuffer, kLargeBuffer or a multiple of kRoundLarge of c10/cuda/CUDACachingAllocator.h, where the piece is the
 * first that is cut from it. */
static uint64_t reach_of(uint64_t bytes) {
    const uint64_t mib = 1 << 20, block = hk_block_bytes(bytes);
    uint64_t whole = block <= mib ? 2 * mib : block < 10 * mib ? 20 * mib : (block + 2 * mib - 1) & ~(2 * mib - 1);
    return whole - block < HK_STORAGE_ROOM ? whole : block + HK_STORAGE_ROOM;
}

static void enter(uint64_t base, uint64_t bytes, Deleter deleter) {
    Entry *entry = &entries[look_up(base)];
    if (entry->storage.base == 0)
        taken++;
    else
        bytes_now -= hk_block_bytes(entry->storage.bytes);
    *entry = (Entry){{base, bytes, numbers++, reach_of(bytes)}, deleter};
    bytes_now += hk_block_bytes(bytes);
    if (bytes_now > bytes_most) bytes_most = bytes_now;
    changes++;
}

/* Removes an entry; later entries that its slot had displaced move up. */
static void leave(uint64_t hole) {
    bytes_now -= hk_block_bytes(entries[hole].storage.bytes);
    taken--;
    changes++;
    for (uint64_t slot = (hole + 1) & (slots - 1); entries[slot].storage.base != 0; slot = (slot + 1) & (slots - 1)) {
        uint64_t home = slot_of(entries[slot].storage.base);
        if (((slot - home) & (slots - 1)) < ((slot - hole) & (slots - 1))) continue;
        entries[hole] = entries[slot];
        hole = slot;
    }
    entries[hole].storage.base = 0;
}

static void give_back(void *owner) {
    Deleter deleter = NULL;
    pthread_mutex_lock(&lock);
    uint64_t slot = look_up((uint64_t)owner);
    if (entries[slot].storage.base != 0) {
        deleter = entries[slot].deleter;
        leave(slot);
    }
    pthread_mutex_unlock(&lock);
    if (deleter != NULL) deleter(owner);
}

static DataPtr allocate(Allocator *self, size_t bytes) {
    (void)self;
    /* The bytes after a tensor, up to `all`, belong to no other tensor. */
    size_t all = reach_of(bytes) < bytes ? bytes : reach_of(bytes);
    DataPtr memory = ((Allocate)wrapped->functions[ALLOCATE])(wrapped, all);
    /* Memory that owns itself, as all of this allocator's does; the other word is its deleter. */
    void **deleter = memory.first == memory.data ? &memory.second : &memory.first;
    if (memory.data == NULL || (memory.first != memory.data && memory.second != memory.data)) return memory;
    pthread_mutex_lock(&lock);
    if (2 * (taken + 1) <= slots || grow()) {
        enter((uint64_t)memory.data, bytes, (Deleter)*deleter);
        *deleter = (void *)give_back;
    }
    pthread_mutex_unlock(&lock);
    return memory;
}

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }

HK_EXPORT uint64_t hk_storages_allocator(uint64_t other) {
    if (other == (uint64_t)&allocator) return other;
    if (wrapped == NULL) {
        if (pthread_atfork(before_fork, after_fork, after_fork) != 0) return 0;
        wrapped = (Allocator *)other;
        memcpy(functions, wrapped->functions - BEFORE_TABLE, sizeof functions);
        functions[BEFORE_TABLE + ALLOCATE] = (void *)allocate;
    }
    return wrapped == (Allocator *)other ? (uint64_t)&allocator : 0;
}

HK_EXPORT void hk_storages_state(HkStorages *state) {
    pthread_mutex_lock(&lock);
    *state = (HkStorages){taken, changes, bytes_now, bytes_most};
    pthread_mutex_unlock(&lock);
}

HK_EXPORT void hk_storages_forget_most(void) {
    pthread_mutex_lock(&lock);
    bytes_most = bytes_now;
    pthread_mutex_unlock(&lock);
}

HK_EXPORT uint64_t hk_storages_list(HkStorage *list, uint64_t room) {
    uint64_t count = 0;
    pthread_mutex_lock(&lock);
    for (uint64_t slot = 0; slot < slots && count < room; slot++)
        if (entries[slot].storage.base != 0) list[count++] = entries[slot].storage;
    pthread_mutex_unlock(&lock);
    return count;
}

HK_EXPORT void hk_storage_at(uint64_t base, HkStorage *storage) {
    *storage = (HkStorage){0};
    pthread_mutex_lock(&lock);
    uint64_t slot = slots ? look_up(base) : 0;
    if (slots && entries[slot].storage.base != 0) *storage = entries[slot].storage;
    pthread_mutex_unlock(&lock);
}
