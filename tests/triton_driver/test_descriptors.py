"""Tensor descriptors for gfx1250, as the device's tensor copies read them. No Triton is needed."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import workbench as wb  # noqa: E402
from workbench.errors import LaunchError  # noqa: E402
from workbench.kernel.packed import Strided  # noqa: E402
from workbench.triton_driver import arguments, descriptors  # noqa: E402
from workbench.triton_driver.descriptors import HostDescriptor, Tile  # noqa: E402

SOURCE = r"""
#include <hip/hip_runtime.h>
typedef int Dwords4 __attribute__((ext_vector_type(4)));
typedef int Dwords8 __attribute__((ext_vector_type(8)));
struct Descriptor { int words[20]; };
// One copy of a descriptor's tile to the beginning of LDS, which was -1.
extern "C" __global__ void copied(Descriptor d, int *out) {
    __shared__ int lds[1024];
    for (int k = threadIdx.x; k < 1024; k += 32) lds[k] = -1;
    __syncthreads();
    const Dwords4 first = {1, 0, d.words[2], d.words[3]};
    const Dwords4 third = {d.words[12], d.words[13], d.words[14], d.words[15]};
    const Dwords4 fourth = {d.words[16], d.words[17], d.words[18], d.words[19]};
    Dwords8 second;
    for (int k = 0; k < 8; k++) second[k] = d.words[4 + k];
    asm volatile("tensor_load_to_lds %0, %1, %2, %3\n s_wait_tensorcnt 0"
                 :: "s"(first), "s"(second), "s"(third), "s"(fourth) : "memory");
    __syncthreads();
    for (int k = threadIdx.x; k < 1024; k += 32) out[k] = lds[k];
}
"""


def copied(x: torch.Tensor, tile: Tile) -> torch.Tensor:
    """LDS after a copy of the first tile of `x`, as elements."""
    module = wb.compile(SOURCE, arch="gfx1250")
    described = HostDescriptor(Strided(x), tuple(x.shape), x.stride(), tile)
    out = torch.zeros(1024, dtype=torch.int32)
    with wb.lend(x):
        module["copied"][1, 32](described.content(x.data_ptr()), out)
    return out.view(x.dtype)


@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        ((300,), (64,)),
        ((20, 48), (8, 16)),
        ((5, 6, 40), (2, 4, 16)),
        ((3, 4, 5, 24), (2, 2, 3, 8)),
        ((2, 3, 2, 4, 16), (2, 2, 2, 2, 8)),
    ],
)
@pytest.mark.parametrize("dtype", [torch.int16, torch.int32])
def test_the_device_copies_what_a_descriptor_says(
    shape: tuple[int, ...], tile: tuple[int, ...], dtype: torch.dtype
) -> None:
    x = torch.arange(int(np.prod(shape)), dtype=dtype).reshape(shape)
    loaded = copied(x, Tile(8 * x.element_size(), tile, 0, 0, 1))
    expected = x[tuple(slice(size) for size in tile)].reshape(-1)
    assert torch.equal(loaded[: expected.numel()], expected)
    assert (loaded[expected.numel() :] == -1).all()


def test_padding_and_rows_past_the_end() -> None:
    x = torch.arange(1, 4 * 16 + 1, dtype=torch.int16).reshape(4, 16)
    loaded = copied(x, Tile(16, (8, 16), 16, 4, 1))[: 8 * 20].reshape(8, 20)
    assert torch.equal(loaded[:4, :16], x)
    assert (loaded[4:, :16] == 0).all()
    assert (loaded[:7, 16:] == -1).all()


@pytest.mark.parametrize(
    ("shape", "waves", "part"),
    [
        ((64,), 4, (16,)),
        ((64, 32), 4, (16, 32)),
        ((2, 32), 8, (1, 8)),
        ((1, 8), 16, (1, 1)),
        ((4, 2, 16), 8, (1, 1, 16)),
    ],
)
def test_waves_share_a_tile(shape: tuple[int, ...], waves: int, part: tuple[int, ...]) -> None:
    assert Tile(16, shape, 0, 0, waves).part == part


def test_too_many_dimensions_are_refused() -> None:
    x = torch.zeros(1, 1, 1, 1, 1, 8)
    described = HostDescriptor(Strided(x), tuple(x.shape), x.stride(), Tile(32, x.shape, 0, 0, 1))
    with pytest.raises(LaunchError, match="expected 1 to 5 dimensions"):
        described.content(x.data_ptr())


class Described:
    """What Triton passes for a tensor descriptor."""

    def __init__(self, base: torch.Tensor) -> None:
        self.base, self.shape, self.strides, self.padding = base, base.shape, base.stride(), "zero"


def test_a_kernel_takes_the_bytes_of_a_descriptor_or_its_parts() -> None:
    signature = ["tensordesc<fp16[8, 16]>", "i32"]
    whole = [p.type for p in arguments.parameters(["x", "n"], signature, True)]
    assert whole == ["tensordesc", "i32", "i32", "i64", "i64", "i32"]
    parts = [p.type for p in arguments.parameters(["x", "n"], signature)]
    assert parts == ["*fp16", *["i64"] * 4, "i1", "i1", "i32", "i32", "i64", "i64", "i32"]
    x = Described(torch.zeros(20, 48, dtype=torch.float16))
    tile = Tile(16, (8, 16), 0, 0, 1)
    first, *rest = arguments.values(signature, [x, 7], iter([tile]))
    assert isinstance(first, HostDescriptor)
    assert first.tile == tile
    assert rest == [20, 48, 48, 1, 7]
    assert len(list(arguments.values(signature, [x, 7], iter(())))) == len(parts)


def test_metadata_of_the_compiler() -> None:
    class Metadata:
        num_warps = 4
        tensordesc_meta = ({"elem_bits": 16, "block_size": [64, 32], "interval_padding_pairs": [[32, 8]]},)

    assert descriptors.tiles(Metadata()) == [Tile(16, (64, 32), 32, 8, 4)]
    Metadata.tensordesc_meta = ()
    assert descriptors.tiles(Metadata()) == []
