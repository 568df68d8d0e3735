"""Derivatives where a large argument multiplies a small remainder of one; gelu of all 16-bit numbers."""

from __future__ import annotations

import pytest
import torch

import workbench as wb


@pytest.mark.parametrize(("name", "arch"), [("silu", "gfx942"), ("gelu_tanh", "gfx950")])
def test_slopes_keep_their_digits(name: str, arch: str) -> None:
    spec = wb.kernels[f"activations/{name}_backward"]
    x = torch.linspace(-14, 14, 8192).reshape(8, 1024)
    result = spec(torch.ones_like(x), x, device=f"emulated:{arch}")
    expected = spec.reference(torch.ones_like(x).double(), x.double())
    # The argument of the exponential contains x^3, so its rounding is about 1e-6 of a result that is small by
    # then.
    assert (result - expected).abs().max().item() < 1e-6


@pytest.mark.parametrize(("dtype", "arch"), [(torch.bfloat16, "gfx950"), (torch.float16, "gfx942")])
def test_gelu_of_all_numbers(dtype: torch.dtype, arch: str) -> None:
    x = torch.arange(-(1 << 15), 1 << 15).to(torch.int16).view(dtype).reshape(64, 1024)
    result = wb.kernels["activations/gelu"](x, device=f"emulated:{arch}").double()
    wide, digits = x.double(), torch.finfo(dtype)
    expected = wide * torch.special.log_ndtr(wide).exp()
    # Rounding to the nearest is half a unit of the last place, which is the least normal number's below it.
    unit = torch.exp2(expected.abs().clamp(min=digits.tiny).log2().floor()) * digits.eps
    # An exponential that is not a normal float counts as zero.
    normal = wide.isfinite() & ((expected.abs() > 1e-36) | (expected.abs() < 1e-45))
    assert ((result - expected).abs() / unit)[normal].max().item() <= 0.52
    assert result[wide.isfinite() & ~normal].abs().max().item() < 1e-36
    assert torch.equal(
        result[~wide.isfinite()].isnan(), torch.nn.functional.gelu(wide)[~wide.isfinite()].isnan()
    )
    assert result[wide == torch.inf].item() == torch.inf
