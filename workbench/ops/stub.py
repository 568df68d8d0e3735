"""Writes `workbench/ops/__init__.pyi`, for editors and type checkers: `python -m workbench.ops.stub`."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path

import torch

from workbench import ops
from workbench.operators.description import results_of
from workbench.operators.functions import by_function
from workbench.operators.registry import kernels
from workbench.ops.function import docstring, returned, signature

STUB = Path(__file__).with_name("__init__.pyi")

HEAD = '''"""Operators as functions. Made by `python -m workbench.ops.stub` from the specs in `kernels/`."""

# ruff: noqa
# fmt: off
import collections.abc
from typing import NamedTuple

import torch

import workbench.operators.precompile
'''


def text() -> str:
    """The text of `workbench/ops/__init__.pyi`."""
    parts = [HEAD]
    for helper in (ops.precompile, ops.sdpa):
        parts += _function(helper.__name__, inspect.signature(helper, eval_str=True), helper.__doc__ or "")
    for name, operator in sorted(by_function(kernels).items()):
        spec = kernels[operator]
        kind = returned(spec)
        if kind is not torch.Tensor:
            fields = "".join(f"    {field}: torch.Tensor\n" for field in results_of(spec))
            parts.append(f"\nclass {kind.__name__}(NamedTuple):\n{fields}")
        parts += _function(name, signature(spec), docstring(spec))
    return "".join(parts)


def _function(name: str, signature: inspect.Signature, doc: str) -> Iterator[str]:
    # A named tuple's name is written with its module, which is the stub's own.
    yield f"\ndef {name}{str(signature).replace('workbench.ops.', '')}:\n"
    yield textwrap.indent(f'"""{inspect.cleandoc(doc)}\n"""\n', "    ")


def main() -> None:
    STUB.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
