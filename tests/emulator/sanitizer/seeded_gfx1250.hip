// Kernels as in seeded.hip whose faults come from gfx1250's copies between memory and LDS; waves of 32 lanes.

#include <hip/hip_runtime.h>
#define LDS __attribute__((address_space(3)))
#define AT(p) ((unsigned)(size_t)(LDS void *)(p))
#define BARRIER "s_barrier_signal -1\n\ts_barrier_wait -1"
// A named barrier for both waves; M0 has the number of its members in bits 22:16.
#define NAMED "s_barrier_signal 1\n\ts_barrier_wait 1"
#define JOIN                                                                                              \
    if (__builtin_amdgcn_readfirstlane(threadIdx.x) == 0)                                                 \
        asm volatile("s_mov_b32 m0, 0x20001\n\ts_barrier_init m0" : : : "m0", "memory");                  \
    asm volatile(BARRIER "\n\ts_barrier_join 1" ::: "memory");
// All work-groups of a cluster; one wave signals for its work-group.
#define MEET(before, after)                                                                               \
    asm volatile(before BARRIER ::: "memory");                                                            \
    if (__builtin_amdgcn_readfirstlane(threadIdx.x) == 0) asm volatile("s_barrier_signal -3" ::: "memory"); \
    asm volatile("s_barrier_wait -3\n\t" after ::: "memory");
#define STORED "s_wait_storecnt 0x0\n\t"
#define INVALIDATED "global_inv scope:SCOPE_SE\n\ts_wait_loadcnt 0x0"
#ifdef FAULT
#define IF_FAULT(a, b) a
#else
#define IF_FAULT(a, b) b
#endif
typedef int Dwords4 __attribute__((ext_vector_type(4)));
typedef int Dwords8 __attribute__((ext_vector_type(8)));

// A tile of 64 floats in one row, at `memory` and at `lds`; the barrier at `barrier` is told if that is not 0.
__device__ inline void tile(const float *memory, int lds, int barrier, Dwords4 &first, Dwords8 &second) {
    size_t at = (size_t)memory;
    first = Dwords4{1, lds, (int)at, (int)(at >> 32) | 2 << 30};
    second = Dwords8{2 << 16 | (barrier != 0) << 18, 64 << 16 | barrier >> 3, 1 << 16, 64 << 16, 1, 64, 0, 0};
}
#define LOAD_TILE(memory)                                                                        \
    {                                                                                            \
        Dwords4 first;                                                                           \
        Dwords8 second;                                                                          \
        tile(memory, AT(s), 0, first, second);                                                          \
        asm volatile("tensor_load_to_lds %0, %1" : : "s"(first), "s"(second) : "memory");        \
    }

//: copy_read_too_early = { category = "missing wait", words = "s_wait_asynccnt" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    asm volatile("global_load_async_to_lds_b32 %0, %1, off"
                 : : "v"(AT(&s[threadIdx.x])), "v"(in + threadIdx.x) : "memory");
    asm volatile(IF_FAULT("s_wait_loadcnt 0x0", "s_wait_asynccnt 0x0") ::: "memory");
    out[threadIdx.x] = s[threadIdx.x]; // HERE
    asm volatile("s_wait_asynccnt 0x0" ::: "memory");
}

//: second_copy_read_too_early = { category = "missing wait", words = "s_wait_asynccnt" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[128];
    asm volatile("global_load_async_to_lds_b32 %0, %1, off\n\t"
                 "global_load_async_to_lds_b32 %0, %1, off offset:256\n\ts_wait_asynccnt 0x1"
                 : : "v"(AT(&s[threadIdx.x])), "v"(in + threadIdx.x) : "memory");
    out[threadIdx.x] = s[threadIdx.x + IF_FAULT(64, 0)]; // HERE
    asm volatile("s_wait_asynccnt 0x0" ::: "memory");
}

//: copy_of_another_wave = { category = "missing wait", words = "s_wait_asynccnt before the barrier" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    asm volatile("global_load_async_to_lds_b32 %0, %1, off\n\t"
                 IF_FAULT(BARRIER, "s_wait_asynccnt 0x0\n\t" BARRIER)
                 : : "v"(AT(&s[threadIdx.x])), "v"(in + threadIdx.x) : "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 32]; // HERE
    asm volatile("s_wait_asynccnt 0x0" ::: "memory");
}

//: waited_for_behind_the_signal = { category = "missing wait", words = "s_wait_asynccnt before the barrier" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    asm volatile("global_load_async_to_lds_b32 %0, %1, off\n\t"
                 IF_FAULT("s_barrier_signal -1\n\ts_wait_asynccnt 0x0", "s_wait_asynccnt 0x0\n\ts_barrier_signal -1")
                 "\n\ts_barrier_wait -1"
                 : : "v"(AT(&s[threadIdx.x])), "v"(in + threadIdx.x) : "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 32]; // HERE
}

//: copies_without_a_barrier = { category = "race", words = "shared memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    asm volatile("global_load_async_to_lds_b32 %0, %1, off\n\ts_wait_asynccnt 0x0\n\t" IF_FAULT("", BARRIER)
                 : : "v"(AT(&s[threadIdx.x])), "v"(in + threadIdx.x) : "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 32]; // HERE
}

//: copy_over_a_read = { category = "missing wait", words = "s_wait_dscnt" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x];
    float x;
    asm volatile("ds_load_b32 %0, %1" : "=&v"(x) : "v"(AT(&s[threadIdx.x])) : "memory");
    asm volatile(IF_FAULT("", "s_wait_dscnt 0x0") : "+v"(x)::"memory");
    asm volatile("global_load_async_to_lds_b32 %0, %1, off" // HERE
                 : : "v"(AT(&s[threadIdx.x])), "v"(in + 64 + threadIdx.x) : "memory");
    asm volatile("s_wait_dscnt 0x0\n\ts_wait_asynccnt 0x0" : "+v"(x)::"memory");
    out[threadIdx.x] = x;
}

//: copy_of_a_write_under_way = { category = "missing wait", words = "s_wait_dscnt" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    float x = in[threadIdx.x];
    asm volatile("ds_store_b32 %0, %1" : : "v"(AT(&s[threadIdx.x])), "v"(x) : "memory");
    asm volatile(IF_FAULT("", "s_wait_dscnt 0x0") ::: "memory");
    asm volatile("global_store_async_from_lds_b32 %0, %1, off" // HERE
                 : : "v"(out + threadIdx.x), "v"(AT(&s[threadIdx.x])) : "memory");
    asm volatile("s_wait_asynccnt 0x0" ::: "memory");
}

//: write_over_a_copy = { category = "missing wait", words = "s_wait_asynccnt" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x];
    asm volatile("s_wait_dscnt 0x0\n\tglobal_store_async_from_lds_b32 %0, %1, off\n\t" IF_FAULT("", "s_wait_asynccnt 0x0")
                 : : "v"(out + threadIdx.x), "v"(AT(&s[threadIdx.x])) : "memory");
    s[threadIdx.x] = in[threadIdx.x] + 1; // HERE
    asm volatile("s_wait_asynccnt 0x0" ::: "memory");
}

//: write_over_a_copy_of_another_wave = { category = "missing wait", words = "s_wait_asynccnt before the barrier" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x];
    asm volatile("s_wait_dscnt 0x0\n\tglobal_store_async_from_lds_b32 %0, %1, off\n\t"
                 IF_FAULT("", "s_wait_asynccnt 0x0\n\t") BARRIER
                 : : "v"(out + threadIdx.x), "v"(AT(&s[threadIdx.x])) : "memory");
    s[threadIdx.x ^ 32] = in[threadIdx.x] + 1; // HERE
    asm volatile("s_wait_asynccnt 0x0" ::: "memory");
}

//: copy_from_unwritten_lds = { category = "uninitialised", words = "is stored to global memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    if (threadIdx.x < IF_FAULT(32, 64)) s[threadIdx.x] = in[threadIdx.x];
    asm volatile("s_wait_dscnt 0x0\n\tglobal_store_async_from_lds_b32 %0, %1, off\n\ts_wait_asynccnt 0x0" // HERE
                 : : "v"(out + threadIdx.x), "v"(AT(&s[threadIdx.x])) : "memory");
}

//: tile_read_too_early = { category = "missing wait", words = "s_wait_tensorcnt before the barrier" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    if (__builtin_amdgcn_readfirstlane(threadIdx.x) == 0) {
        LOAD_TILE(in)
        asm volatile(IF_FAULT("s_wait_asynccnt 0x0", "s_wait_tensorcnt 0x0") ::: "memory");
    }
    asm volatile(BARRIER : : "v"(AT(s)) : "memory");
    out[threadIdx.x] = s[threadIdx.x]; // HERE
    asm volatile("s_wait_tensorcnt 0x0" ::: "memory");
}

//: tile_without_a_barrier = { category = "race", words = "shared memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    if (__builtin_amdgcn_readfirstlane(threadIdx.x) == 0) {
        LOAD_TILE(in)
        asm volatile("s_wait_tensorcnt 0x0" : : "v"(AT(s)) : "memory");
    }
    asm volatile(IF_FAULT("", BARRIER) ::: "memory");
    out[threadIdx.x] = s[threadIdx.x]; // HERE
}

//: tile_stored_too_early = { category = "missing wait", words = "s_wait_dscnt" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    Dwords4 first;
    Dwords8 second;
    tile(out, AT(s), 0, first, second);
    float x = in[threadIdx.x];
    asm volatile("ds_store_b32 %0, %1\n\t" IF_FAULT("", "s_wait_dscnt 0x0\n\t") BARRIER
                 : : "v"(AT(&s[threadIdx.x])), "v"(x) : "memory");
    if (__builtin_amdgcn_readfirstlane(threadIdx.x) == 0)
        asm volatile("tensor_store_from_lds %0, %1\n\ts_wait_tensorcnt 0x0" // HERE
                     : : "s"(first), "s"(second) : "memory");
}

//: arrival_before_the_tile = { category = "race", words = "shared memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    __shared__ unsigned long long cell;
    if (threadIdx.x == 0) cell = 0;
    __syncthreads();
    if (__builtin_amdgcn_readfirstlane(threadIdx.x) == 0) {
        LOAD_TILE(in)
        asm volatile(IF_FAULT("", "s_wait_tensorcnt 0x0") ::: "memory");
        if (threadIdx.x == 0)
            asm volatile("ds_atomic_async_barrier_arrive_b64 %0" : : "v"(AT(&cell)) : "memory");
    } else {
        unsigned long long now;
        do {
            __builtin_amdgcn_s_sleep(1);
            asm volatile("ds_load_b64 %0, %1\n\ts_wait_dscnt 0x0" : "=v"(now) : "v"(AT(&cell)) : "memory");
        } while (!(now >> 16 & 1));
        out[threadIdx.x] = s[threadIdx.x]; // HERE
    }
    asm volatile("s_wait_tensorcnt 0x0\n\ts_wait_asynccnt 0x0" ::: "memory");
}

//: arrival_of_another_tile = { category = "race", words = "shared memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    __shared__ unsigned long long cells[2];
    if (threadIdx.x < 2) cells[threadIdx.x] = 0;
    __syncthreads();
    if (__builtin_amdgcn_readfirstlane(threadIdx.x) == 0) {
        Dwords4 first;
        Dwords8 second;
        tile(in, AT(s), AT(&cells[0]), first, second);
        asm volatile("tensor_load_to_lds %0, %1" : : "s"(first), "s"(second), "v"(AT(s)) : "memory");
        if (threadIdx.x == 0)
            asm volatile("ds_atomic_async_barrier_arrive_b64 %0" : : "v"(AT(&cells[1])) : "memory");
    } else {
        unsigned long long now;
        do {
            __builtin_amdgcn_s_sleep(1);
            asm volatile("ds_load_b64 %0, %1\n\ts_wait_dscnt 0x0"
                         : "=v"(now) : "v"(AT(&cells[IF_FAULT(1, 0)])) : "memory");
        } while (!(now >> 16 & 1));
        out[threadIdx.x] = s[threadIdx.x]; // HERE
    }
    asm volatile("s_wait_tensorcnt 0x0\n\ts_wait_asynccnt 0x0" ::: "memory");
}

//: arrival_behind_copies = { category = "race", words = "shared memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[32];
    __shared__ unsigned long long cell;
    if (threadIdx.x == 0) cell = 31ull << 32 | 31;
    __syncthreads();
    if (__builtin_amdgcn_readfirstlane(threadIdx.x) == 0)
        asm volatile(IF_FAULT("ds_atomic_async_barrier_arrive_b64 %2\n\tglobal_load_async_to_lds_b32 %0, %1, off",
                              "global_load_async_to_lds_b32 %0, %1, off\n\tds_atomic_async_barrier_arrive_b64 %2")
                     : : "v"(AT(&s[threadIdx.x])), "v"(in + threadIdx.x), "v"(AT(&cell)) : "memory");
    else {
        unsigned long long now;
        do {
            __builtin_amdgcn_s_sleep(1);
            asm volatile("ds_load_b64 %0, %1\n\ts_wait_dscnt 0x0" : "=v"(now) : "v"(AT(&cell)) : "memory");
        } while (!(now >> 16 & 1));
        out[threadIdx.x] = s[threadIdx.x & 31]; // HERE
    }
    asm volatile("s_wait_asynccnt 0x0" ::: "memory");
}

//: flag_without_a_write_back = { category = "race", words = "work-groups of a launch", grid = 2 }
__global__ void k(const float *in, float *out) {
    int *f = (int *)out + 1024;
    if (blockIdx.x == 0) {
        unsigned at = threadIdx.x * 4, flag = 4096;
        float x = in[threadIdx.x];
        asm volatile("global_store_b32 %0, %1, %2\n\ts_wait_storecnt 0x0\n\t" BARRIER
                     : : "v"(at), "v"(x), "s"(out) : "memory");
        asm volatile(IF_FAULT("", "global_wb scope:SCOPE_DEV\n\ts_wait_storecnt 0x0") ::: "memory");
        asm volatile("global_store_b32 %0, %1, %2 scope:SCOPE_DEV" : : "v"(flag), "v"(1), "s"(out) : "memory");
    } else {
        while (__hip_atomic_load(f, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
        out[threadIdx.x + 64] = out[threadIdx.x]; // HERE
    }
}

//: without_a_named_barrier = { category = "race", words = "shared memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    JOIN
    s[threadIdx.x] = in[threadIdx.x];
    asm volatile("s_wait_dscnt 0x0\n\t" IF_FAULT("", NAMED) : : "v"(AT(s)) : "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 32]; // HERE
}

//: named_barrier_of_another_number = { category = "race", words = "shared memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    JOIN
    s[threadIdx.x] = in[threadIdx.x];
    // Who has joined no barrier does not wait.
    asm volatile(IF_FAULT("s_barrier_join 0", "") "\n\ts_wait_dscnt 0x0\n\t" NAMED : : "v"(AT(s)) : "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 32]; // HERE
}

//: signal_before_the_write_is_there = { category = "race", words = "shared memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    JOIN
    float x = in[threadIdx.x];
    asm volatile("ds_store_b32 %0, %1\n\t"
                 IF_FAULT("s_barrier_signal 1\n\ts_wait_dscnt 0x0", "s_wait_dscnt 0x0\n\ts_barrier_signal 1")
                 "\n\ts_barrier_wait 1" : : "v"(AT(&s[threadIdx.x])), "v"(x) : "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 32]; // HERE
}

//: copy_before_a_named_barrier = { category = "race", words = "shared memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    JOIN
    asm volatile("global_load_async_to_lds_b32 %0, %1, off\n\t" IF_FAULT("", "s_wait_asynccnt 0x0\n\t") NAMED
                 : : "v"(AT(&s[threadIdx.x])), "v"(in + threadIdx.x) : "memory");
    out[threadIdx.x] = s[threadIdx.x ^ 32]; // HERE
    asm volatile("s_wait_asynccnt 0x0" ::: "memory");
}

//: written_again_without_a_named_barrier = { category = "race", words = "shared memory" }
__global__ void k(const float *in, float *out) {
    __shared__ float s[64];
    JOIN
    s[threadIdx.x] = in[threadIdx.x];
    asm volatile("s_wait_dscnt 0x0\n\t" NAMED : : "v"(AT(s)) : "memory");
    float x = s[threadIdx.x ^ 32];
    asm volatile("s_wait_dscnt 0x0\n\t" IF_FAULT("", NAMED) : "+v"(x)::"memory");
    s[threadIdx.x] = x + 1; // HERE
    out[threadIdx.x] = s[threadIdx.x];
}

//: memory_without_a_named_barrier = { category = "race", words = "global memory" }
__global__ void k(const float *in, float *out) {
    JOIN
    out[threadIdx.x] = in[threadIdx.x];
    asm volatile("s_wait_storecnt 0x0\n\t" IF_FAULT("", NAMED) ::: "memory");
    out[threadIdx.x + 64] = out[threadIdx.x ^ 32]; // HERE
}

//: without_a_cluster_barrier = { category = "race", words = "work-groups of a launch", grid = 2 }
__global__ __cluster_dims__(2, 1, 1) void k(const float *in, float *out) {
    float *mine = out + 64 * blockIdx.x, *other = out + 64 * (blockIdx.x ^ 1);
    mine[threadIdx.x] = in[threadIdx.x];
    IF_FAULT(asm volatile(STORED INVALIDATED ::: "memory");, MEET(STORED, INVALIDATED))
    out[128 + 64 * blockIdx.x + threadIdx.x] = other[threadIdx.x]; // HERE
}

//: cluster_barrier_of_an_unfinished_store = { category = "race", words = "work-groups of a launch", grid = 2 }
__global__ __cluster_dims__(2, 1, 1) void k(const float *in, float *out) {
    float *mine = out + 64 * blockIdx.x, *other = out + 64 * (blockIdx.x ^ 1);
    mine[threadIdx.x] = in[threadIdx.x];
    // The wave that signals has waited for its own store alone.
    if (__builtin_amdgcn_readfirstlane(threadIdx.x) IF_FAULT(== 0, >= 0)) asm volatile(STORED ::: "memory");
    MEET("", STORED INVALIDATED)
    out[128 + 64 * blockIdx.x + threadIdx.x] = other[threadIdx.x]; // HERE
}

//: cluster_barrier_without_an_invalidation = { category = "race", words = "work-groups of a launch", grid = 2 }
__global__ __cluster_dims__(2, 1, 1) void k(const float *in, float *out) {
    float *mine = out + 64 * blockIdx.x, *other = out + 64 * (blockIdx.x ^ 1);
    mine[threadIdx.x] = in[threadIdx.x];
    MEET(STORED, IF_FAULT("", INVALIDATED))
    out[128 + 64 * blockIdx.x + threadIdx.x] = other[threadIdx.x]; // HERE
}

//: work_group_of_another_cluster = { category = "race", words = "work-groups of a launch", grid = 4 }
__global__ __cluster_dims__(2, 1, 1) void k(const float *in, float *out) {
    float *mine = out + 64 * blockIdx.x, *other = out + 64 * (blockIdx.x ^ IF_FAULT(2, 1));
    mine[threadIdx.x] = in[threadIdx.x];
    MEET(STORED, INVALIDATED)
    out[256 + 64 * blockIdx.x + threadIdx.x] = other[threadIdx.x]; // HERE
}

//: overwritten_before_the_cluster_has_read = { category = "race", words = "work-groups of a launch", grid = 2 }
__global__ __cluster_dims__(2, 1, 1) void k(const float *in, float *out) {
    float *mine = out + 64 * blockIdx.x, *other = out + 64 * (blockIdx.x ^ 1);
    mine[threadIdx.x] = in[threadIdx.x];
    MEET(STORED, INVALIDATED)
    float x = other[threadIdx.x];
    asm volatile("s_wait_loadcnt 0x0" : "+v"(x)::"memory");
    IF_FAULT(, MEET("", ""))
    mine[threadIdx.x] = x + 1; // HERE
}

//: behind_the_next_cluster_barrier = { category = "race", words = "shared memory", grid = 2 }
__global__ __cluster_dims__(2, 1, 1) void k(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = 0;
    asm volatile("s_wait_dscnt 0x0\n\t" BARRIER : : "v"(AT(s)) : "memory");
    if (__builtin_amdgcn_readfirstlane(threadIdx.x) == 0) {
        // The wave signals the second barrier while the other one has yet to pass the first.
        asm volatile("s_barrier_signal -3\n\ts_barrier_wait -3" ::: "memory");
        s[threadIdx.x] = in[threadIdx.x];
        asm volatile("s_wait_dscnt 0x0\n\ts_barrier_signal -3\n\ts_barrier_wait -3" : : "v"(AT(s)) : "memory");
    } else {
        asm volatile("s_barrier_wait -3" ::: "memory");
        asm volatile(IF_FAULT("", "s_barrier_wait -3") : : "v"(AT(s)) : "memory");
        out[threadIdx.x + 64 * blockIdx.x] = s[threadIdx.x ^ 32]; // HERE
        asm volatile(IF_FAULT("s_barrier_wait -3", "") : : "v"(AT(s)) : "memory");
    }
}
