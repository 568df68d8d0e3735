"""From machine code back to the source: lines, inlined calls, and the types of kernel parameters.

The compiler is asked for debug info so that a fault names a line of the cell and a kernel's arguments can be
given by name. pyelftools reads the DWARF sections; this module answers the workbench's questions about them.
"""

from __future__ import annotations

import bisect
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from workbench import paths
from workbench.codeobject.damage import damage_reported
from workbench.codeobject.elf import CodeObject
from workbench.codeobject.entries import Entries
from workbench.codeobject.shared import SharedArray, shared_arrays
from workbench.codeobject.variables import Located, located

_WHAT = "the debug information of the code object"

Place = tuple[str, int, int]
"""File as the compiler was given it, line and column from 1; column 0 if it is not known."""


@dataclass(frozen=True)
class Type:
    """A type of the source, without typedefs and qualifiers.

    Attributes:
        kind: "int", "uint", "float", "bool", "pointer", "array", "struct", or "unknown" if only the size is
            known.
        name: name in the source, such as "float" or "gl<bf16, 1, 1, -1, 128>".
        size: size in bytes.
        target: type that a pointer points to, or type of an array's elements; None for void and other kinds.
        members: members of a struct, those of its base classes first.
        template: template arguments of a struct in order: types' names, or values.
        alias: name of the typedef by which the type was named, if any.
    """

    kind: str
    name: str
    size: int
    target: Type | None = None
    members: tuple[Field, ...] = ()
    template: tuple[Any, ...] = ()
    alias: str = ""


@dataclass(frozen=True)
class Field:
    """A parameter of a kernel or a member of a struct: name, byte offset from the enclosing start, type."""

    name: str
    offset: int
    type: Type


@dataclass(frozen=True, slots=True)
class _Inlined:
    """One inlined call: the code in [low, high) comes from a call at `call`; deeper calls have more depth."""

    low: int
    high: int
    depth: int
    call: Place


# Encodings DW_ATE_* by kind of value.
_ENCODINGS = {2: "bool", 4: "float", 5: "int", 6: "int", 7: "uint", 8: "uint", 16: "uint"}
_QUALIFIERS = {
    "DW_TAG_const_type": "const ",
    "DW_TAG_volatile_type": "volatile ",
    "DW_TAG_restrict_type": "",
    "DW_TAG_atomic_type": "",
}
_POINTERS = {"DW_TAG_pointer_type": "*", "DW_TAG_reference_type": "&", "DW_TAG_rvalue_reference_type": "&&"}
_STRUCTS = ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type")
_PARTS_OF_STRUCTS = (
    "DW_TAG_template_type_param",
    "DW_TAG_template_value_param",
    "DW_TAG_inheritance",
    "DW_TAG_member",
)
_MAX_DEPTH = 24
_LIBRARY_FOLDERS = (
    str(paths.include_dir()),
    str(paths.hip_include_dir()),
    "/usr/include/",
    "/usr/lib/",
    "/opt/rocm",
)
_LIBRARY_PARTS = ("/lib/clang/", "/include/hip/", "/libcxx/include/")
_MAX_INTEGER = 1 << 10
"""Bytes of the widest integer that is not taken for damage; compilers for these targets have 16."""
_POINTEE_DEPTH = 4
"""Depth to which pointers are followed: kernels differ in what they point to, not in lists of lists."""


def is_library_header(file: str) -> bool:
    """True for a header of the tile library, of HIP or of the compiler; False for the user's own files."""
    path = os.path.normpath(file)
    return (
        path.startswith(_LIBRARY_FOLDERS)
        or any(part in path for part in _LIBRARY_PARTS)
        or _is_in_checkout(os.path.dirname(path))
    )


@cache
def _is_in_checkout(folder: str) -> bool:
    """True for a folder of headers of a checkout of HipKittens: it or one above has `kittens.cuh`."""
    head, mark, _ = folder.rpartition("/include")
    return bool(mark) and os.path.isfile(f"{head}{mark}/kittens.cuh")


class DebugInfo:
    """Debug information of a code object; empty if it was compiled without."""

    def __init__(self, code_object: CodeObject) -> None:
        """Raises CodeObjectError if the debug sections are damaged."""
        with damage_reported(_WHAT):
            elf = ELFFile(io.BytesIO(code_object.data))
            self._dwarf: Any = elf.get_dwarf_info() if elf.has_dwarf_info() else None
            self._units = list(self._dwarf.iter_CUs()) if self._dwarf is not None else []
            self._scanned: dict[int, Entries] = {}

    # Lines

    @cached_property
    def lines(self) -> tuple[tuple[int, Place | None], ...]:
        """(first address, place) in address order; each holds up to the next. None: code without a place.

        Raises CodeObjectError, as all questions do, if the debug sections are damaged.
        """
        with damage_reported(_WHAT):
            return self._read_lines()

    def _read_lines(self) -> tuple[tuple[int, Place | None], ...]:
        rows: list[tuple[int, int, Place | None]] = []
        for unit in self._units:
            program = self._dwarf.line_program_for_CU(unit)
            if program is None:
                continue
            names = self._files(unit)
            for number, entry in enumerate(program.get_entries()):
                state = entry.state
                if state is None:
                    continue
                if not state.end_sequence and not state.line:
                    # Line 0 is the compiler's own code, which belongs to the line before it.
                    continue
                place = None
                if not state.end_sequence:
                    place = (names.get(state.file, "?"), state.line, state.column)
                # Of rows with one address the last counts, but the start of a sequence takes precedence over
                # an end.
                rows.append((state.address, 0 if state.end_sequence else number + 1, place))
        rows.sort(key=lambda row: (row[0], row[1]))
        merged: list[tuple[int, Place | None]] = []
        for address, _, place in rows:
            if merged and merged[-1][0] == address:
                merged[-1] = (address, place)
            elif not merged or merged[-1][1] != place:
                merged.append((address, place))
        return tuple(merged)

    def line_of(self, address: int) -> Place | None:
        """Source file, line and column of the instruction at a code object address.

        The innermost function counts: for code inlined from a header that is the header's line; `frames_of`
        has the calls that lead there. None without debug info.
        """
        index = bisect.bisect_right(self._line_addresses, address) - 1
        return self.lines[index][1] if index >= 0 else None

    @cached_property
    def _line_addresses(self) -> list[int]:
        return [address for address, _ in self.lines]

    def frames_of(self, address: int) -> tuple[Place, ...]:
        """The place of an instruction and of the calls that were inlined to get there, innermost first."""
        place = self.line_of(address)
        if place is None:
            return ()
        starts, calls = self._calls
        index = bisect.bisect_right(starts, address) - 1
        return (place, *calls[index]) if index >= 0 else (place,)

    def place_of(self, address: int) -> Place | None:
        """The line that a person wrote which an instruction comes from.

        For code inlined from a header of the tile library or of HIP, that is the line that called it, or the
        header's own line if nothing else is known.
        """
        frames = self.frames_of(address)
        user_frames = (frame for frame in frames if not is_library_header(frame[0]))
        return next(user_frames, frames[0] if frames else None)

    @cached_property
    def _calls(self) -> tuple[list[int], list[tuple[Place, ...]]]:
        """First addresses of pieces of code, and the calls inlined there, innermost first; up to the next."""
        inlined: list[_Inlined] = []
        with damage_reported(_WHAT):
            for unit in self._units:
                self._collect_inlined(unit.get_top_DIE(), self._files(unit), 0, inlined)
        inlined = sorted((call for call in inlined if call.low < call.high), key=lambda call: call.low)
        starts: list[int] = []
        calls: list[tuple[Place, ...]] = []
        active: list[_Inlined] = []
        position = 0
        for address in sorted({edge for call in inlined for edge in (call.low, call.high)}):
            active = [call for call in active if call.high > address]
            while position < len(inlined) and inlined[position].low == address:
                active.append(inlined[position])
                position += 1
            active.sort(key=lambda call: -call.depth)
            starts.append(address)
            calls.append(tuple(call.call for call in active))
        return starts, calls

    def _collect_inlined(self, die: DIE, names: dict[int, str], depth: int, inlined: list[_Inlined]) -> None:
        for child in die.iter_children():
            if child.tag == "DW_TAG_inlined_subroutine":
                call = (
                    names.get(_number(child, "DW_AT_call_file", -1), "?"),
                    _number(child, "DW_AT_call_line", 0),
                    _number(child, "DW_AT_call_column", 0),
                )
                if call[1]:
                    inlined += [_Inlined(low, high, depth + 1, call) for low, high in self._ranges(child)]
                self._collect_inlined(child, names, depth + 1, inlined)
            elif child.has_children and child.tag in (
                "DW_TAG_subprogram",
                "DW_TAG_lexical_block",
                "DW_TAG_namespace",
                *_STRUCTS,
            ):
                self._collect_inlined(child, names, depth, inlined)

    def variable_at(self, place: str, number: int, address: int) -> tuple[str, int] | None:
        """Name and line of the variable that is in a place when the instruction at `address` runs.

        Args:
            place: "v", "a" or "s" for a register by its number, "scratch" for a byte of scratch.
        """
        holds = (
            candidate
            for candidate in self._variables
            if candidate.place == place
            and candidate.low <= address < candidate.high
            and candidate.first <= number < candidate.first + candidate.size
        )
        variable = next(holds, None)
        return (variable.name, variable.line) if variable is not None else None

    def variables_at(self, address: int) -> tuple[Located, ...]:
        """Variables that have their own place when the instruction at `address` runs, by name."""
        by_name = {
            variable.name: variable for variable in self._variables if variable.low <= address < variable.high
        }
        return tuple(by_name[name] for name in sorted(by_name))

    def type_of(self, variable: Located) -> Type:
        """The type of a variable."""
        with damage_reported(_WHAT):
            return self._type(_reference(self._dwarf.get_DIE_from_refaddr(variable.entry), "DW_AT_type"))

    def shared_arrays(self, kernel: str, total: int) -> tuple[SharedArray, ...]:
        """Variables in a kernel's `total` bytes of shared memory, as far as `shared_arrays` is certain."""
        with damage_reported(_WHAT):
            function = self._kernels.get(kernel)
            return shared_arrays(function, total) if function is not None and total else ()

    @cached_property
    def _variables(self) -> tuple[Located, ...]:
        with damage_reported(_WHAT):
            return tuple(located(self._dwarf, self._units, self._ranges)) if self._dwarf else ()

    def _ranges(self, die: DIE) -> Iterator[tuple[int, int]]:
        if "DW_AT_low_pc" in die.attributes and "DW_AT_high_pc" in die.attributes:
            low = die.attributes["DW_AT_low_pc"].value
            high = die.attributes["DW_AT_high_pc"]
            yield low, high.value if high.form == "DW_FORM_addr" else low + high.value
        elif "DW_AT_ranges" in die.attributes:
            lists = self._dwarf.range_lists()
            top = die.cu.get_top_DIE().attributes
            base = top["DW_AT_low_pc"].value if "DW_AT_low_pc" in top else 0
            for entry in lists.get_range_list_at_offset(die.attributes["DW_AT_ranges"].value, die.cu):
                if hasattr(entry, "base_address"):
                    base = entry.base_address
                else:
                    start = 0 if getattr(entry, "is_absolute", False) else base
                    yield start + entry.begin_offset, start + entry.end_offset

    def _files(self, unit: Any) -> dict[int, str]:
        """Names of a unit's files by their number in its line program."""
        program = self._dwarf.line_program_for_CU(unit)
        if program is None:
            return {}
        header = program.header
        modern = header["version"] >= 5
        folders = [(f.DW_LNCT_path if hasattr(f, "DW_LNCT_path") else f) for f in header["include_directory"]]
        names = {}
        for number, entry in enumerate(header["file_entry"], 0 if modern else 1):
            name = entry.name.decode(errors="replace")
            folder = entry.dir_index if modern else entry.dir_index - 1
            if not name.startswith("/") and folder >= (1 if modern else 0):
                place = folders[folder] if folder < len(folders) else b""
                name = f"{place.decode(errors='replace') if isinstance(place, bytes) else place}/{name}"
            names[number] = name
        return names

    @cached_property
    def source(self) -> str:
        """Name of the file that was compiled, of several the first; "" if none is recorded."""
        with damage_reported(_WHAT):
            unit = next(iter(self._units), None)
            return _decode(_attribute(unit.get_top_DIE(), "DW_AT_name")) if unit is not None else ""

    # Types

    def parameters(self, kernel: str) -> tuple[Field, ...]:
        """The parameters of a kernel in order, by its symbol name; empty if debug info lacks them.

        Offsets are 0: the metadata says where a parameter lies.
        """
        with damage_reported(_WHAT):
            return self._read_parameters(kernel)

    def _read_parameters(self, kernel: str) -> tuple[Field, ...]:
        die = self._kernels.get(kernel)
        if die is None:
            return ()
        origin = _reference(die, "DW_AT_abstract_origin")
        result = []
        for child in self._children(die, "DW_TAG_formal_parameter"):
            name, kind = _attribute(child, "DW_AT_name"), _reference(child, "DW_AT_type")
            result.append(Field(_decode(name), 0, self._type(kind)))
        if not result and origin is not None:
            result = [
                Field(
                    _decode(_attribute(child, "DW_AT_name")), 0, self._type(_reference(child, "DW_AT_type"))
                )
                for child in self._children(origin, "DW_TAG_formal_parameter")
            ]
        return tuple(result)

    @cached_property
    def _kernels(self) -> dict[str, DIE]:
        kernels: dict[str, DIE] = {}
        for unit in self._units:
            entries = self._entries(unit)
            for offset in entries.with_code:
                if entries.tags[offset] == "DW_TAG_subprogram":
                    die = entries.entry(offset)
                    name = _decode(_attribute(die, "DW_AT_linkage_name") or _attribute(die, "DW_AT_name"))
                    kernels.setdefault(name, die)
        return kernels

    def _entries(self, unit: Any) -> Entries:
        offset = unit.cu_offset
        if offset not in self._scanned:
            self._scanned[offset] = Entries(unit)
        return self._scanned[offset]

    def _children(self, die: DIE, *tags: str) -> Iterator[DIE]:
        return self._entries(die.cu).children(die, tags)

    def _type(self, die: DIE | None, depth: int = 0, pointers: int = 0) -> Type:
        if die is None:
            return Type("unknown", "void", 0)
        tag = die.tag
        if depth > _MAX_DEPTH:
            return Type("unknown", self._qualified(die), _number(die, "DW_AT_byte_size", 0))
        if tag == "DW_TAG_typedef":
            inner = self._type(_reference(die, "DW_AT_type"), depth + 1, pointers)
            alias = _decode(_attribute(die, "DW_AT_name"))
            return Type(
                inner.kind, inner.name, inner.size, inner.target, inner.members, inner.template, alias
            )
        if tag in _QUALIFIERS:
            inner = self._type(_reference(die, "DW_AT_type"), depth + 1, pointers)
            name = _QUALIFIERS[tag] + inner.name
            return Type(
                inner.kind, name, inner.size, inner.target, inner.members, inner.template, inner.alias
            )
        if tag == "DW_TAG_base_type":
            kind = _ENCODINGS.get(_number(die, "DW_AT_encoding", 0), "unknown")
            name = _decode(_attribute(die, "DW_AT_name"))
            return Type(kind, name, _size(die, kind, name, 0))
        if tag == "DW_TAG_enumeration_type":
            inner = self._type(_reference(die, "DW_AT_type"), depth + 1, pointers)
            kind = inner.kind if inner.kind in ("int", "uint") else "uint"
            name = self._qualified(die)
            return Type(kind, name, _size(die, kind, name, inner.size))
        if tag in _POINTERS:
            pointee = _reference(die, "DW_AT_type")
            target = None
            if pointee is not None and pointers < _POINTEE_DEPTH:
                target = self._type(pointee, depth + 1, pointers + 1)
            name = f"{target.name if target else 'void'} {_POINTERS[tag]}"
            return Type("pointer", name, _number(die, "DW_AT_byte_size", 8), target)
        if tag == "DW_TAG_array_type":
            return self._array(die, depth, pointers)
        if tag in _STRUCTS:
            return self._struct(die, depth, pointers)
        return Type("unknown", self._qualified(die), _number(die, "DW_AT_byte_size", 0))

    def _array(self, die: DIE, depth: int, pointers: int) -> Type:
        element = self._type(_reference(die, "DW_AT_type"), depth + 1, pointers)
        count = 1
        for child in self._children(die, "DW_TAG_subrange_type"):
            length = _number(child, "DW_AT_count", -1)
            count *= length if length >= 0 else _number(child, "DW_AT_upper_bound", -1) + 1
        # A vector type of three elements has the size of four.
        size = _number(die, "DW_AT_byte_size", element.size * count)
        return Type("array", f"{element.name}[{count}]", size, element)

    def _struct(self, die: DIE, depth: int, pointers: int) -> Type:
        members: list[Field] = []
        template: list[Any] = []
        for child in self._children(die, *_PARTS_OF_STRUCTS):
            if child.tag == "DW_TAG_template_type_param":
                kind = _reference(child, "DW_AT_type")
                template.append(self._qualified(kind) if kind is not None else "void")
            elif child.tag == "DW_TAG_template_value_param":
                template.append(_constant(child))
            elif child.tag == "DW_TAG_inheritance":
                base = self._type(_reference(child, "DW_AT_type"), depth + 1, pointers)
                offset = _offset(child)
                members += [Field(m.name, m.offset + offset, m.type) for m in base.members]
            elif child.tag == "DW_TAG_member" and not _is_static(child):
                kind_ = self._type(_reference(child, "DW_AT_type"), depth + 1, pointers)
                name, offset = _decode(_attribute(child, "DW_AT_name")), _offset(child)
                if name or kind_.kind != "struct":
                    members.append(Field(name, offset, kind_))
                else:
                    # Members of an anonymous type belong to the outer one.
                    members += [Field(m.name, m.offset + offset, m.type) for m in kind_.members]
                if die.tag == "DW_TAG_union_type" and not _decode(_attribute(die, "DW_AT_name")):
                    # Of members at one offset, the first: a float4 is x, y, z, w and not also one vector.
                    break
        # A declaration alone has no size; a definition elsewhere in the unit would have been referenced.
        return Type(
            "struct",
            self._qualified(die),
            _number(die, "DW_AT_byte_size", 0),
            members=tuple(members),
            template=tuple(template),
        )

    def _qualified(self, die: DIE) -> str:
        """Name of a type with its namespaces."""
        if die.tag in _QUALIFIERS:
            inner = _reference(die, "DW_AT_type")
            return _QUALIFIERS[die.tag] + (self._qualified(inner) if inner is not None else "void")
        if die.tag in _POINTERS:
            inner = _reference(die, "DW_AT_type")
            return f"{self._qualified(inner) if inner is not None else 'void'} {_POINTERS[die.tag]}"
        name = _decode(_attribute(die, "DW_AT_name")) or "(unnamed)"
        entries = self._entries(die.cu)
        parent = entries.parent(die)
        while parent is not None and parent.tag in ("DW_TAG_namespace", *_STRUCTS):
            outer = _decode(_attribute(parent, "DW_AT_name"))
            if outer:
                name = f"{outer}::{name}"
            parent = entries.parent(parent)
        return name


def _reference(die: DIE, name: str) -> DIE | None:
    return die.get_DIE_from_attribute(name) if name in die.attributes else None


def _attribute(die: DIE, name: str, depth: int = 0) -> bytes:
    """A text attribute; that of the declaration, if this entry refers to one."""
    if name in die.attributes:
        value = die.attributes[name].value
        return value if isinstance(value, bytes) else b""
    for link in ("DW_AT_abstract_origin", "DW_AT_specification"):
        other = _reference(die, link)
        if other is not None and depth < _MAX_DEPTH:
            return _attribute(other, name, depth + 1)
    return b""


def _size(die: DIE, kind: str, name: str, default: int) -> int:
    """Bytes of a number; for an integer, its range is computed from them."""
    size = _number(die, "DW_AT_byte_size", default)
    if kind in ("int", "uint") and not 0 < size <= _MAX_INTEGER:
        raise ValueError(f"the integer type {name!r} has {size} bytes")
    return size


def _number(die: DIE, name: str, default: int) -> int:
    value = die.attributes[name].value if name in die.attributes else default
    return value if isinstance(value, int) else default


def _decode(text: bytes) -> str:
    return text.decode(errors="replace")


def _offset(die: DIE) -> int:
    return _number(die, "DW_AT_data_member_location", 0)


def _is_static(die: DIE) -> bool:
    return "DW_AT_external" in die.attributes or "DW_AT_const_value" in die.attributes


def _constant(die: DIE) -> int | bool | None:
    """Value of a template argument; None where DWARF has none (an address)."""
    if "DW_AT_const_value" not in die.attributes:
        return None
    value = die.attributes["DW_AT_const_value"].value
    if not isinstance(value, int):
        return None
    kind = _reference(die, "DW_AT_type")
    if kind is not None and kind.tag == "DW_TAG_base_type":
        bits = 8 * _number(kind, "DW_AT_byte_size", 8)
        encoding = _ENCODINGS.get(_number(kind, "DW_AT_encoding", 0), "")
        if encoding == "bool":
            return bool(value)
        value &= (1 << bits) - 1
        if encoding == "int" and value >> (bits - 1):
            value -= 1 << bits
    return value
