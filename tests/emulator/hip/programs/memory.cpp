// Memory of every kind and copies in every direction; symbols, attributes, occupancy, other ways to launch.
#include "check.h"

#include <hip/hip_cooperative_groups.h>

#include <cstring>
#include <numeric>
#include <vector>

__device__ int counter;
__constant__ float weights[4];
__managed__ int shared_with_host = 5;

__global__ void scale(float *x, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}
__global__ void use_symbols(float *out) {
    atomicAdd(&counter, 1);
    if (blockIdx.x == 0 && threadIdx.x < 4) out[threadIdx.x] = weights[threadIdx.x];
    if (blockIdx.x == 0 && threadIdx.x == 0) shared_with_host *= 2;
}
__global__ void meet(int *arrived, int groups, int *late) {
    // Every work-group waits for all others, which only a cooperative launch promises to work.
    if (threadIdx.x == 0) {
        atomicAdd(arrived, 1);
        while (__hip_atomic_load(arrived, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < groups) {
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(late, *arrived == groups ? 0 : 1);
}
__global__ void turns(int *x, int count) {
    // In each turn every work-group adds what its neighbour had at the end of the one before.
    const auto grid = cooperative_groups::this_grid();
    for (int turn = 0; turn < count; turn++) {
        const int neighbour = x[(blockIdx.x + 1) % gridDim.x];
        grid.sync();
        if (cooperative_groups::this_thread_block().thread_rank() == 0) x[blockIdx.x] += neighbour;
        grid.sync();
    }
}
template <int N>
__global__ __launch_bounds__(256) void tile(float *out) {
    __shared__ float buffer[N];
    extern __shared__ float more[];
    buffer[threadIdx.x] = threadIdx.x;
    more[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = buffer[N - 1 - threadIdx.x] + more[threadIdx.x];
}

static void copies() {
    std::vector<int> source(1000), back(1000);
    std::iota(source.begin(), source.end(), 0);
    int *one, *two, *pinned, *managed;
    CHECK(hipMalloc(&one, 4000));
    CHECK(hipMalloc(&two, 4000));
    CHECK(hipHostMalloc(&pinned, 4000));
    CHECK(hipMallocManaged(&managed, 4000));
    CHECK(hipMemcpy(pinned, source.data(), 4000, hipMemcpyHostToHost));
    CHECK(hipMemcpy(one, pinned, 4000, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(two, one, 4000, hipMemcpyDeviceToDevice));
    CHECK(hipMemcpy(managed, two, 4000, hipMemcpyDefault));
    CHECK(hipMemcpyAsync(back.data(), managed, 4000, hipMemcpyDeviceToHost, nullptr));
    CHECK(hipDeviceSynchronize());
    REQUIRE(back == source);
    CHECK(hipMemset(two, 0xff, 4000));
    CHECK(hipMemsetD32(two, 7, 10));
    CHECK(hipMemcpy(back.data(), two, 4000, hipMemcpyDeviceToHost));
    REQUIRE(back[9] == 7 && back[10] == -1);
    // The device reaches pinned and managed memory itself, and the host sees what it wrote.
    float *floats = reinterpret_cast<float *>(managed);
    for (int i = 0; i < 1000; i++) floats[i] = i;
    scale<<<4, 256>>>(floats, 3, 1000);
    CHECK(hipDeviceSynchronize());
    REQUIRE(floats[999] == 2997);
    hipPointerAttribute_t attributes;
    CHECK(hipPointerGetAttributes(&attributes, managed));
    REQUIRE(attributes.type == hipMemoryTypeManaged);
    CHECK(hipPointerGetAttributes(&attributes, one + 10));
    REQUIRE(attributes.type == hipMemoryTypeDevice && attributes.devicePointer == one + 10);
    std::vector<float> own(256, 2);
    CHECK(hipHostRegister(own.data(), 1024, hipHostRegisterDefault));
    scale<<<1, 256>>>(own.data(), 4, 256);
    CHECK(hipDeviceSynchronize());
    CHECK(hipHostUnregister(own.data()));
    REQUIRE(own[255] == 8);
    REQUIRE(hipMemcpy(one, source.data(), 4001, hipMemcpyHostToDevice) == hipErrorInvalidValue);
    REQUIRE(hipGetLastError() == hipErrorInvalidValue && hipGetLastError() == hipSuccess);
    CHECK(hipFree(one));
    CHECK(hipFree(two));
    CHECK(hipHostFree(pinned));
    CHECK(hipFree(managed));
}

static void boxes() {
    // 2-D: a window of a matrix; 3-D: a box of a pitched allocation.
    float matrix[6][8], window[2][3] = {};
    for (int i = 0; i < 48; i++) matrix[i / 8][i % 8] = i;
    float *device;
    size_t pitch;
    CHECK(hipMallocPitch(&device, &pitch, sizeof matrix[0], 6));
    CHECK(hipMemcpy2D(device, pitch, matrix, sizeof matrix[0], sizeof matrix[0], 6, hipMemcpyHostToDevice));
    CHECK(hipMemcpy2D(window, sizeof window[0], reinterpret_cast<char *>(device) + 3 * pitch + 4 * sizeof(float), pitch,
                      sizeof window[0], 2, hipMemcpyDeviceToHost));
    REQUIRE(window[0][0] == 28 && window[1][2] == 38);
    CHECK(hipFree(device));

    unsigned char cube[4][5][6], part[2][2][3] = {};
    for (int i = 0; i < 120; i++) cube[i / 30][i / 6 % 5][i % 6] = i;
    hipPitchedPtr box;
    CHECK(hipMalloc3D(&box, make_hipExtent(6, 5, 4)));
    CHECK(hipMemset3D(box, 0, make_hipExtent(6, 5, 4)));
    hipMemcpy3DParms up = {};
    up.srcPtr = make_hipPitchedPtr(cube, 6, 6, 5);
    up.dstPtr = box;
    up.extent = make_hipExtent(6, 5, 4);
    up.kind = hipMemcpyHostToDevice;
    CHECK(hipMemcpy3D(&up));
    hipMemcpy3DParms down = {};
    down.srcPtr = box;
    down.srcPos = make_hipPos(2, 1, 1);
    down.dstPtr = make_hipPitchedPtr(part, 3, 3, 2);
    down.extent = make_hipExtent(3, 2, 2);
    down.kind = hipMemcpyDeviceToHost;
    CHECK(hipMemcpy3D(&down));
    REQUIRE(part[0][0][0] == 38 && part[1][1][2] == 76);
    CHECK(hipFree(box.ptr));
}

static void symbols() {
    const float given[4] = {1, 2, 3, 4};
    float got[4], *out;
    int count = 10, *address;
    size_t size;
    CHECK(hipMalloc(&out, sizeof got));
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(weights), given, sizeof given));
    CHECK(hipMemcpyToSymbol(HIP_SYMBOL(counter), &count, sizeof count));
    use_symbols<<<3, 64>>>(out);
    CHECK(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
    REQUIRE(std::memcmp(got, given, sizeof got) == 0);
    CHECK(hipMemcpyFromSymbol(&count, HIP_SYMBOL(counter), sizeof count));
    REQUIRE(count == 10 + 3 * 64);
    CHECK(hipGetSymbolAddress(reinterpret_cast<void **>(&address), HIP_SYMBOL(counter)));
    CHECK(hipGetSymbolSize(&size, HIP_SYMBOL(weights)));
    CHECK(hipMemcpy(&count, address, sizeof count, hipMemcpyDeviceToHost));
    REQUIRE(count == 202 && size == sizeof given && shared_with_host == 10);
    CHECK(hipFree(out));
}

static void launches() {
    hipFuncAttributes attributes;
    CHECK(hipFuncGetAttributes(&attributes, reinterpret_cast<const void *>(tile<256>)));
    REQUIRE(attributes.sharedSizeBytes == 1024 && attributes.maxThreadsPerBlock == 256);
    CHECK(hipFuncSetAttribute(reinterpret_cast<const void *>(tile<256>), hipFuncAttributeMaxDynamicSharedMemorySize,
                              32768));
    int blocks = 0, grid = 0, block = 0;
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, tile<256>, 256, 1024));
    CHECK(hipOccupancyMaxPotentialBlockSize(&grid, &block, tile<256>, 0, 0));
    REQUIRE(blocks > 0 && grid > 0 && block > 0 && block <= 256);

    float *out, got[256];
    CHECK(hipMalloc(&out, sizeof got));
    hipLaunchConfig_t config = {};
    config.gridDim = dim3(1);
    config.blockDim = dim3(256);
    config.dynamicSmemBytes = 1024;
    void *arguments[] = {&out};
    CHECK(hipLaunchKernelExC(&config, reinterpret_cast<const void *>(tile<256>), arguments));
    CHECK(hipMemcpy(got, out, sizeof got, hipMemcpyDeviceToHost));
    REQUIRE(got[0] == 256 && got[255] == 1);
    hipLaunchKernelGGL(tile<256>, dim3(1), dim3(256), 1024, nullptr, out);
    CHECK(hipGetLastError());

    int *words, zero[2] = {}, groups = 8;
    CHECK(hipMalloc(&words, sizeof zero));
    CHECK(hipMemcpy(words, zero, sizeof zero, hipMemcpyHostToDevice));
    int *late = words + 1;
    void *meeting[] = {&words, &groups, &late};
    CHECK(
        hipLaunchCooperativeKernel(reinterpret_cast<const void *>(meet), dim3(groups), dim3(128), meeting, 0, nullptr));
    CHECK(hipMemcpy(zero, words, sizeof zero, hipMemcpyDeviceToHost));
    REQUIRE(zero[0] == groups && zero[1] == 0);
    REQUIRE(hipLaunchCooperativeKernel(reinterpret_cast<const void *>(meet), dim3(1 << 20), dim3(128), meeting, 0,
                                       nullptr) == hipErrorCooperativeLaunchTooLarge);
    // As many work-groups as the device holds at once, and one more.
    int per_unit = 0;
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    CHECK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&per_unit, reinterpret_cast<const void *>(meet), 1024, 0));
    groups = per_unit * properties.multiProcessorCount;
    CHECK(hipMemset(words, 0, sizeof zero));
    CHECK(hipLaunchCooperativeKernel(reinterpret_cast<const void *>(meet), dim3(groups), dim3(1024), meeting, 0,
                                     nullptr));
    CHECK(hipMemcpy(zero, words, sizeof zero, hipMemcpyDeviceToHost));
    REQUIRE(groups > 500 && zero[0] == groups && zero[1] == 0);
    REQUIRE(hipLaunchCooperativeKernel(reinterpret_cast<const void *>(meet), dim3(groups + 1), dim3(1024), meeting, 0,
                                       nullptr) == hipErrorCooperativeLaunchTooLarge);
    int around[8] = {1}, expected[8] = {1}, rounds = 5;
    CHECK(hipMemcpy(out, around, sizeof around, hipMemcpyHostToDevice));
    void *turning[] = {&out, &rounds};
    CHECK(hipLaunchCooperativeKernel(turns, dim3(8), dim3(100), turning, 0, nullptr));
    CHECK(hipMemcpy(around, out, sizeof around, hipMemcpyDeviceToHost));
    for (int turn = 0; turn < rounds; turn++) {
        int before[8];
        std::memcpy(before, expected, sizeof before);
        for (int i = 0; i < 8; i++) expected[i] += before[(i + 1) % 8];
    }
    REQUIRE(std::memcmp(around, expected, sizeof around) == 0);

    tile<256><<<1, 512>>>(out);
    REQUIRE(hipGetLastError() == hipErrorLaunchFailure);
    CHECK(hipFree(out));
    CHECK(hipFree(words));
}

int main() {
    copies();
    boxes();
    symbols();
    launches();
    std::puts("memory is right");
    return 0;
}
