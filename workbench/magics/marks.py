"""Marks on a cell's lines for findings in later launches of its kernels.

The editor takes its marks from a cell's output. When the sanitizer finds something in a later launch of the
cell's kernels, or a fault stops one, the finding is added to that output.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench import display
from workbench.check.sanitizer import causes, finding_of
from workbench.events import Event, hub
from workbench.lab.payload import Finding, with_launch_findings

if TYPE_CHECKING:
    from IPython.core.display_functions import DisplayHandle

    from workbench.errors import KernelFault
    from workbench.kernel.code import DeviceCode
    from workbench.views.cell import CellResult

_SANITIZER, _DEVICE = "sanitizer", "device"


@dataclass
class _Output:
    """A cell's output.

    Attributes:
        handle: display handle that updates it.
        bundle: its MIME bundle.
        codes: the cell's code by digest, without launches, which would keep their tensors alive.
        marks: findings by tool and kernel, from the latest launch of each.
    """

    handle: DisplayHandle
    bundle: dict[str, Any]
    codes: dict[str, DeviceCode]
    marks: dict[tuple[str, str], tuple[Finding, ...]] = field(default_factory=dict)

    def mark(self, source: str, kernel: str, findings: tuple[Finding, ...]) -> None:
        """Replaces the marks of an earlier launch of the same kernel."""
        if self.marks.get((source, kernel), ()) == findings:
            return
        self.marks[source, kernel] = findings
        latest = one_a_cause(finding for marks in self.marks.values() for finding in marks)
        self.handle.update(with_launch_findings(self.bundle, latest), raw=True)  # type: ignore[no-untyped-call]


def one_a_cause(findings: Iterable[Finding]) -> list[Finding]:
    """Each finding once; the fault that stopped a launch only where the sanitizer has not found its cause."""
    latest = list(dict.fromkeys(findings))
    sanitized = {(finding.line, finding.option) for finding in latest if finding.source == _SANITIZER}
    return [f for f in latest if f.source != _DEVICE or (f.line, f.option) not in sanitized]


_outputs: dict[str, _Output] = {}
"""The latest output of each cell, by the name that its module is bound to."""


def remember(result: CellResult, bundle: dict[str, Any], handle: DisplayHandle | None) -> None:
    """Marks a cell's lines from now on, in the output that `handle` changes."""
    # A terminal cannot change what it has printed: it would print it again.
    if handle is None or display.in_terminal():
        _outputs.pop(result.name, None)
        return
    output = _outputs[result.name] = _Output(handle, bundle, result.codes())
    for finding in result.found():
        before = output.marks.get((finding.source, finding.kernel), ())
        output.marks[finding.source, finding.kernel] = (*before, *_marks(finding.source, [finding.finding]))
    global _is_listening
    if not _is_listening:
        _is_listening = True
        hub.subscribe(_take)


_is_listening = False


def mark_fault(fault: KernelFault) -> None:
    """Marks the line at which a kernel was stopped, in the cell that it is from."""
    for output in [*_outputs.values()]:
        code = output.codes.get(fault.code)
        if code is not None:
            finding = finding_of(fault, code.own_file, code)
            output.mark(_DEVICE, fault.kernel or "", _marks(_DEVICE, [finding]))


def _take(event: Event) -> None:
    if event.kind == "failed" and "fault" in event.data:
        mark_fault(event.data["fault"])
    if event.kind != "sanitize":
        return
    digests = set(event.data["code"].split("+"))
    for output in [*_outputs.values()]:
        if digests & output.codes.keys():
            lines = (finding for cause in causes(event.data["details"]) for finding in cause.by_line())
            output.mark(_SANITIZER, event.name, _marks(_SANITIZER, lines))


def _marks(source: str, findings: Any) -> tuple[Finding, ...]:
    return tuple(Finding.from_finding(finding, source) for finding in findings)
