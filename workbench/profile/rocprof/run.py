"""Runs rocprofv3 on a replay of a launch, in as many passes as the counters need.

A GPU has a few registers for each hardware block, so counters are read in groups, each with its own launch.
Every command, its output and its files are stored in the run's folder.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workbench.codeobject.names import instance_name
from workbench.errors import (
    CounterRejected,
    ProfilerError,
    ProfilerNotFound,
    ProfilerPermission,
    ProfilerTimeout,
    UsageError,
)
from workbench.operators.launch_target import Target
from workbench.profile.rocprof import instructions, replay, tables
from workbench.profile.rocprof.instructions import InstructionCost

TIMEOUT = 300.0
"""Seconds for one pass, including the start of Python."""

TRACE_REPEATS = 20
"""Launches of the pass that measures times."""

BLOCK_LIMITS: Mapping[str, int] = {
    "SQ": 8,
    "TA": 2,
    "TD": 2,
    "TCP": 4,
    "TCC": 4,
    "CPC": 2,
    "CPF": 2,
    "SPI": 2,
    "GRBM": 2,
    "GDS": 4,
}
"""Counters of a hardware block in one pass, used if rocprofv3-avail is missing (performance counter limits of
MI200 and later in ROCm Compute Profiler)."""

_SAMPLING = ("--pc-sampling-beta-enabled", "--pc-sampling-method")
_INTERVAL: Mapping[str, tuple[str, ...]] = {
    "stochastic": ("--pc-sampling-unit", "cycles", "--pc-sampling-interval", "65536"),
    "host_trap": ("--pc-sampling-unit", "time", "--pc-sampling-interval", "1"),
}
"""The shortest interval of each method: a power of two of cycles; microseconds (rocprofv3's manual)."""

_PERMISSION = re.compile(
    r"perf_event_paranoid|permission denied|not permitted|/dev/kfd|HSA_STATUS_ERROR_OUT_OF_RESOURCES", re.I
)
_BAD = r"(?:unable|could not find|unknown|invalid|unsupported|not (?:found|supported|available|recognized))"
_NOUN = r"(?:counter|pmc|metric)"
_REJECTED = re.compile(
    rf"{_BAD}.{{0,60}}{_NOUN}|{_NOUN}.{{0,60}}{_BAD}"
    r"|exceeds the (?:hardware|capabilities)|cannot be collected",
    re.I,
)

_DECODER = re.compile(r"decoder|INVALID_SHADER_DATA|att.library", re.I)


@dataclass(frozen=True)
class Pass:
    """One run of rocprofv3.

    Attributes:
        command: command line.
        folder: folder with its files; log.txt has its output.
        counters: requested counters.
    """

    command: tuple[str, ...]
    folder: Path
    counters: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The command in a shell's syntax."""
        return shlex.join(self.command)


@dataclass(frozen=True)
class RocprofResult:
    """rocprofv3's counters and times of a launch.

    Attributes:
        folder: folder with all files, including the saved launch.
        counters: values by name, for one launch.
        microseconds: durations of the launches in the trace pass; empty without one.
        dispatch: the launch as the profiler recorded it (registers, LDS, shape).
        agent: the GPU; None if agent_info.csv does not name it.
        passes: command and folder of each pass.
        changed: tensors that the replay wrote differently from the original launch.
        instructions: costs measured by a thread trace and PC samples, by address in the code object; empty
            without either.
        thread_trace: folders of thread traces, for ROCprof Compute Viewer.
        rejected: counters that the GPU does not have and that were skipped.
    """

    folder: Path
    counters: Mapping[str, float]
    microseconds: Sequence[float]
    dispatch: tables.Dispatch | None
    agent: tables.Agent | None
    passes: Sequence[Pass]
    changed: Sequence[str]
    instructions: Mapping[int, InstructionCost] = field(default_factory=dict)
    thread_trace: Sequence[Path] = ()
    rejected: Sequence[str] = ()

    @property
    def median(self) -> float | None:
        """Median duration, microseconds."""
        return statistics.median(self.microseconds) if self.microseconds else None


def find_tool(name: str = "rocprofv3") -> str:
    """Path of a ROCm tool: PATH, then ROCM_PATH, then /opt/rocm.

    Raises:
        ProfilerNotFound: the tool is in none of these places.
    """
    places = [f"{root}/bin" for root in (os.environ.get("ROCM_PATH"), "/opt/rocm") if root]
    path = shutil.which(name) or shutil.which(name, path=os.pathsep.join(places))
    if path is None:
        raise ProfilerNotFound(
            f"{name} was not found on PATH or in {', '.join(places)}. Hardware counters of a GPU need it: "
            "install the package rocprofiler-sdk of your ROCm (6.2 or later), or set ROCM_PATH. Without it, "
            "profile on the emulated device (device='emulated')."
        )
    return path


def groups(counters: Sequence[str], arch: str = "") -> list[list[str]]:
    """Counters in as few passes as a greedy choice finds, checked with `rocprofv3-avail pmc-check`.

    Without that tool, `BLOCK_LIMITS` decide.
    """
    try:
        avail = find_tool("rocprofv3-avail")
    except ProfilerNotFound:
        avail = ""
    passes: list[list[str]] = []
    for counter in dict.fromkeys(counters):
        for group in passes:
            candidate = [*group, counter]
            if _fit_one_pass(avail, candidate) if avail else _within_limits(candidate):
                group.append(counter)
                break
        else:
            passes.append([counter])
    return passes


def _within_limits(counters: Sequence[str]) -> bool:
    used: dict[str, int] = {}
    for counter in counters:
        block = counter.partition("_")[0]
        used[block] = used.get(block, 0) + 1
    return all(count <= BLOCK_LIMITS.get(block, 1) for block, count in used.items())


def _fit_one_pass(avail: str, counters: Sequence[str]) -> bool:
    try:
        done = subprocess.run([avail, "pmc-check", *counters], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return _within_limits(counters)
    return done.returncode == 0 and not re.search(
        r"\b(cannot|can't|unable|fail\w*|error)\b", done.stdout + done.stderr, re.I
    )


def collect(
    target: Target,
    counters: Sequence[str] = (),
    *,
    trace: bool = True,
    thread_trace: bool = False,
    pc_sampling: bool | str = False,
    skip_rejected: bool = False,
    folder: str | Path | None = None,
    timeout: float = TIMEOUT,
) -> RocprofResult:
    """Counters and times of a launch, from rocprofv3 on replays of it.

    Args:
        target: the launch.
        counters: names from `rocprofv3-avail list --pmc`.
        trace: measure times too, in a separate pass without counters.
        thread_trace: take a thread trace (`--att`), which needs AMD's rocprof-trace-decoder library.
        pc_sampling: sample program counters: "stochastic" (also True) or "host_trap".
        skip_rejected: skip counters that the GPU does not have, instead of raising.
        folder: folder for all files; None for a new one in the temporary folder.
        timeout: seconds for each pass.

    Raises:
        ProfilerNotFound, ProfilerPermission, ProfilerTimeout, CounterRejected, ProfilerError
        UsageError: no such sampling method.
    """
    method = instructions.METHODS[0] if pc_sampling is True else pc_sampling
    if method and method not in instructions.METHODS:
        raise UsageError(
            f"pc_sampling={pc_sampling!r}; expected True or one of "
            f"{', '.join(map(repr, instructions.METHODS))}"
        )
    tool = find_tool()
    place = Path(folder) if folder is not None else Path(tempfile.mkdtemp(prefix="hipkittens-rocprof-"))
    run = _Run(tool, target, place, replay.save(target, place / "launch"), timeout)
    launches = run.trace() if trace else []
    values, rejected, counted = run.counters(counters, skip_rejected)
    dispatch = launches[0] if launches else counted
    agent = run.agent(dispatch)
    costs: dict[int, InstructionCost] = {}
    if method:
        _merge(costs, run.samples(method))
    traces: list[Path] = []
    if thread_trace:
        traces, traced = run.thread_trace()
        _merge(costs, traced)
    return RocprofResult(
        folder=place,
        counters=values,
        microseconds=[launch.microseconds for launch in launches],
        dispatch=dispatch,
        agent=agent,
        passes=run.passes,
        changed=run.changed,
        instructions=instructions.of_kernel(costs, target.kernel),
        thread_trace=traces,
        rejected=rejected,
    )


@dataclass
class _Run:
    """A launch and the passes of rocprofv3 over its replays.

    Attributes:
        tool: path of rocprofv3.
        place: folder for all files.
        saved: the launch to replay.
        timeout: seconds for each pass.
        passes: passes so far.
        changed: tensors that a replay wrote differently.
    """

    tool: str
    target: Target
    place: Path
    saved: replay.Saved
    timeout: float
    passes: list[Pass] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)

    @property
    def names(self) -> set[str]:
        """Names under which rocprofv3 may list the kernel."""
        kernel = self.target.kernel
        return {self.saved.kernel, kernel.info.demangled, kernel.name}

    def make(
        self,
        label: str,
        options: Sequence[str],
        counters: Sequence[str] = (),
        repeat: int = 1,
        formats: Sequence[str] = ("csv",),
    ) -> Pass:
        """One pass: replays the launch `repeat` times under rocprofv3."""
        child = [sys.executable, "-m", "workbench.profile.rocprof.replay", str(self.saved.folder)]
        if repeat > 1:
            child += ["--repeat", str(repeat)]
        where = self.place / label
        files = ("--output-format", *formats, "-d", str(where), "-o", label)
        run = Pass((self.tool, *options, *files, "--", *child), where, tuple(counters))
        (self.saved.folder / replay.RESULT).unlink(missing_ok=True)
        _start(run, self.timeout)
        self.passes.append(run)
        self.changed += [name for name in replay.compare(self.saved) if name not in self.changed]
        return run

    def trace(self) -> list[tables.Dispatch]:
        """The kernel's launches of a pass without counters, with their times."""
        run = self.make("trace", ["--kernel-trace"], repeat=TRACE_REPEATS)
        return _of_kernel(run, "kernel_trace", self.names)

    def counters(
        self, names: Sequence[str], skip_rejected: bool
    ) -> tuple[dict[str, float], list[str], tables.Dispatch | None]:
        """Values of counters, those that the GPU does not have, and the launch of the first pass."""
        values: dict[str, float] = {}
        rejected: list[str] = []
        dispatch: tables.Dispatch | None = None
        waiting = groups(names, self.target.kernel.arch)
        number = 0
        while waiting:
            group = waiting.pop(0)
            number += 1
            try:
                seen, missing = self._counted(f"pass{number}", group, skip_rejected)
            except CounterRejected:
                if not skip_rejected:
                    raise
                # One counter spoils the group; single passes show which.
                if len(group) > 1:
                    waiting = [[name] for name in group] + waiting
                else:
                    rejected += group
                continue
            rejected += missing
            values.update({name: seen.counters[name] for name in group if name not in missing})
            dispatch = dispatch or seen
        return values, rejected, dispatch

    def _counted(
        self, label: str, group: Sequence[str], skip_missing: bool
    ) -> tuple[tables.Dispatch, list[str]]:
        """The launch of one pass with its counters, and counters without a value."""
        run = self.make(label, ["--pmc", *group], group)
        seen = _of_kernel(run, "counter_collection", self.names)[0]
        missing = [name for name in group if name not in seen.counters]
        if missing and not skip_missing:
            raise CounterRejected(
                f"rocprofv3 gave no value of {', '.join(missing)} on {self.target.kernel.arch}; "
                f"`rocprofv3-avail list --pmc` lists what the GPU has. {_kept(run)}"
            )
        return seen, missing

    def agent(self, dispatch: tables.Dispatch | None) -> tables.Agent | None:
        """The GPU that a launch ran on; None if no pass names it."""
        if dispatch is None:
            return None
        paths = (path for run in self.passes for path in tables.files(run.folder, "agent_info"))
        agents = (agent for path in paths for agent in tables.read_agents(path))
        return next((a for a in agents if a.node == dispatch.agent and a.kind == "GPU"), None)

    def samples(self, method: str) -> dict[int, InstructionCost]:
        """Samples of program counters by address."""
        options = [*_SAMPLING, method, *_INTERVAL[method]]
        run = self.make("pc", options, repeat=TRACE_REPEATS, formats=("csv", "json"))
        costs: dict[int, InstructionCost] = {}
        for path in tables.files(run.folder, "results", "json"):
            _merge(costs, instructions.read_pc_samples(path, self.names))
        if not costs:
            raise ProfilerError(
                f"rocprofv3 took no sample of {self.target.kernel.name}; a launch shorter than the interval "
                f"has none: profile a larger shape, or take a thread trace. {_kept(run)}"
            )
        return costs

    def thread_trace(self) -> tuple[list[Path], dict[int, InstructionCost]]:
        """Folders of a thread trace, and the cycles of each instruction by address."""
        pattern = re.escape(instance_name(self.target.kernel.info.demangled))
        run = self.make("att", ["--att", "--kernel-include-regex", pattern])
        stats = sorted(run.folder.rglob("stats_ui_output_*.csv"))
        costs: dict[int, InstructionCost] = {}
        for path in stats:
            _merge(costs, instructions.read_thread_trace(path, self.names))
        if not any(cost.hits for cost in costs.values()):
            raise ProfilerError(
                f"the thread trace has no instruction of {self.target.kernel.name}; files: {len(stats)}. It "
                "sees one compute unit of one shader engine; a launch of few work-groups may not have run "
                f"there. {_kept(run)}"
            )
        return sorted(p for p in run.folder.rglob("ui_output_*") if p.is_dir()), costs


def _merge(into: dict[int, InstructionCost], costs: Mapping[int, InstructionCost]) -> None:
    for address, cost in costs.items():
        into.setdefault(address, InstructionCost(cost.text)).add(cost)


def _of_kernel(run: Pass, kind: str, names: set[str]) -> list[tables.Dispatch]:
    paths = tables.files(run.folder, kind)
    reader = tables.read_kernel_trace if kind == "kernel_trace" else tables.read_counters
    every = [d for path in paths for d in reader(path)]
    seen = tables.of_kernel(every, *names)
    if not seen:
        there = ", ".join(sorted({d.kernel for d in every})[:5]) or "none"
        raise ProfilerError(
            f"rocprofv3 wrote no {kind} row of {min(names, key=len)}; files: {len(paths)}, kernels in them: "
            f"{there}. {_kept(run)}"
        )
    return seen


def _kept(run: Pass) -> str:
    return f"The command was `{run.shown}`; its output is in {run.folder / 'log.txt'}"


def _start(run: Pass, timeout: float) -> None:
    run.folder.mkdir(parents=True, exist_ok=True)
    log = run.folder / "log.txt"
    with log.open("w") as output:
        try:
            process = subprocess.Popen(
                run.command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        except OSError as error:
            raise ProfilerNotFound(f"{run.command[0]} cannot be started: {error.strerror}") from error
        try:
            code = process.wait(timeout)
        except BaseException as error:
            # rocprofv3 starts the replay as its own child: both must end.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise ProfilerTimeout(
                    f"rocprofv3 was stopped after {timeout:g} s. Give more with timeout=, or profile a "
                    f"smaller shape. {_kept(run)}"
                ) from None
            raise
    text = log.read_text(errors="replace")
    if code:
        raise _diagnose(run, code, text)
    if run.counters and not tables.files(run.folder, "counter_collection") and _REJECTED.search(text):
        raise _diagnose(run, code, text)


def _diagnose(run: Pass, code: int, text: str) -> ProfilerError:
    """The error for a failed pass, from rocprofv3's output."""
    last = next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "nothing printed")
    if _PERMISSION.search(text):
        return ProfilerPermission(
            "rocprofv3 may not read the GPU's counters. On the host: `sudo sysctl "
            "kernel.perf_event_paranoid=1`, and be in the groups render and video. In a container: start it "
            "with --device=/dev/kfd --device=/dev/dri --group-add=video --group-add=render "
            f"--cap-add=SYS_PTRACE --cap-add=PERFMON --security-opt=seccomp=unconfined. "
            f"It said: {last}. {_kept(run)}"
        )
    if "--att" in run.command and _DECODER.search(text):
        return ProfilerError(
            "rocprofv3 cannot decode a thread trace: it needs AMD's rocprof-trace-decoder library "
            "(github.com/ROCm/rocprof-trace-decoder, its releases) in /opt/rocm/lib, or its folder in "
            f"ROCPROF_ATT_LIBRARY_PATH. It said: {last}. {_kept(run)}"
        )
    if _SAMPLING[0] in run.command and re.search(r"pc.sampling|not supported|unsupported", text, re.I):
        return ProfilerError(
            f"rocprofv3 cannot sample program counters here: {last}. pc_sampling='stochastic' needs an "
            f"MI300 or later with ROCm 7's driver, 'host_trap' ROCm 6.4. {_kept(run)}"
        )
    if run.counters and _REJECTED.search(text):
        named = [c for c in run.counters if re.search(rf"\b{re.escape(c)}\b", _without_command(text, run))]
        return CounterRejected(
            f"rocprofv3 refused {', '.join(named or run.counters)}: {last}. "
            f"`rocprofv3-avail list --pmc` lists what the GPU has. {_kept(run)}"
        )
    return ProfilerError(f"rocprofv3 ended with code {code}: {last}. {_kept(run)}")


def _without_command(text: str, run: Pass) -> str:
    return "\n".join(line for line in text.splitlines() if "--pmc" not in line and run.shown not in line)
