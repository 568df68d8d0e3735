"""States from chunk to chunk."""

from __future__ import annotations

from workbench.operators import Tolerance
from workbench_kernels.families import delta_chunks as family
from workbench_kernels.references.delta_chunks import states

spec = family.spec(
    "chunk_states",
    doc="For each chunk: store h; n = u - w h; h = exp(g_last) h + (exp(g_last - g) k)ᵀ n. With packed "
    "sequences, h has as many chunks as there can be; unused ones are zero.",
    takes=("k", "w", "u", "g", "initial_state"),
    gives=("h", "corrections", "last_state"),
    steps=(family.STATES.step("states"),),
    reference=states,
    shapes=[
        {"tokens": 130, "keys": 64, "values": 48, "dtype": "bf16"},
        {"batch": 2, "sequences": 2, "tokens": 33, "chunk": 32, "values": 64, "dtype": "fp32"},
        {"tokens": 71, "sequences": 5, "chunk": 16, "keys": 64, "values": 32, "dtype": "fp16"},
    ],
    # With 2-byte operands, the last states are floats: sums of rounded numbers.
    tolerances={"last_state": Tolerance(1.6e-2, 1e-2)},
    multiplications=lambda shape: 2 * shape["keys"] * shape["values"],
)
