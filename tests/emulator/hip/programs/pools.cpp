// Memory pools, the driver's forms of copies and fills, values that streams write and wait for, captures that a
// program takes part in, functions by name.
#include "check.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

__global__ void add(int *x, int value, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += value;
}

static std::uint64_t attribute(hipMemPool_t pool, hipMemPoolAttr which) {
    std::uint64_t value = ~0ull;
    CHECK(hipMemPoolGetAttribute(pool, which, &value));
    return value;
}

static void pools() {
    int supported = 0;
    CHECK(hipDeviceGetAttribute(&supported, hipDeviceAttributeMemoryPoolsSupported, 0));
    REQUIRE(supported == 1);
    hipMemPool_t own, current, made;
    CHECK(hipDeviceGetDefaultMemPool(&own, 0));
    CHECK(hipDeviceGetMemPool(&current, 0));
    REQUIRE(own == current);
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));

    // A device's default pool: counts allocations of hipMallocAsync and every free.
    int *x, *y, host[256];
    CHECK(hipMallocAsync(&x, sizeof host, stream));
    CHECK(hipMallocAsync(&y, 2 * sizeof host, stream));
    REQUIRE(attribute(own, hipMemPoolAttrUsedMemCurrent) == 3 * sizeof host);
    CHECK(hipMemsetAsync(x, 0, sizeof host, stream));
    add<<<2, 128, 0, stream>>>(x, 41, 256);
    add<<<2, 128, 0, stream>>>(x, 1, 256);
    CHECK(hipMemcpyAsync(host, x, sizeof host, hipMemcpyDeviceToHost, stream));
    CHECK(hipFreeAsync(x, stream));
    CHECK(hipStreamSynchronize(stream));
    for (int value : host) REQUIRE(value == 42);
    CHECK(hipFree(y));
    REQUIRE(attribute(own, hipMemPoolAttrUsedMemCurrent) == 0);
    REQUIRE(attribute(own, hipMemPoolAttrUsedMemHigh) == 3 * sizeof host);
    std::uint64_t zero = 0, threshold = 1 << 20;
    CHECK(hipMemPoolSetAttribute(own, hipMemPoolAttrUsedMemHigh, &zero));
    REQUIRE(attribute(own, hipMemPoolAttrUsedMemHigh) == 0);
    CHECK(hipMemPoolSetAttribute(own, hipMemPoolAttrReleaseThreshold, &threshold));
    REQUIRE(attribute(own, hipMemPoolAttrReleaseThreshold) == threshold);
    REQUIRE(hipMemPoolSetAttribute(own, hipMemPoolAttrUsedMemCurrent, &zero) == hipErrorInvalidValue);
    CHECK(hipMemPoolTrimTo(own, 0));
    REQUIRE(hipMemPoolDestroy(own) == hipErrorInvalidValue);

    // A pool of the program, limited to its maximum size, and as the device's pool.
    hipMemPoolProps properties = {};
    properties.allocType = hipMemAllocationTypePinned;
    properties.location = {hipMemLocationTypeDevice, 0};
    properties.maxSize = 4096;
    CHECK(hipMemPoolCreate(&made, &properties));
    int *z = nullptr, *w = nullptr;
    CHECK(hipMallocFromPoolAsync(&z, 4000, made, stream));
    REQUIRE(hipMallocFromPoolAsync(&w, 4000, made, stream) == hipErrorOutOfMemory && w == nullptr);
    int reuse = 1;
    CHECK(hipMemPoolGetAttribute(made, hipMemPoolReuseAllowOpportunistic, &reuse));
    REQUIRE(reuse == 1);
    CHECK(hipDeviceSetMemPool(0, made));
    CHECK(hipMallocAsync(&w, 96, stream));
    REQUIRE(attribute(made, hipMemPoolAttrReservedMemCurrent) == 4096);
    hipMemAccessFlags access = hipMemAccessFlagsProtNone;
    hipMemLocation here = {hipMemLocationTypeDevice, 0};
    CHECK(hipMemPoolGetAccess(&access, made, &here));
    REQUIRE(access == hipMemAccessFlagsProtReadWrite);
    hipMemAccessDesc description = {here, hipMemAccessFlagsProtReadWrite};
    CHECK(hipMemPoolSetAccess(made, &description, 1));
    CHECK(hipFreeAsync(w, stream));
    // Memory outlives its pool, and the device has its default pool again.
    CHECK(hipMemPoolDestroy(made));
    CHECK(hipDeviceGetMemPool(&current, 0));
    REQUIRE(current == own);
    CHECK(hipMemset(z, 1, 4000));
    CHECK(hipFreeAsync(z, stream));
    REQUIRE(hipMemPoolTrimTo(made, 0) == hipErrorInvalidValue);
    properties.handleTypes = hipMemHandleTypePosixFileDescriptor;
    REQUIRE(hipMemPoolCreate(&made, &properties) == hipErrorNotSupported);
    CHECK(hipStreamDestroy(stream));
}

static void copies() {
    unsigned char matrix[6][8], window[2][3] = {};
    for (int i = 0; i < 48; i++) matrix[i / 8][i % 8] = i;
    hipDeviceptr_t device;
    size_t pitch;
    CHECK(hipMemAllocPitch(&device, &pitch, 8, 6, 4));
    REQUIRE(pitch >= 8 && pitch % 16 == 0);
    hip_Memcpy2D up = {};
    up.srcMemoryType = hipMemoryTypeHost;
    up.srcHost = matrix;
    up.srcPitch = 8;
    up.dstMemoryType = hipMemoryTypeDevice;
    up.dstDevice = device;
    up.dstPitch = pitch;
    up.WidthInBytes = 8;
    up.Height = 6;
    CHECK(hipMemcpyParam2D(&up));
    hip_Memcpy2D down = {};
    down.srcMemoryType = hipMemoryTypeDevice;
    down.srcDevice = device;
    down.srcPitch = pitch;
    down.srcXInBytes = 4;
    down.srcY = 3;
    down.dstMemoryType = hipMemoryTypeHost;
    down.dstHost = window;
    down.dstPitch = 3;
    down.WidthInBytes = 3;
    down.Height = 2;
    CHECK(hipMemcpyParam2DAsync(&down, nullptr));
    REQUIRE(window[0][0] == 28 && window[1][2] == 38);
    // The rows below the third, as two slices of a box of two rows.
    unsigned char box[2][2][8] = {};
    HIP_MEMCPY3D slices = {};
    slices.srcMemoryType = hipMemoryTypeDevice;
    slices.srcDevice = device;
    slices.srcPitch = pitch;
    slices.srcHeight = 2;
    slices.srcZ = 1;
    slices.dstMemoryType = hipMemoryTypeHost;
    slices.dstHost = box;
    slices.dstPitch = 8;
    slices.dstHeight = 2;
    slices.WidthInBytes = 8;
    slices.Height = 2;
    slices.Depth = 2;
    CHECK(hipDrvMemcpy3D(&slices));
    REQUIRE(box[0][0][0] == 16 && box[1][1][7] == 47);
    down.srcMemoryType = hipMemoryTypeArray;
    REQUIRE(hipMemcpyParam2D(&down) == hipErrorNotSupported);

    CHECK(hipMemsetD2D16(device, pitch, 0x1234, 2, 3));
    std::uint16_t rows[4][4];
    CHECK(hipMemcpy2D(rows, 8, device, pitch, 8, 4, hipMemcpyDeviceToHost));
    REQUIRE(rows[2][1] == 0x1234 && rows[2][2] == 0x1514 && rows[3][0] == 0x1918);
    REQUIRE(hipMemsetD2D32(device, pitch, 0, pitch / 4 + 1, 1) == hipErrorInvalidValue);

    int type = 0;
    void *start = nullptr, *results[] = {&type, &start};
    hipPointer_attribute asked[] = {HIP_POINTER_ATTRIBUTE_MEMORY_TYPE, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR};
    CHECK(hipDrvPointerGetAttributes(2, asked, results, static_cast<char *>(device) + 5));
    REQUIRE(type == hipMemoryTypeDevice && start == device);
    CHECK(hipFree(device));
    int *managed, mostly = 7;
    CHECK(hipMallocManaged(&managed, 4096));
    CHECK(hipMemRangeGetAttribute(&mostly, sizeof mostly, hipMemRangeAttributeReadMostly, managed, 4096));
    REQUIRE(mostly == 0);
    CHECK(hipFree(managed));
}

static void values() {
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    std::uint64_t *flag;
    CHECK(hipHostMalloc(&flag, sizeof *flag));
    *flag = 0;
    CHECK(hipStreamWriteValue32(stream, flag, 5, 0));
    CHECK(hipStreamWaitValue32(stream, flag, 5, hipStreamWaitValueEq));
    CHECK(hipStreamWaitValue32(stream, flag, 3, hipStreamWaitValueGte));
    CHECK(hipStreamWaitValue64(stream, flag, 4, hipStreamWaitValueAnd));
    CHECK(hipStreamWaitValue64(stream, flag, 1, hipStreamWaitValueNor));
    CHECK(hipStreamWriteValue64(stream, flag, 1ull << 40, 0));
    REQUIRE(*flag == 1ull << 40);
    REQUIRE(hipStreamWaitValue32(stream, flag, 0, 9) == hipErrorInvalidValue);
    // A value that another thread writes while the stream waits.
    std::thread writer([flag] { __atomic_store_n(flag, 77, __ATOMIC_RELEASE); });
    CHECK(hipStreamWaitValue64(stream, flag, 77, hipStreamWaitValueEq));
    writer.join();
    CHECK(hipHostFree(flag));
    CHECK(hipStreamDestroy(stream));

    std::uint32_t few[] = {0xff, 0}, got[16] = {};
    CHECK(hipExtStreamCreateWithCUMask(&stream, 2, few));
    CHECK(hipExtStreamGetCUMask(stream, 16, got));
    REQUIRE(got[0] == 0xff && got[1] == 0);
    CHECK(hipStreamDestroy(stream));
}

static void capture() {
    // A program that captures, and adds its own node to the graph in the meantime.
    hipStream_t stream;
    CHECK(hipStreamCreate(&stream));
    int *x, host[64];
    CHECK(hipMalloc(&x, sizeof host));
    CHECK(hipMemset(x, 0, sizeof host));
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    add<<<1, 64, 0, stream>>>(x, 2, 64);
    hipStreamCaptureStatus status;
    unsigned long long id = 0;
    hipGraph_t graph = nullptr, ended;
    const hipGraphNode_t *before = nullptr;
    size_t count = 0;
    CHECK(hipStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &before, &count));
    REQUIRE(status == hipStreamCaptureStatusActive && id != 0 && count == 1);
    hipMemsetParams fill = {};
    fill.dst = x;
    fill.elementSize = 4;
    fill.width = 32;
    fill.height = 1;
    fill.value = 100;
    hipGraphNode_t node;
    CHECK(hipGraphAddMemsetNode(&node, graph, before, count, &fill));
    CHECK(hipStreamUpdateCaptureDependencies(stream, &node, 1, hipStreamSetCaptureDependencies));
    add<<<1, 64, 0, stream>>>(x, 1, 64);
    CHECK(hipStreamEndCapture(stream, &ended));
    REQUIRE(ended == graph);
    hipGraphExec_t executable;
    CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipGraphLaunch(executable, stream));
    CHECK(hipMemcpy(host, x, sizeof host, hipMemcpyDeviceToHost));
    REQUIRE(host[0] == 101 && host[31] == 101 && host[32] == 6 && host[63] == 6);
    CHECK(hipGraphExecDestroy(executable));
    CHECK(hipGraphDestroy(graph));
    CHECK(hipFree(x));
    CHECK(hipStreamDestroy(stream));
}

static void names() {
    void *found = nullptr;
    hipDriverProcAddressQueryResult how;
    CHECK(hipGetProcAddress("hipGetDeviceCount", &found, 600, 0, &how));
    int count = 0;
    CHECK(reinterpret_cast<hipError_t (*)(int *)>(found)(&count));
    REQUIRE(count == 1 && how == HIP_GET_PROC_ADDRESS_SUCCESS);
    REQUIRE(hipGetProcAddress("hipNoSuchThing", &found, 600, 0, &how) == hipErrorNotFound);
    REQUIRE(found == nullptr && how == HIP_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    int value = 7;
    REQUIRE(hipDeviceGetP2PAttribute(&value, hipDevP2PAttrAccessSupported, 0, 0) == hipErrorInvalidDevice);
}

int main() {
    pools();
    copies();
    values();
    capture();
    names();
    std::puts("pools are right");
    return 0;
}
