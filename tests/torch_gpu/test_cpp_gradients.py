"""A `torch::autograd::Function` in C++, forward and backward, with kernels of the emulated device in both."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path
from sysconfig import get_config_var, get_path

import needs
import pytest
import torch

import workbench as wb
from workbench.errors import UsageError

pytestmark = needs.python_headers

KERNEL = """
#include <hip/hip_runtime.h>
__global__ void scale(const float *x, const float *factor, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor[i] * x[i];
}
extern "C" void launch_scale(const float *x, const float *factor, float *out, int n) {
    scale<<<(n + 255) / 256, 256>>>(x, factor, out, n);
}
"""
FUNCTION = """
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/utils/pybind.h>
#include <ATen/ops/empty_like.h>
extern "C" void launch_scale(const float *x, const float *factor, float *out, int n);
static at::Tensor scaled(const at::Tensor &x, const at::Tensor &factor) {
    at::Tensor out = at::empty_like(x);
    launch_scale(x.const_data_ptr<float>(), factor.const_data_ptr<float>(), out.data_ptr<float>(), x.numel());
    return out;
}
struct Scale : torch::autograd::Function<Scale> {
    static at::Tensor forward(torch::autograd::AutogradContext *context, at::Tensor x, at::Tensor factor) {
        context->save_for_backward({factor});
        return scaled(x, factor);
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext *context,
                                                   torch::autograd::variable_list gradients) {
        return {scaled(gradients[0].contiguous(), context->get_saved_variables()[0]), at::Tensor()};
    }
};
PYBIND11_MODULE(cpp_gradients, m) {
    m.def("scale", [](at::Tensor x, at::Tensor factor) { return Scale::apply(x, factor); });
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python extension that hipcc builds from a kernel and a C++ source with PyTorch's headers."""
    folder = tmp_path_factory.mktemp("module")
    (folder / "kernel.hip").write_text(KERNEL)
    (folder / "function.cpp").write_text(FUNCTION)
    root = Path(torch.__file__).parent
    headers = [root / "include", root / "include/torch/csrc/api/include", get_path("include")]
    libraries = ["-ltorch_python", "-ltorch", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{root / 'lib'}"]
    library = folder / f"cpp_gradients{get_config_var('EXT_SUFFIX')}"
    for words in (
        ["-O1", "-w", "-fPIC", "-x", "c++", *(f"-I{header}" for header in headers), "-c", "function.cpp"],
        ["--offload-arch=gfx950", "-fPIC", "-c", "kernel.hip"],
        ["-shared", "function.o", "kernel.o", f"-L{root / 'lib'}", *libraries, "-o", str(library)],
    ):
        subprocess.run([sys.executable, "-m", "workbench", "hipcc", *words], cwd=folder, check=True)
    return library


def test_backward_in_cpp(module: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU script's backward pass; outside of the context it is refused before it computes anything."""
    factor = torch.arange(300.0)
    loaded = wb.load_module(module, arch="gfx950")
    x = torch.ones(300, requires_grad=True)
    y = loaded.scale(2 * x, factor)
    assert torch.equal(y, 2 * factor)
    with pytest.raises(UsageError, match=r"cpp_gradients: the backward of Scale, .*wb.torch_as_gpu\(\)"):
        y.sum().backward()
    assert x.grad is None

    monkeypatch.syspath_prepend(str(module.parent))
    with wb.torch_as_gpu("emulated:gfx950"):
        inside = importlib.import_module("cpp_gradients")
        x = torch.ones(300, device="cuda", requires_grad=True)
        for _ in range(3):
            # Only C++ holds the factor.
            (gradient,) = torch.autograd.grad(inside.scale(2 * x, 1 * factor).sum(), x)
            assert torch.equal(gradient, 2 * factor)
