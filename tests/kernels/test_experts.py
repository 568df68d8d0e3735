"""Experts' products: matrix instructions on the stored numbers, if the target has them; gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch

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


@pytest.mark.parametrize(("name", "setting", "arch", "opcode"), STORED)
def test_numbers_are_multiplied_as_they_are_stored(
    name: str, setting: dict[str, object], arch: str, opcode: str
) -> None:
    spec = wb.kernels[f"moe_gemm/{name}"]
    shape = spec.shape(**{**spec.shapes[0], **setting}, arch=arch)
    used = {i.opcode for i in spec.kernel(shape, arch=arch).instructions if "mfma" in i.opcode}
    assert used == {opcode}


def grads(function: Any, inputs: dict[str, Any], leaves: list[str]) -> tuple[torch.Tensor, ...]:
    tensors = {name: inputs[name].clone().requires_grad_() for name in leaves}
    out = function(**{**inputs, **tensors})
    upstream = torch.randn(out.shape, generator=torch.Generator().manual_seed(3)).bfloat16()
    return torch.autograd.grad(out, list(tensors.values()), upstream.to(out.dtype))


def test_gradients_of_experts_elsewhere_and_of_none() -> None:
    """Blocks of an expert below 0 have no effect, experts without tokens have gradients of zero."""
    spec = wb.kernels["moe_gemm/bf16"]
    shape = {"tokens": 40, "top_k": 2, "experts": 6, "n": 80, "k": 64, "block": 16, "weighted": 1}
    inputs = spec.make_inputs(shape)
    owners = inputs["expert_ids"]
    owners[owners == 1] = -1
    # Blocks of an expert need not be neighbours.
    count = int(inputs["num_tokens_post_padded"]) // 16
    order = torch.randperm(count, generator=torch.Generator().manual_seed(1))
    owners[:count] = owners[order]
    inputs["sorted_token_ids"].view(-1, 16)[:count] = inputs["sorted_token_ids"].view(-1, 16)[order]
    wide = {name: inputs[name].double() for name in ("a", "b", "weights")}
    leaves = ["a", "b", "weights"]
    for got, truth in zip(
        grads(spec, inputs, leaves), grads(spec.reference, {**inputs, **wide}, leaves), strict=True
    ):
        assert (got.double() - truth).abs().max() <= 2**-7 * truth.abs().max()
    assert not grads(spec, inputs, ["b"])[0][1].any()


def test_layers_compile_with_their_gradient() -> None:
    spec = wb.kernels["moe_gemm/end_to_end"]
    inputs = spec.make_inputs({"tokens": 20, "top_k": 2, "experts": 3, "n": 96, "k": 64, "weighted": 1})
    leaves = ["a", "w1", "w2", "weights"]
    compiled = torch.compile(lambda **given: spec(**given), fullgraph=True, backend="aot_eager")
    for got, expected in zip(grads(compiled, inputs, leaves), grads(spec, inputs, leaves), strict=True):
        assert torch.equal(got, expected)
