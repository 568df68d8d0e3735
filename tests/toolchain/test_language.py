"""C++ in kernels: virtual functions, C's memory functions, complex numbers, managed variables; and the HIP
headers' functions of lanes, bits and conversions whose tests need a whole wave or a rounding."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.targets import NAMES


def run(
    source: str, *arrays: np.ndarray, arch: str = "gfx950", flag: str = "-O3", grid: int = 1, block: int = 64
) -> None:
    """Compile a source with a kernel k and run it on the arrays."""
    module = wb.compile(source, arch=arch, name="language.hip", flags=[flag])
    module["k"][grid, block](*[torch.from_numpy(array) for array in arrays])


@pytest.mark.parametrize("flag", ["-O0", "-O3"])
@pytest.mark.parametrize("arch", NAMES)
def test_classes_with_virtual_functions(arch: str, flag: str) -> None:
    out = np.zeros((2, 64), np.float32)
    run(
        """#include <hip/hip_runtime.h>
#include <new>
struct Shape {
    __device__ virtual ~Shape() {}
    __device__ virtual float area() const = 0;
};
struct Square : Shape {
    float side;
    __device__ explicit Square(float side) : side(side) {}
    __device__ float area() const override { return side * side; }
};
struct Rectangle final : Square {
    float other;
    __device__ Rectangle(float a, float b) : Square(a), other(b) {}
    __device__ ~Rectangle() override { side = -1; }
    __device__ float area() const override { return side * other; }
};
using Function = float (*)(float);
__device__ float half(float x) { return x / 2; }
__device__ float next(float x) { return x + 1; }
__device__ Function functions[2] = {half, next};
__device__ __attribute__((noinline)) int fibonacci(int n) {
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
__global__ void k(float *out) {
    const int i = threadIdx.x;
    alignas(16) char room[sizeof(Rectangle)];
    Shape *shape = i & 1 ? static_cast<Shape *>(new (room) Square(i)) : new (room) Rectangle(i, 3);
    out[i] = functions[i % 3 == 0](shape->area());
    shape->~Shape();
    out[64 + i] = fibonacci(i % 15);
}""",
        out,
        arch=arch,
        flag=flag,
    )
    fibonacci = [0, 1]
    while len(fibonacci) < 15:
        fibonacci.append(sum(fibonacci[-2:]))
    for i in range(64):
        area = i * i if i & 1 else 3 * i
        assert out[0, i] == (area + 1 if i % 3 == 0 else area / 2)
        assert out[1, i] == fibonacci[i % 15]


@pytest.mark.parametrize("flag", ["-O0", "-O3"])
def test_memory_functions(flag: str) -> None:
    out = np.full((64, 40), 0x55, np.uint8)
    run(
        """#include <hip/hip_runtime.h>
#include <cstring>
__global__ void k(unsigned char *out) {
    __shared__ unsigned char shared[64][16];
    const unsigned i = threadIdx.x;
    unsigned char own[16];
    for (unsigned j = 0; j < 16; ++j) own[j] = i + j;
    std::memcpy(shared[i], own, sizeof own);
    memmove(own + 2, own, i % 14);
    memcpy(out + 40 * i, shared[63 - i], 16);
    std::memcpy(out + 40 * i + 16, own, 16);
    memset(out + 40 * i + 32, i, i % 8);
}""",
        out.reshape(-1),
        flag=flag,
    )
    for i in range(64):
        private = bytearray(i + j & 255 for j in range(16))
        private[2 : 2 + i % 14] = private[: i % 14]
        assert bytes(out[i, :16]) == bytes(63 - i + j for j in range(16))
        assert bytes(out[i, 16:32]) == bytes(private)
        assert bytes(out[i, 32:]) == bytes([i] * (i % 8) + [0x55] * (8 - i % 8))


@pytest.mark.parametrize("kind", ["float", "double"])
def test_complex_numbers(generator: np.random.Generator, kind: str) -> None:
    dtype = np.float32 if kind == "float" else np.float64
    special = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan]
    pairs = np.array(list(itertools.product(special, repeat=4)))
    values = generator.standard_normal((1000, 4)) * 2.0 ** generator.integers(-20, 20, (1000, 4))
    a = np.concatenate([pairs, values]).astype(dtype)
    out = np.zeros((len(a), 8), dtype)
    run(
        f"""#include <hip/hip_runtime.h>
#include <complex>
#include <hip/hip_complex.h>
__global__ void k(const {kind} *a, {kind} *out, const int *n) {{
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= *n) return;
    const std::complex<{kind}> x(a[4 * i], a[4 * i + 1]), y(a[4 * i + 2], a[4 * i + 3]);
    const std::complex<{kind}> product = x * y, quotient = x / y;
    out[8 * i] = product.real();
    out[8 * i + 1] = product.imag();
    out[8 * i + 2] = quotient.real();
    out[8 * i + 3] = quotient.imag();
    const {kind}2 p{{x.real(), x.imag()}}, q{{y.real(), y.imag()}};
    const {kind}2 divided = hipCdiv{"f" if kind == "float" else ""}(p, q);
    out[8 * i + 4] = divided.x;
    out[8 * i + 5] = divided.y;
    out[8 * i + 6] = hipCabs{"f" if kind == "float" else ""}(p);
    out[8 * i + 7] = hipCmul{"f" if kind == "float" else ""}(p, hipConj{"f" if kind == "float" else ""}(q)).x;
}}""",
        a,
        out,
        np.array([len(a)], np.int32),
        grid=len(a) // 64 + 1,
    )
    few = 16 * float(np.finfo(dtype).eps)
    for (p, q, r, s), row in zip(a.astype(float), out.astype(float), strict=True):
        x, y = complex(p, q), complex(r, s)
        infinite = [any(map(math.isinf, pair)) for pair in ((p, q), (r, s))]
        unknown = [any(map(math.isnan, pair)) for pair in ((p, q), (r, s))]
        if not any(infinite) and not any(unknown):
            assert abs(complex(row[0], row[1]) - x * y) <= few * abs(x) * abs(y)
            assert row[6] == pytest.approx(abs(x), rel=few)
            assert row[7] == pytest.approx((x * y.conjugate()).real, abs=few * abs(x) * abs(y))
            if y != 0:
                assert abs(complex(row[2], row[3]) - x / y) <= few * abs(x / y)
                assert abs(complex(row[4], row[5]) - x / y) <= few * abs(x / y)
            elif x != 0:
                assert any(map(math.isinf, row[2:4]))
        # Annex G of C: an infinite number times one that is not zero is infinite; divided by a finite one it
        # also is; a finite number divided by an infinite one is zero.
        one_infinite = infinite[0] and y != 0 and not (unknown[1] and not infinite[1])
        if one_infinite:
            assert any(map(math.isinf, row[:2])), (x, y, row)
        if infinite[0] and not infinite[1] and not unknown[1]:
            assert any(map(math.isinf, row[2:4])), (x, y, row)
        if infinite[1] and not infinite[0] and not unknown[0]:
            assert row[2] == row[3] == 0, (x, y, row)


@pytest.mark.parametrize("arch", NAMES)
def test_managed_variables(arch: str) -> None:
    source = """#include <hip/hip_runtime.h>
__managed__ int counter = 5;
__managed__ float table[100] = {1, 2, 3};
__device__ int plain = 7;
__global__ void k(int *out) {
    const int before = atomicAdd(&counter, 1);
    table[threadIdx.x] += before - before;
    if (threadIdx.x == 0) out[1] = table[1] * 10 + table[63] + plain;
}
__global__ void get(int *out) { out[0] = counter; }"""
    module = wb.compile(source, arch=arch, name="managed.hip")
    out = torch.zeros(2, dtype=torch.int32)
    module["k"][1, 64](out)
    module["get"][1, 1](out)
    assert out.tolist() == [69, 27]


def test_the_lanes_of_a_mask(generator: np.random.Generator) -> None:
    values = generator.integers(0, 4, 64).astype(np.int32)
    values[7], values[9] = 2, 3
    mask = sum(1 << lane for lane in range(64) if values[lane] > 1)
    out = np.full((12, 64), -99, np.int64)
    run(
        """#include <hip/hip_runtime.h>
__global__ void k(const int *a, long long *out) {
    const int i = threadIdx.x, v = a[i];
    const unsigned long long mask = __ballot(v > 1);
    if (v > 1) {
        int same;
        out[i] = __reduce_add_sync(mask, v * i);
        out[64 + i] = __reduce_min_sync(mask, 100 - i) + 1000 * __reduce_max_sync(mask, (unsigned)i);
        out[128 + i] = __reduce_and_sync(mask, v + 4u) + 100 * __reduce_or_sync(mask, v) +
                       10000 * __reduce_xor_sync(mask, v);
        out[192 + i] = __match_any_sync(mask, v);
        out[256 + i] = __match_all_sync(mask, int(v > 1), &same) * same;
        out[320 + i] = __match_all_sync(mask, v, &same) + same;
        out[384 + i] = __reduce_add_sync(mask, i);
    }
    out[448 + i] = __fns64(mask, i, 2) + 1000ll * __fns64(mask, i, -1) + 1000000ll * __fns64(mask, i, 0);
    out[512 + i] = __fns32(mask, i % 32, 1);
    out[576 + i] = __bitextract_u64(mask, i, 13) ^ __bitinsert_u64(mask, 0x1234567, i % 40, 24);
    out[640 + i] = __hip_ds_bpermute(4 * (i ^ 5), v) + 100 * __hip_ds_swizzle(v, 0x041f) +
                   10000 * (int)__hip_ds_swizzlef(v, 0x081f) +
                   1000000 * __hip_move_dpp(v, 0xb1, 0xf, 0xf, true);
    out[704 + i] = __hip_ds_permute(4 * (i ^ 5), v) + 100 * (int)__hip_ds_bpermutef(4 * (63 - i), v);
}""",
        values,
        out,
    )
    lanes = np.flatnonzero(values > 1)
    active = values[lanes].astype(np.int64)
    got = out[:, lanes]
    assert (np.delete(out[:7], lanes, 1) == -99).all()
    assert (got[0] == (active * lanes).sum()).all()
    assert (got[1] == 100 - lanes[-1] + 1000 * lanes[-1]).all()
    both = np.bitwise_and.reduce(active + 4) + 100 * np.bitwise_or.reduce(active)
    assert (got[2] == both + 10000 * np.bitwise_xor.reduce(active)).all()
    signed = lambda bits: (bits & (1 << 64) - 1) - ((bits >> 63 & 1) << 64)  # noqa: E731
    assert got[3].tolist() == [
        signed(sum(1 << int(lane) for lane in lanes if values[lane] == v)) for v in active
    ]
    assert (got[4] == signed(mask)).all()
    assert (got[5] == 0).all()
    assert (got[6] == lanes.sum()).all()

    def nth(bits: int, base: int, offset: int) -> int:
        if offset == 0:
            return base if bits >> base & 1 else -1
        places = range(base, 64) if offset > 0 else range(base, -1, -1)
        lanes_set = [place for place in places if bits >> place & 1]
        return lanes_set[abs(offset) - 1] if len(lanes_set) >= abs(offset) else -1

    for i in range(64):
        assert out[7, i] == nth(mask, i, 2) + 1000 * nth(mask, i, -1) + 1000000 * nth(mask, i, 0)
        assert out[8, i] == nth(mask & 0xFFFFFFFF, i % 32, 1)
        window = (1 << 24) - 1 << i % 40
        inserted = mask & ~window | (0x1234567 << i % 40) & window
        assert out[9, i] == signed((mask >> i & 0x1FFF) ^ inserted)
        assert (
            out[10, i]
            == values[i ^ 5] + 100 * values[i ^ 1] + 10000 * values[i ^ 2] + 1000000 * values[i ^ 1]
        )
        assert out[11, i] == values[i ^ 5] + 100 * values[63 - i]


def test_conversions_round_as_their_names_say(generator: np.random.Generator) -> None:
    edges = [
        0,
        1,
        -1,
        2**24,
        2**24 + 1,
        -(2**24) - 1,
        2**53 + 1,
        -(2**53) - 1,
        2**63 - 1,
        -(2**63),
        2**62 + 1,
    ]
    integers = np.concatenate([edges, generator.integers(-(2**63), 2**63, 117)]).astype(np.int64)
    integers[64:96] >>= 28
    doubles = generator.standard_normal(128) * 2.0 ** generator.integers(-160, 140, 128)
    doubles[:8] = [0.0, 1e300, -1e300, 1e-300, -1e-300, 3.4028236e38, 1 / 3, -1 / 3]
    names = [
        ("ll", "float", "l"), ("ull", "float", "(unsigned long long)l"), ("ll", "double", "l"),
        ("ull", "double", "(unsigned long long)l"), ("int", "float", "(int)l"),
        ("uint", "float", "(unsigned)l"),
        ("double", "float", "d"),
    ]  # fmt: skip
    lines = [
        f"out[({4 * n + m}) * 128 + i] = __{source}2{to}_{mode}({value});"
        for n, (source, to, value) in enumerate(names)
        for m, mode in enumerate(("rn", "rz", "ru", "rd"))
    ]
    out = np.zeros((len(lines), 128))
    body = "\n".join(lines)
    run(
        f"""#include <hip/hip_runtime.h>
__global__ void k(const long long *a, const double *b, double *out) {{
    const int i = threadIdx.x;
    const long long l = a[i];
    const double d = b[i];
    {body}
}}""",
        integers,
        doubles,
        out,
        block=128,
    )
    for n, (source, to, _) in enumerate(names):
        dtype = np.float32 if to == "float" else np.float64
        bits = {"ll": 64, "ull": 64, "int": 32, "uint": 32}.get(source)
        for i in range(128):
            if bits is None:
                exact = Fraction(float(doubles[i]))
            else:
                plain = int(integers[i]) % (1 << bits)
                exact = Fraction(plain - (1 << bits) * (source in ("ll", "int") and plain >> (bits - 1)))
            got = out[4 * n : 4 * n + 4, i]
            assert (got.astype(dtype).astype(float) == got).all()
            nearest, towards, above, below = got
            for value, side in ((above, 1), (below, -1)):
                if math.isinf(value):
                    assert side * exact > float(np.finfo(dtype).max)
                    continue
                assert side * Fraction(value) >= side * exact
                with np.errstate(over="ignore"):
                    closer = float(np.nextafter(dtype(value), dtype(-side * math.inf)))
                assert math.isinf(closer) or side * Fraction(closer) < side * exact
            assert towards == (below if exact >= 0 else above)
            assert nearest in (above, below)
            if math.isfinite(above) and math.isfinite(below):
                distances = [abs(Fraction(side) - exact) for side in (nearest, above, below)]
                assert distances[0] == min(distances)


def test_numbers_of_two_types_and_lengths_of_vectors(generator: np.random.Generator) -> None:
    x = generator.standard_normal(64 * 6).astype(np.float32)
    y = generator.standard_normal(64 * 6) * 2.0 ** generator.integers(-500, 500)
    y[:6] = [1e300, 2e300, -2e300, 0, 1, 2]
    out = np.zeros((7, 64))
    run(
        """#include <hip/hip_runtime.h>
#include <hip/hip_math_constants.h>
static_assert(HIP_VERSION_MAJOR == 7 && HIP_PI_F == 3.14159265358979f && HIP_LN2 == 0.6931471805599453);
static_assert(__is_same(decltype(max(1.0f, 2.0)), double) && __is_same(decltype(max(1, 2l)), long));
static_assert(__is_same(decltype(min((short)1, 2)), int) && __is_same(decltype(min(1, 2u)), unsigned));
__global__ void k(const float *x, const double *y, double *out) {
    const int i = threadIdx.x;
    out[i] = max(x[6 * i], 0.25) + min(i, 7ll) + max(3ull, i) + max(i, 2.5f);
    out[64 + i] = normf(6, x + 6 * i);
    out[128 + i] = norm(6, y + 6 * i);
    out[192 + i] = norm3d(y[6 * i], y[6 * i + 1], y[6 * i + 2]);
    out[256 + i] = rnorm4d(y[6 * i], y[6 * i + 1], y[6 * i + 2], y[6 * i + 3]);
    out[320 + i] = isnan(nanf("")) + 2 * isnan(nan("1")) + 4 * isnan(i) + 8 * isfinite(i);
    out[384 + i] = rnormf(6, x + 6 * i);
}""",
        x,
        y,
        out,
    )
    rows, wide = x.reshape(64, 6).astype(float), y.reshape(64, 6)
    i = np.arange(64)
    mixed = np.maximum(rows[:, 0], 0.25) + np.minimum(i, 7) + np.maximum(3, i) + np.maximum(i, 2.5)
    np.testing.assert_array_equal(out[0], mixed)
    lengths = [math.hypot(*row) for row in wide]
    np.testing.assert_allclose(out[1], [math.hypot(*row) for row in rows], rtol=1e-7)
    np.testing.assert_allclose(out[2], lengths, rtol=1e-15)
    np.testing.assert_allclose(out[3], [math.hypot(*row[:3]) for row in wide], rtol=1e-15)
    np.testing.assert_allclose(out[4], [1 / math.hypot(*row[:4]) for row in wide], rtol=1e-15)
    assert (out[5] == 11).all()
    np.testing.assert_allclose(out[6], [1 / math.hypot(*row) for row in rows], rtol=1e-6)


def test_vectors_in_arguments_and_shared_memory(generator: np.random.Generator) -> None:
    """In a kernel argument too; vectors are made of numbers of other types."""
    x = generator.standard_normal((64, 4)).astype(np.float32)
    out, three = np.zeros((64, 8), np.float32), np.zeros((64, 3), np.int32)
    module = wb.compile(
        """#include <hip/hip_runtime.h>
constexpr float4 four{1, 2u, 3.0, 4};
static_assert(four.z == 3 && four[3] == 4 && (four + four).y == 4);
static_assert(float2(3).x == 3 && float2(3).y == 0 && int4{2}.w == 0 && int3{1, 2, 3}.z == 3);
static_assert((float2(3) + 1).y == 1 && (2 * make_float2(1, 2)).y == 4);
static_assert(sizeof(float3) == 12 && alignof(float3) == 4 && sizeof(char3) == 3 && alignof(double4) == 32);
static_assert(std::is_trivially_default_constructible_v<float4> && std::is_trivially_copyable_v<uint2>);
__global__ void k(const float4 *x, float4 *out, int3 *three, float4 add) {
    __shared__ float4 shared[64];
    const int i = threadIdx.x;
    float4 sum = x[i];
    sum = sum * 2.0f + add;
    shared[i] = sum;
    __syncthreads();
    out[2 * i] = shared[63 - i];
    sum = {sum.w, sum.z, sum.z, sum.w};
    out[2 * i + 1] = sum;
    int3 counted{i, i + 1, i + 2};
    counted[1] = -counted.y;
    three[i] = counted;
}""",
        arch="gfx942",
        name="language.hip",
    )
    add = dict(zip("xyzw", (1.0, -2.0, 0.5, 8.0), strict=True))
    module["k"][1, 64](torch.from_numpy(x), torch.from_numpy(out), torch.from_numpy(three), add)
    summed = x * 2 + np.array(list(add.values()), np.float32)
    np.testing.assert_allclose(out[:, :4], summed[::-1], rtol=1e-6)
    np.testing.assert_allclose(out[:, 4:], summed[:, [3, 2, 2, 3]], rtol=1e-6)
    i = np.arange(64)
    np.testing.assert_array_equal(three, np.stack([i, -i - 1, i + 2], 1))
