"""Compiled device code: its source lines, its debug info, its instructions."""

from __future__ import annotations

import weakref
from functools import cached_property
from pathlib import Path

from workbench.codeobject import CodeObject, Instruction
from workbench.codeobject.debug import DebugInfo
from workbench.codeobject.decoder import decode_one
from workbench.errors import CodeObjectError
from workbench.kernel.devices import default_arch
from workbench.kernel.show import VARIABLE
from workbench.runtime import Device, Function, LoadedModule
from workbench.toolchain import CompileResult

_known: weakref.WeakValueDictionary[str, DeviceCode] = weakref.WeakValueDictionary()


def known_code(digest: str) -> DeviceCode | None:
    """Code of this process by its `digest`, as long as it is referenced."""
    return _known.get(digest)


class DeviceCode:
    """A code object and, if known, the source that it was compiled from.

    Attributes:
        name: name passed to `compile`, or the file's name.
        arch: target, such as "gfx950"; for code built for a generic processor, the requested target that runs
            it, or else the default device's.
        code: the code object, an ELF.
        code_object: the parsed code object.
        source: the C++ text; None for loaded code.
        result: the compiler's result (time, cached or not, diagnostics, command); None for loaded code.
        first_line: number that messages and debug info give the source's first line.
        own_file: name of the file that is the module's own source; "" if unknown.
    """

    def __init__(
        self,
        code: bytes,
        *,
        name: str = "module",
        result: CompileResult | None = None,
        arch: str | None = None,
    ) -> None:
        self.code_object = CodeObject.from_bytes(code)
        if len(self.code_object.targets) > 1:
            target = arch or default_arch()
            if target in self.code_object.targets:
                self.code_object = CodeObject(self.code_object.data, target)
        self.code = self.code_object.data
        self.arch = self.code_object.target
        self.name = name
        self.result = result
        self.source = result.source if result is not None else None
        self.first_line = result.options.first_line if result is not None else 1
        self.own_file = Path(result.options.name).name if result is not None else ""
        self._loaded: dict[str, LoadedModule] = {}
        self._functions: dict[tuple[str, str], Function] = {}
        self._instructions: dict[int, Instruction] = {}

    @cached_property
    def digest(self) -> str:
        """Name of the code's exact bytes: 16 hexadecimal digits of their SHA-256."""
        name = self.code_object.digest
        _known[name] = self
        return name

    @cached_property
    def debug(self) -> DebugInfo | None:
        """Debug info; None if the code was compiled without it."""
        try:
            return DebugInfo(self.code_object)
        except CodeObjectError:
            return None

    @cached_property
    def shows(self) -> bool:
        """True if the code was compiled with `show`: arguments of `show(...)` are recorded at each launch."""
        return VARIABLE in self.code_object.symbols

    def function(self, kernel: str, device: Device) -> Function:
        """The kernel with this mangled name, loaded on a device, once per device."""
        place = (device.name, kernel)
        if place not in self._functions:
            if device.name not in self._loaded:
                self._loaded[device.name] = device.load(self.code)
            self._functions[place] = self._loaded[device.name].function(kernel)
        return self._functions[place]

    def without_launches(self) -> DeviceCode:
        """The same code, not loaded; parsed parts are shared."""
        duplicate = object.__new__(type(self))
        vars(duplicate).update({name: value for name, value in vars(self).items() if name != "kernels"})
        duplicate._loaded, duplicate._functions = {}, {}
        return duplicate

    def is_own_source(self, file: str) -> bool:
        """True for the module's own source among the debug info's files; False for a header."""
        return bool(self.own_file) and Path(file).name == self.own_file

    def places_of(self, address: int) -> tuple[tuple[str, int], ...]:
        """(file, line) of an instruction; for one in a header, also the module's line that called it.

        Empty without debug info.
        """
        frames = self.debug.frames_of(address) if self.debug is not None else ()
        if not frames:
            return ()
        source_frame = next((f for f in frames if self.is_own_source(f[0])), frames[0])
        return tuple(dict.fromkeys((f[0], f[1]) for f in (frames[0], source_frame)))

    def instruction(self, address: int) -> Instruction:
        """The instruction at an address of the code object.

        Raises:
            CodeObjectError: there is no instruction at this address.
        """
        if address not in self._instructions:
            text, lanes = self.code_object.text, self.code_object.wave_size_at(address)
            place = address - text.address
            self._instructions[address] = decode_one(text.data, place, address, self.arch, lanes)
        return self._instructions[address]
