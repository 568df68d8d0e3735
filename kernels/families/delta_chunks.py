"""Common parts of the operators of `delta_chunks.cuh`: tensors by name, launches, random inputs, steps."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, Index, KernelSpec, Launch, Parameter, Range, Step
from workbench.targets import WAVE
from workbench_kernels.families import scalars
from workbench_kernels.families.attention import check_starts
from workbench_kernels.families.experts import fits
from workbench_kernels.references import delta_chunks as references

SOURCE = '#include "families/delta_chunks.cuh"\nusing namespace kittens;\n'
SLICE, SIDE = 64, 16
"""Keys per matrix product; tokens and columns per wave."""

Shape = Mapping[str, Any]
OPERANDS = (*scalars.FLOATS.values(), torch.float64)
"""References receive float64."""

_TOKENS = ("batch", "tokens")
DIMS: dict[str, tuple[tuple[torch.dtype, ...], tuple[str, ...]]] = {
    "q": (OPERANDS, (*_TOKENS, "heads", "keys")),
    "k": (OPERANDS, (*_TOKENS, "heads", "keys")),
    "v": (OPERANDS, (*_TOKENS, "of_values", "values")),
    "w": (OPERANDS, (*_TOKENS, "of_values", "keys")),
    "u": (OPERANDS, (*_TOKENS, "of_values", "values")),
    "g": (scalars.WIDE, (*_TOKENS, "of_values")),
    "beta": (scalars.WIDE, (*_TOKENS, "of_values")),
    "sums": (scalars.WIDE, (*_TOKENS, "of_values")),
    "a": (scalars.WIDE, (*_TOKENS, "of_values", "chunk")),
    "inverse": (scalars.WIDE, (*_TOKENS, "of_values", "chunk")),
    "h": (OPERANDS, ("batch", "chunks", "of_values", "keys", "values")),
    "corrections": (OPERANDS, (*_TOKENS, "of_values", "values")),
    "o": (OPERANDS, (*_TOKENS, "of_values", "values")),
    "initial_state": (scalars.WIDE, ("sequences", "of_values", "keys", "values")),
    "last_state": (scalars.WIDE, ("sequences", "of_values", "keys", "values")),
}
"""Dtypes and dimensions of tensors by name: inputs, outputs and workspace."""

PARAMETERS: dict[str, Parameter] = {
    "batch": Range(1, 65535, default=1, doc="batches"),
    "tokens": Range(1, 1 << 20, default=256, doc="tokens of a batch"),
    "heads": Range(1, 1024, default=2, doc="heads of q and k"),
    "groups": Range(1, 64, default=2, doc="heads of v per head of q and k"),
    "keys": Choice((64, 128, 256), default=128, doc="rows of a state"),
    "values": Range(16, 512, 16, default=128, doc="columns of a state"),
    "sequences": Range(1, 65535, default=1, doc="sequences: one per batch, or packed into one batch"),
    "chunk": Choice((16, 32, 64), default=64, doc="tokens of a chunk"),
    "dtype": Choice(tuple(scalars.FLOATS), doc="element type in memory"),
}


def of_values(shape: Shape) -> int:
    """Heads of v; of operators without keys, all heads."""
    # PyTorch may trace a size as a symbol, here and below: `int` would make it a constant.
    count: int = shape["heads"] * shape.get("groups", 1)
    return count


def chunks(shape: Shape) -> int:
    """Chunks of all batches; of packed sequences, the largest possible number."""
    if shape["sequences"] == shape["batch"]:
        count: int = shape["batch"] * -(-shape["tokens"] // shape["chunk"])
        return count
    return references.at_most(shape["tokens"], shape["sequences"], shape["chunk"])


def columns(shape: Shape) -> int:
    """Columns of values per work-group: 64, or a divisor of their number."""
    return math.gcd(shape.get("values", SLICE), SLICE)


def space(name: str, shape: Shape) -> tuple[tuple[int, ...], torch.dtype]:
    """Dimensions and dtype of a tensor by name."""
    sizes = {**shape, "of_values": of_values(shape), "chunks": chunks(shape) // shape["batch"]}
    kinds, dims = DIMS[name]
    dtype = torch.float32 if kinds is scalars.WIDE else scalars.FLOATS[shape["dtype"]]
    return tuple(sizes[dim] for dim in dims), dtype


def layout(name: str, parameters: Mapping[str, Parameter]) -> str:
    """Type and axes of a tensor, such as "fp32[batch, tokens, heads]"."""
    kinds, dims = DIMS[name]
    of_values = "heads*groups" if "groups" in parameters else "heads"
    axes = ", ".join(of_values if dim == "of_values" else dim for dim in dims)
    return f"{'fp32' if kinds is scalars.WIDE else 'dtype'}[{axes}]"


Name = str | Callable[[Shape], str]
"""A property of a tensor, which may depend on the shape."""


@dataclass(frozen=True)
class Kernel:
    """A kernel of the family.

    Attributes:
        entry: name of the instance for a shape.
        grid: work-groups, from the shape.
        waves: of a work-group.
        tensors: parameters that are tensors, each with the name of the tensor that it usually is.
        sizes: numbers among the parameters, beside those of all.
    """

    entry: Callable[[Shape], str]
    grid: Callable[[Shape], tuple[int, ...]]
    waves: Callable[[Shape], int]
    tensors: Mapping[str, str]
    sizes: Callable[[Shape, Mapping[str, Any]], Mapping[str, Any]] = field(
        default=lambda shape, tensors: {"groups": shape["groups"], "values": shape["values"]}
    )

    def arguments(
        self, names: Mapping[str, Name], shape: Shape, tensors: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Arguments; `names` are the tensors whose names differ from the usual ones."""
        sources = {**self.tensors, **names}
        operands = {to: tensors.get(n if isinstance(n, str) else n(shape)) for to, n in sources.items()}
        return {
            **{to: None if x is None else x.contiguous() for to, x in operands.items()},
            **{"starts": tensors.get("cu_seqlens"), "count": shape["sequences"], "tokens": shape["tokens"]},
            **self.sizes(shape, tensors),
        }

    def step(self, name: str, **names: Name) -> Step:
        """The step of the kernel in an operator with several."""
        return Step(
            name=name,
            entry=self.entry,
            launch=lambda shape, arch: Launch(self.grid(shape), WAVE * self.waves(shape)),
            arguments=lambda shape, tensors: self.arguments(names, shape, tensors),
        )


def _instance(name: str, *sizes: str) -> Callable[[Shape], str]:
    """Entry of a template instance, by the type of the operands and these sizes."""

    def entry(shape: Shape) -> str:
        values = {**shape, "columns": columns(shape), "waves": columns(shape) // SIDE}
        values["bounded"] = "true" if shape.get("bounded") else "false"
        return f"families::delta_chunks::{name}<{scalars.SYMBOLS[shape['dtype']]}, " + (
            ", ".join(str(values.get(size, size)) for size in sizes) + ">"
        )

    return entry


def _of_chunks(shape: Shape) -> tuple[int, ...]:
    return chunks(shape), of_values(shape)


def _waves(shape: Shape) -> int:
    return int(shape["chunk"] // SIDE)


def _groups(shape: Shape, tensors: Mapping[str, Any]) -> dict[str, Any]:
    return {"groups": shape["groups"]}


SUMS = Kernel(
    lambda shape: f"families::delta_chunks::cumulative_sums<{shape['chunk']}>",
    lambda shape: (chunks(shape), -(-shape["cols"] // WAVE)),
    lambda shape: 1,
    {"x": "x", "sums": "sums"},
    lambda shape, tensors: {
        **{"cols": shape["cols"], "scale": tensors["scale"]},
        "reverse": int(tensors["reverse"]),
    },
)
_OF_PRODUCTS = {"k": "k", "g": "g", "beta": "beta", "A": "a", "sums": "sums"}
PRODUCTS = Kernel(
    _instance("products", "chunk", "keys", "false", "bounded"),
    _of_chunks,
    _waves,
    {**_OF_PRODUCTS, "sums": ""},
    _groups,
)
SUMMED_PRODUCTS = Kernel(
    _instance("products", "chunk", "keys", "true", "bounded"), _of_chunks, _waves, _OF_PRODUCTS, _groups
)
INVERSE = Kernel(
    lambda shape: f"families::delta_chunks::inverse<{shape['chunk']}>",
    _of_chunks,
    lambda shape: 1,
    {"A": "a", "inverses": "inverse"},
    lambda shape, tensors: {},
)
REPRESENTATION = Kernel(
    _instance("represent", "chunk", "keys", "columns"),
    _of_chunks,
    _waves,
    {"k": "k", "v": "v", "beta": "beta", "A": "a", "g": "g", "w": "w", "u": "u"},
)
STATES = Kernel(
    _instance("states", "chunk", "keys", "waves"),
    lambda shape: (shape["values"] // columns(shape), of_values(shape), shape["sequences"]),
    lambda shape: columns(shape) // SIDE,
    {
        **{"k": "k", "w": "w", "u": "u", "g": "g", "initial": "initial_state"},
        **{"h": "h", "corrections": "corrections", "last": "last_state"},
    },
    lambda shape, tensors: {
        **{"groups": shape["groups"], "values": shape["values"]},
        "chunks": chunks(shape),
    },
)
OUTPUTS = Kernel(
    _instance("outputs", "chunk", "keys", "columns"),
    lambda shape: (*_of_chunks(shape), shape["values"] // columns(shape)),
    _waves,
    {"q": "q", "k": "k", "corrections": "v", "h": "h", "g": "g", "o": "o"},
    lambda shape, tensors: {
        **{"groups": shape["groups"], "values": shape["values"]},
        "scale": shape["keys"] ** -0.5 if tensors["scale"] is None else tensors["scale"],
    },
)


def check(shape: Shape, arch: str) -> None:
    """Refuses several batches of packed sequences."""
    if shape["sequences"] != shape["batch"] and shape["batch"] != 1:
        raise ShapeError(
            f"delta rule: {shape['sequences']} sequences in {shape['batch']} batches; expected 1"
        )


def sequences_of(name: str, batch: int, starts: torch.Tensor | None) -> int:
    """Number of sequences in a call."""
    if starts is None:
        return batch
    check_starts("cu_seqlens", starts)
    if batch != 1:
        raise ShapeError(f"{name}: B is {batch} with cu_seqlens; expected 1, packed sequences")
    return starts.numel() - 1


def _shape_of(name: str, takes: Sequence[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Shape of a call, from tensors with these names."""
    sizes: dict[str, Any] = fits(name, **{each: (arguments[each], *DIMS[each]) for each in takes})
    operands = [
        arguments[each] for each in takes if DIMS[each][0] is OPERANDS and arguments[each] is not None
    ]
    for operand, tensor in zip((n for n in takes if DIMS[n][0] is OPERANDS), operands, strict=False):
        if tensor.dtype != operands[0].dtype:
            raise ShapeError(f"{name}: {operand} is {tensor.dtype}; expected {operands[0].dtype}, as k")
    all_heads = sizes.pop("of_values")
    heads = sizes.setdefault("heads", all_heads)
    if all_heads % heads:
        raise ShapeError(f"{name}: {all_heads} heads of values for {heads} of keys; expected a multiple")
    sequences = sequences_of(name, sizes["batch"], arguments.get("cu_seqlens"))
    if sizes.setdefault("sequences", sequences) != sequences:
        raise ShapeError(f"{name}: initial_state has {sizes['sequences']} sequences; expected {sequences}")
    sizes["groups"] = all_heads // heads
    sizes.setdefault("chunk", arguments.get("chunk"))
    names = {dtype: name for name, dtype in scalars.FLOATS.items()}
    if operands:
        sizes["dtype"] = names.get(operands[0].dtype, "fp32")
    has = sizes.pop("chunks", None)
    if has is not None and has != chunks(sizes) // sizes["batch"]:
        raise ShapeError(f"{name}: h has {has} chunks; expected {chunks(sizes) // sizes['batch']}")
    return sizes


def random_starts(shape: Shape, generator: torch.Generator) -> torch.Tensor | None:
    """Offsets of packed sequences, which may be empty; None for sequences of one length."""
    if shape["sequences"] == shape["batch"]:
        return None
    tokens = shape["tokens"]
    inner = torch.randint(0, tokens + 1, (shape["sequences"] - 1,), generator=generator).sort()[0]
    return torch.tensor([0, *inner.tolist(), tokens], dtype=torch.int32)


def raw(shape: Shape, generator: torch.Generator, required: Sequence[str]) -> dict[str, Any]:
    """Inputs as in a layer: decays below one, strengths between zero and one, keys of length one.

    The state, which may be large, is generated only if `required` names it or a tensor that depends on it.
    """
    batch, tokens, heads, all_heads = shape["batch"], shape["tokens"], shape["heads"], of_values(shape)
    dtype = scalars.FLOATS[shape.get("dtype", "fp32")]
    keys, values = shape.get("keys", SLICE), shape.get("values", SIDE)

    def normal(*dims: int) -> torch.Tensor:
        return torch.randn(batch, tokens, *dims, generator=generator)

    tensors: dict[str, Any] = {
        "q": normal(heads, keys).to(dtype),
        "k": torch.nn.functional.normalize(normal(heads, keys), dim=-1).to(dtype),
        "v": normal(all_heads, values).to(dtype),
        "g": torch.nn.functional.logsigmoid(normal(all_heads) + 3),
        "beta": torch.sigmoid(normal(all_heads)),
        "chunk": shape["chunk"],
        "initial_state": None,
        "cu_seqlens": random_starts(shape, generator),
    }
    if tokens % 5 and {"initial_state", "h", "corrections"} & {*required}:
        state = torch.randn(shape["sequences"], all_heads, keys, values, generator=generator)
        tensors["initial_state"] = state / 4
    return tensors


def halfway(shape: Shape, generator: torch.Generator, required: Sequence[str]) -> dict[str, Any]:
    """The same, and the results of the steps for them; g are its sums, omitted for one number of tokens in
    seven."""
    tensors = raw(shape, generator, required)
    starts, size, names = tensors["cu_seqlens"], tensors["chunk"], {*required}
    g = references.cumulative_sums(tensors["g"], starts, size) if shape["tokens"] % 7 else None
    tensors["g"] = g
    if names & {"a", "inverse", "w", "u", "h", "corrections"}:
        tensors["a"] = references.products(tensors["k"], tensors["beta"], g, starts, size)
    if names & {"inverse", "w", "u", "h", "corrections"}:
        tensors["inverse"] = references.inverse(tensors["a"], starts)
    if names & {"w", "u", "h", "corrections"}:
        tensors["w"], tensors["u"] = references.representation(
            tensors["k"], tensors["v"], tensors["beta"], tensors["inverse"], g, starts
        )
    if names & {"h", "corrections"}:
        tensors["h"], tensors["corrections"], _ = references.states(
            **{name: tensors[name] for name in ("k", "w", "u", "g", "initial_state")},
            cu_seqlens=starts,
            chunk=size,
        )
    return tensors


def spec(
    name: str,
    *,
    doc: str,
    takes: Sequence[str],
    gives: Sequence[str],
    steps: Sequence[Step],
    reference: Callable[..., Any],
    between: Sequence[str] = (),
    inputs: Callable[[Shape, torch.Generator, Sequence[str]], Mapping[str, Any]] = halfway,
    named: Mapping[str, str] | None = None,
    multiplications: Callable[[Shape], int] = lambda shape: 0,
    **others: Any,
) -> KernelSpec:
    """`gated_delta/<name>`.

    Args:
        takes: inputs by their names in `DIMS`.
        gives, between: outputs, and tensors passed between steps.
        inputs: random tensors by these names: at least those that the operator takes.
        named: names of inputs that differ from the names in `DIMS`.
        multiplications: multiplications of the matrix products for each head of values and each token.
    """
    called = named or {}
    every = (*takes, *gives, *between)
    used = {dim for each in every for dim in DIMS[each][1]} | {*_TOKENS, "sequences", "chunk"}
    if "heads" in used:
        used |= {"groups"}
    if any(DIMS[each][0] is OPERANDS for each in every):
        used |= {"dtype"}
    parameters = {p: of for p, of in PARAMETERS.items() if p in used or p == "heads"}

    packs = "cu_seqlens" in inspect.signature(reference).parameters

    def drawn(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
        tensors = inputs(shape, generator, takes)
        extra = [each for each in ("cu_seqlens", "chunk") if each in inspect.signature(reference).parameters]
        return {called.get(each, each): tensors[each] for each in (*takes, *extra)}

    def shape_of_call(**arguments: Any) -> dict[str, Any]:
        tensors = {**arguments, **{each: arguments[to] for each, to in called.items()}}
        sizes = _shape_of(name, takes, tensors)
        return {p: size for p, size in sizes.items() if p in parameters}

    def moved(shape: Shape) -> int:
        spaces = [space(each, shape) for each in (*takes, *gives)]
        return sum(math.prod(dims) * dtype.itemsize for dims, dtype in spaces)

    return KernelSpec(
        name=f"gated_delta/{name}",
        doc=doc,
        source=SOURCE,
        parameters=parameters,
        inputs=drawn,
        outputs=lambda shape, tensors: {each: space(each, shape) for each in gives},
        workspace=lambda shape, tensors: {each: space(each, shape) for each in between},
        reference=reference,
        shape_of=shape_of_call,
        check=check,
        steps=steps,
        tensors={
            **{called.get(each, each): layout(each, parameters) for each in takes},
            **({"cu_seqlens": "int32[sequences+1]"} if packs else {}),
            **{each: layout(each, parameters) for each in gives},
        },
        indexes={"cu_seqlens": Index("tokens+1")} if packs else {},
        notes={
            "a": "products of keys within chunks, below the diagonal: token i by token j of its chunk",
            "beta": "fraction of the error that is corrected",
            "g": "logarithms of decays"
            if inputs is raw
            else "sums of logarithms of decays within chunks, as `gated_delta_chunk_cumsum` gives them"
            + (
                "; if None, there is no decay"
                if inspect.signature(reference).parameters["g"].default is None
                else ""
            ),
        }
        if "g" in takes
        else {"a": "a matrix for each chunk; only the part below the diagonal is read"},
        flops=lambda shape: 2 * multiplications(shape) * shape["batch"] * shape["tokens"] * of_values(shape),
        bytes=moved,
        **others,
    )
