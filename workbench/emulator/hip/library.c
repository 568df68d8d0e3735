/* The C part of the emulator's libamdhip64: what its slots lead to before and after Python fills them. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

enum { HIP_DEINITIALIZED = 4, HIP_NOT_SUPPORTED = 801 };

extern void *hkhip_slots[];
extern const char *const hkhip_names[];

#define MOST_FUNCTIONS 4096
static atomic_char said[MOST_FUNCTIONS];
static atomic_int closed;

/* Answers a function that nobody filled in; its trampoline passes the slot's number. */
__attribute__((used, visibility("hidden"))) int64_t hkhip_unsupported(int index) {
    if (atomic_load(&closed)) return HIP_DEINITIALIZED;
    if (index < MOST_FUNCTIONS && !atomic_exchange(&said[index], 1))
        fprintf(stderr, "hipkittens: the emulated device does not support %s (hipErrorNotSupported)\n",
                hkhip_names[index]);
    return HIP_NOT_SUPPORTED;
}

static int32_t deinitialized(void) { return HIP_DEINITIALIZED; }

static const char *no_text(void) { return "deinitialized"; }

static void *after[MOST_FUNCTIONS];

/* What a function's slot leads to; `text` says that it returns a string rather than a hipError_t. */
EXPORT void hkhip_set(int index, void *function, int text) {
    hkhip_slots[index] = function;
    if (index < MOST_FUNCTIONS) after[index] = text ? (void *)no_text : (void *)deinitialized;
}

/* The one function that returns a structure, through memory of the caller, so that no default fits it. */
typedef struct ChannelFormatDesc {
    int x, y, z, w, kind;
} ChannelFormatDesc;

EXPORT ChannelFormatDesc hkhip_create_channel_desc(int x, int y, int z, int w, int kind) {
    return (ChannelFormatDesc){x, y, z, w, kind};
}

EXPORT void hkhip_set_permanently(int index, void *function) { hkhip_slots[index] = function; }

/* Python is about to go: from now on every function that it answered fails quietly. */
EXPORT void hkhip_close(void) {
    atomic_store(&closed, 1);
    for (int i = 0; i < MOST_FUNCTIONS; i++)
        if (after[i] != NULL) hkhip_slots[i] = after[i];
}
