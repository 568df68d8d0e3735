// c = a + b on the device: the program that every HIP tutorial begins with. Arguments: how many numbers.
#include "check.h"

#include <string>
#include <vector>

__global__ void add(const float *a, const float *b, float *c, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}

int main(int argc, char **argv) {
    const int n = argc > 1 ? std::stoi(argv[1]) : 1000;
    std::vector<float> a(n), b(n), c(n);
    for (int i = 0; i < n; i++) a[i] = i, b[i] = 0.5f * i;
    const size_t bytes = n * sizeof(float);
    float *device_a, *device_b, *device_c;
    CHECK(hipMalloc(&device_a, bytes));
    CHECK(hipMalloc(&device_b, bytes));
    CHECK(hipMalloc(&device_c, bytes));
    CHECK(hipMemcpy(device_a, a.data(), bytes, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(device_b, b.data(), bytes, hipMemcpyHostToDevice));
    add<<<(n + 255) / 256, 256>>>(device_a, device_b, device_c, n);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(c.data(), device_c, bytes, hipMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) REQUIRE(c[i] == 1.5f * i);
    hipDeviceProp_t properties;
    CHECK(hipGetDeviceProperties(&properties, 0));
    std::printf("%d sums are right on %.6s\n", n, properties.gcnArchName);
    CHECK(hipFree(device_a));
    CHECK(hipFree(device_b));
    CHECK(hipFree(device_c));
    return 0;
}
