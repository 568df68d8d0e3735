"""HIP calls that launch kernels."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from ctypes import c_void_p
from dataclasses import dataclass, replace
from functools import partial

from workbench import errors
from workbench.codeobject import KernelInfo
from workbench.emulator.hip import streams, structures
from workbench.emulator.hip.calls import (
    DIM3,
    HANDLE,
    INT,
    POINTER,
    SIZE,
    UINT,
    HipError,
    call,
    dim3,
    launch_failed,
)
from workbench.emulator.hip.code import Function
from workbench.emulator.hip.functions import groups_per_cu
from workbench.emulator.hip.graph_nodes import NodeKind
from workbench.emulator.hip.modules import function_of
from workbench.emulator.node import limits
from workbench.emulator.node.device import node
from workbench.emulator.node.dispatch import Geometry
from workbench.launches import ForeignLaunch


def gather_arguments(kernel: KernelInfo, parameters: int, extra: int) -> bytes:
    """A kernel's argument bytes, from an array of pointers to each or from one buffer.

    Raises:
        LaunchError: the kernel declares more than a device takes.
    """
    limits.check_argument_bytes(kernel, kernel.kernarg_size)
    if extra:
        if parameters:
            raise HipError(structures.INVALID_VALUE)
        return _buffer_of(extra)
    explicit = [arg for arg in kernel.args if not arg.hidden]
    if not explicit:
        return b""
    if not parameters:
        raise errors.DeviceError(
            f"kernel {kernel.short_name} has {len(explicit)} parameters; the launch passed no arguments.",
            structures.INVALID_VALUE,
        )
    content = bytearray(kernel.own_bytes)
    pointers = (c_void_p * len(explicit)).from_address(parameters)
    for arg, pointer in zip(explicit, pointers, strict=True):
        if not pointer:
            raise HipError(structures.INVALID_VALUE)
        content[arg.offset : arg.offset + arg.size] = ctypes.string_at(pointer, arg.size)
    return bytes(content)


_WORDS = c_void_p * 16


def _buffer_of(extra: int) -> bytes:
    pointer, size = 0, 0
    words = _WORDS.from_address(extra)
    for index in range(0, 16, 2):
        key = words[index] or 0
        if key == structures.PARAM_END:
            return ctypes.string_at(pointer, size) if pointer else b""
        value = words[index + 1] or 0
        if key == structures.PARAM_BUFFER_POINTER:
            pointer = value
        elif key == structures.PARAM_BUFFER_SIZE and value:
            size = SIZE.from_address(value).value
        else:
            break
    raise HipError(structures.INVALID_VALUE)


@dataclass(frozen=True, slots=True)
class _Refusals:
    """The hipError_t of rejected launches, which differ by the call.

    The codes are those of ROCm 7's clr (hipamd/src/hip_module.cpp); HIP's page hip-7-changes.rst lists the
    changes.

    Attributes:
        stream: code for an unknown stream.
        empty: code for a grid or block dimension of 0.
        block: code for more work-items than a work-group or a dimension of the grid may have.
        function: code for no kernel.
        shared: code for more dynamic shared memory than a work-group may have.
        cooperative: True if the launch's work-groups may wait for each other.
    """

    stream: int
    empty: int
    block: int
    shared: int
    cooperative: bool = False
    function: int = structures.INVALID_DEVICE_FUNCTION

    def code(self, function: Function, geometry: Geometry, dynamic_shared: int) -> int:
        """The error code of a launch that the device cannot take, by the first limit that it breaks."""
        if 0 in (*geometry.groups, *geometry.block):
            return self.empty
        too_wide = max(geometry.items) > limits.MAX_WORK_ITEMS_IN_DIMENSION
        if geometry.block_size > limits.MAX_WORK_ITEMS or too_wide:
            return self.block
        if dynamic_shared > function.device.product.target.lds_bytes:
            return self.shared
        if geometry.block_size > (function.kernel.max_workgroup_size or limits.MAX_WORK_ITEMS):
            return structures.LAUNCH_FAILURE
        return structures.INVALID_CONFIGURATION


_PROGRAM = _Refusals(
    stream=structures.INVALID_VALUE,
    empty=structures.INVALID_CONFIGURATION,
    block=structures.INVALID_CONFIGURATION,
    shared=structures.INVALID_VALUE,
)
_PROGRAM_COOPERATIVE = replace(_PROGRAM, shared=structures.COOPERATIVE_LAUNCH_TOO_LARGE, cooperative=True)
_MODULE = _Refusals(
    stream=structures.CONTEXT_IS_DESTROYED,
    empty=structures.INVALID_VALUE,
    block=structures.INVALID_VALUE,
    shared=structures.INVALID_VALUE,
    function=structures.INVALID_HANDLE,
)
_MODULE_COOPERATIVE = replace(_MODULE, cooperative=True)
_MODULE_EXTENDED = replace(_MODULE, block=structures.INVALID_CONFIGURATION)


def launch(
    handle: int,
    geometry: Geometry,
    dynamic_shared: int,
    stream: int,
    parameters: int,
    extra: int,
    refusals: _Refusals,
) -> None:
    """Run a kernel to its end; on a stream that is being captured, record it."""
    if not streams.exists(stream):
        raise HipError(refusals.stream)
    cooperative = refusals.cooperative
    try:
        if not handle:
            raise HipError(refusals.function)
        function = function_of(handle)
        if cooperative:
            function.device.check(function.kernel, geometry, dynamic_shared)
            _check_cooperative(function, geometry, dynamic_shared)
        arguments = gather_arguments(function.kernel, parameters, extra)
        work = KernelWork(handle, function, geometry, dynamic_shared, arguments, cooperative)
        streams.submit(stream, NodeKind.KERNEL, work.run, work)
    except BaseException as error:
        if isinstance(error, errors.LaunchError):
            error.code = refusals.code(function, geometry, dynamic_shared)
        if not isinstance(error, HipError):
            launch_failed(error, is_heard=node().thread.names_buffers)
        raise


@dataclass(slots=True, eq=False)
class KernelWork:
    """A kernel with everything needed to launch it.

    Attributes:
        handle: the program's handle of the kernel.
        arguments: bytes of the explicit arguments.
        cooperative: True if its work-groups may wait for each other.
    """

    handle: int
    function: Function
    geometry: Geometry
    dynamic_shared: int
    arguments: bytes
    cooperative: bool = False

    def run(self) -> None:
        """Launches the kernel with these parameters."""
        loan = node().loan_to_foreign_code(self.arguments)
        if loan is None:
            self._launch()
        else:
            with loan:
                self._launch()
        node().tell_foreign(self._foreign)

    def _launch(self) -> None:
        function = self.function
        function.device.launch(
            function.loaded,
            function.kernel.name,
            self.geometry,
            self.dynamic_shared,
            self.arguments,
            self.cooperative,
        )

    def _foreign(self) -> ForeignLaunch:
        function, geometry = self.function, self.geometry
        return ForeignLaunch(
            function.loaded.code_object.data,
            function.kernel.name,
            geometry.groups,
            geometry.block,
            self.dynamic_shared,
            self.cooperative,
            self.arguments,
            function.device.name,
        )


def kernel_work(record: structures.KernelNodeParams, cooperative: bool = False) -> KernelWork:
    """The launch of a graph's kernel node."""
    function = function_of(record.func)
    grid, block = ((dim.x, dim.y, dim.z) for dim in (record.gridDim, record.blockDim))
    arguments = gather_arguments(function.kernel, record.kernelParams, record.extra)
    geometry = Geometry.of_blocks(grid, block)
    function.device.check(function.kernel, geometry, record.sharedMemBytes)
    return KernelWork(record.func, function, geometry, record.sharedMemBytes, arguments, cooperative)


_SIZES = (UINT,) * 6


def _blocks_and_threads(handler: Callable[..., None]) -> Callable[..., None]:
    """A launch that takes the sizes of grid and block one by one, from one that takes a geometry."""

    def unpacked(handle: int, gx: int, gy: int, gz: int, bx: int, by: int, bz: int, *others: int) -> None:
        handler(handle, Geometry.of_blocks((gx, gy, gz), (bx, by, bz)), *others)

    return unpacked


def _two_dim3(handler: Callable[..., None]) -> Callable[..., None]:
    """A handler of a launch whose grid and block are passed as the words of two dim3."""

    def unpacked(handle: int, grid_xy: int, grid_z: int, block_xy: int, block_z: int, *others: int) -> None:
        handler(handle, Geometry.of_blocks(dim3(grid_xy, grid_z), dim3(block_xy, block_z)), *others)

    return unpacked


call("hipModuleLaunchKernel", arguments=(HANDLE, *_SIZES, UINT, HANDLE, POINTER, POINTER))(
    _blocks_and_threads(partial(launch, refusals=_MODULE))
)


@call(
    "hipExtModuleLaunchKernel",
    "hipHccModuleLaunchKernel",
    # The names that programs use if they saw a C++ declaration.
    "_Z24hipExtModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_j",
    "_Z24hipHccModuleLaunchKernelP18ihipModuleSymbol_tjjjjjjmP12ihipStream_tPPvS4_P11ihipEvent_tS6_",
    arguments=(HANDLE, *_SIZES, SIZE, HANDLE, POINTER, POINTER, HANDLE, HANDLE, UINT),
)
def _ext_module_launch(
    handle: int,
    ix: int,
    iy: int,
    iz: int,
    bx: int,
    by: int,
    bz: int,
    dynamic_shared: int,
    stream: int,
    parameters: int,
    extra: int,
    start: int,
    stop: int,
    flags: int,
) -> None:
    if 0 in (bx, by, bz):
        raise HipError(_MODULE_EXTENDED.empty)
    streams.record(start, stream, begins=True)
    geometry = Geometry.of_items((ix, iy, iz), (bx, by, bz))
    launch(handle, geometry, dynamic_shared, stream, parameters, extra, _MODULE_EXTENDED)
    streams.record(stop, stream)


@call("hipModuleLaunchCooperativeKernel", arguments=(HANDLE, *_SIZES, UINT, HANDLE, POINTER))
@_blocks_and_threads
def _module_launch_cooperative(
    handle: int, geometry: Geometry, dynamic_shared: int, stream: int, parameters: int
) -> None:
    launch(handle, geometry, dynamic_shared, stream, parameters, 0, _MODULE_COOPERATIVE)


def _check_cooperative(function: Function, geometry: Geometry, dynamic_shared: int) -> None:
    units = function.device.product.compute_units
    fits = units * groups_per_cu(function, geometry.block_size, dynamic_shared)
    if geometry.group_count > fits:
        raise HipError(structures.COOPERATIVE_LAUNCH_TOO_LARGE)


@call("hipLaunchKernel", "hipLaunchKernel_spt", arguments=(HANDLE, *DIM3, *DIM3, POINTER, SIZE, HANDLE))
@_two_dim3
def _launch_kernel(
    handle: int, geometry: Geometry, parameters: int, dynamic_shared: int, stream: int
) -> None:
    launch(handle, geometry, dynamic_shared, stream, parameters, 0, _PROGRAM)


def _with_attributes(geometry: Geometry, attributes: int, count: int) -> tuple[Geometry, bool]:
    """A launch's shape with the clusters that its attributes ask for, and whether they make it cooperative.

    As in clr (hipamd/src/hip_module.cpp), clusters of a cooperative launch are the kernel's own.
    """
    records = (structures.LaunchAttribute * count).from_address(attributes) if attributes else ()
    if any(record.id == structures.ATTRIBUTE_COOPERATIVE and record.words[0] for record in records):
        return geometry, True
    for record in records:
        if record.id == structures.ATTRIBUTE_CLUSTER_DIMENSION:
            x, y, z = record.words[:3]
            if 0 in (x, y, z):
                raise HipError(structures.INVALID_CONFIGURATION)
            geometry = geometry._replace(cluster=(x, y, z))
    return geometry, False


@call("hipLaunchKernelExC", arguments=(POINTER, HANDLE, POINTER))
def _launch_kernel_config(config: int, handle: int, parameters: int) -> None:
    if not config:
        raise HipError(structures.INVALID_VALUE)
    record = structures.LaunchConfig.from_address(config)
    grid, block = ((dim.x, dim.y, dim.z) for dim in (record.gridDim, record.blockDim))
    geometry, cooperative = _with_attributes(Geometry.of_blocks(grid, block), record.attrs, record.numAttrs)
    size = math.prod(geometry.cluster)
    if size > 1 and size > function_of(handle).device.product.target.cluster_groups > 1:
        raise HipError(structures.INVALID_CLUSTER_SIZE)
    refusals = _PROGRAM_COOPERATIVE if cooperative else _PROGRAM
    launch(handle, geometry, record.dynamicSmemBytes, record.stream, parameters, 0, refusals)


@call("hipDrvLaunchKernelEx", arguments=(POINTER, HANDLE, POINTER, POINTER))
def _driver_launch_config(config: int, handle: int, parameters: int, extra: int) -> None:
    if not config:
        raise HipError(structures.INVALID_VALUE)
    record = structures.DriverLaunchConfig.from_address(config)
    grid, block = ((dim.x, dim.y, dim.z) for dim in (record.gridDim, record.blockDim))
    geometry, cooperative = _with_attributes(Geometry.of_blocks(grid, block), record.attrs, record.numAttrs)
    refusals = _MODULE_COOPERATIVE if cooperative else _MODULE
    launch(handle, geometry, record.sharedMemBytes, record.hStream, parameters, extra, refusals)


@call(
    "hipExtLaunchKernel",
    arguments=(HANDLE, *DIM3, *DIM3, POINTER, SIZE, HANDLE, HANDLE, HANDLE, INT),
)
@_two_dim3
def _ext_launch_kernel(
    handle: int,
    geometry: Geometry,
    parameters: int,
    dynamic_shared: int,
    stream: int,
    start: int,
    stop: int,
    flags: int,
) -> None:
    streams.record(start, stream, begins=True)
    launch(handle, geometry, dynamic_shared, stream, parameters, 0, _PROGRAM)
    streams.record(stop, stream)


@call(
    "hipLaunchCooperativeKernel",
    "hipLaunchCooperativeKernel_spt",
    arguments=(HANDLE, *DIM3, *DIM3, POINTER, UINT, HANDLE),
)
@_two_dim3
def _launch_cooperative(
    handle: int, geometry: Geometry, parameters: int, dynamic_shared: int, stream: int
) -> None:
    launch(handle, geometry, dynamic_shared, stream, parameters, 0, _PROGRAM_COOPERATIVE)
