"""The back end of a GPU, with stand-ins: the driver's list of devices, and the emulator's HIP for AMD's."""

from __future__ import annotations

import subprocess
import sys
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


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_drivers_list_of_gpus(system: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for node, version in enumerate([0, 90402, 90500, 90010]):
        properties = system / f"sys/class/kfd/kfd/topology/nodes/{node}/properties"
        write(properties, f"cpu_cores_count 0\ngfx_target_version {version}\n")
    write(system / "opt/rocm/lib/libamdhip64.so", "")
    assert gpu.gpus() == (), "there is no device"
    write(system / "dev/kfd", "")
    gpu.gpus.cache_clear()
    assert [node.arch for node in gpu.gpus()] == ["gfx942", "gfx950", "gfx90a"]
    gpu.gpus.cache_clear()
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "2,0")
    assert [(node.ordinal, node.arch) for node in gpu.gpus()] == [(0, "gfx90a"), (1, "gfx942")]


def invocation(**options: bool) -> Invocation:
    return Invocation("vector_add", "gpu:0", (1, 1, 1), (64, 1, 1), 0, options=LaunchOptions(**options))


@pytest.mark.usefixtures("gpu_machine")
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

    def call(kernargs: bytes) -> None:
        assert kernargs == b""
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
    def call(kernargs: bytes) -> None:
        raise AssertionError("it was launched")

    with (
        runtime.device("emulated:gfx950").hip() as hip,
        pytest.raises(DeviceError, match="reports the time of a launch and nothing else"),
    ):
        gpu.GpuBackend().launch(hip, invocation(**{option: True}), call)


MACHINES = {
    "": ("237 kfd\n226 drm\n", "/usr/lib/libc.so.6\n", {}),
    "AMD's rocjitsu": ("237 kfd\n", "/opt/rocm/lib/librocjitsu_kmd.so\n", {}),
    "the model /opt/libmodel.so": ("237 kfd\n", "", {"HSA_MODEL_LIB": "/opt/libmodel.so"}),
    "software that answers as the kernel's driver does": ("226 drm\n1 mem\n", "/tmp/kfdshim.so\n", {}),
}


@pytest.mark.parametrize("answer", MACHINES)
def test_software_that_plays_a_gpu_is_no_gpu(
    answer: str, system: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices, maps, variables = MACHINES[answer]
    write(system / "proc/devices", devices)
    write(system / "proc/self/maps", maps)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert gpu.stand_in() == answer
    backend = gpu.GpuBackend()
    assert backend.origin is (Origin.EMULATED if answer else Origin.MEASURED)
    assert backend.label == ("emulated" if answer else "")
    assert answer in backend.describe()


# A machine with a GPU and a PyTorch that was built without ROCm: the emulator's HIP for AMD's, which accesses
# host memory only on request.
WITHOUT_ROCM = """
import torch
from workbench.runtime import gpu
from workbench.runtime.backend import Node
from workbench.runtime.emulated import EmulatedBackend
emulated = next(node for node in EmulatedBackend().nodes() if node.arch == "gfx950")
gpu.gpus = lambda: (Node("gpu:0", "gfx950", emulated.ordinal),)
gpu.find_library = lambda: "/opt/rocm/lib/libamdhip64.so"
gpu.GpuBackend.load = lambda self: EmulatedBackend().load()
gpu.torch_without_rocm = lambda: "2.9.0+cpu"
import workbench as wb
print(wb.doctor(run=True))
add = wb.compile('''#include <hip/hip_runtime.h>
__global__ void add(const float *x, float *y, int n) {
    int i = blockIdx.x * 64 + threadIdx.x;
    if (i < n) y[2 * i] += x[i];
}
__global__ void follow(float **tables) { *tables[0] = 1; }''')
x, y = torch.arange(1000.), torch.ones(2000)
record = add["add"][16, 64](x, y[::2], 1000)
print("right", bool((y[::2] == x + 1).all()), bool((y[1::2] == 1).all()), record.elapsed)
before = y.clone()
add["add"][1, 64](y[100:200], y[101:], 40)
print("shared", bool((y[101:181:2] == before[101:181:2] + before[100:140]).all()))
print(wb.time(add["add"][16, 64], x, y, 1000))
for refused in (
    lambda: wb.lend(x),
    lambda: add["follow"][1, 1](torch.tensor([x.data_ptr()])),
    lambda: wb.torch_as_gpu().__enter__(),
):
    try:
        refused()
    except wb.errors.DeviceError as error:
        print("refused", error)
"""


def test_a_gpu_machine_whose_pytorch_has_no_rocm() -> None:
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_ROCM], capture_output=True, text=True, timeout=300, check=True
    )
    output = result.stdout
    assert "ran on gpu:0 with right results" in output
    assert "2.9.0+cpu has no ROCm: a launch copies its tensors to the GPU and back" in output
    assert f"-> {sys.executable} -m {gpu.WHEEL}" in output
    assert "MISSING" not in output
    assert "right True True" in output
    assert "shared True" in output
    assert "add on gpu:0: " in output
    # Here the HIP library is the emulator's, and there is no driver of a GPU.
    assert "us (emulated)" in output
    assert "(measured)" not in output
    refusals = [line for line in output.splitlines() if line.startswith("refused")]
    assert len(refusals) == 3
    assert all("ROCm" in line for line in refusals)
    assert result.stderr.count("tensors are copied to gpu:0 for each launch and back") == 1
