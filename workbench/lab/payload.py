"""The data of a compiled cell for its editor, as one JSON object beside its HTML result.

The magics display it under the MIME type `application/vnd.hipkittens.cell+json`, in the same output as
their HTML. The JupyterLab extension reads it there: it makes squiggles, line heat and the sidebar from it,
and a notebook that is opened again shows them without a kernel. A front end that does not know the type shows
the HTML. `payload.schema.json` beside this file is the exact form; this module needs only the standard
library, so that it also works where the rest of the workbench is absent.

Lines and columns count from 1 in the cell as the user sees it: line 1 is the `%%hipkittens` line. Columns
are in characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from workbench.origin import Figure
from workbench.views.edited import CELL_TYPE, checksum

MIME_TYPE = CELL_TYPE
VERSION = 1

WAITS_NOTE = (
    "Time charges a wait to the load that it ended with; issue and stall cycles are shown where they occur, "
    "which may be after the line that caused them."
)


@dataclass(frozen=True, slots=True)
class Fix:
    """Replace the text from `start` up to (not including) `end` by `text`; an insertion has equal ends."""

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A squiggle: what the compiler, the sanitizer or the device says about a place in the cell.

    Attributes:
        line: line in the cell; 0 puts the finding on line 1.
        column: column of its start; 0 marks the whole line.
        severity: "error", "warning", "note" or "remark".
        message: one or more lines of text.
        end_line: line of its end; 0 lets the editor mark the word at the start.
        end_column: column just past its end; 0 if unknown.
        fixits: changes that the editor offers.
        notes: further places and remarks, one line each, such as "kittens.cuh:12:3: note: declared here".
        source: its origin: "compiler", "sanitizer" or "device" (a fault that stopped the kernel).
        option: the flag that controls it, such as "-Wunused-variable"; "" if there is none.
    """

    line: int
    column: int
    severity: str
    message: str
    end_line: int = 0
    end_column: int = 0
    fixits: tuple[Fix, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = "compiler"
    option: str = ""

    @classmethod
    def from_finding(cls, finding: Any, source: str) -> Finding:
        """From a launch's `workbench.check.sanitizer.Finding`; one in a header says where it is."""
        in_cell = finding.is_own
        other = finding.related
        other_side = ""
        if other:
            same_file = in_cell and other[0] == finding.file
            other_side = f"line {other[1]}" if same_file else f"{other[0]}:{other[1]}"
        return cls(
            line=finding.line if in_cell else 0,
            column=finding.column if in_cell else 0,
            severity="note" if finding.category == "note" else "error",
            message=finding.message if in_cell else f"{finding.message}\nat {finding.place}",
            notes=(
                f"`{finding.instruction}`; {finding.who}" if finding.instruction else finding.who,
                *([f"the other side: {other_side}"] if other_side else []),
            ),
            source=source,
            option=finding.category,
        )


@dataclass(frozen=True, slots=True)
class Device:
    """The device a cell was compiled for or ran on.

    Attributes:
        name: name, as in `wb.device`: "gpu:0", "emulated:gfx950".
        label: label for people: "MI355X (emulated)".
        arch: the target: "gfx950".
        memory_total: total memory in bytes; 0 if unknown.
        memory_used: bytes.
    """

    name: str
    label: str
    arch: str
    memory_total: int = 0
    memory_used: int = 0


@dataclass(frozen=True, slots=True)
class Compilation:
    """A cell's compilation: seconds, whether the cache had it, the compiler's name and version."""

    seconds: float
    cached: bool
    compiler: str = ""


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of a kernel: registers per lane or wave, bytes, and the resulting occupancy.

    Attributes:
        vgpr: vector registers.
        agpr: accumulation registers.
        sgpr: scalar registers.
        lds: static shared memory, in bytes.
        scratch: private memory per lane, in bytes.
        spills: number of spilled registers.
        occupancy: waves per SIMD.
        limited_by: the limit of the occupancy: "VGPR", "LDS", "waves"; "" if unknown.
    """

    vgpr: int
    agpr: int
    sgpr: int
    lds: int
    scratch: int
    spills: int
    occupancy: int
    limited_by: str = ""

    @classmethod
    def from_kernel(cls, resources: Any) -> Resources:
        """From a kernel's resources (`workbench.kernel.Resources`)."""
        fits = resources.occupancy
        return cls(
            resources.vgprs,
            resources.agprs,
            resources.sgprs,
            resources.lds,
            resources.scratch,
            resources.vgpr_spills + resources.sgpr_spills,
            int(fits.waves_per_simd),
            "" if fits.is_full else fits.limit,
        )


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel of the cell; `changes` are the differences to the previous compile: "VGPR 64 -> 72"."""

    name: str
    signature: str = ""
    resources: Resources | None = None
    changes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Time:
    """A duration with its unit and origin ("measured", "counted" or "modelled").

    Attributes:
        provenance: the origin and, for a modelled time, how far off it may be.
    """

    value: float
    unit: str
    origin: str
    provenance: str = ""

    @classmethod
    def from_figure(cls, figure: Figure) -> Time:
        """A figure as a time."""
        return cls(figure.value, figure.unit, str(figure.origin), figure.provenance)


@dataclass(frozen=True, slots=True)
class Run:
    """One line of the run history.

    Attributes:
        kind: "compile", "run", "time", "verify", "profile" or "sanitize".
        at: end of the run, ISO 8601 with time zone.
        kernel: kernel or spec that ran; "" for a compile.
        time: duration of the kernel; None if unknown.
        verified: True if the result was right; None if it was not checked.
        changes: changes since the previous run of this cell.
        error: first line of the error; "" if there was none.
    """

    kind: str
    at: str
    kernel: str = ""
    time: Time | None = None
    verified: bool | None = None
    changes: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure that line heat can show; `key` is its name in `HeatLine.values`, `doc` its description."""

    key: str
    label: str
    unit: str
    origin: str
    doc: str = ""


@dataclass(frozen=True, slots=True)
class HeatLine:
    """A source line of the cell: its value of each measure, and its instruction executions by class."""

    line: int
    values: Mapping[str, float]
    instructions: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Heat:
    """Costs of a profiled kernel by line of the cell.

    Attributes:
        kernel: the kernel that ran.
        measures: available measures, the default first (`workbench.profile.instructions`): "time_cycles",
            "issue_cycles", "instructions", "stall_cycles", "bank_conflicts", "bytes", "bytes_moved",
            "lds_bytes", "samples".
        lines: lines with any cost, in order.
        elsewhere: values that belong to no line of the cell (headers, compiler-made code).
        note: text to show with it.
    """

    kernel: str
    measures: Sequence[Measure]
    lines: Sequence[HeatLine]
    elsewhere: Mapping[str, float] = field(default_factory=dict)
    note: str = WAITS_NOTE


@dataclass(frozen=True, slots=True)
class CellPayload:
    """Everything the editor needs to know after a cell was compiled or run.

    Attributes:
        name: the name that the module is bound to.
        status: "compiled" or "failed".
        body: text of the cell without its first line; stored as a checksum, so that a reopened notebook shows
            nothing on lines that have changed since. None skips that check.
        device: the device; None if none was chosen.
        origin: origin of the cell's figures: "measured", "counted", "modelled"; "" without figures.
        compile: facts about the compilation; None if the compiler did not run.
        diagnostics: findings of compiler and sanitizer, in order.
        kernels: the kernels of the module.
        run: entry of the run history.
        heat: line heat of a profiled run.
    """

    name: str
    status: str
    body: str | None = None
    device: Device | None = None
    origin: str = ""
    compile: Compilation | None = None
    diagnostics: Sequence[Finding] = ()
    kernels: Sequence[Kernel] = ()
    run: Run | None = None
    heat: Heat | None = None

    def to_dict(self) -> dict[str, Any]:
        """The payload as JSON-ready dictionaries and lists."""
        data = _plain(asdict(self))
        body = data.pop("body")
        return {"version": VERSION, "checksum": None if body is None else checksum(body), **data}


def bundle(payload: CellPayload, html: str, text: str = "") -> dict[str, Any]:
    """MIME bundle for `IPython.display.display(..., raw=True)`: the HTML result together with the payload.

    Args:
        payload: data for the editor.
        html: HTML for every front end.
        text: text for a terminal; if empty, it is made from the payload.
    """
    plain = text or f"{payload.name}: {payload.status}"
    return {"text/plain": plain, "text/html": html, MIME_TYPE: payload.to_dict()}


def with_launch_findings(bundle: Mapping[str, Any], launch_findings: Iterable[Finding]) -> dict[str, Any]:
    """A bundle with these findings of launches; the compiler's findings stay."""
    data = bundle[MIME_TYPE]
    compiled = [finding for finding in data["diagnostics"] if finding["source"] == "compiler"]
    return {
        **bundle,
        MIME_TYPE: {
            **data,
            "diagnostics": [*compiled, *(_plain(asdict(finding)) for finding in launch_findings)],
        },
    }


def findings(diagnostics: Iterable[Any]) -> tuple[Finding, ...]:
    """Findings from diagnostics of the toolchain (`workbench.toolchain.Diagnostic`).

    A finding in a header is put on the line of the cell that leads there, and says so.
    """
    result = []
    for diagnostic in diagnostics:
        line, column, message = diagnostic.line, diagnostic.column, diagnostic.message
        file = getattr(diagnostic, "file", None)
        if file is not None:
            message = f"{message}\nin {file}:{line}:{column}"
            line = getattr(diagnostic, "cell_line", 0)
            column = getattr(diagnostic, "cell_column", 0)
        result.append(
            Finding(
                line=line,
                column=column,
                severity=diagnostic.severity,
                message=message,
                fixits=tuple(
                    Fix((fix.line, fix.column), (fix.end_line, fix.end_column), fix.text)
                    for fix in getattr(diagnostic, "fixits", ())
                ),
                notes=tuple(_note(note) for note in getattr(diagnostic, "notes", ())),
                option=getattr(diagnostic, "option", ""),
            )
        )
    return tuple(result)


def _note(note: Any) -> str:
    where = getattr(note, "file", None)
    if not note.line:
        return str(note.message)
    place = f"{where}:{note.line}:{note.column}" if where else f"line {note.line}"
    return f"{place}: {note.message}"


def _plain(value: Any) -> Any:
    """Tuples as lists, mappings as dictionaries: the same as after a round trip through `json`."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
