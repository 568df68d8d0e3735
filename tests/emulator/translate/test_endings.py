"""Kernels without code, and functions that run past their last instruction."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.errors import EmptyKernel, EndFault

SPIN = "__global__ void spin(int *x) { unsigned i = 0; while (true) i++; }\n"
OTHER = "__global__ void other(int *x) { x[0] = 5; }\n"


@pytest.mark.parametrize("source", [SPIN, SPIN + OTHER, OTHER + SPIN], ids=["alone", "first", "last"])
def test_an_empty_kernel_raises_before_it_runs(source):
    """Another kernel, padding or nothing follows."""
    module = wb.compile(source, flags="-O3")
    kernel = module["spin"]
    assert kernel.info.size == 0
    assert kernel.instructions == ()
    x = torch.zeros(1, dtype=torch.int32)
    for run in (lambda: kernel[1, 1](x), lambda: wb.sanitize(kernel[1, 1], x)):
        with pytest.raises(EmptyKernel, match="spin has no instructions: the compiler removed all of it"):
            run()
    assert x.item() == 0
    if "other" in module:
        module["other"][1, 1](x)
        assert x.item() == 5
    assert "spin" in repr(module)


def test_a_program_with_an_empty_kernel_is_told():
    program = wb.run_program(
        "#include <hip/hip_runtime.h>\n"
        + SPIN
        + "int main() { spin<<<1, 1>>>(nullptr); return hipGetLastError() != hipSuccess; }\n"
    )
    assert program.exit_code == 1
    assert "spin has no instructions" in program.stderr


def test_running_past_the_end_of_a_function_is_a_fault_where_it_happens():
    """The next kernel does not run."""
    source = """__global__ void ends(int *x) {
    x[1] = 2;
    __builtin_unreachable();
}
"""
    module = wb.compile(source + OTHER, flags="-O0", name="ends.hip")
    x = torch.zeros(2, dtype=torch.int32)
    with pytest.raises(EndFault, match="ran past the end of its function") as caught:
        module["ends"][1, 1](x)
    assert x.tolist() == [0, 2]
    assert caught.value.source[:2] == ("ends.hip", 2)
    report = wb.sanitize(module["ends"][1, 1], x)
    assert report.stopped
    assert report.findings[-1].line == 2
