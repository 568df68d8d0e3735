"""The HIP headers' device functions, compiled by the toolchain and executed by the emulated device."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from workbench import runtime, toolchain
from workbench.errors import CompileError
from workbench.targets import TILE_TARGETS, target
from workbench.toolchain import CompileOptions, compile_device

UNARY = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "ceil", "cos", "cosh", "erf", "erfc", "exp"),
    *("exp2", "expm1", "fabs", "floor", "lgamma", "log", "log10", "log1p", "log2", "logb", "nearbyint"),
    *("rint", "round", "sin", "sinh", "sqrt", "tan", "tanh", "tgamma", "trunc"),
)
BINARY = (*("atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "nextafter", "pow", "remainder"),)


def launch(
    body: str,
    *arrays: np.ndarray,
    arch: str = "gfx950",
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (64, 1, 1),
    top: str = "",
    flags: Sequence[str] = (),
) -> None:
    """Run a kernel whose body sees the arrays as pointers a, b, c, ... and its thread's number as i."""
    names = "abcdefgh"
    types = {
        "float32": "float", "float64": "double", "int32": "int", "uint32": "unsigned",
        "uint16": "unsigned short",
        "uint8": "unsigned char", "int64": "long long", "uint64": "unsigned long long",
    }  # fmt: skip
    parameters = ", ".join(
        f"{types[array.dtype.name]} *{name}" for array, name in zip(arrays, names, strict=False)
    )
    source = (
        "#include <hip/hip_runtime.h>\n#include <hip/hip_fp8.h>\n"
        f'{top}\nextern "C" __global__ void k({parameters}) {{\n'
        f"    int i = threadIdx.x + blockDim.x * blockIdx.x;\n{body}\n}}\n"
    )
    result = compile_device(source, CompileOptions(arch, name="device.hip", flags=flags))
    assert result.diagnostics == ()
    function = runtime.device(f"emulated:{arch}").load(result.code_object).function("k")
    arguments = b"".join(struct.pack("<Q", array.ctypes.data) for array in arrays)
    function.launch(
        grid, block, 0, arguments, buffers=[(array.ctypes.data, array.nbytes) for array in arrays]
    )


def test_every_math_function_compiles_for_every_type(zig: toolchain.Compiler) -> None:
    """The other compiler, and the oldest target, compile them in test_math_api.py."""
    lines = []
    for name in UNARY:
        lines.append(f"x[n++] = {name}(x[0]) + {name}f(x[0]) + std::{name}(x[0]);")
        lines.append(f"d[n++] = {name}(d[0]) + std::{name}(d[0]) + {name}(k) + std::{name}(k);")
        lines.append(f"static_assert(sizeof({name}(x[0])) == 4 && sizeof(std::{name}(d[0])) == 8);")
    for name in BINARY:
        lines.append(f"x[n++] = {name}(x[0], x[1]) + {name}f(x[0], x[1]) + std::{name}(x[0], x[1]);")
        lines.append(
            f"d[n++] = {name}(d[0], d[1]) + std::{name}(d[0], d[1]) + {name}(d[0], k) + {name}(x[0], 2.0);"
        )
    source = "#include <cmath>\n__global__ void math(float *x, double *d, int k) {\n    int n = 0;\n"
    lines += [
        "bool b = std::isnan(x[0]) || isinf(d[0]) || std::isfinite(x[0]) || signbit(d[0]);",
        "b = b || std::isnormal(x[0]) || isnan(k * d[0]);",
        "x[n++] = b + fmaf(x[0], x[1], x[2]) + std::fma(x[0], x[1], x[2]) + ldexpf(x[0], k);",
        "d[n++] = fma(d[0], d[1], d[2]) + std::ldexp(d[0], k) + frexp(d[1], &k) + modf(d[2], d);",
        "d[n++] = lrint(d[0]) + std::lround(x[0]) + llrintf(x[0]) + scalbn(x[0], k) + ilogb(d[0]);",
        "x[n++] = rsqrtf(x[0]) + exp10f(x[0]) + sinpif(x[0]) + cospif(x[0]) + normcdff(x[0]);",
        "x[n++] = erfcxf(x[0]);",
        "x[n++] = rcbrtf(x[0]) + rhypotf(x[0], x[1]) + norm3df(x[0], x[1], x[2]) + fdividef(x[0], x[1]);",
        "d[n++] = rsqrt(d[0]) + exp10(d[0]) + sinpi(d[0]) + cospi(d[0]) + normcdf(d[0]) + rcbrt(d[1]);",
        "x[n++] = __expf(x[0]) + __exp10f(x[0]) + __logf(x[0]) + __log2f(x[0]) + __log10f(x[0]);",
        "x[n++] = __sinf(x[0]) + __cosf(x[0]) + __tanf(x[0]) + __powf(x[0], x[1]);",
        "x[n++] = __fdividef(x[0], x[1]) + __saturatef(x[0]);",
        "x[n++] = __fadd_rn(x[0], x[1]) + __fmul_rn(x[0], x[1]) + __frcp_rn(x[0]) + __fsqrt_rn(x[0]);",
        "x[n++] = std::abs(x[0]) + abs(k) + min(k, 3) + max(x[0], 1.0f) + std::abs(d[0]) + abs(d[1]);",
        "sincosf(x[0], x + n, x + n + 1); sincos(d[0], d + n, d + n + 1); sincospif(x[0], x + n, x + n + 1);",
    ]
    body = "\n".join(f"    {line}" for line in lines)
    # The functions are not inlined: in one kernel they would take the register allocator minutes.
    flags = ["-O1", "-mllvm", "-amdgpu-early-inline-all=false"]
    assert (
        compile_device(
            f"{source}{body}\n}}\n", CompileOptions("gfx950", debug=False, flags=flags)
        ).diagnostics
        == ()
    )


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_the_ids_of_threads_and_blocks(zig: toolchain.Compiler, arch: str) -> None:
    out = np.zeros((2 * 3 * 2 * 4 * 3 * 5, 4), np.uint32)
    body = """
    dim3 size = blockDim, count = gridDim;
    unsigned block = (blockIdx.z * count.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned thread = (threadIdx.z * size.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned *row = a + 4 * (block * blockDim.x * blockDim.y * blockDim.z + thread);
    row[0] = threadIdx.x | threadIdx.y << 8 | threadIdx.z << 16;
    row[1] = blockIdx.x | blockIdx.y << 8 | blockIdx.z << 16;
    row[2] = blockDim.x | blockDim.y << 8 | blockDim.z << 16 | warpSize << 24;
    row[3] = gridDim.x | gridDim.y << 8 | gridDim.z << 16;
"""
    launch(body, out, arch=arch, grid=(2, 3, 2), block=(4, 3, 5))
    expected = [
        [x | y << 8 | z << 16, p | q << 8 | r << 16, 4 | 3 << 8 | 5 << 16 | 64 << 24, 2 | 3 << 8 | 2 << 16]
        for r in range(2)
        for q in range(3)
        for p in range(2)
        for z in range(5)
        for y in range(3)
        for x in range(4)
    ]
    assert out.tolist() == expected


@pytest.mark.parametrize("kind", [np.int32, np.float32, np.float64, np.uint64])
@pytest.mark.parametrize("width", [64, 16, 2])
def test_shuffles(zig: toolchain.Compiler, generator: np.random.Generator, kind: type, width: int) -> None:
    values = generator.integers(0, 1 << 30, 64).astype(kind)
    source = generator.integers(0, 64, 64).astype(np.int32)
    out = np.zeros((4, 64), kind)
    shift = int(generator.integers(1, width))
    launch(
        f"c[i] = __shfl(a[i], b[i], {width}); c[64 + i] = __shfl_up(a[i], {shift}, {width});\n"
        f"    c[128 + i] = __shfl_down(a[i], {shift}, {width}); "
        f"c[192 + i] = __shfl_xor(a[i], {shift}, {width});",
        values,
        source,
        out,
    )
    lane = np.arange(64)
    base, place = lane - lane % width, lane % width
    assert np.array_equal(out[0], values[base + source % width])
    assert np.array_equal(out[1], values[np.where(place >= shift, lane - shift, lane)])
    assert np.array_equal(out[2], values[np.where(place + shift < width, lane + shift, lane)])
    assert np.array_equal(out[3], values[base + (place ^ shift)])


def test_small_types_shuffle_too(zig: toolchain.Compiler) -> None:
    values = np.arange(64, dtype=np.float32)
    launch(
        "a[i] = float(__shfl_xor_sync(~0ull, __float2bfloat16(a[i]), 1))\n"
        "     + float(__shfl_xor(__float2half(a[i]), 2))\n"
        "     + __shfl_xor((unsigned char)a[i], 4) + __low2float(__shfl_xor(__float2half2_rn(a[i]), 8));",
        values,
    )
    lane = np.arange(64)
    assert np.array_equal(values, (lane ^ 1) + (lane ^ 2) + (lane ^ 4) + (lane ^ 8))


@pytest.mark.parametrize(
    "value",
    ["float4{1, 2, 3, 4}", "a", "(_Float16)1", "__bfloat162bfloat162(__float2bfloat16(1))"],
    ids=("float4", "pointer", "_Float16", "bf16 pair"),
)
def test_what_rocm_does_not_shuffle_is_refused(zig: toolchain.Compiler, value: str) -> None:
    with pytest.raises(
        CompileError, match=r"(no matching|deleted) function .*'__shfl'|'__shfl' is ambiguous"
    ):
        launch(f"auto x = __shfl({value}, 0);", np.zeros(64, np.float32))


def test_votes_and_lanes(zig: toolchain.Compiler, generator: np.random.Generator) -> None:
    choice = generator.integers(0, 2, 64).astype(np.int32)
    key = generator.integers(0, 4, 64).astype(np.int32)
    out = np.zeros((8, 64), np.uint64)
    launch(
        """
    c[i] = __ballot(a[i]);
    if (i % 3) {
        c[64 + i] = __activemask();
        c[128 + i] = __any(a[i]) | __all(a[i]) << 1 | __all(i % 3) << 2;
    }
    c[192 + i] = __lane_id();
    c[256 + i] = __lanemask_lt() ^ __lanemask_ge();
    c[320 + i] = __match_any(b[i]);
    int same;
    c[384 + i] = __match_all(b[i], &same);
    c[448 + i] = __syncthreads_count(a[i]) | __syncthreads_or(a[i]) << 8 | __syncthreads_and(a[i]) << 9;
""",
        choice,
        key,
        out,
    )
    lanes = np.arange(64)
    bits = np.uint64(1) << lanes.astype(np.uint64)
    ballot = int(bits[choice == 1].sum())
    some = lanes % 3 != 0
    assert set(out[0].tolist()) == {ballot}
    assert set(out[1][some].tolist()) == {int(bits[some].sum())}
    assert set(out[2][some].tolist()) == {int(choice[some].any()) | int(choice[some].all()) << 1 | 4}
    assert out[3].tolist() == list(range(64))
    assert set(out[4].tolist()) == {2**64 - 1}
    assert out[5].tolist() == [int(bits[key == value].sum()) for value in key]
    assert set(out[6].tolist()) == {2**64 - 1 if len(set(key.tolist())) == 1 else 0}
    assert set(out[7].tolist()) == {int(choice.sum()) | int(choice.any()) << 8 | int(choice.all()) << 9}


def test_counts_over_several_waves(zig: toolchain.Compiler) -> None:
    out = np.zeros(200, np.int32)
    launch(
        "a[i] = __syncthreads_count(i % 7 == 0) * 1000 + __syncthreads_count(i < 150);",
        out,
        block=(200, 1, 1),
    )
    assert set(out.tolist()) == {29 * 1000 + 150}


def test_integer_functions(zig: toolchain.Compiler, generator: np.random.Generator) -> None:
    x, y, s = (generator.integers(0, 1 << 32, 64, dtype=np.uint32) for _ in range(3))
    x[:4] = [0, 1, 0x80000000, 0xFFFFFFFF]
    out = np.zeros((20, 64), np.uint64)
    expressions = [
        "__popc(p)", "__clz((int)p)", "__ffs((int)p)", "__brev(p)", "__mulhi((int)p, (int)q)",
        "__umulhi(p, q)",
        "__umul24(p, q)", "(unsigned)__mul24((int)p, (int)q)", "(unsigned)__hadd((int)p, (int)q)",
        "__uhadd(p, q)",
        "__byte_perm(p, q, r)", "__funnelshift_l(p, q, r)", "__funnelshift_r(p, q, r)", "__usad(p, q, r)",
        "__popcll(w)", "__clzll((long long)w)", "__ffsll((long long)w)", "__brevll(w)", "__umul64hi(w, ~w)",
        "(unsigned)__sad((int)p, (int)q, r)",
    ]  # fmt: skip
    lines = [
        f"d[{64 * row} + i] = {'(unsigned)' if row < 14 else ''}({expression});"
        for row, expression in enumerate(expressions)
    ]
    lines.insert(
        0, "unsigned p = a[i], q = b[i], r = c[i]; unsigned long long w = (unsigned long long)p << 32 | q;"
    )
    launch("\n".join(lines), x, y, s, out)

    def signed(value: int) -> int:
        return value - (1 << 32) if value >> 31 else value

    def signed24(value: int) -> int:
        return (value & 0xFFFFFF) - (1 << 24) if value >> 23 & 1 else value & 0xFFFFFF

    def permuted(p: int, q: int, r: int) -> int:
        data = (q << 32 | p).to_bytes(8, "little")
        selected = []
        for place in range(4):
            nibble = r >> 4 * place & 15
            byte = data[nibble & 7]
            selected.append((0xFF if byte & 0x80 else 0) if nibble & 8 else byte)
        return int.from_bytes(bytes(selected), "little")

    low, high = 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF
    for i, (p, q, r) in enumerate(zip(x.tolist(), y.tolist(), s.tolist(), strict=True)):
        w, both = p << 32 | q, q << 32 | p
        expected = [
            p.bit_count(), 32 - p.bit_length(), (p & -p).bit_length(), int(f"{p:032b}"[::-1], 2),
            signed(p) * signed(q) >> 32 & low, p * q >> 32, (p & 0xFFFFFF) * (q & 0xFFFFFF) & low,
            signed24(p) * signed24(q) & low, signed(p) + signed(q) >> 1 & low, p + q >> 1,
            permuted(p, q, r), both << (r & 31) >> 32 & low, both >> (r & 31) & low, r + abs(p - q) & low,
            w.bit_count(), 64 - w.bit_length(), (w & -w).bit_length(), int(f"{w:064b}"[::-1], 2),
            w * (high ^ w) >> 64, r + abs(signed(p) - signed(q)) & low,
        ]  # fmt: skip
        assert out[:, i].tolist() == expected, (hex(p), hex(q), hex(r))


def test_floats_become_integers_as_their_names_say(zig: toolchain.Compiler) -> None:
    values = np.zeros(64, np.float64)
    edges = [
        0.5,
        1.5,
        2.5,
        -0.5,
        -1.5,
        2.4,
        -2.6,
        1e9 + 0.25,
        3e9,
        -3e9,
        1e20,
        -1e20,
        math.inf,
        -math.inf,
        math.nan,
    ]
    values[: len(edges)] = edges
    values[15:20] = [2147483647.0, -2147483648.0, 4294967295.0, 9.3e18, 1.8e19]
    out = np.zeros((8, 64), np.int64)
    names = ["int_rn", "int_rz", "int_ru", "int_rd", "uint_rn", "ll_rz", "ull_rn"]
    rows = [f"b[{64 * row} + i] = __double2{name}(a[i]);" for row, name in enumerate(names)]
    launch("\n".join([*rows, "b[448 + i] = __float2int_rn((float)a[i]);"]), values, out)

    def clamped(value: float, low: int, high: int, rounding: object) -> int:
        if math.isnan(value):
            return 0
        if math.isinf(value):
            return high if value > 0 else low
        return min(max(int(rounding(value)), low), high)  # type: ignore[operator]

    i32, u32, i64, u64 = (
        (-(1 << 31), (1 << 31) - 1),
        (0, (1 << 32) - 1),
        (-(1 << 63), (1 << 63) - 1),
        (0, (1 << 64) - 1),
    )
    for i, value in enumerate(values.tolist()):
        expected = [
            clamped(value, *i32, round), clamped(value, *i32, math.trunc), clamped(value, *i32, math.ceil),
            clamped(value, *i32, math.floor), clamped(value, *u32, round), clamped(value, *i64, math.trunc),
            clamped(value, *u64, round), clamped(float(np.float32(value)), *i32, round),
        ]  # fmt: skip
        got = out[:, i].tolist()
        got[6] &= (1 << 64) - 1
        assert got == expected, value


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_atomics(zig: toolchain.Compiler, arch: str) -> None:
    integers = np.zeros(16, np.int32)
    integers[3], integers[5] = 1000, -1
    wide = np.zeros(4, np.uint64)
    singles = np.zeros(8, np.float32)
    doubles = np.zeros(4, np.float64)
    counters = np.zeros(4, np.uint32)
    launch(
        """
    atomicAdd(&a[0], i); atomicSub(&a[1], i); atomicMax(&a[2], i * 7 % 64); atomicMin(&a[3], i + 5);
    atomicOr(&a[4], 1 << (i & 15)); atomicAnd(&a[5], ~(1 << (i & 15))); atomicXor(&a[6], i);
    if (atomicCAS(&a[7], 0, i + 1) == 0) a[8] = i + 1;
    if (atomicExch(&a[9], i + 1) == 0) atomicAdd(&a[10], 1);
    atomicAdd(&b[0], 1ull << 33); atomicMax(&b[1], (unsigned long long)i << 40);
    atomicAdd(&c[0], 0.5f); unsafeAtomicAdd(&c[1], 0.25f);
    atomicMax(&c[2], (float)i); atomicMin(&c[3], -(float)i);
    atomicAdd(&d[0], 0.5); unsafeAtomicAdd(&d[1], 0.25);
    atomicInc(&e[0], 9); atomicDec(&e[1], 9);
    __shared__ float total;
    if (threadIdx.x == 0) total = 0;
    __syncthreads();
    atomicAdd(&total, 1.0f);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(&c[4], total);
""",
        integers,
        wide,
        singles,
        doubles,
        counters,
        arch=arch,
        grid=(2, 1, 1),
        block=(128, 1, 1),
    )
    n = 256
    total = n * (n - 1) // 2
    assert integers[:7].tolist() == [total, -total, 63, 5, 0xFFFF, -1 & ~0xFFFF, 0]
    assert integers[7] == integers[8] != 0
    assert integers[10] == 1
    assert wide[:2].tolist() == [n << 33, (n - 1) << 40]
    assert singles[:5].tolist() == [n / 2, n / 4, n - 1, 1 - n, n]
    assert doubles[:2].tolist() == [n / 2, n / 4]
    assert counters[:2].tolist() == [n % 10, (10 - n % 10) % 10]


def test_packed_atomics(zig: toolchain.Compiler) -> None:
    halves = np.zeros(4, np.uint32)
    launch(
        """
    atomicAdd((__half2 *)&a[0], __half2(1.0f, 2.0f)); unsafeAtomicAdd((__half2 *)&a[1], __half2(1.0f, 2.0f));
    atomicAdd((__hip_bfloat162 *)&a[2], __hip_bfloat162(1.0f, 2.0f));
    unsafeAtomicAdd((__hip_bfloat162 *)&a[3], __hip_bfloat162(1.0f, 2.0f));
""",
        halves,
    )
    assert halves[:2].view(np.float16).tolist() == [64, 128, 64, 128]
    assert torch.from_numpy(halves[2:].view(np.int16)).view(torch.bfloat16).tolist() == [64, 128, 64, 128]


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_float_functions_on_the_device(
    zig: toolchain.Compiler, generator: np.random.Generator, arch: str
) -> None:
    """Against double precision, with 4 ulp for everything."""
    names = [
        "sin", "cos", "tan", "tanh", "erf", "exp", "exp2", "log", "log2", "log10", "expm1", "log1p", "sqrt",
        "rsqrt", "cbrt", "atan", "sinh", "asinh", "erfc", "lgamma",
    ]  # fmt: skip
    count = 256
    x = np.exp(generator.uniform(-8, 4, count)).astype(np.float32)
    out = np.zeros((len(names), count), np.float32)
    launch(
        "\n".join(f"b[{row * count} + i] = {name}f(a[i]);" for row, name in enumerate(names)),
        x,
        out,
        arch=arch,
        block=(count, 1, 1),
    )
    exact = torch.from_numpy(x).double()
    for row, name in enumerate(names):
        expected = exact.sign() * exact.abs() ** (1 / 3) if name == "cbrt" else getattr(torch, name)(exact)
        expected = expected.numpy()
        finite = np.abs(expected) < 3.4e38
        unit = np.spacing(np.abs(expected[finite]).astype(np.float32)).astype(np.float64)
        # Near its zeros the logarithm of gamma has an absolute error.
        slack = 1e-7 if name == "lgamma" else 0
        error = np.abs(out[row][finite].astype(np.float64) - expected[finite])
        assert (error <= 4 * unit + slack).all(), (name, x[finite][np.argmax(error / unit)])
        assert np.isinf(out[row][~finite]).all()


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_double_functions_on_the_device(
    zig: toolchain.Compiler, generator: np.random.Generator, arch: str
) -> None:
    """Against the C library of this computer; the accuracy itself is measured in test_math_functions."""
    names = [
        "sin", "cos", "exp", "log", "log2", "exp2", "tanh", "erf", "sqrt", "rsqrt", "atan", "log1p", "expm1",
        "pow", "fmod",
    ]  # fmt: skip
    x = np.exp(generator.uniform(-8, 6, 64))
    x[:3] = [1e22, 1e300, 0.5]
    out = np.zeros((len(names), 64), np.float64)
    calls = [f"{name}(a[i], 1.7)" if name in ("pow", "fmod") else f"{name}(a[i])" for name in names]
    launch("\n".join(f"b[{row * 64} + i] = {call};" for row, call in enumerate(calls)), x, out, arch=arch)
    exact = torch.from_numpy(x)
    for row, name in enumerate(names):
        expected = (
            getattr(torch, name)(exact, 1.7) if name in ("pow", "fmod") else getattr(torch, name)(exact)
        ).numpy()
        np.testing.assert_allclose(out[row], expected, rtol=1e-14, atol=1e-300, err_msg=name)


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_approximations_on_the_device(zig: toolchain.Compiler, arch: str) -> None:
    x = np.linspace(0.1, 6, 64).astype(np.float32)
    out = np.zeros((7, 64), np.float32)
    launch(
        "b[i] = __expf(a[i]); b[64 + i] = __logf(a[i]); b[128 + i] = __sinf(a[i]); "
        "b[192 + i] = __cosf(a[i]);\n"
        "b[256 + i] = __powf(a[i], 1.5f); b[320 + i] = __fdividef(1, a[i]); b[384 + i] = __log10f(a[i]);",
        x,
        out,
        arch=arch,
    )
    t = x.astype(np.float64)
    expected = [np.exp(t), np.log(t), np.sin(t), np.cos(t), t**1.5, 1 / t, np.log10(t)]
    np.testing.assert_allclose(out, np.array(expected), rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_number_types_on_the_device(
    zig: toolchain.Compiler, generator: np.random.Generator, arch: str
) -> None:
    """The instructions of the target, where the host has arithmetic."""
    count = 512
    x = (generator.uniform(-1, 1, count) * 2.0 ** generator.integers(-20, 10, count)).astype(np.float32)
    x[:6] = [0, -0.0, np.nan, 1e30, -1e30, np.inf]
    small = np.zeros((2, count), np.uint8)
    words = np.zeros((2, count), np.uint16)
    back = np.zeros((2, count), np.float32)
    # A target's code stops at the other types, which test_rocm_7.py tests.
    ending = {"ocp": "", "fnuz": "_fnuz"}[target(arch).fp8_encoding.name]
    types = [f"{name}{ending}" for name in ("e4m3", "e5m2")]
    lines = [
        f"b[{row * count} + i] = __hip_cvt_float_to_fp8(a[i], __HIP_SATFINITE, __HIP_{name.upper()});\n"
        f"    {{ __hip_fp8_{name} value; value.__x = i & 255; d[{row * count} + i] = value; }}"
        for row, name in enumerate(types)
    ]
    lines.append(
        f"c[i] = __bfloat16_as_ushort(__float2bfloat16(a[i])); c[{count} + i] = __half_as_ushort(a[i]);"
    )
    launch("\n".join(lines), x, small, words, back, arch=arch, block=(count, 1, 1))
    formats = {
        "": (torch.float8_e4m3fn, torch.float8_e5m2),
        "_fnuz": (torch.float8_e4m3fnuz, torch.float8_e5m2fnuz),
    }[ending]
    for row, format_ in enumerate(formats):
        every = (torch.arange(count) % 256).to(torch.uint8).view(format_).float()
        torch.testing.assert_close(torch.from_numpy(back[row]), every, rtol=0, atol=0, equal_nan=True)
        largest = torch.finfo(format_).max
        numbers = torch.from_numpy(x)
        # Finite values are clamped; infinity stays, or becomes NaN if the format has no infinity.
        expected = numbers.clamp(-largest, largest).to(format_).float()
        beyond = numbers if format_ == torch.float8_e5m2 else torch.full_like(numbers, torch.nan)
        expected = torch.where(numbers.isinf(), beyond, expected)
        got = torch.from_numpy(small[row]).view(format_)
        torch.testing.assert_close(got.float(), expected, rtol=0, atol=0, equal_nan=True)
    bf16 = torch.from_numpy(words[0].view(np.int16)).view(torch.bfloat16)
    torch.testing.assert_close(bf16, torch.from_numpy(x).bfloat16(), rtol=0, atol=0, equal_nan=True)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(words[1].view(np.float16), x.astype(np.float16))


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_arithmetic_of_small_types_on_the_device(
    zig: toolchain.Compiler, generator: np.random.Generator, arch: str
) -> None:
    x, y, z = (generator.uniform(-8, 8, (64, 2)).astype(np.float16) for _ in range(3))
    words = [array.view(np.uint32).ravel() for array in (x, y, z)]
    brains = [torch.from_numpy(array.astype(np.float32)).bfloat16() for array in (x, y, z)]
    codes = [brain.view(torch.int16).numpy().view(np.uint32).ravel() for brain in brains]
    out = np.zeros((8, 64), np.uint32)

    # HIP has no __hmax2 of half.
    top = (
        "__device__ __half2 larger(__half2 x, __half2 y) { return {__hmax(x.x, y.x), __hmax(x.y, y.y)}; }\n"
        "__device__ __hip_bfloat162 larger(__hip_bfloat162 x, __hip_bfloat162 y) { return __hmax2(x, y); }"
    )

    def body(kind: str, first: int) -> str:
        value = [f"__builtin_bit_cast({kind}, {name}[i])" for name in "abc"]
        store = [
            f"{value[0]} + {value[1]}",
            f"{value[0]} * {value[1]} - {value[2]}",
            f"__hfma2({value[0]}, {value[1]}, {value[2]})",
            f"larger({value[0]}, __hneg2({value[1]}))",
        ]
        return "\n".join(
            f"d[{(first + row) * 64} + i] = __builtin_bit_cast(unsigned, {expression});"
            for row, expression in enumerate(store)
        )

    # Without contraction each operation rounds, as PyTorch's do.
    plain = ["-ffp-contract=off"]
    launch(body("__half2", 0), *words, out, arch=arch, flags=plain, top=top)
    launch(body("__hip_bfloat162", 4), *codes, out, arch=arch, flags=plain, top=top)
    got = out[:4].view(np.float16).reshape(4, 64, 2)
    fused = (x.astype(np.float64) * y + z).astype(np.float16)
    for row, expected in enumerate((x + y, x * y - z, fused, np.maximum(x, -y))):
        np.testing.assert_array_equal(got[row], expected)
    p, q, r = brains
    ours = torch.from_numpy(out[4:].view(np.int16)).view(torch.bfloat16).reshape(4, 64, 2)
    fused_brain = (p.double() * q.double() + r.double()).float().bfloat16()
    for row, expected in enumerate((p + q, p * q - r, fused_brain, torch.maximum(p, -q))):
        torch.testing.assert_close(ours[row], expected, rtol=0, atol=0)


def test_a_failed_assertion_traps(zig: toolchain.Compiler) -> None:
    from workbench.errors import KernelFault

    values = np.arange(64, dtype=np.float32)
    with pytest.raises(KernelFault):
        launch("assert(a[i] < 60);", values, top="#include <cassert>")
