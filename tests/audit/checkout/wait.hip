// Doubles 64 numbers that it loads without a wait.
#include <hip/hip_runtime.h>
#include <cstdio>

__global__ void twice(const float *x, float *out) {
    float value;
    asm volatile("global_load_dword %0, %1, off" : "=v"(value) : "v"(x + threadIdx.x));
    value = value + value;
    out[threadIdx.x] = value;
}

int main() {
    float host[64], result[64], *x, *out;
    for (int i = 0; i < 64; ++i)
        host[i] = float(i + 1);
    (void)hipMalloc((void **)&x, sizeof host);
    (void)hipMalloc((void **)&out, sizeof host);
    (void)hipMemcpy(x, host, sizeof host, hipMemcpyHostToDevice);
    twice<<<1, 64>>>(x, out);
    (void)hipMemcpy(result, out, sizeof host, hipMemcpyDeviceToHost);
    int wrong = 0;
    for (int i = 0; i < 64; ++i)
        wrong += result[i] != 2 * host[i];
    printf("%d of 64 differ: %s\n", wrong, wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}
