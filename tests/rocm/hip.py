"""A kernel that AMD's compiler compiles and AMD's HIP runs; runs inside the root, by its Python.

    python3 hip.py HIP TARGET

HIP is the number of the libraries' version. A stream launches the kernel between events, then a graph does.
The kernel reads memory that is mapped at reserved addresses, and adds to memory of a pool.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

SOURCE = rb"""
extern "C" __global__ void reverse(float *out, const float *in, float scale) {
  __shared__ float tile[256];
  const unsigned begin = blockIdx.x * blockDim.x;
  tile[threadIdx.x] = in[begin + threadIdx.x];
  __syncthreads();
  out[begin + threadIdx.x] += scale * tile[blockDim.x - 1 - threadIdx.x];
  if (begin + threadIdx.x == 300) printf("work-item %u of block %u\n", threadIdx.x, blockIdx.x);
}
"""
BLOCKS, WIDTH, SCALE, LAUNCHES = 40, 256, 1.5, 5
GLOBAL_CAPTURE, PINNED, DEVICE, READ_WRITE = 0, 1, 1, 3
version, target = sys.argv[1:]
hip = ctypes.CDLL(f"libamdhip64.so.{version}")
compiler = ctypes.CDLL(f"libhiprtc.so.{version}")


def call(status: int) -> None:
    if status:
        raise SystemExit(f"a call returned {status}")


def created(function: object, *arguments: object) -> ctypes.c_void_p:
    """The handle that a function writes to its first argument."""
    handle = ctypes.c_void_p()
    call(function(ctypes.byref(handle), *arguments))  # type: ignore[operator]
    return handle


class Location(ctypes.Structure):
    """hipMemLocation: its type and the device's number."""

    _fields_ = (("type", ctypes.c_int), ("id", ctypes.c_int))


class Properties(ctypes.Structure):
    """hipMemAllocationProp."""

    _fields_ = (
        *(("type", ctypes.c_int), ("handles", ctypes.c_int), ("location", Location)),
        *(("metadata", ctypes.c_void_p), ("flags", ctypes.c_uint)),
    )


class Access(ctypes.Structure):
    """hipMemAccessDesc."""

    _fields_ = (("location", Location), ("flags", ctypes.c_int))


def mapped(size: int) -> tuple[ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]:
    """Memory of the device mapped at reserved addresses: the first, the bytes, and the memory's handle."""
    place = Location(DEVICE, 0)
    properties, access = Properties(PINNED, 0, place), Access(place, READ_WRITE)
    unit = ctypes.c_size_t()
    call(hip.hipMemGetAllocationGranularity(ctypes.byref(unit), ctypes.byref(properties), 0))
    whole, none = ctypes.c_size_t(-(-size // unit.value) * unit.value), ctypes.c_size_t(0)
    address = created(hip.hipMemAddressReserve, whole, none, None, ctypes.c_ulonglong(0))
    memory = created(hip.hipMemCreate, whole, ctypes.byref(properties), ctypes.c_ulonglong(0))
    call(hip.hipMemMap(address, whole, none, memory, ctypes.c_ulonglong(0)))
    call(hip.hipMemSetAccess(address, whole, ctypes.byref(access), ctypes.c_size_t(1)))
    return address, whole, memory


def compiled() -> bytes:
    """The code object of SOURCE, for `target`."""
    program = created(compiler.hiprtcCreateProgram, SOURCE, b"reverse.hip", 0, None, None)
    options = (ctypes.c_char_p * 1)(f"--offload-arch={target}".encode())
    status = compiler.hiprtcCompileProgram(program, 1, options)
    size = ctypes.c_size_t()
    if status:
        call(compiler.hiprtcGetProgramLogSize(program, ctypes.byref(size)))
        log = ctypes.create_string_buffer(size.value)
        call(compiler.hiprtcGetProgramLog(program, log))
        raise SystemExit(log.value.decode())
    call(compiler.hiprtcGetCodeSize(program, ctypes.byref(size)))
    code = ctypes.create_string_buffer(size.value)
    call(compiler.hiprtcGetCode(program, code))
    return code.raw


count = ctypes.c_int()
call(hip.hipGetDeviceCount(ctypes.byref(count)))
module = created(hip.hipModuleLoadData, compiled())
kernel = created(hip.hipModuleGetFunction, module, b"reverse")
source = np.random.default_rng(0).standard_normal(BLOCKS * WIDTH).astype(np.float32)
result = np.zeros_like(source)
size = ctypes.c_size_t(source.nbytes)
device_source, whole, memory = mapped(source.nbytes)
stream = created(hip.hipStreamCreate)
device_result = created(hip.hipMallocAsync, size, stream)
first, last = created(hip.hipEventCreate), created(hip.hipEventCreate)
values = (device_result, device_source, ctypes.c_float(SCALE))
arguments = (ctypes.c_void_p * 3)(*(ctypes.addressof(value) for value in values))


def launch() -> None:
    call(hip.hipModuleLaunchKernel(kernel, BLOCKS, 1, 1, WIDTH, 1, 1, 0, stream, arguments, None))


call(hip.hipMemcpyHtoDAsync(device_source, source.ctypes.data_as(ctypes.c_void_p), size, stream))
call(hip.hipMemsetAsync(device_result, 0, size, stream))
call(hip.hipEventRecord(first, stream))
launch()
call(hip.hipEventRecord(last, stream))
call(hip.hipStreamSynchronize(stream))
milliseconds = ctypes.c_float()
call(hip.hipEventElapsedTime(ctypes.byref(milliseconds), first, last))

call(hip.hipStreamBeginCapture(stream, GLOBAL_CAPTURE))
for _ in range(LAUNCHES - 1):
    launch()
graph = ctypes.c_void_p()
call(hip.hipStreamEndCapture(stream, ctypes.byref(graph)))
executable = created(hip.hipGraphInstantiate, graph, None, None, ctypes.c_size_t(0))
call(hip.hipGraphLaunch(executable, stream))
call(hip.hipMemcpyDtoHAsync(result.ctypes.data_as(ctypes.c_void_p), device_result, size, stream))
call(hip.hipFreeAsync(device_result, stream))
call(hip.hipStreamSynchronize(stream))
call(hip.hipMemUnmap(device_source, whole))
call(hip.hipMemRelease(memory))
call(hip.hipMemAddressFree(device_source, whole))

reversed_rows = source.astype(np.float64).reshape(BLOCKS, WIDTH)[:, ::-1].ravel()
error = np.abs(result - LAUNCHES * SCALE * reversed_rows).max()
verdict = "right" if error < 1e-5 else "WRONG"
print(f"{count.value} device, {LAUNCHES} launches: {verdict}, largest error {error:.1e}")
print(f"the first launch took {milliseconds.value * 1e3:.2f} us by events", flush=True)
