"""Devices by name, and the rule of one HIP library in a process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from workbench import errors, runtime
from workbench.origin import Origin
from workbench.runtime import library
from workbench.runtime.device import merged


def test_the_emulated_devices_are_there() -> None:
    emulated = [device for device in runtime.devices() if device.emulated]
    assert {device.name: device.properties["name"] for device in emulated} == {
        "emulated:gfx950": "AMD Instinct MI355X",
        "emulated:gfx942": "AMD Instinct MI300X",
        "emulated:gfx90a": "AMD Instinct MI210",
        "emulated:mi350x": "AMD Instinct MI350X",
        "emulated:mi325x": "AMD Instinct MI325X",
    }
    for device in emulated:
        assert device.origin is Origin.MODELLED
        assert device.properties["gcnArchName"].startswith(device.arch)


def test_a_device_by_its_product() -> None:
    assert runtime.device("emulated:MI355X").name == "emulated:gfx950"
    assert runtime.device("emulated:mi325x").arch == "gfx942"
    with pytest.raises(errors.DeviceError, match=r"'MI325X' here; .* did you mean emulated:mi325x\?"):
        runtime.device("MI325X")


def test_the_device_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIPKITTENS_DEVICE", "emulated:gfx942")
    assert runtime.device().name == "emulated:gfx942"
    assert runtime.device("emulated:gfx950").arch == "gfx950"
    assert runtime.device("emulated").arch == "gfx950"
    monkeypatch.setenv("HIPKITTENS_DEVICE", "tpu:0")
    with pytest.raises(errors.DeviceError, match=r"'tpu:0' \(from HIPKITTENS_DEVICE\).*emulated:gfx950"):
        runtime.device()
    monkeypatch.setenv("HIPKITTENS_DEVICE", "gfx942")
    with pytest.raises(errors.DeviceError, match=r"'gfx942' .*; did you mean emulated:gfx942[?]"):
        runtime.device()


def test_a_limit_of_memory_that_is_no_size_is_said_by_its_name() -> None:
    code = "from workbench import runtime; runtime.device('emulated').synchronize()"
    result = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "HIPKITTENS_MEMORY": "lots"},
    )
    assert "UsageError: HIPKITTENS_MEMORY: 'lots' is no size" in result.stderr


def test_a_process_uses_one_hip_library(monkeypatch: pytest.MonkeyPatch) -> None:
    runtime.device("emulated:gfx950").synchronize()
    gpu = runtime.Device("gpu:0", "gfx950", 0, False)
    with pytest.raises(errors.DeviceError, match="Restart"):
        gpu.synchronize()
    assert library.used() is library.Kind.EMULATED
    assert "in use" in runtime.library_description()


def test_naming_a_device_loads_no_library() -> None:
    code = (
        "from workbench import runtime\n"
        "from workbench.runtime import library\n"
        "runtime.device('emulated'); runtime.devices()[-1].properties\n"
        "print(library.used())\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True
    )
    assert result.stdout.strip() == "None"


def test_memory_and_a_wrong_module() -> None:
    device = runtime.device("emulated:gfx942")
    free, total = device.memory()
    assert 0 < free <= total == 192 << 30
    with pytest.raises(errors.DeviceError, match="no code object"):
        device.load(b"nothing" * 100)


def test_overlapping_buffers_are_joined() -> None:
    assert merged([(100, 50), (120, 10), (149, 11), (160, 5), (0, 0), (300, 1)]) == [
        (100, 60),
        (160, 5),
        (300, 1),
    ]


def test_the_drivers_list_of_gpus(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    for node, version in enumerate([0, 90402, 90500, 90010]):
        folder = tmp_path / str(node)
        folder.mkdir()
        (folder / "properties").write_text(f"cpu_cores_count 0\ngfx_target_version {version}\n")
    monkeypatch.setattr(library, "_KFD_NODES", tmp_path)
    monkeypatch.setattr(library.os, "access", lambda *_: True)
    monkeypatch.setattr(library, "find_library", lambda: "libamdhip64.so")
    monkeypatch.delenv("ROCR_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("HIP_VISIBLE_DEVICES", raising=False)
    library.gpus.cache_clear()
    try:
        assert [gpu.arch for gpu in library.gpus()] == ["gfx942", "gfx950", "gfx90a"]
        library.gpus.cache_clear()
        monkeypatch.setenv("HIP_VISIBLE_DEVICES", "2,0")
        assert [(gpu.ordinal, gpu.arch) for gpu in library.gpus()] == [(0, "gfx90a"), (1, "gfx942")]
    finally:
        library.gpus.cache_clear()
