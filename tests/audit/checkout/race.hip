// Reverses 128 numbers through shared memory, without a barrier.
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void reverse(const float *x, float *out) {
    __shared__ float row[128];
    row[threadIdx.x] = x[threadIdx.x];
    out[threadIdx.x] = row[127 - threadIdx.x];
}

int main() {
    float host[128], result[128], *x, *out;
    for (int i = 0; i < 128; ++i)
        host[i] = float(i + 1);
    (void)hipMalloc((void **)&x, sizeof host);
    (void)hipMalloc((void **)&out, sizeof host);
    (void)hipMemcpy(x, host, sizeof host, hipMemcpyHostToDevice);
    reverse<<<1, 128>>>(x, out);
    (void)hipMemcpy(result, out, sizeof host, hipMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < 128; ++i)
        wrong += result[i] != float(128 - i);
    printf("%d of 128 differ: %s\n", wrong, wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}
