"""The kernels that the layout explorer runs: a question, written with the tile library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.errors import CompileError, UsageError
from workbench.kernel import Module, compile
from workbench.targets import target
from workbench.tiles.question import Question

PREAMBLE = """#include "kittens.cuh"
using namespace kittens;

/* Elements that a lane holds, in the order of its registers: out[element * WARP_THREADS + lane]. */
template <typename T, int count, typename Packed>
__device__ inline void dump_packed(const Packed &value, T *out, int &at) {
    struct elements { T e[count]; };
    const auto held = __builtin_bit_cast(elements, value);
#pragma unroll
    for (int i = 0; i < count; i++) out[at++ * WARP_THREADS + laneid()] = held.e[i];
}
template <ducks::rt::all R> __device__ inline void dump(const R &tile, typename R::T *out) {
    int at = 0;
#pragma unroll
    for (int i = 0; i < R::height; i++)
#pragma unroll
        for (int j = 0; j < R::width; j++)
#pragma unroll
            for (int k = 0; k < R::packed_per_base_tile; k++)
                dump_packed<typename R::T, R::packing>(tile.tiles[i][j].data[k], out, at);
}
template <ducks::rv::all R> __device__ inline void dump(const R &vector, typename R::T *out) {
    constexpr int packing = sizeof(typename R::dtype) / sizeof(typename R::T);
    int at = 0;
#pragma unroll
    for (int i = 0; i < R::outer_dim; i++)
#pragma unroll
        for (int k = 0; k < R::inner_dim; k++) dump_packed<typename R::T, packing>(vector[i][k], out, at);
}
"""

_ALLOCATE = """    extern __shared__ alignment_dummy __shm[];
    shared_allocator al((int *)&__shm[0]);
    using tile_t = {tile};
    tile_t &s = al.allocate<tile_t>();"""

_FILL = """    for (int i = threadIdx.x; i < {count}; i += blockDim.x)
        s[{place}] = g.x.raw_ptr[i / {cols} * g.x.cols() + i % {cols}];
    __syncthreads();"""
_IMAGE = """    for (int i = threadIdx.x; i < {count}; i += blockDim.x) g.image.raw_ptr[i] = s.data[i];"""
_ORIGIN = "{0, 0, 0, 0}"


class Code(NamedTuple):
    """One kernel: the tensors that it takes, and its body."""

    members: tuple[str, ...]
    body: list[str]


def kernels(of: Question, name: str, wave_size: int) -> str:
    """Source of a question's kernels: `<name>_access`, and for shared tiles `<name>_order`."""
    return "\n".join(_kernel(f"{name}_{part}", of, code, wave_size) for part, code in codes(of).items())


def _kernel(name: str, of: Question, code: Code, wave_size: int) -> str:
    element = of.tile.element
    held = of.register.element if of.register is not None else element
    types = "".join(f" gl<{held if m == 'held' else element}, -1, -1, -1, -1> {m};" for m in code.members)
    text = "\n".join(code.body)
    bounds = f"__launch_bounds__({of.threads(wave_size)})"
    return (
        f"struct {name}_globals {{{types} }};\n"
        f"__global__ {bounds} void {name}(const {name}_globals g) {{\n{text}\n}}\n"
    )


def codes(of: Question) -> dict[str, Code]:
    """A question's kernels: "order" reads the shared tile's memory directly, "access" makes the access."""
    parts = {}
    if of.tile.is_shared:
        parts["order"] = Code(("x", "image"), [*_shared(of), *_filled(of), _image(of)])
    if of.access is not None or not of.tile.is_shared:
        parts["access"] = _access_code(of)
    return parts


def _shared(of: Question) -> list[str]:
    return [_ALLOCATE.format(tile=of.tile.text)]


def _filled(of: Question) -> list[str]:
    cols = of.tile.cols
    place = f"{{i / {cols}, i % {cols}}}" if of.tile.kind == "st" else "i"
    return [_FILL.format(count=of.tile.rows * cols, place=place, cols=cols)]


def _image(of: Question) -> str:
    return _IMAGE.format(count=of.tile.rows * of.tile.cols)


def _access_code(of: Question) -> Code:
    if of.group is not None:
        group = f"group<{of.group}>"
        if of.access == "load":
            moved = [f"    {group}::load(s, g.x, {_ORIGIN});", "    wait_and_barrier();", _image(of)]
            return Code(("x", "image"), [*_shared(of), *moved])
        return Code(("x", "out"), [*_shared(of), *_filled(of), f"    {group}::store(g.out, s, {_ORIGIN});"])
    if of.register is None:
        moved = [f"    {of.tile.text} a;", f"    load(a, g.x, {_ORIGIN});", "    dump(a, g.held.raw_ptr);"]
        if of.access != "store":
            return Code(("x", "held"), moved)
        return Code(("x", "held", "out"), [*moved, f"    store(g.out, a, {_ORIGIN});"])
    target, body = "s", _shared(of)
    if of.part is not None:
        rows, cols = of.part
        body.append(f"    auto part = subtile_inplace<{rows}, {cols}>(s, {{{of.at[0]}, {of.at[1]}}});")
        target = "part"
    declared, dumped = f"    {of.register.text} a;", "    dump(a, g.held.raw_ptr);"
    if of.access == "load":
        return Code(("x", "held"), [*body, *_filled(of), declared, f"    load(a, {target});", dumped])
    filled = f"    load(a, g.x, {{0, 0, {of.at[0]}, {of.at[1]}}});"
    stored = [f"    store({target}, a);", "    __syncthreads();", _image(of)]
    return Code(("x", "held", "image"), [*body, declared, filled, dumped, *stored])


def kernel_name(index: int) -> str:
    """Prefix of the kernels of a question in a module."""
    return f"q{index}"


def compile_questions(questions: Sequence[Question], arch: str) -> Module:
    """The kernels of several questions in one code object.

    Raises:
        UsageError: the library rejects one of them; the message quotes it.
    """
    wave_size = target(arch).wave_size
    texts = (kernels(of, kernel_name(i), wave_size) for i, of in enumerate(questions))
    source = PREAMBLE + "\n".join(texts)
    try:
        return compile(source, arch=arch, name="layout.hip")
    except CompileError as error:
        first = next((d.message for d in error.diagnostics if d.severity == "error"), str(error))
        titles = "; ".join(of.title for of in questions)
        raise UsageError(f"{titles} for {arch}: the tile library refuses it: {first}") from error
