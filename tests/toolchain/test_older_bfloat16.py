"""hip_bfloat16 of hip/hip_bfloat16.h against PyTorch's bfloat16: another type than __hip_bfloat16."""

from __future__ import annotations

import pytest
import torch

import workbench as wb

SOURCE = """#include <hip/hip_bf16.h>
#include <hip/hip_bfloat16.h>
#include <type_traits>
// As TileLang overloads it.
__device__ inline hip_bfloat16 __habs(hip_bfloat16 a) {
    a.data &= 0x7fff;
    return a;
}
static_assert(!std::is_same<hip_bfloat16, __hip_bfloat16>::value && sizeof(hip_bfloat16) == 2);
static_assert(std::is_trivially_copyable<hip_bfloat16>::value);
static_assert(!std::is_convertible<float, hip_bfloat16>::value);

__global__ void numbers(const float *x, const float *y, unsigned short *out) {
    const int i = threadIdx.x;
    const hip_bfloat16 a(x[i]), b(y[i]);
    hip_bfloat16 sum = a;
    sum += b;
    const hip_bfloat16 results[] = {a,     sum,   a - b, a * b, a / b, -a,
                                    __habs(a), hip_bfloat16(x[i], hip_bfloat16::truncate)};
    for (int n = 0; n < 8; n++) out[64 * n + i] = results[n].data;
    out[64 * 8 + i] = (a < b) | (a == b) << 1 | std::isnan(a) << 2 | std::isinf(a) << 3 | std::iszero(a) << 4;
}
"""


@pytest.fixture(scope="module")
def module() -> wb.Module:
    return wb.compile(SOURCE, arch="gfx942")


def test_older_bfloat16(module: wb.Module) -> None:
    generator = torch.Generator().manual_seed(3)
    x, y = torch.randn(2, 64, generator=generator)
    x[:6] = torch.tensor([0.0, float("inf"), float("nan"), 1 + 2.0**-8, 1 + 3 * 2.0**-8, 3.4e38])
    y[3] = x[3]
    out = torch.zeros(9, 64, dtype=torch.int16)
    module["numbers"][1, 64](x, y, out)
    a, b = x.bfloat16(), y.bfloat16()
    expected = torch.stack([a, a + b, a - b, a * b, a / b, -a, a.abs()])
    results = out[:7].view(torch.bfloat16)
    assert torch.equal(results.isnan(), expected.isnan())
    assert torch.equal(results.nan_to_num(7), expected.nan_to_num(7))
    numbers = ~x.isnan()
    assert torch.equal(out[7][numbers], (x.view(torch.int32) >> 16).to(torch.int16)[numbers])
    flags = (
        (a < b).int()
        | (a == b).int() << 1
        | a.isnan().int() << 2
        | a.isinf().int() << 3
        | (a == 0).int() << 4
    )
    assert torch.equal(out[8].int(), flags)
