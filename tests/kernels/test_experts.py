"""Which matrix instructions experts' products use: those of the numbers as stored, where there are such."""

from __future__ import annotations

import pytest

import workbench as wb

STORED = [
    ("a8w8", {"element": "int8"}, "gfx950", "v_mfma_i32_16x16x64_i8"),
    ("a8w8", {"element": "fp8"}, "gfx942", "v_mfma_f32_16x16x32_fp8_fp8"),
    ("a8w8_blockscale", {"element": "int8"}, "gfx942", "v_mfma_i32_16x16x32_i8"),
    ("a8w4", {"zero": 0}, "gfx950", "v_mfma_i32_16x16x64_i8"),
    ("a8w4", {"zero": 1}, "gfx942", "v_mfma_f32_16x16x16_bf16"),
    ("a4w4", {}, "gfx950", "v_mfma_scale_f32_16x16x128_f8f6f4"),
    ("mxfp4", {}, "gfx942", "v_mfma_f32_16x16x16_bf16"),
]


@pytest.mark.parametrize(("name", "given", "arch", "opcode"), STORED)
def test_numbers_are_multiplied_as_they_are_stored(
    name: str, given: dict[str, object], arch: str, opcode: str
) -> None:
    spec = wb.kernels[f"moe_gemm/{name}"]
    shape = spec.shape(**{**spec.shapes[0], **given}, arch=arch)
    used = {i.opcode for i in spec.kernel(shape, arch=arch).instructions if "mfma" in i.opcode}
    assert used == {opcode}
