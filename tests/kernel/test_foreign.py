"""Launches by libraries that ctypes loads are timed, profiled and sanitized like the workbench's."""

from __future__ import annotations

import ctypes
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import workbench as wb
from workbench.kernel import by_file
from workbench.kernel.foreign import ForeignCall, recording_all

SOURCE = """#include <hip/hip_runtime.h>
__global__ void scale_kernel(const float *x, float *out, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * x[i];
}
__global__ void reverse_kernel(float *x) {
    __shared__ float row[64];
    if (x[0] < 0) row[threadIdx.x] = 1;
    x[threadIdx.x] = row[63 - threadIdx.x];
}
extern "C" void scale(const float *x, float *out, float factor, int n) {
    scale_kernel<<<(n + 255) / 256, 256>>>(x, out, factor, n);
}
extern "C" void reverse(float *x) { reverse_kernel<<<1, 64>>>(x); }
extern "C" int module_launch(const void *code, const char *name, void *arguments, size_t size) {
    hipModule_t module;
    hipFunction_t function;
    void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     HIP_LAUNCH_PARAM_END};
    if (int error = hipModuleLoadData(&module, code)) return error;
    if (int error = hipModuleGetFunction(&function, module, name)) return error;
    return hipModuleLaunchKernel(function, 2, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra);
}
"""

Launch = Callable[..., Any]


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
    """Calls a function of the library in `foreign`'s scope; tensors become their addresses."""

    def called(name: str, *values: Any) -> Any:
        function = getattr(ctypes.CDLL(str(library_file)), name)
        return function(
            *(ctypes.c_void_p(v.data_ptr()) if isinstance(v, torch.Tensor) else v for v in values)
        )

    with wb.torch_as_gpu("emulated:gfx950"):
        yield called


def test_observed(call: Launch) -> None:
    x = torch.randn(1000, device="cuda")
    out = torch.zeros_like(x)

    def launch() -> None:
        call("scale", x, out, ctypes.c_float(2), 1000)

    assert wb.time(launch).median.value > 0
    profile = wb.profile(launch)
    assert profile.name.startswith("scale_kernel")
    assert profile["SQ_WAVES"].value == 16
    assert not wb.sanitize(launch).findings
    out.zero_()
    wb.time(launch)
    assert torch.equal(out, 2 * x)


FLYDSL = Path(__file__).parents[1] / "data" / "flydsl_add_gfx950.co"
"""Machine code that FlyDSL 0.3.2 made of `c[place] = x + y`, on lines 7 to 10 of add.py."""


def test_code_of_flydsl(call: Launch) -> None:
    """Its launches are counted by the lines of its Python source, and sanitized."""
    code = FLYDSL.read_bytes()
    x, y, out = (
        torch.randn(128, device="cuda"),
        torch.randn(128, device="cuda"),
        torch.zeros(128, device="cuda"),
    )

    def launch() -> None:
        block = b"".join(struct.pack("<Qq", tensor.data_ptr(), 128) for tensor in (x, y, out))[:44]
        assert not call("module_launch", code, b"add_kernel_0", block, ctypes.c_size_t(len(block)))

    profile = wb.profile(launch)
    assert torch.equal(out, x + y)
    assert profile["SQ_WAVES"].value == 2
    lines = {line: value for (file, line), value in profile.lines.items() if Path(file).name == "add.py"}
    assert lines.keys() == {5, 7, 8, 9, 10}
    # Two loads and a store of a wave, each on its line.
    assert [lines[line].classes.get("vmem_load", 0) for line in (8, 9, 10)] == [2, 2, 0]
    assert lines[10].classes["vmem_store"] == 2
    assert not wb.sanitize(launch).findings
    # A notebook's cell is such a file, with the marks of these kernels.
    assert by_file.kernels_of("add.py").keys() == {"add_kernel_0"}


def test_findings(call: Launch) -> None:
    x = torch.ones(64, device="cuda")
    assert wb.sanitize(lambda: call("reverse", x)).findings


def test_tensors_of_the_call_live_on(call: Launch) -> None:
    """Tensors that a function creates for its launch exist when the launch is repeated."""

    def launch() -> None:
        x = torch.randn(1000, device="cuda")
        call("scale", x, torch.empty_like(x), ctypes.c_float(2), 1000)

    with recording_all() as launches:
        launch()
    (foreign,) = launches
    assert isinstance(foreign, ForeignCall)
    x, out = foreign.tensors.values()
    out.zero_()
    assert foreign.run(None).grid == (4, 1, 1)
    assert torch.equal(out, 2 * x)


def test_order(call: Launch) -> None:
    """The workbench's launches and foreign ones are in their order."""
    source = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }'
    own = wb.compile(f"#include <hip/hip_runtime.h>\n{source}", arch="gfx950")["twice"]
    x = torch.ones(64)

    def launch() -> None:
        own[1, 64](x)
        call("scale", x, x, ctypes.c_float(3), 64)
        own[1, 64](x)

    with recording_all() as launches:
        launch()
    assert [isinstance(launch, ForeignCall) for launch in launches] == [False, True, False]
    assert torch.equal(x, torch.full((64,), 12.0))
