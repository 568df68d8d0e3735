"""The gated delta rule, one chunk at a time, for long prefills."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch

from workbench.operators import Choice, Step, Tolerance
from workbench_kernels.families import delta_chunks as family
from workbench_kernels.families import delta_chunks_backward, rowwise
from workbench_kernels.references.delta_chunks import chunk_rule
from workbench_kernels.references.delta_rule import delta_rule

Shape = Mapping[str, Any]
TAKES = ("q", "k", "v", "g", "beta", "initial_state")


def reference(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    initial_state: torch.Tensor | None = None,
    cu_seqlens: torch.Tensor | None = None,
    scale: float | None = None,
    use_qk_l2norm: bool = False,
    chunk: int = 64,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Outputs and last states of the token-by-token rule; they do not depend on the chunks."""
    return delta_rule(q, k, v, g, None, None, beta, initial_state, cu_seqlens, scale, use_qk_l2norm)


def normalize(which: str) -> Step:
    """The step that divides q or k by their lengths."""

    def rows(shape: Shape) -> dict[str, Any]:
        count = shape["batch"] * shape["tokens"] * shape["heads"]
        return {"rows": count, "cols": shape["keys"], "dtype": shape["dtype"]}

    return Step(
        name=f"normalize {which}",
        entry="normalize",
        source=rowwise.source("normalize", "l2_normalize<ROW_T, ROW_COLS>"),
        define=lambda shape, arch: rowwise.define(rows(shape), arch),
        launch=lambda shape, arch: rowwise.launch()(rows(shape), arch),
        arguments=lambda shape, tensors: {
            "x": tensors[which].reshape(-1, shape["keys"]),
            "y": tensors[f"{which}_unit"].reshape(-1, shape["keys"]),
            **{"rstd": None, "eps": 1e-6},
        },
        when=lambda shape, arch: bool(shape["normalized"]),
    )


def unit(which: str) -> family.Name:
    """q or k as input of the rule."""
    return lambda shape: f"{which}_unit" if shape["normalized"] else which


def inputs(shape: Shape, generator: torch.Generator) -> dict[str, Any]:
    tensors = family.raw(shape, generator, TAKES)
    taken = {name: tensors[name] for name in (*TAKES, "cu_seqlens", "chunk")}
    return {**taken, "use_qk_l2norm": bool(shape["normalized"])}


base = family.spec(
    "chunk",
    doc="h *= exp(g); u = beta (v - hᵀ k); h += k uᵀ; o = scale hᵀ q, one chunk of tokens at a time; takes "
    "and returns states.",
    takes=TAKES,
    gives=("o", "last_state"),
    between=("sums", "a", "inverse", "w", "u", "h", "corrections"),
    inputs=family.raw,
    steps=(
        normalize("q"),
        normalize("k"),
        family.SUMMED_PRODUCTS.step("products", k=unit("k")),
        family.INVERSE.step("inverse"),
        family.REPRESENTATION.step("representation", k=unit("k"), A="inverse", g="sums"),
        family.STATES.step("states", k=unit("k"), g="sums"),
        family.OUTPUTS.step("outputs", q=unit("q"), k=unit("k"), corrections="corrections", g="sums"),
    ),
    reference=reference,
    backward=delta_chunks_backward.CHUNK,
    native=chunk_rule,
    shapes=[
        {"tokens": 130, "keys": 64, "values": 48, "dtype": "bf16"},
        {"batch": 2, "sequences": 2, "tokens": 33, "chunk": 32, "keys": 64, "values": 64, "dtype": "fp32"},
        {"tokens": 71, "sequences": 5, "chunk": 16, "keys": 64, "values": 32, "dtype": "fp16"},
    ],
    multiplications=lambda shape: (
        3 * shape["keys"] * shape["values"] + shape["chunk"] * (3 * shape["keys"] + 2 * shape["values"])
    ),
    # Operands are rounded at each chunk.
    tolerances={"last_state": Tolerance(1.6e-2, 2e-2)},
)
spec = replace(
    base,
    parameters={
        **base.parameters,
        "normalized": Choice((0, 1), doc="whether q and k are divided by their lengths"),
    },
    inputs=inputs,
    shape_of=lambda **tensors: {**base.shape_of(**tensors), "normalized": int(tensors["use_qk_l2norm"])},
    workspace=lambda shape, tensors: {
        **(base.workspace(shape, tensors) if base.workspace else {}),
        **({f"{x}_unit": family.space(x, shape) for x in ("q", "k")} if shape["normalized"] else {}),
    },
)
