"""Memory from hipMalloc: uninitialised, freed, and beyond a resource."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench import errors, runtime  # noqa: E402
from workbench.runtime.hip import api as load_hip  # noqa: E402
from workbench.targets import TILE_TARGETS  # noqa: E402

SIZE = 4096

SOURCE = r"""
#include <hip/hip_runtime.h>
typedef int i4 __attribute__((ext_vector_type(4)));
__global__ void copy(const float *in, float *out) { out[threadIdx.x] = in[threadIdx.x] + 1.0f; }
__global__ void uniform(const float *in, float *out) { if (threadIdx.x < 32) out[threadIdx.x] = in[3]; }
__global__ void decide(const int *in, float *out) {
    if (in[threadIdx.x] > 3) { out[threadIdx.x] = 1.0f; __builtin_amdgcn_s_sleep(1); }
}
__global__ void follow(const int *in, float *out) { out[threadIdx.x] = out[64 + (in[threadIdx.x] & 63)]; }
__global__ void wide(const float4 *in, float4 *out) { out[threadIdx.x] = in[threadIdx.x]; }
__global__ void bytes(const unsigned char *in, unsigned char *out) { out[threadIdx.x] = in[threadIdx.x] + 1; }
__global__ void shared(const float *in, float *out) {
    __shared__ float s[64];
    s[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = s[63 - threadIdx.x] * 2.0f;
}
__global__ void add(float *in, float *out) { unsafeAtomicAdd(in + threadIdx.x, 1.0f); }
__global__ void swap(int *in, int *out) { out[threadIdx.x] = atomicExch(in + threadIdx.x, 1); }
__global__ void write(float *in, float *out) { in[threadIdx.x] = out[threadIdx.x]; }
__global__ void unused(const float *in, float *out) { asm volatile("" ::"v"(in[threadIdx.x])); }
__global__ void beside(const int *apart, unsigned char *out) {
    if (threadIdx.x % 64 == 0) out[*apart ? threadIdx.x / 64 : 3] = threadIdx.x + 1;
}
__global__ void quarter(const int *which, float *out) {
    __shared__ float4 s[4];
    if (threadIdx.x == 0) *(volatile i4 *)s = i4{1, 2, 3, 4};
    if (threadIdx.x == 64) out[0] = ((volatile float *)s)[*which & 3];
}
"""
CASES = {
    "copy": "stored to global memory",
    "uniform": "stored to global memory",
    "decide": "decides a branch",
    "follow": "is an address",
    "wide": "stored to global memory",
    "bytes": "stored to global memory",
    "shared": "stored to global memory",
    "add": "an atomic changes uninitialised device memory",
    "swap": "stored to global memory",
}


class Api:
    """hip-python's calls, without their status."""

    def __init__(self, arch: str) -> None:
        self.hip = load_hip(runtime.device("emulated").backend)
        self.call("hipSetDevice", {"gfx950": 0, "gfx942": 1}[arch])

    def call(self, name: str, *arguments: Any) -> Any:
        status, *values = getattr(self.hip, name)(*arguments)
        assert int(status) == 0, (name, status)
        return values[0] if len(values) == 1 else tuple(values)

    def malloc(self, size: int = SIZE) -> int:
        return int(self.call("hipMalloc", size))


@pytest.fixture(params=TILE_TARGETS)
def arch(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def api(arch: str) -> Iterator[Api]:
    api = Api(arch)
    yield api
    api.call("hipSetDevice", 0)


@pytest.fixture
def module(arch: str) -> Any:
    return wb.compile(SOURCE, arch=arch, name="memory.hip")


def run(module: Any, name: str, source: int, out: int) -> Any:
    return wb.sanitize(module[name][1, 64], source, out, device=f"emulated:{module.arch}")


def fresh(api: Api) -> tuple[int, int]:
    """Uninitialised memory, and memory that a fill did."""
    source, out = api.malloc(), api.malloc()
    api.call("hipMemset", out, 0, SIZE)
    return source, out


@pytest.mark.parametrize("name", CASES)
def test_uninitialised_memory_is_found_where_it_matters(api: Api, module: Any, name: str) -> None:
    source, out = fresh(api)
    result = run(module, name, source, out)
    findings = [f for f in result.findings if f.category == "uninitialised" and CASES[name] in f.message]
    assert findings, str(result)
    if name not in ("add",):
        assert "uninitialised device memory: `" in findings[0].message
    line = next(n for n, text in enumerate(SOURCE.splitlines(), 1) if f"void {name}(" in text)
    assert line <= findings[0].line <= line + 5


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("how", ["hipMemset", "hipMemcpy", "hipMemsetD32Async", "kernel"])
def test_written_memory_is_not_reported(api: Api, module: Any, name: str, how: str) -> None:
    source, out = fresh(api)
    if how == "hipMemset":
        api.call("hipMemset", source, 0, SIZE)
    elif how == "hipMemcpy":
        host = np.zeros(SIZE, np.uint8)
        api.call("hipMemcpy", source, host, SIZE, api.hip.hipMemcpyKind.hipMemcpyHostToDevice)
    elif how == "hipMemsetD32Async":
        api.call("hipMemsetD32Async", source, 5, SIZE // 4, None)
    else:
        for part in range(SIZE // 256):
            assert run(module, "write", source + 256 * part, out).passed
    result = run(module, name, source, out)
    assert result.passed, str(result)


def test_to_the_byte(api: Api, module: Any) -> None:
    source, out = fresh(api)
    api.call("hipMemset", source, 0, 37)
    api.call("hipMemset", source + 38, 0, 100)
    [finding] = run(module, "bytes", source, out).findings
    assert (finding.count, finding.lane) == (1, 37)


@pytest.mark.parametrize("apart", [0, 1])
def test_races_to_the_byte(api: Api, module: Any, apart: int) -> None:
    """Two waves store a byte each: the same one, or two of a dword."""
    source, out = fresh(api)
    api.call("hipMemset", source, apart, SIZE)
    result = wb.sanitize(module["beside"][1, 128], source, out, device=f"emulated:{module.arch}")
    assert [finding.category for finding in result.findings] == ([] if apart else ["race"])


def test_races_on_each_dword_of_what_was_written_together(api: Api, module: Any) -> None:
    source, out = fresh(api)
    for which in range(4):
        api.call("hipMemset", source, which, SIZE)
        result = wb.sanitize(module["quarter"][1, 128], source, out, device=f"emulated:{module.arch}")
        assert [finding.category for finding in result.findings] == ["race"], (which, str(result))


def test_an_unused_undefined_read_is_no_finding(api: Api, module: Any) -> None:
    source, out = fresh(api)
    assert run(module, "unused", source, out).passed


def test_a_launch_that_was_not_watched_may_have_written(api: Api, module: Any) -> None:
    source, out = fresh(api)
    module["unused"][1, 64](source, out)
    assert run(module, "copy", source, out).passed


def test_tensors_count_as_written(module: Any) -> None:
    out = torch.zeros(1024)
    assert wb.sanitize(module["copy"][1, 64], torch.empty(1024), out, device=f"emulated:{module.arch}").passed


FREES = {
    "hipFree": lambda api, address: api.call("hipFree", address),
    "hipFreeAsync": lambda api, address: api.call("hipFreeAsync", address, None),
}


@pytest.mark.parametrize("how", FREES)
@pytest.mark.parametrize("name", ["copy", "wide", "uniform", "write", "add"])
def test_use_after_free(api: Api, module: Any, how: str, name: str) -> None:
    source, out = fresh(api)
    api.call("hipMemset", source, 0, SIZE)
    assert run(module, name, source, out).passed
    FREES[how](api, source)
    # Memory that is asked for later does not hide it.
    other = api.malloc()
    result = run(module, name, source, out)
    [finding] = [f for f in result.findings if f.category == "out of bounds"]
    assert f"of a {SIZE}-byte device allocation that was freed" in finding.message
    assert not result.stopped
    assert run(module, "copy", out, other).passed


def launch(api: Api, function: Any, source: int, out: int, stream: Any) -> int:
    """A launch through the HIP API; its status."""
    content = struct.pack("<QQ", source, out)
    block = ctypes.create_string_buffer(content, len(content))
    size = ctypes.c_size_t(len(content))
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(block), 2, ctypes.addressof(size), 3)
    status = api.hip.hipModuleLaunchKernel(
        function, 1, 1, 1, 64, 1, 1, 0, stream, None, ctypes.addressof(extra)
    )
    return int(status[0])


def test_use_after_free_in_a_graph(api: Api, module: Any) -> None:
    source, out = fresh(api)
    loaded = api.call("hipModuleLoadData", np.frombuffer(module.code, np.uint8).copy())
    function = api.call("hipModuleGetFunction", loaded, module["copy"].info.name.encode())
    stream = api.call("hipStreamCreate")
    mode = api.hip.hipStreamCaptureMode.hipStreamCaptureModeRelaxed
    api.call("hipStreamBeginCapture", stream, mode)
    assert launch(api, function, source, out, stream) == 0
    graph = api.call("hipStreamEndCapture", stream)
    replay = api.call("hipGraphInstantiateWithFlags", graph, 0)
    with wb.sanitizing() as watch:
        # Not written before the first replay, written before the second, freed before the third.
        api.call("hipGraphLaunch", replay, stream)
        assert [f.category for f in watch.findings] == ["uninitialised"]
        api.call("hipMemset", source, 0, SIZE)
        api.call("hipGraphLaunch", replay, stream)
        assert len(watch.results) == 1
        api.call("hipFree", source)
        status = api.hip.hipGraphLaunch(replay, stream)
        assert int(status[0]) != 0 or int(api.hip.hipStreamSynchronize(stream)[0]) != 0
    api.hip.hipGetLastError()
    assert watch.launches == 3
    finding = watch.findings[-1]
    assert finding.category == "out of bounds"
    assert f"of a {SIZE}-byte device allocation that was freed" in finding.message


RESOURCES = r"""
#include <hip/hip_runtime.h>
typedef int i4 __attribute__((ext_vector_type(4)));
__global__ void k(const float *in, float *out, int bytes) {
    unsigned long long p = (unsigned long long)in;
    i4 r = {(int)p, (int)(p >> 32) & 0xffff, bytes, 0x00020000};
    float x;
    int at = threadIdx.x * 4;
    asm volatile("s_nop 4\n\tbuffer_load_dword %0, %1, %2, 0 offen\n\ts_waitcnt vmcnt(0)"
                 : "=v"(x) : "v"(at), "s"(r));
    out[threadIdx.x] = x;
}
"""


@pytest.mark.parametrize("part", ["whole", "half"])
def test_a_resource_that_reaches_beyond_its_allocation(api: Api, arch: str, part: str) -> None:
    module = wb.compile(RESOURCES, arch=arch, name="resource.hip")
    source, out = fresh(api)
    api.call("hipMemset", source, 0, SIZE)
    start = source if part == "whole" else source + SIZE // 2
    room = source + SIZE - start
    launcher = module["k"][1, 64]
    assert wb.sanitize(launcher, start, out, room, device=f"emulated:{arch}").passed
    for beyond in (1, 4, 1 << 20):
        result = wb.sanitize(launcher, start, out, room + beyond, device=f"emulated:{arch}").check()
        [note] = result.notes
        assert note.category == "note"
        message = f"reaches {beyond} bytes past the end of its allocation ({SIZE}-byte device allocation)"
        assert message in note.message
        assert note.message in str(result)


@pytest.mark.parametrize("records", [(1 << 31) - 2, (1 << 31) - 1, -1 << 31])
def test_a_resource_that_is_not_meant_to_clamp(api: Api, arch: str, records: int) -> None:
    """Triton makes such accesses; one out of bounds is still found."""
    module = wb.compile(RESOURCES, arch=arch, name="resource.hip")
    source, out = fresh(api)
    api.call("hipMemset", source, 0, SIZE)
    launcher = module["k"][1, 64]
    assert not wb.sanitize(launcher, source, out, records, device=f"emulated:{arch}").check().notes
    report = wb.sanitize(launcher, source + SIZE - 252, out, records, device=f"emulated:{arch}")
    assert [f.category for f in report.findings] == ["out of bounds"], str(report)


TWO_FAULTS = r"""
#include <hip/hip_runtime.h>
__device__ void put(float *out, float x) { out[1 << 14] = x; }
__global__ void k(const float *freed, float *out) {
    float x = freed[threadIdx.x] + 1.0f;
    put(out + threadIdx.x, x);
    if (x > 100) __builtin_trap();
}
"""


def test_a_load_is_reported_though_a_store_faults_after_it(api: Api, arch: str) -> None:
    launcher = wb.compile(TWO_FAULTS, arch=arch, name="two.hip")["k"][1, 64]
    source, out = fresh(api)
    api.call("hipFree", source)
    result = wb.sanitize(launcher, source, out, device=f"emulated:{arch}")
    assert [(f.category, f.line) for f in result.findings] == [("out of bounds", 3), ("out of bounds", 5)]
    store, load = result.findings
    assert "that was freed" in load.message
    assert "wrote " in store.message
    words = r"two\.hip:5: .*that was freed"
    with pytest.raises(errors.AddressFault, match=words):
        launcher(source, out)
    with pytest.raises(errors.AddressFault, match=words), wb.sanitizing():
        launcher(source, out)


TO_LDS = r"""
#include <hip/hip_runtime.h>
__global__ void k(const int *in, int *out, int place) {
    __shared__ int tile[64];
    tile[threadIdx.x] = 7;
    __syncthreads();
    int at = threadIdx.x * 4;
    asm volatile("s_mov_b32 m0, %2\n\ts_nop 0\n\tglobal_load_lds_dword %0, %1\n\ts_waitcnt vmcnt(0)"
                 : : "v"(at), "s"(in), "s"(place) : "memory");
    out[threadIdx.x] = tile[threadIdx.x];
}
"""


def test_a_load_to_lds_that_is_dropped_is_a_note(arch: str) -> None:
    launcher = wb.compile(TO_LDS, arch=arch, name="to_lds.hip")["k"][1, 64]
    source, out = torch.arange(100, 164, dtype=torch.int32), torch.zeros(64, dtype=torch.int32)
    device = f"emulated:{arch}"
    assert not wb.sanitize(launcher, source, out, 0, device=device).check().notes
    assert torch.equal(out, source)
    result = wb.sanitize(launcher, source, out, 240, device=device).check()
    assert out.tolist() == [7] * 60 + [100, 101, 102, 103]
    [note] = result.notes
    assert "goes to byte 256, beyond the work-group's 256 bytes" in note.message
    assert note.lane == 4
    launcher(source, out, 256)
    assert out.tolist() == [7] * 64


def test_an_access_past_the_allocation_through_a_resource_that_allows_it(api: Api, arch: str) -> None:
    module = wb.compile(RESOURCES, arch=arch, name="resource.hip")
    source, out = fresh(api)
    api.call("hipMemset", source, 0, SIZE)
    launcher = module["k"][1, 64]
    result = wb.sanitize(launcher, source + SIZE - 252, out, 256, device=f"emulated:{arch}")
    assert [f.category for f in result.findings] == ["out of bounds"], str(result)
    assert len(result.notes) == 1


def test_watched_launches_with_notes_alone_pass(api: Api, arch: str) -> None:
    module = wb.compile(RESOURCES, arch=arch, name="resource.hip")
    source, out = fresh(api)
    api.call("hipMemset", source, 0, SIZE)
    with wb.sanitizing() as watch:
        module["k"][1, 64](source, out, SIZE + 4)
    watch.check()
    assert [note.category for result in watch.results for note in result.notes] == ["note"]
    assert "past the end of its allocation" in str(watch)
