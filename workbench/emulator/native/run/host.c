/* What a host range allows: registering memory that is not there must be an error, never a crash later. */
#include "run/wave.h"

#include <inttypes.h>
#include <stdio.h>

/* HK_ALLOCATION_* flags that hold for all of [base, base + size), from the process's memory map. */
HK_EXPORT int32_t hk_host_access(uint64_t base, uint64_t size) {
    uint64_t end = base + size;
    if (size == 0 || end < base) return 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    /* Without a /proc there is no telling; the caller's word has to do. */
    if (maps == NULL) return HK_ALLOCATION_READ | HK_ALLOCATION_WRITE;
    char line[512];
    int access = HK_ALLOCATION_READ | HK_ALLOCATION_WRITE, line_start = 1;
    uint64_t covered = base;
    while (covered < end && fgets(line, sizeof line, maps) != NULL) {
        int starts = line_start;
        line_start = strchr(line, '\n') != NULL;
        if (!starts) continue;
        uint64_t from, to;
        char read, write;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %c%c", &from, &to, &read, &write) != 4) continue;
        if (to <= covered) continue;
        if (from > covered) break;
        if (read != 'r') access &= ~HK_ALLOCATION_READ;
        if (write != 'w') access &= ~HK_ALLOCATION_WRITE;
        covered = to;
    }
    fclose(maps);
    return covered < end ? 0 : access;
}
