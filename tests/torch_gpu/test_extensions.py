"""`torch.utils.cpp_extension` inside `torch_as_gpu`: unmodified submissions to GPU MODE's competitions."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import needs
import pytest
import torch

import workbench as wb
from workbench.errors import AddressFault, TensorOverrun, ToolchainError
from workbench.targets import TILE_TARGETS
from workbench.torch_gpu import extensions

# The whole of torch/extension.h, which load_inline includes by default, takes a minute.
SUBMISSION = """
import os

os.environ["CXX"] = "clang++"
import torch
from torch.utils.cpp_extension import load_inline

CPP_WRAPPER = r'''
#include <torch/csrc/utils/pybind.h>
at::Tensor scale(at::Tensor x, double factor);
at::Tensor past(at::Tensor x);
std::vector<int64_t> describe(at::Tensor x);
'''
CUDA_SRC = r'''
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <hip/amd_detail/amd_warp_functions.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAMathCompat.h>
#include <c10/util/complex.h>
#include <torch/library.h>

__global__ void scale_kernel(const float *x, float *out, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    // exp(log z) = z: c10's complex numbers are Thrust's in a kernel.
    const c10::complex<float> z(factor, 1);
    if (i < n) out[i] = x[i] * c10::cuda::compat::abs(std::exp(std::log(z)).real());
}

at::Tensor scale(at::Tensor x, double factor) {
    TORCH_CHECK(x.is_cuda() && !x.is_cpu() && x.type().is_cuda(), "x must be a CUDA tensor");
    const at::cuda::OptionalCUDAGuard device_guard(x.device());
    const at::DeviceGuard plain_guard(x.device());
    cudaStream_t stream = at::cuda::getCurrentCUDAStream();
    // Both kinds of options, and memory that nobody but C++ sees.
    at::Tensor on_device = at::empty({x.numel()}, at::TensorOptions().dtype(at::kFloat).device(at::kCUDA));
    at::Tensor out = at::zeros({x.numel()}, x.options());
    const int n = static_cast<int>(x.numel());
    on_device.copy_(x.to(at::kCUDA));
    at::cuda::CUDAEvent event;
    const float *input = on_device.const_data_ptr<float>();
    scale_kernel<<<(n + 255) / 256, 256, 0, stream>>>(input, out.data_ptr<float>(), factor, n);
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    event.record();
    event.synchronize();
    return out.to(at::Device(at::kCUDA, 0), at::kDouble).cuda();
}

TORCH_LIBRARY(submission_ops, m) {
    m.def("scale(Tensor x, float factor) -> Tensor");
    m.def("again(Tensor x, float factor) -> Tensor");
    m.impl("again", torch::dispatch(c10::kCUDA, &scale));
}
TORCH_LIBRARY_IMPL(submission_ops, CUDA, m) { m.impl("scale", &scale); }

// As kernels that look at whole words do, or at whole rows of a tile.
__global__ void past_kernel(const float *x, float *out, int n) {
    const float spare = x[n + threadIdx.x];
    out[threadIdx.x] = spare == spare ? 1 : 2;
}
at::Tensor past(at::Tensor x) {
    at::Tensor out = at::zeros({8}, x.options());
    past_kernel<<<1, 8>>>(x.data_ptr<float>(), out.data_ptr<float>(), static_cast<int>(x.numel()));
    C10_CUDA_KERNEL_LAUNCH_CHECK();
    return out;
}

std::vector<int64_t> describe(at::Tensor x) {
    const c10::cuda::CUDAStream other = c10::cuda::getStreamFromPool();
    int64_t inside = 0;
    {
        const c10::cuda::CUDAStreamGuard guard(other);
        inside = at::cuda::getCurrentCUDAStream() == other;
    }
    const int64_t after = at::cuda::getCurrentCUDAStream() == at::cuda::getDefaultCUDAStream();
    return {x.get_device(), static_cast<int64_t>(x.device().type()), at::cuda::warp_size(),
            at::cuda::getCurrentDeviceProperties()->multiProcessorCount, inside, after};
}
'''
module = load_inline(
    name="submission_scale",
    cpp_sources=[CPP_WRAPPER],
    cuda_sources=[CUDA_SRC],
    functions=["scale", "past", "describe"],
    with_pytorch_error_handling=False,
    no_implicit_headers=True,
    extra_cuda_cflags=["--offload-arch=gfx942", "--offload-arch=gfx950", "-std=c++20", "-O3"],
)


def custom_kernel(data):
    x, factor = data
    return module.scale(x, factor)
"""


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@needs.extension_tools
def test_a_submission_with_load_inline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    monkeypatch.setenv("CXX", "")
    (tmp_path / "submission.py").write_text(SUBMISSION)
    submission = None
    for arch in TILE_TARGETS:
        with wb.torch_as_gpu(f"emulated:{arch}") as device:
            if submission is None:
                submission = _imported(tmp_path / "submission.py")
            x = torch.randn(1000, device="cuda")
            result = submission.custom_kernel((x, 3.0))
            torch.testing.assert_close(result, (3 * x).double(), rtol=1e-5, atol=1e-5)
            for operator in (torch.ops.submission_ops.scale, torch.ops.submission_ops.again):
                assert torch.equal(operator(x, 3.0), result)
            units = device.properties["multiProcessorCount"]
            assert submission.module.describe(x) == [0, 1, 64, units, 1, 1]
            # After its 4,000 bytes a GPU has more, with or without the end of a block of 512.
            with pytest.warns(TensorOverrun, match="read 32 bytes past the end of .*float32 tensor 1000"):
                assert (submission.module.past(x) > 0).all()
            with wb.sanitizing() as watch:
                assert (submission.module.past(x) > 0).all()
            [finding] = watch.findings
            assert "float32 tensor 1000" in finding.message
            with pytest.warns(TensorOverrun, match="read 32 bytes past the end of .*float32 tensor 1024"):
                submission.module.past(torch.zeros(1024, device="cuda"))
            monkeypatch.setenv("HIPKITTENS_BOUNDS", "exact")
            with pytest.raises(AddressFault, match=r"read .* past the end of .*float32 tensor 1000"):
                submission.module.past(x)
            monkeypatch.delenv("HIPKITTENS_BOUNDS")
    with wb.torch_as_gpu(f"emulated:{arch}"):
        overload = torch.ops.submission_ops.scale.default
        torch.library.register_fake(
            "submission_ops::scale", lambda x, _: torch.empty_like(x, dtype=torch.double)
        )
        assert set(torch.library.opcheck(overload, (x, 3.0)).values()) == {"SUCCESS"}
    # It is built once: PyTorch recognises equal sources.
    built = tmp_path / "submission_scale" / "submission_scale.so"
    before = built.stat().st_mtime_ns
    with wb.torch_as_gpu(f"emulated:{arch}"):
        _imported(tmp_path / "submission.py")
    assert built.stat().st_mtime_ns == before


def test_a_machine_without_a_compiler_is_told_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("CXX", "clang++")
    source = "__global__ void k() {}"
    with wb.torch_as_gpu("emulated:gfx950"):
        from torch.utils.cpp_extension import load_inline

        with pytest.raises(ToolchainError, match=r"needs a C\+\+ compiler.*apt-get install g\+\+"):
            load_inline("none", "", source, functions=[], with_cuda=True)


def test_the_module_is_pytorchs_own_again_afterwards() -> None:
    from torch.utils import cpp_extension

    names = ("ROCM_HOME", "IS_HIP_EXTENSION", "include_paths", "get_cxx_compiler")
    before = [getattr(cpp_extension, name) for name in names]
    with wb.torch_as_gpu("emulated:gfx950"):
        assert cpp_extension.IS_HIP_EXTENSION
        folders = cpp_extension.include_paths("cuda")
        assert Path(folders[0], "c10", "hip", "HIPStream.h").is_file()
        assert Path(str(cpp_extension.ROCM_HOME), "bin", "hipcc").is_file()
        assert torch._C._cuda_getCurrentRawStream(0) == torch.cuda.current_stream().cuda_stream
    assert [getattr(cpp_extension, name) for name in names] == before


def test_another_pytorchs_headers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "torch"
    (package / "include/ATen/core").mkdir(parents=True)
    (package / "include/ATen/core/TensorBase.h").write_text("class TensorBase {};\n")
    monkeypatch.setattr(torch, "__file__", str(package / "__init__.py"))
    with pytest.raises(ToolchainError, match=r"TensorBase.h: expected one place .* there are 0"):
        extensions.rocm_home.__wrapped__()
