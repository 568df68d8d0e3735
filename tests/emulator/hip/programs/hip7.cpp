// Differences of HIP 7 from HIP 6: the page hip-7-changes.rst of HIP's documentation, point by point, and the codes of
// clr's hip_module.cpp and hip_internal.hpp (ROCm 7) behind it.
#include "check.h"

#include <hip/hip_ext.h>

#include <thread>

__global__ void ok() {}
__global__ void __launch_bounds__(64) narrow() {}

void last_error() {
    void *const bad = reinterpret_cast<void *>(0x10);
    REQUIRE(hipFree(bad) == hipErrorInvalidValue);
    CHECK(hipDeviceSynchronize());
    // The last error, even if later calls succeeded; hipExtGetLastError concerns only the last call.
    REQUIRE(hipExtGetLastError() == hipSuccess);
    REQUIRE(hipPeekAtLastError() == hipErrorInvalidValue && hipPeekAtLastError() == hipErrorInvalidValue);
    REQUIRE(hipGetLastError() == hipErrorInvalidValue && hipGetLastError() == hipSuccess);
    REQUIRE(hipFree(bad) == hipErrorInvalidValue);
    ok<<<1, 64>>>();
    REQUIRE(hipGetLastError() == hipErrorInvalidValue);
    REQUIRE(hipFree(bad) == hipErrorInvalidValue);
    REQUIRE(hipExtGetLastError() == hipErrorInvalidValue && hipExtGetLastError() == hipSuccess);
    std::thread([] { REQUIRE(hipPeekAtLastError() == hipSuccess); }).join();
    REQUIRE(hipGetLastError() == hipErrorInvalidValue);
}

void pointers() {
    int plain = 0;
    hipPointerAttribute_t attributes;
    CHECK(hipPointerGetAttributes(&attributes, &plain));
    REQUIRE(attributes.type == hipMemoryTypeUnregistered);
    CHECK(hipPointerGetAttributes(&attributes, nullptr));
    CHECK(hipPointerGetAttributes(nullptr, &plain));
    CHECK(hipFree(nullptr));
}

hipError_t program(dim3 grid, dim3 block, std::size_t shared = 0, hipStream_t stream = nullptr) {
    return hipLaunchKernel(reinterpret_cast<const void *>(ok), grid, block, nullptr, shared, stream);
}
hipError_t together(dim3 grid, dim3 block, unsigned shared = 0, hipStream_t stream = nullptr) {
    return hipLaunchCooperativeKernel(reinterpret_cast<const void *>(ok), grid, block, nullptr, shared, stream);
}

void launches() {
    const auto gone = reinterpret_cast<hipStream_t>(0x1230);
    const unsigned much = 1 << 20;
    REQUIRE(program(dim3(0), dim3(64)) == hipErrorInvalidConfiguration);
    REQUIRE(program(dim3(1), dim3(0)) == hipErrorInvalidConfiguration);
    REQUIRE(program(dim3(1), dim3(1025)) == hipErrorInvalidConfiguration);
    REQUIRE(program(dim3(1), dim3(64), much) == hipErrorInvalidValue);
    REQUIRE(program(dim3(1), dim3(64), 0, gone) == hipErrorInvalidValue);
    REQUIRE(together(dim3(1), dim3(1025)) == hipErrorInvalidConfiguration);
    REQUIRE(together(dim3(1), dim3(64), much) == hipErrorCooperativeLaunchTooLarge);
    REQUIRE(together(dim3(1 << 20), dim3(64)) == hipErrorCooperativeLaunchTooLarge);
    narrow<<<1, 128>>>();
    REQUIRE(hipGetLastError() == hipErrorLaunchFailure);

    hipFunction_t f;
    CHECK(hipGetFuncBySymbol(&f, reinterpret_cast<const void *>(ok)));
    const auto module = [&](unsigned grid, unsigned block, unsigned shared, hipStream_t stream) {
        return hipModuleLaunchKernel(f, grid, 1, 1, block, 1, 1, shared, stream, nullptr, nullptr);
    };
    CHECK(module(1, 64, 0, nullptr));
    REQUIRE(module(0, 64, 0, nullptr) == hipErrorInvalidValue);
    REQUIRE(module(1, 0, 0, nullptr) == hipErrorInvalidValue);
    REQUIRE(module(1, 1025, 0, nullptr) == hipErrorInvalidValue);
    REQUIRE(module(1, 64, much, nullptr) == hipErrorInvalidValue);
    REQUIRE(module(1, 64, 0, gone) == hipErrorContextIsDestroyed);
    REQUIRE(hipModuleLaunchCooperativeKernel(f, 1, 1, 1, 64, 1, 1, 0, gone, nullptr) == hipErrorContextIsDestroyed);
    const auto extended = [&](unsigned items, unsigned block) {
        return hipExtModuleLaunchKernel(f, items, 1, 1, block, 1, 1, 0, nullptr, nullptr, nullptr, nullptr, nullptr, 0);
    };
    REQUIRE(extended(0, 64) == hipErrorInvalidValue && extended(64, 0) == hipErrorInvalidValue);
    REQUIRE(extended(2048, 2048) == hipErrorInvalidConfiguration);
}

hipStreamCaptureStatus status(hipStream_t stream) {
    hipStreamCaptureStatus result;
    CHECK(hipStreamIsCapturing(stream, &result));
    return result;
}

// Results of a call during a capture, by mode: relaxed mode allows it, the others end the capture.
template <typename Call>
void in_captures(Call call) {
    hipStream_t stream;
    hipGraph_t graph;
    CHECK(hipStreamCreate(&stream));
    for (auto mode : {hipStreamCaptureModeGlobal, hipStreamCaptureModeThreadLocal, hipStreamCaptureModeRelaxed}) {
        CHECK(hipStreamBeginCapture(stream, mode));
        REQUIRE(status(stream) == hipStreamCaptureStatusActive);
        const hipError_t answer = call();
        if (mode == hipStreamCaptureModeRelaxed) {
            CHECK(answer);
            CHECK(hipStreamEndCapture(stream, &graph));
            CHECK(hipGraphDestroy(graph));
        } else {
            REQUIRE(answer == hipErrorStreamCaptureUnsupported);
            REQUIRE(status(stream) == hipStreamCaptureStatusInvalidated);
            REQUIRE(hipMemsetAsync(nullptr, 0, 0, stream) == hipErrorStreamCaptureInvalidated);
            REQUIRE(hipStreamEndCapture(stream, &graph) == hipErrorStreamCaptureInvalidated && graph == nullptr);
            REQUIRE(status(stream) == hipStreamCaptureStatusNone);
        }
    }
    CHECK(hipStreamDestroy(stream));
}

void captures() {
    void *memory = nullptr;
    hipEvent_t event;
    hipMemPool_t pool;
    CHECK(hipEventCreate(&event));
    CHECK(hipEventRecord(event, nullptr));
    CHECK(hipDeviceGetDefaultMemPool(&pool, 0));
    in_captures([&] { return hipMalloc(&memory, 64); });
    in_captures([&] { return hipFree(nullptr); });
    in_captures([&] { return hipMallocManaged(&memory, 64, hipMemAttachGlobal); });
    in_captures([&] { return hipMemAdvise(memory, 64, hipMemAdviseSetReadMostly, 0); });
    in_captures([&] { return hipEventQuery(event); });
    in_captures([&] { return hipDeviceSetMemPool(0, pool); });
    in_captures([&] { return hipDeviceSetCacheConfig(hipFuncCachePreferNone); });
    in_captures([&] { return hipDeviceSetSharedMemConfig(hipSharedMemBankSizeDefault); });

    // Calls that wait for the device, or copy synchronously, end captures of every mode, and so does a callback.
    hipStream_t stream, other;
    hipGraph_t graph;
    CHECK(hipStreamCreate(&stream));
    CHECK(hipStreamCreate(&other));
    const auto ends = [&](auto call, hipError_t answer) {
        CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeRelaxed));
        REQUIRE(call() == answer);
        REQUIRE(hipStreamEndCapture(stream, &graph) == hipErrorStreamCaptureInvalidated);
    };
    int word = 0;
    ends([] { return hipDeviceSynchronize(); }, hipErrorStreamCaptureUnsupported);
    ends([&] { return hipStreamSynchronize(stream); }, hipErrorStreamCaptureUnsupported);
    ends([&] { return hipMemcpy(memory, &word, 4, hipMemcpyHostToDevice); }, hipErrorStreamCaptureImplicit);
    ends([&] { return hipMemset(memory, 0, 4); }, hipErrorStreamCaptureImplicit);
    ends([&] { return hipStreamAddCallback(other, [](hipStream_t, hipError_t, void *) {}, nullptr, 0); },
         hipErrorStreamCaptureUnsupported);

    // Another thread's calls end only captures in global mode, unless the thread has changed its capture mode.
    const auto elsewhere = [&](bool relaxed) {
        hipError_t answer = hipErrorUnknown;
        std::thread([&] {
            hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
            if (relaxed) CHECK(hipThreadExchangeStreamCaptureMode(&mode));
            answer = hipMalloc(&memory, 64);
        }).join();
        return answer;
    };
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
    CHECK(elsewhere(false));
    CHECK(hipStreamEndCapture(stream, &graph));
    CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
    CHECK(elsewhere(true));
    REQUIRE(elsewhere(false) == hipErrorStreamCaptureUnsupported);
    REQUIRE(hipStreamEndCapture(stream, &graph) == hipErrorStreamCaptureInvalidated);
}

int main() {
    last_error();
    pointers();
    launches();
    captures();
    std::puts("HIP 7 is right");
    return 0;
}
