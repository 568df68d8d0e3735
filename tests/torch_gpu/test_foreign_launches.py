"""Launches by libraries that ctypes loads: they get addresses of tensors, and nobody names these to the device."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb

SOURCE = """#include <hip/hip_runtime.h>
__global__ void scale_kernel(const float *x, float *out, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * x[i];
}
__global__ void gather_kernel(const float *const *rows, float *out) { out[threadIdx.x] = *rows[threadIdx.x]; }

extern "C" void scale(const float *x, float *out, float factor, int n) {
    scale_kernel<<<(n + 255) / 256, 256>>>(x, out, factor, n);
}
extern "C" void gather(const float *const *rows, float *out, int n) { gather_kernel<<<1, n>>>(rows, out); }
"""
SCRIPT = """
import ctypes, sys, torch

library = ctypes.CDLL(sys.argv[1])
x = torch.randn(1000, device="cuda")
out = torch.zeros_like(x)
addresses = (ctypes.c_void_p(t.data_ptr()) for t in (x, out))
library.scale(*addresses, ctypes.c_float(2), 1000)
print((out == 2 * x).all().item())
"""

Launch = Callable[..., None]


@pytest.fixture(scope="module")
def library_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "kernels.cpp").write_text(SOURCE)
    flags = ["-shared", "-fPIC", "--offload-arch=gfx950", "-o", "libkernels.so"]
    command = [sys.executable, "-m", "workbench", "hipcc", "kernels.cpp", *flags]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "libkernels.so"


@pytest.fixture
def call(library_file: Path) -> Iterator[Launch]:
    """Calls a function of the library inside the door; tensors become their addresses."""

    def called(name: str, *values: Any) -> None:
        function = getattr(ctypes.CDLL(str(library_file)), name)
        function(*(ctypes.c_void_p(v.data_ptr()) if isinstance(v, torch.Tensor) else v for v in values))

    with wb.torch_as_gpu("emulated:gfx950"):
        yield called


def test_tensors_by_their_addresses(call: Launch) -> None:
    x = torch.randn(1000, device="cuda")
    out = torch.zeros_like(x)
    call("scale", x, out, ctypes.c_float(2), 1000)
    assert torch.equal(out, 2 * x)


def test_tensors_behind_addresses_in_memory(call: Launch) -> None:
    rows = [torch.full((4,), float(row), device="cuda") for row in range(64)]
    table = torch.tensor([row.data_ptr() for row in rows], device="cuda")
    out = torch.zeros(64, device="cuda")
    call("gather", table, out, 64)
    assert torch.equal(out, torch.arange(64.0))


def test_tensors_from_before_the_door(library_file: Path) -> None:
    x, out = torch.randn(1000), torch.zeros(1000)
    with wb.torch_as_gpu("emulated:gfx950"):
        library = ctypes.CDLL(str(library_file))
        library.scale(*(ctypes.c_void_p(t.data_ptr()) for t in (x, out)), ctypes.c_float(2), 1000)
    assert torch.equal(out, 2 * x)


def test_in_exec(library_file: Path) -> None:
    words = ["exec", "--device", "emulated:gfx950", "--", sys.executable, "-c", SCRIPT, str(library_file)]
    command = [sys.executable, "-m", "workbench", *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.stdout == "True\n", ended.stderr
    assert ended.stderr.startswith("hipkittens: 1 launch, ")
