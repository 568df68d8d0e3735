"""Modules, kernels and launches on the emulated device, from source to results."""

from __future__ import annotations

import copy
import ctypes
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import torch

import workbench as wb
from workbench import kernel as kernel_module
from workbench.errors import (
    ArgumentError,
    CompileError,
    DeviceError,
    LaunchError,
    MissingFile,
    UnknownKernel,
    UnreadableFile,
    UsageError,
    WorkbenchError,
)
from workbench.targets import TILE_TARGETS
from workbench.views.resources import kernel_table

SOURCE = """#include <hip/hip_runtime.h>
__global__ void scale(float *x, float factor, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor;
}

template <typename T> __global__ void add(const T *a, const T *b, T *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = a[i] + b[i];
}
template __global__ void add<float>(const float *, const float *, float *);
template __global__ void add<int>(const int *, const int *, int *);

namespace deep { __global__ void reverse(unsigned *x) {
  extern __shared__ unsigned kept[];
  kept[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
} }

struct Point { int a; float b; };
struct Settings { const float *in; float *out; Point point; bool negate; };
__global__ void apply(const Settings s) {
  float v = s.in[threadIdx.x] * s.point.b + s.point.a;
  s.out[threadIdx.x] = s.negate ? -v : v;
}
"""


@pytest.fixture(scope="module", params=TILE_TARGETS)
def module(request):
    return wb.compile(SOURCE, arch=request.param, name="kernels.hip")


def test_kernels_are_found_by_every_name(module):
    assert list(module) == ["scale", "add<float>", "add<int>", "deep::reverse", "apply"]
    assert module["add<float>"] is module["add< float >"]
    assert module["reverse"] is module["deep::reverse"]
    assert module["_Z5scalePffi"] is module["scale"]
    with pytest.raises(UnknownKernel, match=r"'add' names 2 kernels .*: add<float>, add<int>; say which one"):
        module["add"]
    with pytest.raises(KeyError, match=r"has no kernel 'scael'; its kernels: scale, .*did you mean scale"):
        module["scael"]


def test_what_is_no_name_of_a_kernel(module):
    for wrong in (None, 3):
        with pytest.raises(
            UnknownKernel, match=rf"kernels\.hip\[{wrong}\]: expected a kernel's name, one of"
        ):
            module[wrong]
    with pytest.raises(AttributeError, match=r"no attribute 'scale'; its kernel .* is module\['scale'\]"):
        module.scale  # noqa: B018
    assert not hasattr(module, "nothing")
    assert copy.copy(module)["scale"].name == "scale"


def test_copies_and_pickles(module):
    x = torch.ones(64)
    module["scale"][1, 64](x, 2.0, 64)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert other is not module
        assert (other.name, other.source, other.code) == (module.name, module.source, module.code)
        assert other["scale"].isa == module["scale"].isa.replace(
            str(module["scale"].resources), str(other["scale"].resources)
        )
        other["scale"][1, 64](x, 0.5, 64)
    assert x.unique().tolist() == [0.5]
    kernel = pickle.loads(pickle.dumps(module["scale"]))
    assert kernel.signature == module["scale"].signature
    assert kernel.last is None
    assert kernel.module["scale"] is kernel


def test_launch_in_place(module):
    x = torch.arange(1000.0)
    record = module["scale"][4, 256](x, 2.5, 1000)
    assert torch.equal(x, torch.arange(1000.0) * 2.5)
    assert record.device == f"emulated:{module.arch}"
    assert module["scale"].last.record is record


def test_names_and_templates(module):
    a, b = torch.arange(256, dtype=torch.int32), torch.full((256,), 7, dtype=torch.int32)
    out = torch.empty_like(a)
    module["add<int>"][1, 256](out=out, a=a, b=b)
    assert torch.equal(out, a + b)
    # The output may be an input.
    module["add<int>"][1, 256](a, b, a)
    assert torch.equal(a, out)


def test_dynamic_shared_memory(module):
    x = torch.arange(128, dtype=torch.int32)
    module["reverse"][1, 128, 512](x)
    assert torch.equal(x, torch.arange(127, -1, -1, dtype=torch.int32))


def test_structs_by_member_by_ctypes_and_by_bytes(module):
    class Point(ctypes.Structure):
        _fields_ = (("a", ctypes.c_int32), ("b", ctypes.c_float))

    x = torch.arange(64.0)
    expected = -(x * 0.5 + 3)
    for point in ({"a": 3, "b": 0.5}, Point(3, 0.5), bytes(Point(3, 0.5))):
        out = torch.zeros(64)
        module["apply"][1, 64](**{"in": x}, out=out, point=point, negate=True)
        assert torch.equal(out, expected)


def test_scalars_of_numpy(module):
    x = torch.ones(64)
    module["scale"][1, 64](x, np.float32(3), np.int64(64))
    assert torch.equal(x, torch.full((64,), 3.0))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((torch.ones(64), 2.0), r"argument 'n' \(int\) is missing; its signature is scale\(float [*] x, "),
        ((torch.ones(64), 2.0, 64, 1), "takes 3 arguments, 4 were given"),
        ((torch.ones(64, dtype=torch.float16), 2.0, 64), "'x' is a float16 tensor; expected float32"),
        ((torch.ones(64), "two", 64), "'factor' is str 'two'; expected a number"),
        ((torch.ones(64), 2.0, 2**40), "'n' is 1099511627776; expected a value from -2147483648 to"),
        ((torch.ones(8).expand(8, 8), 2.0, 64), "'x' is an expanded tensor"),
    ],
)
def test_wrong_arguments_are_named_and_nothing_runs(module, arguments, message):
    kernel = module["scale"]
    with pytest.raises(ArgumentError, match=f"^scale.*{message}"):
        kernel[1, 64](*arguments)


def test_launch_shapes(module):
    kernel = module["scale"]
    x = torch.ones(64)
    with pytest.raises(LaunchError, match=r"launch it as scale\[grid, block\]"):
        kernel(x, 2.0, 64)
    with pytest.raises(LaunchError, match="expected kernel"):
        kernel[4]
    with pytest.raises(LaunchError, match="grid is 0"):
        kernel[0, 64]
    with pytest.raises(LaunchError, match="dynamic shared memory is -1"):
        kernel[1, 64, -1]
    with pytest.raises(LaunchError, match=r"dynamic shared memory is 1\.5"):
        kernel[1, 64, 1.5]
    with pytest.raises(LaunchError, match=r"grid is 2\.0; expected .* // divides integers"):
        kernel[4 / 2, 64]
    with pytest.raises(LaunchError, match="grid is '1'; expected one to three positive integers"):
        kernel["1", 64]
    for grid, block in ((True, 64), (1, True), ((True,), 64)):
        with pytest.raises(LaunchError, match=r"is \(?True,?\)?; expected one to three positive integers"):
            kernel[grid, block]
    with pytest.raises(LaunchError, match="dynamic shared memory is True"):
        kernel[1, 64, True]
    with pytest.raises(LaunchError, match="block is None"):
        kernel[1, None]
    taken = kernel[np.int64(4), (torch.tensor(64), np.int32(2)), np.uint16(8)].launch
    assert taken == wb.Launch((4, 1, 1), (64, 2, 1), 8)
    assert {type(v) for v in (*taken.grid, *taken.block, taken.dynamic_shared)} == {int}
    with pytest.raises(LaunchError):
        kernel[1, 2048](x, 2.0, 64)
    with pytest.raises(LaunchError):
        kernel[1, 64, 1 << 20](x, 2.0, 64)


def test_a_kernel_of_another_target_is_an_error():
    module = wb.compile(SOURCE, arch="gfx942", name="kernels.hip")
    with pytest.raises(DeviceError, match="compiled for gfx942, and emulated:gfx950 runs gfx950"):
        module["scale"].launch(
            wb.Launch(1, 64), (torch.ones(64), 1.0, 64), {}, device=wb.device("emulated:gfx950")
        )


def test_occupancy_is_of_a_block_and_of_bytes(module):
    kernel = module["scale"]
    assert kernel.occupancy(np.int64(256)) == kernel.occupancy(256, 0)
    for block in (-1, 0, "a", 1.5, True, (64, 2)):
        with pytest.raises(
            LaunchError, match=re.escape(f"block is {block!r}; expected a number of work-items, 1")
        ):
            kernel.occupancy(block)
    for shared in (-1, "a"):
        with pytest.raises(LaunchError, match=f"dynamic_shared is {shared!r}; expected a number of bytes, 0"):
            kernel.resources_at(64, shared)


def test_a_source_that_is_not_utf_8():
    content = SOURCE.encode() + b'// Andr\xe9\n__device__ const char name[] = "caf\xe9";\n'
    module = wb.compile(content.decode("utf-8", "surrogateescape"), name="latin.hip")
    assert module.source.endswith('// André\n__device__ const char name[] = "café";\n')
    assert "\udce9" not in module["scale"].isa
    with pytest.raises(CompileError, match=r"latin\.hip:2:17: error") as error:
        wb.compile(
            b"// Andr\xe9\n/* \xe9 */ int x = no;\n".decode("utf-8", "surrogateescape"), name="latin.hip"
        )
    assert [(d.line, d.column) for d in error.value.diagnostics] == [(2, 17)]
    assert not re.search("[\ud800-\udfff]", str(error.value))


def test_resources_signature_and_isa(module):
    kernel = module["deep::reverse"]
    assert kernel.signature == "deep::reverse(unsigned int * x)"
    assert kernel.resources.vgprs > 0
    assert kernel.resources_at(256, 32768).occupancy.limit == "LDS"
    assert "waves/SIMD" in str(kernel.resources)
    assert "kept[threadIdx.x] = x[threadIdx.x];" in kernel.isa
    assert "s_barrier" in kernel.isa
    assert "s_endpgm" in kernel.isa
    assert kernel.source == SOURCE
    assert "deep::reverse" in repr(module)
    assert "<table>" in module._repr_html_()


def test_several_kernels_print_one_table(module):
    head, columns, *rows = repr(module).splitlines()
    assert head == f"<Module {module.name} for {module.arch}>"
    assert len(rows) == len(module) > 1
    for row, (name, kernel) in zip(rows, module.kernels.items(), strict=True):
        assert row.startswith(f"  {name} ")
        assert row.endswith(f"  {kernel.signature}")
        for heading, value in (("VGPR", kernel.resources.vgprs), ("SGPR", kernel.resources.sgprs)):
            end = columns.index(heading) + len(heading)
            assert row[:end].split()[-1] == f"{value:,}"
    assert "scratch" not in columns, "nobody has any"
    alone = wb.compile("__global__ void one(int *p) { p[0] = 1; }", arch=module.arch, name="one.hip")
    assert repr(alone).splitlines()[1] == f"  {alone['one'].signature}: {alone['one'].resources}"


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_a_block_that_has_no_room_for_its_registers(arch):
    """Assembly may name more registers than the largest block can have; the compiler does not know."""
    source = """#include <hip/hip_runtime.h>
__global__ void many(int *p) {
      asm volatile("" ::: "v250");
      p[threadIdx.x] = 1;
    }"""
    block = 512
    module = wb.compile(source, arch=arch, name="many.hip")
    kernel = module["many"]
    assert kernel.resources.block == block
    assert "many" in module._repr_html_()
    x = torch.zeros(1024, dtype=torch.int32)
    device = wb.device(f"emulated:{arch}")
    kernel.launch(wb.Launch(1, block), (x,), {}, device=device)
    assert int(x.sum()) == block
    with pytest.raises(LaunchError, match=f"{2 * block} work-items of .* registers, .* room for {block} of"):
        kernel.launch(wb.Launch(1, 2 * block), (x,), {}, device=device)
    assert int(x.sum()) == block
    # Changes since a run whose registers do not match this one's block are unknown.
    smaller = wb.compile(source.replace("v250", "v5"), arch=arch, name="many.hip")
    table = str(kernel_table(smaller.kernels.values(), {"many": kernel}))
    assert "1024 work-items" in table


def test_load_from_bytes_and_file(module, tmp_path):
    path = tmp_path / "scale.co"
    path.write_bytes(module.code)
    for loaded in (wb.load(path), wb.load(module.code)):
        x = torch.ones(64)
        loaded["scale"][1, 64](x, 2.0, 64)
        assert torch.equal(x, torch.full((64,), 2.0))
    for absent in (tmp_path / "absent.co", path / "below"):
        with pytest.raises(
            MissingFile, match=rf"load: there is no file {absent}; expected the path of a code"
        ):
            wb.load(absent)
    with pytest.raises(FileNotFoundError, match=rf"load: there is no file absent\.co in {Path.cwd()};"):
        wb.load("absent.co")
    with pytest.raises(UnreadableFile, match="cannot be read"):
        wb.load("x" * 300)
    with pytest.raises(MissingFile, match=r"load_module: there is no file /absent\.so"):
        wb.load_module("/absent.so")
    with pytest.raises(UsageError, match=rf"load: {tmp_path} is a folder"):
        wb.load(tmp_path)
    with pytest.raises(WorkbenchError):
        wb.load(b"not code at all")
    with pytest.raises(
        UsageError, match="load: got Module; expected the path of a code object, or its bytes"
    ):
        wb.load(module)
    with pytest.raises(UsageError, match=r"'a\\x00b' has a null byte"):
        wb.load("a\0b")
    with pytest.raises(UsageError, match="arch is 3"):
        wb.load(module.code, arch=3)


def test_macros_in_every_form():
    source = (
        "#include <hip/hip_runtime.h>\n"
        "__global__ void k(int *x) { x[threadIdx.x] = COUNT\n#ifdef FAST\n + 1\n#endif\n; }"
    )
    for define, expected in (
        (("COUNT=4",), 4),
        (("COUNT=4", "FAST"), 5),
        ({"COUNT": 4, "FAST": None}, 5),
        ({"COUNT": 3, "FAST": True}, 4),
    ):
        x = torch.zeros(64, dtype=torch.int32)
        wb.compile(source, define=define)["k"][1, 64](x)
        assert x.unique().tolist() == [expected]
    with pytest.raises(UsageError, match="define is the text 'COUNT=4'"):
        wb.compile(source, define="COUNT=4")


def test_without_debug_info():
    module = wb.compile(SOURCE, flags=("-g0",))
    x = torch.ones(64)
    module["scale"][1, 64](x, 2.0, 64)
    assert torch.equal(x, torch.full((64,), 2.0))
    with pytest.raises(ArgumentError, match="without debug info"):
        module["scale"][1, 64](x, factor=2.0, n=64)


GL = """
#include "kittens.cuh"
using namespace kittens;
struct globals { gl<bf16, 1, 1, -1, -1> x; gl<bf16, 1, 1, -1, 64> out; float factor; hipStream_t stream; };
__global__ void scale_rows(const globals g) {
  int row = blockIdx.x, column = threadIdx.x;
  float v = (float)g.x.raw_ptr[row * g.x.cols() + column];
  g.out.raw_ptr[row * g.out.cols() + column] = (bf16)(v * g.factor + (float)g.x.rows());
}
"""


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_globals_of_the_tile_library(arch):
    module = wb.compile(GL, arch=arch, name="globals.hip")
    kernel = module["scale_rows"]
    x = torch.randn(16, 64).to(torch.bfloat16)
    out = torch.zeros(16, 64, dtype=torch.bfloat16)
    kernel[16, 64](x=x, out=out, factor=2.0)
    assert torch.equal(out, (x.float() * 2 + 16).to(torch.bfloat16))
    with pytest.raises(ArgumentError, match=r"'out' is shape .* expected cols 64"):
        kernel[16, 64](x=x, out=torch.zeros(16, 32, dtype=torch.bfloat16), factor=2.0)
    with pytest.raises(ArgumentError, match=r"missing factor \(float\)"):
        kernel[16, 64](x=x, out=out)
    with pytest.raises(ArgumentError, match="'x' is a float32 tensor; expected bfloat16"):
        kernel[16, 64](x=x.float(), out=out, factor=2.0)


def test_default_arch_is_the_default_devices():
    assert kernel_module.default_arch() == wb.device().arch


def test_occupancy_is_of_what_the_hardware_gives_out() -> None:
    """With a limit of two waves per SIMD the compiler allocates more registers than the code uses."""
    source = """#include <hip/hip_runtime.h>
    extern "C" __global__ __launch_bounds__(64) __attribute__((amdgpu_waves_per_eu(2, 2)))
    void few(float *x) { x[threadIdx.x] *= 2; }
    extern "C" __global__ void many(float *x) { x[threadIdx.x] *= 2; }
    """
    module = wb.compile(source, arch="gfx950", name="waves.hip")
    few, many = module["few"], module["many"]
    assert few.resources.vgprs == many.resources.vgprs
    assert few.occupancy(64).waves_per_simd == 2
    assert many.occupancy(64).waves_per_simd == 8
