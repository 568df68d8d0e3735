"""Positions: threads in groups, work-groups on chiplets, elements of layouts, shared objects."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from tile_batches import ELEMENTS, Batch, Family, Kernel, batch_id
from tile_types import BYTES


def ints(values: list[int]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int32)


def threads(arch: str, waves: int, group: int) -> Kernel:
    name = f"{waves}-waves-in-groups-of-{group}"
    kernel = Kernel(name, arch, waves=waves)
    n, lanes = kernel.threads, kernel.lanes
    t = torch.arange(n)
    expected = {
        "laneid": t % lanes,
        "warpid": t // lanes,
        "num_warps": torch.full((n,), waves),
        "group-laneid": t % (lanes * group),
        "group-warpid": t // lanes % group,
        "groupid": t // (lanes * group),
    }
    kernel.output("out", "int", (len(expected), n))
    calls = ["laneid()", "warpid()", "num_warps()", "G::laneid()", "G::warpid()", "G::groupid()"]
    kernel.body = f"using G = group<{group}>; const int t = threadIdx.x;" + "".join(
        f"\n    out_ptr[{number * n} + t] = {call};" for number, call in enumerate(calls)
    )
    for number, (function, values) in enumerate(expected.items()):
        kernel.case(f"{function}-{name}", "out", lambda _, v=values: v.int(), part=number)
    return kernel


def chiplet_order(count: int, xcds: int, chunk: int) -> list[int]:
    """Order in which, of each xcds * chunk ids, XCD x (id modulo xcds) gets the x-th run of chunk."""
    block = xcds * chunk
    whole = count // block * block
    return [
        i // block * block + i % xcds * chunk + i % block // xcds if i < whole else i for i in range(count)
    ]


def chiplets(arch: str) -> Kernel:
    kernel = Kernel("chiplets", arch)
    body = []
    for count in (1, 7, 64, 100, 257, 1000):
        for xcds, chunk in ((8, 1), (8, 4), (8, 64), (4, 3), (1, 5), (2, 16)):
            output = f"n{count}_{xcds}_{chunk}"
            kernel.output(output, "int", (count,))
            body.append(
                f"for (int i = laneid(); i < {count}; i += WARP_THREADS) "
                f"{output}_ptr[i] = chiplet_transform_chunked(i, {count}, {xcds}, {chunk});"
            )
            order = chiplet_order(count, xcds, chunk)
            assert sorted(order) == list(range(count))
            name = f"chiplet_transform_chunked-{count}-over-{xcds}-by-{chunk}"
            kernel.case(name, output, lambda _, order=order: ints(order))
    kernel.body = "\n    ".join(body)
    return kernel


def layouts(arch: str, dims: tuple[int, int, int, int], fixed: tuple[bool, ...], dtype: str) -> Kernel:
    """Shapes, strides and offsets, of dimensions known to the compiler or read from memory."""
    extents = [str(n) if is_fixed else "-1" for n, is_fixed in zip(dims, fixed, strict=True)]
    name = f"gl-{dtype}-{'x'.join(map(str, dims))}-as-{'x'.join(extents)}".replace("-1", "n")
    kernel = Kernel(name, arch)
    kernel.input("dims", "int", (4,), lambda _: ints(list(dims)))
    passed = [
        "nullptr" if is_fixed else f"static_cast<size_t>(dims_ptr[{axis}])"
        for axis, is_fixed in enumerate(fixed)
    ]
    b, d, r, c = dims
    strides = [d * r * c, r * c, c, 1]
    last = [n - 1 for n in dims]
    tiles = "rt_fl<16, 32>"
    calls = {
        "numel": ("x.numel()", b * d * r * c),
        "batch": ("x.batch()", b),
        "depth": ("x.depth()", d),
        "rows": ("x.rows()", r),
        "cols": ("x.cols()", c),
        **{f"shape{a}": (f"x.shape<{a}>()", dims[a]) for a in range(4)},
        **{f"stride{a}": (f"x.stride<{a}>()", strides[a]) for a in range(4)},
        "index": (
            f"&x[{{{last[0]}, {last[1]}, {last[2]}, {last[3]}}}] - base",
            sum(i * s for i, s in zip(last, strides, strict=True)),
        ),
        "index-of-row": (f"&x[{{{last[2]}, {last[3]}}}] - base", last[2] * c + last[3]),
        "tiles-of-rows": (
            f"x.offset(coord<{tiles}>{{1, 2, 3, 4}}.unit_coord<2, 3>())",
            strides[0] + 2 * strides[1] + 3 * 16 * strides[2] + 4 * 32,
        ),
        "tiles-of-depth": (
            f"x.offset(coord<{tiles}>{{1, 2, 3, 4}}.unit_coord<1, 3>())",
            strides[0] + 2 * 16 * strides[1] + 3 * strides[2] + 4 * 32,
        ),
        "tiles-of-batch": (
            f"x.offset(coord<{tiles}>{{1, 2, 3, 4}}.unit_coord<0, 3>())",
            16 * strides[0] + 2 * strides[1] + 3 * strides[2] + 4 * 32,
        ),
        "vectors": (
            "x.offset(coord<sv_fl<48>>{1, 2, 3, 4}.unit_coord<-1, 3>())",
            strides[0] + 2 * strides[1] + 3 * strides[2] + 4 * 48,
        ),
    }
    kernel.output("out", "int", (len(calls), 1))
    # Only the layout is inspected, and nothing is read through it.
    kernel.body = (
        f"auto *base = reinterpret_cast<{dtype} *>(out_ptr); if (laneid() != 0) return;\n"
        f"    const gl<{dtype}, {', '.join(extents)}> x(base, {', '.join(passed)});"
    ) + "".join(
        f"\n    out_ptr[{number}] = static_cast<int>({call});"
        for number, (call, _) in enumerate(calls.values())
    )
    for number, (function, (_, value)) in enumerate(calls.items()):
        kernel.case(f"{function}-{name}", "out", lambda _, v=value: ints([v]), part=number)
    return kernel


def allocations(arch: str, dtype: str, alignment: int) -> Kernel:
    """Consecutive objects, each at a multiple of the alignment."""
    name = f"shared_allocator-{dtype}-by-{alignment}"
    kernel = Kernel(name, arch, shared=32768)
    size = BYTES[dtype]
    # Bytes of each allocation in order, and the array element that is checked.
    offsets, at = [], 0
    asked = [
        (f"sv<{dtype}, 20>", [], 20 * size, 16),
        (f"st<{dtype}, 16, 16>", [2, 3], 256 * size, 16),
        ("int", [1], 4, 4),
        (f"st<{dtype}, 32, 32, st_32x32_s>", [2], 1024 * size, 16),
        (f"sv<{dtype}, 64>", [], 64 * size, 16),
    ]
    body = [
        "extern __shared__ alignment_dummy __shm[];",
        f"shared_allocator<{alignment}> al(reinterpret_cast<int *>(&__shm[0]));",
        "const auto first = detail::shared_address(&__shm[0]);",
    ]
    for number, (kind, dims, stride, alone) in enumerate(asked):
        stride = (stride + alone - 1) // alone * alone
        at = (at + alignment - 1) // alignment * alignment
        count = 1
        for n in dims:
            count *= n
        offsets.append(at + (count - 1) * stride)
        at += count * stride
        last = "".join(f"[{n - 1}]" for n in dims)
        arguments = ", ".join([kind, *map(str, dims)])
        body.append(f"auto &a{number} = al.template allocate<{arguments}>();")
        place = f"detail::shared_address(&a{number}{last}) - first"
        body.append(f"if (laneid() == 0) out_ptr[{number}] = static_cast<int>({place});")
    kernel.output("out", "int", (len(asked), 1))
    kernel.body = "\n    ".join(body)
    for number, place in enumerate(offsets):
        kernel.case(f"{name}-object-{number}", "out", lambda _, p=place: ints([p]), part=number)
    return kernel


def kernels(arch: str) -> Iterator[Kernel]:
    for waves in (1, 2, 3, 4, 8, 16):
        for group in (1, 2, 4, 8):
            if waves % group == 0:
                yield threads(arch, waves, group)
    yield chiplets(arch)
    some = (True, False, True, False)
    for number, dims in enumerate(((1, 1, 16, 32), (2, 3, 5, 7), (4, 1, 129, 64), (3, 40, 7, 33))):
        for fixed in ((False,) * 4, (True,) * 4, some, tuple(not f for f in some)):
            yield layouts(arch, dims, fixed, ELEMENTS[number])
    for dtype in ELEMENTS:
        for alignment in (16, 64, 1024):
            yield allocations(arch, dtype, alignment)


FAMILY = Family("grid and layouts", kernels, per_batch=64)


@pytest.mark.parametrize("batch", FAMILY.batches, ids=batch_id)
def test_grid(batch: Batch, subtests: pytest.Subtests) -> None:
    batch.check(subtests)
