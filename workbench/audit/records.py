"""Results of an audit as data: a JSON file per kernel source and target, and one of all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from workbench.audit.certainty import Certainty
from workbench.schedules import VARIABLE

SCHEMA = 1
"""Version of the files; `audit.schema.json` describes it."""

SCHEMA_FILE = Path(__file__).with_name("audit.schema.json")


class Result(StrEnum):
    """What became of a kernel source."""

    RIGHT = "right"
    WRONG = "wrong"
    UNCONFIRMED = "unconfirmed"
    UNCHECKED = "unchecked"
    FAILS = "fails"
    NOT_BUILT = "not built"
    NOT_RUN = "not run"

    @property
    def has_run(self) -> bool:
        return self in (Result.RIGHT, Result.WRONG, Result.UNCONFIRMED, Result.UNCHECKED)


@dataclass(frozen=True)
class Place:
    """A line, with its file relative to the checkout."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class FindingRecord:
    """A cause that the sanitizer found.

    Attributes:
        category: as in `workbench.runtime.findings.Finding`.
        kernel: name of the kernel.
        message: the fault and the remedy.
        certainty: how sure it is.
        place: the line; None without debug info.
        related: the line on the other side; None if there is none.
        instruction: text of the first instruction.
        instructions: number of instructions of this cause.
        count: number of occurrences.
    """

    category: str
    kernel: str
    message: str
    certainty: Certainty
    place: Place | None
    related: Place | None
    instruction: str
    instructions: int
    count: int


@dataclass(frozen=True)
class ProofRecord:
    """The search for an order of waves and loads that changes the results.

    Attributes:
        setting: environment variable and value that repeat the order; "" if no order made a difference.
        differences: elements, or printed bytes, that differ from the plain order's; 0 if a fault ended the
            launch under `setting`.
        tried: number of orders; 0 if runs in the plain order differ, since then a difference proves nothing.
        compared: "elements" of the outputs, or "printed bytes" of a program.
    """

    setting: str
    differences: int
    tried: int
    compared: str


@dataclass(frozen=True)
class RepairRecord:
    """A certified repair.

    Attributes:
        patch: unified diff, with paths in the checkout.
        about: the insertions, in words.
        cost: modelled time of the repaired kernel over the original's, less 1; None if it is not modelled.
    """

    patch: str
    about: str
    cost: float | None


@dataclass(frozen=True)
class KernelRecord:
    """Result of a kernel source on a target.

    Attributes:
        source: path in the checkout.
        target: such as "gfx950"; "" if no emulated device has it.
        digest: of everything that the result depends on.
        result: what became of it.
        text: what was compared, or why there is no result.
        reference: what the results were compared with; "" for nothing.
        date: day of the run, ISO 8601.
        sizes: sizes that were reduced, such as "SIZE 8192 as 512".
        launches: number of launches.
        findings: one for each cause.
        proof: None if nothing had to be proven.
        repair: None if none was certified.
        build_seconds, run_seconds: wall time.
    """

    source: str
    target: str
    digest: str
    result: Result
    text: str
    reference: str = ""
    date: str = ""
    sizes: tuple[str, ...] = ()
    launches: int = 0
    findings: tuple[FindingRecord, ...] = ()
    proof: ProofRecord | None = None
    repair: RepairRecord | None = None
    build_seconds: float = 0.0
    run_seconds: float = 0.0

    @property
    def is_clean(self) -> bool:
        return self.result is not Result.WRONG and not self.findings

    @classmethod
    def of_data(cls, data: Mapping[str, Any]) -> KernelRecord:
        """A record from its JSON.

        Raises:
            KeyError, TypeError, ValueError: the data is of another version.
        """
        findings = tuple(
            FindingRecord(
                **{
                    **finding,
                    "certainty": Certainty(finding["certainty"]),
                    "place": _place(finding["place"]),
                    "related": _place(finding["related"]),
                }
            )
            for finding in data["findings"]
        )
        return cls(
            **{
                **data,
                "result": Result(data["result"]),
                "sizes": tuple(data["sizes"]),
                "findings": findings,
                "proof": ProofRecord(**data["proof"]) if data["proof"] else None,
                "repair": RepairRecord(**data["repair"]) if data["repair"] else None,
            }
        )


def _place(data: Mapping[str, Any] | None) -> Place | None:
    return Place(**data) if data else None


@dataclass(frozen=True)
class Report:
    """An audit.

    Attributes:
        checkout: name of the checkout.
        revision: its commit; "" if unknown.
        tool: name and version of the workbench.
        kernels: in the order of the audit.
    """

    checkout: str
    revision: str
    tool: str
    kernels: tuple[KernelRecord, ...] = field(default=())

    @property
    def findings(self) -> int:
        return sum(len(kernel.findings) for kernel in self.kernels)

    @property
    def wrong(self) -> int:
        return sum(kernel.result is Result.WRONG for kernel in self.kernels)

    @property
    def exit_status(self) -> int:
        """0: clean; 1: a wrong result or a finding; 2: nothing could be run."""
        if not any(kernel.result.has_run or kernel.findings for kernel in self.kernels):
            return 2
        return 0 if all(kernel.is_clean for kernel in self.kernels) else 1

    def to_json(self) -> str:
        data = {"schema": SCHEMA, **asdict(self)}
        return f"{json.dumps(data, indent=1, ensure_ascii=False)}\n"

    @classmethod
    def of_json(cls, text: str) -> Report:
        """A report from its JSON.

        Raises:
            KeyError, TypeError, ValueError: it is of another version.
        """
        data = json.loads(text)
        if data.pop("schema") != SCHEMA:
            raise ValueError(f"expected a report of version {SCHEMA}")
        kernels = tuple(map(KernelRecord.of_data, data.pop("kernels")))
        return cls(**data, kernels=kernels)

    def __str__(self) -> str:
        return "\n".join(summary(self))


def summary(report: Report) -> Iterable[str]:
    """Lines for the terminal."""
    commit = f" at {report.revision[:12]}" if report.revision else ""
    yield f"audit of {report.checkout}{commit}: {len(report.kernels)} kernel sources by target"
    for result in Result:
        kernels = [kernel for kernel in report.kernels if kernel.result is result]
        if kernels:
            yield f"  {len(kernels):4} {result}"
    for kernel in report.kernels:
        yield from kernel_lines(kernel)


def kernel_lines(kernel: KernelRecord) -> Sequence[str]:
    """Lines about a kernel with a wrong result or findings; none for others."""
    if kernel.is_clean:
        return ()
    lines = [f"{kernel.source} on {kernel.target}: {kernel.result}: {kernel.text}"]
    for finding in kernel.findings:
        both = f" and {finding.related}" if finding.related and finding.related != finding.place else ""
        place = str(finding.place) if finding.place else finding.instruction
        lines.append(f"  {finding.category} ({finding.certainty}) at {place}{both}: {finding.message}")
    if kernel.proof is not None:
        lines.append(f"  {proof_sentence(kernel.proof)}")
    if kernel.repair is not None:
        lines.append(f"  certified repair: {repair_sentence(kernel.repair)}")
    return lines


def proof_sentence(proof: ProofRecord) -> str:
    """What the search for another order came to."""
    if proof.setting:
        effect = (
            f"{proof.differences:,} {proof.compared} differ"
            if proof.differences
            else "the launch ends in a fault"
        )
        about = f"With {proof.setting}, {effect}"
        variable, _, schedule = proof.setting.partition("=")
        # Older records name another variable.
        return (
            f'{about}; `wb.step(..., schedule="{schedule}")` opens it.'
            if variable == VARIABLE
            else f"{about}."
        )
    if not proof.tried:
        return "Two runs in the same order differ, so other orders were not tried."
    if proof.tried == 1:
        return "Not proven: the results are the same in the other order of waves and loads that was tried."
    orders = f"{proof.tried} other orders of waves and loads that were tried"
    return f"Not proven: the results are the same in the {orders}."


def repair_sentence(repair: RepairRecord) -> str:
    """The repair in words, with its cost."""
    cost = "" if repair.cost is None else f"; modelled time {100 * repair.cost:+.1f} %"
    return f"{repair.about}{cost}"


__all__ = [
    "SCHEMA",
    "SCHEMA_FILE",
    "FindingRecord",
    "KernelRecord",
    "Place",
    "ProofRecord",
    "RepairRecord",
    "Report",
    "Result",
    "kernel_lines",
    "proof_sentence",
    "repair_sentence",
    "summary",
]
