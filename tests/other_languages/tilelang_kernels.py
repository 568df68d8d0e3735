"""Two TileLang kernels on PyTorch's "cuda": a sum, and a product of matrices; prints "right"."""

from __future__ import annotations

import sys

import tilelang
import tilelang.language as T
import torch


@tilelang.jit
def add(n: int, block: int):
    @T.prim_func
    def main(a: T.Tensor((n,), "float32"), b: T.Tensor((n,), "float32"), c: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=256) as place:
            for i in T.Parallel(block):
                c[place * block + i] = a[place * block + i] + b[place * block + i]

    return main


@tilelang.jit
def product(m: int, n: int, k: int):
    @T.prim_func
    def main(a: T.Tensor((m, k), "float16"), b: T.Tensor((k, n), "float16"), c: T.Tensor((m, n), "float32")):
        with T.Kernel(T.ceildiv(n, 64), T.ceildiv(m, 64), threads=256) as (column, row):
            left, right = T.alloc_shared((64, 32), "float16"), T.alloc_shared((32, 64), "float16")
            total = T.alloc_fragment((64, 64), "float32")
            T.clear(total)
            for step in T.Pipelined(T.ceildiv(k, 32), num_stages=0):
                T.copy(a[row * 64, step * 32], left)
                T.copy(b[step * 32, column * 64], right)
                T.gemm(left, right, total)
            T.copy(total, c[row * 64, column * 64])

    return main


def main() -> int:
    torch.manual_seed(0)
    x, y = torch.randn(2, 4096, device="cuda")
    out = torch.empty_like(x)
    add(4096, 1024)(x, y, out)
    torch.testing.assert_close(out, x + y)
    a, b = torch.randn(128, 64, device="cuda").half(), torch.randn(64, 128, device="cuda").half()
    c = torch.empty(128, 128, device="cuda")
    product(128, 128, 64)(a, b, c)
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=1e-3, atol=1e-2)
    print("right: sum, product")
    return 0


if __name__ == "__main__":
    sys.exit(main())
