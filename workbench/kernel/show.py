"""Output of `show` in a kernel; `kernels/include/common/show.cuh` is the device's side."""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from workbench.display import Plotted, Shown
from workbench.dtypes import TYPES, DataType
from workbench.errors import UsageError
from workbench.kernel.launch import Launch
from workbench.launches import BufferLabel
from workbench.runtime import LoadedModule
from workbench.targets import target

if TYPE_CHECKING:
    import torch

Array = npt.NDArray[Any]

MACRO, VARIABLE = "KITTENS_SHOW", "hipkittens_show"
_STATE = struct.Struct("<6Q4I")
_RECORD = struct.Struct("<2Q9I64s20s")
_SITES = 256
_EVERY = (1 << 32) - 1


class Kind(IntEnum):
    """The kind of value that a show(...) call passes."""

    SCALAR = 0
    REGISTER_VECTOR = 1
    REGISTER_TILE = 2
    SHARED_VECTOR = 3
    SHARED_TILE = 4


@dataclass(frozen=True)
class ShowOptions:
    """Selection of the values that `show` records in a launch.

    Attributes:
        groups: linear numbers of work-groups; a number n selects the first n.
        waves: waves of each work-group; None for all.
        trips: (first, end) of a wave's passes through each `show`.
        bytes: size of the recording buffer in device memory.
    """

    groups: int | Sequence[int] = 4
    waves: Sequence[int] | None = None
    trips: tuple[int, int] = (0, _EVERY)
    bytes: int = 64 << 20

    def __post_init__(self) -> None:
        conditions = {
            "groups": self.groups > 0 if isinstance(self.groups, int) else min(self.groups, default=-1) >= 0,
            "waves": self.waves is None or (len(self.waves) > 0 and all(0 <= w < 16 for w in self.waves)),
            "trips": 0 <= self.trips[0] < self.trips[1],
            "bytes": 0 < self.bytes < 1 << 40,
        }
        for name, holds in conditions.items():
            if not holds:
                raise UsageError(
                    f"ShowOptions({name}={getattr(self, name)!r}): expected groups=4 for the first four or "
                    "groups=[0, 7], waves=[0, 1] of the 16 that a work-group may have, trips=(first, end), "
                    "bytes of room"
                )


_DEFAULT = ShowOptions()
_options: ContextVar[ShowOptions] = ContextVar("show options", default=_DEFAULT)


@contextlib.contextmanager
def showing(
    *,
    groups: int | Sequence[int] = _DEFAULT.groups,
    waves: Sequence[int] | None = _DEFAULT.waves,
    trips: tuple[int, int] = _DEFAULT.trips,
    bytes: int = _DEFAULT.bytes,
) -> Iterator[ShowOptions]:
    """Selects the values that launches in a `with` block record, for kernels compiled with `show`.

        with wb.showing(groups=[0, 255], waves=[0], trips=(8, 16)):
            result = module["attend"][256, 512](q, k, v, out)
        result.shown["scores"]

    Args:
        groups: linear numbers of work-groups; or one number n for the first n.
        waves: waves of each work-group, 0 to 15; None for all.
        trips: (first, end) of a wave's passes through each `show`.
        bytes: device memory for all recorded values, in bytes.

    Raises:
        UsageError: an argument is out of range or of another type.
    """
    options = ShowOptions(groups, waves, trips, bytes)
    token = _options.set(options)
    try:
        yield options
    finally:
        _options.reset(token)


class Place(NamedTuple):
    """Location of an element: lane and index among the lane's elements, or the byte in the LDS."""

    lane: int | None
    element: int | None
    lds: int | None


@dataclass(frozen=True)
class Moment:
    """Values of one `show` in one wave in one pass.

    Attributes:
        name: the name given in `show`, or else its expression.
        line: line in the source.
        kind: tile, vector or scalar, in registers or shared memory.
        group, wave, trip: linear work-group, wave in it, and pass in which the values were recorded.
        dtype: type of the elements.
        values: [rows, columns] of a tile, [length] of a vector, [64] by lane of a scalar, in PyTorch's type;
            6-bit and 4-bit floats as float32, with their own number of columns. Inactive lanes have a zero
            bit in `lanes`; their values are meaningless.
        places: [rows, columns] or [length] in words that `place` reads; empty for a scalar.
        lanes: mask of the wave's active lanes, one bit each.
    """

    name: str
    line: int
    kind: Kind
    group: int
    wave: int
    trip: int
    dtype: DataType
    values: torch.Tensor = field(repr=False)
    places: Array = field(repr=False)
    lanes: int = field(repr=False)

    def place(self, *at: int) -> Place:
        """Location of an element, by its row and column, or its index in a vector.

        Raises:
            UsageError: there is no such element.
        """
        shape = tuple(self.values.shape)
        if len(at) != len(shape) or not all(0 <= i < n for i, n in zip(at, shape, strict=True)):
            raise UsageError(f"{self.name} has shape {list(shape)}; {list(at)} is not an element of it")
        if self.kind is Kind.SCALAR:
            return Place(at[0], 0, None)
        # Several numbers may share the bytes that the tile library counts as one element.
        shared = shape[-1] // self.places.shape[-1]
        word = int(self.places[(*at[:-1], at[-1] // shared)])
        if self.kind in (Kind.SHARED_TILE, Kind.SHARED_VECTOR):
            return Place(None, None, word)
        return Place(word & 0xFF, word >> 8, None)


class Moments(Plotted, Sequence[Moment]):
    """Values shown under one name, by group, wave and trip; a notebook draws them with a slider for each.

    Attributes:
        arch: target, which determines the number of LDS banks.
        title: title of the drawing.
        counted: True if an emulated device recorded the values, False if a GPU did.
    """

    def __init__(self, moments: Sequence[Moment], arch: str, title: str, *, counted: bool) -> None:
        self._moments = tuple(moments)
        self.arch = arch
        self.title = title
        self.counted = counted

    def against(self, reference: torch.Tensor) -> Moments:
        """The shown values minus a reference, in float64.

        Args:
            reference: tensor of one moment's shape; or [group, wave, trip, ...] with one for each moment.

        Raises:
            UsageError: the reference has another shape.
        """
        shape = self[0].values.shape
        axes = [sorted({_key(moment)[axis] for moment in self}) for axis in range(3)]
        every = (*map(len, axes), *shape)
        if reference.shape not in (shape, every):
            raise UsageError(
                f"the reference of {self[0].name!r} has shape {list(reference.shape)}; expected "
                f"{list(shape)} or, with groups, waves and trips in front, {list(every)}"
            )
        changed = []
        for moment in self:
            at = tuple(axis.index(key) for axis, key in zip(axes, _key(moment), strict=True))
            expected = reference[at] if reference.shape == every else reference
            changed.append(replace(moment, values=moment.values.double() - expected.to("cpu").double()))
        return Moments(changed, self.arch, f"{self.title}, less the reference", counted=self.counted)

    @overload
    def __getitem__(self, at: int) -> Moment: ...
    @overload
    def __getitem__(self, at: slice) -> Moments: ...
    def __getitem__(self, at: int | slice) -> Moment | Moments:
        selected = self._moments[at]
        if isinstance(selected, Moment):
            return selected
        return Moments(selected, self.arch, self.title, counted=self.counted)

    def __len__(self) -> int:
        return len(self._moments)

    def __repr__(self) -> str:
        first = self[0]
        more = f"; {len(self) - 1} more moments" if len(self) > 1 else ""
        at = f"group {first.group}, wave {first.wave}, trip {first.trip}"
        return f"{self.title}, {at}{more}\n{first.values}"


class ShownValues(Shown, Mapping[str, "torch.Tensor"]):
    """Values shown in a launch, by name, as tensors [group, wave, trip, ...] of the selection.

    If a wave made fewer passes, the tensor has zeros there; `moments` has only the recorded values, in order.

    Attributes:
        name: name of the kernel.
        moments: recorded moments; those of one wave are in program order.
        groups: number of work-groups of the launch, and number of selected ones.
    """

    def __init__(
        self, name: str, moments: Sequence[Moment], groups: tuple[int, int], arch: str, *, counted: bool
    ) -> None:
        self.name = name
        self.moments = tuple(moments)
        self.groups = groups
        self._arch = arch
        self._counted = counted

    def of(self, name: str) -> Moments:
        """The moments of one name, by group, wave and trip; a notebook draws them.

        Raises:
            KeyError: nothing was shown under this name; the message lists the names.
        """
        moments = [moment for moment in self.moments if moment.name == name]
        if not moments:
            names = ", ".join(self) or "nothing: no selected wave reached a show(...)"
            raise KeyError(f"{name!r} was not shown; shown: {names}")
        title = f"{name} (line {moments[0].line})"
        return Moments(sorted(moments, key=_key), self._arch, title, counted=self._counted)

    def __getitem__(self, name: str) -> torch.Tensor:
        moments = self.of(name)
        if len({(moment.values.shape, moment.values.dtype) for moment in moments}) > 1:
            lines = ", ".join(map(str, sorted({moment.line for moment in moments})))
            raise UsageError(
                f"{name!r} is shown with several shapes or types (lines {lines}): name each by "
                'show(..., "name"), or take them one by one from .of(name)'
            )
        axes = [sorted({getattr(moment, axis) for moment in moments}) for axis in ("group", "wave", "trip")]
        stacked = moments[0].values.new_zeros([*map(len, axes), *moments[0].values.shape])
        for moment in moments:
            at = [axis.index(key) for axis, key in zip(axes, _key(moment), strict=True)]
            stacked[tuple(at)] = moment.values
        return stacked

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(moment.name for moment in self.moments))

    def __len__(self) -> int:
        return len(dict.fromkeys(self))

    def __repr__(self) -> str:
        lines = []
        for name in self:
            moments = self.of(name)
            first = moments[0]
            axes = ", ".join(
                f"{len({getattr(moment, axis) for moment in moments})} {axis}s"
                for axis in ("group", "wave", "trip")
            )
            shape = " x ".join(map(str, first.values.shape))
            lines.append(f"{name} (line {first.line}): {shape} of {first.dtype.name}; {axes}")
        return "\n".join(lines) or "nothing was shown"


def _key(moment: Moment) -> tuple[int, int, int]:
    return moment.group, moment.wave, moment.trip


class Recording:
    """One launch of code with `show`: its buffer, and the values in it after the launch.

    Attributes:
        buffers: (address, bytes) of the memory that the kernel writes to.
        labels: description of each buffer, by address.
    """

    def __init__(self, module: LoadedModule, kernel: str, launch: Launch) -> None:
        import torch

        self._kernel = kernel
        self.options = _options.get()
        self._device = device = module.device
        grid, block = launch.grid, launch.block
        self._variable = module.variable(VARIABLE)
        self._groups = grid[0] * grid[1] * grid[2]
        groups = self.options.groups
        numbers = range(min(groups, self._groups)) if isinstance(groups, int) else sorted(set(groups))
        if numbers[-1] >= self._groups:
            raise UsageError(f"groups={list(numbers)}: the launch has work-groups 0 to {self._groups - 1}")
        self._recorded = len(numbers)
        waves = -(-block[0] * block[1] * block[2] // 64)
        ranks = torch.full((self._groups,), -1, dtype=torch.int32)
        ranks[list(numbers)] = torch.arange(self._recorded, dtype=torch.int32)
        where = device.torch_device
        self._ranks = ranks.to(where)
        self._trips = torch.zeros(self._recorded * waves * _SITES, dtype=torch.int32, device=where)
        self._data = torch.empty(self.options.bytes, dtype=torch.uint8, device=where)
        mask = sum(1 << wave for wave in set(self.options.waves or range(64)))
        first, end = self.options.trips
        tensors = (self._data, self._ranks, self._trips)
        self.buffers = tuple((tensor.data_ptr(), tensor.nbytes) for tensor in tensors)
        self.labels = {tensor.data_ptr(): BufferLabel("what show(...) writes") for tensor in tensors}
        self._variable.write(
            _STATE.pack(
                *(
                    self._data.data_ptr(),
                    self._data.nbytes,
                    0,
                    self._ranks.data_ptr(),
                    self._trips.data_ptr(),
                ),
                *(mask, waves, first, end, 0),
            )
        )

    def values(self) -> ShownValues:
        """The values that the kernel's show(...) calls wrote.

        Raises:
            UsageError: the values did not fit into the buffer, or a tile was shown in divergent code.
        """
        used, divergent = (_STATE.unpack(self._variable.read())[i] for i in (2, 9))
        self._variable.write(bytes(_STATE.size))
        if divergent:
            raise UsageError(
                f"line {divergent}: show(...) of a tile or a vector in divergent code: some lanes of "
                "the wave are off there. All hold a part of it; move it out of the branch, or show a number"
            )
        if used > self._data.nbytes:
            raise UsageError(
                f"show(...) needs {used:,} bytes for {self._recorded} of {self._groups} work-groups, and its "
                f"buffer has {self._data.nbytes:,}: choose fewer with "
                "wb.showing(groups=[0], waves=[0], trips=(0, 8)), or give bytes="
            )
        content = self._data[:used].cpu().numpy()
        arch, counted = self._device.arch, self._device.observes
        groups = (self._groups, self._recorded)
        return ShownValues(self._kernel, [*_moments(content, arch)], groups, arch, counted=counted)


def _moments(content: Array, arch: str) -> Iterator[Moment]:
    places: dict[tuple[int, str, int], Array] = {}
    at = 0
    while at < len(content):
        head = _RECORD.unpack_from(content.data, at)
        size, lanes, group, wave, trip, line, kind_code, rows, cols, width, placed = head[:11]
        name, element = (part.split(b"\0")[0].decode("utf-8", "replace") for part in head[11:])
        kind, count = Kind(kind_code), rows * cols
        start = at + _RECORD.size
        raw = content[start : start + count * width]
        shape = (rows, cols) if kind in (Kind.REGISTER_TILE, Kind.SHARED_TILE) else (cols,)
        if placed:
            start += -(-count * width // 8) * 8
            words = content[start : start + 4 * count].copy().view(np.uint32)
            places[line, name, group << 8 | wave] = words.reshape(shape)
        dtype = _type(element, arch)
        where = places.get((line, name, group << 8 | wave), np.empty(0, np.uint32))
        yield Moment(name, line, kind, group, wave, trip, dtype, _tensor(raw, dtype, shape), where, lanes)
        at += size


def _type(element: str, arch: str) -> DataType:
    """The record of a type by its name in the tile library."""
    where = target(arch)
    return next(data_type for data_type in TYPES if data_type.cpp == element and where.has(data_type))


def _tensor(raw: Array, dtype: DataType, shape: tuple[int, ...]) -> torch.Tensor:
    import torch

    if dtype.bits < 8:
        codes = np.unpackbits(raw, bitorder="little").reshape(-1, dtype.bits)
        numbers = _numbers(codes @ (1 << np.arange(dtype.bits)), dtype)
        return torch.from_numpy(numbers).view(*shape[:-1], -1)
    return torch.from_numpy(raw.copy()).view(dtype.dtype).view(shape)


def _numbers(codes: Array, dtype: DataType) -> Array:
    """Numbers of less than a byte as float32, by the record of their type."""
    negative = codes >> dtype.bits - 1 == 1
    if dtype.exponent == 0:
        integers: Array = codes - (negative & (dtype.lowest < 0)) * (1 << dtype.bits)
        return integers.astype(np.float32)
    power = codes >> dtype.mantissa & (1 << dtype.exponent) - 1
    fraction = codes & (1 << dtype.mantissa) - 1
    # Numbers with the smallest exponent have no implicit leading one.
    size = np.where(power == 0, 2 * fraction, fraction + (1 << dtype.mantissa))
    scaled = np.ldexp(size.astype(np.float32), power - (1 << dtype.exponent - 1) + 1 - dtype.mantissa)
    numbers: Array = np.where(negative, -scaled, scaled)
    return numbers
