"""Values with tensors as files, between processes that do not trust each other: JSON and bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

_ALIGNMENT = 64
_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class TensorPlace:
    """Where a tensor's elements are.

    Attributes:
        storage: number of the storage, or its address.
        dtype: such as "bfloat16".
        shape, strides, offset: in elements.
    """

    storage: int
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int

    @classmethod
    def of(cls, tensor: torch.Tensor, storage: int) -> TensorPlace:
        return cls(
            storage,
            str(tensor.dtype).removeprefix("torch."),
            tuple(tensor.shape),
            tuple(tensor.stride()),
            int(tensor.storage_offset()),
        )

    @property
    def torch_dtype(self) -> torch.dtype:
        """The type of elements.

        Raises:
            ValueError: PyTorch has no such type.
        """
        kind = getattr(torch, self.dtype, None)
        if not isinstance(kind, torch.dtype):
            raise ValueError(f"{self.dtype!r} is no type of elements")
        return kind

    def tensor(self, storage: torch.Tensor) -> torch.Tensor:
        """The tensor in a storage.

        Args:
            storage: [bytes] uint8.

        Raises:
            ValueError: it reaches past the storage.
        """
        kind = self.torch_dtype
        if (
            len(self.shape) != len(self.strides)
            or min((*self.shape, *self.strides, self.offset), default=0) < 0
        ):
            raise ValueError(f"{self} is no tensor")
        last = sum((n - 1) * step for n, step in zip(self.shape, self.strides, strict=True))
        if 0 not in self.shape and (self.offset + last + 1) * kind.itemsize > storage.numel():
            raise ValueError(f"{self} reaches past its {storage.numel()} bytes")
        tensor = torch.empty(0, dtype=kind)
        return tensor.set_(
            storage.untyped_storage(), self._base(storage, kind) + self.offset, self.shape, self.strides
        )

    @staticmethod
    def _base(storage: torch.Tensor, kind: torch.dtype) -> int:
        return storage.storage_offset() // kind.itemsize


Encode = Callable[[torch.Tensor], TensorPlace]
Decode = Callable[[TensorPlace], torch.Tensor]


def encoded(value: Any, encode: Encode) -> Any:
    """A value as JSON has it: tensors by their places, tuples and lists apart."""
    if isinstance(value, torch.Tensor):
        place = encode(value.detach())
        return {"tensor": [place.storage, place.dtype, list(place.shape), list(place.strides), place.offset]}
    if isinstance(value, tuple):
        return {"tuple": [encoded(item, encode) for item in value]}
    if isinstance(value, list):
        return {"list": [encoded(item, encode) for item in value]}
    if isinstance(value, Mapping):
        return {"dict": [[key, encoded(item, encode)] for key, item in value.items()]}
    if isinstance(value, torch.dtype):
        return {"dtype": str(value).removeprefix("torch.")}
    if isinstance(value, _PLAIN):
        return {"plain": value}
    raise ValueError(f"a {type(value).__name__} cannot be handed over; expected tensors and plain values")


def decoded(data: Any, decode: Decode) -> Any:
    """What `encoded` encoded.

    Raises:
        ValueError: the data has another form.
    """
    try:
        ((kind, value),) = data.items()
        if kind == "tensor":
            storage, dtype, shape, strides, offset = value
            return decode(TensorPlace(int(storage), str(dtype), _sizes(shape), _sizes(strides), int(offset)))
        if kind == "tuple":
            return tuple(decoded(item, decode) for item in value)
        if kind == "list":
            return [decoded(item, decode) for item in value]
        if kind == "dict":
            return {key: decoded(item, decode) for key, item in value}
        if kind == "dtype":
            return TensorPlace(0, value, (), (), 0).torch_dtype
        if kind == "plain" and isinstance(value, _PLAIN):
            return value
    except (AttributeError, TypeError, KeyError) as error:
        raise ValueError(f"a value of another form: {error}") from None
    raise ValueError(f"a value of an unknown form: {kind!r}")


def _sizes(values: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def tensors(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of a value, in order."""
    members: list[torch.Tensor] = []

    def keep(tensor: torch.Tensor) -> TensorPlace:
        members.append(tensor)
        return TensorPlace.of(tensor, 0)

    encoded(value, keep)
    return iter(members)


def storage_bytes(tensor: torch.Tensor) -> torch.Tensor:
    """[bytes] uint8: the whole storage of a tensor, not a copy."""
    storage = tensor.untyped_storage()
    return torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,))


def write(value: Any, file: Path) -> None:
    """Writes a value: its JSON to FILE.json, the storages of its tensors to FILE."""
    places: dict[int, int] = {}
    table: list[list[int]] = []
    with file.open("wb") as content:

        def encode(tensor: torch.Tensor) -> TensorPlace:
            data = storage_bytes(tensor)
            key = data.data_ptr()
            if key not in places or not data.numel():
                places[key] = len(table)
                start = -(-content.tell() // _ALIGNMENT) * _ALIGNMENT
                content.seek(start)
                content.write(memoryview(data.numpy().data))
                table.append([start, data.numel()])
            return TensorPlace.of(tensor, places[key])

        tree = encoded(value, encode)
    file.with_suffix(".json").write_text(json.dumps({"storages": table, "value": tree}))


@dataclass(frozen=True)
class Stored:
    """A value that `write` wrote.

    Attributes:
        value: the value; its tensors are in `storages`.
        storages: [bytes] uint8 of each storage, at the start of an allocation of its own.
    """

    value: Any
    storages: tuple[torch.Tensor, ...]

    def overwrite(self, file: Path) -> bool:
        """Puts the content of another value into the same tensors; False if that has other sizes."""
        document = json.loads(file.with_suffix(".json").read_text())
        table = document["storages"]
        if [size for _, size in table] != [storage.numel() for storage in self.storages]:
            return False
        for storage, (start, size) in zip(self.storages, table, strict=True):
            storage.copy_(_bytes_of(file, start, size))
        return True


def read(file: Path) -> Stored:
    """What `write` wrote."""
    document = json.loads(file.with_suffix(".json").read_text())
    storages = tuple(_bytes_of(file, start, size) for start, size in document["storages"])
    value = decoded(document["value"], lambda place: place.tensor(storages[place.storage]))
    return Stored(value, storages)


def _bytes_of(file: Path, start: int, size: int) -> torch.Tensor:
    storage = torch.empty(size, dtype=torch.uint8)
    with file.open("rb") as content:
        content.seek(start)
        count = content.readinto(memoryview(storage.numpy().data)) if size else 0
    if count != size:
        raise ValueError(f"{file} has {count} of {size} bytes at {start}")
    return storage


__all__ = ["Stored", "TensorPlace", "decoded", "encoded", "read", "storage_bytes", "tensors", "write"]
