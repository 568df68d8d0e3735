"""AMD's header-only libraries, if they are installed; tests use stand-ins."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.errors import CompileError
from workbench.toolchain import CompileOptions, compile_device
from workbench.toolchain.compiler import INCLUDE, header_flags, installed_libraries

STAND_IN = """#pragma once
#include <hip/hip_runtime.h>
#include <rocprim/rocprim.hpp>
namespace hipcub {
constexpr int stands_in = ROCPRIM_STANDS_IN;
}
"""


def put(root: Path, **files: str) -> None:
    """Write headers of libraries, by name with underscores for slashes and dots, below `root`/include."""
    for name, text in files.items():
        path = root / "include" / (name.replace("__", "/").replace("_h", ".h"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def rocm(tmp_path: Path, system: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that ROCM_PATH names; nothing is installed elsewhere."""
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    return tmp_path / "rocm"


def test_each_library_is_found_by_its_own_sign(rocm: Path, system: Path) -> None:
    assert installed_libraries() == {}
    without = header_flags("clang 18.1.3")
    put(rocm, rocprim__rocprim_hpp="", thrust__sort_h="", hipblas__hipblas_h="")
    # NVIDIA's Thrust has no folder for HIP.
    assert installed_libraries() == {"rocprim": rocm / "include" / "rocprim"}
    put(rocm, thrust__system__hip__config_h="")
    assert set(installed_libraries()) == {"rocprim", "thrust"}
    flag, folder = header_flags("clang 18.1.3")[2:4]
    assert header_flags("clang 18.1.3") == [*without[:2], flag, folder, *without[2:]]
    assert flag == "-idirafter"
    assert {path.name for path in Path(folder).iterdir()} == {"rocprim", "thrust"}
    # The first of several places.
    other = system / "usr"
    put(other, rocprim__rocprim_hpp="", hipcub__hipcub_hpp="")
    assert installed_libraries() == {
        "rocprim": rocm / "include" / "rocprim",
        "thrust": rocm / "include" / "thrust",
        "hipcub": other / "include" / "hipcub",
    }


def test_the_workbench_s_own_folder_in_place_of_rocm_s_has_none(rocm: Path) -> None:
    rocm.mkdir()
    (rocm / "include").symlink_to(INCLUDE)
    assert installed_libraries() == {}


def test_what_is_installed_takes_our_place(rocm: Path) -> None:
    """By hipCUB's name and by that of a part; headers that need a library to link with stay excluded."""
    put(
        rocm,
        hipcub__hipcub_hpp=STAND_IN,
        rocprim__rocprim_hpp="#define ROCPRIM_STANDS_IN 42",
        hipblas__hipblas_h="",
    )
    for name in ("hipcub.hpp", "device/device_reduce.hpp"):
        source = f"#include <hipcub/{name}>\n__global__ void k(int *out) {{ *out = hipcub::stands_in; }}\n"
        assert compile_device(source, CompileOptions("gfx942")).diagnostics == ()
    source = "#include <hip/hip_runtime.h>\n#include <hipblas/hipblas.h>\n__global__ void k() {}\n"
    with pytest.raises(CompileError, match="hipBLAS is not on the emulated device"):
        compile_device(source, CompileOptions("gfx942"))


def test_a_missing_part_is_named(rocm: Path) -> None:
    put(rocm, hipcub__hipcub_hpp=STAND_IN)
    with pytest.raises(CompileError, match=r"rocPRIM is not installed here: .* \(librocprim-dev"):
        compile_device("#include <hipcub/hipcub.hpp>\n__global__ void k() {}\n", CompileOptions("gfx942"))


def test_a_member_template_without_arguments() -> None:
    """As in rocPRIM up to ROCm 6.3; clang refuses it from release 19 on."""
    source = """#include <hip/hip_runtime.h>
    struct S { template <typename T> __device__ T same(T x) const { return x; } };
    template <typename T> __device__ int of(const T &s) { return s.template same(42); }
    __global__ void k(int *out) { out[threadIdx.x] = of(S()); }
    """
    assert compile_device(source, CompileOptions("gfx942")).code_object
    assert header_flags("ROCm 6 (clang 18.0.0)") == header_flags("clang 19.1.0")[:-1]
