"""Blocks of a submission's memory that hold a result, and those that only look like one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from workbench.judge.provenance import Bytes, holds_result

SHAPE = (16, 64)


def bytes_of(tensor: torch.Tensor) -> Bytes:
    return tensor.contiguous().view(torch.uint8).numpy().reshape(-1)


def normal(seed: int, shape: tuple[int, int] = SHAPE) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


# The elements of a row of 2,048 are within 3 % of their input's.
@pytest.mark.parametrize("shape", [SHAPE, (4, 2048)])
@pytest.mark.parametrize("seed", range(10))
def test_input_of_a_normalization_is_not_its_result(seed: int, shape: tuple[int, int]) -> None:
    x = normal(seed, shape)
    result = torch.nn.functional.layer_norm(x.double(), shape[1:])
    assert not holds_result(bytes_of(x), [result], [x])
    assert not holds_result(bytes_of(x.flip(0).bfloat16()), [result], [x])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("seed", range(5))
def test_constants_of_the_same_distribution_are_not_the_result(seed: int, dtype: torch.dtype) -> None:
    result = normal(seed).double()
    assert not holds_result(bytes_of(normal(100 + seed).to(dtype)), [result])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn])
def test_a_rounded_result_is_found_in_any_order(dtype: torch.dtype) -> None:
    x = normal(1)
    result = torch.nn.functional.layer_norm(x.double(), SHAPE[1:])
    order = torch.from_numpy(np.random.default_rng(2).permutation(result.numel()))
    assert holds_result(bytes_of(result.to(dtype)), [result], [x])
    assert holds_result(bytes_of(result.flatten()[order].to(dtype)), [result], [x])


def test_a_sorted_input_is_a_result_only_in_its_order() -> None:
    x = normal(3).flatten()
    result = x.sort().values.double()
    assert not holds_result(bytes_of(x), [result], [x])
    assert holds_result(bytes_of(result.float()), [result], [x])
