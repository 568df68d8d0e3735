"""Common parts of the family of `expert_gemm.cuh`: lists of tokens, instances, launches, checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from workbench.errors import ShapeError
from workbench.operators import Choice, KernelSpec, Launch, Parameter, Range
from workbench.targets import target
from workbench_kernels.references.experts import FINISHES

SOURCE = """#include "families/expert_gemm.cuh"
using namespace kittens;
using namespace kittens::families::experts;
using operation = multiply<EXPERTS>;
__global__ __launch_bounds__(operation::threads) void expert_gemm(const operation::arguments g) {
    operation::run(g);
}
"""

Dims = Sequence[int | str]

PARAMETERS = {
    "tokens": Range(1, 1 << 20, default=256, doc="rows of A"),
    "top_k": Range(1, 64, default=2, doc="experts of a token"),
    "experts": Range(1, 1024, default=8, doc="matrices in B"),
    "n": Range(16, 1 << 18, step=16, default=512, doc="columns of a matrix of B"),
    "k": Range(32, 1 << 18, step=32, default=512, doc="columns of A, along which products are summed"),
}
SORTED: dict[str, Parameter] = {
    **PARAMETERS,
    "block": Range(16, 256, step=16, default=64, doc="ids that share an expert in the list"),
    "weighted": Choice((0, 1), doc="whether rows are multiplied by the weight of their id"),
}
RAGGED = {
    **PARAMETERS,
    "gathered": Choice((1, 0), doc="whether a list says which row of A an entry is"),
    "scales": Choice((1, 0), doc="whether A has a scale, and B one for each expert"),
}


def assignments(
    shape: Mapping[str, Any], generator: torch.Generator, *, skewed: bool = False
) -> torch.Tensor:
    """A random expert for each id, so that some experts may have none; or the same for all."""
    count, experts = shape["tokens"] * shape["top_k"], shape["experts"]
    if skewed:
        return torch.full((count,), int(torch.randint(0, experts, (1,), generator=generator)))
    return torch.randint(0, experts, (count,), generator=generator)


def blocks_of(assignment: torch.Tensor, experts: int, block: int) -> dict[str, torch.Tensor]:
    """The list for an expert of each id: a stable sort, each expert's ids padded; one block is unused."""
    ids: list[int] = []
    owners: list[int] = []
    for expert in range(experts):
        members = (assignment == expert).nonzero().flatten().tolist()
        blocks = -(-len(members) // block)
        ids += members + [len(assignment)] * (blocks * block - len(members))
        owners += [expert] * blocks
    return {
        "sorted_token_ids": torch.tensor(ids + [len(assignment)] * block, dtype=torch.int32),
        "expert_ids": torch.tensor([*owners, 0], dtype=torch.int32),
        "num_tokens_post_padded": torch.tensor([len(ids)], dtype=torch.int32),
    }


def used_blocks(tensors: Mapping[str, Any]) -> torch.Tensor:
    """Mask of a call's `expert_ids`: blocks with ids; the entries after them are not written."""
    blocks = tensors["expert_ids"].numel()
    block = -(-tensors["sorted_token_ids"].numel() // max(blocks, 1))
    first = torch.arange(blocks, device=tensors["expert_ids"].device) * block
    mask: torch.Tensor = first < tensors["num_tokens_post_padded"]
    return mask


def sorted_inputs(
    shape: Mapping[str, Any], generator: torch.Generator, *, skewed: bool = False
) -> dict[str, Any]:
    """The list, and the weights if there are any."""
    tensors: dict[str, Any] = blocks_of(
        assignments(shape, generator, skewed=skewed), shape["experts"], shape["block"]
    )
    if shape["weighted"]:
        tensors["weights"] = torch.rand(shape["tokens"] * shape["top_k"], generator=generator)
    return {**tensors, "top_k": shape["top_k"]}


def ragged_inputs(
    shape: Mapping[str, Any], generator: torch.Generator, *, skewed: bool = False
) -> dict[str, Any]:
    """Offsets of experts' entries, and their ids; with scales if the shape has them."""
    assignment = assignments(shape, generator, skewed=skewed)
    if not shape["gathered"]:
        assignment = assignment[: shape["tokens"]]
    sizes = torch.bincount(assignment, minlength=shape["experts"])
    tensors: dict[str, Any] = {
        "offsets": torch.cat([torch.zeros(1, dtype=torch.int64), sizes.cumsum(0)]).to(torch.int32),
        "top_k": shape["top_k"],
    }
    if shape["gathered"]:
        tensors["gather"] = assignment.argsort(stable=True).to(torch.int32)
    if shape["scales"]:
        tensors["scale_a"] = torch.rand(1, generator=generator) + 0.5
        tensors["scale_b"] = torch.rand(shape["experts"], generator=generator) + 0.5
    return tensors


def entries(shape: Mapping[str, Any]) -> int:
    """Number of rows of C."""
    # PyTorch may trace a size as a symbol: `int` would make it a constant.
    count: int = shape["tokens"] * (shape["top_k"] if shape.get("gathered", 1) else 1)
    return count


def rows(shape: Mapping[str, Any]) -> int:
    """Entries per work-group: about as many as an expert has, and a divisor of a block."""
    size = next((r for r in (16, 32, 64) if entries(shape) <= r * shape["experts"]), 128)
    block = shape.get("block", 128)
    return next(r for r in (128, 64, 32, 16) if r <= size and block % r == 0)


def stored_bits(shape: Mapping[str, Any], arch: str, elements: Sequence[str]) -> int:
    """Bits per element in shared memory: 8 for int8 (or int4 minus 8), fp8; 4 for fp4 on gfx950; else 16."""
    a, b = (element.format(**shape) for element in elements)
    if a == b in ("int8", "fp8") or (a, b) == ("int8", "int4_0"):
        return 8
    return 4 if a == b == "fp4" and "F6F4" in target(arch).matrix_rates else 16


def step(shape: Mapping[str, Any], arch: str, elements: Sequence[str]) -> int:
    """Elements along K per step."""
    bits, groups = stored_bits(shape, arch, elements), shape.get("group_k", 64)
    if bits == 16:
        return 32 if rows(shape) == 16 or arch == "gfx942" or groups % 64 else 64
    return 32 if groups % 64 else 512 // bits


def columns(shape: Mapping[str, Any]) -> int:
    """Columns of B per work-group."""
    return 256 if rows(shape) == 16 else 128


def instance(
    a: str, b: str, *, listing: str, factors: bool = False
) -> Callable[[Mapping[str, Any], str], dict[str, object]]:
    """Macros of `multiply<a, b, listing, ...>`; a and b may name a shape parameter in braces."""

    def define(shape: Mapping[str, Any], arch: str) -> dict[str, object]:
        activation = shape.get("activation", "none")
        how = "pairs" if shape.get("swiglu") else "halves" if activation == "silu_and_mul" else "plain"
        operation = {"none": "copy", "silu_and_mul": "silu"}.get(activation, activation)
        along = "true" if shape.get("layout") == "nt" else "false"
        return {
            "EXPERTS": ", ".join(
                [
                    *(TYPES[t.format(**shape)] for t in (a, b)),
                    listing,
                    "block_factors" if factors else "no_factors",
                    along,
                    f"finish::{how}",
                    f"base_ops::{operation}",
                    str(rows(shape)),
                    str(step(shape, arch, (a, b))),
                ]
            )
        }

    return define


TYPES = {
    "bf16": "whole<bf16>",
    "int8": "whole<int8>",
    "fp8": "whole<fp8e4m3>",
    "fp4": "fp4",
    "int4_0": "eights",
    "int4_1": "nibbles",
}


def launch(elements: Sequence[str]) -> Callable[[Mapping[str, Any], str], Launch]:
    """As many work-groups as any list can have tiles; shared memory holds two steps of A and B of these
    types."""

    def launch_of_shape(shape: Mapping[str, Any], arch: str) -> Launch:
        high, tile, wide = entries(shape), rows(shape), columns(shape)
        if "block" in shape:
            # The longest list: every expert's last block has one id and is padding otherwise.
            most = high + min(shape["experts"], high) * (shape["block"] - 1) + shape["block"]
            tiles = -(-most // tile)
        else:
            tiles = -(-high // tile) + shape["experts"]
        numbers = step(shape, arch, elements) * (tile + wide)
        return Launch(
            grid=(tiles, -(-shape["n"] // wide)),
            block=256,
            dynamic_shared=2 * numbers * stored_bits(shape, arch, elements) // 8,
        )

    return launch_of_shape


POINTERS = (
    *("powers_a", "powers_b", "zero", "blocks_a", "blocks_b", "scale_a", "scale_b", "bias", "weights"),
    *("sorted_token_ids", "expert_ids", "num_tokens_post_padded", "offsets", "gather"),
)


def arguments(shape: Mapping[str, Any], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the kernel that its list and its factors use."""
    ragged = "offsets" in tensors
    pointers = {name: tensors.get(name) for name in POINTERS}
    unused = ("sorted_token_ids", "expert_ids", "num_tokens_post_padded") if ragged else ("offsets", "gather")
    return {
        **{name: tensor for name, tensor in pointers.items() if name not in unused},
        **{name: tensors[name] for name in "abc"},
        **({} if ragged else {"block": shape["block"], "valid": entries(shape)}),
        **{"top_k": tensors["top_k"], "n": shape["n"], "k": shape["k"]},
        **{"alpha": tensors.get("alpha", 1.0), "group": tensors.get("group_k", 32)},
        **({"group_k": tensors["group_k"]} if "group_k" in tensors else {}),
        **({"group_n": tensors.get("group_n", 1)} if "group_k" in tensors else {}),
    }


def fits(
    operator: str, **operands: tuple[torch.Tensor | None, Sequence[torch.dtype], Dims]
) -> dict[str, int]:
    """Sizes by name of tensors with these dtypes and dimensions; those that are None are skipped.

    Raises:
        ShapeError: a tensor has other dimensions or another dtype, or a size differs from that of an earlier
            tensor.
    """
    sizes: dict[str, int] = {}
    for name, (tensor, dtypes, dims) in operands.items():
        if tensor is None:
            continue
        before = dict(sizes)
        fit = tensor.dtype in dtypes and tensor.dim() == len(dims)
        if fit:
            for dim, size in zip(dims, tensor.shape, strict=True):
                expected = sizes.setdefault(dim, size) if isinstance(dim, str) else dim
                fit = fit and expected == size
        if not fit:
            # Only here: torch.compile's symbolic sizes cannot be formatted.
            dimensions = ", ".join(f"{d} = {before[d]}" if d in before else str(d) for d in dims)
            raise ShapeError(
                f"{operator}: {name} is {tuple(tensor.shape)} {tensor.dtype}; expected ({dimensions}) of "
                f"{' or '.join(map(str, dtypes))}"
            )
    return sizes


WHAT = "expert GEMM"
INT32, FLOAT32 = (torch.int32,), (torch.float32,)


def list_shape(sizes: Mapping[str, int], arguments: Mapping[str, Any]) -> dict[str, int]:
    """Shape parameters of a call's list: ragged if there are offsets, else of blocks.

    Raises:
        ShapeError: the list is inconsistent, or does not fit the operands, which have these sizes.
    """
    if arguments["top_k"] < 1:
        raise ShapeError(f"{WHAT}: top_k is {arguments['top_k']}; expected 1 or more experts of a token")
    return _ragged_shape(sizes, arguments) if "offsets" in arguments else _sorted_shape(sizes, arguments)


def _sorted_shape(sizes: Mapping[str, int], arguments: Mapping[str, Any]) -> dict[str, int]:
    ids, owners = arguments["sorted_token_ids"], arguments["expert_ids"]
    weights, top_k = arguments["weights"], arguments["top_k"]
    fits(
        WHAT,
        sorted_token_ids=(ids, INT32, ("ids",)),
        expert_ids=(owners, INT32, ("blocks",)),
        num_tokens_post_padded=(arguments["num_tokens_post_padded"], INT32, (1,)),
        weights=(weights, FLOAT32, ("weights",)),
    )
    # `len` would make a symbolic size a constant.
    count, blocks = ids.shape[0], owners.shape[0]
    if blocks == 0 or count % blocks:
        raise ShapeError(
            f"{WHAT}: sorted_token_ids has {count} ids, expert_ids {blocks}; expected whole blocks with an "
            "expert each"
        )
    if weights is not None and weights.shape[0] < sizes["tokens"] * top_k:
        raise ShapeError(
            f"{WHAT}: weights has {weights.shape[0]}; expected {sizes['tokens'] * top_k}, one for each id"
        )
    return {"top_k": top_k, "block": count // blocks, "weighted": int(weights is not None)}


def _ragged_shape(sizes: Mapping[str, int], arguments: Mapping[str, Any]) -> dict[str, int]:
    gather, top_k = arguments["gather"], arguments["top_k"]
    fits(
        WHAT,
        offsets=(arguments["offsets"], INT32, (sizes["experts"] + 1,)),
        gather=(gather, INT32, (sizes["tokens"] * top_k,)),
    )
    return {
        **{"top_k": top_k, "gathered": int(gather is not None)},
        **({"scales": scales_of(sizes, arguments)} if "scale_a" in arguments else {}),
    }


def scales_of(sizes: Mapping[str, int], arguments: Mapping[str, Any]) -> int:
    """1 if A has a scale (then each expert's B may have one too), else 0; checks their shapes."""
    fits(
        WHAT,
        scale_a=(arguments["scale_a"], FLOAT32, (1,)),
        scale_b=(arguments.get("scale_b"), FLOAT32, (sizes["experts"],)),
    )
    return int(arguments["scale_a"] is not None)


def flops(shape: Mapping[str, Any]) -> int:
    return int(2 * entries(shape) * shape["n"] * shape["k"])


def bytes_of(bits_a: int, bits_b: int) -> Callable[[Mapping[str, Any]], int]:
    """Least number of bytes moved: A, every matrix that can have an entry, and C."""

    def least_bytes(shape: Mapping[str, Any]) -> int:
        n, k, out = shape["n"], shape["k"], entries(shape)
        wide = n // 2 if shape.get("activation") == "silu_and_mul" or shape.get("swiglu") else n
        used = min(shape["experts"], out)
        return int((shape["tokens"] * k * bits_a + used * n * k * bits_b) // 8 + 2 * out * wide)

    return least_bytes


def check(shape: Mapping[str, Any], arch: str) -> None:
    """Refuses sizes beyond the kernel's columns and offsets."""
    if shape.get("layout") == "nt" and shape["k"] % 8:
        raise ShapeError(f"experts: k is {shape['k']}; expected a multiple of 8")
    if shape.get("element") == "int8" and shape["k"] >= 1 << 17:
        raise ShapeError(f"experts: k is {shape['k']}; expected less than {1 << 17}, so that sums fit int32")
    for name, count in (("a", shape["tokens"] * shape["k"]), ("c", entries(shape) * shape["n"])):
        if 2 * count >= 1 << 32:
            raise ShapeError(f"experts: {name} has {2 * count:,} bytes; expected less than 4 GiB")


def width(shape: Mapping[str, Any]) -> int:
    """Number of columns of C."""
    halved = shape.get("activation") == "silu_and_mul" or shape.get("swiglu")
    cols: int = shape["n"] // 2 if halved else shape["n"]
    return cols


def spec(name: str, doc: str, elements: tuple[str, str], **fields: Any) -> KernelSpec:
    """`moe_gemm/<name>`: `elements` are the types of A and B; `fields` replaces defaults of the spec."""
    listing = "sorted_blocks" if "block" in fields["parameters"] else "ragged"
    bits = {"bf16": 16, "fp4": 4, "int4_{zero}": 4}
    defaults: dict[str, Any] = {
        "source": SOURCE,
        "entry": "expert_gemm",
        "launch": launch(elements),
        "define": instance(*elements, listing=listing, factors="group_n" in fields["parameters"]),
        "arguments": arguments,
        "check": check,
        "flops": flops,
        "bytes": bytes_of(*(bits.get(each, 8) for each in elements)),
        "outputs": lambda shape, tensors: {"c": ((entries(shape), width(shape)), torch.bfloat16)},
        "hard_inputs": {
            "all entries belong to one expert": lambda shape, generator: fields["inputs"](
                shape, generator, skewed=True
            )
        },
    }
    return KernelSpec(name=f"moe_gemm/{name}", doc=doc, **{**defaults, **fields})


ACTIVATIONS = tuple(FINISHES)
