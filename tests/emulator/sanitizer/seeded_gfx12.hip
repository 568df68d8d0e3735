// Kernels as in seeded.hip whose faults come from gfx12's counters and split barriers; waves of 32 lanes.

#include <hip/hip_runtime.h>
#define LDS __attribute__((address_space(3)))
#define DEVICE __HIP_MEMORY_SCOPE_AGENT
#define SLEEP __builtin_amdgcn_s_sleep(1)
#ifdef FAULT
#define IF_FAULT(a, b) a
#else
#define IF_FAULT(a, b) b
#endif

//: stores_waited_for_in_place_of_loads = { category = "missing wait", words = "s_wait_loadcnt" }
__global__ void k(const float *in, float *out) {
    float x, y;
    unsigned at = threadIdx.x * 4;
    asm volatile("global_load_b32 %0, %1, %2" : "=&v"(x) : "v"(at), "s"(in));
    asm volatile(IF_FAULT("s_wait_storecnt 0x0", "s_wait_loadcnt 0x0"));
    asm volatile("v_add_f32 %0, %1, %1" : "=v"(y) : "v"(x)); // HERE
    asm volatile("s_wait_loadcnt 0x0");
    out[threadIdx.x] = y;
}

//: stores_do_not_push_loads = { category = "missing wait", words = "s_wait_loadcnt" }
__global__ void k(const float *in, float *out) {
    float x, y;
    unsigned at = threadIdx.x * 4;
    asm volatile("global_load_b32 %0, %1, %2" : "=&v"(x) : "v"(at), "s"(in));
    asm volatile("global_store_b32 %0, %0, %1 offset:1024\n\tglobal_store_b32 %0, %0, %1 offset:2048"
                 : : "v"(at), "s"(out) : "memory");
    asm volatile(IF_FAULT("s_wait_loadcnt 0x1", "s_wait_loadcnt 0x0"));
    asm volatile("v_add_f32 %0, %1, %1" : "=v"(y) : "v"(x)); // HERE
    asm volatile("s_wait_loadcnt 0x0");
    out[threadIdx.x] = y;
}

//: loads_between_stores = { category = "missing wait", words = "s_wait_loadcnt" }
__global__ void k(const float *in, float *out) {
    float x, z, y;
    unsigned at = threadIdx.x * 4;
    asm volatile("global_load_b32 %0, %2, %3\n\tglobal_store_b32 %2, %2, %4 offset:1024\n\t"
                 "global_load_b32 %1, %2, %3 offset:256\n\tglobal_store_b32 %2, %2, %4 offset:2048\n\t"
                 "s_wait_loadcnt 0x1"
                 : "=&v"(x), "=&v"(z) : "v"(at), "s"(in), "s"(out) : "memory");
    asm volatile("v_add_f32 %0, %1, %1" : "=&v"(y) : "v"(IF_FAULT(z, x))); // HERE
    asm volatile("s_wait_loadcnt 0x0" : "+v"(x), "+v"(z));
    out[threadIdx.x] = y + x + z;
}

//: kmcnt = { category = "missing wait", words = "s_wait_kmcnt" }
__global__ void k(const float *in, float *out) {
    int x, y;
    asm volatile("s_load_b32 %0, %1, 0x0" : "=&s"(x) : "s"(in));
    asm volatile(IF_FAULT("s_wait_dscnt 0x0", "s_wait_kmcnt 0x0"));
    asm volatile("s_add_co_u32 %0, %1, 1" : "=s"(y) : "s"(x) : "scc"); // HERE
    asm volatile("s_wait_kmcnt 0x0");
    out[threadIdx.x] = (float)y;
}

//: scalar_overwritten = { category = "missing wait", words = "s_wait_kmcnt" }
__global__ void k(const float *in, float *out) {
    int x;
    asm volatile("s_load_b32 %0, %1, 0x0" : "=&s"(x) : "s"(in));
    asm volatile(IF_FAULT("", "s_wait_idle"));
    asm volatile("s_mov_b32 %0, 1" : "+s"(x)); // HERE
    asm volatile("s_wait_kmcnt 0x0" : "+s"(x));
    out[threadIdx.x] = (float)x;
}

//: joint_wait_for_loads_alone = { category = "missing wait", words = "s_wait_dscnt" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x];
    float x, y;
    unsigned at = (unsigned)(size_t)(LDS float *)&s[threadIdx.x];
    asm volatile("ds_load_b32 %0, %1" : "=&v"(x) : "v"(at) : "memory");
    asm volatile(IF_FAULT("s_wait_loadcnt_dscnt 0x3f", "s_wait_loadcnt_dscnt 0x3f00"));
    asm volatile("v_add_f32 %0, %1, %1" : "=v"(y) : "v"(x)); // HERE
    asm volatile("s_wait_dscnt 0x0");
    out[threadIdx.x] = y;
}

//: flat_load_from_lds = { category = "missing wait", words = "s_wait_dscnt" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x];
    float x, y, *from = &s[threadIdx.x];
    asm volatile("s_wait_idle\n\tflat_load_b32 %0, %1" : "=&v"(x) : "v"(from) : "memory");
    asm volatile(IF_FAULT("s_wait_loadcnt 0x0", "s_wait_loadcnt_dscnt 0x0"));
    asm volatile("v_add_f32 %0, %1, %1" : "=v"(y) : "v"(x)); // HERE
    asm volatile("s_wait_dscnt 0x0");
    out[threadIdx.x] = y;
}

//: flat_loads_in_order = { category = "missing wait", words = "s_wait_dscnt" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x];
    float x, z, y, *from = &s[threadIdx.x];
    asm volatile("s_wait_idle\n\tflat_load_b32 %0, %2\n\tflat_load_b32 %1, %3\n\ts_wait_loadcnt_dscnt 0x1"
                 : "=&v"(x), "=&v"(z) : "v"(from), "v"(IF_FAULT(from, (float *)in + threadIdx.x)) : "memory");
    asm volatile("v_add_f32 %0, %1, %1" : "=&v"(y) : "v"(IF_FAULT(z, x))); // HERE
    asm volatile("s_wait_loadcnt_dscnt 0x0" : "+v"(x), "+v"(z));
    out[threadIdx.x] = y + x + z;
}

//: signal_before_the_wait = { category = "missing wait", words = "after a barrier" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    unsigned at = (unsigned)(size_t)(LDS float *)&s[threadIdx.x];
    asm volatile("ds_store_b32 %0, %1\n\t"
                 IF_FAULT("s_barrier_signal -1\n\ts_wait_dscnt 0x0", "s_wait_dscnt 0x0\n\ts_barrier_signal -1")
                 "\n\ts_barrier_wait -1" : : "v"(at), "v"(in[threadIdx.x]) : "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 32]; // HERE
}

//: lds_written_behind_the_signal = { category = "race", words = "shared memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    unsigned at = (unsigned)(size_t)(LDS float *)&s[threadIdx.x];
    float x = in[threadIdx.x];
    asm volatile(IF_FAULT("s_barrier_signal -1\n\tds_store_b32 %0, %1\n\ts_wait_dscnt 0x0",
                          "ds_store_b32 %0, %1\n\ts_wait_dscnt 0x0\n\ts_barrier_signal -1")
                 "\n\ts_barrier_wait -1" : : "v"(at), "v"(x) : "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 32]; // HERE
}

//: lds_read_behind_the_signal = { category = "race", words = "shared memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    unsigned from = (unsigned)(size_t)(LDS float *)&s[threadIdx.x ^ 32];
    float x;
    asm volatile(IF_FAULT("s_barrier_signal -1\n\tds_load_b32 %0, %1\n\ts_wait_dscnt 0x0",
                          "ds_load_b32 %0, %1\n\ts_wait_dscnt 0x0\n\ts_barrier_signal -1")
                 "\n\ts_barrier_wait -1" : "=&v"(x) : "v"(from) : "memory");
    s[threadIdx.x] = x + 1; // HERE
    out[threadIdx.x] = x;
}

//: memory_written_behind_the_signal = { category = "race", words = "global memory" }
__global__ void k(const float *in, float *out) {
    unsigned at = threadIdx.x * 4;
    float x = in[threadIdx.x];
    asm volatile(IF_FAULT("s_barrier_signal -1\n\tglobal_store_b32 %0, %1, %2\n\ts_wait_storecnt 0x0",
                          "global_store_b32 %0, %1, %2\n\ts_wait_storecnt 0x0\n\ts_barrier_signal -1")
                 "\n\ts_barrier_wait -1" : : "v"(at), "v"(x), "s"(out) : "memory");
    out[threadIdx.x + 64] = out[threadIdx.x ^ 32]; // HERE
}

//: flag_stored_before_the_data_is = { category = "race", words = "work-groups of a launch", grid = 2 }
__global__ void k(const float *in, float *out) {
    int *f = (int *)out + 1024;
    if (blockIdx.x == 0) {
        unsigned at = threadIdx.x * 4, flag = 4096;
        float x = in[threadIdx.x];
        asm volatile("global_store_b32 %0, %1, %2" : : "v"(at), "v"(x), "s"(out) : "memory");
        asm volatile(IF_FAULT("s_wait_loadcnt 0x0", "s_wait_storecnt 0x0\n\ts_barrier_signal -1\n\ts_barrier_wait -1")
                     ::: "memory");
        asm volatile("global_store_b32 %0, %1, %2 scope:SCOPE_DEV" : : "v"(flag), "v"(1), "s"(out) : "memory");
    } else {
        while (__hip_atomic_load(f, __ATOMIC_ACQUIRE, DEVICE) == 0) SLEEP;
        out[threadIdx.x + 64] = out[threadIdx.x]; // HERE
    }
}
