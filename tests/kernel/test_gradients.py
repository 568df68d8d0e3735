"""Nodes of a result's graph that are autograd functions in C++."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from workbench.errors import UsageError
from workbench.kernel import gradients


class Square(torch.autograd.Function):
    """An autograd function in Python."""

    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        return x * x

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
        return gradient


def test_only_what_was_added_to_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    """A function is reported once, by name, before its backward runs; those of its arguments are not."""
    # Python nodes get names that match, so that nothing needs to be compiled.
    monkeypatch.setattr(gradients, "_NODE", re.compile(r"(Square|Exp)Backward0?"))
    heard: list[str] = []
    x = torch.ones(3, requires_grad=True)
    argument = x.exp()
    square: Any = Square
    outputs = {"out": [square.apply(argument) + 1, square.apply(argument)], "n": 3}
    gradients.watch(outputs, ((argument,), {}), heard.append)
    assert heard == []
    sum(output.sum() for output in outputs["out"]).backward()  # type: ignore[attr-defined]
    assert heard == ["Square", "Square"]


@pytest.mark.parametrize("name", ["torch::autograd::CppNode<Scale>", "CppNode<(anonymous namespace)::Scale>"])
def test_names_of_nodes_in_cpp(name: str) -> None:
    match = gradients._NODE.fullmatch(name)
    assert match
    assert match[1].endswith("Scale")
    with pytest.raises(UsageError, match="made: the backward of Scale"):
        gradients.unreached("Scale", "workbench.compiled_0.made")
