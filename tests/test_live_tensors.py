"""Tensors of this process by their addresses."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

from workbench.live_tensors import live_tensors, tensors_at  # noqa: E402


def test_tensors_without_memory_are_no_live_ones() -> None:
    """Those of PyTorch's tracing, whose addresses cause warnings, of its transformations, and of "meta"."""
    real = torch.zeros(4)
    with FakeTensorMode():
        fake, parameter = torch.zeros(4), torch.nn.Parameter(torch.zeros(3))
    meta = torch.zeros(4, device="meta")
    seen = []

    def traced(row: Any) -> Any:
        seen.append([id(tensor) for tensor in live_tensors()])
        assert id(row) not in seen[-1]
        return 2 * row

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.func.vmap(traced)(torch.zeros(3, 4))
        assert tensors_at([real.data_ptr() + 4]) == {real.data_ptr() + 4: real}
    assert id(real) in seen[0]
    assert not {id(fake), id(parameter), id(meta)} & {*seen[0]}
