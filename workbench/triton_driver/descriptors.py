"""Tensor descriptors that Triton's host code passes to kernels of gfx1250, whose tensor copies read them.

Triton's compiler says in a kernel's metadata how the tile of each is laid out; a kernel without tensor copies
takes the base, the shape and the strides instead (`arguments`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.errors import LaunchError
from workbench.kernel.packed import Strided

BYTES = 80
ADDRESS = 8
"""Offset of the address's eight bytes, whose upper seven bits are other fields."""
_TYPE = 2
_DWORD_BITS = 32
_MOST_DIMENSIONS = 5


@dataclass(frozen=True)
class Tile:
    """The part of a tensor that a work-group copies at once.

    Attributes:
        bits: bits of an element.
        shape: elements along each dimension, the innermost last.
        interval, amount: LDS gets `amount` elements of padding behind every `interval`; 0 for none.
        waves: waves of the work-group, each of which copies a part.
    """

    bits: int
    shape: tuple[int, ...]
    interval: int
    amount: int
    waves: int

    @classmethod
    def of(cls, metadata: Mapping[str, Any], waves: int) -> Tile:
        """From an entry of `tensordesc_meta`, the metadata of Triton's compiler."""
        padding = metadata.get("interval_padding_pairs") or [(0, 0)]
        interval, amount = padding[0]
        return cls(int(metadata["elem_bits"]), tuple(metadata["block_size"]), interval, amount, waves)

    @property
    def part(self) -> tuple[int, ...]:
        """Elements that a wave copies: waves share the outermost dimensions first, as far as these go."""
        if len(self.shape) == 1:
            return (-(-self.shape[0] // self.waves),)
        shares, left = [1] * len(self.shape), self.waves
        for axis, size in enumerate(self.shape):
            while left > 1 and 2 * shares[axis] <= size:
                shares[axis] *= 2
                left //= 2
        shares[-1] *= left
        return tuple(-(-size // share) for size, share in zip(self.shape, shares, strict=True))


@dataclass(frozen=True)
class HostDescriptor:
    """A tensor descriptor in the four groups of registers that a tensor copy reads.

    Attributes:
        base: the tensor with the first element.
        shape, strides: elements of the whole tensor, the innermost dimension last, whose stride is 1.
    """

    base: Strided
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    tile: Tile

    def content(self, address: int) -> bytes:
        """The descriptor with the tensor's address; the kernel adds LDS's, and whether it copies at all.

        The fields are those of HipKittens' and Triton's code for gfx1250 (TDM descriptors).

        Raises:
            LaunchError: there are more than five dimensions.
        """
        rank = len(self.shape)
        if not 1 <= rank <= _MOST_DIMENSIONS or len(self.tile.shape) != rank:
            raise LaunchError(
                f"tensor descriptor of shape {self.shape} with blocks {self.tile.shape}: expected 1 to "
                f"{_MOST_DIMENSIONS} dimensions in both"
            )
        tile = self.tile
        number = 0

        def put(first: int, bits: int, value: int) -> None:
            nonlocal number
            number |= (value & (1 << bits) - 1) << first

        put(64, 57, address)
        put(126, 2, _TYPE)
        put(144, 2, (tile.bits // 8).bit_length() - 1)
        interval, amount = (n * tile.bits // _DWORD_BITS for n in (tile.interval, tile.amount))
        if interval and amount:
            put(148, 1, 1)
            put(150, 3, interval.bit_length() - 2)
            put(153, 7, amount - 1)
        # By dimension, the innermost first. The innermost has no stride.
        sizes, parts, strides = (tuple(reversed(values)) for values in (self.shape, tile.part, self.strides))
        for place, value in zip(((176, 32), (208, 32), (384, 32), (416, 32), (560, 32)), sizes, strict=False):
            put(*place, value)
        for place, value in zip(((240, 16), (256, 16), (272, 16), (496, 16), (592, 16)), parts, strict=False):
            put(*place, value)
        for place, value in zip(((288, 48), (336, 48), (448, 48), (512, 48)), strides[1:], strict=False):
            put(*place, value)
        return number.to_bytes(BYTES, "little")


def tiles(metadata: Any) -> Sequence[Tile]:
    """The tiles of a compiled kernel's descriptors in their order; none if it takes their parts instead."""
    return [Tile.of(entry, metadata.num_warps) for entry in getattr(metadata, "tensordesc_meta", None) or ()]
