"""The operation that judges what others submit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from workbench.errors import UsageError
from workbench.operations.launch_comment import SUFFIXES
from workbench.operations.on_kernels import Quantity
from workbench.operations.record import Answer, writing_operation
from workbench.targets import MI300X

if TYPE_CHECKING:
    from workbench.judge.problems import Problem
    from workbench.judge.verdicts import CaseVerdict, Verdict

MODELLED = "modelled"


@dataclass(frozen=True)
class JudgedCase:
    """A submission at one size.

    Attributes:
        name: the sizes; "" if there is only one.
        role: "test", "fresh sizes", "benchmark" or "strided".
        result: "right", "wrong", "findings", "host work" or "fails".
        text: why it is not right; "" if it is.
        launches: kernels that a call launched, as the judge's device counts.
        time: modelled time of a call's launches; None if it was not modelled.
    """

    name: str
    role: str
    result: str
    text: str
    launches: int
    time: Quantity | None


@dataclass(frozen=True)
class JudgedSubmission:
    """A submission.

    Attributes:
        name: name of its file or folder.
        result: "right"; "wrong": results differ; "findings": the sanitizer's; "host work": host code computes
            the result, not its kernels; or "fails": an error or a limit.
        text: why it is not right; "" if it is.
        rank: from 1, by modelled time; those inside each other's range share one. None if it is not right.
        time: geometric mean of the benchmarks' modelled times, with its range; None if it is not right.
        cases: by size.
        kernels: kernels that it launched.
        operators: PyTorch's operators that its process called, by its own account.
        findings: the sanitizer's.
        notes: remarks that do not count.
        enclosure: what enclosed its process.
    """

    name: str
    result: str
    text: str
    rank: int | None
    time: Quantity | None
    cases: tuple[JudgedCase, ...]
    kernels: tuple[str, ...]
    operators: dict[str, int]
    findings: tuple[str, ...]
    notes: tuple[str, ...]
    enclosure: str


@dataclass(frozen=True)
class Judged(Answer):
    """Verdicts.

    Attributes:
        problem, form, device: name and form of the problem, and the device of the modelled times.
        passed: True if all submissions are right.
        submissions: the right ones by time, then the others by name.
    """

    problem: str
    form: str
    device: str
    passed: bool
    submissions: tuple[JudgedSubmission, ...]

    def __str__(self) -> str:
        lines = [f"{self.problem} on {self.device}; times are modelled, none was measured"]
        for s in self.submissions:
            if s.rank is not None and s.time is not None:
                low, high = s.time.low, s.time.high
                span = f" (80% range {low:.4g} to {high:.4g})" if low is not None and high is not None else ""
                lines.append(f"{s.rank:4}. {s.name}: right, {s.time.value:.4g} us{span}")
            else:
                lines.append(
                    f"   -  {s.name}: {s.result}: {s.text}" if s.text else f"   -  {s.name}: {s.result}"
                )
            lines += [f"        note: {note}" for note in s.notes]
        lines += sorted({f"enclosed by {s.enclosure}" for s in self.submissions if s.enclosure})
        return "\n".join(lines)


@writing_operation
def judge(
    problem: Annotated[
        str,
        "a folder in GPU MODE's form (task.yml, reference.py), a Python file in KernelBench's (Model, "
        "get_inputs), or a C++ file with its launch and reference",
    ],
    submission: Annotated[str, "a submission's file or folder, or a folder of several"],
    device: Annotated[str, "product whose time is modelled, such as MI300X or MI355X"] = MI300X.name,
    out: Annotated[
        str, "folder for a JSON file a submission and judge.html; a second run continues there"
    ] = "",
    jobs: Annotated[int, "submissions at a time"] = 1,
    seconds: Annotated[float, "processor time of a submission's process, in seconds"] = 400.0,
    memory: Annotated[float, "memory of a submission's process, in GiB"] = 8.0,
    largest: Annotated[float, "GiB of inputs and outputs beyond which a case is left out"] = 1.0,
    sizes: Annotated[str, 'sizes in place of those that a KernelBench file names, such as "N=256,M=64"'] = "",
    cluster: Annotated[
        str, 'Dask workers instead of jobs: "local", a number of processes, or a scheduler\'s address'
    ] = "",
) -> Judged:
    """Judge kernels that others submit: right or wrong, and ranked by modelled time.

    A submission runs in an enclosed process. Its launches are repeated on another device, on inputs that it
    cannot choose, at the problem's sizes and at others, under the sanitizer, and compared with the reference
    in the problem's precision and in float64.
    """
    from workbench.judge.judging import Options
    from workbench.judge.judging import judge as judged
    from workbench.judge.verdicts import ranks
    from workbench.runtime import device as runtime_device
    from workbench.views.judge_page import write_page

    if not runtime_device(device).observes:
        raise UsageError(f"judge: {device} is a GPU; expected an emulated product, such as MI300X")
    of = _problem(problem, sizes)
    options = Options(device, seconds, int(memory * 2**30), largest=int(largest * 2**30))
    if cluster:
        from workbench.bench.command import parsed_cluster
        from workbench.bench.judging import judge_on_cluster

        workers = parsed_cluster(cluster)
        verdicts = judge_on_cluster(of, submission, options, cluster=workers, out=out or None)
    else:
        verdicts = judged(of, submission, options, out=out or None, jobs=jobs)
    places = ranks(verdicts)
    ordered = sorted(verdicts, key=lambda v: (v.time is None, v.time or 0.0, v.submission))
    if out:
        write_page(of.name, device, ordered, places, Path(out) / "judge.html")
    return Judged(
        of.name,
        of.form,
        device,
        all(verdict.is_right for verdict in verdicts),
        tuple(_submission(verdict, places.get(verdict.submission)) for verdict in ordered),
    )


def _problem(path: str, sizes: str) -> Problem:
    from workbench.judge.problems import problem
    from workbench.operations.plain_problem import PlainProblem

    # Processes of a cluster have other working folders.
    path = str(Path(path).absolute())
    if Path(path).suffix in SUFFIXES and Path(path).is_file():
        return PlainProblem(Path(path))
    try:
        numbers = {name.strip(): int(value) for name, value in (p.split("=") for p in sizes.split(",") if p)}
    except ValueError:
        raise UsageError(f'judge: sizes is {sizes!r}; expected such as "N=256,M=64"') from None
    return problem(path, numbers)


def _submission(verdict: Verdict, rank: int | None) -> JudgedSubmission:
    return JudgedSubmission(
        verdict.submission,
        str(verdict.result),
        verdict.text,
        rank,
        _time(verdict),
        tuple(JudgedCase(c.name, c.role, str(c.result), c.text, c.launches, _time(c)) for c in verdict.cases),
        verdict.kernels,
        dict(verdict.operators or {}),
        verdict.findings,
        verdict.notes,
        verdict.enclosure,
    )


def _time(of: Verdict | CaseVerdict) -> Quantity | None:
    return None if of.time is None else Quantity(of.time, "us", MODELLED, of.low, of.high)
