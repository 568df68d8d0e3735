"""pybind11 modules with host and device code, imported and called on the emulated devices."""

from __future__ import annotations

import subprocess
import sysconfig
import threading
from pathlib import Path

import needs
import pytest
import torch

import workbench as wb
from workbench import errors
from workbench.kernel.host_module import exceptions_of, tensors
from workbench.targets import TILE_TARGETS
from workbench.toolchain import host, native
from workbench.toolchain.host_library import SYSTEM
from workbench.toolchain.native import build

POINTERS = r"""#include <hip/hip_runtime.h>
#include <pybind11/pybind11.h>
#include <stdexcept>
#include <thread>
__global__ void add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
__global__ void wild(float *x) { x[1 << 20] = 1; }
__global__ void speak(int n) { if (threadIdx.x == 0) printf("%d from block %u\n", n, blockIdx.x); }
float *at(pybind11::object tensor) { return (float *)tensor.attr("data_ptr")().cast<size_t>(); }
void run(pybind11::object a, pybind11::object b, pybind11::object c) {
    int n = c.attr("numel")().cast<int>();
    add<<<(n + 255) / 256, 256>>>(at(a), at(b), at(c), n);
    if (hipGetLastError() != hipSuccess) throw std::runtime_error("the launch failed");
}
__global__ void shrink(float *x, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) x[i] *= 0.5f;
}
// As HipKittens' own bindings look at a tensor.
void halve(pybind11::object x) {
    if (x.attr("__class__").attr("__name__").cast<std::string>() != "Tensor")
        throw std::runtime_error("Expected a torch.Tensor");
    if (!x.attr("is_contiguous")().cast<bool>()) throw std::runtime_error("Tensor must be contiguous");
    if (x.attr("device").attr("type").cast<std::string>() == "cpu")
        throw std::runtime_error("Tensor must be on CUDA device");
    pybind11::tuple shape = x.attr("shape");
    int n = shape[0].cast<int>() * shape[1].cast<int>();
    shrink<<<(n + 63) / 64, 64>>>(at(x), n);
}
struct Halver {
    pybind11::object x;
    void of(pybind11::object other, int n) const { shrink<<<(n + 63) / 64, 64>>>(at(other), n); }
};
struct Thrower {
    struct Oops {};
    Thrower(bool at_once) { if (at_once) throw Oops{}; }
    void method() { throw "a text"; }
};
PYBIND11_MODULE(pointers, m) {
    m.def_submodule("inner").def_submodule("innermost").def("add", &run);
    pybind11::class_<Halver>(m, "Halver", pybind11::module_local())
        .def(pybind11::init([](pybind11::object x, int n) {
            shrink<<<(n + 63) / 64, 64>>>(at(x), n);
            return Halver{x};
        }))
        .def("of", &Halver::of)
        .def("wild", [](const Halver &, pybind11::object x) { wild<<<1, 64>>>(at(x)); })
        .def_static("add", &run);
    m.def("halver", [](pybind11::object x) { return Halver{x}; });
    m.attr("answer") = 42;
    m.def("add", &run);
    m.def("add_raw", [](size_t a, size_t b, size_t c, int n) {
        add<<<(n + 255) / 256, 256>>>((const float *)a, (const float *)b, (float *)c, n);
    });
    m.def("add_list", [](pybind11::list all) { run(all[0], all[1], all[2]); });
    m.def("sum", [](pybind11::object a, pybind11::object b) {
        pybind11::object c = pybind11::module_::import("torch").attr("empty_like")(a);
        run(a, b, c);
        return c;
    });
    m.def("add_in_a_thread", [](size_t a, size_t b, size_t c, int n) {
        pybind11::gil_scoped_release released;
        std::thread([=] { add<<<(n + 255) / 256, 256>>>((float *)a, (float *)b, (float *)c, n); }).join();
    });
    m.def("wild", [](pybind11::object x) { wild<<<1, 64>>>(at(x)); });
    m.def("speak", [](int n) { speak<<<2, 64>>>(n); });
    m.def("halve", &halve);
    m.def("fail", []() { throw std::invalid_argument("no such thing"); });
    m.def("throws", [](int code) {
        if (code == 0) throw std::runtime_error("its own words");
        throw code;
    });
    pybind11::class_<Thrower>(m, "Thrower", pybind11::module_local())
        .def(pybind11::init<bool>())
        .def("method", &Thrower::method);
}
"""

TILES = r"""
#include "kittens.cuh"
#include "pyutils/pyutils.cuh"
using namespace kittens;
struct globals {
    gl<bf16, 1, 1, -1, 64> x, out;
    gl<float, -1, -1, -1, -1> extra;
    float factor;
    hipStream_t stream;
    dim3 grid() const { return dim3(x.rows() / 16); }
    dim3 block() const { return dim3(64); }
    size_t dynamic_shared_memory() const { return 4096; }
};
__global__ __launch_bounds__(64) void scale(const globals g) {
    rt_bf<16, 64, row_l, rt_16x32_s> stored;
    rt_fl<16, 64, row_l, rt_16x32_s> tile;
    load(stored, g.x, {0, 0, static_cast<int>(blockIdx.x), 0});
    copy(tile, stored);
    mul(tile, tile, g.factor);
    copy(stored, tile);
    store(g.out, stored, {0, 0, static_cast<int>(blockIdx.x), 0});
}
__global__ void fill(const globals g) { g.extra.raw_ptr[threadIdx.x] = g.factor; }
void launch_twice(globals g) {
    scale<<<g.grid(), g.block()>>>(g);
    g.x = g.out;
    scale<<<g.grid(), g.block()>>>(g);
}
// Functions that are not const, members with initialisers that use those before them, and a constant one.
struct derived {
    gl<bf16, -1, -1, -1, -1> x, out;
    int N = x.rows();
    int last = N - 1;
    const int rows_each = 16;
    dim3 grid() { return dim3(N / rows_each); }
    dim3 block() { return dim3(64); }
};
__global__ void shape(const derived g) {
    if (threadIdx.x + blockIdx.x == 0) {
        g.out.raw_ptr[0] = __float2bfloat16(g.N);
        g.out.raw_ptr[1] = __float2bfloat16(g.last);
        g.out.raw_ptr[2] = __float2bfloat16(gridDim.x);
    }
}
PYBIND11_MODULE(tiles, m) {
    py::bind_kernel<shape>(m, "shape", &derived::x, &derived::out);
    py::bind_kernel<scale>(m, "scale", &globals::x, &globals::out, &globals::factor);
    py::bind_function<launch_twice>(m, "twice", &globals::out, &globals::x, &globals::factor);
    m.def("count", []() { return 3; });
}
"""


@pytest.fixture(scope="module")
def pointers() -> wb.HostModule:
    return wb.compile(POINTERS, host=True, arch="gfx950", name="pointers.cpp")


@pytest.fixture(scope="module")
def tiles() -> wb.HostModule:
    return wb.compile(TILES, host=True, arch="gfx950", name="tiles.cpp")


def numbers(seed: int) -> torch.Tensor:
    return torch.randn(1000, generator=torch.Generator().manual_seed(seed))


@needs.python_headers
def test_cpu_tensors_are_device_tensors_while_a_function_runs(pointers: wb.HostModule) -> None:
    a, b, c = numbers(1), numbers(2), torch.zeros(1000)
    pointers.add(a, b, c)
    assert torch.equal(c, a + b)
    c.zero_()
    pointers.add_list([a, b, c])
    assert torch.equal(c, a + b)


@needs.python_headers
def test_a_function_may_make_its_result(pointers: wb.HostModule) -> None:
    a, b = numbers(1), numbers(2)
    assert torch.equal(pointers.sum(a, b), a + b)


@needs.python_headers
def test_classes_and_modules_inside_a_module(pointers: wb.HostModule) -> None:
    a, b, c = numbers(1), numbers(2), torch.zeros(1000)
    for add in (pointers.inner.innermost.add, pointers.Halver.add):
        c.zero_()
        add(a, b, c)
        assert torch.equal(c, a + b)
    x = a.clone()
    # The constructor launches too.
    halver = pointers.Halver(x, 1000)
    assert isinstance(halver, pointers.Halver)
    assert torch.equal(x, a / 2)
    for instance in (halver, pointers.halver(x)):
        c = a.clone()
        instance.of(c, 1000)
        assert torch.equal(c, a / 2)
    with pytest.raises(errors.AddressFault, match="kernel wild"):
        halver.wild(torch.zeros(100))
    other = wb.compile(POINTERS, host=True, arch="gfx942", name="pointers.cpp")
    other.Halver.add(a, b, c)
    assert torch.equal(c, a + b)


@needs.python_headers
def test_addresses_stand_for_their_tensors(pointers: wb.HostModule) -> None:
    a, b, c = numbers(3), numbers(4), torch.zeros(1000)
    pointers.add_raw(a.data_ptr(), b.data_ptr(), c.data_ptr(), 1000)
    assert torch.equal(c, a + b)


@needs.python_headers
@pytest.mark.parametrize("arch", ["gfx950", "gfx942"])
def test_threads_of_the_module_launch_on_its_device(arch: str) -> None:
    a, b, c = numbers(3), numbers(4), torch.zeros(1000)
    module = wb.compile(POINTERS, host=True, arch=arch, name="pointers.cpp")
    module.add_in_a_thread(a.data_ptr(), b.data_ptr(), c.data_ptr(), 1000)
    assert torch.equal(c, a + b)


@needs.python_headers
def test_views_of_one_tensor(pointers: wb.HostModule) -> None:
    whole = torch.arange(300, dtype=torch.float32)
    pointers.add(whole[:100], whole[100:200], whole[200:])
    assert torch.equal(whole[200:], torch.arange(300.0)[:100] + torch.arange(300.0)[100:200])


@needs.python_headers
def test_other_attributes_and_exceptions_are_the_modules_own(pointers: wb.HostModule) -> None:
    assert pointers.answer == 42
    assert "add" in dir(pointers)
    assert "add_raw" in repr(pointers)
    with pytest.raises(ValueError, match="no such thing"):
        pointers.fail()
    with pytest.raises(AttributeError, match="nothing"):
        pointers.nothing  # noqa: B018
    assert list(pointers.kernels) == ["add", "wild", "speak", "shrink"]


@needs.python_headers
def test_a_foreign_exception_names_module_and_function(pointers: wb.HostModule) -> None:
    for fails, function, called in (
        (lambda: pointers.throws(1), "throws", r"throws\("),
        (lambda: pointers.Thrower(True), "__init__", r"__init__\(self: \S*Thrower"),
        (lambda: pointers.Thrower(False).method(), "method", r"method\(self: \S*Thrower"),
    ):
        with pytest.raises(errors.HostException, match=f"pointers: {called}.* threw a C") as caught:
            fails()
        assert (caught.value.module, caught.value.function) == ("pointers", function)
    assert isinstance(caught.value, RuntimeError), "who catches what pybind11 raises catches it"
    with pytest.raises(RuntimeError, match="its own words") as raised:
        pointers.throws(0)
    assert not isinstance(raised.value, errors.WorkbenchError)


@pytest.mark.parametrize(("library", "hint"), [(SYSTEM, False), ("", False), ("libc++ of zig", True)])
def test_an_exception_of_another_c_plus_plus_library_counts_as_unknown(library: str, hint: bool) -> None:
    with pytest.raises(errors.HostException, match="threw a C") as caught, exceptions_of(print, "m", library):
        raise RuntimeError("Caught an unknown exception!")
    assert ("HIPKITTENS_CXX_LIBRARY=system" in str(caught.value)) == hint
    assert (library or "its C++ library") in str(caught.value)


@needs.python_headers
def test_a_kernel_fault_raises_even_if_the_module_ignores_errors(pointers: wb.HostModule) -> None:
    x = torch.zeros(100)
    with pytest.raises(
        errors.AddressFault,
        match=r"kernel wild at pointers.cpp:9: .*400-byte host buffer \(float32 tensor 100\): element",
    ):
        pointers.wild(x)
    pointers.add(x, x + 1, x)
    assert torch.equal(x, torch.ones(100))


@needs.python_headers
def test_what_a_call_launches_is_sanitized(pointers: wb.HostModule) -> None:
    a, b, c = torch.ones(300), torch.ones(300), torch.zeros(300)
    assert wb.sanitize(lambda: pointers.add(a, b, c)).check().passed
    assert torch.equal(c, a + b)
    result = wb.sanitize(pointers.wild, c)
    assert [(f.category, f.line > 0) for f in result.findings] == [("out of bounds", True)], str(result)
    assert result.name == "wild"


@needs.python_headers
def test_tensors_of_other_calls_are_not_device_memory(pointers: wb.HostModule) -> None:
    with pytest.raises(errors.AddressFault):
        pointers.module.wild(numbers(5)), pointers.wild(torch.zeros(1))


@needs.python_headers
def test_kernels_print_to_pythons_output(pointers: wb.HostModule, capsys: pytest.CaptureFixture[str]) -> None:
    pointers.speak(5)
    assert capsys.readouterr().out == "5 from block 0\n5 from block 1\n"


@needs.python_headers
def test_bound_kernels_take_tensors(tiles: wb.HostModule) -> None:
    x = torch.randn(64, 64, generator=torch.Generator().manual_seed(6)).bfloat16()
    out = torch.zeros_like(x)
    tiles.scale(x, out, 2.5)
    assert torch.equal(out, (x.float() * 2.5).bfloat16())
    # Its own binding registers tensors too, so a plain import of the module works.
    tiles.module.scale(x, out, 0.5)
    assert torch.equal(out, (x.float() * 0.5).bfloat16())
    # Members in another order than the structure's.
    tiles.twice(out, x, 2)
    assert torch.equal(out, (x.float() * 4).bfloat16())
    assert tiles.count() == 3


@needs.python_headers
def test_cpu_tensors_pass_for_a_gpus_where_bindings_want_one(pointers: wb.HostModule) -> None:
    """Other faults of a tensor are still reported."""
    x = torch.randn(50, 10, generator=torch.Generator().manual_seed(9))
    before = x.clone()
    pointers.halve(x)
    assert torch.equal(x, before / 2)
    with pytest.raises(RuntimeError, match="must be contiguous"):
        pointers.halve(x.t())
    with pytest.raises(RuntimeError, match=r"Expected a torch\.Tensor"):
        pointers.halve(3)


@needs.python_headers
def test_other_members_get_their_initialisers(tiles: wb.HostModule) -> None:
    out = torch.zeros(3).bfloat16()
    tiles.shape(torch.zeros(48, 8).bfloat16(), out)
    assert out.tolist() == [48, 47, 3]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            lambda x: (x.float(), x, 1.0),
            TypeError,
            "argument 1 has dtype torch.float32; expected torch.bfloat16",
        ),
        (lambda x: (x, x.t(), 1.0), ValueError, "argument 2 is not contiguous"),
        (lambda x: (x, x[:, :32].contiguous(), 1.0), ValueError, "argument 2 does not fit: gl: cols is 32"),
        (lambda x: (x, x[None, None, None], 1.0), ValueError, "argument 2 has 5 dimensions"),
        (lambda x: (x, 7, 1.0), TypeError, "argument 2 is a int; expected a torch tensor"),
        (lambda x: (x, x, "much"), TypeError, "argument 3 is a str, which does not convert"),
        (lambda x: (x, x), TypeError, "takes 3 arguments, and 2 came"),
        (lambda x: (x, x.to("meta"), 1.0), ValueError, "argument 2 is on meta"),
    ],
)
@needs.python_headers
def test_wrong_arguments_are_named(tiles: wb.HostModule, arguments, error, message: str) -> None:
    x = torch.zeros(64, 64, dtype=torch.bfloat16)
    with pytest.raises(error, match=message):
        tiles.scale(*arguments(x))


PLAIN = r"""#include <hip/hip_runtime.h>
#include <Python.h>
__global__ void twice(float *x) { x[threadIdx.x] *= 2; }
static PyObject *run(PyObject *, PyObject *address) {
    twice<<<1, 64>>>((float *)PyLong_AsVoidPtr(address));
    return PyLong_FromLong(hipGetLastError());
}
static PyMethodDef methods[] = {{"twice", run, METH_O, ""}, {}};
static PyModuleDef plain = {PyModuleDef_HEAD_INIT, "plain", "", -1, methods};
PyMODINIT_FUNC PyInit_plain() { return PyModule_Create(&plain); }
"""
"""Without pybind11, whose headers are most of what a small module takes to compile."""


@needs.python_headers
def test_the_other_target_is_another_module() -> None:
    first, other = (wb.compile(PLAIN, host=True, arch=arch, name="plain.cpp") for arch in TILE_TARGETS)
    x = torch.ones(64)
    for module, arch in zip((first, other), TILE_TARGETS, strict=True):
        assert module.device.name == f"emulated:{arch}"
        assert module.twice(x.data_ptr()) == 0
    assert x.unique().tolist() == [4.0]
    again = wb.compile(PLAIN, host=True, arch=TILE_TARGETS[1], name="plain.cpp")
    assert again.result is not None
    assert again.result.cached
    assert again.module is other.module


THROWS = r"""#include <hip/hip_runtime.h>
#include <Python.h>
#include <stdexcept>
struct odd { int number; };
#ifdef STATIC
static int thrown() { throw EXCEPTION; }
static int number = thrown();
#endif
static PyModuleDef def = {PyModuleDef_HEAD_INIT, "thrower", "", -1, nullptr};
PyMODINIT_FUNC PyInit_thrower() {
#ifndef STATIC
    if (Py_IsInitialized()) throw EXCEPTION;
#endif
    return PyModule_Create(&def);
}
"""


@needs.python_headers
@pytest.mark.parametrize(
    ("macros", "exception", "what"),
    [
        (["STATIC", 'EXCEPTION=std::runtime_error("no_table")'], "std::runtime_error", "no_table"),
        (['EXCEPTION=std::out_of_range("too_far")'], "std::out_of_range", "too_far"),
        (["EXCEPTION=odd{7}"], "odd", ""),
    ],
)
def test_an_exception_while_a_module_is_imported(macros: list[str], exception: str, what: str) -> None:
    """This process survives, and reports the same for the next attempt."""
    for _ in range(2):
        with pytest.raises(
            errors.HostException, match=r"thrower of thrower\.cpp .* while it was imported"
        ) as caught:
            wb.compile(THROWS, host=True, arch="gfx942", name="thrower.cpp", define=macros)
        assert (caught.value.module, caught.value.exception, caught.value.what) == (
            "thrower",
            exception,
            what,
        )
        assert exception in str(caught.value)
        assert what in str(caught.value)


@needs.python_headers
def test_a_source_without_a_module() -> None:
    with pytest.raises(errors.UsageError, match="PYBIND11_MODULE"):
        wb.compile("#include <hip/hip_runtime.h>\n__global__ void k() {}\n", host=True, arch="gfx950")


@needs.python_headers
def test_a_library_that_is_missing() -> None:
    source = (
        "#include <Python.h>\nint nowhere();\n"
        'extern "C" __attribute__((visibility("default"))) PyObject *PyInit_lost() {\n'
        "    return PyLong_FromLong(nowhere());\n}\n"
    )
    with pytest.raises(errors.ToolchainError, match="nowhere"):
        wb.compile(source, host=True, arch="gfx950")


@needs.python_headers
def test_a_compiled_file_loads(pointers: wb.HostModule) -> None:
    assert pointers.result is not None
    loaded = wb.load_module(pointers.result.library, arch="gfx950")
    assert loaded.answer == 42
    with pytest.raises(FileNotFoundError):
        wb.load_module("no/such/file.so")
    with pytest.raises(errors.UsageError, match="load_module: / is a folder"):
        wb.load_module("/")
    with pytest.raises(errors.UsageError, match="load_module: got NoneType; expected the path"):
        wb.load_module(None)  # type: ignore[arg-type]


REBUILT = """
#include <Python.h>
static struct PyModuleDef rebuilt = {PyModuleDef_HEAD_INIT, "rebuilt", NULL, -1, NULL};
PyMODINIT_FUNC PyInit_rebuilt(void) {
    PyObject *module = PyModule_Create(&rebuilt);
    PyModule_AddIntConstant(module, "answer", ANSWER);
    return module;
}
"""


@needs.python_headers
def test_a_file_that_was_built_again_is_another_module(tmp_path: Path) -> None:
    source, path = tmp_path / "rebuilt.c", tmp_path / "rebuilt.so"
    source.write_text(REBUILT)
    loaded = []
    for answer in (1, 2, 1):
        flags = (f"-DANSWER={answer}", f"-I{sysconfig.get_path('include')}")
        path.unlink(missing_ok=True)
        path.write_bytes(build("rebuilt", [source], flags=flags).read_bytes())
        loaded.append(wb.load_module(path, arch="gfx950"))
    assert [module.answer for module in loaded] == [1, 2, 1]
    assert loaded[2].module is loaded[0].module


def test_missing_python_headers_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    with pytest.raises(errors.ToolchainError, match=r"no Python\.h.*python3-dev"):
        wb.compile(POINTERS + "// new", host=True, arch="gfx950")


def test_memory_of_call_arguments() -> None:
    x = torch.zeros(10, 10)
    storage = (x.data_ptr(), 400)
    assert tensors(x) == [storage]
    assert tensors({"a": [x[3], (x.t(),)]}) == [storage, storage]
    assert tensors([x[3].data_ptr()]) == [storage]
    assert tensors([1, 2.5, "text", None, True, x.to("meta"), torch.empty(0)]) == []
    array = x.numpy()
    assert tensors(array) == [storage]


def test_a_device_is_built_beside_the_compilation(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built = []

    def record(name: str, command: list[str], library: Path) -> subprocess.CompletedProcess[str]:
        built.append(name)
        library.write_bytes(b"made")
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setenv("HIPKITTENS_CACHE", str(tmp_path))
    monkeypatch.setattr(native, "_compile", record)
    # The source is refused before they are read, and not every machine has them.
    monkeypatch.setattr(host, "python_headers", lambda: ["-isystem", str(tmp_path)])
    with pytest.raises(errors.CompileError):
        wb.compile("no program", arch="gfx950", host=True)
    for thread in threading.enumerate():
        if thread.name == "build":
            thread.join()
    assert sorted(built) == ["amdhip64", "hiprtc", "hkemu"]


def test_a_module_compiled_as_device_code_says_how() -> None:
    with pytest.raises(errors.CompileError, match="give host=True") as caught:
        wb.compile(POINTERS)
    assert "'pybind11/pybind11.h' file not found" in str(caught.value)
    assert caught.value.diagnostics
    with pytest.raises(errors.CompileError) as plain:
        wb.compile('#include "none.h"\n// PYBIND11_MODULE(m, n)\n')
    assert "host=True" not in str(plain.value)


@needs.extension_tools
def test_pytorchs_headers_compile_and_its_libraries_are_linked() -> None:
    source = r"""
    #include <hip/hip_runtime.h>
    #include <torch/csrc/utils/pybind.h>
    #include <ATen/ops/empty_like.h>
    #include <c10/util/complex.h>
    __global__ void raised(const c10::complex<float> *x, c10::complex<float> *out, int n) {
        const int i = blockIdx.x * 64 + threadIdx.x;
        if (i < n) out[i] = std::pow(std::sqrt(x[i]), c10::complex<float>(2)) + std::abs(x[i]);
    }
    at::Tensor run(const at::Tensor &x) {
        at::Tensor out = at::empty_like(x);
        const int n = static_cast<int>(x.numel());
        raised<<<(n + 63) / 64, 64>>>(
            x.const_data_ptr<c10::complex<float>>(), out.data_ptr<c10::complex<float>>(), n);
        return out;
    }
    PYBIND11_MODULE(with_pytorch, m) { m.def("run", &run); }
    """
    include = Path(torch.__file__).parent / "include"
    folders = [include, include / "torch/csrc/api/include"]
    module = wb.compile(source, host=True, arch="gfx942", name="with_pytorch", include=folders)
    x = torch.randn(100, dtype=torch.complex64, generator=torch.Generator().manual_seed(1))
    torch.testing.assert_close(module.run(x), x + x.abs(), rtol=1e-5, atol=1e-5)
