/* The queues of the emulated device, in its own process: AQL packets, PM4 in vendor packets, and SDMA.
 *
 * One thread per queue is in hkd_next until a kernel is to be run, which Python does; hkd_done completes its packet.
 * All addresses are those of the program, whose memory is mapped at the same place. */
#define _GNU_SOURCE
#include "events.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* Of a packet, beside WORK_*: WORK_NONE is for one that waits. */
enum { DONE = -1 };

#define PACKET_BYTES 64 /* of AQL */

typedef struct Queue {
    Control *control;
    uint64_t ring, size, at;
    volatile uint64_t *read_pointer, *write_pointer, *doorbell;
    uint64_t ticks; /* of the clock of the device, when the packet began */
    int32_t is_aql, is_ended;
    char unknown[80]; /* name of the packet that is not known */
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

static uint64_t clock_now(void) { return __atomic_load_n(&now, __ATOMIC_SEQ_CST); }

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

/* Makes a function return WORK_FAULT at an access to memory that is not mapped. */
#define GUARD(address)                                                                                                 \
    sigjmp_buf here;                                                                                                   \
    if (sigsetjmp(here, 1)) {                                                                                          \
        escape = NULL;                                                                                                 \
        *(address) = bad_address;                                                                                      \
        return WORK_FAULT;                                                                                             \
    }                                                                                                                  \
    escape = &here

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
    notify(&queue->control->bell);
}

/* Only after the queue's thread has ended. */
EXPORT void hkd_free(Queue *queue) { free(queue); }

EXPORT void hkd_set_events(Control *control, uint32_t type) { set_events(control, type); }

static void complete(Queue *queue, uint64_t handle, int is_launch) {
    if (!handle) return;
    Signal *signal = (Signal *)handle;
    uint32_t event = signal->mailbox ? signal->event : 0;
    uint64_t launch = __atomic_load_n(&launches, __ATOMIC_SEQ_CST);
    stamp((uint64_t)&signal->start, queue->ticks, launch - (uint64_t)is_launch, is_launch);
    stamp((uint64_t)&signal->end, clock_now(), launch, 0);
    __atomic_sub_fetch(&signal->value, 1, __ATOMIC_SEQ_CST);
    /* The program may have freed the signal by now. */
    if (event) set_event(queue->control, event);
}

static int holds(unsigned function, uint32_t value, uint32_t reference) {
    const int is_less = value < reference;
    const int is_more = value > reference;
    const int results[] = {1, is_less, !is_more, !is_less && !is_more, is_less || is_more, !is_less, is_more, 1};
    return results[function & 7];
}

#define WIDE(words, k) ((uint64_t)(words)[k] | (uint64_t)(words)[(k) + 1] << 32)

#define UNKNOWN(queue, ...) (snprintf((queue)->unknown, sizeof(queue)->unknown, __VA_ARGS__), WORK_UNKNOWN)

static uint32_t registers[UCONFIG_END - UCONFIG_START];

EXPORT uint32_t *hkd_registers(void) { return registers; }

static int set_registers(const uint32_t *words, uint32_t count) {
    uint32_t first = words[0] & 0xffff;
    if (first + count > UCONFIG_END - UCONFIG_START) return 0;
    memcpy(registers + first, words + 1, 4 * count);
    if ((registers[CP_PERFMON_CNTL - UCONFIG_START] & 15) == 0) /* disable and reset */
        memset(registers + COUNTERS_START - UCONFIG_START, 0, 4 * (COUNTERS_END - COUNTERS_START));
    return 1;
}

static uint32_t counter(uint32_t number) {
    int is_first = (registers[GRBM_GFX_INDEX - UCONFIG_START] & 0xffffff) == 0;
    return is_first && number >= COUNTERS_START && number < COUNTERS_END ? registers[number - UCONFIG_START] : 0;
}

/* Indirect buffers within each other; a buffer that names itself must not exhaust the stack. */
#define DEEPEST_BUFFER 8

/* PM4, as far as AQL queues have it (LLVM's and Mesa's sid.h have the layouts). */
static int pm4(Queue *queue, const uint32_t *packets, uint32_t count, unsigned depth) {
    for (uint32_t i = 0; i < count;) {
        uint32_t header = packets[i], op = header >> 8 & 0xff, size = (header >> 16 & 0x3fff) + 1;
        const uint32_t *words = packets + i + 1;
        int is_known = header >> 30 == 3 && size < count - i;
        if (header >> 30 == 2) {
            i++;
            continue;
        }
        switch (is_known ? op : 0) {
        case 0x10: /* NOP */
        case 0x46: /* EVENT_WRITE */
        case 0x58: /* ACQUIRE_MEM */
        case 0x76: /* SET_SH_REG */
            break;
        case 0x79: /* SET_UCONFIG_REG */
            is_known = set_registers(words, size - 1);
            break;
        case 0x23: /* PRED_EXEC: the device is its first die */
            if (!(words[0] >> 24 & 1)) size += words[0] & 0x3fff;
            break;
        case 0x3f: { /* INDIRECT_BUFFER */
            is_known = depth < DEEPEST_BUFFER;
            int result = is_known ? pm4(queue, (const uint32_t *)WIDE(words, 0), words[2] & 0xfffff, depth + 1) : DONE;
            if (result != DONE) return result;
            break;
        }
        case 0x3c: /* WAIT_REG_MEM; registers do not change */
            if (words[0] >> 4 & 1 && !holds(words[0], *(volatile uint32_t *)WIDE(words, 1) & words[4], words[3]))
                return WORK_NONE;
            break;
        case 0x49: { /* RELEASE_MEM */
            uint32_t data = words[1] >> 29;
            if (data == 1)
                __atomic_store_n((uint32_t *)WIDE(words, 2), words[4], __ATOMIC_SEQ_CST);
            else if (data == 2 || data == 3)
                __atomic_store_n((uint64_t *)WIDE(words, 2), data == 2 ? WIDE(words, 4) : clock_now(),
                                 __ATOMIC_SEQ_CST);
            if (words[1] >> 24 & 7) set_events(queue->control, EVENT_SIGNAL);
            break;
        }
        case 0x37: { /* WRITE_DATA */
            uint32_t target = words[0] >> 8 & 15;
            is_known = size >= 3 && (target == 2 || target == 5);
            if (is_known) memcpy((void *)WIDE(words, 1), words + 3, 4 * (size - 3));
            break;
        }
        case 0x40: { /* COPY_DATA */
            enum { MEMORY = 1, L2 = 2, COUNTER = 4, CONSTANT = 5, CLOCK = 9 };
            uint32_t source = words[0] & 15, target = words[0] >> 8 & 15, bytes = words[0] >> 16 & 1 ? 8 : 4;
            uint64_t value = 0;
            is_known = target == MEMORY || target == L2 || target == 5;
            if (source == MEMORY || source == L2)
                memcpy(&value, (void *)WIDE(words, 1), bytes);
            else if (source == COUNTER)
                value = counter(words[1]) | (bytes == 8 ? (uint64_t)counter(words[1] + 1) << 32 : 0);
            else if (source == CONSTANT || source == CLOCK)
                value = source == CLOCK ? clock_now() : WIDE(words, 1);
            else
                is_known = 0;
            if (is_known) memcpy((void *)WIDE(words, 3), &value, bytes);
            break;
        }
        default:
            is_known = 0;
        }
        if (!is_known) return UNKNOWN(queue, "PM4 packet %#x, or not with these operands", op);
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
        if (!any && !is_zero) return WORK_NONE;
    }
    return any && !is_empty && !is_open ? WORK_NONE : DONE;
}

/* AMD's own packets: ROCr's amd_hsa_queue.h and hsa_ext_amd.h. */
static int vendor(Queue *queue, const uint64_t *words) {
    enum { PM4 = 1, BARRIER_VALUE = 2 };
    unsigned format = words[0] >> 16 & 0xff;
    if (format == PM4) return pm4(queue, (const uint32_t *)words + 1, 4, 0);
    if (format != BARRIER_VALUE) return UNKNOWN(queue, "AMD packet of format %u", format);
    if (!words[1]) return DONE;
    int64_t value = __atomic_load_n(&((Signal *)words[1])->value, __ATOMIC_ACQUIRE) & (int64_t)words[3];
    int64_t reference = (int64_t)words[2];
    const int results[] = {value == reference, value != reference, value < reference, value >= reference};
    return results[(uint32_t)words[4] < 3 ? words[4] & 3 : 3] ? DONE : WORK_NONE;
}

static void *packet_of(Queue *queue) { return (void *)(queue->ring + queue->at % queue->size); }

static void retire(Queue *queue, uint64_t bytes) {
    enum { INVALID = 1 };
    if (queue->is_aql) __atomic_store_n((uint16_t *)packet_of(queue), INVALID, __ATOMIC_RELEASE);
    queue->at += bytes;
    __atomic_store_n(queue->read_pointer, queue->is_aql ? queue->at / PACKET_BYTES : queue->at, __ATOMIC_RELEASE);
}

static int has_packet(Queue *queue) {
    uint64_t bell = *queue->doorbell, at = queue->at / PACKET_BYTES;
    return queue->is_aql ? bell != ~0ull && at <= bell && at < *queue->write_pointer : queue->at < bell;
}

/* An AQL packet. Returns WORK_* or DONE. */
static int aql(Queue *queue) {
    enum { VENDOR = 0, INVALID = 1, KERNEL = 2, BARRIER_AND = 3, BARRIER_OR = 5 };
    const uint64_t *words = packet_of(queue);
    unsigned type = __atomic_load_n((const uint16_t *)words, __ATOMIC_ACQUIRE) & 0xff;
    int result;
    if (type == INVALID) return WORK_NONE;
    if (type == KERNEL) return WORK_KERNEL;
    if (type == BARRIER_AND || type == BARRIER_OR)
        result = barrier(queue, words, type == BARRIER_OR);
    else
        result = type == VENDOR ? vendor(queue, words) : UNKNOWN(queue, "AQL packet of type %u", type);
    if (result == DONE) {
        complete(queue, words[7], 0);
        retire(queue, PACKET_BYTES);
    }
    return result;
}

/* A packet of an SDMA queue: ROCr's sdma_registers.h has the layouts. `link` is seconds of 10 ns for a byte. Returns
 * WORK_* or DONE. */
static int sdma(Queue *queue, double link) {
    const uint32_t *words = packet_of(queue);
    uint32_t op = words[0] & 0xff, sub = words[0] >> 8 & 0xff, size = 0;
    switch (op) {
    case 0: /* nothing */
        size = 1 + (words[0] >> 16 & 0x3fff);
        break;
    case 1: { /* copy, linear */
        uint64_t count = (words[1] & 0x3fffffff) + 1ull;
        if (sub != 0) break;
        memmove((void *)WIDE(words, 5), (void *)WIDE(words, 3), count);
        advance((uint64_t)((double)count * link));
        size = 7;
        break;
    }
    case 5: /* fence */
        __atomic_store_n((uint32_t *)WIDE(words, 1), words[3], __ATOMIC_SEQ_CST);
        size = 4;
        break;
    case 6: /* trap */
        set_event(queue->control, words[1] & 0xfffffff);
        size = 2;
        break;
    case 8: /* poll memory, or flush, which registers answer at once */
        if (words[0] >> 31 && !holds(words[0] >> 28, *(volatile uint32_t *)WIDE(words, 1) & words[4], words[3]))
            return WORK_NONE;
        size = 6;
        break;
    case 10: /* atomic: add of 64 bits, which the runtime uses to complete signals */
        if ((words[0] >> 25 & 0x7f) != 47) break;
        __atomic_add_fetch((int64_t *)WIDE(words, 1), (int64_t)WIDE(words, 3), __ATOMIC_SEQ_CST);
        size = 8;
        break;
    case 11: { /* fill; the count is in bytes */
        uint64_t count = (words[4] & 0x3fffff) + 1ull;
        if (words[0] >> 30 == 2)
            for (uint64_t i = 0; i < count; i += 4) *(uint32_t *)(WIDE(words, 1) + i) = words[3];
        else
            memset((void *)WIDE(words, 1), (int)words[3], count);
        size = 5;
        break;
    }
    case 13: /* timestamp */
        stamp(WIDE(words, 1), clock_now(), __atomic_load_n(&launches, __ATOMIC_SEQ_CST), 0);
        size = 3;
        break;
    case 17: /* cache control */
        size = 5;
        break;
    }
    if (!size) return UNKNOWN(queue, "SDMA operation %u.%u", op, sub);
    retire(queue, 4 * size);
    return DONE;
}

#define SPINS 2000
#define SHORTEST_WAIT 100000
#define LONGEST_WAIT 2000000

/* Handles packets until there is something for Python to do, or the queue has ended. Returns WORK_*. */
EXPORT int hkd_next(Queue *queue, double link, uint64_t *address) {
    volatile unsigned idle = 0;
    Control *control = queue->control;
    GUARD(address);
    while (!__atomic_load_n(&queue->is_ended, __ATOMIC_SEQ_CST)) {
        int result = WORK_NONE, is_asleep = idle > SPINS, is_idle = 1;
        uint32_t bell = __atomic_load_n(&control->bell, __ATOMIC_SEQ_CST);
        if (is_asleep) __atomic_add_fetch(&control->sleeping, 1, __ATOMIC_SEQ_CST);
        while (has_packet(queue) && !__atomic_load_n(&queue->is_ended, __ATOMIC_SEQ_CST)) {
            queue->ticks = clock_now();
            if ((result = queue->is_aql ? aql(queue) : sdma(queue, link)) != DONE) break;
            is_idle = 0;
        }
        if (result == DONE) result = WORK_NONE;
        if (is_asleep && is_idle && result == WORK_NONE)
            futex_wait(&control->bell, bell, idle > SPINS + 200 ? LONGEST_WAIT : SHORTEST_WAIT);
        if (is_asleep) __atomic_sub_fetch(&control->sleeping, 1, __ATOMIC_SEQ_CST);
        if (result != WORK_NONE) {
            escape = NULL;
            *address = result == WORK_KERNEL ? (uint64_t)packet_of(queue) : (uint64_t)queue->unknown;
            return result;
        }
        idle = is_idle ? idle + 1 : 0;
    }
    escape = NULL;
    return WORK_NONE;
}

/* Completes the kernel of the packet that hkd_next has returned, which took so many ticks of this computer. Returns
 * WORK_NONE, or WORK_FAULT with the address if the packet's signal is not in mapped memory. */
EXPORT int hkd_done(Queue *queue, uint64_t ticks, uint64_t *address) {
    GUARD(address);
    queue->ticks = clock_now();
    advance(ticks);
    __atomic_add_fetch(&launches, 1, __ATOMIC_SEQ_CST);
    complete(queue, ((uint64_t *)packet_of(queue))[7], 1);
    retire(queue, PACKET_BYTES);
    escape = NULL;
    return WORK_NONE;
}
