"""Products with weights of 16, 8 or 4 bits."""

from __future__ import annotations

import math

import torch

from workbench import ops
from workbench.dtypes import E4M3FN
from workbench.errors import UsageError

WEIGHTS = ("bf16", "fp8", "mxfp4")

BLOCK = 128
"""Rows and columns of fp8 weights that share a scale."""


class Linear(torch.nn.Module):
    """x Wᵀ + bias: `torch.nn.Linear` with the GEMM kernels, and weights in one of three formats.

    Args:
        in_features: columns of x: any number; for fp8 a multiple of 16, for mxfp4 of 32.
        out_features: columns of the result.
        bias: True if the layer has a bias.
        weights: "bf16" (as `torch.nn.Linear`: `weight`, `bias`; fp16 with `dtype`), "fp8" or "mxfp4".
        device, dtype: device and dtype of `weight` and `bias` for 16-bit float weights, otherwise of the bias
            only.

    State dict:
        "bf16": `weight` [out, in] and `bias` [out] as of `torch.nn.Linear`.
        "fp8": `weight` e4m3fn [out, in] and `weight_scale_inv` float32 [ceil(out/128), ceil(in/128)], which
            multiplies it: the names of DeepSeek-V3's checkpoints and transformers' FP8Linear.
        "mxfp4": `weight` uint8 [out, in/2], two e2m1 in a byte, and `weight_scale` uint8 [out, in/32], bytes
            s of powers 2^(s - 127): the names of AMD Quark's checkpoints.

    With quantized weights the input stays bf16: the weights are converted to bf16 in registers, exactly.
    """

    weight: torch.Tensor
    weight_scale_inv: torch.Tensor
    weight_scale: torch.Tensor
    bias: torch.Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        weights: str = "bf16",
    ) -> None:
        super().__init__()
        if weights not in WEIGHTS:
            raise UsageError(f"Linear: weights is {weights!r}; expected one of {', '.join(WEIGHTS)}")
        step = _step(weights)
        if in_features % step:
            raise UsageError(
                f"Linear: in_features is {in_features}; expected a multiple of {step} for {weights} weights"
            )
        self.in_features, self.out_features, self.weights = in_features, out_features, weights
        dtype = dtype or torch.bfloat16
        size = (out_features, in_features)
        if weights == "bf16":
            self.weight = torch.nn.Parameter(torch.empty(size, device=device, dtype=dtype))
        elif weights == "fp8":
            scales = tuple(math.ceil(dimension / BLOCK) for dimension in size)
            self._hold("weight", torch.zeros(size, device=device).to(E4M3FN.dtype))
            self._hold("weight_scale_inv", torch.ones(scales, device=device))
        else:
            codes = torch.zeros(out_features, in_features // 2, dtype=torch.uint8, device=device)
            self._hold("weight", codes)
            self._hold("weight_scale", codes.new_full((out_features, in_features // 32), 127))
        if bias:
            self.bias = torch.nn.Parameter(torch.empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _hold(self, name: str, tensor: torch.Tensor) -> None:
        setattr(self, name, torch.nn.Parameter(tensor, requires_grad=False))

    def reset_parameters(self) -> None:
        """16-bit weights as `torch.nn.Linear` begins with; quantized ones are zero."""
        bound = 1 / math.sqrt(self.in_features)
        if self.weights == "bf16":
            torch.nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            torch.nn.init.uniform_(self.bias, -bound, bound)

    @classmethod
    def from_float(cls, linear: torch.nn.Linear | Linear, weights: str) -> Linear:
        """Quantized weights from a layer with float ones, rounded to nearest."""
        layer = cls(linear.in_features, linear.out_features, linear.bias is not None, weights=weights)
        weight = linear.weight.detach()
        with torch.no_grad():
            if layer.bias is not None and linear.bias is not None:
                layer.bias.copy_(linear.bias)
            if weights == "bf16":
                layer.weight.copy_(weight)
            elif weights == "fp8":
                scale = _largest(weight.float()) / E4M3FN.largest
                layer.weight_scale_inv.copy_(scale)
                layer.weight.copy_((weight.float() / _spread(scale, weight.shape)).to(E4M3FN.dtype))
            else:
                quantized = ops.mx_quant(weight)
                layer.weight.copy_(quantized.out)
                layer.weight_scale.copy_(quantized.scales)
        return layer

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """[..., in_features] to [..., out_features]."""
        rows = x.reshape(-1, self.in_features)
        if self.weights == "bf16":
            result: torch.Tensor = ops.gemm(rows, self.weight, bias=self.bias)
        else:
            if self.weights == "fp8":
                result = ops.gemm_a16w8_block(rows, self.weight, scale_b=self.weight_scale_inv)
            else:
                result = ops.gemm_a16wfp4(rows, self.weight, scale_b=self.weight_scale)
            result = result if self.bias is None else result + self.bias
        return result.view(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}, weights={self.weights}"
        )


def _step(weights: str) -> int:
    """Divisor of the number of input columns: 16 bytes or, for mxfp4, the numbers under one scale."""
    return 16 if weights == "fp8" else 32 if weights == "mxfp4" else 1


def _largest(weight: torch.Tensor) -> torch.Tensor:
    """The largest magnitude of each block of 128 x 128, but at least the smallest normal float."""
    rows, cols = (-size % BLOCK for size in weight.shape)
    blocks = torch.nn.functional.pad(weight.abs(), (0, cols, 0, rows)).unflatten(1, (-1, BLOCK))
    largest: torch.Tensor = blocks.unflatten(0, (-1, BLOCK)).amax((1, 3))
    return largest.clamp(min=torch.finfo(torch.float32).tiny * E4M3FN.largest)


def _spread(scale: torch.Tensor, size: torch.Size) -> torch.Tensor:
    """Each block's scale at all of its elements."""
    wide = scale.repeat_interleave(BLOCK, 0).repeat_interleave(BLOCK, 1)
    return wide[: size[0], : size[1]]
