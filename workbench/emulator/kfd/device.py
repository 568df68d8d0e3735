"""An emulated device that runs AQL dispatch packets, with the arguments that AMD's runtime has written."""

from __future__ import annotations

import ctypes
import struct
import threading
from dataclasses import dataclass, replace

from workbench import errors
from workbench.codeobject import KernelInfo
from workbench.emulator.kfd.counters import Counters
from workbench.emulator.kfd.kernels import Kernels
from workbench.emulator.native.abi import CData
from workbench.emulator.node import clock, dispatch, limits
from workbench.emulator.node.device import EmulatedDevice, Node, _Form
from workbench.emulator.node.dispatch import Dispatch, Geometry
from workbench.emulator.node.request import Request
from workbench.emulator.node.services import Served, Services
from workbench.emulator.node.timeline import Stream

_PACKET = struct.Struct("<HH3H2xIIIIIQQ")
# amd_queue_t (ROCr's amd_hsa_queue.h): bytes from its start to the indexes of written and read packets.
_WRITE_INDEX, _READ_INDEX = 56, 128
TICKS_PER_SECOND = 100_000_000
"""Of the device's clock."""


class _Packet(threading.local):
    """Addresses of the packet that a thread runs: the packet's own, its arguments', its queue's."""

    address = arguments = queue = 0


class _NoServices(Services):
    """AMD's runtime serves its kernels itself."""

    def for_launch(self, loaded: object, kinds: object, wave_size: int) -> Served:
        return Served(loaded, self._memory.text_at, 0)  # type: ignore[arg-type]


@dataclass(eq=False)
class _Moment:
    """When a launch ends on the clock of the model, and how long this computer took."""

    ticks: int
    moment: float | None = None


class PacketDevice(EmulatedDevice):
    """A device of a program that speaks to the driver; the only one of its node.

    Args:
        registers: as in `Counters`.

    Attributes:
        kernels: the kernels in the program's memory.
    """

    def __init__(self, node: Node, registers: CData) -> None:
        first = node.devices[0]
        super().__init__(node, first.ordinal, first.product)
        node.services = _NoServices(node.memory)
        self.kernels = Kernels(node.memory, self.product.target)
        self._packet = _Packet()
        self._counters = Counters(registers, self.product.arch, node.counter)
        self._moments: list[_Moment] = []
        self._last = 0.0
        if clock.can_model(self.product):
            node.clock.event_made()

    def run(self, address: int, queue: int) -> int:
        """Runs the kernel of a dispatch packet to its end.

        Args:
            address: the packet's address.
            queue: address of the amd_queue_t; 0 if it is not known.

        Returns:
            the ticks of the device's clock that this computer took.

        Raises:
            DeviceError: the packet names no kernel, its arguments are not in mapped memory, or the program
                has selected an event that is not counted.
            CodeObjectError: the kernel is damaged.
            LaunchError, UnsupportedInstruction, KernelFault: as `EmulatedDevice.launch`.
        """
        # No memory is unmapped while a thread has the lock.
        with self.node.launch_lock:
            self._check_mapped("a dispatch packet", address, _PACKET.size)
            _, _, bx, by, bz, gx, gy, gz, _, shared, descriptor, arguments = _PACKET.unpack(
                ctypes.string_at(address, _PACKET.size)
            )
            if 0 in (bx, by, bz, gx, gy, gz):
                raise errors.LaunchError(
                    f"a dispatch packet has a grid of {gx, gy, gz} work-items in groups of {bx, by, bz}: "
                    "expected at least 1 in each dimension"
                )
            kernel = self.kernels.at(descriptor)
            info = kernel.loaded.code_object.kernels[kernel.name]
            if arguments:
                self._check_mapped(f"the arguments of {info.name}", arguments, info.kernarg_size)
            packet = self._packet
            packet.address, packet.arguments, packet.queue = address, arguments, queue
            self.node.counter = self._counters.of_launch()
            record = self.launch(
                kernel.loaded,
                kernel.name,
                Geometry.of_items((gx, gy, gz), (bx, by, bz)),
                max(0, shared - limits.static_shared(info)),
                _bytes_of(info, arguments),
            )
            ticks = int(record.wall_seconds * TICKS_PER_SECOND)
            if clock.can_model(self.product):
                self._moments.append(moment := _Moment(ticks))
                self.node.clock.record(moment, Stream.from_handle(0, 0))
            return ticks

    def place(self, address: int) -> str:
        """Words for an address where no memory is mapped."""
        return f"{address:#x}, {self.node.memory.whereabouts(address, 1, self.ordinal)}"

    def _check_mapped(self, subject: str, address: int, size: int) -> None:
        """Raises DeviceError unless the device can read bytes of the program: reading others is fatal."""
        region = self.node.memory.find(address)
        if region is None or address + size > region.end:
            raise errors.DeviceError(
                f"{subject}, {size} bytes, would be at {self.place(address)}: map it on the device first",
                0,
            )

    @property
    def untimed(self) -> int:
        """Launches since the last `corrections`."""
        return len(self._moments)

    def corrections(self) -> tuple[list[int], int]:
        """Ticks by which the modelled time of each launch, with the gap before it, is more than this
        computer's, in order; and the ticks of a gap. Loads the model."""
        with self.node.launch_lock:
            moments, self._moments = self._moments, []
            self.node.clock.asked = True
            self.node.clock.settle()
            result = []
            for moment in moments:
                end = moment.moment or self._last
                result.append(round((end - self._last) * TICKS_PER_SECOND) - moment.ticks)
                self._last = end
            return result, round(clock.loaded_model().gap * TICKS_PER_SECOND)

    def check(self, kernel: KernelInfo, geometry: Geometry, dynamic_shared: int) -> None:
        # A packet's block is what hardware runs, whatever the kernel was compiled for: AMD's own kernels of
        # copies are launched with more than that.
        free = replace(kernel, max_workgroup_size=0, required_workgroup_size=None)
        super().check(free, geometry, dynamic_shared)

    def _prepare(self, form: _Form, request: Request, served: Served) -> Dispatch:
        packet, info = self._packet, form.scene.kernel
        registers = dispatch.user_sgprs(
            info.descriptor,
            kernarg=packet.arguments,
            packet=packet.address,
            arguments=_segment(info, packet.arguments) if info.descriptor.kernarg_preload_length else b"",
            private_bytes=form.scene.scratch_bytes,
            queue=packet.queue,
        )
        return self._prepared(form, request, served, registers)


def queue_of(write_pointer: int, read_pointer: int) -> int:
    """Address of the amd_queue_t with these indexes; 0 if they are elsewhere."""
    is_amd = read_pointer - write_pointer == _READ_INDEX - _WRITE_INDEX
    return write_pointer - _WRITE_INDEX if is_amd else 0


def _bytes_of(info: KernelInfo, address: int) -> bytes:
    """A kernel's own arguments."""
    size = min(info.own_bytes, info.kernarg_size)
    return ctypes.string_at(address, size) if address and size else b""


def _segment(info: KernelInfo, address: int) -> bytes:
    return ctypes.string_at(address, info.kernarg_size) if address else b""


__all__ = ["TICKS_PER_SECOND", "PacketDevice", "queue_of"]
