"""The interface between devices and their back ends; `gpu` and `emulated` implement it.

A device never asks which back end it has. A difference between them is an attribute here, such as what
launches report and where tensors live, or a method.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from workbench.codeobject import CodeObject
from workbench.errors import KernelFault
from workbench.launches import DWORD, BufferLabel, Dim, ForeignLaunch, LaunchOptions, LaunchRecord
from workbench.origin import Origin
from workbench.runtime.hip import Hip, Library

Buffers = Sequence[tuple[int, int]]
"""(address, bytes) of host memory."""


def merged(buffers: Buffers) -> list[tuple[int, int]]:
    """(address, bytes) ranges with overlapping ones joined: views of one tensor are one piece of memory.

    In their original order, wherever malloc put them: the model of the caches places memory in the order of
    its registration, so one launch has one modelled time.
    """
    end = 0
    for base, size in sorted(buffers):
        if size <= 0 or base < end:
            break
        end = base + size
    else:
        return list(buffers)
    ranges: list[tuple[int, int, int]] = []
    positioned = ((base, size, position) for position, (base, size) in enumerate(buffers) if size > 0)
    for base, size, position in sorted(positioned):
        if ranges and base < ranges[-1][0] + ranges[-1][1]:
            first, length, earliest = ranges[-1]
            ranges[-1] = (first, max(length, base + size - first), min(earliest, position))
        else:
            ranges.append((base, size, position))
    return [(base, size) for base, size, _ in sorted(ranges, key=lambda piece: piece[2])]


Watcher = Callable[[LaunchRecord, CodeObject, KernelFault | None], None]
"""Receives a launch that has ended: its record with the sanitizer's findings, its code, the fault if any."""


class Node(NamedTuple):
    """A device of a back end.

    Attributes:
        name: name, such as "gpu:0", "emulated:gfx950".
        arch: target, such as "gfx950".
        ordinal: its HIP device number.
        product: emulated product, such as "MI355X"; "" for a GPU, see its properties.
        numerics: arithmetic of an emulated device, "fast" or "exact" (`workbench.numerics`); "" for a GPU.
    """

    name: str
    arch: str
    ordinal: int
    product: str = ""
    numerics: str = ""


class DeviceMemory(NamedTuple):
    """Bytes of a device's memory.

    Attributes:
        used, total: used and total bytes, as the device reports them.
        limit: bytes that this computer can provide for an emulated device; None on a GPU.
    """

    used: int
    total: int
    limit: int | None


class TensorMemory(NamedTuple):
    """Bytes of the PyTorch tensors that a device tracks, rounded up as a GPU's allocator does.

    Attributes:
        used: bytes in use.
        most: largest number of bytes in use at once.
    """

    used: int
    most: int


class KernelTime(NamedTuple):
    """Launches of a kernel, and their modelled seconds."""

    launches: int
    seconds: float


class Invocation(NamedTuple):
    """One launch of a kernel, as `Function.launch` takes it."""

    kernel: str
    device: str
    grid: Dim
    block: Dim
    dynamic_shared: int
    buffers: Buffers = ()
    kernargs: bytes = b""
    labels: Mapping[int, BufferLabel] = MappingProxyType({})
    granularity: int = DWORD
    options: LaunchOptions = LaunchOptions()


class Backend(Library, Protocol):
    """A device's implementation behind HIP's C API.

    Attributes:
        observes: True if its launches provide every observation in `LaunchOptions`; False for only the time.
    """

    observes: bool

    @property
    def origin(self) -> Origin:
        """Origin of times on its devices."""

    @property
    def label(self) -> str:
        """Label to show with a device's name; "" for none."""

    def nodes(self) -> Sequence[Node]:
        """Its devices, found without loading its library."""

    def build(self, *, partial: bool = False) -> None:
        """Builds everything that the first launch on a computer would build; it loads nothing.

        Args:
            partial: True to build what only targets need that the devices run in part.

        Raises:
            CompilerNotFound, ToolchainError: as the first launch would.
        """

    def properties(self, node: Node, names: Sequence[str]) -> dict[str, Any]:
        """These fields of hipDeviceProp_t."""

    def torch_device(self, node: Node) -> str:
        """PyTorch's name of where a device's tensors live."""

    def has_memory(self, address: int) -> bool:
        """True for an address in a range that only HIP's own allocations use, no tensor of PyTorch's."""

    def memory(self, hip: Hip) -> DeviceMemory:
        """Free and total bytes of memory of the current device."""

    def current_device(self, hip: Hip) -> int:
        """Ordinal of the calling thread's current device; every launch asks for it."""

    def interrupts_held(self) -> AbstractContextManager[None]:
        """In this context, Ctrl-C waits while it could be lost inside HIP's calls."""

    def host_code(
        self, hip: Hip, buffers: Callable[[], Buffers], options: LaunchOptions | None, granularity: int
    ) -> AbstractContextManager[list[LaunchRecord]]:
        """Context of compiled host code that launches kernels itself.

        Args:
            buffers: host memory that the code may hand to a kernel.
            options: observations of its launches; None for none.
            granularity: the buffers' allocator's sizes are multiples of this many bytes, see
                `Function.launch`.

        Returns:
            records of its launches, in order; empty without `options`, or if the back end cannot observe.

        Raises:
            WorkbenchError: a launch failed and the back end knows why.
        """

    def lent(
        self, buffers: Buffers, labels: Mapping[int, BufferLabel], granularity: int
    ) -> AbstractContextManager[None]:
        """In this context, kernels may access this host memory; does nothing on a GPU that has PyTorch's
        tensors.

        Raises:
            DeviceError: on a GPU, if PyTorch has no memory on GPUs.
        """

    def tensor_allocator(self, address: int) -> int:
        """See `Device.tensor_allocator`; on a GPU the same."""

    def has_tensor(self, address: int) -> bool:
        """True if an allocation of `tensor_allocator` begins at this address; always True on a GPU."""

    def tensor_memory(self) -> TensorMemory:
        """Bytes of the tensors from `tensor_allocator`; zeros on a GPU, where PyTorch counts them."""

    def forget_most_tensor_memory(self) -> None:
        """Makes `tensor_memory` track the maximum from now on."""

    def lending(
        self, buffers: Callable[[bool], Buffers], granularity: Callable[[], int]
    ) -> AbstractContextManager[None]:
        """See `Device.lending`; does nothing on a GPU."""

    def foreign_launches(self, take: Callable[[ForeignLaunch], None]) -> AbstractContextManager[None]:
        """In this context, `take` gets this thread's launches by foreign code; none on a GPU."""

    def watching(self, watcher: Watcher) -> AbstractContextManager[None]:
        """In this context, launches are sanitized and reported to the watcher, if they can be observed."""

    def launch(self, hip: Hip, invocation: Invocation, call: Callable[[bytes], None]) -> LaunchRecord:
        """Runs a kernel to its end.

        Args:
            call: makes HIP's launch with an argument block: the invocation's, or one with other addresses.
        """

    def keeping_copies(self, hip: Hip) -> AbstractContextManager[None]:
        """In this context, copies of launches stay on the device; does nothing if launches make none."""

    def forget_copies(self, buffers: Buffers) -> None:
        """Drops the copies of memory that is about to be freed, if `keeping_copies` has any."""

    def kernel_times(self, node: Node) -> Mapping[str, KernelTime]:
        """Launches of each kernel since the first call, by its symbol; empty if times are measured.

        Raises:
            WorkbenchError: a time could not be modelled.
        """

    def make_first(self, node: Node) -> None:
        """Makes an emulated device number 0 of this process, before any is used; GPUs keep their numbers."""

    def enter_program(
        self, node: Node, write: Callable[[str, bool], None], libraries: Mapping[str, Path] | None
    ) -> None:
        """Makes a device number 0 of this process before a HIP program is loaded into it.

        Args:
            write: shows a text, on standard error if its second argument says so.
            libraries: paths of HIP's libraries by name, if the process has already loaded them.
        """
