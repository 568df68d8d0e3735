"""Register vectors in every type and layout: memory, maps, conversions, reductions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch
from tile_batches import (
    ELEMENTS,
    LANES,
    Batch,
    Family,
    Inputs,
    Kernel,
    batch_id,
    close,
    equal,
    rounded,
    same_values,
)
from tile_maps import MAPS, Map, least, value_of
from tile_types import (
    BYTES,
    SCALED_SHAPES,
    Vector,
    distinct,
    layouts_of_tiles,
    near_one,
    normal,
    sized,
    vectors_of,
)

from workbench.targets import LIBRARY_TARGETS


def of_elements(
    vector: Vector, compare: Callable[[torch.Tensor, torch.Tensor], str | None]
) -> Callable[[torch.Tensor, torch.Tensor], str | None]:
    """Omits the elements past the end of a naive vector."""
    inside = vector.index() < vector.length
    return lambda got, expected: compare(got[inside], expected[inside])


def memory(arch: str, vector: Vector, axis_length: int) -> Kernel:
    """From and to global and shared memory; vector 1 of several in a row, the last one not whole."""
    n, dtype = vector.length, vector.dtype
    kernel = Kernel(f"memory-{vector.name}", arch, shared=2 * (n * BYTES[dtype] + 64))
    ragged = max(1, n - axis_length)
    kernel.input("x", dtype, (2, 2 * n + ragged), distinct(dtype, arch, 2 * (2 * n + ragged)))
    kernel.derive("held_x", dtype, vector.held_shape, lambda g: vector.held(g["x"][1, n : 2 * n]))
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
    for (int i = laneid(); i < {n}; i += WARP_THREADS) s[0][i] = x_ptr[i];
    wait_and_barrier();
    load(v, s[0]); put(v, from_shared_ptr);
    store(s[1], w);
    wait_and_barrier();
    for (int i = laneid(); i < {n}; i += WARP_THREADS) to_shared_ptr[i] = s[1][i];"""

    def last(inputs: Inputs) -> torch.Tensor:
        whole = torch.zeros(n, dtype=torch.uint8).to(inputs["x"].dtype)
        whole[:ragged] = inputs["x"][0, 2 * n :]
        return vector.held(whole)

    def stored(inputs: Inputs) -> torch.Tensor:
        x = inputs["x"]
        out = torch.full((x.nbytes,), 0xA5, dtype=torch.uint8).view(x.dtype).reshape(x.shape)
        out[1, n : 2 * n] = x[1, n : 2 * n]
        out[0, 2 * n :] = x[1, n : n + ragged]
        return out

    loaded_equal = of_elements(vector, equal)
    kernel.case(f"load-global-{vector.name}", "loaded", lambda g: g["held_x"], loaded_equal)
    kernel.case(f"load-global-past-end-{vector.name}", "last", last, loaded_equal)
    kernel.case(f"store-global-{vector.name}", "stored", stored)
    kernel.case(
        f"load-shared-{vector.name}", "from_shared", lambda g: vector.held(g["x"][0, :n]), loaded_equal
    )
    kernel.case(f"store-shared-{vector.name}", "to_shared", lambda g: g["x"][1, n : 2 * n])
    return kernel


def _index(x: torch.Tensor) -> torch.Tensor:
    return torch.arange(len(x))


PLACED = {
    "fill": Map("fill(d, [](int i) { return i % 16 - 3; });", lambda x, _: _index(x) % 16 - 3),
    "map-place": Map(
        "map(d, x, [](float v, int i) { return i % 3 == 0 ? -v : v; });",
        lambda x, _: torch.where(_index(x) % 3 == 0, -x, x),
    ),
    "map-two-place": Map(
        "map(d, x, y, [](float v, float w, int i) { return i % 5 == 0 ? w : v; });",
        lambda x, y: torch.where(_index(x) % 5 == 0, y, x),
    ),
    "map-three-place": Map(
        "map(d, x, y, p, [](float v, float w, float z, int i)"
        " { return i % 3 == 0 ? w : i % 3 == 1 ? z : v; });",
        lambda x, y: torch.where(_index(x) % 3 == 0, y, torch.where(_index(x) % 3 == 1, x.abs(), x)),
    ),
}
"""Maps that depend on an element's position."""

FUNCTIONS_OF_VECTORS = MAPS | PLACED


def maps(arch: str, vector: Vector, names: list[str]) -> Kernel:
    """Maps, and conversions to other element types."""
    dtype, n = vector.dtype, vector.length
    kernel = Kernel(f"{names[0]}-{vector.name}", arch)
    for name in ("x", "y"):
        kernel.input(name, dtype, (n,), normal(dtype, arch, n))
        kernel.derive(f"held_{name}", dtype, vector.held_shape, lambda g, name=name: vector.held(g[name]))
    size = vector.held_shape[0] * vector.held_shape[1] * vector.held_shape[2]
    body = [
        f"using vector = {vector.cpp}; using T [[maybe_unused]] = vector::T; {value_of(dtype)}",
        "vector x, y, p; [[maybe_unused]] vector d;",
    ]
    body.append("take(x, held_x_ptr); take(y, held_y_ptr); abs(p, x);")
    mapped = [name for name in names if name in FUNCTIONS_OF_VECTORS]
    for number, name in enumerate(mapped):
        function = FUNCTIONS_OF_VECTORS[name]
        body.append(f"{function.call} put(d, out_ptr + {number * size});")

        def expected(inputs: Inputs, function: Map = function) -> torch.Tensor:
            values = function.of(inputs["x"].double(), inputs["y"].double())
            return vector.held(rounded(values, dtype, arch))

        check = of_elements(vector, function.check(dtype, arch))
        kernel.case(f"{name}-{vector.name}", "out", expected, check, number)
    if mapped:
        kernel.output("out", dtype, (len(mapped), *vector.held_shape))
    for to in (name for name in names if name in ELEMENTS):
        tile = vector.tile.with_dtype(to) if vector.tile is not None else None
        other = Vector(to, n, tile, vector.kind, vector.side_by_side)
        body.append(f"{other.cpp} as_{to}; copy(as_{to}, x); put(as_{to}, {to}_ptr);")
        kernel.output(to, to, vector.held_shape)
        kernel.case(
            f"copy-to-{to}-{vector.name}",
            to,
            lambda g, to=to: vector.held(rounded(g["x"].double(), to, arch)),
            of_elements(vector, same_values),
        )
    kernel.body = "\n    ".join(body)
    return kernel


REDUCE = {"max of": torch.amax, "min of": torch.amin, "sum of": torch.sum, "prod of": torch.prod}


def reductions(arch: str, vector: Vector, names: list[str]) -> Kernel:
    """Reductions to one value, which all lanes get."""
    dtype, n = vector.dtype, vector.length
    kernel = Kernel(f"reduce-{vector.name}", arch)
    # Numbers so near to one that a product of all of them is far from the limits of any type.
    kernel.input("x", dtype, (n,), near_one(dtype, arch, n))
    kernel.derive("held_x", dtype, vector.held_shape, lambda g: vector.held(g["x"]))
    kernel.output("out", dtype, (len(names), kernel.lanes))
    body = [f"{vector.cpp} x; take(x, held_x_ptr); {dtype} value;"]
    for number, name in enumerate(names):
        body.append(f"{name.split()[0]}(value, x); out_ptr[{kernel.lanes * number} + laneid()] = value;")
        ulps = 0 if name in ("max of", "min of") else n / 2 if dtype == "float" else 1
        kernel.case(
            f"{name} {vector.name}",
            "out",
            lambda g, f=REDUCE[name]: rounded(f(g["x"].double()).expand(kernel.lanes), dtype, arch),
            close(ulps, least(dtype, arch) if ulps else 0.0),
            number,
        )
    kernel.body = "\n    ".join(body)
    return kernel


MEMORY = "memory"
FUNCTIONS = (MEMORY, *FUNCTIONS_OF_VECTORS, *ELEMENTS, *REDUCE)

Product = tuple[str, tuple[str, str], str, str, str]
"""A function; target and element type; the kind of vector, its tile's layout and base shape. A naive vector
has no tile: the last is its length."""

NAIVE = "naive"
PER_KERNEL = 13


def all_vectors(arch: str) -> Iterator[tuple[int, str, str, Vector]]:
    """Every vector, with a number, its layout and its base shape or length."""
    for number, dtype, layout, shape in layouts_of_tiles(LANES[arch]):
        if shape not in SCALED_SHAPES:
            for vector in vectors_of(sized(number, dtype, layout, shape, 32).on(arch)):
                yield number, layout, shape, vector
    for number, dtype in enumerate(ELEMENTS):
        for length in (64, 100, 320):
            yield number + length, "", str(length), Vector(dtype, length, None, NAIVE, wave=LANES[arch])


def fits(function: str, vector: Vector) -> bool:
    if function in ELEMENTS:
        return function != vector.dtype and not (vector.is_align and "fp8e4m3" in (function, vector.dtype))
    if function in REDUCE:
        whole = vector.tile is not None or vector.length % vector.lanes == 0
        return whole and not (vector.is_align and vector.dtype == "fp8e4m3")
    return True


ROWS = [
    (function, (arch, vector.dtype), vector.kind, layout, shape)
    for arch in LIBRARY_TARGETS
    for _, layout, shape, vector in all_vectors(arch)
    for function in FUNCTIONS
    if fits(function, vector)
]


def kernels(arch: str, products: list[Product]) -> Iterator[Kernel]:
    functions = defaultdict(list)
    for function, *vector in products:
        functions[tuple(vector)].append(function)
    for number, layout, shape, vector in all_vectors(arch):
        vector = replace(vector, side_by_side=arch != "gfx942")
        names = functions[(arch, vector.dtype), vector.kind, layout, shape]
        if MEMORY in names:
            yield memory(arch, vector, 1 + number % 13)
        mapped = [name for name in names if name in FUNCTIONS_OF_VECTORS or name in ELEMENTS]
        for first in range(0, len(mapped), PER_KERNEL):
            yield maps(arch, vector, mapped[first : first + PER_KERNEL])
        if reduced := [name for name in names if name in REDUCE]:
            yield reductions(arch, vector, reduced)


FAMILY = Family("vectors", kernels, ROWS, per_batch=48)


@pytest.mark.parametrize("batch", FAMILY.batches, ids=batch_id)
def test_vectors(batch: Batch, subtests: pytest.Subtests) -> None:
    batch.check(subtests)
