"""Errors of exact and fast numerics against float64: sums of one matrix core, attention, a training step.

    python tests/benchmarks/numerics.py [--device emulated:gfx942]

Makes the table of docs/numerics.md. Errors are relative to the mean magnitude of the true values; the bias is
the mean of the signed error, and stands beside three of its standard errors.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch

import workbench as wb

# A wave's 32 x 32 of fp32 from rows of A and B, 8 of K at once; lanes as tests/data/mfma_layout.csv has them.
_SOURCE = """
#include <hip/hip_runtime.h>
typedef short four __attribute__((ext_vector_type(4)));
typedef float sixteen __attribute__((ext_vector_type(16)));
extern "C" __global__ void sums(const unsigned short *a, const unsigned short *b, float *d, int depth) {
    int lane = threadIdx.x, row = lane % 32, part = lane / 32 * 4;
    sixteen sum = {};
    for (int k = part; k < depth; k += 8) {
        four x = *(const four *)(a + row * depth + k), y = *(const four *)(b + row * depth + k);
        sum = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x, y, sum, 0, 0, 0);
    }
    for (int r = 0; r < 16; r++) d[(8 * (r / 4) + part + r % 4) * 32 + row] = sum[r];
}
"""


def matrix_core(device: str, depth: int, kind: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums of `depth` products in fp32, and in float64; of 16 products two may be large and cancel."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(32, depth, generator=generator).bfloat16() for _ in range(2))
    if kind == "positive":
        a, b = a.abs(), b.abs()
    if kind == "cancelling":
        a[:, 8::16], a[:, 9::16], b[:, 8::16], b[:, 9::16] = 64, -64, 1.5, 1.5
    out = torch.empty(32, 32)
    kernel = wb.compile(_SOURCE, arch=wb.device(device).arch)["sums"]
    with wb.numerics(wb.device(device).numerics):
        kernel[1, 64](a.view(torch.uint16), b.view(torch.uint16), out, depth)
    return out, a.double() @ b.double().T


def attention(device: str) -> tuple[torch.Tensor, torch.Tensor]:
    spec = wb.kernels["attention/forward"]
    shape = spec.shape({"queries": 256, "keys": 256, "heads": 2, "heads_kv": 2})
    inputs = spec.make_inputs(shape, seed=0, device=wb.device(device))
    output = spec(*inputs.values(), device=device)
    output = next(iter(output.values()))
    wide = {k: v.double() if isinstance(v, torch.Tensor) else v for k, v in inputs.items()}
    expected = spec.reference(**wide)
    return output, expected[0] if isinstance(expected, tuple) else expected


def training_step(device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Gradients of both weights of two layers, by kernels for the products and their gradients."""
    generator = torch.Generator().manual_seed(0)
    x, target = (torch.randn(128, 256, generator=generator) for _ in range(2))
    weights = [(torch.randn(256, 256, generator=generator) / 16).bfloat16() for _ in range(2)]

    def gradients(product: Callable[..., torch.Tensor], dtype: torch.dtype) -> torch.Tensor:
        leaves = [w.to(dtype, copy=True).requires_grad_() for w in weights]
        hidden = product(x.bfloat16().to(dtype), leaves[0]).relu()
        error = product(hidden, leaves[1]) - target.bfloat16().to(dtype)
        (error.to(torch.float64) ** 2).mean().backward()
        return torch.stack([leaf.grad for leaf in leaves if leaf.grad is not None])

    with wb.numerics(wb.device(device).numerics):
        bf16_gradients = gradients(wb.ops.gemm, torch.bfloat16)
    return bf16_gradients, gradients(lambda a, b: a @ b.T, torch.float64)


def row(title: str, sides: dict[str, tuple[torch.Tensor, torch.Tensor]]) -> str:
    """A row of the table."""
    cells = [title]
    for output, expected in sides.values():
        scale = expected.abs().mean()
        error = (output.double() - expected) / scale
        spread = 3 * error.std() / error.numel() ** 0.5
        bias = f"{error.mean():+.1e} ± {spread:.1e}"
        cells += [f"{error.abs().mean():.2e}", f"{error.abs().max():.2e}", bias]
    (fast, _), (exact, _) = sides.values()
    bits = fast.view(torch.int32 if fast.dtype == torch.float32 else torch.int16)
    others = exact.view(bits.dtype)
    cells.append(f"{(bits != others).double().mean():.1%}")
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Errors of exact and fast numerics against float64.")
    parser.add_argument("--device", default="emulated:gfx942")
    device = parser.parse_args().device
    devices = {numerics: f"{device},numerics={numerics}" for numerics in ("fast", "exact")}
    heads = [f"{n}: {what}" for n in devices for what in ("mean error", "largest", "bias")]
    print(f"| {device} | {' | '.join(heads)} | other bits |")
    print("| --- |" + " --- |" * (len(heads) + 1))
    rows: list[tuple[str, Callable[[str], tuple[torch.Tensor, torch.Tensor]]]] = [
        *(
            (
                f"matrix core, bf16, K {depth:,}, {kind} numbers",
                lambda d, depth=depth, kind=kind: matrix_core(d, depth, kind),
            )
            for kind in ("normal", "positive", "cancelling")
            for depth in (256, 4096)
        ),
        ("attention forward, bf16", attention),
        ("training step, bf16 gradients", training_step),
    ]
    for title, function in rows:
        print(row(title, {n: function(d) for n, d in devices.items()}), flush=True)


if __name__ == "__main__":
    main()
