"""Scripts that were written for a GPU, on the emulated device: their results and the times they measure.
Nothing remains after the `with` block.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import subprocess
import sys
import time
from pathlib import Path
from sysconfig import get_config_var, get_path
from typing import Any

import needs
import pybind11
import pytest
import torch

import workbench as wb
from workbench.errors import KernelFault, UsageError

pytestmark = needs.python_headers

SOURCE = """
#include <pybind11/pybind11.h>
#include <hip/hip_runtime.h>
#include <stdexcept>
__global__ void scale_kernel(const float *x, float *out, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = factor * x[i];
}
__global__ void gradient_kernel(const float *x, const float *factor, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] * factor[i];
}
static float *address(pybind11::object tensor) {
    // As HipKittens' bindings ask.
    if (tensor.attr("device").attr("type").cast<std::string>() != "cuda")
        throw std::runtime_error("Tensor must be on CUDA device");
    return reinterpret_cast<float *>(tensor.attr("data_ptr")().cast<size_t>());
}
static void scale(pybind11::object x, pybind11::object out, float factor, int n) {
    scale_kernel<<<(n + 255) / 256, 256>>>(address(x), address(out), factor, n);
}
static pybind11::object scaled(pybind11::object x, float factor, int n) {
    pybind11::object out = pybind11::module_::import("torch").attr("empty_like")(x);
    scale(x, out, factor, n);
    return out;
}
struct Scale {
    float factor;
    void to(pybind11::object x, pybind11::object out, int n) const { scale(x, out, factor, n); }
};
// Keeps a tensor, and has a kernel run when PyTorch computes the gradient of another.
static void scale_gradient(pybind11::object x, pybind11::object factor_of, int n) {
    x.attr("register_hook")(pybind11::cpp_function([=](pybind11::object gradient) {
        pybind11::object out = pybind11::module_::import("torch").attr("empty_like")(gradient);
        gradient_kernel<<<(n + 255) / 256, 256>>>(address(gradient), address(factor_of), address(out), n);
        return out;
    }));
}
struct Kept {
    pybind11::object x;
    void scale_it(float factor, int n) const { scale(x, x, factor, n); }
};
PYBIND11_MODULE(NAME, m) {
    m.def("scale_gradient", &scale_gradient);
    pybind11::class_<Kept>(m, "Kept", pybind11::module_local())
        .def(pybind11::init<pybind11::object>())
        .def("scale_it", &Kept::scale_it)
        .def("scaled", [](const Kept &kept) { return kept.x; });
    m.def("scale", &scale);
    m.def("scaled", &scaled);
    m.def_submodule("parts").def("scale", &scale);
    pybind11::class_<Scale>(m, "Scale", pybind11::module_local())
        .def(pybind11::init<float>())
        .def("__call__", &Scale::to)
        .def("to", &Scale::to)
        .def_static("by", &scale);
}
"""
SCRIPT = """
import sys
import torch
import gpu_scale
assert torch.cuda.is_available() and __name__ == "__main__"
torch.manual_seed(1)
x = torch.randn(1000, device="cuda", requires_grad=True)
out = torch.zeros_like(x)
start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
gpu_scale.scale(x, out, float(sys.argv[1]), 1000)
end.record()
torch.cuda.synchronize()
print((out == float(sys.argv[1]) * x).all().item(), out.device, 0 < start.elapsed_time(end) < 0.1)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with modules built by the workbench's hipcc, and a script."""
    folder = tmp_path_factory.mktemp("modules")
    for number, name in enumerate(("gpu_scale", "gpu_again", "gpu_wild")):
        (folder / f"{name}.cpp").write_text(
            SOURCE.replace("NAME", name).replace("scale_kernel", f"k{number}")
        )
        flags = ["-shared", "-fPIC", "--offload-arch=gfx950", f"-I{pybind11.get_include()}"]
        flags.append(f"-I{get_path('include')}")
        output = folder / f"{name}{get_config_var('EXT_SUFFIX')}"
        command = [sys.executable, "-m", "workbench", "hipcc", f"{name}.cpp", *flags, "-o", str(output)]
        subprocess.run(command, cwd=folder, check=True)
    (folder / "script.py").write_text(SCRIPT)
    return folder


@pytest.fixture(autouse=True)
def _on_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))


@pytest.mark.parametrize(
    "words", [["script.py"], ["-m", "script"], ["--device", "emulated:gfx950", "script.py"]]
)
def test_a_script_runs_as_it_is(words: list[str], folder: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "workbench", "script", *words, "2.5"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.stdout == "True cuda:0 True\n", ended.stderr
    assert "times of HIP events are modelled for MI355X" in ended.stderr


def test_a_script_that_raises_shows_where(folder: Path) -> None:
    (folder / "broken.py").write_text("import torch\nraise RuntimeError(torch.cuda.get_device_name())\n")
    command = [sys.executable, "-m", "workbench", "script", "broken.py"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert 'broken.py", line 2' in ended.stderr
    assert "RuntimeError: AMD Instinct" in ended.stderr
    ended = subprocess.run(command[:-1], cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "script: expected a file" in ended.stderr


def test_functions_of_modules_see_tensors_inside_alone() -> None:
    x, out = torch.arange(300.0), torch.zeros(300)
    for factor in (2.0, 3.0):
        # Python imports a module once; the second time it exists already.
        with wb.torch_as_gpu("emulated:gfx950"):
            module = importlib.import_module("gpu_again")
            inside = module.scale
            module.scale(x, out, factor, 300)
        assert torch.equal(out, factor * x)
        assert module.scale is not inside
        with pytest.raises(RuntimeError, match="must be on CUDA"):
            module.scale(x, out, factor, 300)


def test_classes_and_modules_inside_a_module_see_tensors_too() -> None:
    x = torch.arange(300.0)
    with wb.torch_as_gpu("emulated:gfx950"):
        module = importlib.import_module("gpu_again")
        before = torch.cuda.Event(), torch.cuda.Event()
        for call in (
            lambda out: module.parts.scale(x, out, 3.0, 300),
            lambda out: module.Scale(3.0)(x, out, 300),
            lambda out: module.Scale(3.0).to(x, out, 300),
            lambda out: module.Scale.by(x, out, 3.0, 300),
        ):
            out = torch.zeros(300, device="cuda")
            before[0].record()
            call(out)
            before[1].record()
            assert torch.equal(out, 3 * x)
            assert 0 < before[0].elapsed_time(before[1]) < 0.1
    for function in (module.parts.scale, module.Scale(3.0).to, module.Scale.by):
        assert not hasattr(function, "__wrapped__")


def test_a_module_may_make_its_result() -> None:
    x = torch.arange(300.0)
    with wb.torch_as_gpu("emulated:gfx950"):
        module = importlib.import_module("gpu_again")
        for _ in range(5):
            assert torch.equal(module.scaled(x, 3.0, 300), 3 * x)


def test_what_cpp_keeps_of_an_earlier_call() -> None:
    x = torch.arange(300.0)
    with wb.torch_as_gpu("emulated:gfx950"):
        instance = importlib.import_module("gpu_again").Kept(x.clone())
        instance.scale_it(3.0, 300)
        assert torch.equal(instance.scaled(), 3 * x)


@pytest.mark.parametrize("how", ["backward", "grad"])
def test_kernels_of_a_gradient(how: str) -> None:
    """As from the backward of a C++ autograd function, which keeps the tensors that it needs."""
    factor = torch.arange(300.0)
    before = torch.autograd.backward, torch.autograd.grad
    with wb.torch_as_gpu("emulated:gfx950"):
        module = importlib.import_module("gpu_again")
        x = torch.ones(300, device="cuda", requires_grad=True)
        y = 2 * x
        module.scale_gradient(y, 1 * factor, 300)
        events = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        events[0].record()
        if how == "backward":
            (y * torch.ones(300)).sum().backward()
            gradient = x.grad
        else:
            (gradient,) = torch.autograd.grad((y * torch.ones(300)).sum(), x)
        events[1].record()
        assert gradient is not None
        assert torch.equal(gradient, 2 * factor)
        assert 0 < events[0].elapsed_time(events[1]) < 0.1
    assert (torch.autograd.backward, torch.autograd.grad) == before


def test_a_fault_names_the_line() -> None:
    with wb.torch_as_gpu("emulated:gfx950"):
        module = importlib.import_module("gpu_wild")
        x = torch.zeros(10, device="cuda")
        with pytest.raises(KernelFault, match=r"gpu_wild.cpp:7"):
            module.scale(x, x, 1.0, 100_000)


def test_the_time_is_that_of_the_model() -> None:
    n = 1 << 18
    with wb.torch_as_gpu("emulated:gfx950"):
        module = importlib.import_module("gpu_again")
        x = torch.ones(n, device="cuda")
        out = torch.zeros(n, device="cuda")
        events = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
        for event in events:
            event.record()
            module.scale(x, out, 2.0, n)
        once, twice = events[0].elapsed_time(events[1]), events[0].elapsed_time(events[2])
        with pytest.raises(UsageError, match="was not recorded"):
            events[0].elapsed_time(torch.cuda.Event())
        began = time.perf_counter()
        events[0].record()
        torch.ones(100).sum()
        events[1].record()
        assert 0 < events[0].elapsed_time(events[1]) <= 1e3 * (time.perf_counter() - began)
    # The second run finds the first one's data in the Infinity Cache.
    assert once < twice <= 2 * once
    kernel = wb.compile(
        "#include <hip/hip_runtime.h>\n"
        "__global__ void scale(const float *x, float *out, float factor, int n) {\n"
        "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) out[i] = factor * x[i];\n}\n",
        arch="gfx950",
    )["scale"]
    x, out = torch.ones(n), torch.zeros(n)
    expected = wb.time(kernel[n // 256, 256], x, out, 2.0, n, device="emulated:gfx950").events
    assert expected is not None
    assert once == pytest.approx(expected.value / 1e3, rel=0.1)


def test_torch_cuda_answers() -> None:
    with wb.torch_as_gpu("emulated:gfx942") as device:
        assert torch.cuda.is_available()
        assert torch.cuda.device_count() == 1
        assert torch.cuda.current_device() == 0
        assert torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx942")
        assert torch.cuda.get_device_properties("cuda").total_memory == device.properties["totalGlobalMem"]
        # As torch.utils.cpp_extension reads it.
        assert [int(part) for part in str(torch.version.hip).split(".")[:2]] >= [6, 0]
        x = torch.ones(3).cuda()
        assert x.is_cuda
        assert x.device == torch.device("cuda", 0)
        assert torch.nn.Linear(3, 3).to("cuda").weight.device.type == "cuda"
        assert torch.zeros(2, device=0).to(device="cuda:0", dtype=torch.float16).dtype == torch.float16
        # As annotations name it, which Python evaluates.
        assert isinstance(torch.cuda.current_stream(), torch.cuda.Stream | None)
        with torch.cuda.stream(torch.cuda.Stream(device="cuda")):
            torch.cuda.current_stream().synchronize()
        torch.cuda.synchronize()
        free, total = torch.cuda.mem_get_info()
        assert 0 < free <= total
        torch.cuda.manual_seed(3)
        first = torch.randn(4, device="cuda")
        generator = torch.Generator(device="cuda").manual_seed(3)
        assert torch.equal(first, torch.randn(4, device="cuda", generator=generator))
        twice = torch.compile(lambda x: 2 * x)
        assert torch.equal(twice(first), 2 * first)


def product() -> torch.Tensor:
    return torch.ones(4, 4, device="cuda") @ torch.ones(4, 4, device="cuda")


def test_autocast() -> None:
    with wb.torch_as_gpu("emulated:gfx950"):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            assert (product().dtype, torch.is_autocast_enabled()) == (torch.bfloat16, True)
            with torch.autocast("cuda", enabled=False):
                assert (product().dtype, torch.is_autocast_enabled()) == (torch.float32, False)
            assert product().dtype == torch.bfloat16
        # CUDA's default, which is not the CPU's.
        assert torch.autocast("cuda")(product)().dtype == torch.float16
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert not torch.is_autocast_enabled()
        assert product().dtype == torch.float32
        assert not torch.is_autocast_enabled("cpu")


def test_places_that_programs_name() -> None:
    place = torch.device("cuda", 0)
    with wb.torch_as_gpu("emulated:gfx950"):
        with torch.device("cuda"):
            x = torch.arange(3.0)
            assert x.device == torch.nn.Linear(2, 2).weight.device == place
        assert torch.equal(x + torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 3.0, 5.0]))
        assert x.get_device() == torch.cuda.device(x.device).idx == 0
        assert torch.equal(x.pin_memory().to(0, torch.float64), x.double())
        assert torch.nn.Linear(2, 2).to(0).weight.device == place
        stream = torch.cuda.current_stream()
        x.record_stream(stream)
        assert stream == torch.cuda.default_stream()
        assert stream.device == place
        assert stream.query()
        assert stream.record_event().query()
        with torch.cuda.device_of(x), torch.cuda.StreamContext(stream):
            assert torch.cuda.current_device() == 0


def test_the_index_of_a_gpu_is_a_device(tmp_path: Path) -> None:
    theirs, file = torch.device, tmp_path / "place.pt"
    with wb.torch_as_gpu("emulated:gfx950"):
        place = torch.device(0)
        assert place == torch.device(device=0) == torch.device(place) == theirs("cuda", 0)
        assert torch.zeros(2, device=place).device == place
        assert isinstance(place, torch.device)
        assert not isinstance("cuda:0", torch.device)
        with pytest.raises(RuntimeError, match="index must not be negative"):
            torch.device(-1)
        device_class = torch.device

        @torch.library.custom_op("workbench_tests::moved", mutates_args=())
        def moved(x: torch.Tensor, place: torch.device | None = None) -> torch.Tensor:
            return x.clone()

        assert torch.equal(moved(torch.ones(2), theirs("cpu")), torch.ones(2))
        torch.save({"place": place}, file)
        assert torch.load(file) == {"place": place}
    # A stored reference is PyTorch's class again.
    assert device_class("cuda:1") == theirs("cuda", 1)
    assert isinstance(theirs("cpu"), device_class)
    assert torch.load(file) == {"place": place}
    if not torch.cuda.is_available():
        with pytest.raises((RuntimeError, AssertionError)):
            torch.zeros(2, device=device_class(0))


@pytest.mark.skipif(not hasattr(torch.ops.aten.mm, "dtype"), reason="PyTorch 2.8 and later")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_products_with_out_dtype(dtype: torch.dtype) -> None:
    random = torch.Generator().manual_seed(25)
    a, b = (torch.randn(2, 8, 8, generator=random).to(dtype) for _ in range(2))
    c = torch.randn(2, 8, 8, generator=random)
    product, sums = a.double() @ b.double(), c.double()
    with wb.torch_as_gpu("emulated:gfx950"):
        wide: Any = {"out_dtype": torch.float32}
        products = {
            "mm": (torch.mm(a[0], b[0], **wide), product[0]),
            "bmm": (torch.bmm(a, b, **wide), product),
            "addmm": (torch.addmm(c[0], a[0], b[0], beta=2, alpha=3, **wide), 2 * sums[0] + 3 * product[0]),
            "baddbmm": (torch.baddbmm(c, a, b, **wide), sums + product),
        }
        for name, (actual, expected) in products.items():
            # A product that was rounded to 16 bits in between is 1e-3 off.
            assert (name, actual.dtype) == (name, torch.float32)
            torch.testing.assert_close(actual.double(), expected, rtol=1e-6, atol=1e-5, msg=name)
        assert torch.mm(a[0], b[0], out_dtype=dtype).dtype == dtype
        with pytest.raises(RuntimeError, match=r"out_dtype torch\.float64"):
            torch.mm(a[0], b[0], out_dtype=torch.float64)
        with pytest.raises(RuntimeError, match="same dtype"):
            torch.mm(a[0], c[0], out_dtype=torch.float32)
    with pytest.raises(NotImplementedError):
        torch.mm(a[0], b[0], out_dtype=torch.float32)


@pytest.mark.skipif(not hasattr(torch, "accelerator"), reason="PyTorch 2.6 and later")
def test_the_accelerator_is_the_device() -> None:
    with wb.torch_as_gpu("emulated:gfx950"):
        assert torch.accelerator.is_available()
        assert torch.accelerator.device_count() == 1
        place = torch.accelerator.current_accelerator()
        assert torch.zeros(2, device=place).device.type == "cuda"
        torch.accelerator.synchronize()


def test_a_step_of_mixed_precision() -> None:
    with wb.torch_as_gpu("emulated:gfx950"):
        model = torch.nn.Linear(4, 1).to(0)
        before = model.weight.detach().clone()
        optimizer, scaler = torch.optim.Adam(model.parameters()), torch.amp.GradScaler("cuda")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            output = model(torch.ones(2, 4, device=0))
        assert output.dtype == torch.bfloat16
        scaler.scale(output.sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        # Adam's first step is its rate, whatever the gradient.
        torch.testing.assert_close(model.weight, before - 1e-3)


def test_tensors_come_from_files_and_from_other_processes(tmp_path: Path) -> None:
    file = tmp_path / "x.pt"
    with wb.torch_as_gpu("emulated:gfx950"):
        x = torch.arange(4.0, device="cuda")
        torch.save(x, file)
        for place in ("cuda", torch.device("cuda", 0), None):
            assert torch.equal(torch.load(file, map_location=place), x)
        batches = torch.utils.data.DataLoader(x, batch_size=2, num_workers=1, pin_memory=True)
        assert [batch.tolist() for batch in batches] == [[0, 1], [2, 3]]


@pytest.mark.skipif(not hasattr(torch.library, "custom_op"), reason="PyTorch 2.4 and later")
def test_an_operator_for_cuda_takes_its_tensors() -> None:
    with wb.torch_as_gpu("emulated:gfx950"):

        @torch.library.custom_op("workbench_tests::twice", mutates_args=(), device_types="cuda")
        def twice(x: torch.Tensor) -> torch.Tensor:
            return 2 * x

        assert torch.equal(twice(torch.ones(2, device="cuda")), torch.full((2,), 2.0))


def test_nothing_stays() -> None:
    def state() -> tuple[object, ...]:
        names = ("Event", "Stream", "device", "is_available", "synchronize", "mem_get_info")
        loader = importlib.machinery.ExtensionFileLoader.exec_module
        functions = torch.randn, torch.compile, torch.Generator, torch.Tensor.to, torch.Tensor.cuda, loader
        inside = torch.autocast.__enter__, torch.nn.Module.to, torch.utils._device.DeviceContext, torch.device
        return (
            *(getattr(torch.cuda, name) for name in names),
            *functions,
            *inside,
            tuple(sorted(vars(torch.cuda))),
        )

    before = state()
    with wb.torch_as_gpu("emulated:gfx950"):
        assert state() != before
    assert state() == before

    def fail() -> None:
        with wb.torch_as_gpu("emulated:gfx950"):
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        fail()
    assert state() == before
    x = torch.ones(2)
    assert (x.device.type, x.is_cuda) == ("cpu", False)
    assert not torch.cuda.is_available()
