"""Runs and checks cases of the collection's functions, for the tests and for the page."""

from __future__ import annotations

import pkgutil
import zlib
from importlib import import_module

import torch
from collection import cases as folder
from collection.case import Case, Draw, Make

from workbench import collection
from workbench.collection.calls import BoundFunction

CATEGORIES = {
    submodule.name: import_module(f"{folder.__name__}.{submodule.name}")
    for submodule in pkgutil.iter_modules(folder.__path__)
}
CASES: dict[str, Make] = {name: make for module in CATEGORIES.values() for name, make in module.CASES.items()}
SAMPLED = sorted(name for module in CATEGORIES.values() for name in getattr(module, "SAMPLED", ()))
"""Cases of functions that differ only in a width; one at a time is enough."""


def bound(name: str) -> BoundFunction:
    """The function of a case's name, "module.function" or "module.function:case"."""
    module, _, function = name.partition(":")[0].partition(".")
    member = getattr(getattr(collection, module), function)
    assert isinstance(member, BoundFunction)
    return member


def drawn(name: str, arch: str, seed: str) -> Case:
    """The case with its random numbers."""
    draw = Draw(arch)
    draw.generator.manual_seed(zlib.crc32(f"{seed} {name}".encode()))
    return CASES[name](draw)


def run(name: str, arch: str, seed: str) -> None:
    """Calls a function in every order of its arguments.

    Raises:
        AssertionError: a result differs from PyTorch's, or another argument has changed.
    """
    function = bound(name)
    for turn, order in enumerate(function.record.all_orders):
        case = drawn(name, arch, f"{seed} {turn}")
        before = {k: v.clone() for k, v in case.arguments.items() if isinstance(v, torch.Tensor)}
        returned = function(*(case.arguments[argument] for argument in order), device=f"emulated:{arch}")
        _check_returned(function, case, returned)
        for argument, expected in case.expected.items():
            _check_output(case, argument, expected)
        for argument, was in before.items():
            if argument not in case.expected:
                assert torch.equal(_bytes(case.arguments[argument]), _bytes(was)), f"{argument} has changed"


def _check_returned(function: BoundFunction, case: Case, returned: object) -> None:
    if function.record.host is None:
        assert returned is None
    elif isinstance(case.returned, torch.Tensor):
        assert isinstance(returned, torch.Tensor)
        assert torch.equal(returned, case.returned)
    else:
        assert returned == case.returned


def _check_output(case: Case, argument: str, expected: torch.Tensor) -> None:
    got = case.arguments[argument]
    if argument in case.exact:
        assert torch.equal(got.to(expected.dtype), expected), f"{argument} is {got}; expected {expected}"
    else:
        torch.testing.assert_close(
            got.double(), expected, rtol=case.rtol, atol=case.atol, msg=lambda text: f"{argument}: {text}"
        )


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.contiguous().view(-1).view(torch.uint8)
