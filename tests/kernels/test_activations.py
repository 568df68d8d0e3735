"""Derivatives of activations in float32, where a large argument multiplies what is left of a one."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.targets import TILE_TARGETS


@pytest.mark.parametrize("arch", TILE_TARGETS)
@pytest.mark.parametrize("name", ["silu", "gelu_tanh"])
def test_slopes_keep_their_digits(name: str, arch: str) -> None:
    spec = wb.kernels[f"activations/{name}_backward"]
    x = torch.linspace(-14, 14, 8192).reshape(8, 1024)
    made = spec(torch.ones_like(x), x, device=f"emulated:{arch}")
    wanted = spec.reference(torch.ones_like(x).double(), x.double())
    # The argument of the exponential has x^3 in it, so its rounding is some 1e-6 of what is small by then.
    assert (made - wanted).abs().max().item() < 1e-6
