"""HIP through cffi, for platforms without hip-python's wheel: the same answers, and a kernel end to end."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench import runtime, toolchain
from workbench.errors import DeviceError
from workbench.runtime import hip
from workbench.runtime.hip_cffi import HipByCffi, Status
from workbench.targets import TILE_TARGETS

SOURCE = (Path(__file__).parent / "kernels.hip").read_text()


@pytest.fixture(scope="module")
def by_cffi() -> Any:
    """The emulated device's library, which the process also uses by another binding."""
    backend = runtime.device("emulated:gfx950").backend
    hip.api(backend)
    return HipByCffi(backend.load()["amdhip64"])


def answer(call: tuple[Any, ...]) -> Any:
    status, *values = call
    assert (int(status), status.name) == (0, "hipSuccess")
    return values[0] if len(values) == 1 else tuple(values)


def test_devices_and_their_properties(by_cffi: Any) -> None:
    emulated = [device for device in runtime.devices() if device.observes]
    assert answer(by_cffi.hipGetDeviceCount()) == len(emulated)
    for device in emulated:
        record = answer(by_cffi.hipGetDeviceProperties(device.ordinal))
        properties = {name: getattr(record, name) for name in device.properties}
        assert {
            k: v.decode() if isinstance(v, bytes) else v for k, v in properties.items()
        } == device.properties
    before = answer(by_cffi.hipGetDevice())
    answer(by_cffi.hipSetDevice(1))
    try:
        assert answer(by_cffi.hipGetDevice()) == 1
        free, total = answer(by_cffi.hipMemGetInfo())
        assert 0 < free <= total == 192 << 30
    finally:
        answer(by_cffi.hipSetDevice(before))


def test_memory_is_allocated_and_freed(by_cffi: Any) -> None:
    sent = np.random.default_rng(7).integers(0, 256, 1000, dtype=np.uint8)
    back = np.zeros_like(sent)
    address = answer(by_cffi.hipMalloc(sent.nbytes))
    kind = by_cffi.hipMemcpyKind.hipMemcpyDefault
    answer(by_cffi.hipMemcpy(address, sent.ctypes.data, sent.nbytes, kind))
    answer(by_cffi.hipMemcpy(back.ctypes.data, address, sent.nbytes, kind))
    answer(by_cffi.hipFree(address))
    np.testing.assert_array_equal(back, sent)


@pytest.mark.parametrize("arch", TILE_TARGETS)
def test_a_kernel_between_two_events(by_cffi: Any, arch: str) -> None:
    code = toolchain.compile_device(SOURCE, toolchain.CompileOptions(arch, name="kernels.hip")).code_object
    a = np.arange(1000, dtype=np.float32)
    before = answer(by_cffi.hipGetDevice())
    answer(by_cffi.hipSetDevice(runtime.device(f"emulated:{arch}").ordinal))
    try:
        memory = [answer(by_cffi.hipMalloc(a.nbytes)) for _ in range(2)]
        answer(by_cffi.hipMemcpy(memory[0], a.ctypes.data, a.nbytes, 4))
        module = answer(by_cffi.hipModuleLoadData(code))
        function = answer(by_cffi.hipModuleGetFunction(module, b"vector_add"))
        arguments = np.array([memory[0], memory[0], memory[1], a.size], dtype=np.uint64)
        size = ctypes.c_size_t(arguments.nbytes - 4)
        extra = (ctypes.c_void_p * 5)(1, arguments.ctypes.data, 2, ctypes.addressof(size), 3)
        start, stop = (answer(by_cffi.hipEventCreate()) for _ in range(2))
        answer(by_cffi.hipEventRecord(start, None))
        shape = (4, 1, 1, 256, 1, 1, 0)
        answer(by_cffi.hipModuleLaunchKernel(function, *shape, None, None, ctypes.addressof(extra)))
        answer(by_cffi.hipEventRecord(stop, None))
        answer(by_cffi.hipEventSynchronize(stop))
        assert answer(by_cffi.hipEventElapsedTime(start, stop)) > 0
        answer(by_cffi.hipEventDestroy(start))
        answer(by_cffi.hipEventDestroy(stop))
        out = np.zeros_like(a)
        answer(by_cffi.hipMemcpy(out.ctypes.data, memory[1], out.nbytes, 4))
        answer(by_cffi.hipModuleUnload(module))
    finally:
        answer(by_cffi.hipSetDevice(before))
    np.testing.assert_array_equal(out, 2 * a)


def test_a_failure_is_a_status_with_its_name(by_cffi: Any) -> None:
    status, *_ = by_cffi.hipModuleLoadData(b"nothing" * 100)
    assert (int(status), status.name) == (200, "hipErrorInvalidImage")
    runtime.device("emulated:gfx950").backend.failure()
    with pytest.raises(AttributeError, match="hipFly by cffi"):
        by_cffi.hipFly()
    with pytest.raises(TypeError, match="got 2 arguments; expected 1"):
        by_cffi.hipSetDevice(0, 1)


def test_a_library_that_is_none(tmp_path: Path) -> None:
    path = tmp_path / "libamdhip64.so"
    path.write_bytes(b"text")
    with pytest.raises(DeviceError, match="does not load"):
        HipByCffi(str(path))


WITHOUT = """
import sys
sys.modules["hip"] = None
import importlib.metadata as metadata
import torch
import workbench as wb
found = metadata.version
def version(name):
    if name == "hip-python":
        raise metadata.PackageNotFoundError(name)
    return found(name)
metadata.version = version
print(wb.doctor())
module = wb.compile('''#include <hip/hip_runtime.h>
__device__ int seen;
__global__ void twice(int *x) { x[threadIdx.x] *= 2; seen = 7; }''')
x = torch.arange(64, dtype=torch.int32)
module["twice"][1, 64](x)
print(bool((x == 2 * torch.arange(64)).all()))
try:
    module["twice"][1, 128](x)
except wb.errors.AddressFault as fault:
    print(fault)
try:
    module["twice"][1, 4096](x)
except wb.errors.LaunchError as error:
    print(error)
"""


def test_everything_works_without_hip_python() -> None:
    environment = {k: v for k, v in os.environ.items() if k != hip.BINDING}
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT],
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
        env=environment,
    )
    assert "called through cffi" in result.stdout
    assert "MISSING" not in result.stdout
    for text in ("True", "past the end of argument 'x'", "4096"):
        assert text in result.stdout


def test_the_binding_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hip.BINDING, "cffi")
    assert hip.binding() == "cffi"
    monkeypatch.setenv(hip.BINDING, "cuda")
    with pytest.raises(Exception, match="HIPKITTENS_BINDING is 'cuda'; expected hip-python or cffi"):
        hip.binding()


def test_a_library_without_a_device_names_the_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithoutDevice:
        def hipGetDeviceCount(self) -> tuple[Status, int]:  # noqa: N802
            return Status(100, "hipErrorNoDevice"), 0

    monkeypatch.setattr(hip, "BINDINGS", {"cffi": lambda files: WithoutDevice()})
    monkeypatch.setenv(hip.BINDING, "cffi")
    monkeypatch.setattr(hip, "_used", None)
    monkeypatch.setattr(hip, "_module", None)
    message = r"finds no GPU \(hipErrorNoDevice\): are /dev/kfd.* HIPKITTENS_DEVICE=emulated"
    with pytest.raises(DeviceError, match=message):
        hip.api(runtime.device("emulated:gfx950").backend)
