/* Access rights of a host range: registering unmapped memory must be an error at once, not a crash later. */
#include "run/wave.h"

#if defined(__APPLE__)
/* Untested on a Mac. */
#include <mach/mach.h>

/* From mach/mach_vm.h, which zig lacks. */
extern kern_return_t mach_vm_region(vm_map_read_t task, mach_vm_address_t *address, mach_vm_size_t *size,
                                    vm_region_flavor_t flavor, vm_region_info_t info, mach_msg_type_number_t *count,
                                    mach_port_t *object);

/* HK_ALLOCATION_* flags that hold for all of [base, base + size). */
HK_EXPORT int32_t hk_listed_access(uint64_t base, uint64_t size) {
    uint64_t end = base + size;
    if (size == 0 || end < base) return 0;
    int access = HK_ALLOCATION_READ | HK_ALLOCATION_WRITE;
    for (uint64_t covered = base; covered < end;) {
        mach_vm_address_t start = covered;
        mach_vm_size_t length = 0;
        vm_region_basic_info_data_64_t region;
        mach_msg_type_number_t count = VM_REGION_BASIC_INFO_COUNT_64;
        mach_port_t object = MACH_PORT_NULL;
        kern_return_t found = mach_vm_region(mach_task_self(), &start, &length, VM_REGION_BASIC_INFO_64,
                                             (vm_region_info_t)&region, &count, &object);
        /* If the address is in no region, the next one is returned. */
        if (found != KERN_SUCCESS || start > covered) return 0;
        if (!(region.protection & VM_PROT_READ)) access &= ~HK_ALLOCATION_READ;
        if (!(region.protection & VM_PROT_WRITE)) access &= ~HK_ALLOCATION_WRITE;
        covered = start + length;
    }
    return access;
}

HK_EXPORT int32_t hk_host_access(uint64_t base, uint64_t size) { return hk_listed_access(base, size); }
#else
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Linux 6.11 and later answer queries for a single mapping (PROCMAP_QUERY of linux/fs.h, absent from the headers of
 * older systems). */
struct mapping_query {
    uint64_t size, flags, address;
    uint64_t start, end, access, page_size, offset, inode;
    uint32_t device[2], name_size, build_id_size;
    uint64_t name, build_id;
};
#define MAPPING_QUERY _IOWR('f', 17, struct mapping_query)
enum { MAPPING_READABLE = 1, MAPPING_WRITABLE = 2 };

/* HK_ALLOCATION_* flags that hold for all of [base, base + size), from the text of the process's memory map. In a
 * process that has loaded PyTorch this takes 16 us of processor time for each tensor of a launch; a query takes 5. */
HK_EXPORT int32_t hk_listed_access(uint64_t base, uint64_t size) {
    uint64_t end = base + size;
    if (size == 0 || end < base) return 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    /* Without /proc there is no way to check, so the caller is trusted. */
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

/* The process's memory map, opened once: a launch asks for each of its tensors. After a fork the file is the parent's.
 */
static int memory_map(void) {
    static _Atomic int64_t known = -1;
    int64_t process = getpid(), found = atomic_load(&known);
    if (found >= 0 && found >> 32 == process) return (int)(found & INT32_MAX);
    int opened = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (opened >= 0 && !atomic_compare_exchange_strong(&known, &found, process << 32 | opened)) {
        close(opened);
        return (int)(atomic_load(&known) & INT32_MAX);
    }
    return opened;
}

/* As hk_listed_access, but with queries for the range's own mappings if the system supports them. */
HK_EXPORT int32_t hk_host_access(uint64_t base, uint64_t size) {
    uint64_t end = base + size;
    if (size == 0 || end < base) return 0;
    int maps = memory_map();
    if (maps < 0) return hk_listed_access(base, size);
    int access = HK_ALLOCATION_READ | HK_ALLOCATION_WRITE, failed = 0;
    for (uint64_t covered = base; covered < end && failed == 0;) {
        struct mapping_query query = {.size = sizeof query, .address = covered};
        if (ioctl(maps, MAPPING_QUERY, &query) != 0) {
            failed = errno;
        } else {
            if (!(query.access & MAPPING_READABLE)) access &= ~HK_ALLOCATION_READ;
            if (!(query.access & MAPPING_WRITABLE)) access &= ~HK_ALLOCATION_WRITE;
            covered = query.end;
        }
    }
    if (failed == 0) return access;
    /* ENOENT: nothing is mapped there. Any other error: the system does not support queries, or the file was closed. */
    return failed == ENOENT ? 0 : hk_listed_access(base, size);
}
#endif
