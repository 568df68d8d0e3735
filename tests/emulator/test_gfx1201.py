"""The first kernels of gfx1201 and gfx1250: what the pinned compiler makes of HIP, against NumPy and PyTorch.

Each kernel runs in waves of 32 and of 64 lanes, and a few as compiled without optimization.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench import errors, targets  # noqa: E402
from workbench.events import hub  # noqa: E402
from workbench.kernel import Module  # noqa: E402

SOURCE = r"""
#include <hip/hip_bf16.h>
#include <hip/hip_fp16.h>
#include <hip/hip_runtime.h>

__global__ void empty() {}

__global__ void axpy(int n, float a, const float *x, float *y) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

// The place of each item in a grid of three dimensions.
__global__ void places(int *out) {
    const int group = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const int item = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    out[group * blockDim.x * blockDim.y * blockDim.z + item] = group << 16 | item;
}

// The number of the wave in its work-group as Triton reads it: bits 29:25 of ttmp8.
__global__ void wave_numbers(int *out) {
    int number;
    asm volatile("s_bfe_u32 %0, ttmp8, 0x50019" : "=s"(number)::"scc");
    out[threadIdx.x] = number;
}

__global__ void integers(const int *x, const int *y, int *out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int a = x[i], b = y[i];
    const unsigned u = a, v = b;
    const long long product = (long long)a * b;
    out[i] = a / (b | 1);
    out[n + i] = (int)(product >> 32) ^ (int)product;
    out[2 * n + i] = __popc(a) + __clz(b) + __ffs(a);
    out[3 * n + i] = (u >> (v & 31)) | (a << (b & 7));
    out[4 * n + i] = u % (v | 1);
    out[5 * n + i] = (int)((unsigned long long)u * 0x123456789ull / (v | 3ull));
    out[6 * n + i] = (short)a * 5 + (signed char)b - (unsigned char)a;
    int sum = 0;
    for (int k = 0; k < (a & 15); k++) {
        sum += k & 1 ? b : -a * k;
        if ((sum & 7) == 3) break;
    }
    out[7 * n + i] = sum;
}

__global__ void floats(const float *x, const float *y, float *out, int n, float a, float b) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = x[i] / y[i];
    out[n + i] = sqrtf(fabsf(x[i]));
    out[2 * n + i] = fminf(x[i], y[i]) * fmaxf(x[i], 0.25f);
    out[3 * n + i] = floorf(x[i]) + ceilf(y[i]) - truncf(x[i] * 3) + rintf(y[i] * 5);
    out[4 * n + i] = (float)(int)(x[i] * 100) + (float)(unsigned)(fabsf(y[i]) * 100);
    out[5 * n + i] = (float)((double)x[i] * y[i] / 3.0);
    // Uniform numbers: the scalar unit has floats.
    float sum = a * b + a;
    if (sum > b) sum = fminf(sum, a) - b;
    out[6 * n + i] = floorf(sum) + (float)n + (float)(int)(a * 1000.0f) + (float)(unsigned)(a * 10.0f);
    out[7 * n + i] = expf(x[i]);
    out[8 * n + i] = sinf(x[i]) + logf(fabsf(y[i]) + 1);
}

__global__ void halves(const __half *x, const __half *y, __half *out, int n) {
    const int i = threadIdx.x;
    out[i] = x[i] + y[i];
    out[n + i] = x[i] * y[i];
    out[2 * n + i] = x[i] > y[i] ? x[i] : y[i];
    out[3 * n + i] = __float2half(__half2float(x[i]) * 3.0f);
    reinterpret_cast<__half2 *>(out + 4 * n)[i] =
        __hadd2(reinterpret_cast<const __half2 *>(x)[i], reinterpret_cast<const __half2 *>(y)[i]);
}

__global__ void brain_floats(const __hip_bfloat16 *x, const __hip_bfloat16 *y, __hip_bfloat16 *out) {
    out[threadIdx.x] = __float2bfloat16(__bfloat162float(x[threadIdx.x]) * __bfloat162float(y[threadIdx.x]));
}

// A sum through LDS of the whole block.
__global__ void sums(const int *x, int *out, int n) {
    __shared__ int part[256];
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}

__global__ void wide(const float4 *x, float4 *out) {
    __shared__ float4 turned[64];
    turned[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = turned[63 - threadIdx.x];
}

__global__ void shuffles(const int *x, int *out, int n) {
    int sum = x[threadIdx.x];
    for (int distance = warpSize / 2; distance; distance /= 2) sum += __shfl_xor(sum, distance);
    out[threadIdx.x] = sum;
    out[n + threadIdx.x] = __shfl(x[threadIdx.x], 5, 16);
    out[2 * n + threadIdx.x] = (int)__popcll(__ballot(threadIdx.x % 3 == 0)) * 256 + warpSize;
}

__global__ void atomics(int *out, unsigned long long *wide, float *single, double *twice) {
    __shared__ int local;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) local = 0;
    __syncthreads();
    atomicAdd(&local, i);
    if (atomicCAS(&local, -1, 5) == -1) atomicMax(&local, 1 << 30);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(out, local);
    atomicMax(out + 1, i);
    atomicMin(out + 2, -i);
    atomicXor(out + 3, 1 << (i % 20));
    atomicAnd(out + 4, ~(1 << (i % 10)));
    atomicCAS(out + 5, 0, 7);
    atomicInc((unsigned *)out + 6, 6);
    atomicAdd(wide, (unsigned long long)i << 20);
    atomicAdd(single, 0.5f);
    atomicAdd(twice, 0.25);
}

__device__ __noinline__ int factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }

// Calls, and scratch that is indexed at run time.
__global__ void scratch(const int *where, int *out) {
    int apart[17];
    for (int k = 0; k < 17; k++) apart[k] = k * threadIdx.x;
    apart[where[threadIdx.x]] += 5;
    out[threadIdx.x] = apart[where[threadIdx.x] / 2] + apart[where[threadIdx.x]];
    out[blockDim.x + threadIdx.x] = factorial(threadIdx.x % 10);
}

__global__ void gemm(int m, int n, int k, const float *a, const float *b, float *c) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    float sum = 0;
    for (int i = 0; i < k; i++) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}
"""
GRAPHICS = r"""
#include <hip/hip_runtime.h>
extern "C" __global__ void ray(float *x) {
    float next;
    asm volatile("ds_bvh_stack_push4_pop1_rtn_b32 %0, v0, v1, v[2:5]" : "=v"(next));
    x[threadIdx.x] = next;
}
"""
VARIANTS = {
    "wave32": ("gfx1201", ()),
    "wave64": ("gfx1201", ("-mwavefrontsize64",)),
    "gfx1250": ("gfx1250", ()),
    "gfx1100": ("gfx1100", ()),
    "gfx1100 wave64": ("gfx1100", ("-mwavefrontsize64",)),
}
PRODUCTS = {"gfx1201": "RX 9070 XT", "gfx1100": "RX 7900 XTX", "gfx1250": "MI455X"}


@pytest.fixture(scope="module", params=VARIANTS)
def module(request: pytest.FixtureRequest) -> Module:
    arch, flags = VARIANTS[request.param]
    return wb.compile(SOURCE, arch=arch, flags=flags)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(12)


def test_an_empty_kernel(module: Module) -> None:
    module["empty"][2, 64]()
    assert module["axpy"].info.wave_size in (32, 64)


def test_axpy(module: Module, random: np.random.Generator) -> None:
    x, y = random.standard_normal((2, 1000)).astype(np.float32)
    out = torch.from_numpy(y.copy())
    module["axpy"][8, 128](1000, 2.5, torch.from_numpy(x), out)
    # The compiler makes one rounding of the product and the sum.
    exact = np.float64(2.5) * x + y.astype(np.float64)
    assert np.array_equal(out.numpy(), exact.astype(np.float32))


def test_places_in_a_grid(module: Module) -> None:
    out = torch.zeros(12 * 24, dtype=torch.int32)
    module["places"][(3, 2, 2), (4, 3, 2)](out)
    group, item = np.divmod(np.arange(12 * 24), 24)
    assert np.array_equal(out.numpy(), group << 16 | item)


def test_a_wave_knows_its_number(module: Module) -> None:
    if not targets.target(module.arch).architected_group_ids:
        pytest.skip("its trap temporaries have no wave's number: LLVM selects no llvm.amdgcn.wave.id")
    out = torch.full((1024,), -1, dtype=torch.int32)
    module["wave_numbers"][1, 1024](out)
    assert torch.equal(out, torch.arange(1024, dtype=torch.int32) // module["axpy"].info.wave_size)


def test_integers_with_divergence(module: Module, random: np.random.Generator) -> None:
    n = 300
    x, y = random.integers(-(1 << 31), 1 << 31, (2, n))
    x[:3], y[:3] = (0, 5, -7), (0, -1, 3)
    out = torch.zeros(8 * n, dtype=torch.int32)
    tensors = [torch.from_numpy(values.astype(np.int32)) for values in (x, y)]
    module["integers"][3, 128](*tensors, out, n)
    rows = out.numpy().reshape(8, n)
    for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        u, v = a & 0xFFFFFFFF, b & 0xFFFFFFFF
        shifted = (u >> (v & 31) | a << (b & 7)) & 0xFFFFFFFF
        total = 0
        for k in range(a & 15):
            total = (total + (b if k & 1 else -a * k)) & 0xFFFFFFFF
            if total & 7 == 3:
                break
        divisor = b | 1
        quotient = abs(a) // abs(divisor) * (1 if (a < 0) == (divisor < 0) else -1)
        expected = (
            quotient,
            (a * b >> 32 ^ a * b),
            u.bit_count() + (32 - v.bit_length()) + (u & -u).bit_length(),
            shifted,
            u % (v | 1),
            u * 0x123456789 % (1 << 64) // (v | 3),
            ((a + (1 << 15)) % (1 << 16) - (1 << 15)) * 5 + (b + 128) % 256 - 128 - a % 256,
            total,
        )
        actual = rows[:, i].view(np.uint32).tolist()
        assert actual == [value & 0xFFFFFFFF for value in expected], (i, a, b)


def test_floats(module: Module, random: np.random.Generator) -> None:
    n, a, b = 200, np.float32(1.37), np.float32(0.61)
    x, y = random.standard_normal((2, n)).astype(np.float32) * 3
    out = torch.zeros(9 * n)
    module["floats"][2, 128](torch.from_numpy(x), torch.from_numpy(y), out, n, float(a), float(b))
    rows = out.numpy().reshape(9, n)
    wide = y.astype(np.float64)
    exact = (
        x / y,
        np.sqrt(np.abs(x)),
        np.minimum(x, y) * np.maximum(x, np.float32(0.25)),
        None,
        np.trunc(x * np.float32(100)) + np.trunc(np.abs(y) * np.float32(100)),
        (x * wide / 3).astype(np.float32),
    )
    for row, expected in zip(rows, exact, strict=False):
        if expected is not None:
            assert np.array_equal(row, expected)
    # Products may be part of a fused sum.
    rounded = np.floor(x) + np.ceil(y) - np.trunc(x * np.float32(3)) + np.rint(y * np.float32(5))
    assert np.abs(rows[3] - rounded).max() <= 1e-4
    total = min(float(a * b + a), float(a)) - float(b)
    assert set(rows[6].tolist()) == {np.floor(total) + n + 1370 + 13}
    assert np.allclose(rows[7], np.exp(x.astype(np.float64)), rtol=1e-6)
    assert np.allclose(rows[8], np.sin(x.astype(np.float64)) + np.log1p(np.abs(wide)), rtol=1e-5, atol=1e-6)


def test_halves(module: Module, random: np.random.Generator) -> None:
    n = 96
    x, y = random.standard_normal((2, 2 * n)).astype(np.float16)
    out = torch.zeros(6 * n, dtype=torch.float16)
    module["halves"][1, n](torch.from_numpy(x), torch.from_numpy(y), out, n)
    results = out.numpy()
    first, second = x[:n], y[:n]
    thrice = (first.astype(np.float32) * 3).astype(np.float16)
    expected = (first + second, first * second, np.maximum(first, second), thrice, x + y)
    assert np.array_equal(results, np.concatenate(expected))


def test_bfloat16(module: Module) -> None:
    x, y = torch.randn((2, 64), generator=torch.Generator().manual_seed(4)).bfloat16()
    out = torch.zeros(64, dtype=torch.bfloat16)
    module["brain_floats"][1, 64](x, y, out)
    assert torch.equal(out, (x.float() * y.float()).bfloat16())


def test_sums_through_shared_memory(module: Module, random: np.random.Generator) -> None:
    x = torch.from_numpy(random.integers(-1000, 1000, 3000).astype(np.int32))
    out = torch.zeros(3, dtype=torch.int32)
    module["sums"][3, 256](x, out, 3000)
    assert out.tolist() == 3 * [int(x.sum())]


def test_wide_accesses(module: Module) -> None:
    x = torch.arange(256, dtype=torch.float32).reshape(64, 4)
    out = torch.zeros_like(x)
    module["wide"][1, 64](x, out)
    assert torch.equal(out, x.flip(0))


@pytest.mark.parametrize("block", [64, 96])
def test_shuffles(module: Module, block: int) -> None:
    lanes = module["shuffles"].info.wave_size
    x = np.arange(block) ** 2
    out = torch.zeros(3 * block, dtype=torch.int32)
    if block % lanes == 0:
        module["shuffles"][1, block](torch.from_numpy(x.astype(np.int32)), out, block)
        waves = x.reshape(-1, lanes)
        assert np.array_equal(out[:block].numpy(), np.repeat(waves.sum(1), lanes))
        assert np.array_equal(out[block : 2 * block].numpy(), np.repeat(x.reshape(-1, 16)[:, 5], 16))
        counts = (np.arange(block).reshape(-1, lanes) % 3 == 0).sum(1)
        assert np.array_equal(out[2 * block :].numpy(), np.repeat(counts, lanes) * 256 + lanes)


def test_atomics(module: Module) -> None:
    out = torch.tensor([0, 0, 0, 0, -1, 0, 0], dtype=torch.int32)
    wide, single = torch.zeros(1, dtype=torch.int64), torch.zeros(1)
    twice = torch.zeros(1, dtype=torch.float64)
    module["atomics"][4, 100](out, wide, single, twice)
    items = range(400)
    assert out.tolist() == [sum(items), 399, -399, 0, -1 << 10, 7, 400 % 7]
    assert (wide.item(), single.item(), twice.item()) == (sum(items) << 20, 200.0, 100.0)


def test_scratch_and_calls(module: Module, random: np.random.Generator) -> None:
    block = 80
    where = random.integers(0, 17, block).astype(np.int32)
    out = torch.zeros(2 * block, dtype=torch.int32)
    module["scratch"][1, block](torch.from_numpy(where), out)
    item = np.arange(block)
    apart = np.arange(17) * item[:, None]
    apart[item, where] += 5
    assert np.array_equal(out[:block].numpy(), apart[item, where // 2] + apart[item, where])
    factorials = np.array([1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880])
    assert np.array_equal(out[block:].numpy(), factorials[item % 10])


@pytest.mark.parametrize("arch", PRODUCTS)
def test_kernels_compiled_without_optimization(random: np.random.Generator, arch: str) -> None:
    module = wb.compile(SOURCE, arch=arch, flags=["-O0"])
    test_axpy(module, random)
    test_integers_with_divergence(module, random)
    test_shuffles(module, 64)
    test_scratch_and_calls(module, random)


def test_a_matrix_product(module: Module, random: np.random.Generator) -> None:
    a, b = random.integers(-8, 9, (33, 29)), random.integers(-8, 9, (29, 17))
    c = torch.zeros(33, 17)
    tensors = [torch.from_numpy(values.astype(np.float32)) for values in (a, b)]
    module["gemm"][(2, 5), (16, 8)](33, 17, 29, *tensors, c)
    assert np.array_equal(c.numpy(), a @ b)


@pytest.fixture(scope="module")
def graphics() -> Module:
    return wb.compile(GRAPHICS, arch="gfx1201")


def test_an_unknown_instruction_is_refused_by_name(graphics: Module) -> None:
    x = torch.ones(32)
    with pytest.raises(errors.UnsupportedInstruction, match=r"ds_bvh_stack.*Nothing was run"):
        graphics["ray"][1, 32](x)
    assert x.tolist() == [1.0] * 32


@pytest.mark.parametrize("flags", [(), ("-mwavefrontsize64",), ("-O0",)])
def test_right_kernels_are_clean(flags: tuple[str, ...]) -> None:
    """The sanitizer has nothing to say about what a compiler makes of right kernels, its spills included."""
    kernels = wb.compile(SOURCE, arch="gfx1201", flags=flags)
    x, out = torch.arange(1, 1025, dtype=torch.int32), torch.zeros(1 << 14, dtype=torch.int32)
    y = torch.rand(1024)
    launches = {
        "axpy": (8, 128, (1000, 2.0, y, y.clone())),
        "integers": (4, 256, (x, x, out, 1000)),
        "sums": (2, 256, (x, out, 1024)),
        "wide": (1, 64, (torch.rand(256), torch.zeros(256))),
        "shuffles": (1, 64, (x, out, 64)),
        "scratch": (1, 64, (x[:64] % 17, out)),
        "gemm": ((2, 2), (16, 16), (32, 32, 32, y, y, torch.zeros(1024))),
    }
    for name, (grid, block, arguments) in launches.items():
        result = wb.sanitize(kernels[name][grid, block], *arguments)
        assert result.passed, str(result)


@pytest.mark.parametrize("flags", [(), ("-mwavefrontsize64",)])
def test_loads_may_come_late(flags: tuple[str, ...]) -> None:
    module = wb.compile(SOURCE, arch="gfx1201", flags=flags)
    x, out = torch.arange(1024, dtype=torch.int32), torch.zeros(2, dtype=torch.int32)
    with wb.late_loads():
        module["sums"][2, 256](x, out, 1024)
    assert out.tolist() == [int(x.sum())] * 2


LATE = r"""
#include <hip/hip_runtime.h>
// Without the wait for loads, hardware may add what was in the register before.
extern "C" __global__ void too_early(const float *in, float *out) {
    float x, y;
    unsigned at = threadIdx.x * 4;
    asm volatile("v_mov_b32 %0, 0\n\tglobal_load_b32 %0, %2, %3\n\tglobal_store_b32 %2, %2, %4 offset:1024"
                 "\n\t" WAIT "\n\tv_add_f32 %1, %0, %0\n\ts_wait_loadcnt 0x0"
                 : "=&v"(x), "=&v"(y) : "v"(at), "s"(in), "s"(out) : "memory");
    out[threadIdx.x] = y;
}
"""


@pytest.mark.parametrize(
    ("wait", "sums"),
    [("s_wait_storecnt 0x0", 0.0), ("s_wait_loadcnt 0x1", 0.0), ("s_wait_loadcnt 0x0", 6.0)],
)
def test_a_late_load_comes_at_the_wait_for_it(wait: str, sums: float) -> None:
    """A store behind a load does not push it out: stores have a counter of their own."""
    kernel = wb.compile(LATE, arch="gfx1201", define=[f'WAIT="{wait}"'])["too_early"]
    out = torch.zeros(512)
    with wb.late_loads():
        kernel[1, 32](torch.full((32,), 3.0), out)
    assert out[:32].tolist() == [sums] * 32


COUNTED = r"""
#include <hip/hip_runtime.h>
extern "C" __global__ void counted(float *out) {
    __shared__ float s[4096];
    unsigned at = (unsigned)(size_t)(__attribute__((address_space(3))) float *)&s[threadIdx.x * STRIDE / 4];
    float x = out[threadIdx.x];
    asm volatile(LOADED "\n\t.rept " VALU "\n\tv_add_f32 %0, %0, %0\n\t.endr\n\t"
                 "v_dual_mov_b32 v10, %0 :: v_dual_mov_b32 v11, 0\n\t"
                 "ds_store_b32 %1, %0\n\t" STORED
                 : "+v"(x) : "v"(at) : "v10", "v11", "memory");
}
"""


WAITS = {
    "gfx1201": ("s_wait_loadcnt 0x0", "s_wait_dscnt 0x0"),
    "gfx1100": ("s_waitcnt vmcnt(0)", "s_waitcnt lgkmcnt(0)"),
}


@pytest.mark.parametrize(
    ("arch", "stride", "conflicts"),
    [("gfx1201", 4, 0), ("gfx1201", 8, 1), ("gfx1201", 128, 31), ("gfx1100", 8, 1)],
)
def test_counters_have_the_names_of_later_targets(arch: str, stride: int, conflicts: int) -> None:
    """Three waves of 32 lanes; a stride of 32 banks sends all lanes of a wave to one."""
    loaded, stored = WAITS[arch]
    define = [f"STRIDE={stride}", f'LOADED="{loaded}"', f'STORED="{stored}"']
    profile, more = (
        wb.profile(
            wb.compile(COUNTED, arch=arch, define=[*define, f'VALU="{valu}"'])["counted"][1, 96],
            torch.zeros(96),
        )
        for valu in (5, 6)
    )
    counters = {name: figure.value for name, figure in profile.counters.items()}
    assert counters["SQ_WAVES"] == 3
    assert counters["SQ_INSTS_LDS"] == 3
    assert counters["SQC_LDS_BANK_CONFLICT"] == 3 * conflicts
    assert counters["SQC_LDS_IDX_ACTIVE"] == 3 * (1 + conflicts)
    assert more["SQ_INSTS_VALU"].value - counters["SQ_INSTS_VALU"] == 3
    assert counters["SQ_WAVE32_INSTS"] > 0
    assert counters["SQ_WAVE64_INSTS"] == 0
    assert not {"SQ_INSTS", "SQ_LDS_BANK_CONFLICT", "TCC_HIT_sum"} & set(counters)
    assert not profile.has_time
    counted = hub.history("counted")[-1]
    assert counted.data["device"] == profile.device
    assert "no time is modelled" in counted.data["reason"]
    assert f"no time is modelled for {PRODUCTS[arch]}" in str(profile)
    assert "no time is modelled" in profile._repr_html_()
    with pytest.raises(errors.ProfilerError, match="no time is modelled"):
        profile.time  # noqa: B018
    with pytest.raises(errors.ProfilerError, match="no advice"):
        profile.advice  # noqa: B018


def test_the_device_is_a_product_without_a_machine_model(module: Module) -> None:
    arch = module.arch
    device = wb.device(PRODUCTS[arch])
    assert (device.arch, device.name) == (arch, f"emulated:{arch}")
    x = torch.ones(100)
    with pytest.raises(errors.WorkbenchError, match=f"no time is modelled for {PRODUCTS[arch]}"):
        wb.time(module["axpy"][1, 128], 100, 2.0, x, x)
    with pytest.raises(errors.AddressFault, match="lane 4 of wave 3" if _is_narrow(module) else "lane 36"):
        module["axpy"][2, 128](1000, 2.0, x, x)


def _is_narrow(module: Module) -> bool:
    return module["axpy"].info.wave_size == 32


ASSEMBLY = r"""
#include <hip/hip_runtime.h>
// What compilers seldom make: halves of a dual instruction that exchange registers, v_cmpx, lanes of DPP.
extern "C" __global__ void lanes(const int *x, int *out) {
    const int i = threadIdx.x, mine = x[i], other = x[i + 32];
    int a, b, c, d, e, f, g;
    asm volatile("v_mov_b32 v8, %2\n v_mov_b32 v9, %3\n"
                 "v_dual_mov_b32 v8, v9 :: v_dual_add_nc_u32 v9, v8, v9\n"
                 "v_mov_b32 %0, v8\n v_mov_b32 %1, v9"
                 : "=&v"(a), "=&v"(b) : "v"(mine), "v"(other) : "v8", "v9");
    asm volatile("v_mov_b32 %0, 7\n s_mov_b32 s20, exec_lo\n v_cmpx_lt_i32 %1, %2\n v_mov_b32 %0, 9\n"
                 "s_mov_b32 exec_lo, s20"
                 : "=&v"(c) : "v"(mine), "v"(other) : "s20", "vcc");
    asm volatile("v_mov_b32_dpp %0, %1 dpp8:[7,6,5,4,3,2,1,0]" : "=v"(d) : "v"(mine));
    asm volatile("v_mov_b32_dpp %0, %1 row_xmask:5 row_mask:0xf bank_mask:0xf" : "=v"(e) : "v"(mine));
    // Lanes that are off give 0, or with fi their value.
    f = g = -1;
    if (i & 1) {
        asm volatile("v_mov_b32_dpp %0, %1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1"
                     : "+v"(f) : "v"(mine));
        asm volatile("v_mov_b32_dpp %0, %1 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1 fi:1"
                     : "+v"(g) : "v"(mine));
    }
    const int values[] = {a, b, c, d, e, f, g};
    for (int row = 0; row < 7; row++) out[32 * row + i] = values[row];
}

extern "C" __global__ void scalars(float a, float b, int n, float *out) {
    float sum, small;
    int whole, less;
    asm volatile("s_fmac_f32 %0, %1, %2" : "=s"(sum) : "s"(a), "s"(b), "0"(n * 0.5f));
    asm volatile("s_min_num_f32 %0, %1, %2" : "=s"(small) : "s"(a), "s"(__builtin_nanf("")));
    asm volatile("s_cvt_i32_f32 %0, %1" : "=s"(whole) : "s"(a * -1e30f));
    asm volatile("s_cmp_lt_f32 %1, %2\n s_cselect_b32 %0, 3, 4" : "=s"(less) : "s"(a), "s"(b) : "scc");
    out[0] = sum, out[1] = small, out[2] = whole, out[3] = less;
}
"""


@pytest.fixture(scope="module")
def assembly() -> Module:
    return wb.compile(ASSEMBLY, arch="gfx1201")


def test_lanes_in_assembly(assembly: Module, random: np.random.Generator) -> None:
    x = random.integers(0, 1000, 64).astype(np.int32)
    out = torch.zeros(7 * 32, dtype=torch.int32)
    assembly["lanes"][1, 32](torch.from_numpy(x), out)
    mine, other, item = x[:32], x[32:], np.arange(32)
    odd = item % 2 == 1
    expected = (
        other,
        mine + other,
        np.where(mine < other, 9, 7),
        mine[item ^ 7],
        mine[item ^ 5],
        np.where(odd, 0, -1),
        np.where(odd, mine[item - 1], -1),
    )
    for row, values in zip(out.numpy().reshape(7, 32), expected, strict=True):
        assert np.array_equal(row, values)


def test_scalar_floats_in_assembly(assembly: Module) -> None:
    out = torch.zeros(4)
    assembly["scalars"][1, 32](1.5, 2.25, 3, out)
    assert out.tolist() == [1.5 * 2.25 + 1.5, 1.5, float(-(1 << 31)), 3.0]
