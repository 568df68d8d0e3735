/* A program from before ROCm 6, with HIP declared by hand: it opens the library by itself, and closes it between two
   uses.

    old LIBRARY [exit | thread]
*/
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* hipDeviceProp_t of ROCm 5 (HIP's hip_deprecated.h), limited to the members that this program reads. */
typedef struct Properties {
    char name[256];
    size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3];
    int clockRate, memoryClockRate, memoryBusWidth;
    size_t totalConstMem;
    int major, minor, multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor, computeMode, clockInstructionRate;
    unsigned arch;
    int concurrentKernels, pciDomainID, pciBusID, pciDeviceID;
    size_t maxSharedMemoryPerMultiProcessor;
    int isMultiGpuBoard, canMapHostMemory, gcnArch;
    char gcnArchName[256];
    int integrated, cooperativeLaunch, cooperativeMultiDeviceLaunch, textures[7];
    unsigned *hdpMemFlushCntl, *hdpRegFlushCntl;
    size_t memPitch, textureAlignment, texturePitchAlignment;
    int kernelExecTimeoutEnabled, ECCEnabled, tccDriver, unmatched[4], isLargeBar, asicRevision;
    int managedMemory, directManagedMemAccessFromHost, concurrentManagedAccess, pageableMemoryAccess, hostPageTables;
} Properties;

static const char *path;
static int (*release)(void *);
static void *left;

__attribute__((destructor)) static void at_the_end(void) {
    if (left != NULL) printf("free %d\n", release(left));
}

static void before(void) { printf("at exit %d\n", release(NULL)); }

static void use(void) {
    void *library = dlopen(path, RTLD_NOW), *memory;
    if (library == NULL) exit(2);
    int (*properties)(Properties *, int) = (int (*)(Properties *, int))dlsym(library, "hipGetDeviceProperties");
    int (*choose)(int *, const Properties *) = (int (*)(int *, const Properties *))dlsym(library, "hipChooseDevice");
    int (*allocate)(void **, size_t) = (int (*)(void **, size_t))dlsym(library, "hipMalloc");
    release = (int (*)(void *))dlsym(library, "hipFree");
    struct {
        Properties properties;
        char guard[4096];
    } seen;
    memset(&seen, 0x5a, sizeof seen);
    int device = 7;
    if (properties(&seen.properties, 0)) exit(3);
    for (size_t i = 0; i < sizeof seen.guard; i++)
        if (seen.guard[i] != 0x5a) exit(4);
    Properties request = {.warpSize = 64};
    if (choose(&device, &request) || allocate(&memory, 256)) exit(5);
    if (left != NULL && release(left)) exit(6);
    left = memory;
    printf("%s, %s (%d), %d units, %d lanes, managed %d, device %d\n", seen.properties.name,
           seen.properties.gcnArchName, seen.properties.gcnArch, seen.properties.multiProcessorCount,
           seen.properties.warpSize, seen.properties.concurrentManagedAccess, device);
    fflush(stdout);
    if (dlclose(library)) exit(7);
}

static void *work(void *unused) {
    (void)unused;
    use();
    exit(0);
}

int main(int count, char **words) {
    path = words[1];
    const char *how = count > 2 ? words[2] : "";
    if (strcmp(how, "exit") == 0) atexit(before);
    use();
    use();
    if (strcmp(how, "thread") == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, work, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}
