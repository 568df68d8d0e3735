/* Speaks to /dev/kfd as a user-mode runtime does: memory, events, one AQL and one SDMA queue, a kernel.
 *
 *     driver_client IMAGE DESCRIPTOR MODE
 *
 * IMAGE is a loaded code object with a kernel (float *y, const float *x, float a, int n): y[i] += a * x[i], whose
 * descriptor is at byte DESCRIPTOR. MODE is run, fault, fork or hang. Each result is a line "name value". */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1000, RING = 4096, PAGE = 4096, PACKETS = 3000 };

typedef struct Signal {
    int64_t kind, value;
    uint64_t mailbox;
    uint32_t event, reserved;
    uint64_t start, end, rest[2];
} Signal;

typedef struct Packet {
    uint16_t header, dimensions, block[3], reserved;
    uint32_t grid[3], private_bytes, lds_bytes;
    uint64_t descriptor, arguments, reserved2, signal;
} Packet;

typedef struct Arguments {
    uint64_t y, x;
    float a;
    int n;
    char hidden[232];
} Arguments;

static int kfd;
static uint32_t gpu;

static void check(int result, const char *what) {
    if (result == 0) return;
    printf("failed %s: %s\n", what, strerror(errno));
    exit(3);
}
#define CALL(request, argument) check(ioctl(kfd, request, argument), #request)

static uint64_t allocate(uint64_t base, uint64_t size, uint32_t flags) {
    struct kfd_ioctl_alloc_memory_of_gpu_args a = {.va_addr = base, .size = size, .gpu_id = gpu, .flags = flags};
    if (flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) a.mmap_offset = base;
    CALL(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU, &a);
    struct kfd_ioctl_map_memory_to_gpu_args m = {
        .handle = a.handle, .device_ids_array_ptr = (uint64_t)&gpu, .n_devices = 1};
    CALL(AMDKFD_IOC_MAP_MEMORY_TO_GPU, &m);
    return a.handle;
}

static void *reserve(uint64_t size) {
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *vram(uint64_t size, uint64_t *handle) {
    void *base = reserve(size);
    *handle = allocate((uint64_t)base, size, KFD_IOC_ALLOC_MEM_FLAGS_VRAM | KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE);
    return base;
}

typedef struct Queue {
    uint32_t id;
    volatile uint64_t *doorbell, *write_index, *read_index;
    char *ring;
} Queue;

static Queue queue(uint32_t type) {
    char *memory = reserve(RING + PAGE);
    allocate((uint64_t)memory, RING + PAGE, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR);
    for (int i = 0; i < RING; i += 64) *(uint16_t *)(memory + i) = 1;
    struct kfd_ioctl_create_queue_args a = {.ring_base_address = (uint64_t)memory,
                                            .write_pointer_address = (uint64_t)memory + RING,
                                            .read_pointer_address = (uint64_t)memory + RING + 72,
                                            .ring_size = RING,
                                            .gpu_id = gpu,
                                            .queue_type = type,
                                            .queue_percentage = 100};
    CALL(AMDKFD_IOC_CREATE_QUEUE, &a);
    char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, kfd, (off_t)(a.doorbell_offset & ~8191ull));
    return (Queue){a.queue_id, (volatile uint64_t *)(page + (a.doorbell_offset & 8191)),
                   (volatile uint64_t *)(memory + RING), (volatile uint64_t *)(memory + RING + 72), memory};
}

/* The header comes last, as a packet counts from then on. */
static void send_packet(Queue *q, const void *packet, uint16_t header) {
    uint64_t index = *q->write_index;
    while (index - *q->read_index >= RING / 64) usleep(20);
    char *place = q->ring + index * 64 % RING;
    memcpy(place + 2, (const char *)packet + 2, 62);
    *q->write_index = index + 1;
    __atomic_store_n((uint16_t *)place, header, __ATOMIC_RELEASE);
    *q->doorbell = index;
}

static uint32_t wait_for(uint32_t *events, uint32_t count, uint32_t milliseconds, struct kfd_event_data *data) {
    for (uint32_t i = 0; i < count; i++) data[i] = (struct kfd_event_data){.event_id = events[i]};
    struct kfd_ioctl_wait_events_args w = {
        .events_ptr = (uint64_t)data, .num_events = count, .timeout = milliseconds};
    CALL(AMDKFD_IOC_WAIT_EVENTS, &w);
    return w.wait_result;
}

static uint32_t event(uint32_t type) {
    struct kfd_ioctl_create_event_args a = {.event_type = type, .auto_reset = 1};
    CALL(AMDKFD_IOC_CREATE_EVENT, &a);
    return a.event_id;
}

static int open_device(void) {
    kfd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    check(kfd < 0, "open");
    struct kfd_process_device_apertures apertures[1];
    struct kfd_ioctl_get_process_apertures_new_args a = {(uint64_t)apertures, 1, 0};
    CALL(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW, &a);
    gpu = apertures[0].gpu_id;
    return kfd;
}

int main(int count, char **words) {
    if (count != 4) return 2;
    const char *mode = words[3];
    open_device();
    if (!strcmp(mode, "fork")) {
        int status;
        /* A child has no device until it opens one. */
        if (fork() == 0) {
            struct kfd_ioctl_get_version_args v;
            int before = ioctl(kfd, AMDKFD_IOC_GET_VERSION, &v) == 0 ? 0 : errno;
            open_device();
            printf("child_errno %d\n", before);
            fflush(stdout);
            execv("/proc/self/exe", (char *[]){words[0], words[1], words[2], "run", NULL});
        }
        wait(&status);
        printf("child %d\n", status);
        return 0;
    }
    struct kfd_ioctl_get_version_args version;
    CALL(AMDKFD_IOC_GET_VERSION, &version);
    printf("version %u\n", version.major_version);
    for (int i = 0; i < 2; i++) {
        int result = ioctl(kfd, _IOWR('K', 0x28, uint64_t), &version);
        printf("unknown_errno %d\n", result ? errno : 0);
    }
    uint64_t handles[3];
    FILE *file = fopen(words[1], "rb");
    char *code = vram(1 << 16, &handles[0]);
    if (!file || !fread(code, 1, 1 << 16, file)) return 4;
    fclose(file);
    float *y = vram(4 * PAGE, &handles[1]);
    /* Memory of the program, in the middle of what malloc has returned. */
    char *block = malloc(1 << 20);
    memset(block, 7, 1 << 20);
    float *x = (float *)(block + 1000);
    for (int i = 0; i < COUNT; i++) x[i] = (float)i, y[i] = 1;
    allocate((uint64_t)x, COUNT * 4, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR);
    int is_kept = block[999] == 7 && block[1000 + 4 * COUNT] == 7 && block[(1 << 20) - 1] == 7 && x[COUNT - 1] == COUNT - 1;
    printf("kept %d\n", is_kept);
    char *shared = reserve(PAGE);
    allocate((uint64_t)shared, PAGE, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR);
    Arguments *arguments = (Arguments *)shared;
    *arguments = (Arguments){(uint64_t)y, (uint64_t)x, 2.0f, COUNT, {0}};
    Signal *signals = (Signal *)(shared + 1024);
    uint32_t events[2] = {event(0), event(8)};
    for (int i = 0; i < 4; i++) signals[i] = (Signal){.kind = 1, .value = 1, .mailbox = (uint64_t)(shared + 2048)};
    signals[1].event = events[0];
    struct kfd_event_data data[2];
    printf("timeout %u\n", wait_for(events, 1, 1, data));

    Queue aql = queue(KFD_IOC_QUEUE_TYPE_COMPUTE_AQL);
    Packet kernel = {0, 1, {64, 1, 1}, 0, {1024, 1, 1}, 0, 0, (uint64_t)code + strtoull(words[2], NULL, 0),
                     (uint64_t)arguments, 0, (uint64_t)&signals[0]};
    if (!strcmp(mode, "fault")) arguments->y = (uint64_t)y + (1 << 30);
    if (!strcmp(mode, "hang")) {
        printf("ready\n");
        fflush(stdout);
        for (;;) send_packet(&aql, &kernel, 2);
    }
    /* Behind a barrier that nobody has opened yet, so that the times of both are known to be in order. */
    uint64_t barrier[8] = {0, (uint64_t)&signals[2], 0, 0, 0, 0, 0, (uint64_t)&signals[3]};
    send_packet(&aql, barrier, 3);
    send_packet(&aql, &kernel, 2);
    usleep(20000);
    printf("waits %d\n", signals[0].value == 1 && signals[3].value == 1);
    signals[2].value = 0;
    uint64_t done[8] = {0, (uint64_t)&signals[0], 0, 0, 0, 0, 0, (uint64_t)&signals[1]};
    send_packet(&aql, done, 3);
    printf("wait %u\n", wait_for(events, 2, 60000, data));
    printf("fault_at %lld\n", (long long)(data[1].memory_exception_data.va - (uint64_t)y));
    int wrong = 0;
    for (int i = 0; i < COUNT; i++) wrong += y[i] != 2.0f * (float)i + 1;
    printf("wrong %d\n", wrong);
    printf("ordered %d\n", signals[3].start && signals[3].end <= signals[0].start && signals[0].start < signals[0].end);
    if (!strcmp(mode, "fault")) return 0;

    /* Many packets through a small ring: barriers that wait for nothing. */
    uint64_t nothing[8] = {0};
    for (int i = 0; i < PACKETS; i++) send_packet(&aql, nothing, 3);
    while (*aql.read_index < PACKETS + 3) usleep(50);
    printf("packets %llu\n", (unsigned long long)*aql.read_index);

    Queue sdma = queue(KFD_IOC_QUEUE_TYPE_SDMA);
    uint32_t *words32 = (uint32_t *)sdma.ring;
    uint64_t from = (uint64_t)y, to = (uint64_t)x, counter = (uint64_t)(shared + 3000 / 8 * 8);
    uint32_t copy[] = {1, COUNT * 4 - 1, 0, (uint32_t)from, (uint32_t)(from >> 32), (uint32_t)to, (uint32_t)(to >> 32),
                       /* atomic add of 5 */
                       10 | 47u << 25, (uint32_t)counter, (uint32_t)(counter >> 32), 5, 0, 0, 0, 0};
    memcpy(words32, copy, sizeof copy);
    *sdma.write_index = sizeof copy;
    *sdma.doorbell = sizeof copy;
    while (__atomic_load_n((uint64_t *)counter, __ATOMIC_ACQUIRE) != 5) usleep(50);
    printf("copied %d\n", memcmp(x, y, COUNT * 4) == 0);
    uint32_t ids[] = {aql.id, sdma.id};
    for (int i = 0; i < 2; i++) {
        struct kfd_ioctl_destroy_queue_args end = {ids[i], 0};
        CALL(AMDKFD_IOC_DESTROY_QUEUE, &end);
    }
    struct kfd_ioctl_free_memory_of_gpu_args gone = {handles[1]};
    CALL(AMDKFD_IOC_FREE_MEMORY_OF_GPU, &gone);
    printf("freed_twice %d\n", ioctl(kfd, AMDKFD_IOC_FREE_MEMORY_OF_GPU, &gone) ? errno : 0);
    return 0;
}
