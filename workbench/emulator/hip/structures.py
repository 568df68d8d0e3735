"""The HIP C ABI's structures and numbers, as far as the emulated library reads or writes them.

Layouts are those of HIP 6 and 7 (hip_runtime_api.h, hipDeviceProp_tR0600); tests compare each field with what
hip-python's wrappers read.
"""

from __future__ import annotations

import ctypes
from ctypes import c_char, c_int, c_size_t, c_uint, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from functools import cache
from typing import Any, Final

from workbench.emulator.hip.library import interface
from workbench.toolchain.compiler import hip_version

SUCCESS: Final = 0
INVALID_VALUE: Final = 1
OUT_OF_MEMORY: Final = 2
INVALID_CONFIGURATION: Final = 9
INVALID_PITCH: Final = 12
INVALID_SYMBOL: Final = 13
INVALID_DEVICE_POINTER: Final = 17
INVALID_MEMCPY_DIRECTION: Final = 21
MISSING_CONFIGURATION: Final = 52
INVALID_DEVICE_FUNCTION: Final = 98
INVALID_DEVICE: Final = 101
INVALID_IMAGE: Final = 200
INVALID_CONTEXT: Final = 201
NO_BINARY_FOR_GPU: Final = 209
UNSUPPORTED_LIMIT: Final = 215
FILE_NOT_FOUND: Final = 301
INVALID_HANDLE: Final = 400
ILLEGAL_STATE: Final = 401
NOT_FOUND: Final = 500
ILLEGAL_ADDRESS: Final = 700
LAUNCH_OUT_OF_RESOURCES: Final = 701
LAUNCH_TIMEOUT: Final = 702
PEER_ACCESS_ALREADY_ENABLED: Final = 704
PEER_ACCESS_NOT_ENABLED: Final = 705
HOST_MEMORY_ALREADY_REGISTERED: Final = 712
HOST_MEMORY_NOT_REGISTERED: Final = 713
ASSERT: Final = 710
LAUNCH_FAILURE: Final = 719
COOPERATIVE_LAUNCH_TOO_LARGE: Final = 720
NOT_SUPPORTED: Final = 801
NOT_READY: Final = 600
CONTEXT_IS_DESTROYED: Final = 709
STREAM_CAPTURE_UNSUPPORTED: Final = 900
STREAM_CAPTURE_INVALIDATED: Final = 901
STREAM_CAPTURE_MERGE: Final = 902
STREAM_CAPTURE_UNMATCHED: Final = 903
STREAM_CAPTURE_UNJOINED: Final = 904
STREAM_CAPTURE_IMPLICIT: Final = 906
CAPTURED_EVENT: Final = 907
GRAPH_EXEC_UPDATE_FAILURE: Final = 910
UNKNOWN: Final = 999

# hipMemcpyKind
HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE, MEMCPY_DEFAULT = range(5)
INVALID_CLUSTER_SIZE: Final = 1054
DEVICE_TO_DEVICE_NO_CU: Final = 1024

# hipMemoryType
MEMORY_UNREGISTERED, MEMORY_HOST, MEMORY_DEVICE, MEMORY_MANAGED = range(4)
MEMORY_ARRAY: Final = 10

# HIP_LAUNCH_PARAM_*
PARAM_BUFFER_POINTER, PARAM_BUFFER_SIZE, PARAM_END = 1, 2, 3

VERSION: Final = sum(number * unit for number, unit in zip(hip_version(), (10**7, 10**5, 1), strict=True))
"""HIP's version as hipRuntimeGetVersion returns it: major * 10**7 + minor * 10**5 + patch."""


class DeviceProp(ctypes.Structure):
    """hipDeviceProp_tR0600."""

    _fields_ = (
        ("name", c_char * 256),
        ("uuid", c_uint8 * 16),
        ("luid", c_char * 8),
        ("luidDeviceNodeMask", c_uint),
        ("totalGlobalMem", c_size_t),
        ("sharedMemPerBlock", c_size_t),
        ("regsPerBlock", c_int),
        ("warpSize", c_int),
        ("memPitch", c_size_t),
        ("maxThreadsPerBlock", c_int),
        ("maxThreadsDim", c_int * 3),
        ("maxGridSize", c_int * 3),
        ("clockRate", c_int),
        ("totalConstMem", c_size_t),
        ("major", c_int),
        ("minor", c_int),
        ("textureAlignment", c_size_t),
        ("texturePitchAlignment", c_size_t),
        ("deviceOverlap", c_int),
        ("multiProcessorCount", c_int),
        ("kernelExecTimeoutEnabled", c_int),
        ("integrated", c_int),
        ("canMapHostMemory", c_int),
        ("computeMode", c_int),
        ("maxTexture1D", c_int),
        ("maxTexture1DMipmap", c_int),
        ("maxTexture1DLinear", c_int),
        ("maxTexture2D", c_int * 2),
        ("maxTexture2DMipmap", c_int * 2),
        ("maxTexture2DLinear", c_int * 3),
        ("maxTexture2DGather", c_int * 2),
        ("maxTexture3D", c_int * 3),
        ("maxTexture3DAlt", c_int * 3),
        ("maxTextureCubemap", c_int),
        ("maxTexture1DLayered", c_int * 2),
        ("maxTexture2DLayered", c_int * 3),
        ("maxTextureCubemapLayered", c_int * 2),
        ("maxSurface1D", c_int),
        ("maxSurface2D", c_int * 2),
        ("maxSurface3D", c_int * 3),
        ("maxSurface1DLayered", c_int * 2),
        ("maxSurface2DLayered", c_int * 3),
        ("maxSurfaceCubemap", c_int),
        ("maxSurfaceCubemapLayered", c_int * 2),
        ("surfaceAlignment", c_size_t),
        ("concurrentKernels", c_int),
        ("ECCEnabled", c_int),
        ("pciBusID", c_int),
        ("pciDeviceID", c_int),
        ("pciDomainID", c_int),
        ("tccDriver", c_int),
        ("asyncEngineCount", c_int),
        ("unifiedAddressing", c_int),
        ("memoryClockRate", c_int),
        ("memoryBusWidth", c_int),
        ("l2CacheSize", c_int),
        ("persistingL2CacheMaxSize", c_int),
        ("maxThreadsPerMultiProcessor", c_int),
        ("streamPrioritiesSupported", c_int),
        ("globalL1CacheSupported", c_int),
        ("localL1CacheSupported", c_int),
        ("sharedMemPerMultiprocessor", c_size_t),
        ("regsPerMultiprocessor", c_int),
        ("managedMemory", c_int),
        ("isMultiGpuBoard", c_int),
        ("multiGpuBoardGroupID", c_int),
        ("hostNativeAtomicSupported", c_int),
        ("singleToDoublePrecisionPerfRatio", c_int),
        ("pageableMemoryAccess", c_int),
        ("concurrentManagedAccess", c_int),
        ("computePreemptionSupported", c_int),
        ("canUseHostPointerForRegisteredMem", c_int),
        ("cooperativeLaunch", c_int),
        ("cooperativeMultiDeviceLaunch", c_int),
        ("sharedMemPerBlockOptin", c_size_t),
        ("pageableMemoryAccessUsesHostPageTables", c_int),
        ("directManagedMemAccessFromHost", c_int),
        ("maxBlocksPerMultiProcessor", c_int),
        ("accessPolicyMaxWindowSize", c_int),
        ("reservedSharedMemPerBlock", c_size_t),
        ("hostRegisterSupported", c_int),
        ("sparseHipArraySupported", c_int),
        ("hostRegisterReadOnlySupported", c_int),
        ("timelineSemaphoreInteropSupported", c_int),
        ("memoryPoolsSupported", c_int),
        ("gpuDirectRDMASupported", c_int),
        ("gpuDirectRDMAFlushWritesOptions", c_uint),
        ("gpuDirectRDMAWritesOrdering", c_int),
        ("memoryPoolSupportedHandleTypes", c_uint),
        ("deferredMappingHipArraySupported", c_int),
        ("ipcEventSupported", c_int),
        ("clusterLaunch", c_int),
        ("unifiedFunctionPointers", c_int),
        ("reserved", c_int * 63),
        ("hipReserved", c_int * 32),
        ("gcnArchName", c_char * 256),
        ("maxSharedMemoryPerMultiProcessor", c_size_t),
        ("clockInstructionRate", c_int),
        ("arch", c_uint32),
        ("hdpMemFlushCntl", c_void_p),
        ("hdpRegFlushCntl", c_void_p),
        ("cooperativeMultiDeviceUnmatchedFunc", c_int),
        ("cooperativeMultiDeviceUnmatchedGridDim", c_int),
        ("cooperativeMultiDeviceUnmatchedBlockDim", c_int),
        ("cooperativeMultiDeviceUnmatchedSharedMem", c_int),
        ("isLargeBar", c_int),
        ("asicRevision", c_int),
    )


class DevicePropBefore6(ctypes.Structure):
    """hipDeviceProp_tR0000, of programs compiled before ROCm 6 (HIP's hip_deprecated.h)."""

    _fields_ = (
        ("name", c_char * 256),
        ("totalGlobalMem", c_size_t),
        ("sharedMemPerBlock", c_size_t),
        ("regsPerBlock", c_int),
        ("warpSize", c_int),
        ("maxThreadsPerBlock", c_int),
        ("maxThreadsDim", c_int * 3),
        ("maxGridSize", c_int * 3),
        ("clockRate", c_int),
        ("memoryClockRate", c_int),
        ("memoryBusWidth", c_int),
        ("totalConstMem", c_size_t),
        ("major", c_int),
        ("minor", c_int),
        ("multiProcessorCount", c_int),
        ("l2CacheSize", c_int),
        ("maxThreadsPerMultiProcessor", c_int),
        ("computeMode", c_int),
        ("clockInstructionRate", c_int),
        ("arch", c_uint32),
        ("concurrentKernels", c_int),
        ("pciDomainID", c_int),
        ("pciBusID", c_int),
        ("pciDeviceID", c_int),
        ("maxSharedMemoryPerMultiProcessor", c_size_t),
        ("isMultiGpuBoard", c_int),
        ("canMapHostMemory", c_int),
        ("gcnArch", c_int),
        ("gcnArchName", c_char * 256),
        ("integrated", c_int),
        ("cooperativeLaunch", c_int),
        ("cooperativeMultiDeviceLaunch", c_int),
        ("maxTexture1DLinear", c_int),
        ("maxTexture1D", c_int),
        ("maxTexture2D", c_int * 2),
        ("maxTexture3D", c_int * 3),
        ("hdpMemFlushCntl", c_void_p),
        ("hdpRegFlushCntl", c_void_p),
        ("memPitch", c_size_t),
        ("textureAlignment", c_size_t),
        ("texturePitchAlignment", c_size_t),
        ("kernelExecTimeoutEnabled", c_int),
        ("ECCEnabled", c_int),
        ("tccDriver", c_int),
        ("cooperativeMultiDeviceUnmatchedFunc", c_int),
        ("cooperativeMultiDeviceUnmatchedGridDim", c_int),
        ("cooperativeMultiDeviceUnmatchedBlockDim", c_int),
        ("cooperativeMultiDeviceUnmatchedSharedMem", c_int),
        ("isLargeBar", c_int),
        ("asicRevision", c_int),
        ("managedMemory", c_int),
        ("directManagedMemAccessFromHost", c_int),
        ("concurrentManagedAccess", c_int),
        ("pageableMemoryAccess", c_int),
        ("pageableMemoryAccessUsesHostPageTables", c_int),
    )


# hipDeviceArch_t's bits on CDNA: every atomic, doubles, votes, ballots, shuffles, funnel shifts,
# threadfence_system, syncthreads_ext and 3-D grids; no surfaces, no dynamic parallelism.
DEVICE_ARCH: Final = 0b01011111111111111


class PointerAttributes(ctypes.Structure):
    """hipPointerAttribute_t."""

    _fields_ = (
        ("type", c_int),
        ("device", c_int),
        ("devicePointer", c_void_p),
        ("hostPointer", c_void_p),
        ("isManaged", c_int),
        ("allocationFlags", c_uint),
    )


class FuncAttributes(ctypes.Structure):
    """hipFuncAttributes."""

    _fields_ = (
        ("binaryVersion", c_int),
        ("cacheModeCA", c_int),
        ("constSizeBytes", c_size_t),
        ("localSizeBytes", c_size_t),
        ("maxDynamicSharedSizeBytes", c_int),
        ("maxThreadsPerBlock", c_int),
        ("numRegs", c_int),
        ("preferredShmemCarveout", c_int),
        ("ptxVersion", c_int),
        ("sharedSizeBytes", c_size_t),
    )


class FatBinaryWrapper(ctypes.Structure):
    """Argument with which clang's host code calls __hipRegisterFatBinary."""

    _fields_ = (("magic", c_uint32), ("version", c_uint32), ("binary", c_void_p), ("unused", c_uint64))


FAT_BINARY_MAGIC: Final = 0x48495046


class Dim3(ctypes.Structure):
    """dim3."""

    _fields_ = (("x", c_uint32), ("y", c_uint32), ("z", c_uint32))


def _driver_side(side: str) -> tuple[tuple[str, Any], ...]:
    """One side of a HIP_MEMCPY3D."""
    fields = (
        ("XInBytes", c_size_t),
        ("Y", c_size_t),
        ("Z", c_size_t),
        ("LOD", c_size_t),
        ("MemoryType", c_int),
        ("Host", c_size_t),
        ("Device", c_size_t),
        ("Array", c_size_t),
        ("Pitch", c_size_t),
        ("Height", c_size_t),
    )
    return tuple((side + name, type_) for name, type_ in fields)


class Extent(ctypes.Structure):
    """hipExtent: bytes, rows, slices."""

    _fields_ = (("width", c_size_t), ("height", c_size_t), ("depth", c_size_t))


class Position(ctypes.Structure):
    """hipPos: byte, row, slice."""

    _fields_ = (("x", c_size_t), ("y", c_size_t), ("z", c_size_t))


class PitchedPointer(ctypes.Structure):
    """hipPitchedPtr: rows of `pitch` bytes, slices of `ysize` rows."""

    _fields_ = (("ptr", c_size_t), ("pitch", c_size_t), ("xsize", c_size_t), ("ysize", c_size_t))


class Memcpy3D(ctypes.Structure):
    """hipMemcpy3DParms."""

    _fields_ = (
        ("srcArray", c_size_t),
        ("srcPos", Position),
        ("srcPtr", PitchedPointer),
        ("dstArray", c_size_t),
        ("dstPos", Position),
        ("dstPtr", PitchedPointer),
        ("extent", Extent),
        ("kind", c_int),
    )


class Memcpy2D(ctypes.Structure):
    """hip_Memcpy2D."""

    _fields_ = (
        ("srcXInBytes", c_size_t),
        ("srcY", c_size_t),
        ("srcMemoryType", c_int),
        ("srcHost", c_size_t),
        ("srcDevice", c_size_t),
        ("srcArray", c_size_t),
        ("srcPitch", c_size_t),
        ("dstXInBytes", c_size_t),
        ("dstY", c_size_t),
        ("dstMemoryType", c_int),
        ("dstHost", c_size_t),
        ("dstDevice", c_size_t),
        ("dstArray", c_size_t),
        ("dstPitch", c_size_t),
        ("WidthInBytes", c_size_t),
        ("Height", c_size_t),
    )


class Memcpy3DDriver(ctypes.Structure):
    """HIP_MEMCPY3D."""

    _fields_ = (
        *_driver_side("src"),
        *_driver_side("dst"),
        ("WidthInBytes", c_size_t),
        ("Height", c_size_t),
        ("Depth", c_size_t),
    )


class MemLocation(ctypes.Structure):
    """hipMemLocation."""

    _fields_ = (("type", c_int), ("id", c_int))


class MemAllocationProp(ctypes.Structure):
    """hipMemAllocationProp."""

    _fields_ = (
        ("type", c_int),
        ("requestedHandleType", c_int),
        ("location", MemLocation),
        ("win32HandleMetaData", c_size_t),
        ("compressionType", c_uint8),
        ("gpuDirectRDMACapable", c_uint8),
        ("usage", c_uint16),
    )


class MemPoolProps(ctypes.Structure):
    """hipMemPoolProps."""

    _fields_ = (
        ("allocType", c_int),
        ("handleTypes", c_int),
        ("location", MemLocation),
        ("win32SecurityAttributes", c_size_t),
        ("maxSize", c_size_t),
        ("reserved", c_uint8 * 56),
    )


class MemAccessDesc(ctypes.Structure):
    """hipMemAccessDesc."""

    _fields_ = (("location", MemLocation), ("flags", c_int))


class MemAllocNodeParams(ctypes.Structure):
    """hipMemAllocNodeParams."""

    _fields_ = (
        ("poolProps", MemPoolProps),
        ("accessDescs", c_size_t),
        ("accessDescCount", c_size_t),
        ("bytesize", c_size_t),
        ("dptr", c_size_t),
    )


class MemsetParams(ctypes.Structure):
    """hipMemsetParams."""

    _fields_ = (
        ("dst", c_size_t),
        ("elementSize", c_uint),
        ("height", c_size_t),
        ("pitch", c_size_t),
        ("value", c_uint),
        ("width", c_size_t),
    )


class KernelNodeParams(ctypes.Structure):
    """hipKernelNodeParams."""

    _fields_ = (
        ("blockDim", Dim3),
        ("extra", c_size_t),
        ("func", c_size_t),
        ("gridDim", Dim3),
        ("kernelParams", c_size_t),
        ("sharedMemBytes", c_uint),
    )


class HostNodeParams(ctypes.Structure):
    """hipHostNodeParams."""

    _fields_ = (("fn", c_size_t), ("userData", c_size_t))


ATTRIBUTE_COOPERATIVE = 2
"""hipLaunchAttributeCooperative."""
ATTRIBUTE_CLUSTER_DIMENSION = 4
"""hipLaunchAttributeClusterDimension."""


class LaunchAttribute(ctypes.Structure):
    """hipLaunchAttribute_st. Of the union of values, two matter here: whether the launch is cooperative, in
    the first word, and the dimensions of its clusters, in three."""

    _fields_ = (("id", c_int), ("pad", c_int), ("words", c_uint * 16))


class LaunchConfig(ctypes.Structure):
    """hipLaunchConfig_t."""

    _fields_ = (
        ("gridDim", Dim3),
        ("blockDim", Dim3),
        ("dynamicSmemBytes", c_size_t),
        ("stream", c_size_t),
        ("attrs", c_size_t),
        ("numAttrs", c_uint),
    )


class DriverLaunchConfig(ctypes.Structure):
    """HIP_LAUNCH_CONFIG."""

    _fields_ = (
        ("gridDim", Dim3),
        ("blockDim", Dim3),
        ("sharedMemBytes", c_uint),
        ("hStream", c_size_t),
        ("attrs", c_size_t),
        ("numAttrs", c_uint),
    )


@cache
def enum(name: str) -> dict[str, int]:
    """An enumeration of the HIP API: numbers by name."""
    numbers: dict[str, int] = interface()["enums"][name]
    return numbers


@cache
def error_names() -> dict[int, str]:
    """Names of hipError_t values; the first of several that mean the same."""
    names: dict[int, str] = {}
    for name, value in enum("hipError_t").items():
        names.setdefault(value, name)
    return names


def store(pointer: int, type_: Any, value: Any) -> None:
    """Write an output parameter; ValueError (becomes hipErrorInvalidValue) if the caller passed NULL."""
    if not pointer:
        raise ValueError("a NULL output pointer")
    type_.from_address(pointer).value = value


def store_if(pointer: int, type_: Any, value: Any) -> None:
    """Write an output parameter that may be left out."""
    if pointer:
        type_.from_address(pointer).value = value


def text_at(pointer: int) -> str:
    """A C string that the caller passed."""
    if not pointer:
        raise ValueError("a NULL string")
    return ctypes.string_at(pointer).decode("utf-8", "replace")


__all__ = [
    "DeviceProp",
    "Dim3",
    "FatBinaryWrapper",
    "FuncAttributes",
    "PointerAttributes",
    "c_int",
    "c_size_t",
    "c_uint",
    "c_uint32",
    "c_uint64",
    "enum",
    "error_names",
    "store",
    "store_if",
    "text_at",
]
