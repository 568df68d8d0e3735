"""Published times, with which the timing model is compared: `tests/data/published_times.jsonl`, as data."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass, field
from pathlib import Path

DATA = Path(__file__).resolve().parents[1] / "data"


@dataclass(frozen=True)
class Problem:
    """A problem that is modelled once, no matter how many have published it.

    Attributes:
        kernel: name of the spec.
        shape: "m=4096 n=4096 k=4096".
        gpu: product.
    """

    kernel: str
    shape: str
    gpu: str

    @property
    def parameters(self) -> dict[str, int | str]:
        """The shape as a spec takes it."""
        pairs = (each.split("=") for each in self.shape.split())
        return {name: int(value) if value.isdigit() else value for name, value in pairs}

    def __str__(self) -> str:
        return f"{self.kernel} {self.shape} on {self.gpu}"


@dataclass(frozen=True)
class Row:
    """One published time.

    Attributes:
        group: class by which errors are told: "gemm", "attention", ...
        problem: what was timed.
        implementation: whose.
        like: the kernel is HipKittens', which ours resembles; else it is the fastest of the others'.
        us: microseconds.
        quantity: name of how it was timed, `workbench.profile.launch.QUANTITIES`.
        caches: "kept": the loop clears nothing between runs, so that each finds what the one before left;
            "cleared": by writing to memory, or by taking other tensors in turn; "unknown".
        runs: launches in a row, as far as known.
        source: where it stands.
        caveat: why it may not be comparable; "" for nothing special.
    """

    group: str
    problem: Problem
    implementation: str
    like: bool
    us: float
    quantity: str
    runs: int
    source: str = field(repr=False)
    caveat: str = ""
    caches: str = "unknown"

    @property
    def warm(self) -> bool:
        """True if it is compared with a repeated launch."""
        return self.caches == "kept"


def published(name: str = "published_times") -> list[Row]:
    """All rows of a file, in its order: "published_times", or "published_triton" for Triton's kernels.

    A line is a series: what one source has of an implementation, taken in one way; `us` is by shape.
    """
    with (DATA / "published_sources.csv").open(newline="", encoding="utf-8") as file:
        sources = {int(each["number"]): each["source"] for each in csv.DictReader(file)}
    lines = (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Row(
            series["class"],
            Problem(series["kernel"], shape, series["gpu"]),
            series["implementation"],
            series["like"],
            float(us),
            series["quantity"],
            series["runs"],
            sources[series["source"]],
            series.get("caveat", ""),
            series["caches"],
        )
        for series in map(json.loads, lines)
        for shape, us in series["us"].items()
    ]
