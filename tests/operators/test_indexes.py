"""Indices in tensors: each bad one is named before a kernel reads past the end."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import workbench as wb
from workbench.errors import ArgumentError
from workbench.operators.layouts import axes_of, size_of

INDEXED = [(name, which) for name in wb.kernels for which in wb.kernels[name].indexes]


def _drawn(name: str, which: str) -> tuple[dict[str, Any], int] | None:
    """Inputs of the smallest shape with the indices in them, and their bound."""
    spec = wb.kernels[name]
    for example in sorted(spec.shapes, key=lambda each: spec.work(each).get("bytes", 0)):
        shape = spec.shape(example)
        inputs = spec.bind(**spec.inputs(shape, torch.Generator().manual_seed(0)))
        if inputs.get(which) is not None:
            sizes, _ = axes_of(spec.tensors, spec.shape(spec.shape_of(**inputs)), inputs)
            bound = size_of(spec.indexes[which].axis, sizes)
            assert bound is not None, f"{spec.indexes[which].axis} has no size"
            return inputs, int(bound)
    return None


@pytest.mark.parametrize(("name", "which"), INDEXED)
def test_an_index_out_of_range_is_named(name: str, which: str) -> None:
    drawn = _drawn(name, which)
    if drawn is None:
        pytest.skip(f"none of the spec's shapes has {which}")
    inputs, bound = drawn
    bad = inputs[which].clone()
    bad.view(-1)[0] = bound
    where = rf"{which}\[0(, 0)*\] is {bound}; expected an index from 0 to {bound - 1}"
    with pytest.raises(ArgumentError, match=where):
        wb.kernels[name](**{**inputs, which: bad})


@pytest.mark.parametrize("ignored", [-100, 3, 77])
def test_ignore_index_is_pytorch_s(ignored: int) -> None:
    x = torch.randn(5, 10)
    target = torch.tensor([0, 9, ignored, 3, 4])
    loss = wb.kernels["activations/cross_entropy"](x, target, ignore_index=ignored)["loss"]
    expected = torch.nn.functional.cross_entropy(x, target, ignore_index=ignored, reduction="none")
    torch.testing.assert_close(loss, expected)


def test_a_negative_label_that_is_not_ignored_is_refused() -> None:
    target = torch.tensor([0, -100, -1])
    with pytest.raises(
        ArgumentError, match=r"target\[2\] is -1; expected an index from 0 to 9 .*ignore_index"
    ):
        wb.kernels["activations/cross_entropy"](torch.randn(3, 10), target)


def test_pages_behind_a_sequence_may_hold_anything() -> None:
    spec = wb.kernels["attention/decode"]
    inputs = spec.make_inputs({"batch": 1, "queries": 1, "pages": 3, "page": 16, "heads": 2, "heads_kv": 1})
    inputs["seq_lens"].fill_(17)
    before = spec(**inputs)["out"]
    inputs["block_table"][0, 2] = -7
    assert torch.equal(spec(**inputs)["out"], before)
    inputs["block_table"][0, 1] = 1000
    with pytest.raises(ArgumentError, match=r"block_table\[0, 1\] is 1000; .*\(blocks is 3\)"):
        spec(**inputs)


def test_routing_keeps_float32() -> None:
    x = torch.randn(7, 33)
    values = wb.kernels["moe_routing/topk"](x, 4, score="softmax")["values"]
    assert values.dtype == torch.float32
    torch.testing.assert_close(values, x.topk(4).values.softmax(-1))
