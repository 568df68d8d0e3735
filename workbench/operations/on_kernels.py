"""Operations on a kernel: a file with its launch, or an operator of the library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Annotated, Any

from workbench.check.compare import Comparison
from workbench.check.sanitizer import sanitize_target
from workbench.codeobject import printer
from workbench.errors import UsageError
from workbench.kernel import Kernel
from workbench.operations.record import Answer, Place, for_people, operation
from workbench.operations.subject import Subject, subject
from workbench.origin import Figure, Origin
from workbench.profile.findings import Finding as AdviceFinding
from workbench.profile.profiler import profile_target
from workbench.profile.results import ProfileResult
from workbench.profile.timing import TimeResult, time_target
from workbench.runtime.findings import Finding
from workbench.step.session import step as step_target
from workbench.step.text import number

Source = Annotated[
    str,
    'path of a C++ file, "NOTEBOOK.ipynb#NAME" for a cell `%%hipkittens NAME`, or the name of an operator of '
    'the library such as "gemm/bf16"',
]
OnDevice = Annotated[str, "MI355X, gfx942, gpu:0, ...; default: the file's target or the default device"]
Sizes = Annotated[str, "sizes such as \"m=256,n=256,k=256\"; default: the file's, or the operator's first"]
Seed = Annotated[int, "seed of the inputs"]

PAGE = 100
"""Instructions of a page of machine code."""

MOST = 20
"""Findings that an answer lists; it says how many there are."""


@dataclass(frozen=True)
class Quantity:
    """A figure with its unit and origin.

    Attributes:
        value, unit: the number and its unit, such as "us"; "" for a count.
        origin: "measured", "counted", "emulated", "modelled" or "published".
        low, high: range of the true value in 80 % of cases; None if the figure is exact or the range unknown.
    """

    value: float
    unit: str
    origin: str
    low: float | None
    high: float | None


def quantity(figure: Figure) -> Quantity:
    """The figure with its range."""
    around = figure.error.around(figure.value) if figure.error is not None else None
    low, high = around if around is not None else (None, None)
    return Quantity(figure.value, figure.unit, str(figure.origin), low, high)


def _ranged(value: Quantity) -> str:
    text = f"{value.value:.4g} {value.unit}".strip()
    if value.low is not None and value.high is not None:
        text += f" ({value.origin}; 80% range {value.low:.4g} to {value.high:.4g})"
    else:
        text += f" ({value.origin})"
    return text


@dataclass(frozen=True)
class CompiledKernel:
    """Resources of a kernel.

    Attributes:
        name: name in the source.
        vgprs, agprs, sgprs: registers of a wave.
        lds: static LDS of a work-group, bytes.
        scratch: private memory of a work-item, bytes.
        spills: registers spilled.
        waves: waves that a SIMD holds.
        instructions: number of instructions.
    """

    name: str
    vgprs: int
    agprs: int
    sgprs: int
    lds: int
    scratch: int
    spills: int
    waves: float
    instructions: int


@dataclass(frozen=True)
class Compiled(Answer):
    """A compilation.

    Attributes:
        arch: target.
        compiler: name and version of the compiler.
        seconds: time of the compilation; that of reading the cache if `cached`.
        cached: True if the code came from the cache.
        kernels: kernels with their resources.
        warnings: warnings of the compiler.
    """

    arch: str
    compiler: str
    seconds: float
    cached: bool
    kernels: tuple[CompiledKernel, ...]
    warnings: tuple[Place, ...]

    def __str__(self) -> str:
        how = "cached" if self.cached else f"compiled in {self.seconds:.2f} s"
        lines = [f"{self.arch}, {how}, {self.compiler}"]
        for k in self.kernels:
            lines.append(
                f"  {k.name}: {k.vgprs} VGPR, {k.agprs} AGPR, {k.sgprs} SGPR, {k.lds} B LDS, {k.scratch} B "
                f"scratch, {k.spills} spills, {k.waves:g} waves per SIMD, {k.instructions} instructions"
            )
        lines += [f"  line {w.line}: {w.severity}: {w.message}" for w in self.warnings]
        return "\n".join(lines)


@operation
def compile(source: Source, device: OnDevice = "", shape: Sizes = "") -> Compiled:
    """Compile a kernel and list its registers, shared memory and spills."""
    what = subject(source, device, shape)
    kernels = list(_kernels(what))
    results = {id(k.module): k.module.result for k in kernels if k.module.result is not None}
    diagnostics = [d for result in results.values() for d in result.diagnostics]
    return Compiled(
        what.device.arch,
        next((result.compiler.version for result in results.values()), ""),
        sum(result.seconds for result in results.values()),
        all(result.cached for result in results.values()),
        tuple(map(_compiled, kernels)),
        tuple(map(Place.of_diagnostic, diagnostics)),
    )


def _kernels(what: Subject) -> Iterator[Kernel]:
    if what.module is not None:
        yield from what.module.kernels.values()
    else:
        for part in what.target().parts:
            yield part.kernel


def _compiled(kernel: Kernel) -> CompiledKernel:
    r = kernel.resources
    return CompiledKernel(
        kernel.name,
        r.vgprs,
        r.agprs,
        r.sgprs,
        r.lds,
        r.scratch,
        r.vgpr_spills + r.sgpr_spills,
        r.occupancy.waves_per_simd,
        len(kernel.instructions),
    )


@dataclass(frozen=True)
class Tensor:
    """An argument after a launch.

    Attributes:
        name, dtype, shape: name, type of elements and sizes.
        low, high, mean: smallest, largest and mean of the finite elements; None without any.
        nonfinite: number of elements that are NaN or infinite.
        first: the first elements in memory order.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    low: float | None
    high: float | None
    mean: float | None
    nonfinite: int
    first: tuple[float, ...]


@dataclass(frozen=True)
class Ran(Answer):
    """A launch.

    Attributes:
        device: name of the device.
        launches: kernels that were launched, in order.
        tensors: the arguments that are tensors, after it.
    """

    device: str
    launches: tuple[str, ...]
    tensors: tuple[Tensor, ...]

    def __str__(self) -> str:
        lines = [f"launched {', '.join(self.launches)} on {self.device}"]
        for t in self.tensors:
            span = (
                f"{t.low:.4g} to {t.high:.4g}" if t.low is not None and t.high is not None else "none finite"
            )
            first = ", ".join(f"{value:.4g}" for value in t.first)
            lines.append(
                f"  {t.name}: {t.dtype} {' x '.join(map(str, t.shape))}, {span}, "
                f"{t.nonfinite} NaN or infinite, begins {first}"
            )
        return "\n".join(lines)


@operation
def launch(source: Source, device: OnDevice = "", shape: Sizes = "", seed: Seed = 0) -> Ran:
    """Launch a kernel once and summarize the tensors that it was passed."""
    what = subject(source, device, shape, seed)
    target = what.target()
    for part in target.parts:
        part.run(None)
    return Ran(
        what.device.name,
        tuple(part.kernel.name for part in target.parts),
        tuple(_tensors({**target.tensors, **target.arguments})),
    )


def _tensors(arguments: Mapping[str, Any]) -> Iterator[Tensor]:
    import torch

    for name, value in arguments.items():
        if not isinstance(value, torch.Tensor):
            continue
        flat = value.detach().cpu().double().flatten()
        finite = flat[torch.isfinite(flat)]
        yield Tensor(
            name,
            str(value.dtype).removeprefix("torch."),
            tuple(value.shape),
            finite.min().item() if len(finite) else None,
            finite.max().item() if len(finite) else None,
            finite.mean().item() if len(finite) else None,
            len(flat) - len(finite),
            tuple(flat[:8].tolist()),
        )


@dataclass(frozen=True)
class Element:
    """An element that differs too much: its index, the value that came, the value expected."""

    index: tuple[int, ...]
    got: float
    expected: float


@dataclass(frozen=True)
class ComparedOutput:
    """An output compared with the reference.

    Attributes:
        name, dtype, shape: name, type of elements and sizes.
        passed: True if it is right.
        max_error, mean_error: largest and mean absolute difference.
        tolerance: the bound in words.
        mismatches: elements outside the tolerance.
        unwritten: elements that still hold what was there before the launch.
        first: the first mismatches in memory order.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    passed: bool
    max_error: float
    mean_error: float
    tolerance: str
    mismatches: int
    unwritten: int
    first: tuple[Element, ...]


@dataclass(frozen=True)
class Verified(Answer):
    """A comparison with a reference in higher precision.

    Attributes:
        name, device: kernel or operator, and device.
        passed: True if all outputs are right and no input was overwritten.
        seed: seed of the inputs.
        outputs: comparison of each output.
        overwritten: inputs that the kernel overwrote.
        text: the same for people.
    """

    name: str
    device: str
    passed: bool
    seed: int
    outputs: tuple[ComparedOutput, ...]
    overwritten: tuple[str, ...]
    text: str = for_people()


@operation
def verify(source: Source, device: OnDevice = "", shape: Sizes = "", seed: Seed = 0) -> Verified:
    """Compare a kernel's results with its reference in higher precision.

    Outputs are poisoned before the launch, so that elements which the kernel does not write cannot pass.

    """
    result = subject(source, device, shape, seed).verify()
    return Verified(
        result.name,
        result.device,
        result.passed,
        result.seed,
        tuple(map(_output, result.outputs.values())),
        result.inputs_changed,
        str(result),
    )


def _output(c: Comparison) -> ComparedOutput:
    return ComparedOutput(
        c.name,
        c.dtype,
        c.shape,
        c.passed,
        c.max_error,
        c.mean_error,
        f"|got - expected| <= {c.tolerance.atol:g} + {c.tolerance.rtol:g} |expected|",
        c.mismatches,
        c.unwritten,
        tuple(Element(m.index, m.got, m.wanted) for m in c.first),
    )


@dataclass(frozen=True)
class Found:
    """A finding of the sanitizer.

    Attributes:
        category: "missing wait", "race", "uninitialised", "out of bounds", "hazard", ...
        message: the fault and the remedy.
        file, line, column: place in the source; "" and 0 without debug info.
        related: place of the other access or of the load, such as "kernel.cpp:12"; "" if there is none.
        instruction, address: the instruction, and its address in the code object.
        where: work-group, wave and lane where it occurred first.
        count: number of occurrences.
    """

    category: str
    message: str
    file: str
    line: int
    column: int
    related: str
    instruction: str
    address: int
    where: str
    count: int


@dataclass(frozen=True)
class Sanitized(Answer):
    """Findings of the sanitizer in one launch.

    Attributes:
        name, device: kernel or operator, and device.
        passed: True if nothing was found; notes do not count.
        stopped: True if a fault ended the launch, so that the rest was not checked.
        total: number of findings, of which the first are listed.
        findings: one for each cause.
        notes: remarks that are no errors.
    """

    name: str
    device: str
    passed: bool
    stopped: bool
    total: int
    findings: tuple[Found, ...]
    notes: tuple[Found, ...]
    text: str = for_people()


@operation
def sanitize(source: Source, device: OnDevice = "", shape: Sizes = "", seed: Seed = 0) -> Sanitized:
    """Look for races, missing waits, accesses out of bounds and uninitialised values in one launch."""
    result = sanitize_target(subject(source, device, shape, seed).target())
    return Sanitized(
        result.name,
        result.device,
        result.passed,
        result.stopped,
        len(result.causes),
        tuple(_found(cause.first, cause.count) for cause in result.causes[:MOST]),
        tuple(_found(note, note.count) for note in result.notes[:MOST]),
        str(result),
    )


def _found(finding: Finding, count: int) -> Found:
    related = f"{finding.related[0]}:{finding.related[1]}" if finding.related is not None else ""
    return Found(
        finding.category,
        finding.message,
        finding.file,
        finding.line,
        finding.column,
        related,
        finding.instruction,
        finding.pc,
        finding.who,
        count,
    )


@dataclass(frozen=True)
class Timed(Answer):
    """A time.

    Attributes:
        name, device: kernel or operator, and device.
        time: median time of a launch.
        definition: what the time includes.
        rate: arithmetic work per second; None if the work is unknown.
        bandwidth: compulsory traffic per second; None if the work is unknown.
        limit: what limits the kernel; "" if the time is measured.
        parts: time for which each unit is busy, longest first, and time beside them; empty if measured.
    """

    name: str
    device: str
    time: Quantity
    definition: str
    rate: Quantity | None
    bandwidth: Quantity | None
    limit: str
    parts: dict[str, Quantity]

    def __str__(self) -> str:
        lines = [f"{self.name} on {self.device}: {_ranged(self.time)}"]
        lines += [f"  {_ranged(figure)}" for figure in (self.rate, self.bandwidth) if figure is not None]
        if self.limit:
            lines.append(f"  limited by {self.limit}")
        lines += [f"  {part}: {figure.value:.4g} {figure.unit}" for part, figure in self.parts.items()]
        return "\n".join(lines)


@operation
def time(source: Source, device: OnDevice = "", shape: Sizes = "", seed: Seed = 0) -> Timed:
    """Time a kernel: measured on a GPU, modelled with its range on an emulated one."""
    return _timed(time_target(subject(source, device, shape, seed).target()))


def _timed(result: TimeResult) -> Timed:
    model = result.model
    return Timed(
        result.name,
        result.device,
        quantity(result.median),
        result.quantity,
        quantity(result.rate) if result.rate is not None else None,
        quantity(result.bandwidth) if result.bandwidth is not None else None,
        model.bound_text if model is not None else "",
        {part: quantity(figure) for part, figure in model.breakdown.items()} if model is not None else {},
    )


@dataclass(frozen=True)
class AdvicePiece:
    """A change that would make the kernel faster.

    Attributes:
        rule, title: short name of the rule, and the fault.
        remedy: what to change.
        file, line: place in the source; "" and 0 for the launch as a whole.
        gain: modelled speed-up of the launch, as a factor.
        evidence: figures behind it.
    """

    rule: str
    title: str
    remedy: str
    file: str
    line: int
    gain: Quantity
    evidence: dict[str, Quantity]


@dataclass(frozen=True)
class ProfiledLaunch:
    """Counters of one launch.

    Attributes:
        name: kernel, or operator and step.
        time: time of the launch; none on an emulated device whose times are not modelled.
        counters: counters by rocprof's names; in small letters those that rocprof does not have. Those that
            belong to others that are zero are left out.
        metrics: what follows from them, such as bandwidths and the share of bank conflicts.
        remarks: remarks on the launch.
    """

    name: str
    time: Quantity | None
    counters: dict[str, Quantity]
    metrics: dict[str, Quantity]
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Profiled(Answer):
    """Counters, time and advice.

    Attributes:
        device: name of the device.
        time: time of all launches together; none on an emulated device whose times are not modelled.
        launches: one for each launch of an operator.
        advice: changes with their modelled gain, the largest first.
        text: the same for people.
    """

    device: str
    time: Quantity | None
    launches: tuple[ProfiledLaunch, ...]
    advice: tuple[AdvicePiece, ...]
    text: str = for_people()


@operation
def profile(source: Source, device: OnDevice = "", shape: Sizes = "", seed: Seed = 0) -> Profiled:
    """Count the events of a launch, and list what would make it faster.

    Counters are exact on an emulated device and measured on a GPU.
    """
    result = profile_target(subject(source, device, shape, seed).target())
    launches = [result] if isinstance(result, ProfileResult) else list(result)
    if not all(launch.has_time for launch in launches):
        text = "\n".join(map(str, launches))
        return Profiled(launches[0].device, None, tuple(map(_profiled, launches)), (), text)
    return Profiled(
        launches[0].device,
        quantity(result.time),
        tuple(map(_profiled, launches)),
        tuple(map(_advised, result.advice)),
        f"{result}\n{result.advice}",
    )


def _profiled(result: ProfileResult) -> ProfiledLaunch:
    metrics = {name: m.figure for name, m in result.metrics.items() if m.figure is not None}
    return ProfiledLaunch(
        result.name,
        quantity(result.time) if result.has_time else None,
        {name: quantity(figure) for name, figure in result.shown},
        {name: quantity(figure) for name, figure in metrics.items()},
        result.remarks,
    )


@dataclass(frozen=True)
class Advised(Answer):
    """Changes that would make a kernel faster.

    Attributes:
        device: name of the device.
        time: time of all launches together.
        advice: changes with their modelled gain, the largest first.
        text: the same for people.
    """

    device: str
    time: Quantity
    advice: tuple[AdvicePiece, ...]
    text: str = for_people()


@operation
def advise(source: Source, device: OnDevice = "", shape: Sizes = "", seed: Seed = 0) -> Advised:
    """List what would make a kernel faster, with the modelled gain of each change."""
    result = profile(source, device, shape, seed)
    if result.time is None:
        raise UsageError(f"there is no advice without a time: {result.text.splitlines()[0]}")
    return Advised(
        result.device, result.time, result.advice, "\n".join(map(_advice_line, result.advice)) or "no advice"
    )


def _advice_line(piece: AdvicePiece) -> str:
    place = f" ({piece.file}:{piece.line})" if piece.line else ""
    return f"{_ranged(piece.gain)}: {piece.title}{place}: {piece.remedy}"


def _advised(finding: AdviceFinding) -> AdvicePiece:
    file, line = finding.place if finding.place is not None else ("", 0)
    return AdvicePiece(
        finding.rule,
        finding.title,
        finding.what,
        file,
        line,
        quantity(finding.gain),
        {name: quantity(figure) for name, figure in finding.evidence.items()},
    )


@dataclass(frozen=True)
class CodeLine:
    """An instruction: its address, its text, and its place such as "scale.cpp:12"; "" without debug info."""

    address: int
    text: str
    place: str


@dataclass(frozen=True)
class Disassembled(Answer):
    """A page of machine code.

    Attributes:
        kernel, arch: name of the kernel, and target.
        total: number of instructions of the kernel.
        first: index of the first instruction of the page.
        instructions: the page.
        following: `first` of the next page; None if this is the last.
    """

    kernel: str
    arch: str
    total: int
    first: int
    instructions: tuple[CodeLine, ...]
    following: int | None

    def __str__(self) -> str:
        last = self.first + len(self.instructions)
        lines = [f"{self.kernel} on {self.arch}: instructions {self.first} to {last} of {self.total}"]
        place = ""
        for line in self.instructions:
            if line.place != place:
                place = line.place
                lines.append(f"; {place}")
            lines.append(f"  {line.address:#08x}  {line.text}")
        return "\n".join(lines)


@operation
def disassemble(
    source: Source,
    device: OnDevice = "",
    shape: Sizes = "",
    kernel: Annotated[str, "name of the kernel; default: the first"] = "",
    first: Annotated[int, "index of the first instruction of the page, from 0"] = 0,
    line: Annotated[int, "only instructions of this line of the source; 0 for all"] = 0,
) -> Disassembled:
    """List a kernel's machine code with source lines, a page of 100 instructions at a time."""
    kernels = {k.name: k for k in _kernels(subject(source, device, shape))}
    chosen = kernels.get(kernel) if kernel else next(iter(kernels.values()), None)
    if chosen is None:
        raise UsageError(f"{source} has no kernel {kernel!r}; expected one of {', '.join(kernels) or 'none'}")
    rows = [CodeLine(i.address, printer.text(i), _place(chosen, i.address)) for i in chosen.instructions]
    if line:
        rows = [row for row in rows if row.place.rpartition(":")[2] == str(line)]
    page = rows[max(0, first) : max(0, first) + PAGE]
    after = first + len(page)
    return Disassembled(
        chosen.name, chosen.arch, len(rows), first, tuple(page), after if after < len(rows) else None
    )


def _place(kernel: Kernel, address: int) -> str:
    """The innermost place in the user's own source, else the innermost of all."""
    places = kernel.module.places_of(address)
    own = [place for place in places if kernel.module.is_own_source(place[0])]
    file, line = (own or list(places) or [("", 0)])[0]
    name = kernel.module.name if own else PurePath(file).name
    return f"{name}:{line}" if line else ""


@dataclass(frozen=True)
class Waves(Answer):
    """A compute unit's waves over time.

    Attributes:
        kernel, device: names of the kernel and the device.
        waves: waves that the simulated unit ran.
        duration: until the last of them ended.
        stalls: what waves waited for, as a share of the time of all waves, the largest first.
        text: the same for people.
        svg: the waves as lanes: what each issued, and what it waited for.
    """

    kernel: str
    device: str
    waves: int
    duration: Quantity
    stalls: dict[str, float]
    text: str = for_people()
    svg: str = for_people()

    @property
    def picture(self) -> str:
        return self.svg


@operation
def timeline(
    source: Source,
    device: OnDevice = "",
    shape: Sizes = "",
    seed: Seed = 0,
    launch: Annotated[int, "index of the launch, for an operator of several"] = 0,
) -> Waves:
    """Show a compute unit's waves over time: what they issue and what they wait for.

    Agents get a picture as well. Times are modelled, so the device must be an emulated one.
    """
    from workbench.views.waves import pack, waves_svg

    target = subject(source, device, shape, seed).target()
    target.device.check_observes("what each wave does from cycle to cycle")
    result = profile_target(target)
    launches = [result] if isinstance(result, ProfileResult) else list(result)
    if not 0 <= launch < len(launches):
        raise UsageError(f"timeline: launch is {launch}; expected 0 to {len(launches) - 1}")
    line = launches[launch].timeline if launches[launch].has_time else None
    if line is None:
        raise UsageError(
            f"timeline: nothing was simulated of {launches[launch].name} on {target.device.name}; expected a "
            "product whose time is modelled, such as MI355X, and a launch of at least one wave"
        )
    total = sum(lane.end - lane.start for lane in line.lanes) or 1.0
    low, high = line.error.around(line.cycles / line.clock_hz * 1e6) or (None, None)
    return Waves(
        line.name,
        line.device,
        len(line.lanes),
        Quantity(line.cycles / line.clock_hz * 1e6, "us", str(Origin.MODELLED), low, high),
        {reason: round(cycles / total, 4) for reason, cycles in line.stalls().items()},
        str(line),
        waves_svg([pack(line)]),
    )


@dataclass(frozen=True)
class Stepped(Answer):
    """A wave in the middle of a launch.

    Attributes:
        kernel: name of the kernel.
        group, wave: linear number of the work-group, and wave in it.
        position, length: instructions that the wave has run, and those of its whole run.
        line: line of the next instruction; 0 if unknown.
        variables: variables of the source by name, as text.
        text: source and machine code around the next instruction, what the last one changed, pending waits.
    """

    kernel: str
    group: int
    wave: int
    position: int
    length: int
    line: int
    variables: dict[str, str]
    text: str = for_people()


@operation
def step(
    source: Source,
    device: OnDevice = "",
    shape: Sizes = "",
    seed: Seed = 0,
    group: Annotated[int, "linear number of the work-group"] = 0,
    wave: Annotated[int, "wave of the work-group"] = 0,
    position: Annotated[int, "run this many instructions of the wave"] = 0,
    line: Annotated[int, "run on to this line of the source; 0 not to"] = 0,
    launch: Annotated[int, "index of the launch, for an operator of several"] = 0,
) -> Stepped:
    """Show one wave in the middle of a launch: registers that changed, variables, pending waits."""
    what = subject(source, device, shape, seed)
    stepper = step_target(what.target(), group=group, wave=wave, launch=launch)
    stepper.goto(min(position, stepper.length))
    if line:
        stepper.to(line)
    values = {name: "a tile" if v.is_tile else number(v.value) for name, v in stepper.variables.items()}
    return Stepped(
        stepper.kernel.name,
        group,
        wave,
        stepper.position,
        stepper.length,
        stepper.line or 0,
        values,
        repr(stepper),
    )
