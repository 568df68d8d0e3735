"""The LLVM function of one basic block as text: straight code, stack memory, constants, the wave's fields."""

from __future__ import annotations

import struct

from workbench.emulator.native import abi
from workbench.emulator.translate.ir import I32, I64, Emitter, Value

SCC = 128
"""Key of SCC, in addition to the scalar operand encodings."""

_SCC_OFFSET = abi.offset("Wave", "scc")


class Function:
    """A function under construction; `%wave` is its argument.

    Args:
        wave_size: lanes of the wave.

    Attributes:
        name: name without the "@".
        wave_size: lanes of the wave.
        row_bytes: bytes of a register row.
        mask_words: scalar registers of a lane mask; `mask_type` is the integer of all its bits.
        emitter: emitter of its IR; its current list is `straight` or the body of the open run.
        straight: the code outside of runs.
        label: label of the LLVM block in which the straight code continues.
        constants: module constants that the function refers to.
    """

    def __init__(self, name: str, wave_size: int) -> None:
        self.name = name
        self.wave_size = wave_size
        self.row_bytes = 4 * wave_size
        self.mask_words = wave_size // 32
        self.mask_type = I64 if self.mask_words == 2 else I32
        self.emitter = Emitter()
        self.straight: list[str] = []
        self.label = "entry"
        self.constants: list[str] = []
        self._prelude: list[str] = []
        self._buffers: dict[int, str] = {}
        self._labels = 0
        self._has_rows = False
        self._has_stack = False
        self.emitter.lines = self.straight

    def text(self) -> str:
        """LLVM IR of the whole function."""
        lines = [f"define i32 @{self.name}(ptr %wave) #0 {{", "entry:", *self._prelude, *self.straight, "}"]
        return "\n".join(lines)

    def field(self, *path: str) -> str:
        """Name of a pointer to a field of the Wave structure, or to a field of a field."""
        return self.emitter.offset("%wave", abi.offset("Wave", *path))

    def scalar_pointer(self, index: int) -> str:
        """Name of a pointer to a scalar register, or SCC, in the wave's state."""
        return self.emitter.offset("%wave", _SCC_OFFSET if index == SCC else 4 * index)

    def rows_base(self) -> str:
        """Name of the pointer to row 0 of the vector registers."""
        if not self._has_rows:
            self._has_rows = True
            self._prelude += [
                f"%vp = getelementptr i8, ptr %wave, i64 {abi.offset('Wave', 'v')}",
                "%v = load ptr, ptr %vp, align 8",
            ]
        return "%v"

    def buffer(self, number: int, size: int = 192) -> str:
        """A 64-byte-aligned block of stack memory, the same one for the same number."""
        name = self._buffers.get(number)
        if name is None:
            name = self._buffers[number] = f"%buffer{number}"
            self._prelude.append(f"{name} = alloca [{size} x i8], align 64")
        return name

    def stack(self, size: int) -> str:
        """Stack memory that consecutive runs use one after another; `size` is the same for all of them."""
        if not self._has_stack:
            self._has_stack = True
            self._prelude.append(f"%stack = alloca [{size} x i8], align 64")
        return "%stack"

    def new_buffer(self, size: int) -> str:
        """New stack memory, 64-byte aligned."""
        return self.buffer(100 + len(self._buffers), size)

    def constant(self, tag: str, data: bytes) -> str:
        """Name of a new module constant with these bytes, a whole number of dwords."""
        name = f"@{self.name}_{tag}{len(self.constants)}"
        words = struct.unpack(f"<{len(data) // 4}I", data)
        text = ", ".join(f"i32 {word}" for word in words)
        self.constants.append(f"{name} = private constant [{len(words)} x i32] [{text}], align 8")
        return name

    def branch_out(self, condition: Value, code: int) -> None:
        """Leave the function with a code where the i1 condition holds; all state is stored."""
        leave, stay = self._new_label(), self._new_label()
        self.emitter.lines += [
            f"br i1 {condition.name}, label %{leave}, label %{stay}",
            f"{leave}:",
            f"ret i32 {code}",
            f"{stay}:",
        ]
        self.label = stay

    def _new_label(self) -> str:
        self._labels += 1
        return f"b{self._labels}"
