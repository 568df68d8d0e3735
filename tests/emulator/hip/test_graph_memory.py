"""Graphs that allocate and free memory: by nodes, and recorded from streams."""

from __future__ import annotations

import workbench as wb

PROGRAM = r"""#include <hip/hip_runtime.h>
#include <cstdio>
#define OK(call)                                                     \
    if (hipError_t e = (call)) {                                     \
        std::printf("%d: %s\n", __LINE__, hipGetErrorName(e));       \
        return 1;                                                    \
    }
__device__ int total;
__global__ void fill(int *x, int v) { x[threadIdx.x] = v + threadIdx.x; }
__global__ void sum(const int *x, int *out) {
    int s = 0;
    for (int i = 0; i < 64; i++) s += x[i];
    if (threadIdx.x == 0) *out = s;
}
unsigned long long attribute(hipGraphMemAttributeType which) {
    unsigned long long value = ~0ull;
    hipDeviceGetGraphMemAttribute(0, which, &value);
    return value;
}
int main() {
    int *out, seed = 5;
    OK(hipMallocManaged(&out, 256));
    hipGraph_t graph;
    OK(hipGraphCreate(&graph, 0));
    hipMemAllocNodeParams memory = {};
    memory.poolProps.allocType = hipMemAllocationTypePinned;
    memory.poolProps.location = {hipMemLocationTypeDevice, 0};
    memory.bytesize = 256;
    hipGraphNode_t allocation, filled, summed, freed, symbol;
    OK(hipGraphAddMemAllocNode(&allocation, graph, nullptr, 0, &memory));
    void *fill_arguments[] = {&memory.dptr, &seed}, *sum_arguments[] = {&memory.dptr, &out};
    hipKernelNodeParams kernel = {};
    kernel.gridDim = dim3(1), kernel.blockDim = dim3(64);
    kernel.func = (void *)fill, kernel.kernelParams = fill_arguments;
    OK(hipGraphAddKernelNode(&filled, graph, &allocation, 1, &kernel));
    kernel.func = (void *)sum, kernel.kernelParams = sum_arguments;
    OK(hipGraphAddKernelNode(&summed, graph, &filled, 1, &kernel));
    OK(hipGraphAddMemcpyNodeToSymbol(&symbol, graph, &summed, 1, &total, out, 4, 0, hipMemcpyDefault));
    hipGraphExec_t leaking, run;
    OK(hipGraphInstantiate(&leaking, graph, nullptr, nullptr, 0));
    OK(hipGraphLaunch(leaking, 0));
    std::printf("%d, in use %llu\n", *out, attribute(hipGraphMemAttrUsedMemCurrent));
    std::printf("again without freeing: %s\n", hipGetErrorName(hipGraphLaunch(leaking, 0)));
    // What a graph leaves may be freed outside.
    OK(hipFree(memory.dptr));
    std::printf("in use %llu\n", attribute(hipGraphMemAttrUsedMemCurrent));
    OK(hipGraphAddMemFreeNode(&freed, graph, &symbol, 1, memory.dptr));
    hipGraphNodeType type;
    OK(hipGraphNodeGetType(freed, &type));
    void *address;
    OK(hipGraphMemFreeNodeGetParams(freed, &address));
    hipMemAllocNodeParams same = {};
    OK(hipGraphMemAllocNodeGetParams(allocation, &same));
    std::printf("%d %d %zu\n", type == hipGraphNodeTypeMemFree, address == same.dptr, same.bytesize);
    OK(hipGraphInstantiate(&run, graph, nullptr, nullptr, 0));
    for (int i = 0; i < 3; i++) OK(hipGraphLaunch(run, 0));
    int copied = 0;
    OK(hipMemcpyFromSymbol(&copied, total, 4));
    std::printf("%d, in use %llu, at most %llu\n", copied, attribute(hipGraphMemAttrUsedMemCurrent),
                attribute(hipGraphMemAttrUsedMemHigh));
    hipGraph_t clone;
    std::printf("clone: %s\n", hipGetErrorName(hipGraphClone(&clone, graph)));

    // Recorded from a stream; freed automatically before each launch.
    hipStream_t stream;
    OK(hipStreamCreate(&stream));
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    int *x;
    OK(hipMallocAsync((void **)&x, 256, stream));
    fill<<<1, 64, 0, stream>>>(x, 1);
    sum<<<1, 64, 0, stream>>>(x, out);
    hipGraph_t recorded;
    OK(hipStreamEndCapture(stream, &recorded));
    hipGraphExec_t again;
    OK(hipGraphInstantiateWithFlags(&again, recorded, hipGraphInstantiateFlagAutoFreeOnLaunch));
    OK(hipGraphLaunch(again, stream));
    OK(hipGraphLaunch(again, stream));
    std::printf("%d\n", *out);
    OK(hipFreeAsync(x, stream));
    OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    OK(hipMallocAsync((void **)&x, 256, stream));
    fill<<<1, 64, 0, stream>>>(x, 2);
    sum<<<1, 64, 0, stream>>>(x, out);
    OK(hipFreeAsync(x, stream));
    OK(hipStreamEndCapture(stream, &recorded));
    OK(hipGraphInstantiate(&again, recorded, nullptr, nullptr, 0));
    OK(hipGraphLaunch(again, stream));
    OK(hipGraphLaunch(again, stream));
    std::printf("%d, in use %llu\n", *out, attribute(hipGraphMemAttrUsedMemCurrent));
    fill<<<1, 64>>>(x, 3);
    std::printf("after the graph: %s\n", hipGetErrorName(hipDeviceSynchronize()));
}
"""


def test_memory_that_graphs_allocate() -> None:
    result = wb.run_program(PROGRAM, device="emulated:gfx950")
    assert result.check().stdout.splitlines() == [
        f"{5 * 64 + 2016}, in use 256",
        "again without freeing: hipErrorInvalidValue",
        "in use 0",
        "1 1 256",
        f"{5 * 64 + 2016}, in use 0, at most 256",
        "clone: hipErrorNotSupported",
        str(64 + 2016),
        f"{2 * 64 + 2016}, in use 0",
        "after the graph: hipErrorIllegalAddress",
    ]
    assert "at byte 0 of a 256-byte device allocation that was freed" in result.stderr
