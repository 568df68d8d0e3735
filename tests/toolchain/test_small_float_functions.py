"""Functions of half and bfloat16 on the device, for every code of 16 bits, against NumPy's float64."""

from __future__ import annotations

import numpy as np
import torch

import workbench as wb

CODES = np.arange(1 << 16, dtype=np.uint16)


def floats(codes: np.ndarray, kind: str) -> np.ndarray:
    """The values of a format's codes, as float64."""
    if kind == "half":
        return codes.view(np.float16).astype(np.float64)
    with np.errstate(invalid="ignore"):  # signalling NaN
        return (codes.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def nearest(values: np.ndarray, kind: str) -> np.ndarray:
    """Values that float holds, rounded once to nearest even."""
    dtype = torch.float16 if kind == "half" else torch.bfloat16
    return torch.from_numpy(values).float().to(dtype).double().numpy()


def run(lines: list[str], kind: str, arch: str, *arrays: np.ndarray) -> np.ndarray:
    """Each expression of x, y, z (the format) and i (the code) for all 65,536 codes, as float64."""
    header, name, of = {
        "half": ("hip_fp16.h", "half", "__ushort_as_half"),
        "bfloat16": ("hip_bf16.h", "bfloat16", "__ushort_as_bfloat16"),
    }[kind]
    body = "\n".join(f"    out[{n} * 65536 + i] = {line};" for n, line in enumerate(lines))
    source = f"""#include <hip/hip_runtime.h>
#include <hip/{header}>
__global__ void k(const unsigned short *a, const unsigned short *b, const unsigned short *c, const float *f,
                  double *out) {{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const auto x = {of}(a[i]), y = {of}(b[i]), z = {of}(c[i]);
    const auto xy = {"__halves2half2" if name == "half" else "__halves2bfloat162"}(x, y);
{body}
}}"""
    out = np.zeros((len(lines), 1 << 16))
    module = wb.compile(source, arch=arch, name="small.hip")
    module["k"][256, 256](*[torch.from_numpy(array) for array in (*arrays, out)])
    return out


def test_functions_of_halves(generator: np.random.Generator) -> None:
    kind = "half"
    b, c = (generator.integers(0, 1 << 16, 1 << 16).astype(np.uint16) for _ in range(2))
    # Operands of related sizes: sums and products around 0 to 1, equal values, NaN in either operand.
    b[::3] = CODES[::3] ^ 0x8000
    c[::5] = 0
    b[generator.integers(0, 1 << 16, 500)] = 0x7FFF
    f = generator.standard_normal(1 << 16).astype(np.float32) * np.float32(2) ** generator.integers(
        -30, 20, 1 << 16
    )
    f = f.astype(np.float32)
    f[:4] = [0, -0.0, np.inf, -np.inf]
    integers = [
        (f"__half2{to}_{mode}(x)", mode, low, high)
        for to, low, high in (
            ("short", -(2**15), 2**15 - 1),
            ("ushort", 0, 2**16 - 1),
            ("int", -(2**31), 2**31 - 1),
        )
        for mode in ("rn", "rz", "ru", "rd")
    ]
    others = [
        "__hfma_sat(x, y, z)", "__hmax_nan(x, y)", "__hmin_nan(x, y)", "__hsub_sat(x, y)",
        "__high2float(__hisnan2(xy))", "__low2float(__hisnan2(xy))",
        "__float2half_rz(f[i])", "__float2half_ru(f[i])", "__float2half_rd(f[i])",
        "__int2half_rz(i - 32768 << 3)", "__ll2half_ru((long long)(i - 32768) << (i & 31))",
        "__ull2half_rd((unsigned long long)i << (i & 47))", "__hbequ2(xy, xy)",
    ]  # fmt: skip
    out = run([line for line, *_ in integers] + others, kind, "gfx950", CODES, b, c, f)
    x, y, z = (floats(codes, kind) for codes in (CODES, b, c))
    with np.errstate(all="ignore"):
        rounded = {"rn": np.rint(x), "rz": np.trunc(x), "ru": np.ceil(x), "rd": np.floor(x)}
        for n, (line, mode, low, high) in enumerate(integers):
            expected = np.where(np.isnan(x), 0, np.clip(rounded[mode], low, high))
            np.testing.assert_array_equal(out[n], expected, err_msg=line)
        # Products of two such numbers are exact in float64; sums of three up to digits that no rounding sees,
        # if the halves' exponents differ by more than float64's width.
        fused = (x * y + z).astype(np.float16).astype(float)
        rest = out[len(integers) :]
        unclamped = np.where(np.isnan(fused), 0, np.clip(fused, 0, 1))
        assert np.allclose(rest[0], unclamped, rtol=2.0**-10, atol=2.0**-24, equal_nan=True)
        np.testing.assert_array_equal(rest[1], np.maximum(x, y))
        np.testing.assert_array_equal(rest[2], np.minimum(x, y))
        difference = nearest(x - y, kind)
        assert np.array_equal(rest[3], np.where(np.isnan(difference), 0, np.clip(difference, 0, 1)))
        assert np.array_equal(rest[4], np.isnan(y))
        assert np.array_equal(rest[5], np.isnan(x))
        # On the requested side of the float, and no number of the format is nearer on that side.
        every = np.unique(floats(CODES, kind)[~np.isnan(floats(CODES, kind))])
        at = np.searchsorted(every, f.astype(float), "left")
        above, below = every[at], every[np.searchsorted(every, f.astype(float), "right") - 1]
        np.testing.assert_array_equal(rest[6], np.where(f > 0, below, above))
        np.testing.assert_array_equal(rest[7], above)
        np.testing.assert_array_equal(rest[8], below)
        i = np.arange(1 << 16)
        wide = (i - 32768) * 8.0
        expected = np.where(
            wide > 0, every[np.searchsorted(every, wide, "right") - 1], every[np.searchsorted(every, wide)]
        )
        np.testing.assert_array_equal(rest[9], expected)
        wide = (i - 32768) * 2.0 ** (i & 31)
        np.testing.assert_array_equal(rest[10], every[np.searchsorted(every, wide)])
        wide = i * 2.0 ** (i & 47)
        np.testing.assert_array_equal(rest[11], every[np.searchsorted(every, wide, "right") - 1])
        assert (rest[12] == 1).all()


def test_constants() -> None:
    out = np.zeros(4)
    source = """
#include <hip/hip_fp16.h>
#include <hip/hip_bf16.h>
__global__ void k(double *out) {
    out[0] = HIPRT_INF_FP16;
    out[1] = HIPRT_MAX_NORMAL_FP16;
    out[2] = HIPRT_ONE_BF16;
    out[3] = HIPRT_MIN_DENORM_BF16;
}"""
    wb.compile(source, arch="gfx950", name="constants.hip")["k"][1, 1](torch.from_numpy(out))
    assert out.tolist() == [np.inf, 65504, 1, 2.0**-133]
