"""Two Helion kernels on PyTorch's "cuda": a product of matrices, and softmax of rows; prints "right"."""

from __future__ import annotations

import sys

import helion
import helion.language as hl
import torch


@helion.kernel(config=helion.Config(block_sizes=[32, 32, 32], num_warps=4), static_shapes=True)
def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    m, k = a.size()
    _, n = b.size()
    out = torch.empty([m, n], dtype=a.dtype, device=a.device)
    for rows, columns in hl.tile([m, n]):
        total = hl.zeros([rows, columns], dtype=torch.float32)
        for depth in hl.tile(k):
            total = torch.addmm(total, a[rows, depth], b[depth, columns])
        out[rows, columns] = total.to(a.dtype)
    return out


@helion.kernel(config=helion.Config(block_sizes=[1], num_warps=4), static_shapes=True)
def softmax(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for rows in hl.tile(x.size(0)):
        out[rows, :] = torch.nn.functional.softmax(x[rows, :], dim=1)
    return out


def main() -> int:
    torch.manual_seed(0)
    a, b = torch.randn(64, 96, device="cuda").half(), torch.randn(96, 64, device="cuda").half()
    torch.testing.assert_close(product(a, b).float(), a.float() @ b.float(), rtol=1e-2, atol=1e-2)
    x = torch.randn(32, 1000, device="cuda")
    torch.testing.assert_close(softmax(x), x.softmax(1))
    print("right: product, softmax")
    return 0


if __name__ == "__main__":
    sys.exit(main())
