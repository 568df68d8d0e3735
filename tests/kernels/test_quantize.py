"""Quantization of register tiles and back, bit by bit against the formats' definitions; bytes."""

from __future__ import annotations

import os

import pytest
import torch
from tiers import number
from tile_cases import FP8, Batch, close

import workbench as wb
import workbench.operators
from workbench.targets import TILE_TARGETS
from workbench_kernels.references import quantization as reference
from workbench_kernels.references.gemm import numbers_of

E5M2 = {"gfx950": torch.float8_e5m2, "gfx942": torch.float8_e5m2fnuz}
TYPES = {
    "e4m3": ("fp8e4m3", 1),
    "e5m2": ("fp8e5m2", 1),
    "e2m3": ("fp6e2m3_4", 4),
    "e3m2": ("fp6e3m2_4", 4),
    "e2m1": ("fp4e2m1_2", 2),
    "int8": ("int8", 1),
    "int4": ("int4_2", 2),
    "uint4": ("uint4_2", 2),
}
"""C++ types of formats and the numbers that an element has."""

SHAPE, ROWS, COLS = "rt_shape<16, 128, 32>", 16, 256
WHOLE = "{0, 0, 0, 0}"


def named(format: str, arch: str) -> str:
    """The format by the name of its encoding on a target."""
    encoding = {"e4m3": FP8[arch], "e5m2": E5M2[arch]}.get(format)
    return str(encoding).removeprefix("torch.float8_") if encoding else format


def numbers(cols: int = COLS) -> torch.Tensor:
    """Rows of all sizes, each with numbers that are difficult to quantize."""
    seed = number("quantize", os.environ["HIPKITTENS_TEST_SEED"])
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(ROWS, cols, generator=generator) * torch.exp2(torch.arange(ROWS) * 3.0 - 20)[:, None]
    x[2] = torch.arange(cols) / 16 - 8  # ties
    x[3, :128] = 0
    x[3, 5] = -0.0
    x[4, 33], x[5, 100], x[6, 64] = float("nan"), float("inf"), float("-inf")
    x[7] *= 2.0**100
    x[8] *= 1e-30
    x[9, :32] = 2.0**-126  # the smallest normal number
    x[10, 0] = 3e38
    x[11] = torch.exp2(torch.arange(cols) % 40 - 30.0) * 1.75
    x[12, :64] = torch.tensor([6.0, 7.0, 6.000001, 5.9999995] * 16)
    return x


def gl(name: str, kind: str, rows: int, cols: int) -> str:
    return (
        f"gl<{kind}, -1, -1, -1, -1> {name}_gl(reinterpret_cast<{kind} *>(g.{name}), 1, 1, {rows}, {cols});"
    )


def as_bytes(made: torch.Tensor) -> torch.Tensor:
    return made.contiguous().view(torch.uint8)


def add(
    batch: Batch, format: str, title: str, call: str, expected: tuple[torch.Tensor, ...], kind: str
) -> None:
    """A case that quantizes `numbers()` by `call` into q, with scales in `s` for blocks of `kind`'s size."""
    element, n = TYPES[format]
    codes, scales = expected
    batch.add(
        f"{format} {title}",
        f"""using wide = rt_fl<{ROWS}, {COLS}, row_l, {SHAPE}>; wide x; load(x, g.x, {WHOLE});
        rt<{element}, {ROWS}, {COLS // n}, row_l, rt_shape<16, {128 // n}, {32 // n}>> q;
        {gl("q", element, ROWS, COLS // n)}
        {call} store(q_gl, q, {WHOLE}); {kind}""",
        x=numbers(),
        expected={"q": as_bytes(codes), "s": scales},
    )


@pytest.mark.parametrize("format", ["e4m3", "e5m2", "e2m3", "e3m2", "e2m1"])
def test_powers_of_two(batch: Batch, arch: str, format: str) -> None:
    for rounding in ("down", "even", "up"):
        expected = reference.quantize_mx(numbers(), named(format, arch), rounding)
        call = f"wide s; quantize_mx<32, scale_rounding::{rounding}>(q, s, x);"
        store = f"{gl('s', 'fp8e8m0', ROWS, COLS // 32)} store_blocks<32>(s_gl, s, 0, 0);"
        add(batch, format, rounding, call, expected, store)
    batch.run(arch)


@pytest.mark.parametrize(
    "formats", [("e4m3", "e5m2"), ("e2m3", "e3m2"), ("int8", "int4", "e2m1")], ids=" ".join
)
def test_float_scales(batch: Batch, arch: str, formats: tuple[str, ...]) -> None:
    for format in formats:
        for block in (32, 128):
            expected = reference.quantize(numbers(), named(format, arch), block)
            call = f"wide s; quantize_blocks<{block}>(q, s, x);"
            add(batch, format, f"{block}", call, expected, f"store_blocks<{block}>(g.s, s, 0, 0);")
        codes, scales = reference.quantize(numbers(), named(format, arch), 0)
        call = "wide::col_vec of_rows; quantize_rows(q, of_rows, x);"
        add(batch, format, "rows", call, (codes, scales.T.contiguous()), f"store(g.s, of_rows, {WHOLE});")
    batch.run(arch)


def test_blocks_over_lanes(arch: str, batch: Batch) -> None:
    """In the base shapes with the fastest reads of rows, where lanes share a block."""
    for tile, rows, cols in (("rt_rows_s<bf16, 128>", 4, 128), ("rt_rows_s<bf16, 512>", 2, 1024)):
        x = numbers(cols)[2 : 2 + rows].contiguous()
        for block in (32, 128):
            codes, scales = reference.quantize(x, "e2m1", block)
            batch.add(
                f"{tile} {block}",
                f"""rt_fl<{rows}, {cols}, row_l, {tile}> x, s; load(x, g.x, {WHOLE});
                rt<fp4e2m1_2, {rows}, {cols // 2}, row_l,
                   rt_shape<decltype(x)::shape::rows, decltype(x)::shape::cols / 2, 4>> q;
                {gl("q", "fp4e2m1_2", rows, cols // 2)}
                quantize_blocks<{block}>(q, s, x); store(q_gl, q, {WHOLE});
                store_blocks<{block}>(g.s, s, 0, 0);""",
                x=x,
                expected={"q": codes, "s": scales},
            )
    batch.run(arch)


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_dequantizing_loads(arch: str, batch: Batch) -> None:
    """Every code of a format, times scales of both kinds; past the end of rows zero."""
    for format in ("e2m1", "e2m3", "e3m2", "int4", "uint4", "int8", "e4m3"):
        element, n = TYPES[format]
        seed = number("quantize", os.environ["HIPKITTENS_TEST_SEED"])
        generator = torch.Generator().manual_seed(seed)
        width = {"e2m1": 80, "int4": 80, "uint4": 80, "e2m3": 120, "e3m2": 120}.get(format, 160)
        stored = torch.randint(0, 256, (ROWS, width), generator=generator, dtype=torch.uint8)
        if format == "e4m3":
            stored = torch.randn(ROWS, width, generator=generator).to(FP8[arch]).view(torch.uint8)
            values = stored.view(FP8[arch]).double()
        elif format == "int8":
            values = stored.view(torch.int8).double()
        elif format == "int4":
            low = ((stored.int() & 15) ^ 8) - 8
            values = torch.stack([low, stored.view(torch.int8).int() >> 4], -1).flatten(1).double()
        elif format == "uint4":
            values = torch.stack([stored & 15, stored >> 4], -1).flatten(1).double()
        else:
            values = numbers_of(stored, format)
        powers = torch.randint(117, 136, (ROWS, 5), generator=generator, dtype=torch.uint8)
        floats = torch.rand(ROWS, 5, generator=generator)
        for scales, kind, factors in (
            (powers, "fp8e8m0", torch.exp2(powers.double() - 127)),
            (floats, "float", floats.double()),
        ):
            expected = torch.zeros(ROWS, COLS, dtype=torch.bfloat16)
            products = (values * factors.repeat_interleave(32, 1)).float()  # exact, or rounded as the product
            expected[:, :160] = products.bfloat16()
            pointer = "g.s" if kind == "fp8e8m0" else "g.s.raw_ptr"
            batch.add(
                f"{format} {kind}",
                f"""rt_bf<{ROWS}, {COLS}, row_l, {SHAPE}> r;
                {gl("q", element, ROWS, 160 // n)}
                gl<{kind}, -1, -1, -1, -1> scales(reinterpret_cast<{kind} *>({pointer}), 1, 1, {ROWS}, 5);
                load_dequantized<32>(r, q_gl, scales, {WHOLE}); store(g.out, r, {WHOLE});""",
                q=stored,
                s=scales,
                expected={"out": expected},
            )
    batch.run(arch)


def test_numbers_in_memory_of_less_than_a_byte(arch: str, batch: Batch) -> None:
    """Plain loads and stores between a tile of numbers and fp4; and the rows of a scaled tile."""
    x = (torch.arange(ROWS * 128).reshape(ROWS, 128) % 97 - 48) / 8
    codes = reference.nearest(x, "e2m1")
    batch.add(
        "fp4",
        f"""rt_fl<{ROWS}, 128, row_l, rt_16x32_s> r; load(r, g.x, {WHOLE});
        {gl("q", "fp4e2m1_2", ROWS, 64)} store(q_gl, r, {WHOLE}); load(r, q_gl, {WHOLE});
        store(g.out, r, {WHOLE});""",
        x=x,
        expected={"q": codes, "out": numbers_of(codes, "e2m1").float()},
    )
    q, scales = reference.quantize(x, "int8", 0)
    batch.add(
        "rows of int8",
        f"""rt_fl<{ROWS}, 128, row_l, rt_16x64_s> r; load(r, g.x, {WHOLE}); decltype(r)::col_vec s;
        rt<int8, {ROWS}, 128, row_l, rt_16x64_s> q; quantize_rows(q, s, r);
        dequantize_rows(r, q, s); store(g.out, r, {WHOLE});""",
        x=x,
        expected={"out": q.float() * scales},
        check=close(1),
    )
    batch.run(arch)


def test_bytes(arch: str, batch: Batch) -> None:
    """uint8: round to nearest even, saturate, NaN to zero; tiles, vectors and layouts."""
    x = torch.randn(16, 64, generator=torch.Generator().manual_seed(1)) * 200
    x[0, :8] = torch.tensor([0.5, 1.5, 2.5, -0.5, 254.5, 1e20, float("-inf"), float("nan")])
    expected = x.nan_to_num(0).round().clamp(0, 255) + 0.0  # without the sign of -0
    batch.add(
        "tile",
        f"""rt_fl<16, 64, row_l, rt_16x64_s> r; load(r, g.x, {WHOLE});
        rt_uint8<16, 64, row_l, rt_16x64_s> b; copy(b, r); {gl("q", "uint8", 16, 64)}
        store(q_gl, b, {WHOLE}); load(b, q_gl, {WHOLE}); copy(r, b); store(g.out, r, {WHOLE});""",
        x=x,
        expected={"q": expected.to(torch.uint8), "out": expected},
    )
    batch.add(
        "by way of shared memory",
        f"""rt_fl<16, 64, row_l, rt_16x64_s> r; load(r, g.x, {WHOLE});
        rt_uint8<16, 64, row_l, rt_16x64_s> b; copy(b, r); __shared__ st<uint8, 16, 64, st_16x64_s> s;
        store(s, b); __syncthreads(); zero(b); load(b, s); copy(r, b); store(g.out, r, {WHOLE});""",
        x=x,
        expected={"out": expected},
    )
    halves = x.nan_to_num(0).round().clamp(0, 15).to(torch.uint8).view(16, 32, 2)
    batch.add(
        "halves of bytes",
        f"""rt_fl<16, 64, row_l, rt_16x32_s> r; load(r, g.x, {WHOLE}); {gl("q", "uint4_2", 16, 32)}
        rt<uint4_2, 16, 32, row_l, rt_16x16_s> b; copy(b, r); store(q_gl, b, {WHOLE});
        zero(r); load(r, q_gl, {WHOLE}); store(g.out, r, {WHOLE});""",
        x=x,
        expected={"q": halves[..., 0] | halves[..., 1] << 4, "out": halves.view(16, 64).float()},
    )
    batch.add(
        "vector",
        f"""rv<uint8, 64> v; {gl("q", "uint8", 1, 64)} load(v, g.x, {WHOLE}); store(q_gl, v, {WHOLE});
        rv<float, 64> f; copy(f, v); add(f, f, 0.5f); store(g.out, f, {WHOLE});""",
        x=x[:1],
        expected={"q": expected[:1].to(torch.uint8), "out": expected[:1] + 0.5},
    )
    batch.run(arch)


SIX = """
#include "kittens.cuh"
using namespace kittens;
__global__ void six(gl<float, 1, 1, 16, 256> x, fp6e2m3_4 *out) {
    using wide = rt_fl<16, 256, row_l, rt_shape<16, 128, 32>>;
    wide numbers, s;
    load(numbers, x, {0, 0, 0, 0});
    rt<fp6e2m3_4, 16, 64, row_l, rt_shape<16, 32, 8>> q;
    quantize_blocks<32>(q, s, numbers);
    store(gl<fp6e2m3_4, -1, -1, -1, -1>(out, 1, 1, 16, 64), q, {0, 0, 0, 0});
}
"""


def test_fp6_is_not_written_over_what_is_read() -> None:
    """v_cvt_scalef32_2xpk16 takes several passes, and clang 22 would let it overwrite its sources."""
    kernel = wb.compile(SIX, arch="gfx950", name="six.hip")["six"]
    packing = [each for each in kernel.instructions if "2xpk16" in each.opcode]
    assert packing
    for instruction in packing:
        (destination,) = instruction.dst
        written = {(destination.kind, destination.index + i) for i in range(destination.width)}
        read = {(of.kind, of.index + i) for of in instruction.src for i in range(of.width)}
        assert not written & read, instruction
