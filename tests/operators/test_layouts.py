"""Layouts: axes by name agree with the tensors that operators take and return."""

from __future__ import annotations

import pytest
import torch

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.operators.layouts import axes_of, by_name, layouts, size_of

SMALL = 1 << 24
"""Largest size in bytes of shapes whose inputs are generated here."""


@pytest.mark.parametrize("name", list(wb.kernels))
def test_every_tensor_has_the_axes_that_its_spec_says(name: str) -> None:
    spec = wb.kernels[name]
    tensors = dict(by_name(spec.tensors))
    inputs_by_annotation = {
        p.name for p in spec.signature.parameters.values() if "Tensor" in str(p.annotation)
    }
    looked = 0
    for sizes in spec.shapes:
        shape = spec.shape(sizes)
        if spec.work(shape).get("bytes", 0) > SMALL:
            continue
        inputs = spec.bind(**spec.inputs(shape, torch.Generator().manual_seed(0)))
        outputs = spec.outputs(shape, inputs)
        results = {key: torch.empty(tuple(dims), dtype=dtype) for key, (dims, dtype) in outputs.items()}
        assert inputs_by_annotation | set(results) == set(tensors)
        assert [each for each in tensors if each not in spec.signature.parameters] == list(results)
        axes, wrong = axes_of(spec.tensors, spec.shape(spec.shape_of(**inputs)), {**inputs, **results})
        assert not wrong, f"{wrong} is no {tensors[wrong]} of {axes}"
        looked += 1
    assert looked or name == "gated_delta/elementary"


def test_layout_reads_types_axes_and_alternatives() -> None:
    first, second = layouts("bf16/fp16[..., n, ceil(k/128)] | uint8[n, k/2]")
    assert first.dtypes == ("bf16", "fp16")
    assert str(first) == "[..., n, ceil(k/128)]"
    assert first.sizes((2, 3, 5, 2), {"k": 130}) == {"k": 130, "n": 5}
    assert first.sizes((5, 3), {"k": 130}) is None
    assert first.sizes((5,), {"k": 130}) is None
    assert second.sizes((5, 65), {"k": 130, "n": 5}) == {"k": 130, "n": 5}
    assert second.sizes((4, 65), {"k": 130, "n": 5}) is None
    assert first.has(torch.float16, {})
    behind = layouts("fp32[batch, n, ...]")[0]
    assert behind.sizes((2, 3, 5, 7), {"batch": 2}) == {"batch": 2, "n": 3}
    assert behind.sizes((2, 3), {}) == {"batch": 2, "n": 3}
    assert behind.sizes((2,), {}) is None
    assert not first.has(torch.float32, {})
    assert layouts("dtype[n]")[0].has(torch.float32, {"dtype": "fp32"})
    assert layouts("fp8[n]")[0].has(torch.float8_e4m3fnuz, {})
    assert size_of("rank+dim", {"rank": 3}) is None


def test_a_text_that_is_no_layout_is_refused() -> None:
    with pytest.raises(WorkbenchError, match="'batch, heads' is not a layout"):
        layouts("batch, heads")
