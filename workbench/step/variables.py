"""Values of the source's variables, read from registers, scratch or shared memory.

Optimized code keeps few variables in their own places, and DWARF describes only those. In code without
optimization (`wb.step(debug=True)`) each variable, including tiles, has its bytes in scratch.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from workbench.codeobject.debug import Type
from workbench.codeobject.variables import Located
from workbench.errors import UsageError, WorkbenchError
from workbench.kernel import Kernel, Launch
from workbench.kernel.compilation import compile_source
from workbench.kernel.show import MACRO, Kind, Moment, Moments
from workbench.launches import Held
from workbench.targets import target
from workbench.toolchain import CompileOptions

_REGISTERS = ("kittens::rt<", "kittens::detail::register_vector<")
_SHARED = ("kittens::st<", "kittens::sv<")
TILES = _REGISTERS + _SHARED
"""Prefixes of the names of tiles' and vectors' types."""

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Variable:
    """A variable of the source.

    Attributes:
        name, line: name and line of its declaration.
        type: C++ type.
        place: location, such as "v12", "s4", "scratch[0x40]".
        value: a number if all active lanes agree, else [lanes] values; a dict or a list of these for structs
            and arrays; None if it cannot be read, such as a reference.
        is_tile: True for a tile or a vector, which `Stepper.tile` returns as a matrix.
    """

    name: str
    line: int
    type: str
    place: str
    value: Any
    is_tile: bool


class Here(NamedTuple):
    """An instruction of a wave that is about to run.

    Attributes:
        kernel, address, line: kernel, code object address and source line of the instruction.
        group, wave, position: linear work-group, wave in it, and number of instructions that the wave has
            run.
        held: registers and memory of the work-group.
        exec: mask of the active lanes.
        acc_offset: number of the vector register that is AGPR 0.
        located: cache of debug information, by address.
    """

    kernel: Kernel
    address: int
    line: int | None
    group: int
    wave: int
    position: int
    held: Held
    exec: int
    acc_offset: int
    located: dict[int, tuple[tuple[Located, Type], ...]]


def variables(here: Here) -> dict[str, Variable]:
    """Variables that have a location at the next instruction, by name."""
    by_name = {}
    for variable, kind in _located(here):
        if (read := _bytes_of(here, variable, kind)) is not None:
            content, place = read
            is_tile = _tile(kind) is not None
            value = None if is_tile else _value(content, kind, _lanes(here))
            by_name[variable.name] = Variable(
                variable.name, variable.line, kind.alias or kind.name, place, value, is_tile
            )
    return by_name


def tile(here: Here, name: str) -> Moments:
    """A tile or a vector of the source as a matrix, with the place of each element; a notebook draws it.

    Raises:
        UsageError: no tile of this name has a location at the next instruction.
        CompileError: its type cannot be compiled by itself.
    """
    tiles = {variable.name: (variable, kind) for variable, kind in _located(here) if _tile(kind) is not None}
    if name not in tiles:
        there = ", ".join(tiles) or "none; wb.step(..., debug=True) has those of the kernel"
        raise UsageError(f"{name!r} is not a tile at this instruction; tiles: {there}")
    variable, declared = tiles[name]
    kind, read = _tile(declared), _bytes_of(here, variable, declared)
    if kind is None or read is None:
        raise UsageError(f"{name!r} is in the frame of another function at this instruction")
    layout = _layout(kind.name, here.kernel.arch)
    if layout.kind in (Kind.SHARED_TILE, Kind.SHARED_VECTOR):
        values, places = _shared(here, layout, read[0])
    else:
        values, places = _registers(layout, read[0]), layout.places
    at = (here.group, here.wave, here.position)
    moment = Moment(name, here.line or 0, layout.kind, *at, layout.dtype, values, places, here.exec)
    return Moments([moment], here.kernel.arch, f"{name} (line {variable.line})", counted=True)


def _tile(kind: Type) -> Type | None:
    """The tile that a type is, or refers to."""
    if kind.kind == "pointer" and kind.target is not None:
        kind = kind.target
    name = kind.name.removeprefix("const ")
    return kind if name.startswith(TILES) else None


def _located(here: Here) -> tuple[tuple[Located, Type], ...]:
    """Variables that have a location, with their types."""
    debug = here.kernel.module.debug
    if here.address not in here.located and debug is not None:
        here.located[here.address] = tuple(
            (variable, debug.type_of(variable)) for variable in debug.variables_at(here.address)
        )
    return here.located.get(here.address, ())


def _lanes(here: Here) -> Array:
    on = np.uint64(here.exec) >> np.arange(here.held.wave_size, dtype=np.uint64) & np.uint64(1)
    return on.astype(bool)


def _bytes_of(here: Here, variable: Located, kind: Type) -> tuple[Array, str] | None:
    """[lanes, bytes] of a variable's value, and its place in words; None if unknown."""
    held, wave = here.held, here.wave
    size = max(4, kind.size)
    words = -(-size // 4)
    if variable.place == "scratch":
        info = here.kernel.info
        if not info.entry <= here.address < info.entry + info.size:
            # A variable of a called function: a register points to its frame.
            return None
        rows = held.scratch[wave][variable.first // 4 : variable.first // 4 + words + 1]
        if len(rows) < words:
            return None
        content = np.ascontiguousarray(rows.T).view(np.uint8)
        start = variable.first % 4
        return content[:, start : start + size], f"scratch[{variable.first:#x}]"
    if variable.place == "s":
        value = held.scalars[wave, variable.first : variable.first + words]
        name = f"s{variable.first}" if words == 1 else f"s[{variable.first}:{variable.first + words - 1}]"
        return np.tile(value.view(np.uint8), (held.wave_size, 1)), name
    if words > 2:
        # One of several registers that hold the variable.
        return None
    first = variable.first + (here.acc_offset if variable.place == "a" else 0)
    rows = held.rows[wave, first : first + words]
    name = (
        f"{variable.place}{variable.first}"
        if words == 1
        else f"{variable.place}[{variable.first}:{variable.first + 1}]"
    )
    return np.ascontiguousarray(rows.T).view(np.uint8), name


_NUMBERS = {("float", 8): "f8", ("float", 4): "f4", ("float", 2): "f2"}


def _value(content: Array, kind: Type, lanes: Array) -> Any:
    """The value of bytes as a type."""
    if kind.kind == "struct":
        members = {m.name: m for m in kind.members}
        return {
            name: _value(content[:, m.offset : m.offset + m.type.size], m.type, lanes)
            for name, m in members.items()
            if m.offset + m.type.size <= content.shape[1]
        }
    if kind.kind == "array" and kind.target is not None and kind.target.size:
        size = kind.target.size
        parts = range(0, min(kind.size, content.shape[1]) - size + 1, size)
        return [_value(content[:, at : at + size], kind.target, lanes) for at in parts]
    if kind.kind == "float" and kind.size == 2 and "bf" in kind.name.lower():
        wide = np.ascontiguousarray(content[:, :2]).view(np.uint16).astype(np.uint32) << 16
        return _same(wide.view(np.float32)[:, 0], lanes)
    letter = {"float": "f", "int": "i", "uint": "u", "pointer": "u", "bool": "u"}.get(kind.kind)
    if letter is None or kind.size not in (1, 2, 4, 8) or (letter == "f" and kind.size == 1):
        return None
    numbers = np.ascontiguousarray(content[:, : kind.size]).view(f"{letter}{kind.size}")[:, 0]
    return _same(numbers.astype(bool) if kind.kind == "bool" else numbers, lanes)


def _same(numbers: Array, lanes: Array) -> Any:
    """One number if all active lanes have it, otherwise those of all lanes."""
    of_those = numbers[lanes] if lanes.any() else numbers
    alike = of_those.tobytes() == of_those[:1].tobytes() * len(of_those)
    return of_those[0].item() if alike else numbers.copy()


@cache
def _layout(type_name: str, arch: str) -> Moment:
    """A tile of a type in the form of `show`: the place of each element; its values mean nothing."""
    is_shared = type_name.removeprefix("const ").startswith(_SHARED)
    source = (
        '#include "kittens.cuh"\n__global__ void layout() {\n'
        f"    {'__shared__ ' if is_shared else ''}{type_name.removeprefix('const ')} tile;\n"
        "    kittens::show(tile);\n}\n"
    )
    module = compile_source(source, CompileOptions(arch, name="layout.hip", define={MACRO: None}))
    recorded = module["layout"].launch(Launch(1, target(arch).wave_size), (), {}).shown
    assert recorded is not None
    return recorded.of("tile")[0]  # type: ignore[attr-defined, no-any-return]


def _registers(layout: Moment, content: Array) -> Any:
    """The matrix of a register tile from the bytes that each lane has."""
    import torch

    element = layout.dtype.bits // 8
    if element == 0:
        raise UsageError(
            f"{layout.dtype.name}: elements of less than a byte are not read here; use show(...)"
        )
    lanes, numbers = layout.places & 0xFF, layout.places >> 8
    whole = np.ascontiguousarray(content[:, : content.shape[1] // element * element])
    raw = whole.reshape(len(content), -1, element)[lanes, numbers]
    values = torch.from_numpy(np.ascontiguousarray(raw)).view(layout.dtype.dtype)
    return values.view(layout.values.shape)


def _shared(here: Here, layout: Moment, pointer: Array) -> tuple[Any, Array]:
    """The matrix of a shared tile, from the address that a reference to it has."""
    import torch

    start = int(np.ascontiguousarray(pointer[:1, :4]).view(np.uint32)[0, 0])
    places = layout.places - layout.places.min() + np.uint32(start)
    element = max(1, layout.dtype.bits // 8)
    lds = here.held.lds
    if int(places.max()) + element > len(lds):
        raise WorkbenchError("the reference to the tile has no value yet")
    raw = lds[places[..., None] + np.arange(element)]
    return torch.from_numpy(raw).view(layout.dtype.dtype).view(layout.values.shape), places
