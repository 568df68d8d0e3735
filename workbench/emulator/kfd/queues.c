/* The queues of the emulated device, in its own process: AQL packets, PM4 in vendor packets, and SDMA.
 *
 * One thread per queue is in hkd_next until a kernel is to be run, which Python does; hkd_done completes its packet.
 * All addresses are those of the program, whose memory is mapped at the same place. */
#define _GNU_SOURCE
#include "shared.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { WORK_NONE, WORK_KERNEL, WORK_FAULT, WORK_UNKNOWN };

typedef struct Queue {
    Control *control;
    uint64_t ring, size, at;
    volatile uint64_t *read_pointer, *write_pointer, *doorbell;
    uint64_t ticks;   /* of the clock of the device, when the packet began */
    uint64_t unknown; /* number of the packet that was read last, as WORK_UNKNOWN reports it */
    int32_t is_aql, is_ended;
} Queue;

/* amd_signal_t: ROCr's runtime/hsa-runtime/inc/amd_hsa_signal.h. */
typedef struct Signal {
    int64_t kind, value;
    uint64_t mailbox;
    uint32_t event, reserved;
    uint64_t start, end;
} Signal;

/* The device's clock: that of the computer when the first queue was made, and from there on the times of kernels and
 * copies. A launch counts as long as this computer took, until somebody asks for times: then hkd_settle puts modelled
 * ones in their place, in the signals that still have the others. */
static uint64_t now;
static pthread_mutex_t clock_lock = PTHREAD_MUTEX_INITIALIZER;

typedef struct Stamp {
    uint64_t address, value;
    uint64_t launch; /* launches before it */
    uint64_t begins; /* nonzero: a launch begins here */
} Stamp;
#define STAMPS 65536
static Stamp stamps[STAMPS];
static uint64_t stamp_count, launches, settled;

EXPORT uint64_t hkd_now(void) { return __atomic_load_n(&now, __ATOMIC_SEQ_CST); }

static void advance(uint64_t ticks) {
    pthread_mutex_lock(&clock_lock);
    now += ticks;
    pthread_mutex_unlock(&clock_lock);
}

static void stamp(uint64_t address, uint64_t value, uint64_t launch, int begins) {
    __atomic_store_n((uint64_t *)address, value, __ATOMIC_SEQ_CST);
    pthread_mutex_lock(&clock_lock);
    stamps[stamp_count++ % STAMPS] = (Stamp){address, value, launch, (uint64_t)begins};
    pthread_mutex_unlock(&clock_lock);
}

/* A queue can have any address in it. */
static _Thread_local sigjmp_buf *escape;
static _Thread_local uint64_t bad_address;

static void bad_access(int number, siginfo_t *info, void *context) {
    (void)context;
    if (escape != NULL) {
        bad_address = (uint64_t)info->si_addr;
        siglongjmp(*escape, 1);
    }
    signal(number, SIG_DFL);
}

EXPORT void hkd_begin(void) {
    struct sigaction action = {.sa_sigaction = bad_access, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

/* Corrects the times of all launches since the last call by as many ticks as each entry says, with the gap before a
 * launch among them. */
EXPORT void hkd_settle(const int64_t *corrections, uint64_t count, uint64_t gap) {
    sigjmp_buf here;
    volatile uint64_t at = 0;
    uint64_t kept = stamp_count < STAMPS ? stamp_count : STAMPS;
    int64_t *sums = calloc(count + 1, sizeof *sums);
    if (sums == NULL) return;
    for (uint64_t i = 0; i < count; i++) sums[i + 1] = sums[i] + corrections[i];
    pthread_mutex_lock(&clock_lock);
    sigsetjmp(here, 1); /* a signal may be gone */
    escape = &here;
    while (at < kept) {
        Stamp *entry = &stamps[at++];
        uint64_t launch = entry->launch - settled;
        uint64_t value = entry->value + (uint64_t)sums[launch < count ? launch : count] + (entry->begins ? gap : 0);
        if (entry->launch >= settled)
            __atomic_compare_exchange_n((uint64_t *)entry->address, &entry->value, value, 0, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST);
    }
    escape = NULL;
    now += (uint64_t)sums[count];
    settled += count;
    stamp_count = 0;
    pthread_mutex_unlock(&clock_lock);
    free(sums);
}

EXPORT Queue *hkd_queue(Control *control, int is_aql, uint64_t id, uint64_t ring, uint64_t size, uint64_t read_pointer,
                        uint64_t write_pointer) {
    Queue *queue = calloc(1, sizeof *queue);
    if (queue == NULL) return NULL;
    *queue = (Queue){.control = control, .ring = ring, .size = size, .is_aql = is_aql};
    queue->read_pointer = (volatile uint64_t *)read_pointer;
    queue->write_pointer = (volatile uint64_t *)write_pointer;
    queue->doorbell = &control->doorbells[id];
    if (now == 0) now = clock_ticks();
    return queue;
}

EXPORT void hkd_end(Queue *queue) {
    __atomic_store_n(&queue->is_ended, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&queue->control->bell, 1, __ATOMIC_SEQ_CST);
    futex_wake(&queue->control->bell);
}

/* Only after the queue's thread has ended. */
EXPORT void hkd_free(Queue *queue) { free(queue); }

EXPORT void hkd_set_events(Control *control, uint32_t type) {
    for (uint32_t id = 1; id < MOST_EVENTS; id++)
        if (control->events[id].used && control->events[id].type == type) set_event(control, id);
}

static void complete(Queue *queue, uint64_t handle, int is_launch) {
    if (!handle) return;
    Signal *signal = (Signal *)handle;
    uint32_t event = signal->mailbox ? signal->event : 0;
    uint64_t launch = __atomic_load_n(&launches, __ATOMIC_SEQ_CST);
    stamp((uint64_t)&signal->start, queue->ticks, launch - (uint64_t)is_launch, is_launch);
    stamp((uint64_t)&signal->end, hkd_now(), launch, 0);
    __atomic_sub_fetch(&signal->value, 1, __ATOMIC_SEQ_CST);
    /* The program may have freed the signal by now. */
    if (event) set_event(queue->control, event);
}

static int holds(unsigned function, uint32_t value, uint32_t reference) {
    switch (function) {
    case 1:
        return value < reference;
    case 2:
        return value <= reference;
    case 3:
        return value == reference;
    case 4:
        return value != reference;
    case 5:
        return value >= reference;
    case 6:
        return value > reference;
    default:
        return 1;
    }
}

#define WIDE(words, k) ((uint64_t)(words)[k] | (uint64_t)(words)[(k) + 1] << 32)

enum { DONE, WAITS, STRANGE };

/* Indirect buffers within each other; a buffer that names itself must not exhaust the stack. */
#define DEEPEST_BUFFER 8

/* PM4, as far as AQL queues have it (LLVM's and Mesa's sid.h have the layouts). */
static int pm4(Queue *queue, const uint32_t *packets, uint32_t count, unsigned depth) {
    for (uint32_t i = 0; i < count;) {
        uint32_t header = packets[i], op = header >> 8 & 0xff, size = (header >> 16 & 0x3fff) + 1;
        const uint32_t *words = packets + i + 1;
        if (header >> 30 == 2) {
            i++;
            continue;
        }
        queue->unknown = op;
        if (header >> 30 != 3 || size > count - i - 1) return STRANGE;
        switch (op) {
        case 0x10:
        case 0x46:
        case 0x58:
            break; /* NOP, EVENT_WRITE, ACQUIRE_MEM */
        case 0x76:
        case 0x79:
            break; /* SET_SH_REG, SET_UCONFIG_REG */
        case 0x23: /* PRED_EXEC: the device is its first die */
            if (!(words[0] >> 24 & 1)) size += words[0] & 0x3fff;
            break;
        case 0x3f: { /* INDIRECT_BUFFER */
            if (depth == DEEPEST_BUFFER) return STRANGE;
            int result = pm4(queue, (const uint32_t *)WIDE(words, 0), words[2] & 0xfffff, depth + 1);
            if (result != DONE) return result;
            break;
        }
        case 0x3c: /* WAIT_REG_MEM; registers do not change */
            if (words[0] >> 4 & 1 && !holds(words[0] & 7, *(volatile uint32_t *)WIDE(words, 1) & words[4], words[3]))
                return WAITS;
            break;
        case 0x49: { /* RELEASE_MEM */
            uint32_t data = words[1] >> 29;
            if (data == 1)
                __atomic_store_n((uint32_t *)WIDE(words, 2), words[4], __ATOMIC_SEQ_CST);
            else if (data == 2)
                __atomic_store_n((uint64_t *)WIDE(words, 2), WIDE(words, 4), __ATOMIC_SEQ_CST);
            else if (data == 3)
                __atomic_store_n((uint64_t *)WIDE(words, 2), hkd_now(), __ATOMIC_SEQ_CST);
            if (words[1] >> 24 & 7) hkd_set_events(queue->control, EVENT_SIGNAL);
            break;
        }
        case 0x37: { /* WRITE_DATA */
            uint32_t target = words[0] >> 8 & 15;
            if (size < 3 || (target != 2 && target != 5)) return STRANGE;
            memcpy((void *)WIDE(words, 1), words + 3, 4 * (size - 3));
            break;
        }
        case 0x40: { /* COPY_DATA */
            uint32_t source = words[0] & 15, target = words[0] >> 8 & 15;
            uint64_t value = source == 9 ? hkd_now() : source == 5 ? WIDE(words, 1) : 0;
            if (source == 1 || source == 2)
                memcpy(&value, (void *)WIDE(words, 1), words[0] >> 16 & 1 ? 8 : 4);
            else if (source != 5 && source != 9)
                return STRANGE; /* 4: a counter, which nobody has selected */
            if (target != 1 && target != 2 && target != 5) return STRANGE;
            memcpy((void *)WIDE(words, 3), &value, words[0] >> 16 & 1 ? 8 : 4);
            break;
        }
        default:
            return STRANGE;
        }
        i += 1 + size;
    }
    return DONE;
}

static int barrier(Queue *queue, const uint64_t *words, int any) {
    int is_empty = 1, is_open = 0;
    for (int i = 1; i <= 5; i++) {
        if (!words[i]) continue;
        int is_zero = __atomic_load_n(&((Signal *)words[i])->value, __ATOMIC_ACQUIRE) == 0;
        is_empty = 0;
        is_open |= is_zero;
        if (!any && !is_zero) return WAITS;
    }
    if (any && !is_empty && !is_open) return WAITS;
    complete(queue, words[7], 0);
    return DONE;
}

/* AMD's own packets: ROCr's amd_hsa_queue.h and hsa_ext_amd.h. */
static int vendor(Queue *queue, const uint64_t *words) {
    enum { PM4 = 1, BARRIER_VALUE = 2 };
    unsigned format = words[0] >> 16 & 0xff;
    if (format == PM4) {
        int result = pm4(queue, (const uint32_t *)words + 1, 4, 0);
        if (result != DONE) return result;
    } else if (format == BARRIER_VALUE && words[1]) {
        int64_t value = __atomic_load_n(&((Signal *)words[1])->value, __ATOMIC_ACQUIRE) & (int64_t)words[3];
        int64_t wanted = (int64_t)words[2];
        uint32_t condition = (uint32_t)words[4];
        int is_met = condition == 0   ? value == wanted
                     : condition == 1 ? value != wanted
                     : condition == 2 ? value < wanted
                                      : value >= wanted;
        if (!is_met) return WAITS;
    } else if (format != BARRIER_VALUE) {
        queue->unknown = 0x100 | format;
        return STRANGE;
    }
    complete(queue, words[7], 0);
    return DONE;
}

static void retire(Queue *queue, volatile uint16_t *packet) {
    enum { INVALID = 1 };
    __atomic_store_n(packet, INVALID, __ATOMIC_RELEASE);
    queue->at++;
    __atomic_store_n(queue->read_pointer, queue->at, __ATOMIC_RELEASE);
}

/* The next packet of an AQL queue. Returns WORK_*; *did is whether anything was done. */
static int next_aql(Queue *queue, int *did) {
    enum { VENDOR = 0, INVALID = 1, KERNEL = 2, BARRIER_AND = 3, BARRIER_OR = 5 };
    uint64_t bell = *queue->doorbell;
    while (bell != ~0ull && queue->at <= bell && queue->at < *queue->write_pointer) {
        volatile uint16_t *packet = (volatile uint16_t *)(queue->ring + queue->at * 64 % queue->size);
        unsigned type = __atomic_load_n(packet, __ATOMIC_ACQUIRE) & 0xff;
        int result = STRANGE;
        queue->ticks = hkd_now();
        if (type == INVALID) return WORK_NONE;
        if (type == KERNEL) return WORK_KERNEL;
        queue->unknown = 0x1000 | type;
        if (type == BARRIER_AND || type == BARRIER_OR)
            result = barrier(queue, (uint64_t *)packet, type == BARRIER_OR);
        else if (type == VENDOR)
            result = vendor(queue, (uint64_t *)packet);
        if (result == WAITS) return WORK_NONE;
        if (result == STRANGE) return WORK_UNKNOWN;
        retire(queue, packet);
        *did = 1;
    }
    return WORK_NONE;
}

/* The packets of an SDMA queue: ROCr's sdma_registers.h has the layouts. `link` is seconds of 10 ns for a byte. */
static int next_sdma(Queue *queue, int *did, double link) {
    uint64_t end = *queue->doorbell;
    while (queue->at < end && !__atomic_load_n(&queue->is_ended, __ATOMIC_SEQ_CST)) {
        volatile uint32_t *words = (volatile uint32_t *)(queue->ring + queue->at % queue->size);
        uint32_t op = words[0] & 0xff, sub = words[0] >> 8 & 0xff;
        uint64_t size = 0;
        queue->unknown = 0x10000 | op << 8 | sub;
        queue->ticks = hkd_now();
        switch (op) {
        case 0:
            size = 1 + (words[0] >> 16 & 0x3fff);
            break;
        case 1: /* copy, linear */
            if (sub != 0) return WORK_UNKNOWN;
            memmove((void *)WIDE(words, 5), (void *)WIDE(words, 3), (words[1] & 0x3fffffff) + 1ull);
            advance((uint64_t)((words[1] & 0x3fffffff) * link));
            size = 7;
            break;
        case 5: /* fence */
            __atomic_store_n((uint32_t *)WIDE(words, 1), words[3], __ATOMIC_SEQ_CST);
            size = 4;
            break;
        case 6: /* trap */
            set_event(queue->control, words[1] & 0xfffffff);
            size = 2;
            break;
        case 8: /* poll memory, or flush, which registers answer at once */
            if (words[0] >> 31 && !holds(words[0] >> 28 & 7, *(volatile uint32_t *)WIDE(words, 1) & words[4], words[3]))
                return WORK_NONE;
            size = 6;
            break;
        case 10: /* atomic: add of 64 bits, which the runtime uses to complete signals */
            if ((words[0] >> 25 & 0x7f) != 47) return WORK_UNKNOWN;
            __atomic_add_fetch((int64_t *)WIDE(words, 1), (int64_t)WIDE(words, 3), __ATOMIC_SEQ_CST);
            size = 8;
            break;
        case 11: { /* fill; the count is in bytes */
            uint64_t count = (words[4] & 0x3fffff) + 1ull, target = WIDE(words, 1);
            if (words[0] >> 30 == 2)
                for (uint64_t i = 0; i < count; i += 4) *(uint32_t *)(target + i) = words[3];
            else
                memset((void *)target, (int)words[3], count);
            size = 5;
            break;
        }
        case 13: /* timestamp */
            stamp(WIDE(words, 1), hkd_now(), __atomic_load_n(&launches, __ATOMIC_SEQ_CST), 0);
            size = 3;
            break;
        case 17:
            size = 5;
            break; /* cache control */
        default:
            return WORK_UNKNOWN;
        }
        queue->at += size * 4;
        __atomic_store_n(queue->read_pointer, queue->at, __ATOMIC_RELEASE);
        *did = 1;
    }
    return WORK_NONE;
}

#define SPINS 2000
#define SHORTEST_WAIT 100000
#define LONGEST_WAIT 2000000

/* Handles packets until there is something for Python to do, or the queue has ended. Returns WORK_*: a kernel, whose
 * packet is at *address; an access to memory that is not mapped, at *address; a packet that is not known, by number. */
EXPORT int hkd_next(Queue *queue, double link, uint64_t *address) {
    sigjmp_buf here;
    volatile unsigned idle = 0;
    Control *control = queue->control;
    if (sigsetjmp(here, 1)) {
        escape = NULL;
        *address = bad_address;
        return WORK_FAULT;
    }
    escape = &here;
    while (!__atomic_load_n(&queue->is_ended, __ATOMIC_SEQ_CST)) {
        int did = 0, is_asleep = idle > SPINS;
        uint32_t bell = __atomic_load_n(&control->bell, __ATOMIC_SEQ_CST);
        if (is_asleep) __atomic_add_fetch(&control->sleeping, 1, __ATOMIC_SEQ_CST);
        int work = queue->is_aql ? next_aql(queue, &did) : next_sdma(queue, &did, link);
        if (is_asleep && !did && work == WORK_NONE)
            futex_wait(&control->bell, bell, idle > SPINS + 200 ? LONGEST_WAIT : SHORTEST_WAIT);
        if (is_asleep) __atomic_sub_fetch(&control->sleeping, 1, __ATOMIC_SEQ_CST);
        if (work != WORK_NONE) {
            escape = NULL;
            *address = work == WORK_KERNEL ? queue->ring + queue->at * 64 % queue->size : queue->unknown;
            return work;
        }
        idle = did ? 0 : idle + 1;
    }
    escape = NULL;
    return WORK_NONE;
}

/* Completes the kernel of the packet that hkd_next has returned, which took so many ticks of this computer. Returns
 * WORK_NONE, or WORK_FAULT with the address if the packet's signal is not in mapped memory. */
EXPORT int hkd_done(Queue *queue, uint64_t ticks, uint64_t *address) {
    sigjmp_buf here;
    if (sigsetjmp(here, 1)) {
        escape = NULL;
        *address = bad_address;
        return WORK_FAULT;
    }
    escape = &here;
    volatile uint16_t *packet = (volatile uint16_t *)(queue->ring + queue->at * 64 % queue->size);
    queue->ticks = hkd_now();
    advance(ticks);
    __atomic_add_fetch(&launches, 1, __ATOMIC_SEQ_CST);
    complete(queue, ((uint64_t *)packet)[7], 1);
    retire(queue, packet);
    escape = NULL;
    return WORK_NONE;
}
