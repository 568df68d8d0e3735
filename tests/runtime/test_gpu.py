"""The back end of a GPU, with stand-ins: the driver's list of devices, and the emulator's HIP for AMD's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from workbench import runtime, toolchain
from workbench.errors import DeviceError
from workbench.launches import LaunchOptions
from workbench.origin import Origin
from workbench.runtime import gpu
from workbench.runtime.backend import Invocation

SOURCE = (Path(__file__).parent / "kernels.hip").read_text()


def test_the_drivers_list_of_gpus(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    for node, version in enumerate([0, 90402, 90500, 90010]):
        folder = tmp_path / str(node)
        folder.mkdir()
        (folder / "properties").write_text(f"cpu_cores_count 0\ngfx_target_version {version}\n")
    monkeypatch.setattr(gpu, "_KFD_NODES", tmp_path)
    monkeypatch.setattr(gpu.os, "access", lambda *_: True)
    monkeypatch.setattr(gpu, "find_library", lambda: "libamdhip64.so")
    monkeypatch.delenv("ROCR_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("HIP_VISIBLE_DEVICES", raising=False)
    gpu.gpus.cache_clear()
    try:
        assert [node.arch for node in gpu.gpus()] == ["gfx942", "gfx950", "gfx90a"]
        gpu.gpus.cache_clear()
        monkeypatch.setenv("HIP_VISIBLE_DEVICES", "2,0")
        assert [(node.ordinal, node.arch) for node in gpu.gpus()] == [(0, "gfx90a"), (1, "gfx942")]
    finally:
        gpu.gpus.cache_clear()


def invocation(**options: bool) -> Invocation:
    return Invocation("vector_add", "gpu:0", (1, 1, 1), (64, 1, 1), 0, options=LaunchOptions(**options))


def test_a_launch_is_timed_by_hip_events() -> None:
    device = runtime.device("emulated:gfx950")
    module = device.load(
        toolchain.compile_device(SOURCE, toolchain.CompileOptions("gfx950", name="kernels.hip")).code_object
    )
    a = np.arange(64, dtype=np.float32)
    c = np.zeros_like(a)
    function = module.function("vector_add")
    arguments = np.array([a.ctypes.data, a.ctypes.data, c.ctypes.data, 64], dtype=np.uint64).tobytes()
    buffers = [(x.ctypes.data, x.nbytes) for x in (a, c)]

    def call() -> None:
        function.launch((1, 1, 1), (64, 1, 1), 0, arguments, buffers=buffers)

    with device.hip() as hip:
        record = gpu.GpuBackend().launch(hip, invocation(), call)
    assert (c == 2 * a).all()
    assert record.elapsed is not None
    assert record.elapsed.origin is Origin.MEASURED
    assert 0 < record.elapsed.value <= 1e6 * record.wall_seconds
    assert (record.device, record.grid, record.block) == ("gpu:0", (1, 1, 1), (64, 1, 1))


@pytest.mark.parametrize("option", ["count", "profile", "sanitize", "trace"])
def test_a_gpu_refuses_what_it_cannot_tell(option: str) -> None:
    def call() -> None:
        raise AssertionError("it was launched")

    with (
        runtime.device("emulated:gfx950").hip() as hip,
        pytest.raises(DeviceError, match="reports the time of a launch and nothing else"),
    ):
        gpu.GpuBackend().launch(hip, invocation(**{option: True}), call)
