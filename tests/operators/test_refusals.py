"""Wrong arguments are refused before anything is compiled."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import workbench as wb
from workbench.errors import ArgumentError, ShapeError
from workbench.operators import building


@pytest.fixture(autouse=True)
def _nothing_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiled(*_: Any) -> None:
        raise AssertionError("this call compiles")

    monkeypatch.setattr(building, "compile_source", compiled)
    monkeypatch.setattr(wb.kernels, "_loaded", {})


def _inputs(name: str) -> dict[str, Any]:
    spec = wb.kernels[name]
    shape = min(spec.shapes, key=lambda each: spec.work(each).get("bytes", 0))
    return spec.bind(**spec.inputs(spec.shape(shape), torch.Generator().manual_seed(0)))


@pytest.mark.parametrize("name", list(wb.kernels))
def test_each_argument_of_another_kind(name: str) -> None:
    spec, inputs = wb.kernels[name], _inputs(name)
    kinds = {p.name: str(p.annotation) for p in spec.signature.parameters.values()}
    for argument, kind in kinds.items():
        wrong = "3" if "str" not in kind else 3
        if "bool" in kind:
            continue
        with pytest.raises(ArgumentError, match=f"argument {argument!r} is a"):
            spec(**{**inputs, argument: wrong})
    # A tensor of a dtype that no operator takes.
    first = next(argument for argument, kind in kinds.items() if "Tensor" in kind)
    with pytest.raises((ShapeError, ArgumentError)):
        spec(**{**inputs, first: inputs[first].to(torch.complex64)})


def test_what_issue_says() -> None:
    with pytest.raises(ArgumentError, match="argument 'a' is a int; expected a torch tensor"):
        wb.kernels["gemm/bf16"](1, 2)


def test_outputs() -> None:
    x, weight = torch.randn(4, 64), torch.randn(64)
    with pytest.raises(ArgumentError, match="output 'out' is"):
        wb.kernels["normalization/rmsnorm"](x, weight, out=torch.empty(4, 65))
