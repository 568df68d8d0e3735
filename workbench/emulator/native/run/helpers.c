/* Threads that run work-groups beside the launching one.
 *
 * Each belongs to Python, which starts it, and stays in here between launches: Python's lock would let sixteen threads
 * begin and end only one after another, 30 to 45 us each, as long as a whole small launch takes.
 */
#define _GNU_SOURCE
#include "run/group.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct HkHelper {
    pthread_mutex_t lock;
    pthread_cond_t wanted, ended;
    Worker *worker; /* NULL between launches */
    uint64_t slice;
    int32_t (*run)(Worker *, uint64_t); /* of the library whose launch it is */
};

HK_EXPORT HkHelper *hk_helper_new(void) {
    HkHelper *h = calloc(1, sizeof *h);
    if (h == NULL) return NULL;
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
#ifndef __APPLE__
    /* The system's clock may be set back while somebody waits. */
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
#endif
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->wanted, NULL);
    pthread_cond_init(&h->ended, &steady);
    pthread_condattr_destroy(&steady);
    return h;
}

HK_EXPORT void hk_helper_serve(HkHelper *h) {
    pthread_mutex_lock(&h->lock);
    for (;;) {
        while (h->worker == NULL) pthread_cond_wait(&h->wanted, &h->lock);
        pthread_mutex_unlock(&h->lock);
        while (h->run(h->worker, h->slice) == HK_RUN_AGAIN) {
        }
        pthread_mutex_lock(&h->lock);
        h->worker = NULL;
        pthread_cond_signal(&h->ended);
    }
}

HK_EXPORT void hk_helper_start(HkHelper *h, Worker *worker, uint64_t slice_nanoseconds) {
    pthread_mutex_lock(&h->lock);
    h->worker = worker;
    h->slice = slice_nanoseconds;
    h->run = hk_run;
    pthread_mutex_unlock(&h->lock);
    pthread_cond_signal(&h->wanted);
}

/* Waits with the lock for the end of the worker, `nanoseconds` at most; returns nonzero after these. */
static int await_end(HkHelper *h, uint64_t nanoseconds) {
    const uint64_t second = 1000000000;
#ifdef __APPLE__
    struct timespec most = {(time_t)(nanoseconds / second), (long)(nanoseconds % second)};
    return pthread_cond_timedwait_relative_np(&h->ended, &h->lock, &most);
#else
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    nanoseconds += (uint64_t)until.tv_nsec;
    until.tv_sec += (time_t)(nanoseconds / second);
    until.tv_nsec = (long)(nanoseconds % second);
    return pthread_cond_timedwait(&h->ended, &h->lock, &until);
#endif
}

HK_EXPORT int32_t hk_helper_wait(HkHelper *h, uint64_t nanoseconds) {
    pthread_mutex_lock(&h->lock);
    while (h->worker != NULL && await_end(h, nanoseconds) == 0) {
    }
    int32_t ended = h->worker == NULL;
    pthread_mutex_unlock(&h->lock);
    return ended;
}
