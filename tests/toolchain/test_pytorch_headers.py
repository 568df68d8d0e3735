"""Sources that begin with PyTorch's headers are compiled with precompiled ones, to the same code."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from workbench.cache import Cache
from workbench.toolchain import CompileOptions, find_compiler, precompiled
from workbench.toolchain.compilation import CompileResult, compile_device
from workbench.toolchain.hipcc import cxx, main
from workbench.toolchain.host_library import SYSTEM, host_library
from workbench.toolchain.precompiled import PrecompiledHeader

# A few lines in place of PyTorch's some hundred thousand.
HEADER = "#pragma once\n#include <vector>\ntemplate <typename T> constexpr T scaled(T x) { return x * 7; }\n"
KERNEL = """// made by hipify
#include <torch/types.h>
#include <hip/hip_runtime.h>

__global__ void scale(int *x) { x[threadIdx.x] = scaled(x[threadIdx.x]); }
const char *name() { return TORCH_EXTENSION_NAME; }
void launch(int *x) { scale<<<1, 64>>>(x); }
"""
MODULE = """
#include <torch/extension.h>
extern "C" int answer(void) { return scaled(6); }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current one, with headers of PyTorch's names in include/torch."""
    (tmp_path / "include" / "torch").mkdir(parents=True)
    for name in ("types.h", "extension.h"):
        (tmp_path / "include" / "torch" / name).write_text(HEADER)
    (tmp_path / "kernel.hip").write_text(KERNEL)
    (tmp_path / "module.cpp").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def headers(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    """Keys of precompiled headers by their use, and whether each is new."""
    uses = []
    build = PrecompiledHeader.build

    def recorded(header: PrecompiledHeader, niceness: int = 0) -> bool:
        uses.append((header.key, header.find() is None))
        return build(header, niceness)

    monkeypatch.setattr(PrecompiledHeader, "build", recorded)
    return uses


def compiled(name: str = "a") -> CompileResult:
    """The device part, for an extension of this name; no result of an earlier compilation."""
    defines = [f'TORCH_EXTENSION_NAME="{name}"']
    # Debug information has the headers' paths, which differ.
    options = CompileOptions("gfx942", name="kernel.hip", include=["include"], define=defines, debug=False)
    return compile_device(KERNEL, options, use_cache=False, with_host=True)


def test_one_precompilation_serves_extensions_of_any_name(
    folder: Path, headers: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    results = [compiled("a"), compiled("b")]
    assert headers == [(headers[0][0], True), (headers[0][0], False)]
    monkeypatch.setattr(precompiled, "pytorch_header", lambda *_, **__: None)
    results.append(compiled())
    assert ["-include-pch" in result.command for result in results] == [True, True, False]
    assert results[0].code_object == results[1].code_object == results[2].code_object


def test_a_changed_or_damaged_header_is_read(folder: Path, headers: list[tuple[str, bool]]) -> None:
    before = compiled()
    header = folder / "include" / "torch" / "types.h"
    header.write_text(HEADER.replace("7", "8"))
    # Of the same size; some file systems keep times in steps.
    os.utime(header, (0, 0))
    after = compiled()
    assert after.code_object != before.code_object
    # The header that did not fit is removed, so the next process builds it again.
    store, key = Cache("precompiled"), headers[0][0]
    assert store.find_file(key) is None
    store.put_file(key, b"not a precompiled header")
    assert compiled().code_object == after.code_object
    assert "-include-pch" not in after.command


def test_both_parts_of_an_object(folder: Path, headers: list[tuple[str, bool]]) -> None:
    words = ["-isystem", "include", '-DTORCH_EXTENSION_NAME="a"', "-c", "kernel.hip", "-o"]
    for name in ("first.o", "second.o"):
        assert main([*words, name], lambda: "gfx942") == 0
    device, host = headers[:2]
    assert (device[1], host[1], device[0] == host[0]) == (True, True, False)
    # The second time, the device part is in the cache.
    assert headers[2:] == [(host[0], False)]
    assert Path("first.o").read_bytes() == Path("second.o").read_bytes()


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("#include <torch/extension.h>\nint x;", "#include <torch/extension.h>\n"),
        (
            "/* a\nb */\n#include <hip/hip_runtime.h>\n#include <vector>\n#include <torch/all.h>\n#define X",
            "#include <hip/hip_runtime.h>\n#include <vector>\n#include <torch/all.h>\n",
        ),
        ("#define X\n#include <torch/extension.h>\n", None),
        ("int x;\n#include <torch/extension.h>\n", None),
        ('#include "kernels.h"\n#include <torch/extension.h>\n', None),
        ("#include <kernels.h>\n#include <torch/extension.h>\n", None),
        ("#include <torch/csrc/utils/pybind.h>\n", None),
        ("", None),
    ],
)
def test_beginnings(source: str, text: str | None) -> None:
    compiler = find_compiler("gfx942")
    header = precompiled.pytorch_header(compiler, ["clang"], [], source)
    assert (header and header.text) == text
    if header is not None:
        # A header of the command line would be read again after it.
        assert precompiled.pytorch_header(compiler, ["clang", "-include", "x.h"], [], source) is None


@pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler (apt-get install g++)")
def test_the_module_of_an_extension(folder: Path) -> None:
    words = ["-isystem", "include", "-DTORCH_EXTENSION_NAME=a", "-fPIC", "-c", "module.cpp", "-o", "module.o"]
    if host_library(find_compiler()).name != SYSTEM:
        pytest.skip("no C++ library that clang can use")
    assert cxx.compiled([*words, "-MMD", "-MF", "module.d"])
    assert (folder / "module.d").read_text().startswith("module.o:")
    (folder / "main.cpp").write_text('extern "C" int answer(void); int main() { return answer(); }\n')
    subprocess.run(["c++", "main.cpp", "module.o", "-o", "program"], check=True)
    assert subprocess.run(["./program"], check=False).returncode == 42
    for other in (
        [*words, "-fno-such-option-of-clangs"],
        [*words, "-fopenmp"],
        ["-c", "main.cpp", "-o", "main.o"],
        ["main.cpp", "module.o", "-o", "program"],
        ["-v"],
    ):
        assert not cxx.compiled(other)
    (folder / "module.cpp").write_text(MODULE + "oops\n")
    assert not cxx.compiled(words)
