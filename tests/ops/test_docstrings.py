"""Calls of every function by its docstring only. Layouts are parsed from the text that `help` prints, not
from the specs: names, dimensions and element types of the results have to match it, and so have gradients by
kernels.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import pytest
import torch

import workbench as wb
from workbench import ops
from workbench.kernel import recording
from workbench.operators.description import example
from workbench.operators.functions import function_name

TYPES = {
    "bf16": (torch.bfloat16,),
    "fp16": (torch.float16,),
    "fp32": (torch.float32,),
    "fp64": (torch.float64,),
    "int8": (torch.int8,),
    "uint8": (torch.uint8,),
    "int32": (torch.int32,),
    "int64": (torch.int64,),
    "bool": (torch.bool,),
    "fp8": (torch.float8_e4m3fn, torch.float8_e4m3fnuz),
    **{name: (getattr(torch, f"float8_{name}"),) for name in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz")},
    "e4m3": (torch.float8_e4m3fn, torch.float8_e4m3fnuz),
}
LAYOUT = re.compile(r"(\[[^\]]*\](?: or \[[^\]]*\])*) of ([\w, ]+?)(?=, or \[|:|\.$)")


def section(doc: str, title: str) -> dict[str, str]:
    """Entries of a part of a docstring by name, each on one line."""
    body = re.search(rf"\n{title}:\n(.*?)(?:\n\n|\Z)", doc, re.DOTALL)
    assert body, title
    entries = re.split(r"\n    (?! )", "\n" + body[1])[1:]
    split = (" ".join(entry.split()).partition(": ") for entry in entries)
    return {name: text for name, _, text in split}


def layouts(text: str) -> list[tuple[tuple[str, ...], tuple[torch.dtype, ...]]]:
    """Alternatives of a tensor's entry: axes and allowed element types."""
    alternatives = []
    # After the layouts there is text, which may have brackets too.
    head, colon, _ = text.partition(": ")
    for axes, types in LAYOUT.findall(head + colon.strip()):
        names = re.split(r", | or ", types)
        dtypes = tuple(dtype for name in names for dtype in TYPES[name])
        for axis_list in re.findall(r"\[([^\]]*)\]", axes):
            alternatives.append(
                (tuple(axis.strip() for axis in axis_list.split(",") if axis.strip()), dtypes)
            )
    return alternatives


def fitted(axes: tuple[str, ...], dims: tuple[int, ...], sizes: dict[str, int]) -> dict[str, int] | None:
    """Sizes of axes, extended by a tensor's; None if the tensor contradicts them."""
    if axes[:1] == ("...",):
        axes = axes[1:]
        dims = dims[len(dims) - len(axes) :]
    elif axes[-1:] == ("...",):
        axes = axes[:-1]
        dims = dims[: len(axes)]
    if len(axes) != len(dims):
        return None
    fitted_sizes = dict(sizes)
    for axis, size in zip(axes, dims, strict=True):
        if axis.isidentifier():
            if fitted_sizes.setdefault(axis, size) != size:
                return None
            continue
        names = set(re.findall(r"[a-z_]\w*", axis)) - {"ceil"}
        if names <= set(fitted_sizes) and eval(axis, {"ceil": math.ceil}, dict(fitted_sizes)) != size:
            return None
    return fitted_sizes


def sizes_of(args: dict[str, str], inputs: dict[str, Any]) -> dict[str, int]:
    """Sizes by axis of a call's tensors, each in one of its documented layouts."""
    tensors = {name: value for name, value in inputs.items() if isinstance(value, torch.Tensor)}
    numbers = {name: value for name, value in inputs.items() if isinstance(value, int)}
    choices = []
    for name, tensor in tensors.items():
        fits = [axes for axes, dtypes in layouts(args[name]) if tensor.dtype in dtypes]
        assert fits, f"{name} is {tensor.dtype}; the docstring has {args[name]}"
        choices.append(fits)
    for combination in itertools.product(*choices):
        sizes: dict[str, int] | None = dict(numbers)
        # Twice: a size that is computed from others may be before them.
        for axes, tensor in [*zip(combination, tensors.values(), strict=True)] * 2:
            sizes = sizes if sizes is None else fitted(axes, tuple(tensor.shape), sizes)
        if sizes is not None:
            return sizes
    raise AssertionError(f"no layouts that go together: { {n: tuple(t.shape) for n, t in tensors.items()} }")


def gradients(function: Any, inputs: dict[str, Any]) -> None:
    """Checks that the inputs that the docstring names get gradients from the kernels that it names."""
    text = re.search(r"\nGradients:\n(.*?)\n\n", function.__doc__, re.DOTALL)[1]
    sentence = re.fullmatch(r"of (.+): by the kernels? (.+)\.", " ".join(text.split()))
    if sentence is None:
        assert text.strip().startswith(("by autograd of the PyTorch reference.", "none: "))
        return
    leaves = {
        name: inputs[name].detach().clone().requires_grad_()
        for name in sentence[1].split(", ")
        if inputs.get(name) is not None and inputs[name].is_floating_point()
    }
    outputs = function(**{**inputs, **leaves})
    outputs = [each for each in (outputs if isinstance(outputs, tuple) else (outputs,)) if each.requires_grad]
    with recording() as launches:
        grads = torch.autograd.grad(
            outputs, list(leaves.values()), [torch.ones_like(each) for each in outputs]
        )
    assert launches
    for (name, leaf), grad in zip(leaves.items(), grads, strict=True):
        assert (grad.shape, grad.dtype) == (leaf.shape, leaf.dtype), name


@pytest.mark.parametrize("name", list(wb.kernels))
def test_example_runs(name: str) -> None:
    """The example with the docstring's text for each input and output tensor."""
    namespace: dict[str, Any] = {}
    exec(example(wb.kernels[name]), namespace)
    inputs = namespace["inputs"]
    function = getattr(ops, function_name(name))
    args, returns = (section(function.__doc__, title) for title in ("Args", "Returns"))
    sizes = sizes_of(args, inputs)
    for result, text in returns.items():
        tensor = namespace[result]
        assert isinstance(tensor, torch.Tensor)
        fits = any(
            tensor.dtype in dtypes and fitted(axes, tuple(tensor.shape), sizes) is not None
            for axes, dtypes in layouts(text)
        )
        assert fits, f"{result} is {tuple(tensor.shape)} of {tensor.dtype}; the docstring has {text}"
    gradients(function, inputs)


def test_what_a_docstring_does_not_promise_is_seen() -> None:
    args = {
        "x": "[rows, 2*cols] of bf16 or fp16: rows.",
        "y": "[cols] of fp32, or [ceil(cols/8)] of uint8: [y, y] of each.",
    }
    x, y = torch.zeros(3, 16, dtype=torch.bfloat16), torch.zeros(8)
    assert sizes_of(args, {"x": x, "y": y}) == {"rows": 3, "cols": 8}
    assert layouts(args["y"]) == [(("cols",), (torch.float32,)), (("ceil(cols/8)",), (torch.uint8,))]
    for wrong in ({"x": x.float(), "y": y}, {"x": x, "y": y[:7]}, {"x": x[0], "y": y}):
        with pytest.raises(AssertionError):
            sizes_of(args, wrong)
