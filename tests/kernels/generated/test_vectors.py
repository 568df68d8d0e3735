"""Register vectors in every type and layout: memory, maps, conversions, reductions."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from tile_batches import ELEMENTS, Case, Family, Inputs, Kernel, case_id, close, equal, rounded, same_values
from tile_maps import BINARY, CONSTANTS, OF_POSITIVE, UNARY, least, tolerance
from tile_types import (
    BYTES,
    Tile,
    Vector,
    distinct,
    layouts_of_tiles,
    near_one,
    normal,
    sized,
    vectors_of,
)


def held(vector: Vector, values: torch.Tensor) -> torch.Tensor:
    return vector.held(values)


def of_elements(
    vector: Vector, compare: Callable[[torch.Tensor, torch.Tensor], str | None]
) -> Callable[[torch.Tensor, torch.Tensor], str | None]:
    """Leaves out what lanes hold past the end of a naive vector."""
    inside = vector.index() < vector.length
    return lambda got, wanted: compare(got[inside], wanted[inside])


def memory(arch: str, vector: Vector, axis_length: int) -> Kernel:
    """From and to global and shared memory; vector 1 of several in a row, the last one not whole."""
    n, dtype = vector.length, vector.dtype
    kernel = Kernel(f"memory-{vector.name}", arch, shared=2 * (n * BYTES[dtype] + 64))
    ragged = max(1, n - axis_length)
    kernel.input("x", dtype, (2, 2 * n + ragged), distinct(dtype, arch, 2 * (2 * n + ragged)))
    kernel.derive("held_x", dtype, vector.held_shape, lambda g: held(vector, g["x"][1, n : 2 * n]))
    kernel.output("loaded", dtype, vector.held_shape)
    kernel.output("last", dtype, vector.held_shape)
    kernel.output("stored", dtype, (2, 2 * n + ragged))
    kernel.output("from_shared", dtype, vector.held_shape)
    kernel.output("to_shared", dtype, (n,))
    kernel.body = f"""extern __shared__ alignment_dummy __shm[];
    shared_allocator al(reinterpret_cast<int *>(&__shm[0]));
    sv<{dtype}, {n}>(&s)[2] = al.allocate<sv<{dtype}, {n}>, 2>();
    using vector = {vector.cpp}; vector v, w;
    load(v, x_gl, {{0, 0, 1, 1}}); put(v, loaded_ptr);
    load(v, x_gl, {{0, 0, 0, 2}}); put(v, last_ptr);
    take(w, held_x_ptr);
    store(stored_gl, w, {{0, 0, 1, 1}}); store(stored_gl, w, {{0, 0, 0, 2}});
    for (int i = laneid(); i < {n}; i += 64) s[0][i] = x_ptr[i];
    wait_and_barrier();
    load(v, s[0]); put(v, from_shared_ptr);
    store(s[1], w);
    wait_and_barrier();
    for (int i = laneid(); i < {n}; i += 64) to_shared_ptr[i] = s[1][i];"""

    def last(given: Inputs) -> torch.Tensor:
        whole = torch.zeros(n, dtype=torch.uint8).to(given["x"].dtype)
        whole[:ragged] = given["x"][0, 2 * n :]
        return held(vector, whole)

    def stored(given: Inputs) -> torch.Tensor:
        x = given["x"]
        out = torch.full((x.nbytes,), 0xA5, dtype=torch.uint8).view(x.dtype).reshape(x.shape)
        out[1, n : 2 * n] = x[1, n : 2 * n]
        out[0, 2 * n :] = x[1, n : n + ragged]
        return out

    loaded_equal = of_elements(vector, equal)
    kernel.case(f"load-global-{vector.name}", "loaded", lambda g: g["held_x"], loaded_equal)
    kernel.case(f"load-global-past-end-{vector.name}", "last", last, loaded_equal)
    kernel.case(f"store-global-{vector.name}", "stored", stored)
    kernel.case(
        f"load-shared-{vector.name}", "from_shared", lambda g: held(vector, g["x"][0, :n]), loaded_equal
    )
    kernel.case(f"store-shared-{vector.name}", "to_shared", lambda g: g["x"][1, n : 2 * n])
    return kernel


def maps(arch: str, vector: Vector, group: int) -> Kernel:
    """A third of the maps."""
    dtype, n = vector.dtype, vector.length
    kernel = Kernel(f"maps-{group}-{vector.name}", arch)
    kernel.input("x", dtype, (n,), normal(dtype, arch, n))
    kernel.input("y", dtype, (n,), normal(dtype, arch, n))
    kernel.derive("held_x", dtype, vector.held_shape, lambda g: held(vector, g["x"]))
    kernel.derive("held_y", dtype, vector.held_shape, lambda g: held(vector, g["y"]))
    size = vector.held_shape[0] * vector.held_shape[1] * vector.held_shape[2]
    body = [f"using vector = {vector.cpp}; vector x, y, p, d;"]
    body.append("take(x, held_x_ptr); take(y, held_y_ptr); abs(p, x);")
    number = 0

    def add(call: str, name: str, wanted: Callable[[Inputs], torch.Tensor], ulps: float) -> None:
        nonlocal number
        body.append(f"{call} put(d, out_ptr + {number * size});")
        kernel.case(
            f"{name}-{vector.name}",
            "out",
            lambda g: held(vector, rounded(wanted(g), dtype, arch)),
            of_elements(vector, tolerance(ulps, dtype, arch)),
            number,
        )
        number += 1

    for name, (function, ulps) in list(UNARY.items())[group::3]:
        positive = name in OF_POSITIVE
        add(
            f"{name}(d, {'p' if positive else 'x'});",
            name,
            lambda g, f=function, p=positive: f(g["x"].double().abs() if p else g["x"].double()),
            ulps,
        )
    for name, value in list(CONSTANTS.items())[group::3]:
        add(f"{name}(d);", name, lambda _, v=value: torch.full((n,), v, dtype=torch.float64), 0)
    for name, (function, ulps) in list(BINARY.items())[group::3]:
        add(f"{name}(d, x, y);", name, lambda g, f=function: f(g["x"].double(), g["y"].double()), ulps)
        add(
            f"copy(d, x); {name}(d, d, base_types::constants<{dtype}>::of(1.25f));",
            f"{name}-value",
            lambda g, f=function: f(g["x"].double(), torch.tensor(1.25, dtype=torch.float64)),
            ulps,
        )
    kernel.output("out", dtype, (number, *vector.held_shape))
    for to in ELEMENTS:
        if to == dtype or (vector.is_align and "fp8e4m3" in (to, dtype)):
            continue
        tile = vector.tile.with_dtype(to) if vector.tile is not None else None
        other = Vector(to, n, tile, vector.kind)
        body.append(f"{other.cpp} as_{to}; copy(as_{to}, x); put(as_{to}, {to}_ptr);")
        kernel.output(to, to, vector.held_shape)
        kernel.case(
            f"copy-to-{to}-{vector.name}",
            to,
            lambda g, to=to: held(vector, rounded(g["x"].double(), to, arch)),
            of_elements(vector, same_values),
        )
    kernel.body = "\n    ".join(body)
    return kernel


REDUCE = {"max": torch.amax, "min": torch.amin, "sum": torch.sum, "prod": torch.prod}


def reductions(arch: str, vector: Vector) -> Kernel:
    """To one value, which all lanes get."""
    dtype, n = vector.dtype, vector.length
    kernel = Kernel(f"reduce-{vector.name}", arch)
    # Numbers so near to one that a product of all of them is far from the ends of any type.
    kernel.input("x", dtype, (n,), near_one(dtype, arch, n))
    kernel.derive("held_x", dtype, vector.held_shape, lambda g: held(vector, g["x"]))
    kernel.output("out", dtype, (len(REDUCE), 64))
    body = [f"{vector.cpp} x; take(x, held_x_ptr); {dtype} value;"]
    for number, (name, function) in enumerate(REDUCE.items()):
        body.append(f"{name}(value, x); out_ptr[{64 * number} + laneid()] = value;")
        ulps = 0 if name in ("max", "min") else n / 2 if dtype == "float" else 1
        kernel.case(
            f"{name}-of-{vector.name}",
            "out",
            lambda g, f=function: rounded(f(g["x"].double()).expand(64), dtype, arch),
            close(ulps, least(dtype, arch) if ulps else 0.0),
            number,
        )
    kernel.body = "\n    ".join(body)
    return kernel


def all_vectors() -> Iterator[tuple[int, Vector]]:
    for number, dtype, layout, shape in layouts_of_tiles(scaled=False):
        tile: Tile = sized(number, dtype, layout, shape, 32)
        for vector in vectors_of(tile):
            yield number, vector
    for number, dtype in enumerate(ELEMENTS):
        for length in (64, 100, 320):
            yield number + length, Vector(dtype, length, None, "")


def kernels(arch: str) -> Iterator[Kernel]:
    for number, vector in all_vectors():
        yield memory(arch, vector, 1 + number % 13)
        for group in {(number + (vector.kind == "row_vec")) % 3} if vector.tile else range(3):
            yield maps(arch, vector, group)
        can_reduce = not (vector.is_align and vector.dtype == "fp8e4m3")
        if can_reduce and (vector.tile is not None or vector.length % 64 == 0):
            yield reductions(arch, vector)


FAMILY = Family("vectors", kernels, per_batch=48)


@pytest.mark.parametrize("case", FAMILY.cases(), ids=case_id)
def test_vectors(case: Case) -> None:
    case.run()
