"""What the judge asks of the device's process, and its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from workbench.judge.provenance import Provenance


@dataclass(frozen=True)
class Replay:
    """A request: the record of a call.

    Attributes:
        number: number of the call.
        folder: the submission's folder, with its record.
        inputs: file with the inputs, which the submission cannot write.
        results: file for the outputs.
        device: name of the device.
        trusting: True to take host code's content as it is.
        sanitize, time: True to sanitize each launch, to model the time of all.
        peer: number of a call with the same sizes and other inputs; None if there is none.
    """

    number: int
    folder: Path
    inputs: Path
    results: Path
    device: str
    trusting: bool = False
    sanitize: bool = False
    time: bool = False
    peer: int | None = None


@dataclass(frozen=True)
class HostBlock:
    """What host code wrote.

    Attributes:
        size, place: bytes, and their place in the file.
        provenance: where they come from.
        is_after: True if no launch followed.
    """

    size: int
    place: int
    provenance: Provenance
    is_after: bool


@dataclass(frozen=True)
class Replayed:
    """The answer.

    Attributes:
        launches: names of the kernels, in order.
        outputs: for each tensor of the output, what wrote it last: "launch", "host" or "input"; also
            "launch" for what host code only converted after one.
        host: what host code wrote before launches, and to outputs after the last.
        operators: PyTorch's operators in the submission's process, by its own account.
        findings: the sanitizer's causes, as text.
        time: modelled time of all launches in microseconds, with its range; None if not requested.
        error: why the launches could not be repeated; "" if they were.
        notes: what the sanitizer saw that harms nothing on a GPU: reads behind tensors.
    """

    launches: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    host: tuple[HostBlock, ...] = ()
    operators: dict[str, int] = field(default_factory=dict)
    findings: tuple[str, ...] = ()
    time: tuple[float, float | None, float | None] | None = None
    error: str = ""
    notes: tuple[str, ...] = ()


__all__ = ["HostBlock", "Replay", "Replayed"]
