"""Features of HipKittens' fp6 branch only: tiles of fp6 counted one by one, complex tiles."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.errors import CompileError
from workbench.runtime import device

FP6 = {"arch": "gfx950", "define": ["KITTENS_FP6"], "flags": ["-Wall", "-Wextra"]}

PRODUCT = """
#include "kittens.cuh"
using namespace kittens;
using matrix = gl<fp6_e2m3, -1, -1, -1, -1>;
static_assert(st_f6<128, 256>::underlying_width == 2 && sizeof(st_f6<128, 256>) == 128 * 256);
static_assert(rt_base_f6<>::packed_per_thread == 1 && sizeof(fp6_e2m3_32) == 32);
__global__ void product(matrix a, matrix b, matrix copied, gl<float, -1, -1, -1, -1> c) {
    rt_f6<32, 256> x;
    rt_f6<16, 256> y;
    rt_fl<32, 16, ducks::rt_layout::accumulator> sum;
    zero(sum);
    load(x, a, {0, 0, 1, 0});
    load(y, b, {0, 0, 0, 0});
    mma_ABt(sum, x, y, sum);
    store(c, sum, {0, 0, 0, 0});
    store(copied, x, {0, 0, 1, 0});
    mfma1616128_fp6(sum.tiles[0][0].data, x.tiles[0][0].data, y.tiles[0][0].data, sum.tiles[0][0].data);
    one(y);
    zero(sum);
    mma_ABt_base(sum.tiles[0][0], x.tiles[0][0], y.tiles[0][0], sum.tiles[0][0]);
    store(c, sum, {0, 0, 1, 0});
}
__global__ void numbers(const float *x, float *out) {
    using to = base_types::convertor<fp6_e2m3, float>;
    out[threadIdx.x] = base_types::convertor<float, fp6_e2m3>::convert(to::convert(x[threadIdx.x]));
}
"""


def value(codes: torch.Tensor) -> torch.Tensor:
    """e2m3 by the OCP specification."""
    exponent, mantissa = codes >> 3 & 3, (codes & 7) / 8
    size = torch.where(exponent == 0, mantissa, (1 + mantissa) * 2.0 ** (exponent - 1))
    return torch.where(codes & 32 > 0, -size, size)


def packed(codes: torch.Tensor) -> torch.Tensor:
    """Four codes in three bytes, in a tensor with a byte for each code."""
    fours = codes.reshape(-1, 4)
    words = fours[:, 0] | fours[:, 1] << 6 | fours[:, 2] << 12 | fours[:, 3] << 18
    out = torch.zeros(codes.shape, dtype=torch.uint8)
    out.view(-1)[: words.numel() * 3] = torch.stack([words >> s & 255 for s in (0, 8, 16)], 1).flatten()
    return out


def test_tiles_of_single_numbers() -> None:
    """Loaded, multiplied and stored: six bits each in memory."""
    module = wb.compile(PRODUCT, name="fp6.hip", **FP6)
    assert not module.result.diagnostics
    torch.manual_seed(6)
    a, b = torch.randint(0, 64, (64, 256)), torch.randint(0, 64, (16, 256))
    packed_a, copied, c = packed(a), torch.zeros(64, 256, dtype=torch.uint8), torch.zeros(64, 16)
    module["product"].launch(
        wb.Launch(1, 64), (packed_a, packed(b), copied, c), {}, device=device("emulated:gfx950")
    )
    # Sums of 256 products that are multiples of 1/64 are exact.
    assert torch.equal(c[:32], value(a[32:]) @ value(b).T)
    assert torch.equal(c[32:48], value(a[32:48, :128]).sum(1, keepdim=True).expand(16, 16))
    half = 32 * 256 * 6 // 8
    assert torch.equal(copied.view(-1)[half : 2 * half], packed_a.view(-1)[half : 2 * half])
    assert not copied.view(-1)[:half].any()


def test_conversion_of_single_numbers() -> None:
    """Every number, the midpoint of each two (to the even one), and too large ones."""
    module = wb.compile(PRODUCT, name="fp6.hip", **FP6)
    exact = value(torch.arange(32)).float()
    middle = (exact[1:] + exact[:-1]) / 2
    even = torch.stack([exact[:-1], exact[1:]])[torch.arange(31) % 2, torch.arange(31)]
    x = torch.cat([exact, middle, torch.tensor([7.75])])
    out = torch.zeros(64)
    module["numbers"].launch(wb.Launch(1, 64), (-x, out), {}, device=device("emulated:gfx950"))
    assert torch.equal(-out, torch.cat([exact, even, exact[-1:]]))


@pytest.mark.parametrize("body", ["(*s)[int2{0, 1}] = fp6_e2m3();", "group<4>::load(*s, a, {0, 0, 0, 0});"])
def test_library_does_not_lay_out_shared_tiles(body: str) -> None:
    source = f"""
    #include "kittens.cuh"
    using namespace kittens;
    __global__ void k(gl<fp6_e2m3, 1, 1, 16, 128> a) {{
        __shared__ char memory[16 * 128];
        auto *s = reinterpret_cast<st_f6<16, 128> *>(memory);
        {body}
    }}"""
    with pytest.raises(CompileError, match="lays out and moves shared tiles of fp6_e2m3 itself"):
        wb.compile(source, name="shared.hip", arch="gfx950", define=["KITTENS_FP6"])


def test_complex_types() -> None:
    """A part is accepted where a tile is."""
    source = """
    #include "kittens.cuh"
    using namespace kittens;
    using plane = gl<float, 1, 1, 32, 32>;
    static_assert(ducks::crt::row_layout<crt_bf<32, 16>> && !ducks::crt::all<rt_bf<32, 16>>);
    static_assert(crt_bf<32, 16>::row_vec::length == 16 && ducks::crv::align_layout<crt_bf<32, 16>::row_vec>);
    static_assert(cst_bf<32, 16>::col_vec::length == 32 && ducks::cst::all<cst_bf<32, 16>>);
    static_assert(ducks::cgl::all<cgl<plane>> && sizeof(cst_fl<32, 16>) == 4096);
    __global__ void conjugate(cgl<plane> x) {
        crt_fl<32, 32> tile;
        load(tile.imag, x.imag, {0, 0, 0, 0});
        mul(tile.imag, tile.imag, -1.0f);
        store(x.imag, tile.imag, {0, 0, 0, 0});
    }"""
    module = wb.compile(source, name="complex.hip", **FP6)
    real, imag = torch.randn(2, 32, 32).unbind()
    expected = real.clone(), -imag
    x = {"real": real, "imag": imag}
    module["conjugate"].launch(wb.Launch(1, 64), (x,), {}, device=device("emulated:gfx950"))
    assert torch.equal(real, expected[0])
    assert torch.equal(imag, expected[1])
