/* Ctrl-C during launches from threads other than Python's main thread, which alone receives signals. */
#define _GNU_SOURCE
#include "run/wave.h"

#include <signal.h>
#include <stdatomic.h>

static struct sigaction before;
static _Atomic uint64_t heard;

static void hear(int number, siginfo_t *info, void *context) {
    atomic_fetch_add(&heard, 1);
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else
        before.sa_handler(number);
}

/* Number of SIGINTs since listening began. The first call installs a handler before the current one; later calls do so
 * again if another handler was installed in the meantime. A process that ignores SIGINT, or has the default action, is
 * left alone. */
HK_EXPORT uint64_t hk_hear_interrupts(void) {
    struct sigaction current;
    sigaction(SIGINT, NULL, &current);
    int plain = !(current.sa_flags & SA_SIGINFO);
    int unhandled = plain && (current.sa_handler == SIG_IGN || current.sa_handler == SIG_DFL);
    if (!unhandled && (plain || current.sa_sigaction != hear)) {
        before = current;
        current.sa_sigaction = hear;
        current.sa_flags |= SA_SIGINFO;
        sigaction(SIGINT, &current, NULL);
    }
    return atomic_load(&heard);
}

/* Restores the signal's handler, unless it was replaced in the meantime. */
HK_EXPORT void hk_leave_interrupts(void) {
    struct sigaction current;
    sigaction(SIGINT, NULL, &current);
    if ((current.sa_flags & SA_SIGINFO) && current.sa_sigaction == hear) sigaction(SIGINT, &before, NULL);
}
