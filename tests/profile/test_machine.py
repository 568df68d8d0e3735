"""Machine constants: each says where it is from, and the emulated devices agree with them."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from workbench.emulator.node.device import device_facts
from workbench.errors import WorkbenchError
from workbench.profile.machine import machine


def facts(package: str, name: str) -> dict:
    return json.loads(resources.files(package).joinpath(name).read_text())


def test_every_constant_names_its_source() -> None:
    data = facts("workbench.profile", "data/machine.json")
    entries = [
        (gpu, key, entry) for gpu, known in data.items() if gpu[0] != "_" for key, entry in known.items()
    ]
    entries += [("", name, entry) for name in data if name[0] == "_" for entry in _listed(data[name])]
    devices = facts("workbench.emulator.node", "devices.json")["devices"]
    entries += [(device["arch"]["value"], *item) for device in devices for item in device.items()]
    assert len(entries) > 100
    assert [(gpu, key) for gpu, key, entry in entries if len(entry["source"]) < 8] == []


def _listed(value: object) -> list:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("device", [d for d in device_facts() if d.arch != "gfx90a"], ids=lambda d: d.arch)
def test_emulated_devices_are_what_the_timing_model_models(device) -> None:
    found = machine(device.name, device.arch)
    assert found.arch == device.arch
    assert found.clock_hz == device.clock_mhz * 1e6
    assert found.compute_units == device.compute_units
    assert (found.xcds, found.simds_per_cu) == (device.xcds, device.simds_per_cu)
    assert found.hbm_bytes_per_second == pytest.approx(device.hbm_bandwidth_bytes_per_second)
    assert found.l2_bytes == device.l2_bytes_per_xcd * device.xcds
    assert found.lds_bytes == device.lds_bytes


def test_a_gpu_without_constants() -> None:
    with pytest.raises(
        WorkbenchError, match=r"no machine constants for 'MI210' .*; there are MI300X, MI325X"
    ):
        machine("MI210", "gfx90a")
