"""CUDA graphs on the emulated device: a replay repeats what was recorded, on the memory's current content."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest
import torch

import workbench as wb
from workbench.errors import UsageError


@pytest.fixture(autouse=True)
def _device() -> Iterator[None]:
    with wb.torch_as_gpu("emulated:gfx950"):
        yield


def test_replayed_on_other_values() -> None:
    x, total = torch.arange(8.0, device="cuda"), torch.zeros((), device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        assert torch.cuda.is_current_stream_capturing()
        rows = (2 * x).view(2, 4)
        squares = rows[1] ** 2
        scratch = torch.empty(4, device="cuda")
        torch.add(squares, 1, out=scratch)
        total += scratch.sum()
    assert not torch.cuda.is_current_stream_capturing()
    # As on a GPU, where nothing runs while it is recorded.
    assert total == 0
    for n in range(1, 4):
        x.copy_(torch.arange(8.0) + n)
        graph.replay()
        expected = (2 * (torch.arange(4.0, 8) + n)) ** 2
        assert torch.equal(squares, expected)
        assert torch.equal(scratch, expected + 1)
    assert total == sum((((2 * (torch.arange(4.0, 8) + n)) ** 2) + 1).sum() for n in range(1, 4))


def test_a_step_of_training() -> None:
    """Gradients and what an optimizer writes, as without a graph."""

    def model() -> tuple[torch.nn.Linear, torch.optim.Optimizer]:
        torch.manual_seed(0)
        layer = torch.nn.Linear(4, 3, device="cuda")
        return layer, torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)

    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(1))

    def training(layer: torch.nn.Linear, optimizer: torch.optim.Optimizer) -> None:
        optimizer.zero_grad(set_to_none=False)
        layer(x).square().sum().backward()
        optimizer.step()

    layer, optimizer = model()
    for _ in range(4):
        training(layer, optimizer)
    recorded, optimizer = model()
    training(recorded, optimizer)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        training(recorded, optimizer)
    for _ in range(3):
        graph.replay()
    torch.testing.assert_close(recorded.weight, layer.weight)


def test_triton_kernels() -> None:
    pytest.importorskip("triton")
    add = importlib.import_module("tests.triton_driver.kernels").add
    x, y = torch.arange(200.0, device="cuda"), torch.ones(200, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        between = torch.empty_like(x)
        add[(2,)](x, y, between, 200, BLOCK=128)
        out = 2 * between
        add[(2,)](out, y, y, 200, BLOCK=128)
    assert torch.equal(y, torch.ones(200))
    x.fill_(5)
    graph.replay()
    assert torch.equal(out, torch.full((200,), 12.0))
    assert torch.equal(y, torch.full((200,), 13.0))


def test_wrong_use() -> None:
    graph, other = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with pytest.raises(UsageError, match="nothing is recorded"):
        graph.replay()
    with pytest.raises(UsageError, match="expected capture_begin"):
        graph.capture_end()
    x = torch.tensor([1, 0, 2])
    with torch.cuda.graph(graph):
        with pytest.raises(UsageError, match="another graph is being recorded"):
            other.capture_begin()
        x.nonzero()
    x.fill_(1)
    with pytest.raises(UsageError, match=r"nonzero.default gives \(3, 1\), and gave \(2, 1\)"):
        graph.replay()
    graph.reset()
    with pytest.raises(UsageError, match="nothing is recorded"):
        graph.replay()


def test_an_error_ends_the_recording() -> None:
    x = torch.ones(3)

    def fail() -> None:
        with torch.cuda.graph(torch.cuda.CUDAGraph()):
            x.add_(1)
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        fail()
    assert not torch.cuda.is_current_stream_capturing()
    assert torch.equal(x, torch.ones(3))
