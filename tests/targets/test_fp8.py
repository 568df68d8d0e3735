"""Encodings of 8-bit floats are where the instructions are, and kernels read them."""

from __future__ import annotations

import re

import pytest
import torch

import workbench as wb
from workbench import dtypes, targets
from workbench.codeobject.decoder import forms
from workbench.errors import UsageError
from workbench.tiles.elements import torch_dtype


def test_fp8_is_where_the_instructions_are() -> None:
    for target in targets.TARGETS:
        opcodes = {form.opcode for form in forms(target.name).values()}
        has_them = any(re.search(r"_(fp8|bf8)(_|$)", opcode) for opcode in opcodes)
        assert has_them == (target.fp8 is not None) == ("F8" in target.matrix_rates), target.name
    assert dtypes.FNUZ.of(dtypes.E5M2) is dtypes.E5M2FNUZ
    assert dtypes.OCP.of(dtypes.E5M2) is dtypes.E5M2
    assert dtypes.OCP.of(dtypes.FP16) is dtypes.FP16
    with pytest.raises(UsageError, match="gfx90a has no instructions on 8-bit floats; gfx950, gfx942 have"):
        torch_dtype("fp8e4m3", "gfx90a")


@pytest.mark.parametrize("arch", targets.NAMES)
def test_a_kernel_reads_fp8_in_the_encoding_of_its_type(arch: str) -> None:
    source = """#include <hip/hip_fp8.h>
__global__ void widen(const __hip_fp8_e4m3 *x, const __hip_fp8_e4m3_fnuz *y, float *out) {
  out[threadIdx.x] = float(x[threadIdx.x]);
  out[threadIdx.x + 256] = float(y[threadIdx.x]);
}"""
    codes = torch.arange(256, dtype=torch.uint8)
    x, y, out = codes.view(torch.float8_e4m3fn), codes.view(torch.float8_e4m3fnuz), torch.zeros(512)
    wb.compile(source, arch=arch)["widen"][1, 256](x, y, out)
    assert torch.equal(out.nan_to_num(1000), torch.cat((x.float(), y.float())).nan_to_num(1000))
