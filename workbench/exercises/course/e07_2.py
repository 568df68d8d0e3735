"""Sums of rows whose length is a multiple of nothing: lanes without an element still contribute."""

from __future__ import annotations

import torch

from workbench.exercises import Exercise, Mistake

THREADS = 256


def reference(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": x.sum(1)}


def whole_blocks(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": x[:, : x.shape[1] // THREADS * THREADS].sum(1)}


def first_block(x: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"out": x[:, :THREADS].sum(1)}


def first_wave(x: torch.Tensor) -> dict[str, torch.Tensor]:
    threads = torch.arange(x.shape[1]) % THREADS
    return {"out": x[:, threads < 64].sum(1)}


exercise = Exercise(
    name="07.2",
    title="Lanes without an element",
    task=(
        "Write `total(const float *x, float *out, int n)`: out[row] is the sum of row `row` of x, n floats.\n"
        "A work-group of 256 threads takes one row, and n may be any number, 100 or 1000 as well as 512.\n"
        "Add up the threads' sums through shared memory."
    ),
    hints=(
        "With n = 100, threads 100 to 255 have no element. What do they write to shared memory, and who "
        "reads it?",
        "Each thread begins with a sum of 0, adds the elements i, i + 256, i + 512, ... that exist, and "
        "writes its sum in any case. Then halve: 128 threads add the other 128 to theirs, then 64, and "
        "so on.",
        "`for (int i = threadIdx.x; i < n; i += 256) sum += x[blockIdx.x * n + i];` then "
        "`held[threadIdx.x] = sum;` and `for (int half = 128; half; half /= 2)` with `__syncthreads()` "
        "at the top of its body and "
        "`if (threadIdx.x < half) held[threadIdx.x] += held[threadIdx.x + half];` below.",
    ),
    # Around 1, so that a missing element shows.
    inputs=lambda shape, generator: {
        "x": 1 + torch.randn(shape["rows"], shape["n"], generator=generator),
        "n": shape["n"],
    },
    outputs=lambda shape: {"out": torch.empty(shape["rows"])},
    launch=lambda shape: (shape["rows"], THREADS),
    reference=reference,
    shapes=[{"rows": 3, "n": 100}, {"rows": 4, "n": 512}, {"rows": 5, "n": 1000}],
    mistakes=[
        Mistake("What does not fill a block of 256 is left out.", whole_blocks),
        Mistake("Only the first 256 elements of a row are added up.", first_block),
        Mistake("Only the first wave's threads are added up.", first_wave),
    ],
    kernel="total",
    axes={"out": ("row",)},
)
