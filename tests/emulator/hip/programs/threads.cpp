// Threads of the program itself, each with its own device, launch and last error, as HIP keeps them for a thread.
#include "check.h"

#include <thread>
#include <vector>

__global__ void add(int *sums, int i, int by) { sums[i] += by; }

int main() {
    const int count = 4;
    int devices, *sums;
    CHECK(hipGetDeviceCount(&devices));
    CHECK(hipMallocManaged(reinterpret_cast<void **>(&sums), count * sizeof(int)));
    std::vector<std::thread> threads;
    for (int i = 0; i < count; i++)
        threads.emplace_back([=] {
            for (int turn = 1; turn <= 3; turn++) {
                add<<<1, 1>>>(sums, i, turn);
                CHECK(hipGetLastError());
                CHECK(hipDeviceSynchronize());
            }
            // A thread's state does not affect others, and persists until its next call.
            int device;
            REQUIRE(hipSetDevice(devices) == hipErrorInvalidDevice);
            REQUIRE(hipPeekAtLastError() == hipErrorInvalidDevice);
            REQUIRE(hipGetLastError() == hipErrorInvalidDevice);
            REQUIRE(hipGetLastError() == hipSuccess);
            CHECK(hipSetDevice(i % devices));
            CHECK(hipGetDevice(&device));
            REQUIRE(device == i % devices);
            hipStreamCaptureMode mode = hipStreamCaptureModeRelaxed;
            CHECK(hipThreadExchangeStreamCaptureMode(&mode));
            REQUIRE(mode == hipStreamCaptureModeGlobal);
            CHECK(hipThreadExchangeStreamCaptureMode(&mode));
            REQUIRE(mode == hipStreamCaptureModeRelaxed);
        });
    for (std::thread &each : threads) each.join();
    REQUIRE(hipGetLastError() == hipSuccess);
    for (int i = 0; i < count; i++) REQUIRE(sums[i] == 6);
    CHECK(hipFree(sums));
    std::printf("%d threads have their own\n", count);
    return 0;
}
