"""Turns what a user passes to a kernel into the bytes that the kernel reads.

A plan is made once for a kernel from its debug info (names and types), or from its metadata alone (offsets
and sizes) where there is none. Packing checks every argument before anything runs, and says which argument is
wrong, what came and what was wanted.
"""

from __future__ import annotations

import ctypes
import difflib
import math
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.codeobject.debug import Field, Type
from workbench.errors import ArgumentError
from workbench.kernel.devices import Place
from workbench.targets import target

if TYPE_CHECKING:
    import torch

    from workbench.codeobject import CodeObject, KernelInfo
    from workbench.codeobject.debug import DebugInfo

AXES = ("batch", "depth", "rows", "cols")
"""The four axes of a `gl`, outermost first; a tensor of fewer dimensions is aligned to the right."""


@dataclass
class Packed:
    """Arguments ready for a launch.

    Attributes:
        data: the bytes of the explicit kernel arguments.
        buffers: memory that the kernel may touch, (address, bytes), sorted, without overlaps.
        labels: what each of them is, by address, for messages: "argument 'x' (bfloat16 tensor 4096x512)".
        names: what each tensor with memory is, in the order in which they were given.
        tensors: the tensors, kept alive until the launch has ended.
    """

    data: bytearray
    buffers: list[tuple[int, int]] = field(default_factory=list)
    labels: dict[int, str] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    tensors: list[torch.Tensor] = field(default_factory=list)

    @property
    def argument_bytes(self) -> int:
        """Bytes of all buffers, each byte once."""
        return sum(size for _, size in self.buffers)


# PyTorch dtypes that may stand for an element type; the first is the one that messages name. Signedness is
# forgiven where PyTorch has (or had) no unsigned type of that width.
_DTYPES: Mapping[str, tuple[str, ...]] = {
    "float": ("float32",),
    "double": ("float64",),
    "__bf16": ("bfloat16",),
    "bf16": ("bfloat16",),
    "__hip_bfloat16": ("bfloat16",),
    "hip_bfloat16": ("bfloat16",),
    "_Float16": ("float16",),
    "__half": ("float16",),
    "half": ("float16",),
    "__fp16": ("float16",),
    "bool": ("bool",),
    "char": ("int8", "uint8"),
    "signed char": ("int8",),
    "unsigned char": ("uint8",),
    "short": ("int16",),
    "unsigned short": ("uint16", "int16"),
    "int": ("int32",),
    "unsigned int": ("uint32", "int32"),
    "long": ("int64",),
    "long long": ("int64",),
    "unsigned long": ("uint64", "int64"),
    "unsigned long long": ("uint64", "int64"),
    "__hip_fp8_e4m3": ("float8_e4m3fn",),
    "__hip_fp8_e4m3_fnuz": ("float8_e4m3fnuz",),
    "__hip_fp8_e5m2": ("float8_e5m2",),
    "__hip_fp8_e5m2_fnuz": ("float8_e5m2fnuz",),
}


def _bare(name: str) -> str:
    return name.replace("const ", "").replace("volatile ", "").rpartition("::")[2].strip()


def torch_dtypes(element: Type | str | None, arch: str) -> tuple[str, ...]:
    """Names of PyTorch dtypes that hold elements of a C++ type; empty where any will do (void, structs)."""
    if element is None:
        return ()
    names = (element,) if isinstance(element, str) else (element.name, element.alias)
    fp8 = target(arch).fp8
    # The tile library's names mean the target's own encoding; HIP's say which one they mean.
    own = {"fp8e4m3": (fp8.e4m3,), "fp8e5m2": (fp8.e5m2,)} if fp8 is not None else {}
    known = {**_DTYPES, **own}
    for name in names:
        bare = _bare(name)
        if bare in known:
            return known[bare]
    return ()


class Plan:
    """How one kernel takes its arguments.

    Args:
        kernel: the kernel's name in messages.
        arch: target.
        parameters: in order, offsets from the start of the kernel argument block.
        size: bytes of the explicit arguments.
        named: whether the names come from debug info.
    """

    def __init__(
        self, kernel: str, arch: str, parameters: Sequence[Field], size: int, *, named: bool = True
    ) -> None:
        self.kernel = kernel
        self.arch = arch
        self.parameters = tuple(parameters)
        self.size = size
        self.named = named

    @property
    def signature(self) -> str:
        """Parameters as one would write them, with the members of structs that are given by name."""
        return f"{self.kernel}({', '.join(_show(p) for p in self.parameters)})"

    def pack(self, args: Sequence[Any], kwargs: Mapping[str, Any], place: Place) -> Packed:
        """Checks and packs the arguments of one launch.

        Raises:
            ArgumentError: which argument is wrong, what came, what was wanted.
        """
        packed = Packed(bytearray(self.size))
        for parameter, value in self._assign(args, kwargs):
            self._put(packed, parameter.name, parameter.type, parameter.offset, value, place)
        given = packed.buffers
        packed.buffers = _merge(given)
        packed.labels = _labels(packed.buffers, given, packed.names)
        return packed

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
            if p.name in rest:
                if p.name in values:
                    raise ArgumentError(
                        f"{self.kernel}: argument {p.name!r} was given twice, in order and by name"
                    )
                values[p.name] = rest.pop(p.name)
        # What is left must be members of the structs that were not given as a whole.
        for p in parameters:
            if p.name not in values and _is_plain_struct(p.type):
                values[p.name] = {m.name: rest.pop(m.name) for m in p.type.members if m.name in rest}
        if rest:
            raise ArgumentError(self._unknown(next(iter(rest))))
        for p in parameters:
            if p.name not in values:
                if not _optional(p):
                    raise ArgumentError(
                        f"{self.kernel}: argument {p.name!r} ({p.type.name}) is missing; "
                        f"its signature is {self.signature}"
                    )
                values[p.name] = None
            yield p, values[p.name]

    def _unknown(self, name: str) -> str:
        known = [p.name for p in self.parameters]
        for p in self.parameters:
            if _is_plain_struct(p.type):
                known += [m.name for m in p.type.members if not _is_empty(m.type)]
        close = difflib.get_close_matches(name, known, n=2)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        return f"{self.kernel} has no argument {name!r}; it takes {', '.join(known) or 'none'}{hint}"

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
            packed.data[offset:end] = self._address(packed, name, kind, value, place).to_bytes(8, "little")
        elif kind.kind == "array":
            self._put_array(packed, name, kind, offset, value, place)
        elif _is_tensor(value):
            shape = f"a tensor of shape {tuple(value.shape)}"
            hint = "; take the number out with .item()" if value.numel() == 1 else ""
            raise self._wrong(name, shape, f"{kind.name or 'a number'}{hint}")
        else:
            packed.data[offset:end] = self._scalar(name, kind, value)

    def _put_struct(
        self, packed: Packed, name: str, kind: Type, offset: int, value: Any, place: Place
    ) -> None:
        if not isinstance(value, Mapping):
            members = ", ".join(m.name for m in kind.members if not _is_empty(m.type))
            raise self._wrong(
                name,
                _came(value),
                f"{kind.name}: its members by name ({members}), a ctypes.Structure or bytes",
            )
        known = {m.name: m for m in kind.members}
        for key in value:
            if key not in known:
                raise ArgumentError(
                    f"{self.kernel}: {kind.name} has no member {key!r}; it has {', '.join(known)}"
                )
        missing = [
            m for m in kind.members if m.name not in value and not _optional(m) and not _is_empty(m.type)
        ]
        if missing:
            needed = ", ".join(f"{m.name} ({m.type.name})" for m in missing)
            raise ArgumentError(f"{self.kernel}: missing {needed}; {kind.name} takes {_members(kind)}")
        for m in kind.members:
            if m.name in value:
                self._put(packed, m.name, m.type, offset + m.offset, value[m.name], place)

    def _put_gl(self, packed: Packed, name: str, kind: Type, offset: int, value: Any, place: Place) -> None:
        if not _is_tensor(value):
            raise self._wrong(name, _came(value), f"a torch tensor for {kind.name}")
        dims = gl_dims(kind)
        members = {m.name: m for m in kind.members}
        pointer = members["raw_ptr"]
        self._check_tensor(
            name, value, torch_dtypes(pointer.type.target or kind.template[0], self.arch), place
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
                member = members[f"{axis}_internal"]
                inner = next((m for m in member.type.members if m.name == "v"), None)
                start = offset + member.offset + (inner.offset if inner is not None else 0)
                width = inner.type.size if inner is not None else member.type.size
                packed.data[start : start + width] = size.to_bytes(width, "little")
        start = offset + pointer.offset
        packed.data[start : start + 8] = value.data_ptr().to_bytes(8, "little")
        _hold(packed, name, value)

    def _put_array(
        self, packed: Packed, name: str, kind: Type, offset: int, value: Any, place: Place
    ) -> None:
        element = kind.target
        count = kind.size // element.size if element is not None and element.size else 0
        items = list(value) if isinstance(value, Sequence) or hasattr(value, "__array__") else None
        if items is None or element is None or len(items) != count:
            raise self._wrong(name, _came(value), f"{count} values for {kind.name}")
        for i, item in enumerate(items):
            self._put(packed, f"{name}[{i}]", element, offset + i * element.size, item, place)

    def _address(self, packed: Packed, name: str, kind: Type, value: Any, place: Place) -> int:
        if value is None:
            return 0
        if _is_tensor(value):
            self._check_tensor(name, value, torch_dtypes(kind.target, self.arch), place)
            _hold(packed, name, value)
            return int(value.data_ptr())
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64:
            return value
        wanted = f"a torch tensor for {kind.name}"
        if type(value).__module__.startswith("numpy") and getattr(value, "shape", None):
            raise self._wrong(name, _came(value), f"{wanted}; wrap the array with torch.from_numpy")
        raise self._wrong(name, _came(value), wanted)

    def _check_tensor(self, name: str, tensor: Any, dtypes: tuple[str, ...], place: Place) -> None:
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtypes and dtype not in dtypes:
            raise self._wrong(name, f"a {dtype} tensor", f"{dtypes[0]}; convert with .to(torch.{dtypes[0]})")
        where = tensor.device
        index = where.index if where.index is not None else (0 if where.type == "cuda" else None)
        if where.type != place.type or (place.index is not None and index != place.index):
            wanted = place.type if place.index is None else f"{place.type}:{place.index}"
            raise self._wrong(
                name,
                f"a tensor on {where}",
                f"one on {wanted}, where {place.device} has its memory; move it with .to({wanted!r})",
            )
        if tensor.layout is not _strided() or not tensor.is_contiguous():
            came = f"a non-contiguous tensor (shape {tuple(tensor.shape)}"
            came += (
                f", stride {tuple(tensor.stride())})"
                if tensor.layout is _strided()
                else f", {tensor.layout})"
            )
            raise self._wrong(name, came, "a contiguous one; make it so with .contiguous()")

    def _scalar(self, name: str, kind: Type, value: Any) -> bytes:
        number = value
        if (
            type(value).__module__ == "numpy"
            and hasattr(value, "item")
            and getattr(value, "shape", None) == ()
        ):
            if kind.kind == "unknown" and value.dtype.itemsize == kind.size:
                return bytes(value.tobytes())
            number = value.item()
        elif isinstance(value, ctypes._SimpleCData):
            if ctypes.sizeof(value) != kind.size:
                raise self._wrong(
                    name, f"a {type(value).__name__} of {ctypes.sizeof(value)} bytes", f"{kind.size} bytes"
                )
            return bytes(value)
        if kind.kind == "unknown":
            return self._untyped(name, kind, number)
        if kind.kind == "bool":
            if not isinstance(number, bool):
                raise self._wrong(name, _came(value), "True or False (bool)")
            return bytes([number])
        if kind.kind in ("int", "uint"):
            if not isinstance(number, int):
                raise self._wrong(name, _came(value), f"an integer ({kind.name})")
            low, high = _int_range(kind)
            if not low <= number <= high:
                raise self._wrong(name, str(number), f"a value from {low} to {high} ({kind.name})")
            return number.to_bytes(kind.size, "little", signed=kind.kind == "int")
        if kind.kind == "float":
            if isinstance(number, bool) or not isinstance(number, (int, float)):
                raise self._wrong(name, _came(value), f"a number ({kind.name})")
            return self._float(name, kind, number)
        raise self._wrong(name, _came(value), f"{kind.name}, which only bytes or a ctypes.Structure can give")

    def _float(self, name: str, kind: Type, value: int | float) -> bytes:
        try:
            number = float(value)
        except OverflowError:
            wanted = f"a value that {kind.name} can hold"
            raise self._wrong(name, "an int beyond every float", wanted) from None
        if kind.size == 8:
            return struct.pack("<d", number)
        narrow = "bf16" in kind.name or "bfloat16" in kind.name
        code = {4: "<f", 2: "<f" if narrow else "<e"}.get(kind.size)
        if code is None:
            raise self._wrong(name, repr(number), f"{kind.name}, which only bytes can give")
        try:
            data = struct.pack(code, number)
            if narrow and math.isfinite(number):
                data = _round_bf16(data)
                if data[2:] in (b"\x80\x7f", b"\x80\xff"):
                    raise OverflowError
        except OverflowError:
            raise self._wrong(name, repr(number), f"a value that {kind.name} can hold") from None
        return data[2:] if narrow else data

    def _untyped(self, name: str, kind: Type, number: Any) -> bytes:
        """Without debug info a number is what it came as: an int an integer, a float a float or double."""
        if isinstance(number, int) and kind.size in (1, 2, 4, 8):
            bits = 8 * kind.size
            if not -(1 << (bits - 1)) <= number < 1 << bits:
                raise self._wrong(name, str(number), f"a value of {kind.size} bytes")
            return (number & ((1 << bits) - 1)).to_bytes(kind.size, "little")
        if isinstance(number, float) and kind.size in (4, 8):
            return self._float(
                name, Type("float", "float" if kind.size == 4 else "double", kind.size), number
            )
        raise self._wrong(
            name,
            _came(number),
            f"{kind.size} bytes (no debug info: bytes, a ctypes.Structure or a NumPy scalar)",
        )

    def _wrong(self, name: str, came: str, wanted: str) -> ArgumentError:
        return ArgumentError(f"{self.kernel}: argument {name!r} is {came}; wanted {wanted}")


def is_gl(kind: Type) -> bool:
    """Whether a type is a `gl`, the tile library's view of global memory."""
    names = {m.name for m in kind.members}
    return kind.kind == "struct" and _bare_template(kind.name) == "gl" and "raw_ptr" in names


def gl_dims(kind: Type) -> tuple[int, int, int, int]:
    """The compile-time dimensions (b, d, r, c) of a `gl`; -1 where one is given at run time."""
    values = [v for v in kind.template[1:] if isinstance(v, int)][: len(AXES)]
    if len(values) != len(AXES):
        raise ArgumentError(
            f"{kind.name}: wanted a gl<T, b, d, r, c>, found template arguments {kind.template}"
        )
    b, d, r, c = values
    return b, d, r, c


def _bare_template(name: str) -> str:
    return _bare(name.partition("<")[0])


def _is_plain_struct(kind: Type) -> bool:
    return kind.kind == "struct" and not is_gl(kind)


def _is_empty(kind: Type) -> bool:
    return kind.kind == "struct" and not kind.members


def _optional(member: Field) -> bool:
    """A HIP stream: the workbench launches on its own."""
    kind = member.type
    names = f"{kind.name} {kind.alias} {kind.target.name if kind.target else ''}"
    return (
        member.name == "stream" and kind.kind == "pointer" and ("ihipStream" in names or "hipStream" in names)
    )


def _members(kind: Type) -> str:
    return ", ".join(
        m.name + (" (optional)" if _optional(m) else "") for m in kind.members if not _is_empty(m.type)
    )


def _show(parameter: Field) -> str:
    kind = parameter.type
    if _is_plain_struct(kind):
        inner = "; ".join(f"{_named(m.type)} {m.name}" for m in kind.members if not _is_empty(m.type))
        return f"{_named(kind)} {parameter.name} {{{inner}}}"
    return f"{_named(kind)} {parameter.name}"


def _named(kind: Type) -> str:
    """A type as the source calls it; a `gl` in full, because its dimensions are what a caller must fit."""
    return kind.name.replace("kittens::", "") if is_gl(kind) else kind.alias or kind.name


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _came(value: Any) -> str:
    if _is_tensor(value):
        return f"a tensor of shape {tuple(value.shape)}"
    if value is None:
        return "None"
    if isinstance(value, (bool, int, float, str)):
        return f"{type(value).__name__} {value!r}"
    return f"a {type(value).__name__}"


def _int_range(kind: Type) -> tuple[int, int]:
    bits = 8 * kind.size
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if kind.kind == "int" else (0, (1 << bits) - 1)


def _round_bf16(data: bytes) -> bytes:
    """A float's bytes with the low half rounded away, to nearest even."""
    bits = int.from_bytes(data, "little")
    bits += 0x7FFF + (bits >> 16 & 1)
    return (bits & 0xFFFF0000).to_bytes(4, "little")


def _is_tensor(value: Any) -> bool:
    # Not isinstance: torch is imported only by those who use it, and then it is in the value's own type.
    return any(base.__module__ == "torch" and base.__name__ == "Tensor" for base in type(value).__mro__)


def _strided() -> Any:
    import torch

    return torch.strided


def _hold(packed: Packed, name: str, tensor: Any) -> None:
    size = tensor.numel() * tensor.element_size()
    packed.tensors.append(tensor)
    if size:
        packed.buffers.append((int(tensor.data_ptr()), size))
        dtype = str(tensor.dtype).removeprefix("torch.")
        shape = "x".join(map(str, tensor.shape)) or "of one value"
        packed.names.append(f"{name!r} ({dtype} tensor {shape})")


def _labels(
    merged: Sequence[tuple[int, int]], given: Sequence[tuple[int, int]], names: Sequence[str]
) -> dict[int, str]:
    """What each piece of memory is: one argument, or the arguments that share it."""
    labels = {}
    for base, size in merged:
        inside = [name for (start, _), name in zip(given, names, strict=True) if base <= start < base + size]
        parts = list(dict.fromkeys(inside))
        labels[base] = f"argument{'s' if len(parts) > 1 else ''} {' and '.join(parts)}"
    return labels


def _merge(buffers: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges without overlaps: two arguments may be views of the same memory."""
    merged: list[tuple[int, int]] = []
    for start, size in sorted(buffers):
        if merged and start < merged[-1][0] + merged[-1][1]:
            last, length = merged[-1]
            merged[-1] = (last, max(length, start + size - last))
        else:
            merged.append((start, size))
    return merged


def plan(info: KernelInfo, code_object: CodeObject, debug: DebugInfo | None, name: str) -> Plan:
    """The plan of a kernel from its debug info, or from its metadata where there is none."""
    arch = code_object.target
    visible = [a for a in info.args if not a.hidden]
    size = max((a.offset + a.size for a in visible), default=0)
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
