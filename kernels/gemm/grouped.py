"""C = A B of groups of rows of A, each with its own matrix of B: the experts of a mixture."""

from __future__ import annotations

from workbench.operators import Choice, Index, KernelSpec, Published, Range, Variant
from workbench_kernels.families import gemm as family
from workbench_kernels.families import gemm_backward, scalars
from workbench_kernels.families import gemm_grouped as grouped
from workbench_kernels.references.gemm import grouped_gemm

spec = KernelSpec(
    name="gemm/grouped",
    doc="activation(alpha A_g B_g + bias) * gate + beta residual for groups g of rows of A, each with its "
    "own matrix of B; offsets holds the first row of each group, then M. bf16, fp16, or fp8 (e4m3; OCP on "
    "gfx950, fnuz on gfx942) and int8 with a float scale for each row of A and column of B_g.",
    **grouped.PRODUCT.plain(),
    parameters={
        **family.SIZES,
        "batch": Choice((1,), doc="one list of groups"),
        "m": Range(1, 1 << 20, default=512, doc="rows of A and C, over all groups"),
        "groups": Range(1, 4096, default=8, doc="groups of rows, and matrices in B"),
        "dtype": Choice(grouped.TYPES, doc="element type of A and B"),
        "layout": Choice(("nt", "nn"), doc="whether B is N x K (t) or K x N (n)"),
        **family.FINISH,
    },
    shapes=[
        {"m": 300, "n": 200, "k": 136, "groups": 5},
        {"m": 500, "n": 264, "k": 72, "groups": 2, "layout": "nn", "alpha": 1},
        {"m": 300, "n": 200, "k": 144, "groups": 3, "dtype": "fp8", "bias": 1, "activation": "silu"},
        {"m": 200, "n": 136, "k": 272, "groups": 3, "dtype": "int8"},
    ],
    inputs=grouped.inputs,
    outputs=lambda shape, tensors: {
        "c": ((shape["m"], shape["n"]), scalars.HALVES[grouped.of_c(shape)]),
    },
    reference=grouped_gemm,
    backward=gemm_backward.GROUPS,
    shape_of=grouped.shape_of,
    variants={
        "ping_pong": grouped.PRODUCT.ping_pong(
            [
                {"m": 700, "n": 264, "k": 136, "groups": 3},
                {"m": 600, "n": 264, "k": 272, "groups": 2, "dtype": "fp8", "bias": 1},
            ]
        ),
        "double_buffer": Variant(),
    },
    bytes=lambda shape: (
        family.bytes_moved(shape, grouped.PRODUCT.size(shape))
        + grouped.PRODUCT.size(shape) * (shape["groups"] - 1) * shape["n"] * shape["k"]
        + 2 * (shape["groups"] - 1) * shape["n"] * shape["bias"]
        + (4 * (shape["m"] + shape["groups"] * shape["n"]) if shape["dtype"] in grouped.ROWS else 0)
        + 4 * (shape["groups"] + 1)
    ),
    published=[
        Published(
            {"m": 16 * 2048, "n": 4096, "k": 7168, "groups": 16},
            rate,
            "TFLOP/s",
            "MI355X",
            who,
            "github.com/AMD-AGI/Primus-Turbo/pull/284",
        )
        for who, rate in (("hipBLASLt", 992), ("Triton", 1271), ("GMM", 1063))
    ],
    tensors={
        "a": "dtype[m, k] | dtype[k, m]",
        "b": "dtype[groups, n, k] | dtype[groups, k, n]",
        "offsets": "int32[groups+1]",
        "gate residual": "bf16/fp16[m, n]",
        "bias": "bf16/fp16[n] | bf16/fp16[groups, 1, n]",
        "scale_a": "fp32[m]",
        "scale_b": "fp32[groups, n]",
        "c": "bf16/fp16[m, n]",
    },
    indexes={
        "offsets": Index("m+1"),
    },
    notes={
        "b": "a matrix for each group",
        "offsets": "the first row of each group, then M",
    },
)
