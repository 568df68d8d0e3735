"""Operators of `torch.library` inside `torch_as_gpu`: for CUDA, PyTorch's checks, tensors without data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

import workbench as wb


@pytest.fixture(autouse=True)
def door() -> Iterator[None]:
    with wb.torch_as_gpu("emulated:gfx950"):
        yield


@pytest.fixture
def library() -> Iterator[torch.library.Library]:
    with torch.library._scoped_library("workbench_door", "DEF") as library:
        library.define("raised(Tensor x, float by) -> Tensor")
        yield library


def test_opcheck_of_an_operator_for_cuda(library: torch.library.Library) -> None:
    library.impl("raised", lambda x, by: x + by, "CUDA")
    torch.library.register_fake("workbench_door::raised", lambda x, by: torch.empty_like(x), lib=library)
    operator = torch.ops.workbench_door.raised
    x = torch.zeros(3, device="cuda")
    assert torch.equal(operator(x, 2.0), torch.full((3,), 2.0))
    checks = torch.library.opcheck(operator.default, (x, 2.0))
    assert set(checks.values()) == {"SUCCESS"}


@pytest.mark.parametrize("order", [("CPU", "CUDA"), ("CUDA", "CPU")])
def test_the_implementation_for_cuda_has_precedence(
    library: torch.library.Library, order: tuple[str, str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for key in order:
            factor = {"CPU": 1.0, "CUDA": 10.0}[key]
            library.impl("raised", lambda x, by, factor=factor: x + factor * by, key)
    assert torch.ops.workbench_door.raised(torch.zeros(1, device="cuda"), 2.0).item() == 20


def test_a_library_for_cuda_alone(library: torch.library.Library) -> None:
    with torch.library._scoped_library("workbench_door", "IMPL", "CUDA") as implementation:
        implementation.impl("raised", lambda x, by: x - by)
        assert torch.ops.workbench_door.raised(torch.zeros(1, device="cuda"), 2.0).item() == -2


def test_opcheck_of_one_with_a_gradient() -> None:
    @torch.library.custom_op("workbench_door::doubled", mutates_args=())
    def doubled(x: torch.Tensor) -> torch.Tensor:
        return 2 * x

    doubled.register_fake(torch.empty_like)
    doubled.register_autograd(lambda _, gradient: 2 * gradient)
    x = torch.randn(3, device="cuda", requires_grad=True)
    assert set(torch.library.opcheck(doubled, (x,)).values()) == {"SUCCESS"}


def test_tensors_without_data_are_on_the_device() -> None:
    with FakeTensorMode() as mode:
        x = torch.empty(3, 4, device="cuda")
        product = x @ torch.randn(4, 5, device="cuda")
        inside = mode.from_tensor(torch.ones(2))
        moved = torch.zeros(2).to("cuda")
    for tensor in (x, product, inside, moved):
        assert isinstance(tensor, FakeTensor)
        assert (tensor.device, tensor.is_cuda) == (torch.device("cuda", 0), True)
    assert product.shape == (3, 5)
    assert torch.empty(2, device="meta").device.type == "meta"
    assert not torch.empty(2, device="meta").is_cuda
