// Kernels with one fault each and their repair, then kernels without a fault, for tests of advice.
// faults.py builds a kernel from each section. Of a fault, `@` is replaced by the first text of `swap`, and by the
// second in its repair; or the repair follows a line of its own.

//: "reads by column" = { rule = "loads-scattered", swap = ["(i % 512) * 512 + i / 512", "i"] }
out[i] = x[@];

//: "a row a lane" = { rule = "loads-scattered", swap = [
//:     "i * 16 + k",
//:     "k * 65536 + i",
//: ], groups = 256, floats = [1048576, 65536] }
float sum = 0; for (int k = 0; k < 16; k++) sum += x[@]; out[i] = sum;

//: "one field of a structure" = { rule = "loads-scattered", swap = ["i * 16", "i"], floats = [4194304, 262144] }
out[i] = x[@] * 2.0f;

//: "writes by column" = { rule = "stores-scattered", swap = ["(i % 512) * 512 + i / 512", "i"] }
out[@] = x[i];

//: "one field written" = { rule = "stores-scattered", swap = ["i * 16", "i"], floats = [262144, 4194304] }
out[@] = x[i] * 2.0f;

//: "bytes one by one" = { rule = "narrow-loads", floats = [4096, 262144] }
    const unsigned char *b = (const unsigned char *)x + t;
    int sum = 0;
#pragma unroll 1
    for (int turn = 0; turn < 64; turn++) {
#pragma unroll
        for (int k = 0; k < 4; k++) sum += b[(turn & 15) * 1024 + k * 256];
    }
    out[i] = sum;
// repaired
    const unsigned int *b = (const unsigned int *)x + t;
    int sum = 0;
#pragma unroll 1
    for (int turn = 0; turn < 64; turn++) {
        const unsigned int v = b[(turn & 15) * 256];
        sum += (v & 255) + (v >> 8 & 255) + (v >> 16 & 255) + (v >> 24);
    }
    out[i] = sum;

//: "floats one by one" = { rule = "narrow-loads", floats = [4096, 262144] }
    float sum = 0;
#pragma unroll 1
    for (int turn = 0; turn < 64; turn++) {
#pragma unroll
        for (int k = 0; k < 4; k++) sum += x[(turn & 3) * 1024 + k * 256 + t];
    }
    out[i] = sum;
// repaired
    float sum = 0;
#pragma unroll 1
    for (int turn = 0; turn < 64; turn++) {
        const float4 v = ((const float4 *)x)[(turn & 3) * 256 + t];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    out[i] = sum;

//: "the same load each turn" = { rule = "repeated-loads", floats = [256, 262144] }
    for (int k = 0; k < 64; k++) out[i] = out[i] * 0.5f + x[t];
// repaired
    float sum = out[i], own = x[t];
    for (int k = 0; k < 64; k++) sum = sum * 0.5f + own;
    out[i] = sum;

//: "one bank for all lanes" = { rule = "conflicts", swap = ["32", "33"], floats = [4096, 262144] }
    __shared__ float tile[64 * 33];
    for (int k = t; k < 64 * 33; k += 256) tile[k] = x[k];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 32; k++) sum += tile[(t & 63) * @ + k] * (float)k;
    out[i] = sum;

//: "a transposed tile without padding" = { rule = "conflicts", swap = ["32", "33"], floats = [4096, 266240] }
    __shared__ float tile[32][@];
    int row = t / 32, column = t % 32;
    for (int turn = 0; turn < 16; turn++) {
        for (int k = 0; k < 32; k += 8) tile[column][row + k] = x[(row + k) * 32 + column + turn];
        __syncthreads();
        for (int k = 0; k < 32; k += 8) out[i + k * 32 % 256] = tile[row + k][column];
        __syncthreads();
    }

//: "a dword of LDS at a time" = { rule = "narrow-lds", floats = [4096, 262144] }
    __shared__ float tile[4096];
    for (int k = t; k < 4096; k += 256) tile[k] = x[k];
    __syncthreads();
    float sum = 0;
#pragma unroll 1
    for (int turn = 0; turn < 128; turn++)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            sum += tile[(t + turn * 64 & 1023) + k * 1024];
            asm volatile("" ::: "memory");
        }
    out[i] = sum;
// repaired
    __shared__ float4 tile[1024];
    for (int k = t; k < 1024; k += 256) tile[k] = ((const float4 *)x)[k];
    __syncthreads();
    float sum = 0;
#pragma unroll 1
    for (int turn = 0; turn < 128; turn++) {
        float4 v = tile[(t + turn * 64) & 1023];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    out[i] = sum;

//: "an array with computed places" = { rule = "spills", floats = [8192, 262144] }
    float kept[64];
    for (int k = 0; k < 64; k++) kept[k] = x[k * 64 + t];
    float sum = 0;
    for (int turn = 0; turn < 256; turn++) kept[(turn + t) & 63] += 1.0f;
    for (int k = 0; k < 64; k++) sum += kept[k] * k;
    out[i] = sum;
// repaired
    float kept[64];
    for (int k = 0; k < 64; k++) kept[k] = x[k * 64 + t];
    float sum = 0;
    for (int turn = 0; turn < 4; turn++) {
#pragma unroll
        for (int k = 0; k < 64; k++) kept[k] += 1.0f;
    }
    for (int k = 0; k < 64; k++) sum += kept[k] * k;
    out[i] = sum;

//: "too few registers allowed" = { rule = "spills", registers = 32, floats = [16384, 262144] }
    float kept[48];
#pragma unroll
    for (int k = 0; k < 48; k++) kept[k] = x[k * 256 + t];
    for (int turn = 0; turn < 16; turn++) {
#pragma unroll
        for (int k = 0; k < 48; k++) kept[k] = kept[k] * 0.5f + kept[(k + 7) % 48];
    }
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 48; k++) sum += kept[k];
    out[i] = sum;

//: "LDS that nobody needs" = { rule = "lds-size", swap = ["32768", "16384"], floats = [4194304, 262144] }
    __shared__ float tile[@];
    tile[t] = x[i];
    float sum = 0;
    __syncthreads();
    int at = t;
    for (int k = 0; k < 16; k++) {
        sum += x[(i + k * 262144 + at) & 4194303];
        at = ((int)sum + k) & 255;
    }
    out[i] = sum + tile[255 - t];

//: "registers that nobody needs" = { rule = "registers", swap = [
//:     'asm volatile("" ::: "v255");',
//:     'asm volatile("" ::: "v159");',
//: ], groups = 2048, floats = [4194304, 524288] }
    float sum = 0;
    int at = t;
    @
    for (int k = 0; k < 16; k++) {
        sum += x[(i + k * 262144 + at) & 4194303];
        at = ((int)sum + k) & 255;
    }
    out[i] = sum;

//: "a short loop" = { rule = "short-loop", swap = ["1", "4"], groups = 256, floats = [65536, 65536] }
    float sum = x[i];
#pragma unroll @
    for (int k = 0; k < 1024; k++) sum = sum * 0.5f + 1.0f;
    out[i] = sum;

//: "a short loop of bits" = { rule = "short-loop", swap = ["1", "4"], groups = 256, floats = [65536, 65536] }
    unsigned int bits = i + 1, mask = (unsigned int)x[i];
#pragma unroll @
    for (int k = 0; k < 1024; k++) bits = (bits ^ mask) + (bits >> 3);
    out[i] = bits;

//: "a load used at once" = { rule = "early-wait", groups = 256, floats = [4194304, 65536] }
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 64; k++) sum = sum * 0.5f + x[k * 65536 + i];
    out[i] = sum;
// repaired
    float sum = 0, even = x[i], odd = x[65536 + i];
#pragma unroll 1
    for (int k = 2; k < 66; k += 2) {
        sum = sum * 0.5f + even;
        even = x[(k & 63) * 65536 + i];
        sum = sum * 0.5f + odd;
        odd = x[(k + 1 & 63) * 65536 + i];
    }
    out[i] = sum;

//: "no second buffer" = { rule = "early-wait", groups = 256, floats = [2097152, 65536] }
    __shared__ float tile[256];
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 32; k++) {
        tile[t] = x[k * 65536 + i];
        __syncthreads();
        for (int j = 0; j < 16; j++) sum += tile[(t * 5 + j * 16) & 255] * (float)j;
        __syncthreads();
    }
    out[i] = sum;
// repaired
    __shared__ float tile[256];
    float sum = 0, even = x[i], odd = x[65536 + i];
#pragma unroll 1
    for (int k = 2; k < 34; k += 2) {
        tile[t] = even;
        __syncthreads();
        even = x[(k & 31) * 65536 + i];
        for (int j = 0; j < 16; j++) sum += tile[(t * 5 + j * 16) & 255] * (float)j;
        __syncthreads();
        tile[t] = odd;
        __syncthreads();
        odd = x[(k + 1 & 31) * 65536 + i];
        for (int j = 0; j < 16; j++) sum += tile[(t * 5 + j * 16) & 255] * (float)j;
        __syncthreads();
    }
    out[i] = sum;

//: "a wait before it is needed" = { rule = "wait-moved", swap = [
//:     'asm volatile("s_waitcnt vmcnt(0)" ::: "memory"); asm volatile("" : "+v"(one), "+v"(other));',
//:     'asm volatile("" : "+v"(other));',
//: ], groups = 256, floats = [2097152, 65536] }
    float sum = 0, other = i;
#pragma unroll 1
    for (int k = 0; k < 32; k++) {
        float one = x[k * 65536 + i];
        @
#pragma unroll
        for (int j = 0; j < 128; j++) other = other * 0.5f + 1.0f;
        asm volatile("" : "+v"(other));
        sum += one * other;
    }
    out[i] = sum;

//: "a list followed link by link" = { rule = "chained-loads", groups = 256, floats = [4096, 65536] }
    const int *next = (const int *)x;
    int at = i & 4095, sum = 0;
#pragma unroll 1
    for (int k = 0; k < 64; k++) {
        at = next[at] & 4095;
        sum += at;
    }
    out[i] = sum;
// repaired
    const int *next = (const int *)x;
    int at = i & 4095, to = (i + 7) & 4095, sum = 0;
#pragma unroll 1
    for (int k = 0; k < 32; k++) {
        at = next[at] & 4095;
        to = next[to] & 4095;
        sum += at + to;
    }
    out[i] = sum;

//: "uniform loads each turn" = { rule = "scalar-wait", swap = ["1", "4"], groups = 256, floats = [4096, 65536] }
    float sum = 0;
#pragma unroll @
    for (int k = 0; k < 256; k++) sum = sum * 0.5f + x[(k * 16 + blockIdx.x) & 4095];
    out[i] = sum;

//: "a root each turn" = { rule = "transcendental", swap = ["__builtin_amdgcn_rsqf(sum)", "fmaxf(sum, 0.5f)"] }
    float sum = x[i];
#pragma unroll 8
    for (int k = 0; k < 128; k++) sum = @ + 0.25f;
    out[i] = sum;

//: "sines each turn" = { rule = "transcendental", swap = [
//:     "s = __builtin_amdgcn_sinf(a * k); c = __builtin_amdgcn_cosf(a * k);",
//:     "{ float o = s; s = s * 0.8f + c * a; c = c * 0.8f - o * a; }",
//: ] }
    float s = 0, c = 1, sum = 0, a = x[i];
#pragma unroll 8
    for (int k = 0; k < 128; k++) {
        @
        sum += s + c;
    }
    out[i] = sum;

//: "a reciprocal for each" = { rule = "division", swap = ["/ b", "* r"] }
    float a = x[i], b = x[i ^ 1], sum = 0, r = 1.0f / b;
#pragma unroll 8
    for (int k = 0; k < 64; k++) sum += (a + k) @;
    out[i] = sum + r;

//: "products of integers" = { rule = "integer-products", swap = ["h * m", "(h ^ m)"] }
    unsigned int h = i, m = (unsigned int)x[i];
#pragma unroll 8
    for (int k = 0; k < 256; k++) h = @ + k;
    out[i] = h;

//: "wide products of integers" = { rule = "integer-products", swap = [
//:     "(unsigned int)((unsigned long long)h * m >> 32)",
//:     "(h >> 7) + m",
//: ] }
    unsigned int h = i, m = (unsigned int)x[i] | 1;
#pragma unroll 8
    for (int k = 0; k < 128; k++) h = @ ^ k;
    out[i] = h;

//: "division of integers" = { rule = "integer-division", swap = ["(i + k * 7919) / n", "(i + k * 7919) >> shift"] }
    unsigned int n = (unsigned int)x[i] + 6, sum = 0, shift = (unsigned int)x[i] & 7;
#pragma unroll 4
    for (unsigned int k = 0; k < 64; k++) sum += @;
    out[i] = sum + shift;

//: "double by a literal" = { rule = "fp64", swap = ["0.3", "0.3f"] }
    float sum = x[i];
#pragma unroll 8
    for (int k = 0; k < 128; k++) sum = sum * @ + @;
    out[i] = sum;

//: "a sum in double" = { rule = "fp64", swap = ["double", "float"] }
    @ sum = 0;
    float a = x[i];
#pragma unroll 8
    for (int k = 0; k < 128; k++) {
        a = a * 0.5f + 1.0f;
        sum += a;
    }
    out[i] = sum;

//: "to integers and back" = { rule = "conversions", swap = ["(float)(int)sum", "sum"] }
    float sum = x[i];
#pragma unroll 8
    for (int k = 0; k < 256; k++) sum = @ * 0.5f + 3.0f;
    out[i] = sum;

//: "neighbours that go apart" = { rule = "divergence", swap = ["t", "t / 64"] }
    float sum = x[i];
    if (@ & 1)
        for (int k = 0; k < 128; k++) sum = sum * 0.5f + 1.0f;
    else
        for (int k = 0; k < 128; k++) sum = sum * 0.25f - 1.0f;
    out[i] = sum;

//: "one lane for all" = { rule = "divergence" }
    __shared__ float tile[256];
    tile[t] = x[i];
    __syncthreads();
    float sum = 0;
    if (t == 0)
        for (int k = 0; k < 256; k++) sum += tile[k];
    if (t == 0) out[blockIdx.x] = sum;
// repaired
    __shared__ float tile[4];
    float sum = x[i];
    for (int k = 32; k > 0; k /= 2) sum += __shfl_xor(sum, k);
    if (t % 64 == 0) tile[t / 64] = sum;
    __syncthreads();
    if (t == 0) out[blockIdx.x] = tile[0] + tile[1] + tile[2] + tile[3];

//: "an atomic each turn" = { rule = "atomics", floats = [8192, 256] }
#pragma unroll 1
    for (int k = 0; k < 32; k++) atomicAdd((int *)out + t, (int)x[k * 256 + t]);
// repaired
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < 32; k++) sum += (int)x[k * 256 + t];
    atomicAdd((int *)out + t, sum);

//: "a nearly empty last round" = { rule = "tail", swap = [
//:     "4096",
//:     "4096 * 528 / 1024",
//: ], groups = 528, floats = [65536, 262144], relaunch = { groups = 1024 } }
    __shared__ float tile[20000];
    float sum = x[i & 65535];
    tile[t] = sum;
#pragma unroll 16
    for (int k = 0; k < @; k++) sum = sum * 0.5f + 1.0f;
    out[i] = sum + tile[t ^ 1];

//: "few work-groups" = { rule = "few-groups", swap = ["8192", "2048"], groups = 64, relaunch = { groups = 256 } }
    float sum = x[i];
#pragma unroll 16
    for (int k = 0; k < @; k++) sum = sum * 0.5f + 1.0f;
    out[i] = sum;

//: "work-groups of one wave" = { rule = "few-waves", swap = [
//:     "8192",
//:     "2048",
//: ], groups = 256, threads = 64, relaunch = { threads = 256 } }
    float sum = x[i];
#pragma unroll 16
    for (int k = 0; k < @; k++) sum = sum * 0.5f + 1.0f;
    out[i] = sum;

//: "a barrier each turn" = { rule = "idle-barriers", swap = [
//:     "__syncthreads();",
//:     'asm volatile("" ::: "memory");',
//: ], groups = 256, floats = [65536, 65536] }
    float sum = x[i];
#pragma unroll 1
    for (int k = 0; k < 64; k++) {
        if (__builtin_amdgcn_readfirstlane(t / 64) == (k & 3))
            for (int j = 0; j < 32; j++) sum = sum * 0.5f + 1.0f;
        @
    }
    out[i] = sum;

//: "one wave works" = { rule = "imbalance", swap = [
//:     "if (__builtin_amdgcn_readfirstlane(t / 64) == 0) for (int j = 0; j < 512; j++)",
//:     "for (int j = 0; j < 128; j++)",
//: ], groups = 256, floats = [65536, 65536] }
    __shared__ float tile[256];
    float sum = x[i];
    for (int k = 0; k < 16; k++) {
        @
            sum = sum * 0.5f + 1.0f;
        tile[t] = sum;
        __syncthreads();
        sum += tile[255 - t];
        __syncthreads();
    }
    out[i] = sum;

//: "naps" = { rule = "idling", swap = ["__builtin_amdgcn_s_sleep(2);", ""], groups = 256, floats = [65536, 65536] }
    float sum = x[i];
    #pragma unroll 1
    for (int k = 0; k < 256; k++) {
#pragma unroll
        for (int j = 0; j < 8; j++) sum = sum * 0.5f + 1.0f;
        @
    }
    out[i] = sum;

//: "copy" = { groups = 4096, floats = [4194304, 4194304] }
    ((float4 *)out)[i] = ((const float4 *)x)[i];

//: "scaled sum" = { groups = 4096, floats = [4194304, 4194304] }
    float4 a = ((const float4 *)x)[i], b = ((float4 *)out)[i];
    b.x += 2 * a.x, b.y += 2 * a.y, b.z += 2 * a.z, b.w += 2 * a.w;
    ((float4 *)out)[i] = b;

//: "a clamp" = { groups = 4096, floats = [4194304, 4194304] }
    float4 a = ((const float4 *)x)[i];
    a.x = fminf(fmaxf(a.x, 0.0f), 6.0f), a.y = fminf(fmaxf(a.y, 0.0f), 6.0f);
    a.z = fminf(fmaxf(a.z, 0.0f), 6.0f), a.w = fminf(fmaxf(a.w, 0.0f), 6.0f);
    ((float4 *)out)[i] = a;

//: "a sigmoid" = { groups = 4096, floats = [4194304, 4194304] }
    float4 a = ((const float4 *)x)[i];
#define S(v) __builtin_amdgcn_rcpf(1.0f + __builtin_amdgcn_exp2f(-1.442695f * v))
    ((float4 *)out)[i] = {S(a.x), S(a.y), S(a.z), S(a.w)};

//: "a polynomial" = { groups = 4096, floats = [4194304, 4194304] }
    float4 a = ((const float4 *)x)[i];
    float p = a.x, q = a.y, r = a.z, s = a.w;
#pragma unroll 16
    for (int k = 0; k < 256; k++) {
        p = p * a.x + 0.5f, q = q * a.y + 0.25f, r = r * a.z + 0.125f, s = s * a.w + 0.0625f;
    }
    ((float4 *)out)[i] = {p, q, r, s};

//: "sums of rows" = { groups = 4096, floats = [4194304, 16384] }
    float4 a = ((const float4 *)x)[i];
    float sum = (a.x + a.y) + (a.z + a.w);
    for (int k = 32; k > 0; k /= 2) sum += __shfl_xor(sum, k);
    if (t % 64 == 0) out[i / 64] = sum;

//: "a padded transpose" = { floats = [4194304, 4194304] }
    __shared__ float tile[64][65];
    int x0 = blockIdx.x % 32 * 64, y0 = blockIdx.x / 32 * 64, row = t / 16, column = t % 16 * 4;
    for (int k = 0; k < 64; k += 16) {
        float4 v = *(const float4 *)&x[(y0 + row + k) * 2048 + x0 + column];
        tile[row + k][column] = v.x, tile[row + k][column + 1] = v.y;
        tile[row + k][column + 2] = v.z, tile[row + k][column + 3] = v.w;
    }
    __syncthreads();
    for (int k = 0; k < 64; k += 16) {
        int c = row + k;
        *(float4 *)&out[(x0 + c) * 2048 + y0 + column] =
            {tile[column][c], tile[column + 1][c], tile[column + 2][c], tile[column + 3][c]};
    }

//: "a mask of bits" = { groups = 4096, floats = [4194304, 4194304] }
    uint4 a = ((const uint4 *)x)[i];
    a.x = (a.x >> 3) ^ a.x, a.y = (a.y >> 3) ^ a.y, a.z = (a.z >> 3) ^ a.z, a.w = (a.w >> 3) ^ a.w;
    ((uint4 *)out)[i] = a;

//: "two streams in one" = { groups = 2048, floats = [4194304, 2097152] }
    float4 a = ((const float4 *)x)[i], b = ((const float4 *)x)[i + 524288];
    ((float4 *)out)[i] = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};

//: "rows scaled by their root mean square" = { groups = 4096, floats = [4194304, 4194304] }
    __shared__ float part[4];
    float4 a = ((const float4 *)x)[i];
    float sum = a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w;
    for (int k = 32; k > 0; k /= 2) sum += __shfl_xor(sum, k);
    if (t % 64 == 0) part[t / 64] = sum;
    __syncthreads();
    float r = __builtin_amdgcn_rsqf((part[0] + part[1] + part[2] + part[3]) * (1.0f / 1024));
    ((float4 *)out)[i] = {a.x * r, a.y * r, a.z * r, a.w * r};
