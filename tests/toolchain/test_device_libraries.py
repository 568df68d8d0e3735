"""ROCm's device libraries: the search, the link, and calls by kernels."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import pytest
import torch

import workbench as wb
from workbench.errors import CompileError, ToolchainError
from workbench.targets import TILE_TARGETS
from workbench.toolchain import CompileOptions
from workbench.toolchain.device_libraries import FILES, FOLDER, find_device_libraries, settings_text
from workbench.toolchain.job import Job

HERE = find_device_libraries()
SOURCE = r"""
#include <hip/hip_runtime.h>
extern "C" __device__ float __ocml_tgamma_f32(float);
extern "C" __device__ double __ocml_lgamma_f64(double);
extern "C" __device__ unsigned __ockl_wfred_add_u32(unsigned);
__global__ void functions(float *x, double *y, int *z) {
    int i = threadIdx.x;
    x[i] = __ocml_tgamma_f32(x[i]);
    y[i] = __ocml_lgamma_f64(y[i]);
    z[i] = (int)__ockl_wfred_add_u32((unsigned)z[i]);
}
"""


def libraries_in(folder: Path, content: bytes = b"BC") -> Path:
    folder.mkdir(parents=True)
    for name in FILES:
        (folder / name).write_bytes(content + name.encode())
    return folder


@pytest.fixture
def nothing_installed(system: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(FOLDER, raising=False)
    monkeypatch.setitem(sys.modules, "triton", None)
    return system


def test_the_search(nothing_installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The variable takes precedence, then ROCm, the system, Triton."""
    assert find_device_libraries() is None
    monkeypatch.delitem(sys.modules, "triton")
    triton = libraries_in(tmp_path / "site" / "triton" / "backends" / "amd" / "lib")
    (tmp_path / "site" / "triton" / "__init__.py").write_text("raise ImportError('only found, not imported')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert find_device_libraries() == triton
    debian = libraries_in(nothing_installed / "usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
    assert find_device_libraries() == debian
    standard = libraries_in(nothing_installed / "opt/rocm/amdgcn/bitcode")
    assert find_device_libraries() == standard
    rocm = libraries_in(tmp_path / "rocm" / "lib/llvm/lib/clang/20/lib/amdgcn/bitcode")
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    assert find_device_libraries() == rocm
    named = libraries_in(tmp_path / "named")
    monkeypatch.setenv(FOLDER, str(named))
    assert find_device_libraries() == named
    (named / FILES[0]).unlink()
    assert find_device_libraries() is None


def test_the_flags(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Both libraries and the settings are linked, and a changed library is another compilation."""
    folder = libraries_in(tmp_path / "libraries")
    monkeypatch.setenv(FOLDER, str(folder))
    options = CompileOptions("gfx950", device_libraries=True)
    job = Job(SOURCE, options)
    linked = job.linked[3::4]
    assert job.linked[:4] == ["-Xclang", "-mlink-builtin-bitcode", "-Xclang", str(folder / FILES[0])]
    assert [Path(file).name for file in linked[:2]] == list(FILES)
    assert Path(linked[2]).read_bytes().startswith(b"BC\xc0\xde")
    plain = Job(SOURCE, CompileOptions("gfx950"))
    assert (plain.linked, plain.common, plain.own) == ([], job.common, job.own)
    assert plain.key != job.key == Job(SOURCE, options).key
    (folder / FILES[1]).write_bytes(b"other")
    assert Job(SOURCE, options).key != job.key


@pytest.mark.parametrize(("arch", "number"), [("gfx90a", 9010), ("gfx942:xnack-", 9402), ("gfx950", 9500)])
def test_the_settings_name_the_target(arch: str, number: int) -> None:
    (line,) = (line for line in settings_text(arch).splitlines() if "ISA_version" in line)
    assert line.endswith(f"constant i32 {number}")


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(FOLDER, str(tmp_path))
    with pytest.raises(ToolchainError, match=rf"ocml\.bc.*{tmp_path}.*rocm-device-libs"):
        wb.compile(SOURCE, arch="gfx950", device_libraries=True)
    with pytest.raises(CompileError, match=r"not linked.*device_libraries=True"):
        wb.compile(SOURCE, arch="gfx950")


@pytest.mark.skipif(HERE is None, reason=f"no ROCm device libraries (pip install triton, or set {FOLDER})")
@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_kernels_call_them(arch: str) -> None:
    module = wb.compile(SOURCE, arch=arch, device_libraries=True)
    x = torch.linspace(0.25, 6.0, 64)
    y = torch.linspace(0.3, 20.0, 64, dtype=torch.float64)
    z = torch.arange(64, dtype=torch.int32)
    gamma, log_gamma = (
        torch.tensor([f(v) for v in t.tolist()]) for f, t in ((math.gamma, x), (math.lgamma, y))
    )
    module["functions"][1, 64](x, y, z)
    torch.testing.assert_close(x, gamma.float(), rtol=2e-6, atol=0)
    torch.testing.assert_close(y, log_gamma.double(), rtol=1e-6, atol=1e-7)
    assert z.tolist() == [2016] * 64
