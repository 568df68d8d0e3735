"""Turns the arguments of a kernel into the bytes that the kernel reads.

A plan is made once for a kernel from its debug info (names and types), or without debug info from its
metadata (offsets and sizes). Packing checks every argument before anything runs, and says which argument is
wrong, what came and what was expected.
"""

from __future__ import annotations

import ctypes
import difflib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.codeobject.debug import Field, Type
from workbench.errors import ArgumentError
from workbench.kernel.devices import Place, kind_of
from workbench.kernel.packed import Packed, Strided, Template, is_expanded, shape_in_words, template
from workbench.kernel.parameters import (
    AXES,
    gl_dims,
    is_empty,
    is_gl,
    is_optional,
    is_plain_struct,
    is_to_const,
    members_text,
    text,
    torch_dtypes,
)
from workbench.kernel.scalars import UnfitError, described, is_tensor, scalar_bytes
from workbench.launches import DWORD
from workbench.live_tensors import is_address, tensors_at

if TYPE_CHECKING:
    from workbench.codeobject import CodeObject, KernelInfo
    from workbench.codeobject.debug import DebugInfo


_TEMPLATES = 256
_MOST_ADDRESSES = 1 << 16
"""Number of elements of the largest tensor that is searched for addresses."""


class Plan:
    """Packs the arguments of one kernel.

    Args:
        kernel: the kernel's name in messages.
        arch: target.
        parameters: the kernel's parameters in order, with offsets from the start of the kernel argument
            block.
        size: bytes of the explicit arguments.
        named: True if the parameters' names come from debug info.

    Attributes:
        storages: as in `Packed`.
        words: (name, offset) of every eight bytes of the arguments that may hold an address.
        granularity: the tensor allocator's sizes are multiples of this many bytes, see `Function.launch`.
    """

    storages = False
    granularity = DWORD

    def __init__(
        self, kernel: str, arch: str, parameters: Sequence[Field], size: int, *, named: bool = True
    ) -> None:
        self.kernel = kernel
        self.arch = arch
        self.parameters = tuple(parameters)
        self.size = size
        self.named = named
        self._templates: dict[Any, Template] = {}

    @cached_property
    def taken(self) -> Mapping[str, Type]:
        """Types by the names that arguments may have: those of parameters, and of members of structs."""
        inside = {m.name: m.type for p in self.parameters if is_plain_struct(p.type) for m in p.type.members}
        return {**inside, **{p.name: p.type for p in self.parameters if p.name not in inside}}

    @property
    def signature(self) -> str:
        """Parameters as in source code, with the members of structs that are passed by name."""
        return f"{self.kernel}({', '.join(text(p) for p in self.parameters)})"

    def pack(self, args: Sequence[Any], kwargs: Mapping[str, Any], place: Place) -> Packed:
        """Checks and packs the arguments of one launch.

        Raises:
            ArgumentError: an argument does not fit; the message names it, its value, and what the kernel
                expects.
        """
        values = (*args, *kwargs.values())
        key = self._key(values, kwargs, place)
        cached = self._templates.get(key) if key is not None else None
        if cached is not None:
            filled = cached.filled(values)
            if filled is not None:
                return filled
        packed = self._packed(args, kwargs, place)
        if key is not None:
            prepared = template(packed, dict(enumerate(values)))
            if prepared is not None:
                if len(self._templates) >= _TEMPLATES:
                    self._templates.clear()
                self._templates[key] = prepared
        packed.merge()
        return packed

    def template(
        self, arguments: Mapping[str, Any], place: Place, values: Mapping[Any, Any]
    ) -> Template | None:
        """Template of a launch's packed arguments, if its tensors are these values or views of them; else
        None.

        None if they cannot be identified.

        Raises:
            ArgumentError: see `pack`.
        """
        return None if self.storages else template(self._packed((), arguments, place), values)

    def _packed(self, args: Sequence[Any], kwargs: Mapping[str, Any], place: Place) -> Packed:
        packed = Packed(bytearray(self.size), storages=self.storages)
        for parameter, value in self._assign(args, kwargs):
            self._put(packed, parameter.name, parameter.type, parameter.offset, value, place)
        if place.type == "cpu":
            self.follow(packed, place.has_memory)
        return packed

    def _key(self, values: Sequence[Any], kwargs: Mapping[str, Any], place: Place) -> Any:
        """Key that is equal for arguments packed alike except for addresses; None if that is not known."""
        if self.storages:
            return None
        parts: list[Any] = [place.device, *kwargs]
        plain = _plain_tensors()
        for value in values:
            kind = type(value)
            if kind is Strided:
                value = value.tensor
                parts.append(Strided)
            if type(value) in plain.types and value.layout is plain.layout:
                dtype = value.dtype
                if value.is_conj() or value.is_neg():
                    return None
                if dtype in plain.wide and _may_have_addresses(value):
                    return None
                parts += (dtype, value.shape, value.stride(), value.is_cpu or value.device)
            elif kind is int and is_address(value):
                # Another tensor may be at that address next time.
                return None
            elif kind is int or kind is bool or value is None:
                parts += (kind, value)
            elif kind is float:
                # -0.0 equals 0.0.
                parts += (kind, value.hex())
            else:
                return None
        return tuple(parts)

    @cached_property
    def words(self) -> tuple[tuple[str, int], ...]:
        return tuple(word for p in self.parameters for word in _words(p.name, p.type, p.offset))

    def follow(self, packed: Packed, has_memory: Callable[[int], bool]) -> None:
        """References to live tensors whose addresses are in the arguments, or in tensors found this way.

        A GPU, too, can follow any address. A struct passed as bytes may also contain addresses.

        Args:
            has_memory: returns True for an address in the device's own allocations; no tensor is looked up
                there.
        """
        of_tensors = {offset for offset in packed.offsets if offset is not None}
        places: dict[int, tuple[str, str]] = {}
        for name, offset in self.words:
            if offset not in of_tensors:
                number = int.from_bytes(packed.data[offset : offset + 8], "little")
                places.setdefault(number, (name, ", an address"))
        tables = list(zip(packed.arguments, packed.tensors, strict=True))
        while places or tables:
            for name, tensor in tables:
                if _may_have_addresses(tensor):
                    for n, number in enumerate(_numbers(tensor)):
                        places.setdefault(number, (name, f", address {n}"))
            tables = []
            outside = [
                address
                for address in places
                if is_address(address) and not packed.holds(address) and not has_memory(address)
            ]
            for address, tensor in tensors_at(outside).items():
                if not packed.holds(address):
                    name, place = places[address]
                    packed.hold(name, tensor, place=place)
                    tables.append((name, tensor))
            places = {}

    def _assign(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterable[tuple[Field, Any]]:
        parameters = self.parameters
        if len(args) > len(parameters):
            raise ArgumentError(
                f"{self.kernel} takes {_count(len(parameters), 'argument')}, {len(args)} were given; "
                f"its signature is {self.signature}"
            )
        values: dict[str, Any] = {p.name: value for p, value in zip(parameters, args, strict=False)}
        rest = dict(kwargs)
        if rest and not self.named:
            raise ArgumentError(
                f"{self.kernel} was compiled without debug info, so its parameters have no names; "
                f"got {', '.join(rest)} by name. Pass its {len(parameters)} arguments in order"
            )
        for p in parameters:
            if p.name in rest and not _is_own_member(p, rest[p.name]):
                if p.name in values:
                    raise ArgumentError(
                        f"{self.kernel}: argument {p.name!r} was given twice, in order and by name"
                    )
                values[p.name] = rest.pop(p.name)
        # The rest must be members of the structs that were not passed as a whole.
        for p in parameters:
            if p.name not in values and is_plain_struct(p.type):
                values[p.name] = {m.name: rest.pop(m.name) for m in p.type.members if m.name in rest}
        if rest:
            raise ArgumentError(self._unknown(next(iter(rest))))
        for p in parameters:
            if p.name not in values:
                if not is_optional(p):
                    raise ArgumentError(
                        f"{self.kernel}: argument {p.name!r} ({p.type.name}) is missing; "
                        f"its signature is {self.signature}"
                    )
                values[p.name] = None
            yield p, values[p.name]

    def _unknown(self, name: str) -> str:
        names = [p.name for p in self.parameters]
        for p in self.parameters:
            if is_plain_struct(p.type):
                names += [m.name for m in p.type.members if not is_empty(m.type)]
        close = difflib.get_close_matches(name, names, n=2)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        return f"{self.kernel} has no argument {name!r}; it takes {', '.join(names) or 'none'}{hint}"

    def _put(self, packed: Packed, name: str, kind: Type, offset: int, value: Any, place: Place) -> None:
        end = offset + kind.size
        if isinstance(value, (bytes, bytearray, memoryview)):
            if len(bytes(value)) != kind.size:
                raise self._wrong(
                    name, f"{len(bytes(value))} bytes", f"{kind.name or 'a value'} of {kind.size} bytes"
                )
            packed.data[offset:end] = bytes(value)
        elif isinstance(value, (ctypes.Structure, ctypes.Union, ctypes.Array)):
            if ctypes.sizeof(value) != kind.size:
                came = f"a {type(value).__name__} of {ctypes.sizeof(value)} bytes"
                raise self._wrong(name, came, f"{kind.name or 'a value'} of {kind.size} bytes")
            packed.data[offset:end] = bytes(value)
        elif kind.kind == "struct":
            if is_gl(kind):
                self._put_gl(packed, name, kind, offset, value, place)
            else:
                self._put_struct(packed, name, kind, offset, value, place)
        elif kind.kind == "pointer":
            address = self._address(packed, name, kind, offset, value, place)
            packed.data[offset:end] = address.to_bytes(8, "little")
        elif kind.kind == "array":
            self._put_array(packed, name, kind, offset, value, place)
        elif is_tensor(value):
            shape = f"a tensor of shape {tuple(value.shape)}"
            hint = "; take the number out with .item()" if value.numel() == 1 else ""
            raise self._wrong(name, shape, f"{kind.name or 'a number'}{hint}")
        else:
            try:
                packed.data[offset:end] = scalar_bytes(kind, value)
            except UnfitError as error:
                raise self._wrong(name, error.came, error.wanted) from None

    def _put_struct(
        self, packed: Packed, name: str, kind: Type, offset: int, value: Any, place: Place
    ) -> None:
        if not isinstance(value, Mapping):
            members = ", ".join(m.name for m in kind.members if not is_empty(m.type))
            raise self._wrong(
                name,
                described(value),
                f"{kind.name}: its members by name ({members}), a ctypes.Structure or bytes",
            )
        by_name = {m.name: m for m in kind.members}
        for key in value:
            if key not in by_name:
                raise ArgumentError(
                    f"{self.kernel}: {kind.name} has no member {key!r}; it has {', '.join(by_name)}"
                )
        missing = [
            m for m in kind.members if m.name not in value and not is_optional(m) and not is_empty(m.type)
        ]
        if missing:
            needed = ", ".join(f"{m.name} ({m.type.name})" for m in missing)
            raise ArgumentError(f"{self.kernel}: missing {needed}; {kind.name} takes {members_text(kind)}")
        for m in kind.members:
            if m.name in value:
                self._put(packed, m.name, m.type, offset + m.offset, value[m.name], place)

    def _put_gl(self, packed: Packed, name: str, kind: Type, offset: int, value: Any, place: Place) -> None:
        if value is None:
            # Like a null pointer: no memory, and no rows or columns unless the type fixes them.
            return
        members = {m.name: m for m in kind.members}
        steps = [axis for axis in AXES if f"{axis}_stride" in members]
        strided = isinstance(value, Strided) or bool(steps)
        if isinstance(value, Strided):
            value = value.tensor
        if not is_tensor(value):
            raise self._wrong(name, described(value), f"a torch tensor for {kind.name}")
        dims = gl_dims(kind)
        pointer = members["raw_ptr"]
        self._check_tensor(
            name, value, torch_dtypes(pointer.type.target or kind.template[0], self.arch), place, strided
        )
        if value.dim() > len(AXES):
            raise self._wrong(name, f"a tensor of {value.dim()} dimensions {tuple(value.shape)}", "at most 4")
        shape = (1,) * (len(AXES) - value.dim()) + tuple(value.shape)
        for axis, fixed, size in zip(AXES, dims, shape, strict=True):
            if fixed >= 0 and size != fixed:
                raise self._wrong(
                    name,
                    f"shape {tuple(value.shape)} with {axis} {size}",
                    f"{axis} {fixed}, which {kind.name} fixes at compile time",
                )
            if fixed < 0:
                _put_number(packed, members[f"{axis}_internal"], offset, size)
        for axis in steps:
            back = AXES.index(axis) - len(AXES)
            has_axis = -back <= value.dim()
            _put_number(packed, members[f"{axis}_stride"], offset, value.stride(back) if has_axis else 0)
        apart = value.dim() > 0 and value.shape[-1] > 1 and value.stride(-1) != 1
        if steps and apart and "cols_stride" not in members:
            raise self._wrong(
                name,
                f"a tensor of strides {tuple(value.stride())}",
                "one whose columns are next to each other; make it so with .contiguous()",
            )
        start = offset + pointer.offset
        packed.data[start : start + 8] = value.data_ptr().to_bytes(8, "little")
        packed.hold(name, value, start)

    def _put_array(
        self, packed: Packed, name: str, kind: Type, offset: int, value: Any, place: Place
    ) -> None:
        element = kind.target
        count = kind.size // element.size if element is not None and element.size else 0
        items = list(value) if isinstance(value, Sequence) or hasattr(value, "__array__") else None
        if items is None or element is None or len(items) != count:
            raise self._wrong(name, described(value), f"{count} values for {kind.name}")
        for i, item in enumerate(items):
            self._put(packed, f"{name}[{i}]", element, offset + i * element.size, item, place)

    def _address(self, packed: Packed, name: str, kind: Type, offset: int, value: Any, place: Place) -> int:
        if value is None:
            return 0
        strided = isinstance(value, Strided)
        if strided:
            value = value.tensor
        if is_tensor(value):
            self._check_tensor(name, value, torch_dtypes(kind.target, self.arch), place, strided=True)
            if not strided and self.named and not is_to_const(kind) and is_expanded(value):
                raise self._wrong(
                    name,
                    f"an expanded tensor ({shape_in_words(value)}), whose elements share memory",
                    f"one with memory for each element, since a kernel may write through {kind.name}. If it "
                    "only reads, declare the parameter const, or pass the tensor that was expanded, whose "
                    "memory is the same; if it writes, pass a tensor with memory for each element",
                )
            packed.hold(name, value, offset)
            return int(value.data_ptr())
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64:
            return value
        expected = f"a torch tensor for {kind.name}"
        if type(value).__module__.startswith("numpy") and getattr(value, "shape", None):
            raise self._wrong(name, described(value), f"{expected}; wrap the array with torch.from_numpy")
        raise self._wrong(name, described(value), expected)

    def _check_tensor(
        self, name: str, tensor: Any, dtypes: tuple[str, ...], place: Place, strided: bool = False
    ) -> None:
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtypes and dtype not in dtypes:
            raise self._wrong(name, f"a {dtype} tensor", f"{dtypes[0]}; {_cast(tensor, dtypes[0])}")
        where, kind = tensor.device, kind_of(tensor)
        index = where.index if where.index is not None else (0 if kind == "cuda" else None)
        if kind != place.type or (place.index is not None and index != place.index):
            device = place.type if place.index is None else f"{place.type}:{place.index}"
            raise self._wrong(
                name,
                f"a tensor on {where}",
                f"one on {device}, where {place.device} has its memory; move it with .to({device!r})",
            )
        if tensor.layout is not _strided():
            raise self._wrong(name, f"a tensor of layout {tensor.layout}", "a dense one, from .to_dense()")
        for lazy, resolve in (("conj", "conjugated"), ("neg", "negated")):
            if getattr(tensor, f"is_{lazy}")():
                raise self._wrong(
                    name,
                    f"a view that PyTorch has {resolve} without touching its memory",
                    f"one whose memory has its values, from .resolve_{lazy}()",
                )
        if not (strided or tensor.is_contiguous()):
            raise self._wrong(
                name,
                f"a non-contiguous tensor ({shape_in_words(tensor)})",
                "a contiguous one, since a gl<...> computes addresses from sizes alone: pass a copy, from "
                ".contiguous(), and bring back what the kernel writes to it with .copy_(); a gl_strided<...> "
                "takes the view itself",
            )

    def _wrong(self, name: str, came: str, expected: str) -> ArgumentError:
        return ArgumentError(f"{self.kernel}: argument {name!r} is {came}; expected {expected}")


def _put_number(packed: Packed, member: Field, offset: int, value: int) -> None:
    """Writes a dimension or a stride of a `gl`, an integer or a struct around one."""
    inner = next((m for m in member.type.members if m.name == "v"), None)
    start = offset + member.offset + (inner.offset if inner is not None else 0)
    width = inner.type.size if inner is not None else member.type.size
    packed.data[start : start + width] = value.to_bytes(width, "little")


def _is_own_member(parameter: Field, value: Any) -> bool:
    """True if a value is for the member of a struct that has the parameter's own name."""
    whole = isinstance(value, (Mapping, bytes, bytearray, memoryview, ctypes.Structure, ctypes.Union))
    kind = parameter.type
    return not whole and is_plain_struct(kind) and any(m.name == parameter.name for m in kind.members)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _words(name: str, kind: Type, offset: int) -> Iterator[tuple[str, int]]:
    """(name, offset) of each eight bytes of a parameter that may be an address."""
    if kind.kind == "struct":
        for m in kind.members:
            yield from _words(f"{name}.{m.name}", m.type, offset + m.offset)
    elif kind.kind == "array" and kind.target is not None and kind.target.size:
        for i in range(kind.size // kind.target.size):
            yield from _words(f"{name}[{i}]", kind.target, offset + i * kind.target.size)
    elif kind.kind in ("pointer", "int", "uint", "unknown"):
        yield from ((name, offset + at) for at in range(0, kind.size - 7, 8))


def _may_have_addresses(tensor: Any) -> bool:
    """True for a table of few 64-bit integers in this computer's memory, which may be addresses."""
    return tensor.dtype in _plain_tensors().wide and tensor.is_cpu and tensor.numel() <= _MOST_ADDRESSES


def _numbers(tensor: Any) -> list[int]:
    """The numbers of a table; none if all are too small for an address."""
    import torch

    numbers = tensor.view(torch.int64)
    return numbers.flatten().tolist() if numbers.numel() and is_address(int(numbers.max())) else []


def _strided() -> Any:
    import torch

    return torch.strided


def _cast(tensor: Any, dtype: str) -> str:
    """Conversion of a tensor to another dtype: by value, or by its bytes, which a kernel may then write."""
    import torch

    as_bytes = f".view(torch.{dtype})"
    if tensor.element_size() != getattr(torch, dtype).itemsize:
        return f"convert with .to(torch.{dtype})"
    if tensor.element_size() == 1:
        return f"pass its bytes as they are with {as_bytes}"
    return f"convert with .to(torch.{dtype}), or pass its bytes as they are with {as_bytes}"


class _PlainTensors(NamedTuple):
    """Tensors that type, dtype, shape and strides fully describe: types, layout; 64-bit integer dtypes."""

    types: frozenset[Any]
    layout: Any
    wide: frozenset[Any]


_NO_TENSORS = _PlainTensors(frozenset(), None, frozenset())


def _plain_tensors() -> _PlainTensors:
    """PyTorch's plain tensor types, layout and 64-bit integers; empty if PyTorch is not imported."""
    torch = sys.modules.get("torch")
    return _NO_TENSORS if torch is None else _plain_tensors_of(torch)


@cache
def _plain_tensors_of(torch: ModuleType) -> _PlainTensors:
    # PyTorch 2.2 has no uint64.
    wide = (getattr(torch, name, torch.int64) for name in ("int64", "uint64"))
    return _PlainTensors(frozenset((torch.Tensor, torch.nn.Parameter)), torch.strided, frozenset(wide))


def plan(info: KernelInfo, code_object: CodeObject, debug: DebugInfo | None, name: str) -> Plan:
    """The plan of a kernel from its debug info, or from its metadata without debug info."""
    arch = code_object.target
    visible = [a for a in info.args if not a.hidden]
    size = info.own_bytes
    parameters = debug.parameters(info.name) if debug is not None else ()
    if parameters and len(parameters) == len(visible):
        fields = [Field(p.name, a.offset, p.type) for p, a in zip(parameters, visible, strict=True)]
        return Plan(name, arch, fields, size)
    fields = []
    for i, a in enumerate(visible):
        buffer = a.value_kind in ("global_buffer", "dynamic_shared_pointer")
        kind = Type("pointer" if buffer else "unknown", a.type_name or ("void *" if buffer else ""), a.size)
        fields.append(Field(a.name or f"argument {i}", a.offset, kind))
    return Plan(name, arch, fields, size, named=False)
