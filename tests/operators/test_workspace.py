"""The tensors between the steps of an operator, which are new for each run of a repeated call."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.hardware.operators import smallest_first
from workbench.runtime import Device
from workbench.runtime.backend import Buffers


def test_copies_of_the_previous_workspace_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = wb.kernels["feed_forward/ungated"]
    device = wb.device("emulated:gfx942")
    shape = spec.shape(smallest_first(spec, device.arch)[0], arch=device.arch)
    call = spec.prepare(spec.make_inputs(shape, seed=0, device=device), shape, device)
    dropped: list[tuple[int, int]] = []

    def forget_copies(device: Device, buffers: Buffers) -> None:
        dropped.extend(buffers)

    monkeypatch.setattr(Device, "forget_copies", forget_copies)
    workspace = {
        name: tensor
        for name, tensor in call.tensors.items()
        if name not in call.inputs and name not in call.outputs
    }
    assert workspace
    expected = [(tensor.data_ptr(), tensor.nbytes) for tensor in workspace.values()]
    call.renew_workspace()
    assert sorted(dropped) == sorted(expected)
    assert all(call.tensors[name] is not tensor for name, tensor in workspace.items())
