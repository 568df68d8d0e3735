"""Limits of a launch: grid, block, registers, shared and private memory, and time."""

from __future__ import annotations

import math

from workbench import settings
from workbench.codeobject import KernelArg, KernelInfo, occupancy
from workbench.codeobject.elf import MAX_ARGUMENT_BYTES
from workbench.emulator.node import dispatch
from workbench.emulator.node.dispatch import Geometry
from workbench.errors import LaunchError, UsageError, WorkbenchError
from workbench.targets import Target

MAX_WORK_ITEMS = 1024
# A wave's scratch is at most 2**13 times 256 dwords (COMPUTE_TMPRING_SIZE.WAVESIZE).
_MAX_WAVE_SCRATCH_BYTES = 2**13 * 256 * 4
MAX_GRID_BLOCKS = (2**31 - 1, 65536, 65536)
"""What HIP reports as the largest grid. Neither AMD's runtime nor a dispatch packet, which has 32 bits of
work-items in each dimension, enforces it: rocBLAS launches more blocks in y."""
MAX_WORK_ITEMS_IN_DIMENSION = 2**32 - 1
TIMEOUT = "HIPKITTENS_TIMEOUT"
_DEFAULT_TIMEOUT_SECONDS = 600.0


def static_shared(kernel: KernelInfo) -> int:
    """LDS bytes that the kernel itself declares."""
    return max(kernel.group_segment_size, kernel.descriptor.group_segment_fixed_size)


def groups_per_unit(kernel: KernelInfo, block_size: int, dynamic_shared: int, target: Target) -> int:
    """Work-groups of `block_size` work-items that a compute unit holds at once; 0 if none fits."""
    try:
        return occupancy.occupancy(
            target.name,
            vgprs=kernel.descriptor.vgpr_count,
            sgprs=kernel.sgpr_count,
            lds=static_shared(kernel) + dynamic_shared,
            block=block_size,
            wave_size=kernel.wave_size,
        ).groups_per_cu
    except WorkbenchError:
        return 0


def check(kernel: KernelInfo, geometry: Geometry, dynamic_shared: int, target: Target) -> None:
    """Checks that a device can run a launch of this shape.

    Args:
        target: target of the device.

    Raises:
        LaunchError: the launch does not fit; the message says what is too large and what would fit.
    """
    _check_shape(kernel, geometry)
    _check_clusters(kernel, geometry, target)
    _check_registers(kernel, geometry.block, geometry.block_size, target)
    if dynamic_shared < 0:
        raise LaunchError(
            f"kernel {kernel.short_name}: {dynamic_shared} bytes of dynamic shared memory; expected 0 or "
            "more."
        )
    total = static_shared(kernel) + dynamic_shared
    if total > target.lds_bytes:
        raise LaunchError(
            f"kernel {kernel.short_name}: {total} bytes of shared memory ({static_shared(kernel)} static + "
            f"{dynamic_shared} dynamic), and a work-group of {target.name} has at most {target.lds_bytes}; "
            "use smaller tiles or fewer buffers."
        )


def _check_shape(kernel: KernelInfo, geometry: Geometry) -> None:
    name = kernel.short_name
    for kind, dims in (("grid", geometry.groups), ("block", geometry.block)):
        if min(dims) < 1:
            raise LaunchError(f"kernel {name}: {kind} {dims}: every dimension must be at least 1.")
    limit = min(MAX_WORK_ITEMS, kernel.max_workgroup_size or MAX_WORK_ITEMS)
    if geometry.block_size > limit:
        why = (
            f"it was compiled for at most {limit} (__launch_bounds__)"
            if limit < MAX_WORK_ITEMS
            else "a work-group has at most 1024"
        )
        raise LaunchError(
            f"kernel {name}: block {geometry.block} has {geometry.block_size} work-items, and {why}; "
            "use a smaller block."
        )
    if max(geometry.items) > MAX_WORK_ITEMS_IN_DIMENSION:
        raise LaunchError(
            f"kernel {name}: grid {geometry.groups} of blocks {geometry.block} is too large: at most "
            "2**32 - 1 work-items in a dimension; use fewer blocks, each with more work."
        )
    required = kernel.required_workgroup_size
    if required is not None and required != geometry.block:
        raise LaunchError(
            f"kernel {name}: it was compiled for blocks of exactly {required}; got {geometry.block}."
        )


def _check_clusters(kernel: KernelInfo, geometry: Geometry, target: Target) -> None:
    cluster = geometry.cluster_of(kernel)
    size = math.prod(cluster)
    if size == 1:
        return
    if size > target.cluster_groups:
        raise LaunchError(
            f"kernel {kernel.short_name}: it has clusters of {cluster}, {size} work-groups, and "
            f"{target.name} has at most {target.cluster_groups} in a cluster; use smaller ones."
        )
    if any(groups % across for groups, across in zip(geometry.groups, cluster, strict=True)):
        raise LaunchError(
            f"kernel {kernel.short_name}: grid {geometry.groups} does not consist of whole clusters of "
            f"{cluster} work-groups; make each dimension a multiple."
        )


def _check_registers(
    kernel: KernelInfo, block: tuple[int, int, int], work_items: int, target: Target
) -> None:
    """Vector registers of a work-group, and the scratch that they spill to."""
    registers = kernel.descriptor.vgpr_count
    most = kernel.wave_size * occupancy.waves_of_registers(target.name, registers, kernel.wave_size)
    if work_items > most:
        raise LaunchError(
            f"kernel {kernel.short_name}: block {block} has {work_items} work-items of {registers} vector "
            f"registers, and a compute unit has room for {most} of them; use a smaller block, and compile "
            "with __launch_bounds__ so that the compiler knows it."
        )
    scratch = dispatch.scratch_bytes(kernel)
    limit = _MAX_WAVE_SCRATCH_BYTES // kernel.wave_size
    if scratch > limit + dispatch.DYNAMIC_STACK_BYTES:
        raise LaunchError(
            f"kernel {kernel.short_name}: {scratch} bytes of private memory for each work-item; at "
            f"most {limit} are possible: use smaller local arrays."
        )


def check_argument_bytes(kernel: KernelInfo, size: int) -> None:
    """Checks that a kernel's argument block is no larger than the device allows.

    Args:
        size: bytes of it that the caller passes or that the kernel declares.

    Raises:
        LaunchError: it is larger.
    """
    if size > MAX_ARGUMENT_BYTES:
        raise LaunchError(
            f"kernel {kernel.short_name}: {size} bytes of arguments, and at most {MAX_ARGUMENT_BYTES} are "
            "possible; pass a pointer to what is large."
        )


def check_arguments(kernel: KernelInfo, arguments: bytes) -> None:
    """Checks that a launch can take these bytes of a kernel's own arguments; too few are accepted here.

    Raises:
        LaunchError: there are too many.
    """
    check_argument_bytes(kernel, max(kernel.kernarg_size, len(arguments)))


def missing_arguments(kernel: KernelInfo, size: int) -> tuple[KernelArg, ...]:
    """A kernel's own arguments that its block has room for, and that are not in its first `size` bytes."""
    return tuple(
        arg for arg in kernel.args if not arg.hidden and size < arg.offset + arg.size <= kernel.kernarg_size
    )


def time_limit(seconds: float | None) -> float | None:
    """Seconds that a launch may take: the caller's choice, or HIPKITTENS_TIMEOUT, or 600; 0 means no limit.

    Raises:
        UsageError: HIPKITTENS_TIMEOUT is not a number.
    """
    if seconds is None:
        text = settings.value_of(TIMEOUT)
        try:
            seconds = float(text) if text else _DEFAULT_TIMEOUT_SECONDS
        except ValueError:
            seconds = math.nan
        if not seconds >= 0:
            raise UsageError(f"{TIMEOUT} is {text!r}: expected a number of seconds, or 0 for no limit.")
    return seconds or None
