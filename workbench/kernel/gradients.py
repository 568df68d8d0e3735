"""Autograd functions in C++ (`torch::autograd::Function`) in the graphs of a compiled module's results.

Their backward launches kernels when no function of the module runs, so the device has not been lent any
memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.utils._pytree import tree_leaves

from workbench.errors import UsageError

_NODE = re.compile(r"(?:torch::autograd::)?CppNode<(.*)>")


def watch(result: Any, arguments: Any, hear: Callable[[str], None]) -> None:
    """Arrange that `hear` is called with the name of each such function before its backward runs.

    Args:
        result: return value of a module's function.
        arguments: the function's arguments; nodes of their graphs are ignored.
    """
    # Python's object for a node stays the same only while it is referenced.
    outside = set(_nodes(arguments))
    waiting = _nodes(result)
    while waiting:
        node = waiting.pop()
        if node in outside:
            continue
        outside.add(node)
        if named := _NODE.fullmatch(node.name()):
            node.register_prehook(lambda _, name=named[1]: hear(name))
        waiting += [following for following, _ in node.next_functions if following is not None]


def _nodes(values: Any) -> list[Any]:
    tensors = (value for value in tree_leaves(values) if isinstance(value, Tensor))
    return [tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None]


def unreached(function: str, module: str) -> None:
    """Called before a backward in C++ runs; `torch_as_gpu` replaces it.

    Args:
        function: class of the function.
        module: the full name of the module that it belongs to.

    Raises:
        UsageError: always, as its kernels would not reach their tensors.
    """
    name = module.rpartition(".")[2]
    raise UsageError(
        f"{name}: the backward of {function}, a torch::autograd::Function in C++, launches kernels outside "
        "of the module's functions, where they cannot access CPU tensors. Put `with wb.torch_as_gpu():` "
        "around the module's import, its calls and the backward"
    )


__all__ = ["unreached", "watch"]
