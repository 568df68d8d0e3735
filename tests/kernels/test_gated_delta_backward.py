"""The gradient of the gated delta rule by chunk: any lengths, any subset, chunks of few tokens."""

from __future__ import annotations

import os
import random
import sys
from itertools import pairwise
from typing import Any

import pytest
import torch

import workbench as wb

SEED = os.environ["HIPKITTENS_TEST_SEED"]
RULE = wb.kernels["gated_delta/chunk"].backward.rule
Chunks = vars(sys.modules[RULE.__module__])["Chunks"]


@pytest.mark.parametrize("starts", [None, [0, 5, 5, 21, 40], [0, 40], [0, 0, 0, 40], [0, 16, 32, 40]])
def test_tokens_have_places_in_chunks(starts: list[int] | None) -> None:
    """The round trip preserves tokens, and reversed chunks are those of the same sequence."""
    batch = 2 if starts is None else 1
    x = torch.randn(batch, 40, 3, 4)
    chunks = Chunks.from_sequences(x, None if starts is None else torch.tensor(starts, dtype=torch.int32), 16)
    rows = chunks.take(x)
    assert rows.shape[1:] == (3, 16, 4)
    assert torch.equal(chunks.give(rows, batch), x)
    assert int(chunks.there.sum()) == batch * 40
    assert rows.transpose(1, 2)[~chunks.there].count_nonzero() == 0
    assert torch.equal(chunks.back[chunks.back], torch.arange(len(chunks.back)))
    bounds = [0, 40, 80] if starts is None else starts
    for n, (first, end) in enumerate(pairwise(bounds)):
        indices = range(int(chunks.starts[n]), int(chunks.starts[n + 1]))
        assert len(indices) == -(-(end - first) // 16)
        assert chunks.back[list(indices)].tolist() == list(reversed(indices))


def test_groups_of_a_head_are_summed() -> None:
    x = torch.randn(1, 20, 2, 4)
    chunks = Chunks.from_sequences(x, None, 16)
    torch.testing.assert_close(chunks.give(chunks.take(x, 3), 1, 3), 3 * x)


def test_of_some_inputs_of_packed_sequences() -> None:
    draw = random.Random(SEED)
    spec = wb.kernels["gated_delta/chunk"]
    shape = {"tokens": 37, "sequences": 3, "chunk": 16, "keys": 64, "values": 16, "heads": 1, "groups": 2}
    inputs: dict[str, Any] = dict(spec.make_inputs({**shape, "dtype": "fp32"}, seed=draw.randrange(1000)))
    names = draw.sample(["q", "k", "v", "g", "beta", "initial_state"], draw.randint(1, 3))

    def through(function: Any, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
        wide = {
            name: x.to(dtype) if isinstance(x, torch.Tensor) and x.is_floating_point() else x
            for name, x in inputs.items()
        }
        leaves = {name: wide[name].detach().clone().requires_grad_() for name in names}
        results = function(**{**wide, **leaves})
        results = list(results.values()) if isinstance(results, dict) else list(results)
        generator = torch.Generator().manual_seed(4)
        upstream = [torch.randn(x.shape, generator=generator).to(dtype) for x in results]
        # Last states do not depend on queries.
        pairs = [(x, grad) for x, grad in zip(results, upstream, strict=True) if x.requires_grad]
        outputs, grads = zip(*pairs, strict=True)
        return torch.autograd.grad(outputs, list(leaves.values()), grads)

    actual, truth = through(spec, torch.float32), through(spec.reference, torch.float64)
    for name, got, right in zip(names, actual, truth, strict=True):
        error = (got.double() - right).abs().max()
        assert error <= 1e-5 * right.abs().max(), f"d{name}, wanted {names}"
