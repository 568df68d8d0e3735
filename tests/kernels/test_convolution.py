"""The reference of short convolutions against PyTorch's, channel by channel."""

from __future__ import annotations

import pytest
import torch

import workbench.operators  # noqa: F401  (with it the kernel library is a package)
from workbench_kernels.references.convolution import causal_conv


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("biased", [False, True])
def test_reference_is_a_grouped_convolution(padded: bool, biased: bool) -> None:
    draw = torch.Generator().manual_seed(1)
    x, weight, bias = (
        torch.randn(*dims, generator=draw, dtype=torch.float64) for dims in ((2, 9, 20), (9, 4), (9,))
    )
    applied = bias if biased else None
    before = x if padded else torch.nn.functional.pad(x, (3, 0))
    expected = torch.nn.functional.conv1d(before, weight[:, None], applied, groups=9)
    torch.testing.assert_close(causal_conv(x, weight, applied, "none", padded=padded), expected)
    silu = causal_conv(x, weight, applied, "silu", padded=padded)
    torch.testing.assert_close(silu, torch.nn.functional.silu(expected))
