/* Events and the clock, in both processes. */
#pragma once
#include "shared.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(Control) <= CONTROL_BYTES, "the state fits its place in the file");

static inline void futex_wake(uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE, 1 << 30, NULL, NULL, 0); }

static inline void futex_wait(uint32_t *word, uint32_t value, long nanoseconds) {
    struct timespec time = {nanoseconds / 1000000000, nanoseconds % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT, value, &time, NULL, 0);
}

/* Changes a word and wakes those that wait for it. */
static inline void notify(uint32_t *word) {
    __atomic_add_fetch(word, 1, __ATOMIC_SEQ_CST);
    futex_wake(word);
}

static inline void set_event(Control *control, uint32_t id) {
    if (id >= MOST_EVENTS || !control->events[id].used) return;
    Event *event = &control->events[id];
    __atomic_store_n(&event->signaled, 1, __ATOMIC_SEQ_CST);
    __atomic_add_fetch(&event->age, 1, __ATOMIC_SEQ_CST);
    notify(&control->turn);
}

static inline void set_events(Control *control, uint32_t type) {
    for (uint32_t id = 1; id < MOST_EVENTS; id++)
        if (control->events[id].type == type) set_event(control, id);
}

static inline uint64_t nanoseconds_of(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Ticks of the device's clock, 100 MHz. */
static inline uint64_t clock_ticks(void) { return nanoseconds_of(CLOCK_MONOTONIC_RAW) / 10; }
