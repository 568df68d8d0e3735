"""A code object on an emulated device, with data computed once for its kernels: native code, line kinds."""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from workbench import errors
from workbench.codeobject import CodeObject, Symbol
from workbench.codeobject.debug import DebugInfo
from workbench.codeobject.shared import SharedArray
from workbench.emulator.native.observe.traffic import line_kinds
from workbench.emulator.node import hostcall
from workbench.emulator.node.allocations import Allocation
from workbench.emulator.node.dispatch import TranslatedKernel


@dataclass(eq=False)
class LoadedCode:
    """A code object on a device.

    Attributes:
        prints: True if its kernels print into the buffer of `console`.
        asks: True if its kernels use the result of printf.
        forms: shared parts of launches, by kernel and shape.
        points: where schedules can deviate, by kernel (`scheduling.points_of`).
        timed: the clock's state for each kernel.
    """

    code_object: CodeObject
    device: int
    image: Allocation
    translations: dict[tuple[str | bool, ...], TranslatedKernel] = field(default_factory=dict)
    prints: bool = False
    asks: bool = False
    forms: dict[Any, Any] = field(default_factory=dict)
    points: dict[str, tuple[tuple[int, ...], frozenset[int], tuple[int, ...]]] = field(default_factory=dict)
    timed: dict[str, Any] = field(default_factory=dict)
    _addresses: dict[tuple[str, bool], list[list[int]]] = field(default_factory=dict)
    _kinds: dict[str, npt.NDArray[np.uint8]] = field(default_factory=dict)
    _sizes: dict[str, npt.NDArray[np.uint64]] = field(default_factory=dict)

    @property
    def base(self) -> int:
        """Device address of the code object's virtual address 0."""
        return self.image.base

    def translation(
        self,
        kernel: str,
        sanitize: bool = False,
        single: bool = False,
        exact: bool = False,
        approximate: bool = False,
        late: bool = False,
        scheduled: bool = False,
    ) -> TranslatedKernel:
        """The kernel as native code, which reports to the sanitizer if requested.

        Args:
            single: make each instruction a separate block.
            exact: matrix instructions give a matrix core's bits.
            approximate: transcendental instructions err as the launch requests.
            late: loads complete when the launch requests.
            scheduled: with `late`, waves can stop where the launch requests.

        Raises:
            UnsupportedInstruction: the kernel has an instruction that is not implemented.
        """
        key = kernel, sanitize, single, exact, approximate, late, scheduled
        translation = self.translations.get(key)
        if translation is None:
            from workbench.emulator.translate.translator import translate

            translation = self.translations[key] = translate(
                self.code_object,
                kernel,
                sanitize=sanitize,
                single=single,
                exact=exact,
                approximate=approximate,
                late=late,
                scheduled=scheduled,
            )
        return translation

    def block_addresses(self, kernel: str, scheduled: bool = False) -> list[list[int]]:
        """Addresses of the instructions of each of a kernel's blocks.

        Args:
            scheduled: of the code for schedules, whose blocks are shorter.
        """
        key = kernel, scheduled
        blocks = self._addresses.get(key)
        if blocks is None:
            translation = self.translation(kernel, late=scheduled, scheduled=scheduled)
            blocks = self._addresses[key] = [
                [instruction.address for instruction in block.instructions] for block in translation.blocks
            ]
        return blocks

    def block_sizes(self, kernel: str) -> npt.NDArray[np.uint64]:
        """Instructions of each of a kernel's blocks."""
        sizes = self._sizes.get(kernel)
        if sizes is None:
            sizes = self._sizes[kernel] = np.array([*map(len, self.block_addresses(kernel))], dtype=np.uint64)
        return sizes

    def by_instruction(
        self, kernel: str, counts: npt.NDArray[np.uint64], scheduled: bool = False
    ) -> dict[int, int]:
        """Executions of each instruction, from those of the blocks that `block_addresses` has."""
        result: dict[int, int] = {}
        for addresses, count in zip(self.block_addresses(kernel, scheduled), counts.tolist(), strict=True):
            for address in addresses:
                result[address] = result.get(address, 0) + count
        return result

    def line_kinds(self, kernel: str) -> npt.NDArray[np.uint8]:
        """The kind of access to cache lines of each of a kernel's instructions."""
        kinds = self._kinds.get(kernel)
        if kinds is None:
            text = self.code_object.text
            instructions = (i for block in self.translation(kernel).blocks for i in block.instructions)
            kinds = self._kinds[kernel] = line_kinds(instructions, text.address, len(text.data))
        return kinds

    @cached_property
    def printf_formats(self) -> dict[int, str]:
        """Formats of a printf that goes through a buffer, by their hash."""
        return hostcall.printf_formats(self.code_object.metadata.get("amdhsa.printf"))

    @cached_property
    def _variables(self) -> list[Symbol]:
        """`__device__` and `__constant__` variables, by address."""
        symbols = self.code_object.symbols.of_kind("object")
        objects = (s for s in symbols if s.size and not s.name.endswith(".kd"))
        return sorted(objects, key=lambda s: (s.address, s.size))

    @cached_property
    def places(self) -> list[tuple[int, int]]:
        """Start and end of each variable, as device addresses in order."""
        return [(self.base + s.address, self.base + s.address + s.size) for s in self._variables]

    def variable_of(self, address: int) -> Symbol | None:
        """The variable that holds a device address; None if there is none."""
        place = bisect.bisect_right(self.places, (address, 2**64)) - 1
        return self._variables[place] if place >= 0 and address < self.places[place][1] else None

    def has_data(self, address: int) -> bool:
        """True for a device address in a variable or in constants, some of which have no name."""
        constants = self.code_object.layout.section(".rodata")
        start, size = (constants.address, constants.size) if constants is not None else (0, 0)
        return self.variable_of(address) is not None or 0 <= address - self.base - start < size

    @cached_property
    def _debug(self) -> DebugInfo:
        return DebugInfo(self.code_object)

    def source_of(self, address: int) -> tuple[str, int, int] | None:
        """Source position of a code object address; None without debug information."""
        try:
            return self._debug.place_of(address)
        except errors.CodeObjectError:
            return None

    def variable_at(self, place: str, number: int, address: int) -> tuple[str, int] | None:
        """The variable in a place at a code object address (`DebugInfo.variable_at`), or None."""
        try:
            return self._debug.variable_at(place, number, address)
        except errors.CodeObjectError:
            return None

    def shared_arrays(self, kernel: str, total: int) -> tuple[SharedArray, ...]:
        """The variables in a kernel's shared memory (`DebugInfo.shared_arrays`); empty without debug info."""
        try:
            return self._debug.shared_arrays(kernel, total)
        except errors.CodeObjectError:
            return ()
