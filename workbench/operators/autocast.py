"""Casts of an operator's inputs under `torch.autocast`, by PyTorch's rules for functions of its kind.

Matrix products, attention and operators made of them compute in autocast's dtype; normalizations, softmax and
losses in float32 if the operator supports it; for any other operator with mixed dtypes, all take the widest.
Scales, statistics, tables and everything else that has the same dtype in every setting of the operator are
left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench.dtypes import is_float
from workbench.errors import ShapeError
from workbench.operators.definition import Definition
from workbench.operators.parameters import Choice

if TYPE_CHECKING:
    import torch

LOWER, FLOAT, WIDEST = "autocast's dtype", "float32", "the widest"

_BY_CATEGORY = {
    "attention": LOWER,
    "feed_forward": LOWER,
    "gemm": LOWER,
    "moe_gemm": LOWER,
    "normalization": FLOAT,
}
_BY_OPERATOR = {
    "activations/causal_conv1d": LOWER,
    "activations/cross_entropy": FLOAT,
    "activations/softmax": FLOAT,
    "gated_delta/l2_norm": FLOAT,
}


def rule_of(operator: Definition) -> str:
    """The rule for inputs of changing precision under autocast; backward passes follow their inputs."""
    base = operator.name.partition(":")[0]
    if base.endswith("_backward") or base.startswith("attention/backward"):
        return WIDEST
    return _BY_OPERATOR.get(base) or _BY_CATEGORY.get(base.partition("/")[0], WIDEST)


def cast(operator: Definition, inputs: Mapping[str, Any], lower: torch.dtype) -> dict[str, Any]:
    """A call's inputs, cast as autocast requires.

    Args:
        lower: autocast's dtype.
    """
    import torch

    changing = operator.changing_inputs
    among = {n: v for n, v in inputs.items() if n in changing and is_float(v, 16, 32)}
    rule = rule_of(operator)
    dtypes = {value.dtype for value in among.values()}
    dtype = lower
    if rule is WIDEST:
        if len(dtypes) < 2:
            return dict(inputs)
        dtype = torch.float32 if torch.float32 in dtypes else lower
    elif rule is FLOAT:
        dtype = torch.float32
    choice = operator.parameters.get("dtype")
    if dtype is torch.float32 and not (isinstance(choice, Choice) and "fp32" in choice.values):
        dtype = lower
    fitted = {name: value.to(dtype) for name, value in among.items()}
    # A tensor may be float32 in this setting only.
    for exempt in (None, *among):
        candidate = {**inputs, **{name: value for name, value in fitted.items() if name != exempt}}
        try:
            operator.shape_of(**candidate)
        except ShapeError:
            continue
        return candidate
    # If the call is wrong, it raises its own error.
    return dict(inputs)
