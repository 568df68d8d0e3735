"""The device library's functions of half precision, by its names, against NumPy's in float64."""

from __future__ import annotations

import numpy as np
import torch

import workbench as wb

UNARY = {
    "ceil": np.ceil,
    "cos": np.cos,
    "exp": np.exp,
    "exp10": lambda x: np.power(10.0, x),
    "exp2": np.exp2,
    "fabs": np.abs,
    "floor": np.floor,
    "log": np.log,
    "log10": np.log10,
    "log2": np.log2,
    "rint": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "sqrt": np.sqrt,
    "trunc": np.trunc,
    "isinf": np.isinf,
    "isnan": np.isnan,
}
SOURCE = """
#include <hip/hip_runtime.h>
__global__ void k(const _Float16 *x, float *out, float *pairs) {{
    const int i = blockIdx.x * 256 + threadIdx.x, n = 1 << 16;
    const _Float16 a = x[i], b = x[(i * 7 + 1) % n], c = x[(i * 13 + 5) % n];
    const __2f16 both = {{b, a}};
    {body}
    out[{count} * n + i] = __ocml_fma_f16(a, b, c);
    pairs[{count} * n + i] = __ocml_fma_2f16(both, __2f16{{a, b}}, __2f16{{a, c}}).y;
    out[({count} + 1) * n + i] = __ocml_fmax_f16(a, b);
    out[({count} + 2) * n + i] = __ocml_fmin_f16(a, b);
    out[({count} + 3) * n + i] = __ocml_pown_f16(a, -3);
}}
"""


def test_functions_of_the_device_library_on_every_half() -> None:
    body = "".join(
        f"out[{row} * n + i] = __ocml_{name}_f16(a); pairs[{row} * n + i] = __ocml_{name}_2f16(both).y;\n"
        for row, name in enumerate(UNARY)
    )
    count, n = len(UNARY), 1 << 16
    x = torch.arange(n, dtype=torch.int32).to(torch.int16).view(torch.half)
    out, pairs = torch.empty(2, count + 4, n)
    wb.compile(SOURCE.format(body=body, count=count), arch="gfx942")["k"][256, 256](x, out, pairs)
    a = x.numpy().astype(np.float64)
    index = np.arange(n)
    b, c = a[(index * 7 + 1) % n], a[(index * 13 + 5) % n]
    with np.errstate(all="ignore"):
        expected = [function(a) for function in UNARY.values()]
        expected += [a * b + c, np.fmax(a, b), np.fmin(a, b), np.power(a, -3)]
        halves = [np.asarray(each, dtype=np.float64).astype(np.float16) for each in expected]
        names = [*UNARY, "fma", "fmax", "fmin", "pown"]
        for name, half, single in zip(names, halves, out.numpy(), strict=True):
            result = single.astype(np.float16)
            same = (result == half) | (np.isnan(result) & np.isnan(half))
            # A float next to the middle of two halves may be on its other side.
            below, above = (np.nextafter(half, np.float16(end)) for end in (-np.inf, np.inf))
            wrong = ~same & (result != below) & (result != above)
            assert not wrong.any(), (name, a[wrong][:5], result[wrong][:5], half[wrong][:5])
            assert same.mean() > 0.999, name
    isnan = list(UNARY).index("isnan")
    for row in range(count + 1):
        # All bits of an element of a pair are set where it is infinite or NaN.
        single = -out[row] if row in (isnan - 1, isnan) else out[row]
        torch.testing.assert_close(pairs[row], single, rtol=0, atol=0, equal_nan=True)
