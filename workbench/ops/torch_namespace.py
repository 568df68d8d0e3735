"""`torch.ops.hipkittens` with every operator of the library, each made at its first use.

PyTorch registers an operator when its spec is loaded, and a saved `torch.export` asks for operators by name,
so a name that does not exist yet loads its spec.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._ops import _OpNamespace

from workbench.operators.functions import NAMESPACE
from workbench.operators.registry import kernels


class _Namespace(_OpNamespace):
    # A saved program names operators by the module of their namespace's class.
    __module__ = _OpNamespace.__module__

    def __getattr__(self, op_name: str) -> Any:
        operator = _operators().get(op_name.removesuffix("_by_reference"))
        if operator is not None:
            # Its gradient is registered with it.
            kernels[operator].operator  # noqa: B018
        return super().__getattr__(op_name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_operators()})


def _operators() -> dict[str, str]:
    """Operators of the library by their names in the namespace."""
    return {name.replace("/", "_"): name for name in kernels}


def install() -> None:
    """Replaces PyTorch's namespace by one that has all of them."""
    if not isinstance(torch.ops.__dict__.get(NAMESPACE), _Namespace):
        torch.ops.__dict__[NAMESPACE] = _Namespace(NAMESPACE)
