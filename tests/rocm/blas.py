"""rocBLAS's sgemm and hgemm against NumPy; runs inside the root, by its Python.

    python3 blas.py HIP BLAS

HIP and BLAS are the numbers of the libraries' versions.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

TO_DEVICE, TO_HOST, NONE, TRANSPOSED = 1, 2, 111, 112
hip = ctypes.CDLL(f"libamdhip64.so.{sys.argv[1]}")
blas = ctypes.CDLL(f"librocblas.so.{sys.argv[2]}")


def call(status: int) -> None:
    if status:
        raise SystemExit(f"a call returned {status}")


def buffer(array: np.ndarray) -> ctypes.c_void_p:
    address = ctypes.c_void_p()
    size = ctypes.c_size_t(array.nbytes)
    call(hip.hipMalloc(ctypes.byref(address), size))
    call(hip.hipMemcpy(address, ctypes.c_void_p(array.ctypes.data), size, TO_DEVICE))
    return address


handle = ctypes.c_void_p()
call(blas.rocblas_create_handle(ctypes.byref(handle)))
generator = np.random.default_rng(0)
m, n, k = 96, 80, 48
for name, dtype, limit in (("sgemm", np.float32, 1e-5), ("hgemm", np.float16, 4e-3)):
    # Column-major, as BLAS has it: the transposed one is stored as n x k.
    a = np.asfortranarray(generator.standard_normal((m, k)).astype(dtype))
    b = np.asfortranarray(generator.standard_normal((n, k)).astype(dtype))
    c = np.asfortranarray(generator.standard_normal((m, n)).astype(dtype))
    alpha, beta = np.array([1.5], dtype), np.array([0.5], dtype)
    expected = 1.5 * a.astype(np.float64) @ b.astype(np.float64).T + 0.5 * c.astype(np.float64)
    da, db, dc = buffer(a), buffer(b), buffer(c)
    pa, pb = (ctypes.c_void_p(x.ctypes.data) for x in (alpha, beta))
    call(getattr(blas, f"rocblas_{name}")(handle, NONE, TRANSPOSED, m, n, k, pa, da, m, db, n, pb, dc, m))
    call(hip.hipMemcpy(ctypes.c_void_p(c.ctypes.data), dc, ctypes.c_size_t(c.nbytes), TO_HOST))
    error = np.linalg.norm(c.astype(np.float64) - expected) / np.linalg.norm(expected)
    print(f"{name}: {'right' if error < limit else 'WRONG'}, relative error {error:.1e}", flush=True)
