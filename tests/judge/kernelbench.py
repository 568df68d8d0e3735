"""Ten problems in KernelBench's form, of the kinds that its level 1 has, and a HIP kernel for each."""

from __future__ import annotations

from typing import NamedTuple


class Pair(NamedTuple):
    """A problem and a submission.

    Attributes:
        forward: body of `Model.forward`, of x, or of x and y.
        inputs: what `get_inputs` returns.
        output: the empty output, of x, or of x and y.
        sizes: integers that the kernel gets behind x, y if it is there, and out.
        items: number of work-items, or of work-groups if `grouped`.
        grouped: True if a wave of 64 computes each row.
    """

    forward: str
    inputs: str
    output: str
    sizes: str
    items: str
    grouped: bool = False


_ELEMENTS = "torch.empty_like(x)", "[x.numel()]", "x.numel()"
_ROWS = "[torch.randn(33, N)]", "torch.empty_like(x)", "[x.shape[1]]", "x.shape[0]", True

PAIRS = {
    "relu": Pair("torch.relu(x)", "[torch.randn(7, N)]", *_ELEMENTS),
    "sigmoid": Pair("torch.sigmoid(x)", "[torch.randn(7, N)]", *_ELEMENTS),
    "gelu": Pair("torch.nn.functional.gelu(x, approximate='tanh')", "[torch.randn(7, N)]", *_ELEMENTS),
    "softmax": Pair("torch.softmax(x, dim=1)", *_ROWS),
    "layer_norm": Pair("torch.nn.functional.layer_norm(x, x.shape[1:])", *_ROWS),
    "rms_norm": Pair("x / torch.sqrt(x.pow(2).mean(dim=1, keepdim=True) + 1e-5)", *_ROWS),
    "sum_rows": Pair(
        "x.sum(dim=1)", "[torch.randn(33, N)]", "x.new_empty(x.shape[0])", "[x.shape[1]]", "x.shape[0]", True
    ),
    "max_rows": Pair(
        "x.max(dim=1).values",
        "[torch.randn(33, N)]",
        "x.new_empty(x.shape[0])",
        "[x.shape[1]]",
        "x.shape[0]",
        True,
    ),
    "matmul": Pair(
        "x @ y",
        "[torch.randn(48, N), torch.randn(N, 40)]",
        "x.new_empty(x.shape[0], y.shape[1])",
        "[x.shape[0], y.shape[1], x.shape[1]]",
        "x.shape[0] * y.shape[1]",
    ),
    "cumsum": Pair(
        "x.cumsum(dim=1)",
        "[torch.randn(70, N)]",
        "torch.empty_like(x)",
        "[x.shape[0], x.shape[1]]",
        "x.shape[0]",
    ),
}

KERNELS = r"""
#include <hip/hip_runtime.h>
#define ELEMENTS(name, value) \
    extern "C" __global__ void name(const float* in, float* out, int n) { \
        int i = blockIdx.x * blockDim.x + threadIdx.x; \
        if (i < n) { float x = in[i]; out[i] = value; } \
    }
ELEMENTS(relu, x > 0 ? x : 0)
ELEMENTS(sigmoid, 1 / (1 + expf(-x)))
ELEMENTS(gelu, 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x))))

__device__ float sum(float value) {
    for (int step = 32; step; step /= 2) value += __shfl_xor(value, step);
    return value;
}
__device__ float largest(float value) {
    for (int step = 32; step; step /= 2) value = fmaxf(value, __shfl_xor(value, step));
    return value;
}
#define ROW const float* x = in + blockIdx.x * n; float* y = out + blockIdx.x * n
#define EACH for (int i = threadIdx.x; i < n; i += 64)
extern "C" __global__ void softmax(const float* in, float* out, int n) {
    ROW; float most = -INFINITY, total = 0;
    EACH most = fmaxf(most, x[i]);
    most = largest(most);
    EACH total += expf(x[i] - most);
    total = sum(total);
    EACH y[i] = expf(x[i] - most) / total;
}
extern "C" __global__ void layer_norm(const float* in, float* out, int n) {
    ROW; float mean = 0, variance = 0;
    EACH mean += x[i];
    mean = sum(mean) / n;
    EACH variance += (x[i] - mean) * (x[i] - mean);
    float scale = 1 / sqrtf(sum(variance) / n + 1e-5f);
    EACH y[i] = (x[i] - mean) * scale;
}
extern "C" __global__ void rms_norm(const float* in, float* out, int n) {
    ROW; float squares = 0;
    EACH squares += x[i] * x[i];
    float scale = 1 / sqrtf(sum(squares) / n + 1e-5f);
    EACH y[i] = x[i] * scale;
}
extern "C" __global__ void sum_rows(const float* in, float* out, int n) {
    const float* x = in + blockIdx.x * n; float total = 0;
    EACH total += x[i];
    total = sum(total);
    if (threadIdx.x == 0) out[blockIdx.x] = total;
}
extern "C" __global__ void max_rows(const float* in, float* out, int n) {
    const float* x = in + blockIdx.x * n; float most = -INFINITY;
    EACH most = fmaxf(most, x[i]);
    most = largest(most);
    if (threadIdx.x == 0) out[blockIdx.x] = most;
}
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m * n) return;
    float total = 0;
    for (int j = 0; j < k; j++) total += a[i / n * k + j] * b[j * n + i % n];
    c[i] = total;
}
extern "C" __global__ void cumsum(const float* in, float* out, int rows, int n) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float total = 0;
    for (int i = 0; i < n; i++) out[row * n + i] = total += in[row * n + i];
}
"""


def problem(pair: Pair) -> str:
    """The problem's file."""
    names = "x, y" if ", torch" in pair.inputs else "x"
    return f"""import torch
N = 500

class Model(torch.nn.Module):
    def forward(self, {names}):
        return {pair.forward}

def get_inputs():
    return {pair.inputs}

def get_init_inputs():
    return []
"""


def submission(name: str, pair: Pair) -> str:
    """The submission's file, beside `launching.py`."""
    grid, block = (pair.items, 64) if pair.grouped else (f"({pair.items} + 255) // 256", 256)
    return f"""import ctypes
import torch
from launching import start

class ModelNew(torch.nn.Module):
    def forward(self, *inputs):
        x, y = (inputs * 2)[:2]
        out = {pair.output}
        start("{name}", {grid}, {block}, *inputs, out, *map(ctypes.c_int, {pair.sizes}))
        return out
"""
