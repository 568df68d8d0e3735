"""Encodings of 8-bit floats match the targets' instructions, and kernels read them."""

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
    assert dtypes.FNUZ.encoding(dtypes.E5M2) is dtypes.E5M2FNUZ
    assert dtypes.OCP.encoding(dtypes.E5M2) is dtypes.E5M2
    assert dtypes.OCP.encoding(dtypes.FP16) is dtypes.FP16
    with pytest.raises(UsageError, match="gfx90a has no instructions on 8-bit floats; gfx950, gfx942 have"):
        torch_dtype("fp8e4m3", "gfx90a")


@pytest.mark.parametrize("arch", targets.NAMES)
def test_a_kernel_reads_fp8_in_the_encoding_of_its_type(arch: str) -> None:
    """As in ROCm's header: the type of the target's encoding, or both types if it has neither."""
    source = """#include <hip/hip_runtime.h>
#include <hip/hip_fp8.h>
__global__ void widen(const unsigned char *x, float *out) {
#if HIP_FP8_TYPE_OCP
  out[threadIdx.x] = __builtin_bit_cast(__hip_fp8_e4m3, x[threadIdx.x]);
#endif
#if HIP_FP8_TYPE_FNUZ
  out[threadIdx.x + 256] = __builtin_bit_cast(__hip_fp8_e4m3_fnuz, x[threadIdx.x]);
#endif
}"""
    codes = torch.arange(256, dtype=torch.uint8)
    ocp, fnuz = (codes.view(dtype).float() for dtype in (torch.float8_e4m3fn, torch.float8_e4m3fnuz))
    out = torch.zeros(512)
    wb.compile(source, arch=arch)["widen"][1, 256](codes, out)
    parts = [torch.zeros(256) if arch == "gfx942" else ocp, torch.zeros(256) if arch == "gfx950" else fnuz]
    assert torch.equal(out.nan_to_num(1000), torch.cat(parts).nan_to_num(1000))
