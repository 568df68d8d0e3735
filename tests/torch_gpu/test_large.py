"""Random tensors larger than this computer's memory, by which a judge of kernels fills caches."""

from __future__ import annotations

import sys

import pytest
import torch

import workbench as wb
from workbench.torch_gpu import large

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory is mapped so on Linux alone")


def test_more_than_the_computer_has() -> None:
    count = 8 * large.most_bytes()
    with wb.torch_as_gpu("emulated:gfx950"):
        generator = torch.Generator(device="cuda").manual_seed(3)
        x = torch.randn((2, count // 8), device="cuda", generator=generator)
        assert x.shape == (2, count // 8)
        assert x.is_cuda
        # Its parts hold normal numbers, and data written to one part is not in another.
        part = x[1, -1000:]
        assert 0.9 < part.std().item() < 1.1
        first = x[0, :1000].clone()
        part.fill_(5.0)
        assert torch.equal(x[0, :1000], first)
        assert (x[1, -1000:] == 5).all()
        assert torch.rand(1000, device="cuda").shape == (1000,)
