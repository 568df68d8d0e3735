"""PyTorch's attributes after `torch_as_gpu`: as before, except for those that a script replaced itself."""

from __future__ import annotations

import importlib.machinery
from typing import Any

import pytest
import torch
import torch.utils._device

import workbench as wb
from workbench.errors import PatchConflict

OWNERS = (
    torch,
    torch.cuda,
    torch.autograd,
    torch.Tensor,
    torch.UntypedStorage,
    torch.nn.Module,
    torch.library,
    torch.version,
    torch.utils._device,
    torch.amp.autocast,
    importlib.machinery.ExtensionFileLoader,
)


def attributes() -> dict[tuple[Any, str], Any]:
    return {(owner, name): value for owner in OWNERS for name, value in vars(owner).items()}


def test_nothing_stays_replaced() -> None:
    with wb.torch_as_gpu("emulated:gfx950"):
        pass  # imports PyTorch's late imports
    before = attributes()
    with wb.torch_as_gpu("emulated:gfx950"):
        during = attributes()
    replaced = {
        (owner, name) for owner, name in during if during[owner, name] is not before.get((owner, name))
    }
    assert {owner for owner, _ in replaced} == set(OWNERS)
    after = attributes()
    assert after.keys() == before.keys()
    assert [key for key in before if after[key] is not before[key]] == []


def test_what_a_script_replaced_stays_and_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "compile", torch.compile)
    gpu = wb.torch_as_gpu("emulated:gfx950")
    gpu.__enter__()
    torch.compile = replacement = lambda function: function
    with pytest.warns(PatchConflict, match=r"torch\.compile was replaced by other code"):
        gpu.__exit__(None, None, None)
    assert torch.compile is replacement
    assert not torch.cuda.is_available()
