"""Kernels with one fault each and their repair, and kernels without, for tests of advice. Each is complete. A
repair changes only the fault, so that its gain in the model is the one that advice forecasts.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Launch:
    """Geometry and tensors of a kernel's launch.

    Attributes:
        groups, threads: work-groups, and work-items per work-group.
        floats: elements of its tensors, which are float32 ones.
    """

    groups: int
    threads: int = 256
    floats: tuple[int, ...] = ()

    def arguments(self) -> tuple[torch.Tensor, ...]:
        """New tensors of the arguments."""
        return tuple(torch.ones(count) for count in self.floats)


@dataclass(frozen=True)
class Fault:
    """A kernel with a fault.

    Attributes:
        name: of the fault.
        rule: the first finding.
        faulty, repaired: sources of a kernel called `kernel`.
        launch: of the faulty kernel.
        relaunch: of the repaired one; None if it is the same.
    """

    name: str
    rule: str
    faulty: str
    repaired: str
    launch: Launch
    relaunch: Launch | None = None


@dataclass(frozen=True)
class Good:
    """A kernel without a fault."""

    name: str
    source: str
    launch: Launch


N = 1 << 18
FULL = Launch(1024, 256, (N, N))
"""Four work-groups of four waves for each of 256 compute units: four waves a SIMD."""
ONE = Launch(256, 256, (1 << 16, 1 << 16))
"""One wave per SIMD: nothing else hides its waits."""

EACH = "int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;"


BOUNDS = "__launch_bounds__(256)"


def _code(arguments: str, body: str, *, bounds: str = BOUNDS) -> str:
    return f'extern "C" __global__ {bounds} void kernel({arguments}) {{\n    {EACH}\n{body}\n}}\n'


IN_OUT = "const float *x, float *out"


def _fault(
    name: str,
    rule: str,
    faulty: str,
    repaired: str,
    launch: Launch,
    relaunch: Launch | None = None,
    *,
    arguments: str = IN_OUT,
) -> Fault:
    return Fault(name, rule, _code(arguments, faulty), _code(arguments, repaired), launch, relaunch)


def _swap(body: str, fault: str, repair: str) -> tuple[str, str]:
    """The two bodies of a text in which `@` marks the difference."""
    return body.replace("@", fault), body.replace("@", repair)


MANY_REGISTERS = """
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
    out[i] = sum;"""

FAULTS: tuple[Fault, ...] = (
    # Memory accesses.
    _fault(
        "reads by column", "loads-scattered", *_swap("out[i] = x[@];", "(i % 512) * 512 + i / 512", "i"), FULL
    ),
    _fault(
        "a row a lane",
        "loads-scattered",
        *_swap(
            "float sum = 0; for (int k = 0; k < 16; k++) sum += x[@]; out[i] = sum;",
            "i * 16 + k",
            "k * 65536 + i",
        ),
        Launch(256, 256, (1 << 20, 1 << 16)),
    ),
    _fault(
        "one field of a structure",
        "loads-scattered",
        *_swap("out[i] = x[@] * 2.0f;", "i * 16", "i"),
        Launch(1024, 256, (N * 16, N)),
    ),
    _fault(
        "writes by column",
        "stores-scattered",
        *_swap("out[@] = x[i];", "(i % 512) * 512 + i / 512", "i"),
        FULL,
    ),
    _fault(
        "one field written",
        "stores-scattered",
        *_swap("out[@] = x[i] * 2.0f;", "i * 16", "i"),
        Launch(1024, 256, (N, N * 16)),
    ),
    _fault(
        "bytes one by one",
        "narrow-loads",
        """
    const unsigned char *b = (const unsigned char *)x + t;
    int sum = 0;
#pragma unroll 1
    for (int turn = 0; turn < 64; turn++) {
#pragma unroll
        for (int k = 0; k < 4; k++) sum += b[(turn & 15) * 1024 + k * 256];
    }
    out[i] = sum;""",
        """
    const unsigned int *b = (const unsigned int *)x + t;
    int sum = 0;
#pragma unroll 1
    for (int turn = 0; turn < 64; turn++) {
        const unsigned int v = b[(turn & 15) * 256];
        sum += (v & 255) + (v >> 8 & 255) + (v >> 16 & 255) + (v >> 24);
    }
    out[i] = sum;""",
        Launch(1024, 256, (4096, N)),
    ),
    _fault(
        "floats one by one",
        "narrow-loads",
        """
    float sum = 0;
#pragma unroll 1
    for (int turn = 0; turn < 64; turn++) {
#pragma unroll
        for (int k = 0; k < 4; k++) sum += x[(turn & 3) * 1024 + k * 256 + t];
    }
    out[i] = sum;""",
        """
    float sum = 0;
#pragma unroll 1
    for (int turn = 0; turn < 64; turn++) {
        const float4 v = ((const float4 *)x)[(turn & 3) * 256 + t];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    out[i] = sum;""",
        Launch(1024, 256, (4096, N)),
    ),
    _fault(
        "the same load each turn",
        "repeated-loads",
        """
    for (int k = 0; k < 64; k++) out[i] = out[i] * 0.5f + x[t];""",
        """
    float sum = out[i], own = x[t];
    for (int k = 0; k < 64; k++) sum = sum * 0.5f + own;
    out[i] = sum;""",
        Launch(1024, 256, (256, N)),
    ),
    # LDS.
    _fault(
        "one bank for all lanes",
        "conflicts",
        *_swap(
            """
    __shared__ float tile[64 * 33];
    for (int k = t; k < 64 * 33; k += 256) tile[k] = x[k];
    __syncthreads();
    float sum = 0;
    for (int k = 0; k < 32; k++) sum += tile[(t & 63) * @ + k] * (float)k;
    out[i] = sum;""",
            "32",
            "33",
        ),
        Launch(1024, 256, (4096, N)),
    ),
    _fault(
        "a transposed tile without padding",
        "conflicts",
        *_swap(
            """
    __shared__ float tile[32][@];
    int row = t / 32, column = t % 32;
    for (int turn = 0; turn < 16; turn++) {
        for (int k = 0; k < 32; k += 8) tile[column][row + k] = x[(row + k) * 32 + column + turn];
        __syncthreads();
        for (int k = 0; k < 32; k += 8) out[i + k * 32 % 256] = tile[row + k][column];
        __syncthreads();
    }""",
            "32",
            "33",
        ),
        Launch(1024, 256, (4096, N + 4096)),
    ),
    _fault(
        "a dword of LDS at a time",
        "narrow-lds",
        """
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
    out[i] = sum;""",
        """
    __shared__ float4 tile[1024];
    for (int k = t; k < 1024; k += 256) tile[k] = ((const float4 *)x)[k];
    __syncthreads();
    float sum = 0;
#pragma unroll 1
    for (int turn = 0; turn < 128; turn++) {
        float4 v = tile[(t + turn * 64) & 1023];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    out[i] = sum;""",
        Launch(1024, 256, (4096, N)),
    ),
    # Registers and occupancy.
    _fault(
        "an array with computed places",
        "spills",
        """
    float kept[64];
    for (int k = 0; k < 64; k++) kept[k] = x[k * 64 + t];
    float sum = 0;
    for (int turn = 0; turn < 256; turn++) kept[(turn + t) & 63] += 1.0f;
    for (int k = 0; k < 64; k++) sum += kept[k] * k;
    out[i] = sum;""",
        """
    float kept[64];
    for (int k = 0; k < 64; k++) kept[k] = x[k * 64 + t];
    float sum = 0;
    for (int turn = 0; turn < 4; turn++) {
#pragma unroll
        for (int k = 0; k < 64; k++) kept[k] += 1.0f;
    }
    for (int k = 0; k < 64; k++) sum += kept[k] * k;
    out[i] = sum;""",
        Launch(1024, 256, (8192, N)),
    ),
    Fault(
        "too few registers allowed",
        "spills",
        _code(IN_OUT, MANY_REGISTERS, bounds=f"{BOUNDS} __attribute__((amdgpu_num_vgpr(32)))"),
        _code(IN_OUT, MANY_REGISTERS),
        Launch(1024, 256, (1 << 14, N)),
    ),
    _fault(
        "LDS that nobody needs",
        "lds-size",
        *_swap(
            """
    __shared__ float tile[@];
    tile[t] = x[i];
    float sum = 0;
    __syncthreads();
    int at = t;
    for (int k = 0; k < 16; k++) {
        sum += x[(i + k * 262144 + at) & 4194303];
        at = ((int)sum + k) & 255;
    }
    out[i] = sum + tile[255 - t];""",
            "32768",
            "16384",
        ),
        Launch(1024, 256, (1 << 22, N)),
    ),
    _fault(
        "registers that nobody needs",
        "registers",
        *_swap(
            """
    float sum = 0;
    int at = t;
    @
    for (int k = 0; k < 16; k++) {
        sum += x[(i + k * 262144 + at) & 4194303];
        at = ((int)sum + k) & 255;
    }
    out[i] = sum;""",
            'asm volatile("" ::: "v255");',
            'asm volatile("" ::: "v159");',
        ),
        Launch(2048, 256, (1 << 22, 1 << 19)),
    ),
    # Loops.
    _fault(
        "a short loop",
        "short-loop",
        *_swap(
            """
    float sum = x[i];
#pragma unroll @
    for (int k = 0; k < 1024; k++) sum = sum * 0.5f + 1.0f;
    out[i] = sum;""",
            "1",
            "4",
        ),
        ONE,
    ),
    _fault(
        "a short loop of bits",
        "short-loop",
        *_swap(
            """
    unsigned int bits = i + 1, mask = (unsigned int)x[i];
#pragma unroll @
    for (int k = 0; k < 1024; k++) bits = (bits ^ mask) + (bits >> 3);
    out[i] = bits;""",
            "1",
            "4",
        ),
        ONE,
    ),
    _fault(
        "a load used at once",
        "early-wait",
        """
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 64; k++) sum = sum * 0.5f + x[k * 65536 + i];
    out[i] = sum;""",
        """
    float sum = 0, even = x[i], odd = x[65536 + i];
#pragma unroll 1
    for (int k = 2; k < 66; k += 2) {
        sum = sum * 0.5f + even;
        even = x[(k & 63) * 65536 + i];
        sum = sum * 0.5f + odd;
        odd = x[(k + 1 & 63) * 65536 + i];
    }
    out[i] = sum;""",
        Launch(256, 256, (1 << 22, 1 << 16)),
    ),
    _fault(
        "no second buffer",
        "early-wait",
        """
    __shared__ float tile[256];
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 32; k++) {
        tile[t] = x[k * 65536 + i];
        __syncthreads();
        for (int j = 0; j < 16; j++) sum += tile[(t * 5 + j * 16) & 255] * (float)j;
        __syncthreads();
    }
    out[i] = sum;""",
        """
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
    out[i] = sum;""",
        Launch(256, 256, (1 << 21, 1 << 16)),
    ),
    _fault(
        "a wait before it is needed",
        "wait-moved",
        *_swap(
            """
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
    out[i] = sum;""",
            'asm volatile("s_waitcnt vmcnt(0)" ::: "memory"); asm volatile("" : "+v"(one), "+v"(other));',
            'asm volatile("" : "+v"(other));',
        ),
        Launch(256, 256, (1 << 21, 1 << 16)),
    ),
    _fault(
        "a list followed link by link",
        "chained-loads",
        """
    const int *next = (const int *)x;
    int at = i & 4095, sum = 0;
#pragma unroll 1
    for (int k = 0; k < 64; k++) {
        at = next[at] & 4095;
        sum += at;
    }
    out[i] = sum;""",
        """
    const int *next = (const int *)x;
    int at = i & 4095, to = (i + 7) & 4095, sum = 0;
#pragma unroll 1
    for (int k = 0; k < 32; k++) {
        at = next[at] & 4095;
        to = next[to] & 4095;
        sum += at + to;
    }
    out[i] = sum;""",
        Launch(256, 256, (4096, 1 << 16)),
    ),
    _fault(
        "uniform loads each turn",
        "scalar-wait",
        *_swap(
            """
    float sum = 0;
#pragma unroll @
    for (int k = 0; k < 256; k++) sum = sum * 0.5f + x[(k * 16 + blockIdx.x) & 4095];
    out[i] = sum;""",
            "1",
            "4",
        ),
        Launch(256, 256, (4096, 1 << 16)),
    ),
    # Arithmetic.
    _fault(
        "a root each turn",
        "transcendental",
        *_swap(
            """
    float sum = x[i];
#pragma unroll 8
    for (int k = 0; k < 128; k++) sum = @ + 0.25f;
    out[i] = sum;""",
            "__builtin_amdgcn_rsqf(sum)",
            "fmaxf(sum, 0.5f)",
        ),
        FULL,
    ),
    _fault(
        "sines each turn",
        "transcendental",
        *_swap(
            """
    float s = 0, c = 1, sum = 0, a = x[i];
#pragma unroll 8
    for (int k = 0; k < 128; k++) {
        @
        sum += s + c;
    }
    out[i] = sum;""",
            "s = __builtin_amdgcn_sinf(a * k); c = __builtin_amdgcn_cosf(a * k);",
            "{ float o = s; s = s * 0.8f + c * a; c = c * 0.8f - o * a; }",
        ),
        FULL,
    ),
    _fault(
        "a reciprocal for each",
        "division",
        *_swap(
            """
    float a = x[i], b = x[i ^ 1], sum = 0, r = 1.0f / b;
#pragma unroll 8
    for (int k = 0; k < 64; k++) sum += (a + k) @;
    out[i] = sum + r;""",
            "/ b",
            "* r",
        ),
        FULL,
    ),
    _fault(
        "products of integers",
        "integer-products",
        *_swap(
            """
    unsigned int h = i, m = (unsigned int)x[i];
#pragma unroll 8
    for (int k = 0; k < 256; k++) h = @ + k;
    out[i] = h;""",
            "h * m",
            "(h ^ m)",
        ),
        FULL,
    ),
    _fault(
        "wide products of integers",
        "integer-products",
        *_swap(
            """
    unsigned int h = i, m = (unsigned int)x[i] | 1;
#pragma unroll 8
    for (int k = 0; k < 128; k++) h = @ ^ k;
    out[i] = h;""",
            "(unsigned int)((unsigned long long)h * m >> 32)",
            "(h >> 7) + m",
        ),
        FULL,
    ),
    _fault(
        "division of integers",
        "integer-division",
        *_swap(
            """
    unsigned int n = (unsigned int)x[i] + 6, sum = 0, shift = (unsigned int)x[i] & 7;
#pragma unroll 4
    for (unsigned int k = 0; k < 64; k++) sum += @;
    out[i] = sum + shift;""",
            "(i + k * 7919) / n",
            "(i + k * 7919) >> shift",
        ),
        FULL,
    ),
    _fault(
        "double by a literal",
        "fp64",
        *_swap(
            """
    float sum = x[i];
#pragma unroll 8
    for (int k = 0; k < 128; k++) sum = sum * @ + @;
    out[i] = sum;""",
            "0.3",
            "0.3f",
        ),
        FULL,
    ),
    _fault(
        "a sum in double",
        "fp64",
        *_swap(
            """
    @ sum = 0;
    float a = x[i];
#pragma unroll 8
    for (int k = 0; k < 128; k++) {
        a = a * 0.5f + 1.0f;
        sum += a;
    }
    out[i] = sum;""",
            "double",
            "float",
        ),
        FULL,
    ),
    _fault(
        "to integers and back",
        "conversions",
        *_swap(
            """
    float sum = x[i];
#pragma unroll 8
    for (int k = 0; k < 256; k++) sum = @ * 0.5f + 3.0f;
    out[i] = sum;""",
            "(float)(int)sum",
            "sum",
        ),
        FULL,
    ),
    # Branches and waves.
    _fault(
        "neighbours that go apart",
        "divergence",
        *_swap(
            """
    float sum = x[i];
    if (@ & 1)
        for (int k = 0; k < 128; k++) sum = sum * 0.5f + 1.0f;
    else
        for (int k = 0; k < 128; k++) sum = sum * 0.25f - 1.0f;
    out[i] = sum;""",
            "t",
            "t / 64",
        ),
        FULL,
    ),
    _fault(
        "one lane for all",
        "divergence",
        """
    __shared__ float tile[256];
    tile[t] = x[i];
    __syncthreads();
    float sum = 0;
    if (t == 0)
        for (int k = 0; k < 256; k++) sum += tile[k];
    if (t == 0) out[blockIdx.x] = sum;""",
        """
    __shared__ float tile[4];
    float sum = x[i];
    for (int k = 32; k > 0; k /= 2) sum += __shfl_xor(sum, k);
    if (t % 64 == 0) tile[t / 64] = sum;
    __syncthreads();
    if (t == 0) out[blockIdx.x] = tile[0] + tile[1] + tile[2] + tile[3];""",
        FULL,
    ),
    _fault(
        "an atomic each turn",
        "atomics",
        """
#pragma unroll 1
    for (int k = 0; k < 32; k++) atomicAdd((int *)out + t, (int)x[k * 256 + t]);""",
        """
    int sum = 0;
#pragma unroll 1
    for (int k = 0; k < 32; k++) sum += (int)x[k * 256 + t];
    atomicAdd((int *)out + t, sum);""",
        Launch(1024, 256, (8192, 256)),
    ),
    _fault(
        "a nearly empty last round",
        "tail",
        *_swap(
            """
    __shared__ float tile[20000];
    float sum = x[i & 65535];
    tile[t] = sum;
#pragma unroll 16
    for (int k = 0; k < @; k++) sum = sum * 0.5f + 1.0f;
    out[i] = sum + tile[t ^ 1];""",
            "4096",
            "4096 * 528 / 1024",
        ),
        Launch(528, 256, (1 << 16, N)),
        Launch(1024, 256, (1 << 16, N)),
    ),
    _fault(
        "few work-groups",
        "few-groups",
        *_swap(
            """
    float sum = x[i];
#pragma unroll 16
    for (int k = 0; k < @; k++) sum = sum * 0.5f + 1.0f;
    out[i] = sum;""",
            "8192",
            "2048",
        ),
        Launch(64, 256, (N, N)),
        Launch(256, 256, (N, N)),
    ),
    _fault(
        "work-groups of one wave",
        "few-waves",
        *_swap(
            """
    float sum = x[i];
#pragma unroll 16
    for (int k = 0; k < @; k++) sum = sum * 0.5f + 1.0f;
    out[i] = sum;""",
            "8192",
            "2048",
        ),
        Launch(256, 64, (N, N)),
        Launch(256, 256, (N, N)),
    ),
    _fault(
        "a barrier each turn",
        "idle-barriers",
        *_swap(
            """
    float sum = x[i];
#pragma unroll 1
    for (int k = 0; k < 64; k++) {
        if (__builtin_amdgcn_readfirstlane(t / 64) == (k & 3))
            for (int j = 0; j < 32; j++) sum = sum * 0.5f + 1.0f;
        @
    }
    out[i] = sum;""",
            "__syncthreads();",
            'asm volatile("" ::: "memory");',
        ),
        ONE,
    ),
    _fault(
        "one wave works",
        "imbalance",
        *_swap(
            """
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
    out[i] = sum;""",
            "if (__builtin_amdgcn_readfirstlane(t / 64) == 0) for (int j = 0; j < 512; j++)",
            "for (int j = 0; j < 128; j++)",
        ),
        ONE,
    ),
    _fault(
        "naps",
        "idling",
        *_swap(
            """
    float sum = x[i];
    #pragma unroll 1
    for (int k = 0; k < 256; k++) {
#pragma unroll
        for (int j = 0; j < 8; j++) sum = sum * 0.5f + 1.0f;
        @
    }
    out[i] = sum;""",
            "__builtin_amdgcn_s_sleep(2);",
            "",
        ),
        ONE,
    ),
)

_MANY = 1 << 22
WIDE = Launch(4096, 256, (_MANY, _MANY))
"""16 MB in and out, 16 bytes per lane."""

GOOD: tuple[Good, ...] = (
    Good("copy", _code(IN_OUT, "    ((float4 *)out)[i] = ((const float4 *)x)[i];"), WIDE),
    Good(
        "scaled sum",
        _code(
            IN_OUT,
            """
    float4 a = ((const float4 *)x)[i], b = ((float4 *)out)[i];
    b.x += 2 * a.x, b.y += 2 * a.y, b.z += 2 * a.z, b.w += 2 * a.w;
    ((float4 *)out)[i] = b;""",
        ),
        WIDE,
    ),
    Good(
        "a clamp",
        _code(
            IN_OUT,
            """
    float4 a = ((const float4 *)x)[i];
    a.x = fminf(fmaxf(a.x, 0.0f), 6.0f), a.y = fminf(fmaxf(a.y, 0.0f), 6.0f);
    a.z = fminf(fmaxf(a.z, 0.0f), 6.0f), a.w = fminf(fmaxf(a.w, 0.0f), 6.0f);
    ((float4 *)out)[i] = a;""",
        ),
        WIDE,
    ),
    Good(
        "a sigmoid",
        _code(
            IN_OUT,
            """
    float4 a = ((const float4 *)x)[i];
#define S(v) __builtin_amdgcn_rcpf(1.0f + __builtin_amdgcn_exp2f(-1.442695f * v))
    ((float4 *)out)[i] = {S(a.x), S(a.y), S(a.z), S(a.w)};""",
        ),
        WIDE,
    ),
    Good(
        "a polynomial",
        _code(
            IN_OUT,
            """
    float4 a = ((const float4 *)x)[i];
    float p = a.x, q = a.y, r = a.z, s = a.w;
#pragma unroll 16
    for (int k = 0; k < 256; k++) {
        p = p * a.x + 0.5f, q = q * a.y + 0.25f, r = r * a.z + 0.125f, s = s * a.w + 0.0625f;
    }
    ((float4 *)out)[i] = {p, q, r, s};""",
        ),
        WIDE,
    ),
    Good(
        "sums of rows",
        _code(
            IN_OUT,
            """
    float4 a = ((const float4 *)x)[i];
    float sum = (a.x + a.y) + (a.z + a.w);
    for (int k = 32; k > 0; k /= 2) sum += __shfl_xor(sum, k);
    if (t % 64 == 0) out[i / 64] = sum;""",
        ),
        Launch(4096, 256, (_MANY, 1 << 14)),
    ),
    Good(
        "a padded transpose",
        _code(
            IN_OUT,
            """
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
    }""",
        ),
        Launch(1024, 256, (_MANY, _MANY)),
    ),
    Good(
        "a mask of bits",
        _code(
            IN_OUT,
            """
    uint4 a = ((const uint4 *)x)[i];
    a.x = (a.x >> 3) ^ a.x, a.y = (a.y >> 3) ^ a.y, a.z = (a.z >> 3) ^ a.z, a.w = (a.w >> 3) ^ a.w;
    ((uint4 *)out)[i] = a;""",
        ),
        WIDE,
    ),
    Good(
        "two streams in one",
        _code(
            IN_OUT,
            """
    float4 a = ((const float4 *)x)[i], b = ((const float4 *)x)[i + 524288];
    ((float4 *)out)[i] = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};""",
        ),
        Launch(2048, 256, (_MANY, 1 << 21)),
    ),
    Good(
        "rows scaled by their root mean square",
        _code(
            IN_OUT,
            """
    __shared__ float part[4];
    float4 a = ((const float4 *)x)[i];
    float sum = a.x * a.x + a.y * a.y + a.z * a.z + a.w * a.w;
    for (int k = 32; k > 0; k /= 2) sum += __shfl_xor(sum, k);
    if (t % 64 == 0) part[t / 64] = sum;
    __syncthreads();
    float r = __builtin_amdgcn_rsqf((part[0] + part[1] + part[2] + part[3]) * (1.0f / 1024));
    ((float4 *)out)[i] = {a.x * r, a.y * r, a.z * r, a.w * r};""",
        ),
        WIDE,
    ),
)
