"""Kernels with one fault each and their repair, and kernels without, for tests of advice: from faults.hip.

A repair changes only the fault, so that its gain in the model is the one that advice forecasts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from tests import source_sections


@dataclass(frozen=True)
class Launch:
    """Geometry and tensors of a kernel's launch; by default four waves for each SIMD of 256 compute units.

    Attributes:
        groups, threads: work-groups, and work-items per work-group.
        floats: elements of its tensors, which are float32 ones.
    """

    groups: int = 1024
    threads: int = 256
    floats: tuple[int, ...] = (1 << 18, 1 << 18)

    def arguments(self) -> tuple[torch.Tensor, ...]:
        """New tensors of the arguments."""
        return tuple(torch.ones(count) for count in self.floats)


@dataclass(frozen=True)
class Fault:
    """A kernel with a fault.

    Attributes:
        name: of the fault.
        rule: the first finding.
        faulty, repaired: sources of a kernel called `kernel`.
        launch: of the faulty kernel.
        relaunch: of the repaired one; None if it is the same.
    """

    name: str
    rule: str
    faulty: str
    repaired: str
    launch: Launch
    relaunch: Launch | None = None


@dataclass(frozen=True)
class Good:
    """A kernel without a fault."""

    name: str
    source: str
    launch: Launch


def _code(body: str, attributes: str = "") -> str:
    bounds = f"__launch_bounds__(256){attributes}"
    index = "int i = blockIdx.x * blockDim.x + threadIdx.x, t = threadIdx.x;"
    head = f'extern "C" __global__ {bounds} void kernel(const float *x, float *out) {{'
    return f"{head}\n    {index}\n{body}\n}}\n"


def _launch(record: dict[str, Any]) -> Launch:
    geometry = {name: record[name] for name in ("groups", "threads") if name in record}
    return Launch(**geometry, **({"floats": tuple(record["floats"])} if "floats" in record else {}))


def _fault(name: str, record: dict[str, Any], text: str) -> Fault:
    launch = _launch(record)
    faulty, _, repaired = text.partition("\n// repaired\n")
    if "swap" in record:
        faulty, repaired = (text.replace("@", variant) for variant in record["swap"])
    registers = record.get("registers")
    attributes = f" __attribute__((amdgpu_num_vgpr({registers})))" if registers else ""
    return Fault(
        name,
        record["rule"],
        _code(faulty, attributes),
        _code(repaired or faulty),
        launch,
        replace(launch, **record["relaunch"]) if "relaunch" in record else None,
    )


_SECTIONS = source_sections.read(Path(__file__).with_suffix(".hip"))[1]
FAULTS = tuple(_fault(name, *section) for name, section in _SECTIONS.items() if "rule" in section.record)
GOOD = tuple(
    Good(name, _code(text), _launch(record))
    for name, (record, text) in _SECTIONS.items()
    if "rule" not in record
)
