"""What hipGetErrorString answers in ROCm 7, by the error's name (clr/hipamd/src/hip_error.cpp).

Programs print these texts and their tests compare them.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from workbench.emulator.hip import structures

_TEXTS: Final = {
    "Success": "no error",
    "InvalidValue": "invalid argument",
    "OutOfMemory": "out of memory",
    "NotInitialized": "initialization error",
    "Deinitialized": "driver shutting down",
    "ProfilerDisabled": "profiler disabled while using external profiling tool",
    "ProfilerNotInitialized": "profiler is not initialized",
    "ProfilerAlreadyStarted": "profiler already started",
    "ProfilerAlreadyStopped": "profiler already stopped",
    "InvalidConfiguration": "invalid configuration argument",
    "InvalidPitchValue": "invalid pitch argument",
    "InvalidSymbol": "invalid device symbol",
    "InvalidDevicePointer": "invalid device pointer",
    "InvalidMemcpyDirection": "invalid copy direction for memcpy",
    "InsufficientDriver": "driver version is insufficient for runtime version",
    "MissingConfiguration": "__global__ function call is not configured",
    "PriorLaunchFailure": "unspecified launch failure in prior launch",
    "InvalidDeviceFunction": "invalid device function",
    "NoDevice": "no ROCm-capable device is detected",
    "InvalidDevice": "invalid device ordinal",
    "InvalidImage": "device kernel image is invalid",
    "InvalidContext": "invalid device context",
    "ContextAlreadyCurrent": "context is already current context",
    "MapFailed": "mapping of buffer object failed",
    "UnmapFailed": "unmapping of buffer object failed",
    "ArrayIsMapped": "array is mapped",
    "AlreadyMapped": "resource already mapped",
    "NoBinaryForGpu": "no kernel image is available for execution on the device",
    "AlreadyAcquired": "resource already acquired",
    "NotMapped": "resource not mapped",
    "NotMappedAsArray": "resource not mapped as array",
    "NotMappedAsPointer": "resource not mapped as pointer",
    "ECCNotCorrectable": "uncorrectable ECC error encountered",
    "UnsupportedLimit": "limit is not supported on this architecture",
    "ContextAlreadyInUse": "exclusive-thread device already in use by a different thread",
    "PeerAccessUnsupported": "peer access is not supported between these two devices",
    "InvalidKernelFile": "invalid kernel file",
    "InvalidGraphicsContext": "invalid OpenGL or DirectX context",
    "InvalidSource": "device kernel image is invalid",
    "FileNotFound": "file not found",
    "SharedObjectSymbolNotFound": "shared object symbol not found",
    "SharedObjectInitFailed": "shared object initialization failed",
    "OperatingSystem": "OS call failed or operation not supported on this OS",
    "InvalidHandle": "invalid resource handle",
    "IllegalState": "the operation cannot be performed in the present state",
    "NotFound": "named symbol not found",
    "NotReady": "device not ready",
    "IllegalAddress": "an illegal memory access was encountered",
    "LaunchOutOfResources": "too many resources requested for launch",
    "LaunchTimeOut": "the launch timed out and was terminated",
    "PeerAccessAlreadyEnabled": "peer access is already enabled",
    "PeerAccessNotEnabled": "peer access has not been enabled",
    "SetOnActiveProcess": "cannot set while device is active in this process",
    "ContextIsDestroyed": "context is destroyed",
    "Assert": "device-side assert triggered",
    "HostMemoryAlreadyRegistered": "part or all of the requested memory range is already mapped",
    "HostMemoryNotRegistered": "pointer does not correspond to a registered memory region",
    "LaunchFailure": "unspecified launch failure",
    "CooperativeLaunchTooLarge": "too many blocks in cooperative launch",
    "NotSupported": "operation not supported",
    "StreamCaptureUnsupported": "operation not permitted when stream is capturing",
    "StreamCaptureInvalidated": "operation failed due to a previous error during capture",
    "StreamCaptureMerge": "operation would result in a merge of separate capture sequences",
    "StreamCaptureUnmatched": "capture was not ended in the same stream as it began",
    "StreamCaptureUnjoined": "capturing stream has unjoined work",
    "StreamCaptureIsolation": "dependency created on uncaptured work in another stream",
    "StreamCaptureImplicit": "operation would make the legacy stream depend on a capturing blocking stream",
    "CapturedEvent": "operation not permitted on an event last recorded in a capturing stream",
    "StreamCaptureWrongThread": "attempt to terminate a thread-local capture sequence from another thread",
    "GraphExecUpdateFailure": "the graph update was not performed because it included changes which "
    "violated constraints specific to instantiated graph update",
    "RuntimeMemory": "runtime memory call returned error",
    "RuntimeOther": "runtime call other than memory returned error",
    "InvalidChannelDescriptor": "invalid resource description of texture passed to the api",
    "InvalidTexture": "invalid texture object passed to the api",
    "InvalidClusterSize": "a kernel launch error has occurred due to cluster misconfiguration",
}


@cache
def error_texts() -> dict[int, str]:
    """Texts by number; an error without one is an "unknown error" to HIP."""
    short = {
        number: name.removeprefix("hip").removeprefix("Error")
        for number, name in structures.error_names().items()
    }
    return {number: _TEXTS[name] for number, name in short.items() if name in _TEXTS}
