/* A HIP host program as clang compiles it: registers a fat binary and launches through the host functions. */
#include <stddef.h>
#include <stdint.h>

typedef struct dim3 {
    uint32_t x, y, z;
} dim3;
typedef struct wrapper {
    uint32_t magic, version;
    const void *binary;
    void *unused;
} wrapper;

extern void **__hipRegisterFatBinary(const void *);
extern void __hipUnregisterFatBinary(void **);
extern void __hipRegisterFunction(void **, const void *, char *, const char *, unsigned, void *, void *, void *, void *,
                                  void *);
extern void __hipRegisterVar(void **, void *, char *, const char *, int, size_t, int, int);
extern int __hipPushCallConfiguration(dim3, dim3, size_t, void *);
extern int __hipPopCallConfiguration(dim3 *, dim3 *, size_t *, void **);
extern int hipLaunchKernel(const void *, dim3, dim3, void **, size_t, void *);
extern int hipMemcpyToSymbol(const void *, const void *, size_t, size_t, int);
extern int hipMalloc(void **, size_t);
extern int hipMemcpy(void *, const void *, size_t, int);
extern int hipFree(void *);

#define EXPORT __attribute__((visibility("default")))

static char add_stub, globals_stub;
static int counter_shadow;
static wrapper fat;
static void **handle;

EXPORT void host_register(const void *binary) {
    fat = (wrapper){0x48495046, 1, binary, NULL};
    handle = __hipRegisterFatBinary(&fat);
    __hipRegisterFunction(handle, &add_stub, "vector_add", "vector_add", -1, 0, 0, 0, 0, 0);
    __hipRegisterFunction(handle, &globals_stub, "globals", "globals", -1, 0, 0, 0, 0, 0);
    __hipRegisterVar(handle, &counter_shadow, "counter", "counter", 0, sizeof(int), 0, 0);
}

EXPORT void host_unregister(void) { __hipUnregisterFatBinary(handle); }

/* kernel<<<grid, block>>>(...) as clang lowers it */
static int launch(const void *stub, dim3 grid, dim3 block, void **args) {
    dim3 g, b;
    size_t shared;
    void *stream;
    int status = __hipPushCallConfiguration(grid, block, 48, NULL);
    if (status) return status;
    status = __hipPopCallConfiguration(&g, &b, &shared, &stream);
    if (status) return status;
    if (g.x != grid.x || g.y != grid.y || g.z != grid.z || b.x != block.x || shared != 48) return -1;
    return hipLaunchKernel(stub, g, b, args, shared, stream);
}

EXPORT int host_add(const float *a, const float *b, float *c, int n) {
    float *da, *db, *dc;
    size_t bytes = n * sizeof(float);
    int status = hipMalloc((void **)&da, bytes) | hipMalloc((void **)&db, bytes) | hipMalloc((void **)&dc, bytes);
    status |= hipMemcpy(da, a, bytes, 1) | hipMemcpy(db, b, bytes, 1);
    if (status) return status;
    void *args[] = {&da, &db, &dc, &n};
    status = launch(&add_stub, (dim3){(n + 255) / 256, 1, 1}, (dim3){256, 1, 1}, args);
    if (status) return status;
    return hipMemcpy(c, dc, bytes, 2) | hipFree(da) | hipFree(db) | hipFree(dc);
}

EXPORT int host_counter(int value, int *out) {
    int *device;
    int status = hipMemcpyToSymbol(&counter_shadow, &value, sizeof value, 0, 1);
    status |= hipMalloc((void **)&device, 16);
    if (status) return status;
    void *args[] = {&device};
    status = launch(&globals_stub, (dim3){1, 1, 1}, (dim3){4, 1, 1}, args);
    return status | hipMemcpy(out, device, 16, 2) | hipFree(device);
}

EXPORT int host_unknown(void) {
    void *args[] = {NULL};
    return launch(&fat, (dim3){1, 1, 1}, (dim3){1, 1, 1}, args);
}
