"""Arguments in the form for a launch: bytes, and the memory that they point to."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.launches import BufferLabel, Watched
from workbench.live_tensors import extent, tensor_text
from workbench.runtime.backend import merged

if TYPE_CHECKING:
    import torch


_put_address = struct.Struct("<Q").pack_into


@dataclass(frozen=True)
class Strided:
    """A view whose strides the kernel gets other than from the tensor, such as q of a fused QKV.

    Operators copy other strided views that their kernels take as pointers.
    """

    tensor: torch.Tensor


@dataclass
class Packed:
    """Arguments ready for a launch.

    Attributes:
        data: the bytes of the explicit kernel arguments.
        buffers: memory that the kernel may touch, (address, bytes), in the order of the
            arguments, without overlaps.
        labels: description of each buffer by address, for messages: "argument 'x' (bfloat16 tensor
            4096x512)".
        names: description of each tensor with memory, in the order of the arguments; `elements`: bytes of an
            element if the buffer begins with the tensor's first element, else 0.
        tensors: the tensors, kept alive until the launch has ended; `offsets`: offset of each address in
            `data`; `arguments`: name of the argument that each tensor is, or that leads to it.
        known_bytes: `argument_bytes` if known in advance.
        storages: True if a tensor stands for its whole storage, as pointers into it do on a GPU; else it is
            the memory from its first element to its last.
    """

    data: bytearray
    buffers: list[tuple[int, int]] = field(default_factory=list)
    labels: dict[int, BufferLabel] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    elements: list[int] = field(default_factory=list)
    tensors: list[torch.Tensor] = field(default_factory=list)
    offsets: list[int | None] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    storages: bool = False
    known_bytes: int | None = None
    _spans: list[tuple[int, int]] = field(default_factory=list)

    @property
    def argument_bytes(self) -> int:
        """Bytes of all tensors, each byte once."""
        if self.known_bytes is not None:
            return self.known_bytes
        return sum(size for _, size in merged(self._spans))

    def watched(self, most: int) -> tuple[Watched, ...]:
        """The contiguous tensors of at most this many elements, to find out which work-groups write them."""
        return tuple(
            Watched(int(tensor.data_ptr()), tensor.element_size(), tensor.numel(), name)
            for tensor, name in zip((t for t in self.tensors if t.numel()), self._shown(), strict=True)
            if tensor.is_contiguous() and tensor.numel() <= most
        )

    def _shown(self) -> list[str]:
        """Names of the tensors that have memory; a launch made from a template has them as labels."""
        if self.names:
            return self.names
        labels = (self.labels[int(t.data_ptr())] for t in self.tensors if t.numel())
        return [label.text.removeprefix("argument ") for label in labels]

    def hold(self, name: str, tensor: Any, offset: int | None = None, *, place: str = "") -> None:
        """Add a tensor's memory to the buffers of the kernel, and keep the tensor.

        Args:
            name: name of the argument that is, or leads to, this tensor.
            offset: offset of the tensor's address in `data`; None if the address is not there.
            place: position of the address within the argument, such as ", address 2"; "" for the argument
                itself.
        """
        start, size = int(tensor.data_ptr()), extent(tensor) * tensor.element_size()
        self.tensors.append(tensor)
        self.offsets.append(offset)
        self.arguments.append(name)
        if size:
            self._spans.append((start, size))
            self.elements.append(tensor.element_size())
            if self.storages:
                storage = tensor.untyped_storage()
                start, size = int(storage.data_ptr()), int(storage.nbytes())
                if start != tensor.data_ptr():
                    self.elements[-1] = 0
            self.buffers.append((start, size))
            self.names.append(f"{name!r}{place} ({tensor_text(tensor)})")

    def holds(self, address: int) -> bool:
        """True for an address in the memory of one of these tensors."""
        return any(start <= address < start + size for start, size in self.buffers)

    def merge(self) -> None:
        """Bring the buffers to their final form, each byte once, with labels."""
        buffers = self.buffers
        self.buffers = merged(buffers)
        self.labels = _labels(self.buffers, buffers, self.names, self.elements)


@dataclass(frozen=True, slots=True)
class Template:
    """Packed arguments that the next launch can reuse, with only the addresses replaced.

    Attributes:
        data: the bytes, with the addresses of the launch that it was made from.
        holes: one for each tensor: key of the argument value whose memory it is in, byte offset from the
            start of that memory to the tensor's first element, offset of its address in `data`, its size in
            bytes, its label.
        size: total bytes of all tensors if none share memory.
    """

    data: bytes
    holes: tuple[tuple[Any, int, int, int, BufferLabel], ...]
    size: int

    def filled(self, values: Any) -> Packed | None:
        """The arguments of a launch, from values by key; None if tensors share memory (other labels)."""
        packed = Packed(bytearray(self.data))
        buffers, labels, data, tensors = packed.buffers, packed.labels, packed.data, packed.tensors
        for key, skipped, offset, size, label in self.holes:
            value = values[key]
            tensor = value.tensor if type(value) is Strided else value
            start = tensor.data_ptr() + skipped
            _put_address(data, offset, start)
            tensors.append(tensor)
            if size:
                buffers.append((start, size))
                labels[start] = label
        if len(buffers) > 1:
            end = 0
            for start, size in sorted(buffers):
                if start < end:
                    return None
                end = start + size
        packed.known_bytes = self.size
        return packed


def template(packed: Packed, values: Mapping[Any, Any]) -> Template | None:
    """Template of packed arguments; None if the source of an address is ambiguous.

    A tensor that is not one of the values is a view of the only value with the same storage.
    """
    tensors = {key: v.tensor if type(v) is Strided else v for key, v in values.items()}
    keys = {id(value): key for key, value in tensors.items()}
    if len(keys) < len(values) and len({id(t) for t in packed.tensors}) < len(packed.tensors):
        return None
    labels = (BufferLabel(f"argument {n}", e) for n, e in zip(packed.names, packed.elements, strict=True))
    holes = []
    for tensor, offset in zip(packed.tensors, packed.offsets, strict=True):
        size = extent(tensor) * tensor.element_size()
        key = keys[id(tensor)] if id(tensor) in keys else _viewed(tensor, tensors)
        if key is None or offset is None:
            return None
        skipped = tensor.data_ptr() - tensors[key].data_ptr()
        holes.append((key, skipped, offset, size, next(labels) if size else BufferLabel("")))
    return Template(bytes(packed.data), tuple(holes), sum(hole[3] for hole in holes))


def _viewed(tensor: Any, values: Mapping[Any, Any]) -> Any:
    """Key of the value that a tensor is a view of; None if there is none, or if there may be several."""
    storage = tensor.untyped_storage().data_ptr()
    keys = [
        key
        for key, value in values.items()
        if hasattr(value, "untyped_storage") and value.untyped_storage().data_ptr() == storage
    ]
    return keys[0] if len(keys) == 1 and storage else None


def _labels(
    ranges: Sequence[tuple[int, int]],
    buffers: Sequence[tuple[int, int]],
    names: Sequence[str],
    elements: Sequence[int],
) -> dict[int, BufferLabel]:
    """Label of each piece of memory: one argument, or the arguments that share it."""
    labels = {}
    for base, size in ranges:
        inside = [n for n, (start, _) in enumerate(buffers) if base <= start < base + size]
        parts = list(dict.fromkeys(names[n] for n in inside))
        # If several arguments share memory, no element size holds for all of it.
        element = elements[inside[0]] if len(inside) == 1 else 0
        labels[base] = BufferLabel(f"argument{'s' if len(parts) > 1 else ''} {' and '.join(parts)}", element)
    return labels


def is_expanded(tensor: Any) -> bool:
    """True if elements of a tensor share memory, as those of `x.expand(...)` do (stride 0)."""
    return any(n > 1 and not step for n, step in zip(tensor.shape, tensor.stride(), strict=True))


def shape_in_words(tensor: Any) -> str:
    """Layout of a view in words: "shape (64, 128), neighbours 256, 2 elements apart (its strides)"."""
    strides = ", ".join(map(str, tensor.stride()))
    return f"shape {tuple(tensor.shape)}, neighbours along its axes {strides} elements apart"
