// Streams, events and graphs: recorded from streams, built from nodes, changed and run again.
#include "check.h"

#include <vector>

__global__ void add(int *x, int value, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] += value;
}
__global__ void times(int *x, int value, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= value;
}

constexpr int N = 300;
static int host_calls = 0;
static void count(void *by) { host_calls += *static_cast<int *>(by); }

static int first(const int *device) {
    int values[N];
    CHECK(hipMemcpy(values, device, sizeof values, hipMemcpyDeviceToHost));
    for (int value : values) REQUIRE(value == values[0]);
    return values[0];
}

static void streams_and_events(int *x) {
    hipStream_t one, two;
    hipEvent_t start, stop;
    int least, greatest;
    CHECK(hipDeviceGetStreamPriorityRange(&least, &greatest));
    CHECK(hipStreamCreateWithPriority(&one, hipStreamNonBlocking, greatest));
    CHECK(hipStreamCreate(&two));
    CHECK(hipEventCreate(&start));
    CHECK(hipEventCreate(&stop));
    CHECK(hipMemsetAsync(x, 0, N * sizeof(int), one));
    CHECK(hipEventRecord(start, one));
    add<<<2, 256, 0, one>>>(x, 4, N);
    CHECK(hipEventRecord(stop, one));
    CHECK(hipStreamWaitEvent(two, stop, 0));
    times<<<2, 256, 0, two>>>(x, 5, N);
    static int step = 1;
    CHECK(hipLaunchHostFunc(two, count, &step));
    CHECK(hipStreamSynchronize(two));
    CHECK(hipEventSynchronize(stop));
    float milliseconds = -1;
    CHECK(hipEventElapsedTime(&milliseconds, start, stop));
    REQUIRE(milliseconds >= 0 && hipStreamQuery(one) == hipSuccess && hipEventQuery(stop) == hipSuccess);
    REQUIRE(first(x) == 20 && host_calls == 1);
    CHECK(hipEventDestroy(start));
    CHECK(hipEventDestroy(stop));
    CHECK(hipStreamDestroy(one));
    CHECK(hipStreamDestroy(two));
    REQUIRE(hipStreamSynchronize(one) == hipErrorInvalidHandle);
    static_cast<void>(hipGetLastError());
}

static void recorded(int *x) {
    hipStream_t origin, side;
    hipEvent_t forked, joined;
    hipGraph_t graph;
    hipGraphExec_t run;
    CHECK(hipStreamCreate(&origin));
    CHECK(hipStreamCreate(&side));
    CHECK(hipEventCreate(&forked));
    CHECK(hipEventCreate(&joined));
    CHECK(hipMemset(x, 1, N * sizeof(int)));
    CHECK(hipStreamBeginCapture(origin, hipStreamCaptureModeGlobal));
    hipStreamCaptureStatus status;
    CHECK(hipStreamIsCapturing(origin, &status));
    REQUIRE(status == hipStreamCaptureStatusActive);
    CHECK(hipMemsetAsync(x, 0, N * sizeof(int), origin));
    CHECK(hipEventRecord(forked, origin));
    CHECK(hipStreamWaitEvent(side, forked, 0));
    add<<<2, 256, 0, side>>>(x, 2, N);
    CHECK(hipEventRecord(joined, side));
    CHECK(hipStreamWaitEvent(origin, joined, 0));
    for (int i = 0; i < 3; i++) times<<<2, 256, 0, origin>>>(x, 3, N);
    CHECK(hipStreamEndCapture(origin, &graph));
    REQUIRE(first(x) == 0x01010101); // recording ran nothing
    size_t nodes = 0;
    CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
    REQUIRE(nodes == 5);
    CHECK(hipGraphInstantiate(&run, graph, nullptr, nullptr, 0));
    CHECK(hipGraphDestroy(graph));
    for (int i = 0; i < 2; i++) {
        CHECK(hipMemset(x, i, N * sizeof(int)));
        CHECK(hipGraphLaunch(run, origin));
        CHECK(hipStreamSynchronize(origin));
        REQUIRE(first(x) == 2 * 27);
    }
    CHECK(hipGraphExecDestroy(run));

    // Work on another stream cannot be omitted, even if nothing waits for it.
    CHECK(hipStreamBeginCapture(origin, hipStreamCaptureModeRelaxed));
    CHECK(hipEventRecord(forked, origin));
    CHECK(hipStreamWaitEvent(side, forked, 0));
    add<<<2, 256, 0, side>>>(x, 2, N);
    REQUIRE(hipStreamEndCapture(origin, &graph) == hipErrorStreamCaptureUnjoined && graph == nullptr);
    REQUIRE(hipStreamEndCapture(origin, &graph) == hipErrorIllegalState);
    static_cast<void>(hipGetLastError());
    CHECK(hipStreamDestroy(origin));
    CHECK(hipStreamDestroy(side));
}

static void built(int *x, int *y) {
    hipGraph_t graph;
    hipGraphExec_t run;
    hipGraphNode_t set, sum, product, copied, called, done;
    CHECK(hipGraphCreate(&graph, 0));
    hipMemsetParams fill = {};
    fill.dst = x;
    fill.elementSize = 4;
    fill.value = 6;
    fill.width = N;
    fill.height = 1;
    CHECK(hipGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
    int value = 2, n = N, factor = 10;
    void *sum_arguments[] = {&x, &value, &n}, *product_arguments[] = {&x, &factor, &n};
    hipKernelNodeParams kernel = {};
    kernel.func = reinterpret_cast<void *>(add);
    kernel.gridDim = dim3(2);
    kernel.blockDim = dim3(256);
    kernel.kernelParams = sum_arguments;
    CHECK(hipGraphAddKernelNode(&sum, graph, &set, 1, &kernel));
    kernel.func = reinterpret_cast<void *>(times);
    kernel.kernelParams = product_arguments;
    CHECK(hipGraphAddKernelNode(&product, graph, nullptr, 0, &kernel));
    CHECK(hipGraphAddDependencies(graph, &sum, &product, 1));
    // Nodes copied their arguments when they were created.
    value = factor = 1000;
    CHECK(hipGraphAddMemcpyNode1D(&copied, graph, &product, 1, y, x, N * sizeof(int), hipMemcpyDeviceToDevice));
    static int by = 10;
    hipHostNodeParams host = {count, &by};
    CHECK(hipGraphAddHostNode(&called, graph, &copied, 1, &host));
    CHECK(hipGraphAddEmptyNode(&done, graph, &called, 1));
    hipGraphNodeType type;
    CHECK(hipGraphNodeGetType(product, &type));
    REQUIRE(type == hipGraphNodeTypeKernel);
    size_t edges = 0;
    CHECK(hipGraphGetEdges(graph, nullptr, nullptr, &edges));
    REQUIRE(edges == 5);
    CHECK(hipGraphInstantiateWithFlags(&run, graph, 0));
    host_calls = 0;
    CHECK(hipGraphLaunch(run, nullptr));
    CHECK(hipDeviceSynchronize());
    REQUIRE(first(y) == (6 + 2) * 10 && host_calls == 10);

    factor = 7;
    CHECK(hipGraphExecKernelNodeSetParams(run, product, &kernel));
    CHECK(hipGraphLaunch(run, nullptr));
    REQUIRE(first(y) == (6 + 2) * 7);
    hipKernelNodeParams asked = {};
    CHECK(hipGraphKernelNodeGetParams(sum, &asked));
    REQUIRE(asked.blockDim.x == 256 && *static_cast<int *>(asked.kernelParams[1]) == 2);
    CHECK(hipGraphExecDestroy(run));
    CHECK(hipGraphDestroy(graph));
    REQUIRE(hipGraphLaunch(run, nullptr) == hipErrorInvalidHandle);
    static_cast<void>(hipGetLastError());
}

static void edited(int *x, int *y) {
    // fill x -> copy to y -> call; then each is changed in the graph and in its instance.
    hipGraph_t graph, child;
    hipGraphExec_t run;
    hipGraphNode_t set, copied, called, extra, inner;
    CHECK(hipGraphCreate(&graph, 0));
    CHECK(hipGraphCreate(&child, 0));
    hipMemsetParams fill = {};
    fill.dst = x;
    fill.elementSize = 4;
    fill.value = 5;
    fill.width = N;
    fill.height = 1;
    CHECK(hipGraphAddMemsetNode(&set, graph, nullptr, 0, &fill));
    CHECK(hipGraphAddMemcpyNode1D(&copied, graph, &set, 1, y, x, N * sizeof(int), hipMemcpyDeviceToDevice));
    static int one = 1, two = 2;
    hipHostNodeParams host = {count, &one};
    CHECK(hipGraphAddHostNode(&called, graph, &copied, 1, &host));
    CHECK(hipGraphAddEmptyNode(&inner, child, nullptr, 0));
    CHECK(hipGraphAddChildGraphNode(&extra, graph, &called, 1, child));
    hipGraph_t found = nullptr;
    CHECK(hipGraphChildGraphNodeGetGraph(extra, &found));
    REQUIRE(found == child);
    size_t after = 0;
    hipGraphNode_t next[2] = {};
    CHECK(hipGraphNodeGetDependentNodes(called, nullptr, &after));
    REQUIRE(after == 1);
    CHECK(hipGraphNodeGetDependentNodes(called, next, &after));
    REQUIRE(next[0] == extra);
    CHECK(hipGraphRemoveDependencies(graph, &called, &extra, 1));
    REQUIRE(hipGraphRemoveDependencies(graph, &called, &extra, 1) == hipErrorInvalidValue);
    CHECK(hipGraphDestroyNode(extra));
    size_t nodes = 0;
    CHECK(hipGraphGetNodes(graph, nullptr, &nodes));
    REQUIRE(nodes == 3);

    hipMemsetParams asked = {};
    CHECK(hipGraphMemsetNodeGetParams(set, &asked));
    REQUIRE(asked.dst == x && asked.value == 5 && asked.width == N);
    fill.value = 8;
    CHECK(hipGraphMemsetNodeSetParams(set, &fill));
    host.userData = &two;
    CHECK(hipGraphHostNodeSetParams(called, &host));
    hipHostNodeParams caller = {};
    CHECK(hipGraphHostNodeGetParams(called, &caller));
    REQUIRE(caller.fn == count && caller.userData == &two);
    CHECK(hipGraphInstantiate(&run, graph, nullptr, nullptr, 0));
    host_calls = 0;
    CHECK(hipGraphLaunch(run, nullptr));
    REQUIRE(first(y) == 8 && host_calls == 2);

    fill.value = 9;
    CHECK(hipGraphExecMemsetNodeSetParams(run, set, &fill));
    host.userData = &one;
    CHECK(hipGraphExecHostNodeSetParams(run, called, &host));
    CHECK(hipGraphLaunch(run, nullptr));
    REQUIRE(first(y) == 9 && host_calls == 3);
    unsigned enabled = 7;
    CHECK(hipGraphNodeSetEnabled(run, copied, 0));
    CHECK(hipGraphNodeGetEnabled(run, copied, &enabled));
    REQUIRE(enabled == 0);
    fill.value = 4;
    CHECK(hipGraphExecMemsetNodeSetParams(run, set, &fill));
    CHECK(hipGraphLaunch(run, nullptr));
    REQUIRE(first(x) == 4 && first(y) == 9);
    REQUIRE(hipGraphNodeSetEnabled(run, called, 0) == hipErrorInvalidValue);
    // The other direction, as a box of one row.
    hipMemcpy3DParms back = {};
    back.srcPtr = make_hipPitchedPtr(y, N * sizeof(int), N * sizeof(int), 1);
    back.dstPtr = make_hipPitchedPtr(x, N * sizeof(int), N * sizeof(int), 1);
    back.extent = make_hipExtent(N * sizeof(int), 1, 1);
    back.kind = hipMemcpyDeviceToDevice;
    CHECK(hipGraphExecMemcpyNodeSetParams(run, copied, &back));
    CHECK(hipGraphNodeSetEnabled(run, copied, 1));
    CHECK(hipGraphLaunch(run, nullptr));
    REQUIRE(first(x) == 9);
    hipMemcpy3DParms box = {};
    REQUIRE(hipGraphMemcpyNodeGetParams(copied, &box) == hipErrorInvalidValue);
    CHECK(hipGraphMemcpyNodeSetParams(copied, &back));
    CHECK(hipGraphMemcpyNodeGetParams(copied, &box));
    REQUIRE(box.srcPtr.ptr == y && box.extent.width == N * sizeof(int));
    CHECK(hipGraphMemcpyNodeSetParams1D(copied, y, x, N * sizeof(int), hipMemcpyDeviceToDevice));
    CHECK(hipGraphExecDestroy(run));
    CHECK(hipGraphDestroy(child));
    CHECK(hipGraphDestroy(graph));
    static_cast<void>(hipGetLastError());
}

int main() {
    int *x, *y;
    CHECK(hipMalloc(&x, N * sizeof(int)));
    CHECK(hipMalloc(&y, N * sizeof(int)));
    streams_and_events(x);
    recorded(x);
    built(x, y);
    edited(x, y);
    CHECK(hipFree(x));
    CHECK(hipFree(y));
    std::puts("graphs are right");
    return 0;
}
