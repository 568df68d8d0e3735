"""Operators as functions, under the names that the field uses: `ops.rms_norm(x, weight)`.

    from workbench import ops
    y = ops.rms_norm(x, weight)
    out, lse = ops.flash_attention(q, k, v, causal=True)
    y = ops.sdpa(q, k, v, is_causal=True)          # scaled_dot_product_attention's own signature and layout

A function is an operator of `workbench.kernels` with its signature; `help(ops.rms_norm)` says the layout of
every tensor, dtypes, sizes, gradients and errors, all made from the operator's spec. A function with several
results returns a named tuple. A kernel is compiled at its first call, or before by `precompile`; a function
is made at its first use. After this import `torch.ops.hipkittens` has all operators too.
"""

from __future__ import annotations

from typing import Any

from workbench.operators.functions import by_function
from workbench.operators.registry import kernels
from workbench.ops.attention import sdpa as sdpa
from workbench.ops.function import function, result_name
from workbench.ops.precompile import precompile as precompile
from workbench.ops.torch_namespace import install

_OPERATORS = by_function(kernels)
_RESULTS = {result_name(name): name for name in _OPERATORS}

__all__ = ["precompile", "sdpa"]
__all__ += sorted(_OPERATORS)

install()


def __getattr__(name: str) -> Any:
    if name in _RESULTS and (kind := __getattr__(_RESULTS[name]).__annotations__["return"]).__name__ == name:
        return kind
    if name not in _OPERATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name not in globals():
        globals()[name] = function(kernels[_OPERATORS[name]])
    return globals()[name]


def __dir__() -> list[str]:
    return sorted(__all__)
