/* Asks a HIP library questions whose answers HIP's pages leave open: codes of wrong calls, attributes, limits, texts.
 *
 *     answers IMAGE      prints one answer a line; IMAGE is a code object with a kernel saxpy(y, x, a, n)
 *
 * Nothing of HIP's headers is needed, so that one binary runs on any release. answers.py compares and records. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int E;
typedef void *P;
typedef unsigned U;
typedef size_t S;
E hipInit(U);
E hipDeviceGetAttribute(int *, int, int);
E hipGetDeviceCount(int *);
E hipDeviceGetLimit(S *, int);
E hipDeviceSetLimit(int, S);
const char *hipGetErrorName(E);
const char *hipGetErrorString(E);
E hipMalloc(P *, S);
E hipFree(P);
E hipMemcpy(P, const void *, S, int);
E hipMemset(P, int, S);
E hipSetDevice(int);
E hipGetDevice(int *);
E hipEventCreate(P *);
E hipEventCreateWithFlags(P *, U);
E hipEventRecord(P, P);
E hipEventElapsedTime(float *, P, P);
E hipEventQuery(P);
E hipEventDestroy(P);
E hipEventSynchronize(P);
E hipStreamCreate(P *);
E hipStreamDestroy(P);
E hipStreamQuery(P);
E hipStreamSynchronize(P);
E hipStreamCreateWithFlags(P *, U);
E hipStreamCreateWithPriority(P *, U, int);
E hipStreamGetPriority(P, int *);
E hipStreamGetFlags(P, U *);
E hipDeviceGetStreamPriorityRange(int *, int *);
E hipModuleLoad(P *, const char *);
E hipModuleLoadData(P *, const void *);
E hipModuleGetFunction(P *, P, const char *);
E hipModuleGetGlobal(P *, S *, P, const char *);
E hipModuleUnload(P);
E hipModuleLaunchKernel(P, U, U, U, U, U, U, U, P, void **, void **);
E hipFuncGetAttribute(int *, int, P);
E hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *, P, int, S);
E hipModuleOccupancyMaxPotentialBlockSize(int *, int *, P, S, int);
E hipHostMalloc(P *, S, U);
E hipHostFree(P);
E hipHostRegister(P, S, U);
E hipHostUnregister(P);
E hipHostGetDevicePointer(P *, P, U);
E hipHostGetFlags(U *, P);
E hipMallocManaged(P *, S, U);
E hipMallocPitch(P *, S *, S, S);
E hipDeviceGetByPCIBusId(int *, const char *);
E hipDeviceGetPCIBusId(char *, int, int);
E hipDeviceCanAccessPeer(int *, int, int);
E hipDeviceEnablePeerAccess(int, U);
E hipDeviceGetName(char *, int, int);
E hipDeviceTotalMem(S *, int);
E hipDeviceComputeCapability(int *, int *, int);
E hipDriverGetVersion(int *);
E hipRuntimeGetVersion(int *);
E hipGetLastError(void);
E hipPeekAtLastError(void);
E hipDeviceSynchronize(void);
E hipDeviceReset(void);
E hipGetDeviceFlags(U *);
E hipSetDeviceFlags(U);
E hipDeviceGetCacheConfig(int *);
E hipDeviceSetCacheConfig(int);
E hipDeviceGetSharedMemConfig(int *);
E hipMemGetAddressRange(P *, S *, P);
E hipPointerGetAttribute(void *, int, P);
E hipMemPtrGetInfo(P, S *);
E hipCtxGetCurrent(P *);
E hipStreamIsCapturing(P, int *);
E hipStreamBeginCapture(P, int);
E hipStreamEndCapture(P, P *);
E hipStreamWaitEvent(P, P, U);
E hipMemcpy2D(P, S, const void *, S, S, S, int);
E hipMemsetD32(P, int, S);
E hipMemsetD16(P, short, S);
E hipMemset2D(P, S, int, S, S);
E hipMallocAsync(P *, S, P);
E hipFreeAsync(P, P);
E hipStreamAddCallback(P, P, P, U);
E hipFuncSetAttribute(P, int, int);
E hipMemAdvise(P, S, int, int);
E hipMemPrefetchAsync(P, S, int, P);
E hipGraphCreate(P *, U);
E hipGraphInstantiate(P *, P, P, P, S);
E hipGraphDestroy(P);
E hipGraphLaunch(P, P);
E hipProfilerStart(void);
E hipStreamGetDevice(P, int *);
E hipIpcGetMemHandle(P, P);
E hipIpcCloseMemHandle(P);
E hipDeviceDisablePeerAccess(int);
E hipDeviceGetDefaultMemPool(P *, int);
E hipDeviceGetMemPool(P *, int);
E hipDeviceSetMemPool(int, P);
E hipMemPoolDestroy(P);
E hipMemPoolTrimTo(P, S);
E hipMemPoolGetAttribute(P, int, void *);
E hipMemPoolSetAttribute(P, int, void *);
E hipMallocFromPoolAsync(P *, S, P, P);
E hipGraphAddEmptyNode(P *, P, const P *, S);
E hipGraphGetNodes(P, P *, S *);
E hipGraphGetEdges(P, P *, P *, S *);
E hipGraphExecDestroy(P);
E hipGraphDestroyNode(P);
E hipGraphClone(P *, P);
E hipGraphAddDependencies(P, const P *, const P *, S);
E hipDeviceGetUuid(void *, int);
E hipMemGetInfo(S *, S *);
E hipMemcpyPeer(P, int, const void *, int, S);
E hipFuncSetCacheConfig(P, int);
E hipDeviceSetSharedMemConfig(int);
E hipDeviceGetP2PAttribute(int *, int, int, int);
E hipGraphNodeGetType(P, int *);
E hipLaunchHostFunc(P, P, P);
E hipMallocManaged(P *, S, U);
E hipEventCreateWithFlags(P *, U);
E hipStreamWaitEvent(P, P, U);
E hipStreamCreateWithPriority(P *, U, int);
E hipMemAdvise(P, S, int, int);
E hipMemPrefetchAsync(P, S, int, P);
E hipLaunchHostFunc(P, P, P);
E hipStreamCreate(P *);
E hipStreamAddCallback(P, P, P, U);
/* A call, and what it returned. */
#define R(call)                                                                                                        \
    do {                                                                                                               \
        E code = call;                                                                                                 \
        printf("%s = %d\n", #call, code);                                                                              \
        hipGetLastError();                                                                                             \
    } while (0)
/* As R, with what a right call wrote. */
#define V(call, format, ...)                                                                                           \
    do {                                                                                                               \
        E code = call;                                                                                                 \
        printf("%s = %d", #call, code);                                                                                \
        if (!code) printf(" " format, __VA_ARGS__);                                                                    \
        puts("");                                                                                                      \
        hipGetLastError();                                                                                             \
    } while (0)

static void callback(P a, E b, P c) { (void)a, (void)b, (void)c; }

static void more_memory(void) {
    P q, e, s;
    for (U f = 0; f < 5; f++) {
        printf("managed %u: ", f);
        R(hipMallocManaged(&q, 64, f));
    }
    U fl[] = {0, 1, 2, 4, 6, 8, 0x20000000, 0x40000000, 0x80000000u, 0xc0000000u};
    for (int i = 0; i < 10; i++) {
        printf("event %x: ", fl[i]);
        R(hipEventCreateWithFlags(&e, fl[i]));
    }
    hipStreamCreate(&s);
    R(hipEventCreateWithFlags(&e, 0));
    R(hipStreamCreateWithPriority(&s, 2, 0));
    R(hipStreamAddCallback(s, callback, 0, 1));
    hipMallocManaged(&q, 64, 1);
    for (int a = -1; a < 9; a++) {
        printf("advice %d: ", a);
        R(hipMemAdvise(q, 64, a, 0));
    }
    for (int a = 98; a < 110; a++) {
        printf("advice %d: ", a);
        R(hipMemAdvise(q, 64, a, 0));
    }
    R(hipMemAdvise(q, 64, 1, -1));
    R(hipMemAdvise(q, 64, 3, 9));
    R(hipMemPrefetchAsync(q, 64, -1, 0));
}

static void pools_and_graphs(void) {
    int i;
    U u;
    S s;
    P p = 0, q = 0;
    char name[256] = {0};
    R(hipSetDeviceFlags(3));
    R(hipSetDeviceFlags(16));
    R(hipSetDeviceFlags(32));
    V(hipGetDeviceFlags(&u), "%u", u);
    R(hipDeviceGetPCIBusId(name, 12, 0));
    R(hipDeviceGetPCIBusId(name, 13, 0));
    R(hipDeviceGetPCIBusId(0, 13, 0));
    R(hipDeviceGetPCIBusId(name, 13, 7));
    R(hipDeviceSetCacheConfig(4));
    R(hipDeviceSetSharedMemConfig(3));
    R(hipDeviceGetUuid(0, 0));
    R(hipDeviceGetUuid(name, 5));
    R(hipMemGetInfo(0, 0));
    R(hipDeviceDisablePeerAccess(0));
    R(hipDeviceDisablePeerAccess(4));
    R(hipDeviceGetP2PAttribute(&i, 1, 0, 0));
    R(hipDeviceGetP2PAttribute(&i, 9, 0, 1));
    R(hipDeviceGetP2PAttribute(0, 1, 0, 1));
    R(hipMalloc(&p, 4096));
    R(hipMemcpyPeer(p, 0, p, 0, 16));
    R(hipMemcpyPeer(p, 0, p, 3, 16));
    P pool = 0;
    unsigned long long w = 0;
    R(hipDeviceGetDefaultMemPool(&pool, 0));
    R(hipDeviceGetDefaultMemPool(0, 0));
    R(hipDeviceGetDefaultMemPool(&pool, 5));
    R(hipDeviceGetMemPool(&pool, 0));
    R(hipDeviceGetMemPool(0, 0));
    R(hipDeviceGetMemPool(&pool, -1));
    R(hipDeviceSetMemPool(0, 0));
    R(hipDeviceSetMemPool(5, pool));
    R(hipMemPoolDestroy(0));
    R(hipMemPoolTrimTo(0, 0));
    R(hipMemPoolTrimTo(pool, 0));
    for (int a = 0; a < 10; a++) {
        printf("pool attribute %d: ", a);
        V(hipMemPoolGetAttribute(pool, a, &w), "%d", a < 5 ? (int)w : 0);
    }
    R(hipMemPoolGetAttribute(pool, 1, 0));
    R(hipMemPoolSetAttribute(pool, 4, &w));
    R(hipMemPoolSetAttribute(pool, 4, 0));
    R(hipMemPoolSetAttribute(0, 4, &w));
    R(hipMallocFromPoolAsync(&q, 64, pool, 0));
    R(hipFreeAsync(q, 0));
    R(hipMallocFromPoolAsync(&q, 64, 0, 0));
    R(hipMallocFromPoolAsync(0, 64, pool, 0));
    P g = 0, n1 = 0, n2 = 0, x = 0;
    R(hipGraphCreate(&g, 0));
    R(hipGraphAddEmptyNode(&n1, g, 0, 0));
    R(hipGraphAddEmptyNode(&n2, g, &n1, 1));
    R(hipGraphAddEmptyNode(0, g, 0, 0));
    R(hipGraphAddEmptyNode(&x, 0, 0, 0));
    R(hipGraphAddEmptyNode(&x, g, 0, 1));
    V(hipGraphGetNodes(g, 0, &s), "%zu", s);
    R(hipGraphGetNodes(g, 0, 0));
    R(hipGraphGetNodes(0, 0, &s));
    V(hipGraphGetEdges(g, 0, 0, &s), "%zu", s);
    R(hipGraphAddDependencies(g, &n1, &n2, 1));
    R(hipGraphAddDependencies(0, &n1, &n2, 1));
    V(hipGraphNodeGetType(n1, &i), "%d", i);
    R(hipGraphNodeGetType(n1, 0));
    R(hipGraphNodeGetType(0, &i));
    R(hipGraphClone(&x, g));
    R(hipGraphClone(0, g));
    R(hipGraphDestroy(x));
    R(hipGraphInstantiate(&x, g, 0, 0, 0));
    R(hipGraphLaunch(x, 0));
    R(hipGraphExecDestroy(x));
    R(hipGraphExecDestroy(0));
    R(hipGraphInstantiate(&x, 0, 0, 0, 0));
    R(hipGraphInstantiate(0, g, 0, 0, 0));
    R(hipGraphDestroyNode(0));
    R(hipGraphDestroyNode(n2));
    R(hipGraphDestroy(g));
    R(hipEventQuery(0));
    R(hipEventSynchronize(0));
    R(hipStreamSynchronize(0));
    R(hipStreamQuery(0));
    R(hipLaunchHostFunc(0, 0, 0));
    R(hipIpcGetMemHandle(0, p));
    R(hipIpcGetMemHandle(name, 0));
    R(hipFree(p));
}

int main(int c, char **v) {
    if (c != 2) return 2;
    setvbuf(stdout, 0, _IOLBF, 0);
    int i, j;
    U u;
    S s, t;
    P p = 0, q = 0, m = 0, f = 0, st = 0, e0, e1;
    float ms;
    char name[256] = {0};
    V(hipGetDeviceCount(&i), "%d", i);
    V(hipDeviceGetName(name, 256, 0), "%s", name);
    R(hipDeviceGetName(name, 256, 7));
    R(hipDeviceGetName(0, 256, 0));
    V(hipDeviceTotalMem(&s, 0), "%zu", s);
    R(hipDeviceTotalMem(0, 0));
    V(hipDeviceComputeCapability(&i, &j, 0), "%d.%d", i, j);
    for (int a = 0; a < 115; a++) {
        i = -7;
        E e = hipDeviceGetAttribute(&i, a, 0);
        printf("attribute %d = %d %d\n", a, e, e ? 0 : i);
    }
    for (int a = 10000; a < 10025; a++) {
        i = -7;
        E e = hipDeviceGetAttribute(&i, a, 0);
        printf("attribute %d = %d %d\n", a, e, e ? 0 : i);
    }
    R(hipDeviceGetAttribute(&i, -1, 0));
    R(hipDeviceGetAttribute(0, 1, 0));
    R(hipDeviceGetAttribute(&i, 1, 9));
    for (int a = 0; a < 12; a++) {
        V(hipDeviceGetLimit(&s, a), "%zu", s);
    }
    for (int a = 0; a < 6; a++) {
        R(hipDeviceSetLimit(a, 4096));
    }
    for (int a = 0; a < 1060; a++) {
        const char *n = hipGetErrorName(a);
        if (n && strcmp(n, "hipErrorUnknown") || a == 999) printf("error %d %s | %s\n", a, n, hipGetErrorString(a));
    }
    R(hipSetDevice(5));
    R(hipSetDevice(-1));
    V(hipGetDevice(&i), "%d", i);
    R(hipGetDevice(0));
    V(hipGetDeviceFlags(&u), "%u", u);
    R(hipSetDeviceFlags(4));
    R(hipSetDeviceFlags(0x99));
    V(hipDeviceGetCacheConfig(&i), "%d", i);
    R(hipDeviceSetCacheConfig(1));
    V(hipDeviceGetSharedMemConfig(&i), "%d", i);
    V(hipDeviceCanAccessPeer(&i, 0, 0), "%d", i);
    R(hipDeviceCanAccessPeer(&i, 0, 3));
    R(hipDeviceEnablePeerAccess(0, 0));
    R(hipDeviceEnablePeerAccess(4, 0));
    R(hipDeviceGetByPCIBusId(&i, "0000:ff:00.0"));
    R(hipDeviceGetByPCIBusId(&i, 0));
    R(hipDeviceGetPCIBusId(name, 4, 0));
    R(hipMalloc(0, 16));
    V(hipMalloc(&p, 0), "%d", p != 0);
    R(hipMalloc(&p, (S)1 << 60));
    R(hipMalloc(&p, 4096));
    R(hipFree(0));
    R(hipFree((P)0x1234));
    V(hipMemGetAddressRange(&q, &s, (char *)p + 100), "%zu %d", s, q == p);
    R(hipMemGetAddressRange(&q, &s, (P)0x10));
    V(hipMemPtrGetInfo(p, &s), "%zu", s);
    R(hipMemPtrGetInfo((P)16, &s));
    char host[8192];
    R(hipMemcpy(p, host, 4096, 1));
    R(hipMemcpy(p, host, 4097, 1));
    R(hipMemcpy(0, host, 16, 1));
    R(hipMemcpy(p, 0, 16, 1));
    R(hipMemcpy(p, host, 0, 1));
    R(hipMemcpy(0, 0, 0, 1));
    R(hipMemcpy(p, host, 16, 9));
    R(hipMemcpy(p, host, 16, 4));
    R(hipMemset(p, 0, 4097));
    R(hipMemset(0, 0, 16));
    R(hipMemset(0, 0, 0));
    R(hipMemset(host, 0, 16));
    R(hipMemsetD32(p, 0, 1025));
    R(hipMemsetD32(p, 0, 1024));
    R(hipMemsetD16((char *)p + 1, 0, 4));
    R(hipMemset2D(p, 64, 0, 65, 2));
    R(hipMemset2D(p, 64, 0, 64, 65));
    R(hipMemcpy2D(p, 64, host, 64, 65, 2, 1));
    R(hipMemcpy2D(p, 64, host, 64, 0, 2, 1));
    R(hipMemcpy2D(p, 64, host, 32, 64, 2, 1));
    for (int a = 0; a < 16; a++) {
        unsigned long long w[4] = {0};
        E e = hipPointerGetAttribute(w, a, p);
        printf("pointer attribute %d = %d\n", a, e);
        hipGetLastError();
    }
    V(hipMallocPitch(&q, &s, 100, 10), "%zu", s);
    R(hipMallocPitch(0, &s, 100, 10));
    R(hipMallocPitch(&q, &s, 0, 10));
    R(hipHostMalloc(&q, 0, 0));
    R(hipHostMalloc(0, 16, 0));
    R(hipHostMalloc(&q, 64, 0x12345));
    R(hipHostMalloc(&q, 4096, 2));
    V(hipHostGetFlags(&u, q), "%u", u);
    R(hipHostGetFlags(&u, host));
    V(hipHostGetDevicePointer(&m, q, 0), "%d", m == q);
    R(hipHostGetDevicePointer(&m, host, 0));
    R(hipHostFree(host));
    R(hipHostFree(0));
    R(hipHostFree(q));
    R(hipHostRegister(0, 16, 0));
    R(hipHostRegister(host, 0, 0));
    R(hipHostUnregister(host));
    R(hipHostUnregister(0));
    R(hipMallocManaged(&q, 0, 1));
    R(hipMallocManaged(&q, 64, 9));
    R(hipMallocManaged(0, 64, 1));
    R(hipMallocManaged(&q, 64, 1));
    R(hipMemAdvise(q, 64, 1, 0));
    R(hipMemAdvise(q, 64, 77, 0));
    R(hipMemPrefetchAsync(q, 64, 0, 0));
    R(hipMemPrefetchAsync(q, 64, 9, 0));
    R(hipFree(q));
    R(hipEventCreate(0));
    R(hipEventCreateWithFlags(&e0, 0x77));
    R(hipEventCreate(&e0));
    R(hipEventCreateWithFlags(&e1, 2));
    R(hipEventQuery(e0));
    R(hipEventSynchronize(e0));
    R(hipEventElapsedTime(&ms, e0, e1));
    R(hipEventRecord(e0, 0));
    R(hipEventRecord(e1, 0));
    R(hipEventSynchronize(e1));
    R(hipEventElapsedTime(&ms, e0, e1));
    R(hipEventElapsedTime(0, e0, e1));
    R(hipEventElapsedTime(&ms, 0, e1));
    R(hipEventRecord(0, 0));
    R(hipEventDestroy(0));
    R(hipEventDestroy(e1));
    V(hipDeviceGetStreamPriorityRange(&i, &j), "%d %d", i, j);
    R(hipStreamCreate(0));
    R(hipStreamCreateWithFlags(&st, 9));
    for (int a = -3; a < 4; a++) {
        P x = 0;
        E e = hipStreamCreateWithPriority(&x, 0, a);
        i = 99;
        if (!e) hipStreamGetPriority(x, &i);
        printf("priority %d = %d %d\n", a, e, i);
        if (x) hipStreamDestroy(x);
    }
    R(hipStreamDestroy(0));
    R(hipStreamCreate(&st));
    V(hipStreamGetFlags(st, &u), "%u", u);
    V(hipStreamGetFlags(0, &u), "%u", u);
    R(hipStreamQuery(st));
    R(hipStreamWaitEvent(st, 0, 0));
    R(hipStreamWaitEvent(st, e0, 9));
    R(hipStreamAddCallback(st, 0, 0, 0));
    V(hipStreamIsCapturing(st, &i), "%d", i);
    R(hipStreamIsCapturing(0, &i));
    R(hipStreamEndCapture(st, &q));
    R(hipStreamBeginCapture(0, 0));
    R(hipStreamBeginCapture(st, 7));
    R(hipStreamBeginCapture(st, 0));
    R(hipStreamEndCapture(st, &q));
    R(hipStreamDestroy(st));
    R(hipMallocAsync(&q, 0, 0));
    R(hipMallocAsync(0, 64, 0));
    R(hipFreeAsync(0, 0));
    R(hipGraphCreate(&q, 1));
    R(hipGraphCreate(0, 0));
    R(hipGraphDestroy(0));
    R(hipGraphLaunch(0, 0));
    R(hipModuleLoad(&m, "/nonexistent"));
    R(hipModuleLoad(0, v[1]));
    R(hipModuleLoadData(&m, 0));
    R(hipModuleLoadData(&m, "garbage garbage garbage garbage garbage garbage garbage garbage garbage"));
    R(hipModuleLoad(&m, v[1]));
    R(hipModuleGetFunction(&f, m, "nothing"));
    R(hipModuleGetFunction(&f, m, 0));
    R(hipModuleGetFunction(0, m, "saxpy"));
    R(hipModuleGetFunction(&f, m, ""));
    R(hipModuleGetFunction(&f, m, "saxpy"));
    R(hipModuleGetGlobal(&q, &s, m, "nothing"));
    for (int a = 0; a < 12; a++) {
        i = -1;
        E e = hipFuncGetAttribute(&i, a, f);
        printf("function attribute %d = %d %d\n", a, e, i);
        hipGetLastError();
    }
    R(hipFuncGetAttribute(&i, 0, 0));
    int bl[] = {0, 1, 32, 64, 100, 256, 512, 1024, 1025};
    for (int a = 0; a < 9; a++)
        for (int b = 0; b < 3; b++) {
            S sh[] = {0, 1000, 70000};
            i = -1;
            E e = hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(&i, f, bl[a], sh[b]);
            printf("occupancy %d %zu = %d %d\n", bl[a], sh[b], e, i);
            hipGetLastError();
        }
    V(hipModuleOccupancyMaxPotentialBlockSize(&i, &j, f, 0, 0), "%d %d", i, j);
    V(hipModuleOccupancyMaxPotentialBlockSize(&i, &j, f, 1000, 128), "%d %d", i, j);
    int N = 64;
    float a = 2;
    void *args[] = {&p, &p, &a, &N};
    R(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, 0, args, 0));
    R(hipModuleLaunchKernel(f, 0, 1, 1, 64, 1, 1, 0, 0, args, 0));
    R(hipModuleLaunchKernel(f, 1, 1, 1, 0, 1, 1, 0, 0, args, 0));
    R(hipModuleLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, 0, args, 0));
    R(hipModuleLaunchKernel(f, 1, 1, 1, 32, 33, 1, 0, 0, args, 0));
    R(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 70000, 0, args, 0));
    R(hipModuleLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, 0, 0, 0));
    R(hipModuleLaunchKernel(0, 1, 1, 1, 64, 1, 1, 0, 0, args, 0));
    R(hipModuleLaunchKernel(f, 1u << 31, 1, 1, 64, 1, 1, 0, 0, args, 0));
    R(hipDeviceSynchronize());
    R(hipModuleUnload(m));
    R(hipProfilerStart());
    R(hipFree(p));
    more_memory();
    pools_and_graphs();
    return 0;
}
