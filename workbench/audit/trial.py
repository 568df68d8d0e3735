"""One run of a built kernel source in a child process: its verdict, findings, outputs and modelled times."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch

from workbench.audit.build import Workplace
from workbench.audit.limits import run_limited
from workbench.audit.output import telling_line, verdict, without_times
from workbench.audit.sources import Kind
from workbench.check.schedules import prove
from workbench.errors import KernelFault, UsageError
from workbench.runtime import reports, tally
from workbench.runtime.findings import Cause, Finding, causes, distinct
from workbench.schedules import VARIABLE

ORDERS = 16
"""Orders of waves and loads that are tried for a proof."""

_PRINTED = 1 << 14
"""Bytes of a program's output that runs are compared by."""


@dataclass(frozen=True)
class Trial:
    """A run.

    Attributes:
        verdict: whether the results are right; None if nothing says so.
        text: what was compared, or what went wrong.
        has_failed: True if a limit, a fault or an exit status ended it without a verdict.
        launches: number of launches; 0 if nothing was launched.
        kernels: names of the kernels with findings, by place of the finding's instruction.
        findings: the sanitizer's, with notes left out.
        outputs: what two runs are compared by: tensors that the kernel wrote, or bytes that were printed.
        modelled: seconds of a launch of each kernel, by name, on a GPU; empty unless asked for.
        seconds: wall time.
    """

    verdict: bool | None
    text: str
    has_failed: bool
    launches: int
    seconds: float
    findings: tuple[Finding, ...] = ()
    kernels: Mapping[tuple[str, int], str] = field(default_factory=dict)
    outputs: tuple[torch.Tensor, ...] = ()
    modelled: Mapping[str, float] = field(default_factory=dict)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """The findings, grouped by cause."""
        return causes(self.findings)

    def kernel_of(self, finding: Finding) -> str:
        """Name of the kernel that a finding is in."""
        return self.kernels.get((finding.category, finding.pc), "")


@dataclass(frozen=True)
class Search:
    """A search for an order of waves and loads that changes results.

    Attributes:
        setting: environment variable and value that repeat the order; "" if none made a difference.
        differences: elements or bytes that differ from the plain order's.
        tried: orders that were tried; 0 if runs in the plain order differ.
    """

    setting: str
    differences: int
    tried: int


def search(run: Callable[[], Sequence[torch.Tensor]], seconds: float) -> Search:
    """Looks for an order that changes the results of a run, for so many seconds of wall time."""
    runs = 0

    def counted() -> Sequence[torch.Tensor]:
        nonlocal runs
        runs += 1
        return run()

    try:
        proof = prove(counted, tries=ORDERS, seconds=seconds)
    except (UsageError, KernelFault):
        return Search("", 0, 0)
    if proof is None:
        # Two runs were in the plain order.
        return Search("", 0, max(0, runs - 2))
    return Search(f"{VARIABLE}={proof.schedule}", proof.differences, proof.tried)


def run_proof(workplace: Workplace, product: Path) -> Search | None:
    """The search for a program, a script or a module; None if it did not come to an end."""
    limits = workplace.limits
    if workplace.source.kind is not Kind.MODULE or workplace.script is not None:
        return search(lambda: run_trial(workplace, product).outputs, limits.proof)
    # One process for all orders: its start takes longer than the run of a small kernel.
    answer = workplace.root.parent / "answer.json"
    answer.unlink(missing_ok=True)
    command = _command(workplace, product, answer, workplace.root.parent / "outputs.pt", limits.proof)
    seconds = limits.run + limits.proof
    variables = workplace.environment()
    run_limited(command, workplace.path.parent, variables, seconds=seconds, memory=limits.memory)
    if not answer.is_file():
        return None
    return Search(**json.loads(answer.read_text(encoding="utf-8")))


def run_trial(workplace: Workplace, product: Path, *, sanitize: bool = False, timed: bool = False) -> Trial:
    """Runs a program, a script, or a function of a module with known arguments.

    Args:
        product: the file that was built.
        sanitize: True to look for races, missing waits and other faults.
        timed: True for modelled times.
    """
    variables = workplace.environment()
    # Other runs' files of findings are not this one's.
    variables.pop(reports.VARIABLE, None)
    answer = workplace.root.parent / "answer.json"
    outputs = workplace.root.parent / "outputs.pt"
    for file in (answer, outputs):
        file.unlink(missing_ok=True)
    command = _command(workplace, product, answer, outputs)
    with contextlib.ExitStack() as stack:
        report_file = stack.enter_context(reports.of_process(variables)) if sanitize else None
        tally_file = stack.enter_context(tally.of_process(variables, counters=timed, times=timed))
        limits = workplace.limits
        ended = run_limited(
            command, workplace.path.parent, variables, seconds=limits.run, memory=limits.memory
        )
        launched = tally.total(tally_file)
        entries = report_file.new() if report_file is not None else []
    reported = (f for entry in entries for f in entry.findings if f.category != "note")
    findings = distinct(_absolute(finding, workplace.path.parent) for finding in reported)
    names = {(f.category, f.pc): entry.kernel for entry in entries for f in entry.findings}
    launches = max(launched.launches + launched.stopped, len(entries))
    text = ended.output
    if answer.is_file():
        data = json.loads(answer.read_text(encoding="utf-8"))
        passed, about = data["verdict"], data["text"]
    else:
        passed, about = verdict(text), telling_line(text)
    stopped = ended.limit or (f"exit status {ended.status}: {telling_line(text)}" if ended.status else "")
    # A program that says itself that it failed ends as it likes.
    has_failed = bool(ended.limit) or (ended.status != 0 and passed is not False)
    return Trial(
        verdict=None if has_failed else passed,
        text=(stopped if has_failed else about).replace(f"{workplace.root}/", ""),
        has_failed=has_failed,
        launches=launches,
        seconds=ended.seconds,
        findings=findings,
        kernels=names,
        outputs=_outputs(outputs, text),
        modelled={
            kernel.name: kernel.seconds / kernel.launches
            for kernel in launched.kernels
            if kernel.seconds is not None and kernel.launches
        },
    )


def _absolute(finding: Finding, folder: Path) -> Finding:
    """A finding with absolute paths: a compiler that was called with relative ones keeps them."""

    def path(file: str) -> str:
        return os.path.normpath(folder / file) if file else ""

    related = (path(finding.related[0]), finding.related[1]) if finding.related else None
    return replace(finding, file=path(finding.file), related=related)


def _command(
    workplace: Workplace, product: Path, answer: Path, outputs: Path, proof: float = 0.0
) -> list[str]:
    """The command of a run, or for a module of a search for so many seconds."""
    kind = workplace.source.kind
    if kind is Kind.PROGRAM:
        return [str(product)]
    if kind is Kind.SCRIPT:
        return [sys.executable, str(product)]
    if workplace.script is not None:
        beside = workplace.script.with_name(product.name)
        if product != beside:
            shutil.copyfile(product, beside)
        return [sys.executable, str(workplace.script)]
    request = workplace.root.parent / "request.json"
    content = {
        "module": str(product),
        "source": str(workplace.path),
        "name": workplace.source.name,
        "target": workplace.source.target,
        "answer": str(answer),
        "outputs": str(outputs),
        "proof": proof,
    }
    request.write_text(json.dumps(content), encoding="utf-8")
    return [sys.executable, "-m", "workbench.audit.drive", str(request)]


def _outputs(file: Path, printed: str) -> tuple[torch.Tensor, ...]:
    """Tensors of the same shapes in each run."""
    if file.is_file():
        return tuple(torch.load(file, weights_only=True).values())
    text = without_times(printed).encode()[-_PRINTED:]
    return (torch.frombuffer(bytearray(text.ljust(_PRINTED, b" ")), dtype=torch.uint8),)


__all__ = ["ORDERS", "Search", "Trial", "run_proof", "run_trial", "search"]
