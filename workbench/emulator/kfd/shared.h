/* What the library in a program's process (interposer.c) and the device in its own process (queues.c, server.py) share:
 * a page of state at CONTROL_OFFSET of the program's memory file, and the messages of their socket. */
#pragma once
#include <stdint.h>

#define CONTROL_OFFSET 0x10000
#define CONTROL_BYTES 0x40000
#define MOST_QUEUES 1024
#define MOST_EVENTS 4096

enum { MESSAGE_HELLO = 1, MESSAGE_MAP, MESSAGE_UNMAP, MESSAGE_QUEUE, MESSAGE_QUEUE_END, MESSAGE_CODE, MESSAGE_TIMES };
enum { MEMORY_DEVICE = 1, MEMORY_HOST };

/* The answer to each is an errno, 0 if all is well. MAP and CODE come with a file. */
typedef struct Message {
    uint32_t kind;
    uint32_t what; /* MAP: MEMORY_*; QUEUE: its type */
    uint64_t id;   /* QUEUE, QUEUE_END: its number */
    uint64_t base, size, offset;
    uint64_t read_pointer, write_pointer; /* QUEUE: addresses */
} Message;

typedef struct Event {
    uint32_t used, type, auto_reset, signaled;
    uint64_t age; /* 1, and one more each time that it is set */
} Event;

typedef struct Control {
    uint64_t doorbells[MOST_QUEUES]; /* first, since programs map this page */
    uint32_t bell;                   /* futex: changes with a doorbell that the library saw */
    uint32_t sleeping;               /* threads of the device that wait for it */
    uint32_t turn;                   /* futex: changes with each event that is set */
    uint32_t untimed;                /* launches whose modelled time is not in the signals yet */
    uint64_t fault_address;          /* of the access that a memory event reports */
    Event events[MOST_EVENTS];
} Control;

_Static_assert(sizeof(Control) <= CONTROL_BYTES, "the state fits its place in the file");

/* Of KFD's event types, the two that the device sets without being asked. */
enum { EVENT_SIGNAL = 0, EVENT_EXCEPTION = 3, EVENT_MEMORY = 8 };

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline void futex_wake(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, 1 << 30, NULL, NULL, 0); }

static inline void futex_wait(uint32_t *word, uint32_t value, long nanoseconds) {
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &time, NULL, 0);
}

static inline void set_event(Control *control, uint32_t id) {
    if (id >= MOST_EVENTS || !control->events[id].used) return;
    Event *event = &control->events[id];
    __atomic_store_n(&event->signaled, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&event->age, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&control->turn, 1, __ATOMIC_SEQ_CST);
    futex_wake(&control->turn);
}

/* Ticks of the device's clock, 100 MHz. */
static inline uint64_t clock_ticks(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC_RAW, &time);
    return ((uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec) / 10;
}
