// Kernels that do one thing each, right or wrong, for the tests of launches and faults.
#include <hip/hip_runtime.h>

extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

// Tree sum of each row in shared memory.
extern "C" __global__ void row_sums(const float *x, float *out, int columns) {
  __shared__ float partial[256];
  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += 256) sum += x[blockIdx.x * columns + i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step) partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

// Launch shape as the kernel sees it.
extern "C" __global__ void shape(unsigned *out) {
  unsigned group = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned item = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned items = blockDim.x * blockDim.y * blockDim.z;
  unsigned *mine = out + 4 * (group * items + item);
  mine[0] = blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16;
  mine[1] = threadIdx.x | threadIdx.y << 10 | threadIdx.z << 20;
  mine[2] = gridDim.x | gridDim.y << 8 | gridDim.z << 16;
  mine[3] = items;
}

extern "C" __global__ void dynamic_shared(unsigned *out, int words) {
  extern __shared__ unsigned space[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) space[i] = i * 3;
  __syncthreads();
  unsigned sum = 0;
  for (int i = 0; i < words; i++) sum += space[i];
  out[threadIdx.x] = sum;
}

__device__ int counter = 5;
__constant__ int table[4] = {1, 2, 3, 4};
extern "C" __global__ void globals(int *out) {
  out[threadIdx.x] = table[threadIdx.x & 3] + counter;
}
extern "C" __global__ void bump() { atomicAdd(&counter, 1); }

extern "C" __global__ void out_of_bounds(int *data, int index) {
  if (threadIdx.x == 3) data[index] = 1;  // LINE: out_of_bounds
}

extern "C" __global__ void read_wild(int *out, const int *wild) {
  out[threadIdx.x] = wild[threadIdx.x];  // LINE: read_wild
}

extern "C" __global__ void shared_out_of_bounds(int *out, int index) {
  __shared__ int space[64];
  space[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = space[index + threadIdx.x];  // LINE: shared_out_of_bounds
}

extern "C" __global__ void scratch_out_of_bounds(int *out, int index) {
  volatile int space[64];
  for (int i = 0; i < 64; i++) space[i] = i;
  out[threadIdx.x] = space[index];  // LINE: scratch_out_of_bounds
}

extern "C" __global__ void missed_barrier(int *out) {
  if (threadIdx.x >= 64) return;
  out[threadIdx.x] = 1;
  __builtin_amdgcn_s_barrier();  // LINE: missed_barrier
  out[threadIdx.x] = 2;
}

extern "C" __global__ void endless(volatile int *flag) {
  // It reads the clock, so it might end by itself: only a time limit or an interrupt ends it.
  while (*flag == 0 && __builtin_readcyclecounter() != 0) {}  // LINE: endless
}

extern "C" __global__ void trap(int *out) {
  out[threadIdx.x] = 1;
  if (threadIdx.x == 0) __builtin_trap();  // LINE: trap
}

extern "C" __global__ void __launch_bounds__(128) small_blocks(int *out) { out[threadIdx.x] = threadIdx.x; }

extern "C" __global__ void unsupported() {
  asm volatile("s_rfe_b64 s[0:1]");  // LINE: unsupported
}

extern "C" __global__ void big_static() {
  __shared__ int space[16384];
  space[threadIdx.x] = 1;
  __syncthreads();
  if (space[threadIdx.x + 1] == 77) __builtin_trap();
}

__device__ __attribute__((noinline)) int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void recursion(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x & 7); }

__device__ __attribute__((noinline)) float twice(float x) { return x * 2; }
__device__ __attribute__((noinline)) float next(float x) { return x + 1; }
extern "C" __global__ void call_through_pointer(float *out, int which) {
  float (*function)(float) = which ? twice : next;
  out[threadIdx.x] = function(threadIdx.x);
}
