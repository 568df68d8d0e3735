// Small kernels `k(const float *in, float *out)` with one fault if FAULT is defined, and correct ones otherwise.
// seeded.py compiles each section by itself, after the lines before the first one.

#include <hip/hip_runtime.h>
#define LDS __attribute__((address_space(3)))
#define GROUP __HIP_MEMORY_SCOPE_WORKGROUP
#define DEVICE __HIP_MEMORY_SCOPE_AGENT
#define SLEEP __builtin_amdgcn_s_sleep(1)
typedef unsigned int uint4v __attribute__((ext_vector_type(4)));
#ifdef FAULT
#define IF_FAULT(a, b) a
#else
#define IF_FAULT(a, b) b
#endif

//: vmcnt = { category = "missing wait", words = "vmcnt" }
__global__ void k(const float *in, float *out) {
    float x, y;
    unsigned at = threadIdx.x * 4;
    asm volatile("global_load_dword %0, %1, %2" : "=&v"(x) : "v"(at), "s"(in));
    asm volatile(IF_FAULT("", "s_waitcnt vmcnt(0)"));
    asm volatile("v_add_f32 %0, %1, %1" : "=v"(y) : "v"(x)); // HERE
    out[threadIdx.x] = y;
}

//: vmcnt_counts = { category = "missing wait", words = "vmcnt" }
__global__ void k(const float *in, float *out) {
    float a, b, y;
    unsigned at = threadIdx.x * 4;
    asm volatile("global_load_dword %0, %1, %2" : "=&v"(a) : "v"(at), "s"(in));
    asm volatile("global_load_dword %0, %1, %2 offset:256" : "=&v"(b) : "v"(at), "s"(in));
    asm volatile("s_waitcnt vmcnt(1)");
    asm volatile("v_add_f32 %0, %1, %1" : "=v"(y) : "v"(IF_FAULT(b, a))); // HERE
    asm volatile("s_waitcnt vmcnt(0)");
    out[threadIdx.x] = y;
}

//: lgkmcnt = { category = "missing wait", words = "lgkmcnt", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ float s[128];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float x, y;
    unsigned at = (unsigned)(size_t)(LDS float *)&s[threadIdx.x];
    asm volatile("ds_read_b32 %0, %1" : "=&v"(x) : "v"(at));
    asm volatile(IF_FAULT("s_waitcnt lgkmcnt(1)", "s_waitcnt lgkmcnt(0)"));
    asm volatile("v_add_f32 %0, %1, %1" : "=v"(y) : "v"(x)); // HERE
    asm volatile("s_waitcnt lgkmcnt(0)");
    out[threadIdx.x] = y;
}

//: scalar_load_out_of_order = { category = "missing wait", words = "any order" }
__global__ void k(const float *in, float *out) {
    int a, b;
    int y;
    asm volatile("s_load_dword %0, %1, 0x0" : "=&s"(a) : "s"(in));
    asm volatile("s_load_dword %0, %1, 0x4" : "=&s"(b) : "s"(in));
    asm volatile(IF_FAULT("s_waitcnt lgkmcnt(1)", "s_waitcnt lgkmcnt(0)"));
    asm volatile("s_add_u32 %0, %1, 1" : "=s"(y) : "s"(a) : "scc"); // HERE
    asm volatile("s_waitcnt lgkmcnt(0)");
    out[threadIdx.x] = (float)(y + b);
}

//: load_to_lds_same_wave = { category = "missing wait", words = "load to LDS", targets = "loads to LDS" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    unsigned at = threadIdx.x * 4;
    unsigned base = __builtin_amdgcn_readfirstlane((unsigned)(size_t)(LDS float *)&s[0]);
    asm volatile("s_mov_b32 m0, %2\n\ts_nop 0\n\tglobal_load_lds_dword %0, %1"
                 : : "v"(at), "s"(in), "s"(base) : "memory");
    asm volatile(IF_FAULT("", "s_waitcnt vmcnt(0)") ::: "memory");
    out[threadIdx.x] = s[threadIdx.x]; // HERE
}

//: load_to_lds_published = { category = "missing wait", words = "after a barrier", block = 128, targets = "loads to LDS" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[128];
    unsigned at = threadIdx.x * 4;
    unsigned base = __builtin_amdgcn_readfirstlane((unsigned)(size_t)(LDS float *)&s[threadIdx.x & 64]);
    asm volatile("s_mov_b32 m0, %2\n\ts_nop 0\n\tglobal_load_lds_dword %0, %1"
                 : : "v"(at), "s"(in), "s"(base) : "memory");
    asm volatile(IF_FAULT("s_barrier", "s_waitcnt vmcnt(0)\n\ts_barrier") ::: "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 64]; // HERE
}

//: lds_write_published = { category = "missing wait", words = "after a barrier", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ float s[128];
    unsigned at = (unsigned)(size_t)(LDS float *)&s[threadIdx.x];
    asm volatile("ds_write_b32 %0, %1" : : "v"(at), "v"(in[threadIdx.x]) : "memory");
    asm volatile(IF_FAULT("s_barrier", "s_waitcnt lgkmcnt(0)\n\ts_barrier") ::: "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 64]; // HERE
}

//: lds_overwritten_before_read = { category = "missing wait", words = "before its read", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ float s[128];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float x, y = in[threadIdx.x + 128];
    unsigned from = (unsigned)(size_t)(LDS float *)&s[threadIdx.x ^ 64];
    unsigned to = (unsigned)(size_t)(LDS float *)&s[threadIdx.x];
    asm volatile("s_waitcnt vmcnt(0)\n\tds_read_b32 %0, %1\n\t"
                 IF_FAULT("s_barrier", "s_waitcnt lgkmcnt(0)\n\ts_barrier")
                 : "=&v"(x) : "v"(from) : "memory");
    asm volatile("ds_write_b32 %0, %1" : : "v"(to), "v"(y) : "memory"); // HERE
    asm volatile("s_waitcnt lgkmcnt(0)" : "+v"(x) : : "memory");
    out[threadIdx.x] = x;
}

//: lds_overwritten_by_a_load_before_read = { category = "missing wait", words = "before its read", block = 128, targets = "loads to LDS" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[128];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float x;
    unsigned at = threadIdx.x * 4;
    unsigned from = (unsigned)(size_t)(LDS float *)&s[threadIdx.x ^ 64];
    unsigned base = __builtin_amdgcn_readfirstlane((unsigned)(size_t)(LDS float *)&s[threadIdx.x & 64]);
    asm volatile("ds_read_b32 %0, %1\n\t"
                 IF_FAULT("s_barrier", "s_waitcnt lgkmcnt(0)\n\ts_barrier")
                 : "=&v"(x) : "v"(from) : "memory");
    asm volatile("s_mov_b32 m0, %0\n\ts_nop 0" : : "s"(base));
    asm volatile("global_load_lds_dword %0, %1" : : "v"(at), "s"(in + 128) : "memory"); // HERE
    asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" : "+v"(x) : : "memory");
    out[threadIdx.x] = x;
}

//: lds_overwritten_by_a_load_of_the_same_wave = { category = "missing wait", words = "same wave's read", targets = "loads to LDS" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float x;
    unsigned at = threadIdx.x * 4;
    unsigned from = (unsigned)(size_t)(LDS float *)&s[threadIdx.x];
    unsigned base = __builtin_amdgcn_readfirstlane((unsigned)(size_t)(LDS float *)&s[0]);
    asm volatile("s_mov_b32 m0, %1\n\tds_read_b32 %0, %2" : "=&v"(x) : "s"(base), "v"(from) : "memory");
    asm volatile(IF_FAULT("", "s_waitcnt lgkmcnt(0)"));
    asm volatile("global_load_lds_dword %0, %1" : : "v"(at), "s"(in + 64) : "memory"); // HERE
    asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" : "+v"(x) : : "memory");
    out[threadIdx.x] = x;
}

//: lds_write_overwritten_by_a_load_of_the_same_wave = { category = "missing wait", words = "same wave's write", targets = "loads to LDS" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    unsigned at = threadIdx.x * 4;
    float y = in[threadIdx.x];
    unsigned to = (unsigned)(size_t)(LDS float *)&s[threadIdx.x];
    unsigned base = __builtin_amdgcn_readfirstlane((unsigned)(size_t)(LDS float *)&s[0]);
    asm volatile("s_mov_b32 m0, %0\n\tds_write_b32 %1, %2" : : "s"(base), "v"(to), "v"(y) : "memory");
    asm volatile(IF_FAULT("", "s_waitcnt lgkmcnt(0)"));
    asm volatile("global_load_lds_dword %0, %1" : : "v"(at), "s"(in + 64) : "memory"); // HERE
    asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" : : : "memory");
    out[threadIdx.x] = s[threadIdx.x];
}

//: lds_overwritten_before_write = { category = "missing wait", words = "before its write", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ float s[128];
    float x = in[threadIdx.x], y = in[threadIdx.x + 128];
    unsigned first = (unsigned)(size_t)(LDS float *)&s[threadIdx.x];
    unsigned second = (unsigned)(size_t)(LDS float *)&s[threadIdx.x ^ 64];
    asm volatile("s_waitcnt vmcnt(0)\n\tds_write_b32 %0, %1\n\t"
                 IF_FAULT("s_barrier", "s_waitcnt lgkmcnt(0)\n\ts_barrier")
                 : : "v"(first), "v"(x) : "memory");
    asm volatile("ds_write_b32 %0, %1" : : "v"(second), "v"(y) : "memory"); // HERE
    asm volatile("s_waitcnt lgkmcnt(0)" : : : "memory");
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

//: load_to_lds_overwritten = { category = "missing wait", words = "vmcnt before the barrier", block = 128, targets = "loads to LDS" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[128];
    float y = (float)threadIdx.x;
    unsigned at = threadIdx.x * 4;
    unsigned to = (unsigned)(size_t)(LDS float *)&s[threadIdx.x ^ 64];
    unsigned base = __builtin_amdgcn_readfirstlane((unsigned)(size_t)(LDS float *)&s[threadIdx.x & 64]);
    asm volatile("s_waitcnt vmcnt(0)\n\ts_mov_b32 m0, %2\n\ts_nop 0\n\tglobal_load_lds_dword %0, %1"
                 : : "v"(at), "s"(in), "s"(base) : "memory");
    asm volatile(IF_FAULT("s_barrier", "s_waitcnt vmcnt(0)\n\ts_barrier") ::: "memory");
    asm volatile("ds_write_b32 %0, %1" : : "v"(to), "v"(y) : "memory"); // HERE
    asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" : : : "memory");
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

//: load_to_lds_overwritten_by_the_same_wave = { category = "missing wait", words = "load to LDS", targets = "loads to LDS" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    float y = (float)threadIdx.x;
    unsigned at = threadIdx.x * 4;
    unsigned to = (unsigned)(size_t)(LDS float *)&s[threadIdx.x];
    unsigned base = __builtin_amdgcn_readfirstlane((unsigned)(size_t)(LDS float *)&s[0]);
    asm volatile("s_waitcnt vmcnt(0)\n\ts_mov_b32 m0, %2\n\ts_nop 0\n\tglobal_load_lds_dword %0, %1"
                 : : "v"(at), "s"(in), "s"(base) : "memory");
    asm volatile(IF_FAULT("", "s_waitcnt vmcnt(0)"));
    asm volatile("ds_write_b32 %0, %1" : : "v"(to), "v"(y) : "memory"); // HERE
    asm volatile("s_waitcnt vmcnt(0) lgkmcnt(0)" : : : "memory");
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x];
}

//: lds_race_of_one_dword_of_four = { category = "race", words = "shared memory", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ alignas(16) uint4v s[128];
    const uint4v *given = (const uint4v *)in;
    s[threadIdx.x] = given[threadIdx.x];
    IF_FAULT(__builtin_amdgcn_wave_barrier(), __syncthreads());
    out[threadIdx.x] = ((volatile float *)s)[4 * (threadIdx.x ^ 64) + 2]; // HERE
}

//: lds_four_dwords_written_over_a_read_of_one = { category = "race", words = "shared memory", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ alignas(16) uint4v s[128];
    const uint4v *given = (const uint4v *)in;
    s[threadIdx.x] = given[threadIdx.x];
    __syncthreads();
    const float x = ((volatile float *)s)[4 * (threadIdx.x ^ 64) + 3]; // HERE
    IF_FAULT(__builtin_amdgcn_wave_barrier(), __syncthreads());
    s[threadIdx.x] = given[threadIdx.x] + 1;
    out[threadIdx.x] = x + ((volatile float *)s)[4 * threadIdx.x + 3];
}

//: lds_read_after_write = { category = "race", words = "shared memory", block = 256 }
__global__ void k(const float *in, float *out) {
    __shared__ float s[256];
    s[threadIdx.x] = in[threadIdx.x];
    IF_FAULT(__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront"), __syncthreads());
    out[threadIdx.x] = s[255 - threadIdx.x]; // HERE
}

//: lds_write_after_read = { category = "race", words = "shared memory", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ float s[128];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float x = s[threadIdx.x ^ 64];
    IF_FAULT(__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront"), __syncthreads());
    s[threadIdx.x] = x + 1.0f; // HERE
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x ^ 64];
}

//: lds_write_after_write = { category = "race", words = "shared memory", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ float s[128];
    s[threadIdx.x & IF_FAULT(63, 127)] = in[threadIdx.x]; // HERE
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x & 63];
}

//: global_in_group = { category = "race", words = "global memory", block = 128 }
__global__ void k(const float *in, float *out) {
    out[threadIdx.x] = in[threadIdx.x];
    IF_FAULT(__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront"), __syncthreads());
    float x = out[threadIdx.x ^ 64]; // HERE
    __syncthreads();
    out[threadIdx.x] = x + 1.0f;
}

//: global_between_groups = { category = "race", words = "work-groups of a launch", grid = 4 }
__global__ void k(const float *in, float *out) {
    unsigned i = blockIdx.x * 64 + threadIdx.x;
    out[IF_FAULT(threadIdx.x, i)] = in[i]; // HERE
}

//: global_read_by_groups_before_the_last = { category = "race", words = "work-groups of a launch", grid = 4, elements = 512 }
__global__ void k(const float *in, float *out) {
    float x = out[threadIdx.x];
    if (blockIdx.x == gridDim.x - 1)
        out[threadIdx.x + IF_FAULT(0, 64)] = x + in[threadIdx.x + 64]; // HERE
    else
        out[128 + blockIdx.x * 64 + threadIdx.x] = x;
}

//: global_read_beside_an_own_read = { category = "race", words = "global memory", block = 128, elements = 256 }
__global__ void k(const float *in, float *out) {
    unsigned wave = threadIdx.x / 64;
    float x = out[wave];
    IF_FAULT(__builtin_amdgcn_wave_barrier(), __syncthreads());
    if (threadIdx.x == 64)
        out[0] = x + in[1]; // HERE
    out[64 + threadIdx.x] = x;
}

//: lds_read_by_waves_before_the_last = { category = "race", words = "shared memory", block = 256, elements = 256 }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    if (threadIdx.x < 64) s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    float x = ((volatile float *)s)[threadIdx.x & 63];
    IF_FAULT(__builtin_amdgcn_wave_barrier(), __syncthreads());
    if (threadIdx.x >= 192)
        s[threadIdx.x & 63] = x + 1; // HERE
    __syncthreads();
    out[threadIdx.x] = x + s[63 - (threadIdx.x & 63)];
}

//: global_sum_without_atomic = { category = "race", words = "global memory", grid = 4 }
__global__ void k(const float *in, float *out) {
    unsigned i = blockIdx.x * 64 + threadIdx.x;
#ifdef FAULT
    out[0] += in[i]; // HERE
#else
    unsafeAtomicAdd(&out[0], in[i]);
#endif
}

//: store_after_an_own_atomic = { category = "race", words = "work-groups of a launch", block = 256, grid = 3, targets = "loads to LDS" }
__global__ void k(const float *in, float *out) {
    int *sum = (int *)out;
    if (threadIdx.x < 16) atomicAdd(&sum[threadIdx.x], 1);
    if (threadIdx.x == 0 && blockIdx.x == 1) IF_FAULT(sum[3] = 7, atomicExch(&sum[3], 7)); // HERE
}

//: store_between_others_atomics = { category = "race", words = "work-groups of a launch", grid = 2 }
__global__ void k(const float *in, float *out) {
    int *sum = (int *)out;
    if (threadIdx.x < 8 && blockIdx.x == 0) IF_FAULT(sum[threadIdx.x] = 7, atomicExch(&sum[threadIdx.x], 7));
    if (threadIdx.x < 16) atomicAdd(&sum[threadIdx.x], 1); // HERE
}

//: load_after_an_own_atomic = { category = "race", words = "work-groups of a launch", grid = 2 }
__global__ void k(const float *in, float *out) {
    int *sum = (int *)out;
    atomicAdd(&sum[threadIdx.x], 1);
    int *own = &sum[threadIdx.x];
    const int mine = IF_FAULT(*own, __hip_atomic_load(own, __ATOMIC_RELAXED, DEVICE)); // HERE
    out[1024 + 64 * blockIdx.x + threadIdx.x] = (float)mine;
}

//: scalar_load_between_groups = { category = "race", words = "work-groups of a launch", grid = 4 }
__global__ void k(const float *in, float *out) {
    const float *from = IF_FAULT(out, in);
    int x;
    out[blockIdx.x * 16] = 1.0f + blockIdx.x;
    asm volatile("s_load_dword %0, %1, 0x0" : "=s"(x) : "s"(from) : "memory"); // HERE
    asm volatile("s_waitcnt lgkmcnt(0)" : "+s"(x));
    out[64 + blockIdx.x * 64 + threadIdx.x] = (float)x;
}

//: scalar_load_before_a_store = { category = "race", words = "writes what wave 0 of work-group (0, 0, 0) read", grid = 4 }
typedef int i4 __attribute__((ext_vector_type(4)));
__global__ void k(const float *in, float *out) {
    unsigned long long p = (unsigned long long)(blockIdx.x == 0 ? IF_FAULT(out, in) : in);
    i4 r = {(int)p, (int)(p >> 32) & 0xffff, 16384, 0x00020000};
    int x;
    asm volatile("s_buffer_load_dword %0, %1, 0x4\n\ts_waitcnt lgkmcnt(0)" : "=s"(x) : "s"(r) : "memory");
    out[64 + blockIdx.x * 64 + threadIdx.x] = (float)x;
    if (blockIdx.x == 1) out[blockIdx.x] = 1.0f; // HERE
}

//: scalar_load_in_group = { category = "race", words = "__syncthreads()", block = 128 }
__global__ void k(const float *in, float *out) {
    int x;
    out[threadIdx.x] = in[threadIdx.x] + 1.0f;
    IF_FAULT(, __syncthreads());
    asm volatile("s_load_dword %0, %1, 0x0" : "=s"(x) : "s"(out) : "memory"); // HERE
    asm volatile("s_waitcnt lgkmcnt(0)" : "+s"(x));
    out[threadIdx.x + 128] = (float)x;
}

//: shuffle_from_a_lane_that_is_off = { category = "uninitialised", words = "a lane that is off" }
__global__ void k(const float *in, float *out) {
    float x = in[threadIdx.x];
    if (threadIdx.x < 32) {
        x = x + __shfl_xor(x, IF_FAULT(threadIdx.x == 5 ? 32 : 1, 1));
        out[threadIdx.x] = x; // HERE
    }
    // The ISA has 0 for what this takes from a lane that is off.
    if (threadIdx.x % 2) out[threadIdx.x + 64] = (float)__builtin_amdgcn_ds_swizzle((int)x, 0x041f);
}

//: swizzle_from_an_undefined_lane = { category = "uninitialised", words = "a register that was never written, first used by `ds_swizzle_b32", targets = "gfx942" }
__global__ void k(const float *in, float *out) {
    float x = in[threadIdx.x], y;
    if (threadIdx.x > 0) asm volatile("v_mov_b32 v77, %0" ::"v"(x) : "v77");
    asm volatile("ds_swizzle_b32 %0, v77 offset:swizzle(SWAP,1)\n\ts_waitcnt lgkmcnt(0)" : "=v"(y)::"v77");
    if (threadIdx.x == IF_FAULT(1, 3)) out[threadIdx.x] = y; // HERE
}

//: register_stored = { category = "uninitialised", words = "stored" }
__global__ void k(const float *in, float *out) {
    float x = in[threadIdx.x], y;
    IF_FAULT(, asm volatile("v_mov_b32 v77, 1.0" ::: "v77"));
    asm volatile("v_add_f32 %0, %1, v77" : "=v"(y) : "v"(x) : "v77");
    out[threadIdx.x] = y * 2.0f; // HERE
}

//: accumulator_stored = { category = "uninitialised", words = "stored" }
__global__ void k(const float *in, float *out) {
    float x = in[threadIdx.x], y;
    IF_FAULT(, asm volatile("v_mov_b32 v77, 0" ::: "v77"));
    asm volatile("v_cvt_pkaccum_u8_f32 v77, %1, 0\nv_mov_b32 %0, v77" : "=v"(y) : "v"(x) : "v77");
    out[threadIdx.x] = y; // HERE
}

//: lds_stored = { category = "uninitialised", words = "stored", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ float s[128];
    if (threadIdx.x != IF_FAULT(5, 500)) s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[threadIdx.x ^ 64] + 1.0f; // HERE
}

//: scratch_stored = { category = "uninitialised", words = "stored" }
__global__ void k(const float *in, float *out) {
    volatile float a[16];
    int n = (int)in[0];
    for (int i = 0; i < IF_FAULT(15, 16); i++) a[i ^ n] = in[i];
    out[threadIdx.x] = a[15 ^ n]; // HERE
}

//: spilled = { category = "uninitialised", words = "stored", targets = "loads to LDS" }
__global__ void k(const float *in, float *out) {
    volatile float a[4];
    a[(int)in[0] & 3] = in[threadIdx.x];
    float x;
    IF_FAULT(, asm volatile("v_mov_b32 v77, 1.0" ::: "v77"));
    asm volatile("scratch_store_dword off, v77, off offset:4\n\ts_waitcnt vmcnt(0)" ::: "v77", "memory");
    asm volatile("scratch_load_dword %0, off, off offset:4\n\ts_waitcnt vmcnt(0)" : "=v"(x) : : "memory");
    out[threadIdx.x] = x + 1.0f; // HERE
}

//: matrix_stored = { category = "uninitialised", words = "stored" }
typedef float f4 __attribute__((ext_vector_type(4)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
__global__ void k(const float *in, float *out) {
    h4 a = {(_Float16)in[threadIdx.x], 0, 0, 0};
    f4 c;
    IF_FAULT(asm volatile("" : "=v"(c)), c = (f4){0});
    c = __builtin_amdgcn_mfma_f32_16x16x16f16(a, a, c, 0, 0, 0);
    out[threadIdx.x] = c[0] + c[1] + c[2] + c[3]; // HERE
}

//: branch = { category = "uninitialised", words = "branch" }
__global__ void k(const float *in, float *out) {
    int n;
    asm volatile("s_mov_b32 %0, " IF_FAULT("s77", "3") : "=s"(n) : : "s77");
    if (n == 3) { // HERE
        out[threadIdx.x] = in[threadIdx.x];
        __builtin_amdgcn_s_sleep(1);
    }
}

//: lanes = { category = "uninitialised", words = "which lanes" }
__global__ void k(const float *in, float *out) {
    float x;
    IF_FAULT(asm volatile("" : "=v"(x)), x = in[threadIdx.x]);
    if (x > 0.5f) { // HERE
        out[threadIdx.x] = in[threadIdx.x];
        __builtin_amdgcn_s_sleep(1);
    }
}

//: address = { category = "uninitialised", words = "address" }
__global__ void k(const float *in, float *out) {
    unsigned n;
    IF_FAULT(asm volatile("" : "=v"(n)), n = threadIdx.x);
    out[threadIdx.x] = in[n & 63]; // HERE
}

//: scalar_address = { category = "uninitialised", words = "address" }
__global__ void k(const float *in, float *out) {
    float x;
    asm volatile(IF_FAULT("s_nop 0", "s_mov_b64 s[90:91], %0") : : "s"(in) : "s90", "s91");
    asm volatile("s_load_dword %0, s[90:91], 0x0\n\ts_waitcnt lgkmcnt(0)" : "=s"(x) : : "memory"); // HERE
    out[threadIdx.x] = x;
}

//: global_end = { category = "out of bounds", words = "past the end", grid = 4, elements = 256 }
__global__ void k(const float *in, float *out) {
    out[blockIdx.x * 64 + threadIdx.x + IF_FAULT(1, 0)] = in[threadIdx.x]; // HERE
}

//: several_ends = { category = "out of bounds", words = " bytes", grid = 4, elements = 256 }
typedef int i4 __attribute__((ext_vector_type(4)));
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    unsigned i = blockIdx.x * 64 + threadIdx.x;
    float x = in[i + IF_FAULT(1, 0)]; // HERE
    unsigned at = (unsigned)(size_t)(LDS float *)&s[0] + threadIdx.x * 4;
    asm volatile("ds_write_b32 %0, %1 offset:" IF_FAULT("4", "0") : : "v"(at), "v"(x) : "memory"); // HERE
    asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
    if (blockIdx.x == 1) x += in[IF_FAULT(1000, 100)]; // HERE
    unsafeAtomicAdd(out + i + IF_FAULT(2, 0), x); // HERE
    if (threadIdx.x < 32) out[i + IF_FAULT(256, 0)] += x; // HERE
    i4 r = {(int)(size_t)out, (int)((size_t)out >> 32), 4096, 0x00020000};
    unsigned to = i * 4 + IF_FAULT(1020, 0);
    asm volatile("s_nop 4");
    asm volatile("buffer_store_dword %0, %1, %2, 0 offen" : : "v"(x), "v"(to), "s"(r) : "memory"); // HERE
}

//: buffer_offset_wraps = { category = "out of bounds", words = "the buffer offset wraps: -256 in the register and 256 in the instruction" }
__global__ void k(const float *in, float *out) {
    __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc((void *)in, 0, 4096, 0x00020000);
    int at = 4 * (int)threadIdx.x - IF_FAULT(256, 0);
    asm("" : "+v"(at));
    const unsigned x = __builtin_amdgcn_raw_buffer_load_b32(r, at + 256, 0, 0); // HERE
    out[threadIdx.x] = __builtin_bit_cast(float, x);
}

//: buffer_store_wraps = { category = "out of bounds", words = "nothing is written" }
__global__ void k(const float *in, float *out) {
    __amdgpu_buffer_rsrc_t r = __builtin_amdgcn_make_buffer_rsrc((void *)out, 0, 4096, 0x00020000);
    int at = 4 * (int)threadIdx.x - IF_FAULT(4, 0);
    asm("" : "+v"(at));
    __builtin_amdgcn_raw_buffer_store_b32(1u, r, at + 4, 0, 0); // HERE
}

//: lds_end = { category = "out of bounds", words = "shared memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    unsigned at = (unsigned)(size_t)(LDS float *)&s[0] + threadIdx.x * 4;
    float x = in[threadIdx.x];
    asm volatile("ds_write_b32 %0, %1 offset:" IF_FAULT("4", "0") : : "v"(at), "v"(x) : "memory"); // HERE
    asm volatile("s_waitcnt lgkmcnt(0)");
    out[threadIdx.x] = s[threadIdx.x];
}

//: lds_alignment = { category = "misaligned", words = "multiple of 16" }
__global__ void k(const float *in, float *out) {
    __shared__ __attribute__((aligned(16))) float s[256];
    for (int i = 0; i < 4; i++) s[i * 64 + threadIdx.x] = in[i * 64 + threadIdx.x];
    __syncthreads();
    uint4v x;
    unsigned at = (unsigned)(size_t)(LDS float *)&s[threadIdx.x / 2 * 4 + IF_FAULT(1, 0)];
    asm volatile("ds_read_b128 %0, %1\n\ts_waitcnt lgkmcnt(0)" : "=v"(x) : "v"(at)); // HERE
    out[threadIdx.x] = (float)(x[0] + x[3]);
}

//: lds_atomic_then_plain_read = { category = "race", words = "writes what wave 0 read", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    atomicAdd(&n, in[threadIdx.x] > 4.0f); // HERE
    IF_FAULT(__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront"), __syncthreads());
    out[threadIdx.x] = n;
}

//: lds_atomic_after_a_plain_write = { category = "race", words = "shared memory", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    IF_FAULT(__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront"), __syncthreads());
    atomicAdd(&n, in[threadIdx.x] > 4.0f); // HERE
    __syncthreads();
    out[threadIdx.x] = n;
}

//: lds_flag_before_a_load_to_lds = { category = "race", words = "shared memory", block = 128, targets = "loads to LDS" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    __shared__ int f;
    if (threadIdx.x == 0) f = 0;
    __syncthreads();
    if (threadIdx.x < 64) {
        unsigned at = threadIdx.x * 4;
        unsigned base = __builtin_amdgcn_readfirstlane((unsigned)(size_t)(LDS float *)&s[0]);
        asm volatile("s_mov_b32 m0, %2\n\ts_nop 0\n\tglobal_load_lds_dword %0, %1"
                     : : "v"(at), "s"(in), "s"(base) : "memory");
        asm volatile(IF_FAULT("", "s_waitcnt vmcnt(0)") ::: "memory");
        __hip_atomic_store(&f, 1, __ATOMIC_RELAXED, GROUP);
    } else {
        while (__hip_atomic_load(&f, __ATOMIC_ACQUIRE, GROUP) == 0) SLEEP;
        out[threadIdx.x] = s[threadIdx.x ^ 64]; // HERE
    }
}

//: lds_read_before_the_flag = { category = "race", words = "shared memory", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    __shared__ int f;
    if (threadIdx.x == 0) f = 0;
    if (threadIdx.x < 64) s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    if (threadIdx.x < 64) {
        IF_FAULT(, while (__hip_atomic_fetch_add(&f, 0, __ATOMIC_ACQUIRE, GROUP) != 64));
        s[threadIdx.x] = 1.0f;
    } else {
        out[threadIdx.x] = s[threadIdx.x ^ 64]; // HERE
        __hip_atomic_fetch_add(&f, 1, __ATOMIC_RELEASE, GROUP);
    }
}

//: global_flag_before_lds_is_written = { category = "race", words = "shared memory", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    int *f = (int *)out + 1024;
    unsigned at = (unsigned)(size_t)(LDS float *)&s[threadIdx.x & 63];
    if (threadIdx.x < 64) {
        asm volatile("ds_write_b32 %0, %1" : : "v"(at), "v"(in[threadIdx.x]) : "memory");
        asm volatile(IF_FAULT("", "s_waitcnt lgkmcnt(0)") ::: "memory");
        __hip_atomic_store(f, 1, __ATOMIC_RELAXED, GROUP);
        asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
    } else {
        while (__hip_atomic_fetch_add(f, 0, __ATOMIC_ACQUIRE, GROUP) == 0);
        out[threadIdx.x] = s[threadIdx.x ^ 64]; // HERE
    }
}

//: data_after_the_flag = { category = "race", words = "shared memory", block = 128 }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    __shared__ int f;
    if (threadIdx.x == 0) f = 0;
    __syncthreads();
    if (threadIdx.x < 64) {
        IF_FAULT(, s[threadIdx.x] = in[threadIdx.x]);
        __hip_atomic_store(&f, 1, __ATOMIC_RELEASE, GROUP);
        IF_FAULT(s[threadIdx.x] = in[threadIdx.x], );
    } else {
        while (__hip_atomic_load(&f, __ATOMIC_ACQUIRE, GROUP) == 0) SLEEP;
        out[threadIdx.x] = s[threadIdx.x ^ 64]; // HERE
    }
}

//: device_flag_without_write_back = { category = "race", words = "work-groups of a launch", grid = 2 }
__global__ void k(const float *in, float *out) {
    int *f = (int *)out + 1024;
    if (blockIdx.x == 0) {
        out[threadIdx.x] = in[threadIdx.x];
        __hip_atomic_store(f, 1, IF_FAULT(__ATOMIC_RELAXED, __ATOMIC_RELEASE), DEVICE);
    } else {
        while (__hip_atomic_load(f, __ATOMIC_ACQUIRE, DEVICE) == 0) SLEEP;
        out[threadIdx.x + 64] = out[threadIdx.x]; // HERE
    }
}

//: device_flag_without_invalidation = { category = "race", words = "work-groups of a launch", grid = 2 }
__global__ void k(const float *in, float *out) {
    int *f = (int *)out + 1024;
    if (blockIdx.x == 0) {
        out[threadIdx.x] = in[threadIdx.x];
        __hip_atomic_store(f, 1, __ATOMIC_RELEASE, DEVICE);
    } else {
        while (__hip_atomic_load(f, IF_FAULT(__ATOMIC_RELAXED, __ATOMIC_ACQUIRE), DEVICE) == 0) SLEEP;
        out[threadIdx.x + 64] = out[threadIdx.x]; // HERE
    }
}

//: device_flag_without_wait = { category = "race", words = "work-groups of a launch", grid = 2, targets = "loads to LDS" }
__global__ void k(const float *in, float *out) {
    int *f = (int *)out + 1024;
    if (blockIdx.x == 0) {
        unsigned at = threadIdx.x * 4, zero = 4096;
        float x = in[threadIdx.x];
        asm volatile("global_store_dword %0, %1, %2" : : "v"(at), "v"(x), "s"(out) : "memory");
        asm volatile("buffer_wbl2 sc1" IF_FAULT("", "\n\ts_waitcnt vmcnt(0)") ::: "memory");
        asm volatile("global_store_dword %0, %1, %2 sc1" : : "v"(zero), "v"(1), "s"(out) : "memory");
    } else {
        while (__hip_atomic_load(f, __ATOMIC_ACQUIRE, DEVICE) == 0) SLEEP;
        out[threadIdx.x + 64] = out[threadIdx.x]; // HERE
    }
}

//: device_flag_with_the_scope_of_a_group = { category = "race", words = "work-groups of a launch", grid = 2, targets = "loads to LDS" }
#define SCOPE IF_FAULT(GROUP, DEVICE)
__global__ void k(const float *in, float *out) {
    int *f = (int *)out + 1024;
    if (blockIdx.x == 0) {
        out[threadIdx.x] = in[threadIdx.x];
        __hip_atomic_store(f, 1, __ATOMIC_RELEASE, SCOPE);
    } else {
        while (__hip_atomic_load(f, __ATOMIC_ACQUIRE, SCOPE) == 0) SLEEP;
        out[threadIdx.x + 64] = out[threadIdx.x]; // HERE
    }
}

//: missed_barrier = { category = "missed barrier", words = "2 waves that have ended", block = 256 }
__global__ void k(const float *in, float *out) {
    float x = in[threadIdx.x];
    if (threadIdx.x >= IF_FAULT(128, 256)) return;
    __syncthreads(); // HERE
    out[threadIdx.x] = x;
}
