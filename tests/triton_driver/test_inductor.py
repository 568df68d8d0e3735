"""`torch.compile` with inductor's Triton code on the emulated devices, against PyTorch itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.nn import functional

pytest.importorskip("triton")

import workbench as wb
from workbench.errors import UsageError
from workbench.targets import TILE_TARGETS


@pytest.fixture(params=TILE_TARGETS)
def arch(request: pytest.FixtureRequest) -> Iterator[str]:
    with wb.triton(f"emulated:{request.param}", inductor=True):
        yield request.param


def drawn(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def rows(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.softmax(functional.gelu(x + y) * 2, -1)


def layer(x: torch.Tensor, w: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return functional.layer_norm((x @ w).relu(), (32,), scale).sum(0)


def test_forward_and_gradients(arch: str) -> None:
    x, y = drawn(16, 48).requires_grad_(), drawn(16, 48, seed=2)
    result = torch.compile(rows)(x, y)
    [gradient] = torch.autograd.grad(result.square().sum(), x)
    assert wb.triton.spent.total.launches >= 2
    expected = rows(x.double(), y.double())
    torch.testing.assert_close(result.double(), expected, atol=1e-5, rtol=1e-4)
    [expected_gradient] = torch.autograd.grad(expected.square().sum(), x)
    torch.testing.assert_close(gradient, expected_gradient, atol=1e-5, rtol=1e-4)


def test_verify_takes_a_compiled_function(arch: str) -> None:
    inputs = {"x": drawn(16, 48), "y": drawn(16, 48, seed=2)}
    result = wb.verify(torch.compile(rows), rows, inputs=inputs).check()
    assert result.device == f"emulated:{arch}"
    assert all(record.kernel.startswith("triton_") for record in result.records)
    assert result.records


def test_tuned_products_take_modelled_time() -> None:
    with wb.triton("emulated:gfx950", inductor=True):
        operands = drawn(32, 32), drawn(32, 32, seed=2), drawn(32, seed=3)
        with torch._inductor.config.patch(max_autotune_gemm_search_space="DEFAULT"):
            result = torch.compile(layer, mode="max-autotune-no-cudagraphs")(*operands)
        products = [row for name, row in wb.triton.spent.kernels.items() if name.startswith("triton_tem")]
        tried = wb.triton.spent.kernels["triton_mm"].launches
    expected = layer(*(operand.double() for operand in operands))
    torch.testing.assert_close(result.double(), expected, atol=1e-4, rtol=1e-4)
    assert products, "PyTorch's own product, whose time nobody knows, was taken"
    # A wall clock would repeat each choice a hundred times.
    assert tried < 100


def test_what_is_compiled_does_not_outlive_the_block() -> None:
    compiled = torch.compile(rows, backend="inductor")
    operands = drawn(4, 16), drawn(4, 16, seed=2)
    launches = []
    for device in ("MI355X", "MI300X"):
        with wb.triton(f"emulated:{device}", inductor=True):
            compiled(*operands)
            compiled(*operands)
            launches.append(wb.triton.spent.total.launches)
    assert min(launches) >= 2


def test_what_cannot_be_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="inductor and cuda_means_cpu"):
        wb.triton.activate("emulated:gfx950", cuda_means_cpu=True, inductor=True)
    with wb.triton("emulated:gfx950", cuda_means_cpu=True):
        x = torch.ones(4, device="cuda")
        with pytest.raises(UsageError, match=r"torch.compile of rows.*wb.triton\(inductor=True\)"):
            torch.compile(rows)(x, x)
