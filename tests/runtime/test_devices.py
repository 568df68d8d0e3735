"""Devices by name, and the rule that a process has one HIP library."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import workbench as wb
from workbench import errors, runtime
from workbench.origin import Origin
from workbench.runtime import hip
from workbench.runtime.backend import Node
from workbench.runtime.gpu import GpuBackend


def test_the_emulated_devices_are_there() -> None:
    emulated = [device for device in runtime.devices() if device.observes]
    assert {device.name: device.properties["name"] for device in emulated} == {
        "emulated:gfx950": "AMD Instinct MI355X",
        "emulated:gfx942": "AMD Instinct MI300X",
        "emulated:gfx90a": "AMD Instinct MI210",
        "emulated:mi350x": "AMD Instinct MI350X",
        "emulated:mi325x": "AMD Instinct MI325X",
        "emulated:gfx1201": "AMD Radeon RX 9070 XT",
        "emulated:gfx1100": "AMD Radeon RX 7900 XTX",
        "emulated:w7900": "AMD Radeon PRO W7900",
        "emulated:gfx1101": "AMD Radeon RX 7800 XT",
        "emulated:gfx1102": "AMD Radeon RX 7600",
        "emulated:gfx1103": "AMD Radeon 780M",
        "emulated:gfx1151": "AMD Radeon 8060S",
        "emulated:gfx1250": "AMD Instinct MI455X",
    }
    for device in emulated:
        assert device.torch_device == "cpu"
        assert device.origin is Origin.MODELLED
        assert device.properties["gcnArchName"].startswith(device.arch)


def test_a_device_by_its_product() -> None:
    assert runtime.device("emulated:MI355X").name == "emulated:gfx950"
    assert runtime.device("emulated:mi325x").arch == "gfx942"
    assert runtime.device("MI325X").name == "emulated:mi325x"
    assert runtime.device("gfx942").name == "emulated:gfx942"
    with pytest.raises(errors.DeviceError, match=r"'MI325' here; .* did you mean MI325X\?"):
        runtime.device("MI325")


def test_what_is_no_name_of_a_device() -> None:
    with pytest.raises(
        errors.DeviceError, match="got 0; expected a device's name, such as 'emulated:gfx950'"
    ):
        runtime.device(0)  # type: ignore[arg-type]
    # At the call, not at the beginning of a `with`.
    with pytest.raises(
        errors.DeviceError, match="got 5; expected a device's name, such as 'emulated:gfx950'"
    ):
        wb.triton(5)  # type: ignore[arg-type]


def test_the_device_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_DEVICE", "emulated:gfx942")
    assert runtime.device().name == "emulated:gfx942"
    assert runtime.device("emulated:gfx950").arch == "gfx950"
    assert runtime.device("emulated").arch == "gfx950"
    monkeypatch.setenv("HIPKITTENS_DEVICE", "tpu:0")
    with pytest.raises(errors.DeviceError, match=r"'tpu:0' \(from HIPKITTENS_DEVICE\).*emulated:gfx950"):
        runtime.device()
    monkeypatch.setenv("HIPKITTENS_DEVICE", "mi355x")
    assert runtime.device().name == "emulated:gfx950"


def test_an_invalid_memory_limit_is_named_in_the_error() -> None:
    code = "from workbench import runtime; runtime.device('emulated').synchronize()"
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HIPKITTENS_MEMORY": "lots"},
    )
    assert "UsageError: HIPKITTENS_MEMORY: 'lots' is not a size" in result.stderr


def test_a_process_uses_one_hip_library(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime.device("emulated:gfx950").synchronize()
    other = runtime.Device(Node("gpu:0", "gfx950", 0), GpuBackend())
    with pytest.raises(errors.DeviceError, match="Restart"):
        other.synchronize()
    assert hip.used() is runtime.device("emulated:gfx950").backend
    assert "in use" in runtime.library_description()


def test_naming_a_device_loads_no_library() -> None:
    code = (
        "from workbench import runtime\n"
        "from workbench.runtime import hip\n"
        "runtime.device('emulated'); runtime.devices()[-1].properties\n"
        "print(hip.used())\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert result.stdout.strip() == "None"


def test_memory_and_a_wrong_module() -> None:
    device = runtime.device("emulated:gfx942")
    memory = device.memory()
    assert 0 <= memory.used <= memory.limit <= memory.total == 192 << 30
    with pytest.raises(errors.DeviceError, match="not a code object"):
        device.load(b"nothing" * 100)


def test_a_device_says_which_product_it_is():
    assert repr(runtime.device("emulated:gfx950")) == "<Device emulated:gfx950: MI355X, gfx950>"
