"""The table of other kernel languages, with a stand-in for a language's runtime."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.other_languages import table
from workbench.execute.folder import environment, rocm_folder
from workbench.toolchain import CompileOptions, compile_device, zig

DEVICE = "emulated:gfx950"


@pytest.mark.parametrize(
    ("output", "status", "record"),
    [
        ("PASS\nhipkittens: 1 launch, 1.5 us modelled\n", 0, {"result": "right", "launches": 1}),
        (
            "Result correct: False\nhipkittens: 12 launches, 1.5 us modelled\n",
            0,
            {"result": "wrong", "launches": 12, "cause": "exit status 0"},
        ),
        (
            "Traceback:\nImportError: cannot import name 'hipfft' from 'hip' (/a/b-c/hip/__init__.py)\n",
            1,
            {
                "result": "error",
                "launches": 0,
                "cause": "ImportError: cannot import name 'hipfft' from 'hip' (__init__.py)",
            },
        ),
        ("", None, {"result": "too long", "launches": 0}),
    ],
)
def test_outcome(output: str, status: int | None, record: table.Record) -> None:
    assert table.outcome(output, status) == record


def test_cases_are_added_up_by_file() -> None:
    lines = [
        {"case": "a.py::test_x[1]", "result": "passed", "text": "", "launches": 2},
        {"case": "a.py::test_y", "result": "wrong", "text": "AssertionError: assert False", "launches": 1},
        {"case": "b.py", "result": "skipped", "text": "not for this GPU", "launches": 0},
    ]
    assert table.by_file(iter(lines)) == {
        "a.py": {"result": "1 passed, 1 wrong", "launches": 3, "cause": "AssertionError: assert False"},
        "b.py": {"result": "1 skipped", "launches": 0, "cause": "not for this GPU"},
    }


def test_the_page_has_the_table_of_stored_results() -> None:
    assert table.table(json.loads(table.DATA.read_text())) in table.PAGE.read_text()


RUNTIME = """
import ctypes, sys, torch

hip = ctypes.CDLL("libamdhip64.so.7")
module, function = ctypes.c_void_p(), ctypes.c_void_p()
assert not hip.hipModuleLoadData(ctypes.byref(module), open(sys.argv[1], "rb").read())
assert not hip.hipModuleGetFunction(ctypes.byref(function), module, b"twice")
x = torch.arange(64.0, device="cuda")

def call():
    pointer = ctypes.c_void_p(x.data_ptr())
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
    assert not hip.hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, parameters, None)

call()
assert (x == 2 * torch.arange(64.0)).all()
import workbench as wb
print(wb.profile(call)["SQ_WAVES"].value, wb.time(call).median.value > 0, len(wb.sanitize(call).findings))
"""
KERNEL = 'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }'


def test_a_runtime_of_its_own(tmp_path: Path) -> None:
    """Loads machine code that it compiled itself, and launches it on tensors, like FlyDSL's."""
    code = tmp_path / "twice.co"
    source = f"#include <hip/hip_runtime.h>\n{KERNEL}"
    code.write_bytes(compile_device(source, CompileOptions("gfx950")).code_object)
    command = ["-m", "workbench", "exec", "--device", DEVICE, "--", sys.executable, "-c", RUNTIME, str(code)]
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
    assert result.stdout.splitlines() == ["1 True 0"], result.stderr


@pytest.mark.skipif(zig.program() is None, reason="ziglang is not installed")
def test_linker_of_the_folder(tmp_path: Path) -> None:
    """MLIR's ROCDL links what it compiled by `$ROCM_PATH/llvm/bin/ld.lld -shared`."""
    folder = rocm_folder()
    (tmp_path / "empty.s").write_text(".text\n.globl start\nstart:\n s_endpgm\n")
    clang = folder / "llvm" / "bin" / "clang"
    options = ["-target", "amdgcn-amd-amdhsa", "-mcpu=gfx950", "-c"]
    variables = environment(folder, {"PATH": "/usr/bin:/bin"})
    for command in (
        [clang, *options, "empty.s", "-o", "empty.o"],
        [folder / "llvm" / "bin" / "ld.lld", "-shared", "empty.o", "-o", "empty.hsaco"],
    ):
        subprocess.run(command, cwd=tmp_path, env=variables, check=True)
    assert (tmp_path / "empty.hsaco").read_bytes()[:4] == b"\x7fELF"


FLYDSL = """
import torch
import flydsl.compiler as flyc
import flydsl.expr as fx

@flyc.kernel
def copy_kernel(a: fx.Tensor, b: fx.Tensor):
    place = fx.block_idx.x * 64 + fx.thread_idx.x
    b[place] = a[place]

@flyc.jit
def copy(a: fx.Tensor, b: fx.Tensor, stream: fx.Stream = fx.Stream(None)):
    copy_kernel(a, b).launch(grid=(2, 1, 1), block=(64, 1, 1), stream=stream)

a = torch.randn(128, device="cuda")
b = torch.zeros_like(a)
copy(a, b, stream=torch.cuda.Stream())
print(torch.equal(a, b))
"""


@pytest.mark.skipif(importlib.util.find_spec("flydsl") is None, reason="flydsl is not installed")
def test_flydsl(tmp_path: Path) -> None:
    program = tmp_path / "copies.py"
    program.write_text(FLYDSL)
    command = ["-m", "workbench", "exec", "--device", DEVICE, "--", sys.executable, str(program)]
    result = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300)
    assert result.stdout == "True\n", result.stderr


@pytest.mark.parametrize("language", ["gluon", "helion", "tilelang"])
def test_kernels_of_a_language(language: str) -> None:
    if importlib.util.find_spec({"gluon": "triton"}.get(language, language)) is None:
        pytest.skip(f"{language} is not installed")
    (program,) = table.programs(language, None)
    assert "right" in str(table.outcome(*table.start(program, "MI355X", 300)))
