"""Launches by libraries that ctypes loads: they get addresses of tensors without their names."""

from __future__ import annotations

import ctypes
import gc
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import workbench as wb
from workbench.emulator.hip import calls
from workbench.emulator.native import abi
from workbench.errors import TensorOverrun

SOURCE = """#include <hip/hip_runtime.h>
#include <cstdlib>
__global__ void scale_kernel(const float *x, float *out, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * x[i];
}
__global__ void gather_kernel(const float *const *rows, float *out) { out[threadIdx.x] = *rows[threadIdx.x]; }
// As kernels that look at whole words do, or at whole rows of a tile.
__global__ void read_past_kernel(const float *x, float *out, int n) {
    const float spare = x[n + threadIdx.x];
    out[threadIdx.x] = spare == spare ? 1 : 2;
}
__global__ void write_past_kernel(float *x, int n) { x[n - 4 + threadIdx.x] = 7; }
// One value for all lanes, which comes by a scalar load.
__global__ void read_word_past_kernel(const int *x, int *out, int n) { *out = x[n] | 1; }

extern "C" void scale(const float *x, float *out, float factor, int n) {
    scale_kernel<<<(n + 255) / 256, 256>>>(x, out, factor, n);
}
extern "C" void gather(const float *const *rows, float *out, int n) { gather_kernel<<<1, n>>>(rows, out); }
extern "C" void read_past(const float *x, float *out, int n) { read_past_kernel<<<1, 8>>>(x, out, n); }
extern "C" void write_past(float *x, int n) { write_past_kernel<<<1, 8>>>(x, n); }
extern "C" void read_word_past(const int *x, int *out, int n) { read_word_past_kernel<<<1, 1>>>(x, out, n); }
extern "C" void end_by_exit(int status) { exit(status); }
extern "C" void end_by_abort() { abort(); }
extern "C" int wait() { return hipDeviceSynchronize(); }
extern "C" int kind_of_memory(const void *address) {
    hipPointerAttribute_t attributes;
    return hipPointerGetAttributes(&attributes, address) == hipSuccess ? attributes.type : -1;
}
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

FAILING = """
import ctypes, os, sys
import workbench as wb
from workbench.errors import KernelFault

device = wb.device("emulated:gfx942")
with device.hip():
    library = ctypes.CDLL(sys.argv[1])

def launch():
    with device.hip():
        library.read_past(None, None, 1000)

def exit():
    with device.host_code(lambda: []):
        launch()
        library.end_by_exit(7)

def abort():
    with device.host_code(lambda: []):
        launch()
        library.end_by_abort()

def catch():
    try:
        with device.host_code(lambda: []):
            launch()
    except KernelFault:
        print("raised")

def again():
    launch()
    launch()

globals()[sys.argv[2]]()
"""
Call = Callable[..., int]
SUCCESS, ILLEGAL_ADDRESS = 0, 700
DEVICE_MEMORY = 2


@pytest.fixture(scope="module")
def library_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("foreign")
    (folder / "kernels.cpp").write_text(SOURCE)
    flags = ["-shared", "-fPIC", "--offload-arch=gfx942", "-o", "libkernels.so"]
    command = [sys.executable, "-m", "workbench", "hipcc", "kernels.cpp", *flags]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "libkernels.so"


@pytest.fixture
def call(library_file: Path) -> Iterator[Call]:
    """Calls a function of the library inside `torch_as_gpu`."""
    with wb.torch_as_gpu("emulated:gfx942"):
        yield caller(library_file)


def caller(library_file: Path) -> Call:
    """Calls a function of the library by its name; tensors become their addresses."""

    def call(name: str, *values: Any) -> int:
        function = getattr(ctypes.CDLL(str(library_file)), name)
        result = function(
            *(ctypes.c_void_p(v.data_ptr()) if isinstance(v, torch.Tensor) else v for v in values)
        )
        return int(result)

    return call


def test_tensors_by_their_addresses(call: Call) -> None:
    x = torch.randn(1000, device="cuda")
    out = torch.zeros_like(x)
    call("scale", x, out, ctypes.c_float(2), 1000)
    assert torch.equal(out, 2 * x)

    assert call("wait") == SUCCESS
    assert call("kind_of_memory", x) == DEVICE_MEMORY


def gathered(call: Call, rows: list[torch.Tensor] | list[torch.UntypedStorage]) -> torch.Tensor:
    """The first elements of rows, read by a kernel that gets a tensor of their addresses."""
    table = torch.tensor([row.data_ptr() for row in rows], device="cuda")
    out = torch.zeros(len(rows), device="cuda")
    call("gather", table, out, len(rows))
    return out


def full_rows() -> list[torch.Tensor]:
    return [torch.full((4,), float(row)) for row in range(64)]


def test_tensors_behind_addresses_in_memory(call: Call) -> None:
    assert torch.equal(gathered(call, full_rows()), torch.arange(64.0))


def test_memory_that_no_tensor_of_pythons_has(call: Call) -> None:
    assert torch.equal(gathered(call, [row.untyped_storage() for row in full_rows()]), torch.arange(64.0))


def test_tensors_from_before_the_door(library_file: Path) -> None:
    rows, out = full_rows(), torch.zeros(1000)
    with wb.torch_as_gpu("emulated:gfx942"):
        call = caller(library_file)
        assert torch.equal(gathered(call, rows), torch.arange(64.0))
        call("scale", rows[3], out, ctypes.c_float(2), 4)
    assert torch.equal(out[:4], torch.full((4,), 6.0))


def test_memory_that_pytorch_did_not_allocate(call: Call) -> None:
    x, out = (torch.from_numpy(array) for array in (np.arange(8, dtype=np.float32), np.zeros(8, np.float32)))
    call("scale", x, out, ctypes.c_float(2), 8)
    assert torch.equal(out, 2 * x)
    # It is known from then on, while it exists.
    assert torch.equal(gathered(call, [x[row:] for row in range(8)]), x)


def test_a_launch_in_another_thread(call: Call) -> None:
    # The library has code only for `torch_as_gpu`'s device, which is not the first of this process.
    x, out = torch.randn(100, device="cuda"), torch.zeros(100, device="cuda")
    thread = threading.Thread(target=call, args=("scale", x, out, ctypes.c_float(2), 100))
    thread.start()
    thread.join()
    assert torch.equal(out, 2 * x)


def test_memory_that_was_freed_is_out_of_reach(call: Call) -> None:
    rows = full_rows()
    table = torch.tensor([row.data_ptr() for row in rows], device="cuda")
    out = torch.zeros(64, device="cuda")
    rows[5].resize_(0).untyped_storage().resize_(0)
    call("gather", table, out, 64)
    assert call("wait") == ILLEGAL_ADDRESS


def test_launches_after_the_door(library_file: Path) -> None:
    call = caller(library_file)
    with wb.torch_as_gpu("emulated:gfx942"):
        x, out = torch.randn(100, device="cuda"), torch.zeros(100, device="cuda")
    with wb.device("emulated:gfx942").hip():
        call("scale", x, out, ctypes.c_float(2), 100)
        assert call("wait") == ILLEGAL_ADDRESS


def test_reads_past_a_tensor(call: Call) -> None:
    x, out = torch.zeros(1000, device="cuda"), torch.zeros(8, device="cuda")
    with pytest.warns(TensorOverrun, match=r"read 32 bytes past the end of .*float32 tensor 1000\b"):
        call("read_past", x, out, 1000)
    assert (out > 0).all()
    with wb.sanitizing() as watch:
        call("read_past", x, out.zero_(), 1000)
    [finding] = watch.findings
    assert finding.category == "out of bounds"
    assert "past the end of a 4000-byte tensor of PyTorch (float32 tensor 1000)" in finding.message
    assert (finding.line, finding.count) == (10, 8)
    # It has continued with the data there.
    assert call("wait") == SUCCESS
    assert (out > 0).all()


def test_scalar_reads_past_a_tensor(call: Call) -> None:
    x, out = torch.zeros(5, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    with wb.sanitizing() as watch:
        call("read_word_past", x, out, 5)
    [finding] = watch.findings
    assert "read 4 bytes past the end of" in finding.message
    assert out % 2 == 1


def test_writes_past_a_tensor(call: Call) -> None:
    x, neighbours = torch.zeros(1000, device="cuda"), [torch.zeros(1000) for _ in range(4)]
    with pytest.warns(TensorOverrun, match=r"wrote 16 bytes past the end of .*float32 tensor 1000\b"):
        call("write_past", x, 1000)
    assert x[996:].tolist() == [7.0] * 4
    assert not any(tensor.any() for tensor in neighbours)
    with wb.sanitizing() as watch:
        call("write_past", x, 1000)
    assert "wrote 4 bytes past the end of" in watch.findings[0].message
    assert call("wait") == SUCCESS


def test_what_no_allocator_has_behind_a_tensor(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    out = torch.zeros(8, device="cuda")
    x = torch.zeros(1024, device="cuda")
    with pytest.warns(TensorOverrun, match=r"read 65536 bytes past the end of .*float32 tensor 1024\b"):
        call("read_past", x, out, 1024 + abi.STORAGE_ROOM // 4 - 8)
    assert call("wait") == SUCCESS
    call("read_past", x, out, 1024 + abi.STORAGE_ROOM // 4)
    assert call("wait") == ILLEGAL_ADDRESS
    # A write would go into another tensor.
    call("write_past", x, 1024)
    assert call("wait") == ILLEGAL_ADDRESS
    large = torch.zeros(10 << 20, dtype=torch.int8, device="cuda")
    call("read_past", large, out, large.numel() // 4)
    assert call("wait") == ILLEGAL_ADDRESS
    monkeypatch.setenv("HIPKITTENS_BOUNDS", "exact")
    x = torch.zeros(1000, device="cuda")
    call("read_past", x, out, 1000)
    assert call("wait") == ILLEGAL_ADDRESS
    with wb.sanitizing() as watch:
        call("read_past", x, out, 1000)
    assert "past the end of a 4000-byte host buffer (float32 tensor 1000)" in watch.findings[0].message
    assert call("wait") == ILLEGAL_ADDRESS


@pytest.mark.parametrize(
    ("way", "status", "output", "line_count"),
    [("again", 0, "", 1), ("exit", 7, "", 1), ("abort", -signal.SIGABRT, "", 1), ("catch", 0, "raised\n", 0)],
)
def test_a_failure_that_no_exception_tells_of(
    library_file: Path, way: str, status: int, output: str, line_count: int
) -> None:
    command = [sys.executable, "-c", FAILING, str(library_file), way]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (ended.returncode, ended.stdout) == (status, output), ended.stderr
    lines = ended.stderr.splitlines()
    assert len(lines) == line_count
    start = "hipkittens: a launch failed, and no exception reported it: kernel read_past_kernel at "
    assert all(line.startswith(f"{start}kernels.cpp:10") for line in lines)


def test_failures_inside_torch_as_gpu_are_reported(
    call: Call, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # As in a separate process.
    monkeypatch.setattr(calls, "_printed", set())
    for page in range(20):
        call("read_past", ctypes.c_void_p(0x123450000 + 4096 * page), None, 0)
    *lines, last = capsys.readouterr().err.splitlines()
    assert len(lines) == 16
    assert all("no exception reported it: kernel read_past_kernel" in line for line in lines)
    assert last.startswith("hipkittens: further failed launches of this process are not reported")


def test_memory_in_use() -> None:
    # Nothing from other tests may be freed in the meantime.
    gc.collect()
    with wb.torch_as_gpu("emulated:gfx942"):
        before, (free, total) = torch.cuda.memory_allocated(), torch.cuda.mem_get_info()
        torch.cuda.reset_peak_memory_stats()
        x = torch.empty(1000, device="cuda")
        # As with a GPU's allocator: a view takes no memory, and 4,000 bytes take 4,096.
        view = x[:10]
        assert torch.cuda.memory_allocated() == torch.cuda.memory_stats()["allocated_bytes.all.current"]
        assert torch.cuda.memory_allocated() == before + 4096
        assert torch.cuda.mem_get_info() == (free - 4096, total)
        del x
        assert torch.cuda.memory_allocated() == before + 4096
        del view
        assert torch.cuda.memory_allocated() == torch.cuda.memory_reserved() == before
        assert torch.cuda.max_memory_allocated() == before + 4096
        torch.cuda.reset_peak_memory_stats()
        assert torch.cuda.max_memory_allocated() == before


def test_in_exec(library_file: Path) -> None:
    words = ["exec", "--device", "emulated:gfx942", "--", sys.executable, "-c", SCRIPT, str(library_file)]
    command = [sys.executable, "-m", "workbench", *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert ended.stdout == "True\n", ended.stderr
    assert ended.stderr.startswith("hipkittens: 1 launch, ")
