/* Answers the kernel driver's interface inside a program's process: /dev/kfd, a render node and their files of sysfs.
 *
 * Loaded by LD_PRELOAD. Memory, events and the ioctls are answered here; a process of the workbench, connected by a
 * socket, is the device: it maps the same memory at the same addresses, reads the queues and runs the kernels.
 * Facts of the product and the files of sysfs are in the folder HIPKITTENS_DRIVER (topology.py). */
#define _GNU_SOURCE
#include "../native/abi.h"
#include "events.h"

#include <dirent.h>
#include <dlfcn.h>
#include <drm/amdgpu_drm.h>
#include <drm/drm.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#define EXPORT __attribute__((visibility("default")))
#define REAL(name)                                                                                                     \
    __extension__({                                                                                                    \
        static __typeof__(&name) function;                                                                             \
        if (!function) function = (__typeof__(&name))dlsym(RTLD_NEXT, #name);                                          \
        function;                                                                                                      \
    })

/* Later than the headers of the C compiler. */
#define QUEUE_TYPE_SDMA_BY_ENGINE 4
#define IOCTL_AVAILABLE_MEMORY 0x23
#define IOCTL_RUNTIME_ENABLE 0x25
#define PAGE 4096ull
#define KFD "/dev/kfd"
#define RENDER "/dev/dri/renderD128"
#define KFD_NODE makedev(234, 0)
#define RENDER_NODE makedev(226, 128)

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int memory_file = -1, device = -1;
static struct stat memory_status; /* of the last memory file, even after a fork */
static uint64_t memory_end, vram_used;
static Control *control;
static uint64_t *event_page;
static const char *folder;
static int is_verbose;

static Facts facts;

__attribute__((constructor)) static void begin(void) {
    folder = getenv("HIPKITTENS_DRIVER");
    is_verbose = getenv("HIPKITTENS_DRIVER_LOG") != NULL;
}

/* Names what is refused, once in a process. */
static int refuse(const char *what, unsigned number, int error) {
    static uint8_t named[3][256];
    uint8_t *seen = &named[*what == 'k' ? 0 : *what == 'd' ? 1 : 2][number & 0xff];
    if (!*seen)
        fprintf(stderr,
                "hipkittens: the emulated driver has no %s %#x (%s); the program gets that error. If it needs the "
                "request, please report it with the program's name.\n",
                what, number, strerror(error));
    *seen = 1;
    errno = error;
    return -1;
}

/* Begins the function that answers an ioctl; it returns an errno. */
#define IOCTL(name)                                                                                                    \
    static int name##_of(struct kfd_ioctl_##name##_args *a);                                                           \
    static int answer_##name(void *argument) { return name##_of(argument); }                                           \
    static int name##_of(struct kfd_ioctl_##name##_args *a)

/* ---- the device's process */

static int ask(Message *message, int file) {
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr align;
    } extra = {0};
    struct iovec part = {message, sizeof *message};
    struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
    if (file >= 0) {
        packet.msg_control = extra.bytes;
        packet.msg_controllen = sizeof extra.bytes;
        struct cmsghdr *header = CMSG_FIRSTHDR(&packet);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof file);
        memcpy(CMSG_DATA(header), &file, sizeof file);
    }
    int32_t answer;
    ssize_t size;
    if (device < 0 || sendmsg(device, &packet, MSG_NOSIGNAL) != (ssize_t)sizeof *message) return EIO;
    while ((size = recv(device, &answer, sizeof answer, 0)) < 0 && errno == EINTR) continue;
    return size == sizeof answer ? answer : EIO;
}

static int read_facts(void) {
    char path[4096];
    snprintf(path, sizeof path, "%s/facts", folder);
    FILE *file = REAL(fopen)(path, "re");
    size_t count = file ? fread(&facts, sizeof facts, 1, file) : 0;
    if (file) fclose(file);
    if (count) return 0;
    fprintf(stderr,
            "hipkittens: %s cannot be read: in another root folder, the folder HIPKITTENS_DRIVER has to be mounted "
            "under the same name (docs/driver.md)\n",
            path);
    return ENODEV;
}

/* Connects this process to its device; the lock is held. */
static int connect_device(void) {
    if (device >= 0) return 0;
    const char *name = getenv("HIPKITTENS_DRIVER_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!name || strlen(name) + 1 >= sizeof address.sun_path) return ENODEV;
    /* The name is abstract: it is found in another root folder too. */
    memcpy(address.sun_path + 1, name, strlen(name));
    socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(name));
    if (read_facts()) return ENODEV;
    int error = 0;
    device = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    memory_file = memfd_create("emulated-gpu", MFD_CLOEXEC);
    memory_end = CONTROL_OFFSET + CONTROL_BYTES;
    void *page = MAP_FAILED;
    if (device < 0 || memory_file < 0 || ftruncate(memory_file, (off_t)memory_end) ||
        (page = mmap(NULL, CONTROL_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file, CONTROL_OFFSET)) ==
            MAP_FAILED ||
        connect(device, (struct sockaddr *)&address, length))
        error = errno;
    Message hello = {.kind = MESSAGE_HELLO, .offset = CONTROL_OFFSET};
    if (!error && !(error = ask(&hello, memory_file)) && !REAL(fstat)(memory_file, &memory_status)) {
        control = page;
        return 0;
    }
    if (memory_file < 0 || page == MAP_FAILED)
        fprintf(stderr,
                "hipkittens: the emulated driver cannot create the program's memory (%s): it needs memfd_create, which "
                "a container's seccomp profile may forbid\n",
                strerror(error));
    else
        fprintf(stderr,
                "hipkittens: the emulated driver's device does not answer (%s): run the program by "
                "`python -m workbench exec --driver -- program`\n",
                strerror(error));
    if (page != MAP_FAILED) munmap(page, CONTROL_BYTES);
    if (device >= 0) close(device);
    if (memory_file >= 0) close(memory_file);
    device = memory_file = -1;
    return ENODEV;
}

/* True if the device's process has ended, which is said once. */
static int is_lost(void) {
    static int is_said;
    struct pollfd end = {.fd = device};
    if (poll(&end, 1, 0) <= 0 || !(end.revents & (POLLHUP | POLLERR))) return 0;
    if (!__atomic_exchange_n(&is_said, 1, __ATOMIC_SEQ_CST))
        fprintf(stderr, "hipkittens: the emulated driver's device has ended; its own message is above. Please report "
                        "it if there is none.\n");
    return 1;
}

/* ---- files */

static const char *place(const char *path, char *buffer, size_t size) {
    static const char *const PREFIXES[] = {"/sys/devices/virtual/kfd", "/sys/class/kfd",     "/sys/module/amdgpu",
                                           "/sys/class/drm",           "/sys/dev/char/226:", "/dev/dri"};
    if (!folder || !path) return path;
    for (size_t i = 0; i < sizeof PREFIXES / sizeof *PREFIXES; i++)
        if (!strncmp(path, PREFIXES[i], strlen(PREFIXES[i])) &&
            snprintf(buffer, size, "%s%s", folder, path) < (int)size)
            return buffer;
    return path;
}

/* The number of the device's node that a path names, or 0. */
static dev_t node_of_path(const char *path) {
    if (!folder || !path) return 0;
    return !strcmp(path, KFD) ? KFD_NODE : !strcmp(path, RENDER) ? RENDER_NODE : 0;
}

/* True for a file that the program has for a node: a copy of the memory's, so that its own mmap of it works. */
static int is_node(int file) {
    struct stat status;
    return memory_status.st_ino && !REAL(fstat)(file, &status) && status.st_ino == memory_status.st_ino &&
           status.st_dev == memory_status.st_dev;
}

static int open_node(void) {
    pthread_mutex_lock(&lock);
    int error = connect_device();
    int file = error ? -1 : fcntl(memory_file, F_DUPFD_CLOEXEC, 3);
    pthread_mutex_unlock(&lock);
    if (error) errno = error;
    return file;
}

#define OPEN(name, parameter, argument)                                                                                \
    EXPORT int name(parameter const char *path, int flags, ...) {                                                      \
        va_list rest;                                                                                                  \
        va_start(rest, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;                                        \
        va_end(rest);                                                                                                  \
        char buffer[4096];                                                                                             \
        if (node_of_path(path)) return open_node();                                                                    \
        return REAL(name)(argument place(path, buffer, sizeof buffer), flags, mode);                                   \
    }
#define FOLDER_PARAMETER int at,
#define FOLDER_ARGUMENT at,
OPEN(open, , )
OPEN(open64, , )
OPEN(openat, FOLDER_PARAMETER, FOLDER_ARGUMENT)
OPEN(openat64, FOLDER_PARAMETER, FOLDER_ARGUMENT)
/* What a program calls that was compiled with _FORTIFY_SOURCE. */
EXPORT int __open_2(const char *path, int flags) { return open(path, flags); }
EXPORT int __open64_2(const char *path, int flags) { return open64(path, flags); }
EXPORT int __openat_2(int at, const char *path, int flags) { return openat(at, path, flags); }
EXPORT int __openat64_2(int at, const char *path, int flags) { return openat64(at, path, flags); }

/* struct stat64 is struct stat on 64-bit machines. */
static int describe(dev_t node, void *result) {
    struct stat *status = result;
    memset(status, 0, sizeof *status);
    status->st_mode = S_IFCHR | 0666;
    status->st_rdev = node;
    return 0;
}

#define WITH_PATH(type, name, parameters, arguments, is_special, special)                                              \
    EXPORT type name parameters {                                                                                      \
        char buffer[4096];                                                                                             \
        dev_t node = node_of_path(path);                                                                               \
        const char *there = place(path, buffer, sizeof buffer);                                                        \
        return node && is_special ? special : REAL(name) arguments;                                                    \
    }
WITH_PATH(FILE *, fopen, (const char *path, const char *mode), (there, mode), 0, NULL)
WITH_PATH(FILE *, fopen64, (const char *path, const char *mode), (there, mode), 0, NULL)
WITH_PATH(DIR *, opendir, (const char *path), (there), 0, NULL)
WITH_PATH(ssize_t, readlink, (const char *path, char *out, size_t size), (there, out, size), 0, 0)
WITH_PATH(int, access, (const char *path, int mode), (there, mode), 1, 0)
WITH_PATH(int, stat, (const char *path, struct stat *result), (there, result), 1, describe(node, result))
WITH_PATH(int, stat64, (const char *path, struct stat64 *result), (there, result), 1, describe(node, result))
WITH_PATH(int, lstat, (const char *path, struct stat *result), (there, result), 1, describe(node, result))
WITH_PATH(int, lstat64, (const char *path, struct stat64 *result), (there, result), 1, describe(node, result))
EXPORT int fstat(int file, struct stat *result) {
    return is_node(file) ? describe(RENDER_NODE, result) : REAL(fstat)(file, result);
}
EXPORT int fstat64(int file, struct stat64 *result) {
    return is_node(file) ? describe(RENDER_NODE, result) : REAL(fstat64)(file, result);
}

/* ---- memory */

static int map_on_device(uint64_t base, uint64_t size, uint32_t kind, uint64_t offset, int file) {
    Message message = {.kind = MESSAGE_MAP, .what = kind, .base = base, .size = size, .offset = offset};
    return ask(&message, file);
}

static void unmap_on_device(uint64_t base, uint64_t size) {
    Message message = {.kind = MESSAGE_UNMAP, .base = base, .size = size};
    ask(&message, -1);
}

/* A buffer of ALLOC_MEMORY_OF_GPU, or a range of SVM (without a number). */
typedef struct Buffer {
    struct Buffer *next;
    uint64_t id, base, size, offset;
    uint32_t flags;
    int is_mapped;
} Buffer;
static Buffer *buffers;
static uint64_t last_id;

static Buffer **buffer_of(uint64_t id) {
    Buffer **link = &buffers;
    while (*link && (*link)->id != id) link = &(*link)->next;
    return link;
}

/* Memory of the program that the device maps too: whole pages, which lie in a file of their own. */
typedef struct Segment {
    struct Segment *next;
    uint64_t base, end;
    unsigned long inode; /* of its file */
    int uses, is_seen;
} Segment;
static Segment *segments;

static int overlaps(const Segment *segment, uint64_t base, uint64_t size) {
    return segment->base < base + size && segment->end > base;
}

/* Ends segments without uses. */
static void sweep(void) {
    for (Segment **link = &segments; *link;) {
        Segment *segment = *link;
        if (segment->uses > 0) {
            link = &segment->next;
            continue;
        }
        unmap_on_device(segment->base, segment->end - segment->base);
        *link = segment->next;
        free(segment);
    }
}

/* Forgets segments that the program has unmapped: nobody tells the driver so. */
static void prune(void) {
    FILE *maps = segments ? REAL(fopen)("/proc/self/maps", "re") : NULL;
    if (!maps) return;
    for (Segment *s = segments; s; s = s->next) s->is_seen = 0;
    char line[4352];
    while (fgets(line, sizeof line, maps)) {
        unsigned long start, end, inode;
        if (!strstr(line, "/memfd:") || sscanf(line, "%lx-%lx %*s %*s %*s %lu", &start, &end, &inode) != 3) continue;
        for (Segment *s = segments; s; s = s->next)
            s->is_seen |= s->inode == inode && start <= s->base && s->end <= end;
    }
    fclose(maps);
    for (Segment *s = segments; s; s = s->next)
        if (!s->is_seen) s->uses = 0;
    sweep();
}

/* Moves pages of the program into a file that the device can map, with their contents. What other threads write there
 * in the meantime may be lost. */
static int share_pages(uint64_t base, uint64_t end) {
    static const char ZEROS[PAGE];
    size_t size = end - base;
    struct stat status;
    Segment *segment = malloc(sizeof *segment);
    char *copy = MAP_FAILED;
    int file = memfd_create("emulated-gpu-host", MFD_CLOEXEC), error = 0;
    if (!segment || file < 0 || ftruncate(file, (off_t)size) || REAL(fstat)(file, &status) ||
        (copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)) == MAP_FAILED)
        error = ENOMEM;
    if (!error && (error = map_on_device(base, size, MEMORY_HOST, 0, file)) == 0) {
        for (size_t at = 0; at < size; at += PAGE)
            if (memcmp((void *)(base + at), ZEROS, PAGE)) memcpy(copy + at, (void *)(base + at), PAGE);
        if (mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, (void *)base) == MAP_FAILED) {
            error = ENOMEM;
            unmap_on_device(base, size);
        }
    }
    if (file >= 0) close(file);
    if (error) {
        if (copy != MAP_FAILED) munmap(copy, size);
        free(segment);
        return error;
    }
    *segment = (Segment){segments, base, end, status.st_ino, 1, 0};
    segments = segment;
    return 0;
}

static void end_sharing(uint64_t base, uint64_t size) {
    for (Segment *s = segments; s; s = s->next) s->uses -= overlaps(s, base, size);
    sweep();
}

static int share(uint64_t base, uint64_t size) {
    if (!size || base + size + PAGE - 1 < base) return EINVAL;
    uint64_t end = (base + size + PAGE - 1) & ~(PAGE - 1);
    base &= ~(PAGE - 1);
    uint64_t begin = base;
    prune();
    while (base < end) {
        uint64_t gap_end = end;
        Segment *here = NULL;
        for (Segment *s = segments; s; s = s->next) {
            if (s->base <= base && base < s->end)
                here = s;
            else if (s->base > base && s->base < gap_end)
                gap_end = s->base;
        }
        if (here) {
            here->uses++;
            base = here->end;
            continue;
        }
        int error = share_pages(base, gap_end);
        if (error) {
            end_sharing(begin, base - begin);
            return error;
        }
        base = gap_end;
    }
    return 0;
}

#define NOT_FROM_FILE                                                                                                  \
    (KFD_IOC_ALLOC_MEM_FLAGS_USERPTR | KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL | KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP)

/* Adds to the program's memory file; returns the offset there, 0 if that fails. */
static uint64_t extend_file(uint64_t size) {
    uint64_t offset = memory_end, end = memory_end + ((size + PAGE - 1) & ~(PAGE - 1));
    if (ftruncate(memory_file, (off_t)end)) return 0;
    memory_end = end;
    return offset;
}

IOCTL(alloc_memory_of_gpu) {
    int is_vram = a->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM, error = 0;
    if (!a->size || a->size > 1ull << 47) return EINVAL;
    if (is_vram && vram_used + a->size > facts.vram_limit) return ENOMEM;
    Buffer *buffer = calloc(1, sizeof *buffer);
    if (!buffer) return ENOMEM;
    *buffer = (Buffer){buffers, ++last_id | facts.gpu_id << 32, a->va_addr, a->size, 0, a->flags, 0};
    if (a->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) {
        if (a->mmap_offset) buffer->base = a->mmap_offset;
        error = share(buffer->base, a->size);
    } else if (a->flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) {
        a->mmap_offset = CONTROL_OFFSET;
    } else {
        a->mmap_offset = buffer->offset = extend_file(a->size);
        error = buffer->offset ? 0 : ENOMEM;
    }
    if (error) {
        free(buffer);
        return error;
    }
    if (is_vram) vram_used += a->size;
    a->handle = buffer->id;
    buffers = buffer;
    return 0;
}

IOCTL(map_memory_to_gpu) {
    Buffer *buffer = *buffer_of(a->handle);
    int error = buffer ? 0 : EINVAL;
    if (buffer && !buffer->is_mapped && !(buffer->flags & NOT_FROM_FILE) && buffer->base) {
        uint32_t kind = buffer->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM ? MEMORY_DEVICE : MEMORY_HOST;
        /* The device's addresses are this process's. */
        void *there = mmap((void *)buffer->base, buffer->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                           memory_file, (off_t)buffer->offset);
        /* What the program shared there before, it has unmapped. */
        for (Segment *s = segments; s; s = s->next)
            if (overlaps(s, buffer->base, buffer->size)) s->uses = 0;
        sweep();
        error =
            there == MAP_FAILED ? ENOMEM : map_on_device(buffer->base, buffer->size, kind, buffer->offset, memory_file);
        buffer->is_mapped = !error;
    }
    a->n_success = error ? 0 : a->n_devices;
    return error;
}

static void unmap_buffer(Buffer *buffer) {
    if (buffer->is_mapped) unmap_on_device(buffer->base, buffer->size);
    buffer->is_mapped = 0;
}

IOCTL(unmap_memory_from_gpu) {
    Buffer *buffer = *buffer_of(a->handle);
    if (!buffer) return EINVAL;
    unmap_buffer(buffer);
    a->n_success = a->n_devices;
    return 0;
}

IOCTL(free_memory_of_gpu) {
    Buffer **link = buffer_of(a->handle), *buffer = *link;
    if (!buffer) return EINVAL;
    unmap_buffer(buffer);
    if (buffer->flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR)
        end_sharing(buffer->base, buffer->size);
    else if (!(buffer->flags & NOT_FROM_FILE))
        fallocate(memory_file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)buffer->offset, (off_t)buffer->size);
    if (buffer->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) vram_used -= buffer->size;
    if (event_page == (uint64_t *)buffer->base) event_page = NULL;
    *link = buffer->next;
    free(buffer);
    return 0;
}

IOCTL(svm) {
    if (a->op == KFD_IOCTL_SVM_OP_SET_ATTR) {
        for (Buffer *b = buffers; b; b = b->next)
            if (b->base <= a->start_addr && a->start_addr + a->size <= b->base + b->size) return 0;
        return share(a->start_addr, a->size);
    }
    for (uint32_t i = 0; i < a->nattr; i++) {
        struct kfd_ioctl_svm_attribute *attribute = &a->attrs[i];
        if (attribute->type == KFD_IOCTL_SVM_ATTR_PREFERRED_LOC || attribute->type == KFD_IOCTL_SVM_ATTR_PREFETCH_LOC)
            attribute->value = KFD_IOCTL_SVM_LOCATION_UNDEFINED;
        else if (attribute->type == KFD_IOCTL_SVM_ATTR_SET_FLAGS || attribute->type == KFD_IOCTL_SVM_ATTR_CLR_FLAGS)
            attribute->value = 0;
    }
    return 0;
}

/* ---- virtual memory
 *
 * The runtime exports a buffer as a file, imports the file at the render node, where the lower half of the buffer's
 * number names it, and maps parts of it at addresses that it has reserved. */

/* The contents of such a file, which is as long as the buffer. Memory is shared within a process alone. */
typedef struct Exported {
    char magic[16];
    uint64_t id, process;
} Exported;
#define EXPORTED(id) ((Exported){"emulated buffer", id, (uint64_t)getpid()})

IOCTL(export_dmabuf) {
    const Buffer *buffer = *buffer_of(a->handle);
    if (!buffer || buffer->flags & NOT_FROM_FILE) return EINVAL;
    Exported exported = EXPORTED(buffer->id);
    int file = memfd_create("emulated-gpu-buffer", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)buffer->size) ||
        pwrite(file, &exported, sizeof exported, 0) != (ssize_t)sizeof exported) {
        if (file >= 0) close(file);
        return ENOMEM;
    }
    a->dmabuf_fd = (uint32_t)file;
    return 0;
}

static const Buffer *imported(uint32_t handle) { return *buffer_of(handle | facts.gpu_id << 32); }

static int import_buffer(void *argument) {
    struct drm_prime_handle *a = argument;
    Exported exported;
    if (pread(a->fd, &exported, sizeof exported, 0) != (ssize_t)sizeof exported ||
        memcmp(&exported, &EXPORTED(exported.id), sizeof exported) || !*buffer_of(exported.id))
        return EINVAL;
    a->handle = (uint32_t)exported.id;
    return 0;
}

/* The offset at which the program's mmap of the render node finds the buffer. */
static int find_buffer(void *argument) {
    union drm_amdgpu_gem_mmap *a = argument;
    const Buffer *buffer = imported(a->in.handle);
    if (!buffer) return ENOENT;
    a->out.addr_ptr = buffer->offset;
    return 0;
}

static int map_imported(void *argument) {
    const struct drm_amdgpu_gem_va *a = argument;
    const Buffer *buffer = imported(a->handle);
    if (!buffer) return ENOENT;
    if (!a->map_size || (a->va_address | a->offset_in_bo | a->map_size) % PAGE || a->offset_in_bo > buffer->size ||
        a->map_size > buffer->size - a->offset_in_bo)
        return EINVAL;
    if (a->operation == AMDGPU_VA_OP_UNMAP) {
        unmap_on_device(a->va_address, a->map_size);
        return 0;
    }
    if (a->operation != AMDGPU_VA_OP_MAP) {
        refuse("operation of DRM_AMDGPU_GEM_VA", a->operation, EINVAL);
        return EINVAL;
    }
    uint32_t kind = buffer->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM ? MEMORY_DEVICE : MEMORY_HOST;
    return map_on_device(a->va_address, a->map_size, kind, buffer->offset + a->offset_in_bo, memory_file);
}

/* ---- events */

IOCTL(create_event) {
    if (a->event_page_offset && !event_page) {
        Buffer *page = *buffer_of(a->event_page_offset);
        if (!page || !page->base) return EINVAL;
        event_page = (uint64_t *)page->base;
        for (int i = 0; i < MOST_EVENTS && (uint64_t)i < page->size / 8; i++) event_page[i] = ~0ull;
    }
    /* A program that maps no page must not take slot 0 for one. */
    if (!a->event_page_offset) a->event_page_offset = 1ull << 62;
    for (uint32_t id = 1; id < MOST_EVENTS; id++) {
        Event *event = &control->events[id];
        if (event->used) continue;
        *event = (Event){1, a->event_type, a->auto_reset, 0, 1};
        a->event_id = a->event_slot_index = a->event_trigger_data = id;
        return 0;
    }
    return ENOMEM;
}

static int is_set(struct kfd_event_data *data) {
    Event *event = &control->events[data->event_id];
    /* A kernel that calls the host writes the number into the event's slot. */
    uint64_t *slot = event_page && event->type == EVENT_SIGNAL ? &event_page[data->event_id] : NULL;
    if (slot && __atomic_load_n(slot, __ATOMIC_ACQUIRE) != ~0ull) {
        __atomic_store_n(slot, ~0ull, __ATOMIC_SEQ_CST);
        set_event(control, data->event_id);
    }
    uint64_t age = __atomic_load_n(&event->age, __ATOMIC_ACQUIRE);
    int is_signal = event->type == EVENT_SIGNAL;
    uint64_t last = is_signal ? data->signal_event_data.last_event_age : 0;
    int is_aged = last && age != last;
    int signaled = event->auto_reset ? (int)__atomic_exchange_n(&event->signaled, 0, __ATOMIC_SEQ_CST)
                                     : (int)__atomic_load_n(&event->signaled, __ATOMIC_ACQUIRE);
    if (!signaled && !is_aged && event->used) return 0;
    if (last) data->signal_event_data.last_event_age = age;
    if (event->type == EVENT_MEMORY) {
        data->memory_exception_data = (struct kfd_hsa_memory_exception_data){
            .failure = {.NotPresent = 1},
            .va = control->fault_address,
            .gpu_id = (uint32_t)facts.gpu_id,
        };
    } else if (event->type == EVENT_EXCEPTION) {
        memset(&data->hw_exception_data, 0, sizeof data->hw_exception_data);
        data->hw_exception_data.gpu_id = (uint32_t)facts.gpu_id;
    }
    return 1;
}

IOCTL(destroy_event) {
    if (a->event_id >= MOST_EVENTS) return EINVAL;
    set_event(control, a->event_id);
    control->events[a->event_id].used = 0;
    return 0;
}

IOCTL(set_event) {
    set_event(control, a->event_id);
    return 0;
}

IOCTL(reset_event) {
    if (a->event_id >= MOST_EVENTS) return EINVAL;
    control->events[a->event_id].signaled = 0;
    return 0;
}

IOCTL(wait_events) {
    struct kfd_event_data *data = (struct kfd_event_data *)a->events_ptr;
    uint64_t end = clock_ticks() + a->timeout * 100000ull;
    char done[MOST_EVENTS] = {0};
    if (a->num_events > MOST_EVENTS) return EINVAL;
    for (uint32_t i = 0; i < a->num_events; i++)
        if (data[i].event_id >= MOST_EVENTS) return EINVAL;
    for (;;) {
        uint32_t turn = __atomic_load_n(&control->turn, __ATOMIC_SEQ_CST), count = 0;
        for (uint32_t i = 0; i < a->num_events; i++) count += done[i] = done[i] || is_set(&data[i]);
        a->wait_result = KFD_IOC_WAIT_RESULT_COMPLETE;
        if (count == a->num_events || (count && !a->wait_for_all)) return 0;
        if (a->timeout != 0xffffffffu && clock_ticks() >= end) break;
        if (is_lost()) {
            /* AMD's runtime ends the process on this event; without it, it would wait forever. */
            set_events(control, EVENT_EXCEPTION);
            return EIO;
        }
        futex_wait(&control->turn, turn, 1000000);
    }
    a->wait_result = KFD_IOC_WAIT_RESULT_TIMEOUT;
    return 0;
}

/* ---- queues */

static uint8_t used_queues[MOST_QUEUES];

IOCTL(create_queue) {
    uint32_t id = 0;
    if (a->queue_type < KFD_IOC_QUEUE_TYPE_SDMA || a->queue_type > QUEUE_TYPE_SDMA_BY_ENGINE) return EINVAL;
    while (id < MOST_QUEUES && used_queues[id]) id++;
    if (id == MOST_QUEUES) return ENOMEM;
    int is_aql = a->queue_type == KFD_IOC_QUEUE_TYPE_COMPUTE_AQL;
    control->doorbells[id] = is_aql ? ~0ull : 0;
    Message message = {.kind = MESSAGE_QUEUE,
                       .what = (uint32_t)is_aql,
                       .id = id,
                       .base = a->ring_base_address,
                       .size = a->ring_size,
                       .read_pointer = a->read_pointer_address,
                       .write_pointer = a->write_pointer_address};
    int error = ask(&message, -1);
    if (error) return error;
    used_queues[id] = 1;
    a->queue_id = id;
    a->doorbell_offset = CONTROL_OFFSET + 8 * id;
    return 0;
}

IOCTL(destroy_queue) {
    if (a->queue_id >= MOST_QUEUES || !used_queues[a->queue_id]) return EINVAL;
    used_queues[a->queue_id] = 0;
    Message message = {.kind = MESSAGE_QUEUE_END, .id = a->queue_id};
    return ask(&message, -1);
}

/* Wakes the device, if it sleeps, after a store that may have been to a doorbell. */
static void ring(void) {
    if (!control) return;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (!__atomic_load_n(&control->sleeping, __ATOMIC_SEQ_CST)) return;
    notify(&control->bell);
}

/* A function of AMD's runtime, which may have been loaded for one library alone. */
static void *of_runtime(const char *name) {
    void *function = dlsym(RTLD_NEXT, name);
    void *library = function ? NULL : dlopen("libhsa-runtime64.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (library) function = dlsym(library, name);
    if (function) return function;
    fprintf(stderr, "hipkittens: the program calls %s, but libhsa-runtime64.so.1 is not loaded\n", name);
    abort();
}

typedef struct Handle {
    uint64_t handle;
} Handle;
#define STORE(name)                                                                                                    \
    EXPORT void name(Handle signal, int64_t value) {                                                                   \
        static void (*function)(Handle, int64_t);                                                                      \
        if (!function) function = (void (*)(Handle, int64_t))of_runtime(#name);                                        \
        function(signal, value);                                                                                       \
        ring();                                                                                                        \
    }
STORE(hsa_signal_store_relaxed)
STORE(hsa_signal_store_release)
STORE(hsa_signal_store_screlease)

/* Puts modelled times into the signals, before the runtime reads the first ones. */
static void settle(void) {
    if (!control || !__atomic_load_n(&control->untimed, __ATOMIC_SEQ_CST)) return;
    Message message = {.kind = MESSAGE_TIMES};
    pthread_mutex_lock(&lock);
    ask(&message, -1);
    pthread_mutex_unlock(&lock);
}

/* Whole code objects, of which only the loaded part is in memory: names of kernels and lines. */
static void show_code(const void *data, size_t size) {
    pthread_mutex_lock(&lock);
    int file = memfd_create("code-object", MFD_CLOEXEC);
    Message message = {.kind = MESSAGE_CODE, .size = size};
    if (device >= 0 && file >= 0 && write(file, data, size) == (ssize_t)size) ask(&message, file);
    if (file >= 0) close(file);
    pthread_mutex_unlock(&lock);
}

#define FIRST(action, name, parameters, arguments)                                                                     \
    EXPORT int name parameters {                                                                                       \
        static int(*function) parameters;                                                                              \
        if (!function) function = (int(*) parameters)of_runtime(#name);                                                \
        action;                                                                                                        \
        return function arguments;                                                                                     \
    }
FIRST(settle(), hsa_amd_profiling_get_dispatch_time, (Handle agent, Handle signal, void *time), (agent, signal, time))
FIRST(settle(), hsa_amd_profiling_get_async_copy_time, (Handle signal, void *time), (signal, time))
FIRST(show_code(data, size), hsa_code_object_reader_create_from_memory, (const void *data, size_t size, Handle *result),
      (data, size, result))

/* ---- ioctls */

IOCTL(get_version) {
    *a = (struct kfd_ioctl_get_version_args){1, 17};
    return 0;
}

IOCTL(get_process_apertures_new) {
    struct kfd_process_device_apertures *first = (void *)a->kfd_process_device_apertures_ptr;
    if (first && a->num_of_nodes)
        *first = (struct kfd_process_device_apertures){.lds_base = HK_SHARED_APERTURE,
                                                       .lds_limit = HK_SHARED_APERTURE | ~HK_APERTURE_MASK,
                                                       .scratch_base = HK_PRIVATE_APERTURE,
                                                       .scratch_limit = HK_PRIVATE_APERTURE | ~HK_APERTURE_MASK,
                                                       .gpuvm_base = 0x10000,
                                                       .gpuvm_limit = 0x7fffffffffff,
                                                       .gpu_id = (uint32_t)facts.gpu_id};
    a->num_of_nodes = 1;
    return 0;
}

IOCTL(get_clock_counters) {
    a->gpu_clock_counter = clock_ticks();
    a->cpu_clock_counter = a->gpu_clock_counter * 10;
    a->system_clock_counter = nanoseconds_of(CLOCK_BOOTTIME);
    a->system_clock_freq = 1000000000;
    return 0;
}

IOCTL(get_tile_config) {
    a->num_tile_configs = a->num_macro_tile_configs = a->num_banks = a->num_ranks = a->gb_addr_config = 0;
    return 0;
}

IOCTL(set_xnack_mode) {
    if (a->xnack_enabled > 0) return EPERM;
    a->xnack_enabled = 0;
    return 0;
}

static int answer_available_memory(void *argument) {
    *(uint64_t *)argument = facts.vram_limit - vram_used;
    return 0;
}

/* The emulated device has neither caches to configure, nor priorities, nor a trap handler; a mask of compute units
 * changes no result. */
static int answer_nothing(void *argument) {
    (void)argument;
    return 0;
}

/* By number; each returns an errno. */
#define ANSWER(request, name) [_IOC_NR(AMDKFD_IOC_##request)] = answer_##name
static int (*const ANSWERS[])(void *) = {ANSWER(GET_VERSION, get_version),
                                         ANSWER(CREATE_QUEUE, create_queue),
                                         ANSWER(DESTROY_QUEUE, destroy_queue),
                                         ANSWER(GET_CLOCK_COUNTERS, get_clock_counters),
                                         ANSWER(CREATE_EVENT, create_event),
                                         ANSWER(DESTROY_EVENT, destroy_event),
                                         ANSWER(SET_EVENT, set_event),
                                         ANSWER(RESET_EVENT, reset_event),
                                         ANSWER(WAIT_EVENTS, wait_events),
                                         ANSWER(GET_TILE_CONFIG, get_tile_config),
                                         ANSWER(GET_PROCESS_APERTURES_NEW, get_process_apertures_new),
                                         ANSWER(ALLOC_MEMORY_OF_GPU, alloc_memory_of_gpu),
                                         ANSWER(FREE_MEMORY_OF_GPU, free_memory_of_gpu),
                                         ANSWER(MAP_MEMORY_TO_GPU, map_memory_to_gpu),
                                         ANSWER(UNMAP_MEMORY_FROM_GPU, unmap_memory_from_gpu),
                                         ANSWER(EXPORT_DMABUF, export_dmabuf),
                                         ANSWER(SVM, svm),
                                         ANSWER(SET_XNACK_MODE, set_xnack_mode),
                                         ANSWER(SET_MEMORY_POLICY, nothing),
                                         ANSWER(UPDATE_QUEUE, nothing),
                                         ANSWER(SET_SCRATCH_BACKING_VA, nothing),
                                         ANSWER(SET_TRAP_HANDLER, nothing),
                                         ANSWER(SET_CU_MASK, nothing),
                                         ANSWER(ALLOC_QUEUE_GWS, nothing),
                                         ANSWER(ACQUIRE_VM, nothing),
                                         [IOCTL_AVAILABLE_MEMORY] = answer_available_memory,
                                         [IOCTL_RUNTIME_ENABLE] = answer_nothing};

static int answered(int (*answer)(void *), void *argument) {
    int is_locked = answer != answer_wait_events; /* which may wait for long */
    if (is_locked) pthread_mutex_lock(&lock);
    int error = control ? answer(argument) : EBADF;
    if (is_locked) pthread_mutex_unlock(&lock);
    if (error) errno = error;
    return error ? -1 : 0;
}

static int kfd_ioctl(unsigned long request, void *argument) {
    unsigned number = _IOC_NR(request);
    int (*answer)(void *) = number < sizeof ANSWERS / sizeof *ANSWERS ? ANSWERS[number] : NULL;
    if (!answer) return refuse("kfd ioctl", number, ENOTTY);
    int result = answered(answer, argument);
    if (is_verbose) fprintf(stderr, "hipkittens driver: ioctl %#x: %d\n", number, result ? errno : 0);
    return result;
}

static int device_info(struct drm_amdgpu_info *a) {
    uint32_t working = 1, block = a->query_hw_ip.type;
    uint32_t count = block == AMDGPU_HW_IP_COMPUTE || block == AMDGPU_HW_IP_DMA;
    struct drm_amdgpu_info_device info = {
        .device_id = (uint32_t)facts.device_id,
        .family = AMDGPU_FAMILY_AI,
        .external_rev = 71,
        .num_shader_engines = (uint32_t)facts.engines,
        .num_shader_arrays_per_engine = (uint32_t)facts.arrays,
        .gpu_counter_freq = 100000,
        .max_engine_clock = facts.clock_khz,
        .max_memory_clock = facts.memory_clock_khz,
        .cu_active_number = (uint32_t)facts.units,
        .virtual_address_offset = 0x10000,
        .virtual_address_max = 0x800000000000,
        .virtual_address_alignment = PAGE,
        .pte_fragment_size = 2 << 20,
        .gart_page_size = PAGE,
        .vram_type = AMDGPU_VRAM_TYPE_HBM,
        .vram_bit_width = (uint32_t)facts.bus_bits,
        .wave_front_size = (uint32_t)facts.wave_size,
        .high_va_offset = 0xffff800000000000,
        .high_va_max = 0xffffffffffe00000,
    };
    struct drm_amdgpu_heap_info vram = {facts.vram, facts.vram_limit, vram_used, facts.vram_limit};
    struct drm_amdgpu_memory_info memory = {vram, vram, {facts.host, facts.host, 0, facts.host}};
    const struct {
        uint32_t query;
        size_t size;
        const void *source;
    } answers[] = {
        {AMDGPU_INFO_ACCEL_WORKING, sizeof working, &working},
        {AMDGPU_INFO_DEV_INFO, sizeof info, &info},
        {AMDGPU_INFO_MEMORY, sizeof memory, &memory},
        {AMDGPU_INFO_HW_IP_COUNT, sizeof count, &count},
        /* libdrm reads registers of the tiling of images, of which the device has none. */
        {AMDGPU_INFO_READ_MMR_REG, 0, ""},
    };
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (answers[i].query == a->query) {
            size_t size = answers[i].size < a->return_size ? answers[i].size : a->return_size;
            memset((void *)a->return_pointer, 0, a->return_size);
            memcpy((void *)a->return_pointer, answers[i].source, size);
            return 0;
        }
    return refuse("amdgpu query", a->query, EINVAL);
}

static void text(char *buffer, size_t *size, const char *value) {
    if (buffer) memcpy(buffer, value, strlen(value) < *size ? strlen(value) : *size);
    *size = strlen(value);
}

static int render_ioctl(unsigned long request, void *argument) {
    if (request == DRM_IOCTL_VERSION) {
        struct drm_version *version = argument;
        version->version_major = 3, version->version_minor = 61, version->version_patchlevel = 0;
        text(version->name, &version->name_len, "amdgpu");
        text(version->date, &version->date_len, "0");
        text(version->desc, &version->desc_len, "AMD GPU");
        return 0;
    }
    if (request == DRM_IOCTL_GET_CLIENT) {
        ((struct drm_client *)argument)->auth = 1;
        return 0;
    }
    if (_IOC_NR(request) == DRM_COMMAND_BASE + DRM_AMDGPU_INFO) return device_info(argument);
    static const struct {
        unsigned number;
        int (*answer)(void *);
    } ANSWERS_OF_NODE[] = {
        {_IOC_NR(DRM_IOCTL_PRIME_FD_TO_HANDLE), import_buffer},
        {_IOC_NR(DRM_IOCTL_GEM_CLOSE), answer_nothing},
        {DRM_COMMAND_BASE + DRM_AMDGPU_GEM_MMAP, find_buffer},
        {DRM_COMMAND_BASE + DRM_AMDGPU_GEM_VA, map_imported},
    };
    for (size_t i = 0; i < sizeof ANSWERS_OF_NODE / sizeof *ANSWERS_OF_NODE; i++)
        if (ANSWERS_OF_NODE[i].number == _IOC_NR(request)) return answered(ANSWERS_OF_NODE[i].answer, argument);
    return refuse("drm ioctl", _IOC_NR(request), ENOTTY);
}

EXPORT int ioctl(int file, unsigned long request, ...) {
    va_list rest;
    va_start(rest, request);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    if (!is_node(file)) return REAL(ioctl)(file, request, argument);
    return _IOC_TYPE(request) == AMDKFD_IOCTL_BASE ? kfd_ioctl(request, argument) : render_ioctl(request, argument);
}

/* ---- fork: a child has no device until it opens one itself */

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork_in_parent(void) { pthread_mutex_unlock(&lock); }
static void after_fork_in_child(void) {
    if (device >= 0) close(device);
    if (memory_file >= 0) close(memory_file);
    device = memory_file = -1;
    control = NULL;
    event_page = NULL;
    buffers = NULL;
    segments = NULL;
    vram_used = 0;
    memset(used_queues, 0, sizeof used_queues);
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
