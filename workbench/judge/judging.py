"""Judges submissions: one after the other or several at a time, and continues where it stopped."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pickle
import secrets
import select
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from workbench import cache
from workbench.audit.examine import tool
from workbench.audit.limits import end, used
from workbench.cache import write_atomically
from workbench.errors import UsageError, WorkbenchError
from workbench.execute.folder import environment, rocm_folder
from workbench.judge.enclosure import unreadable
from workbench.judge.exchange import read, tensors, write
from workbench.judge.problems import Case, Instance, Problem, compared
from workbench.judge.provenance import Provenance, holds_result
from workbench.judge.replays import Replay, Replayed
from workbench.judge.verdicts import CaseVerdict, Result, Verdict, scored
from workbench.runtime import device
from workbench.targets import MI300X

_INTERVAL = 0.25
"""Seconds between two looks at a process that has not answered: each reads those of all processes."""

_LINE = 1 << 20
"""Bytes of the longest answer of a submission's process."""

_SUFFIXES = {"gpumode": (".py",), "kernelbench": (".py",), "plain": (".cpp", ".hip", ".cu", ".cc", ".cxx")}

_SEEDS = 2
"""Calls at each size, on other inputs in the same tensors."""

_MOST_OPERATORS = 5

Report = Callable[[str], None]
T = TypeVar("T")


@dataclass(frozen=True)
class Options:
    """How to judge.

    Attributes:
        device: product or target, such as "MI300X".
        seconds: processor time of a submission's process.
        memory: bytes of memory of a submission's process.
        enclosed: True to enclose it in namespaces, where the system has them.
        largest: bytes of inputs and outputs beyond which a case is left out.
    """

    device: str = MI300X.name
    seconds: float = 400.0
    memory: int = 8 << 30
    enclosed: bool = True
    largest: int = 1 << 30


class _EndedError(Exception):
    """A submission's process ended, or was ended; the message says why."""


class References:
    """Inputs and references of a problem, computed once for all submissions of a run.

    Attributes:
        problem: the problem.
        folder: folder for inputs and results, which submissions must not be able to write.
        cases: the problem's cases, with one draw of fresh sizes.
    """

    def __init__(self, of: Problem, folder: Path, options: Options) -> None:
        self.problem = of
        self.folder = folder
        self._options = options
        # PyTorch's "cuda" is exchanged for the whole process while a problem computes.
        self._lock = threading.RLock()
        self._instances: dict[tuple[int, int], tuple[Instance, Path]] = {}
        self._seeds = [secrets.randbits(31) for _ in range(_SEEDS)]
        self.cases = of.cases

    def instance(self, case: int, call: int) -> tuple[Instance, Path]:
        """Inputs and reference of a call, and a file with the inputs."""
        with self._lock:
            if (case, call) not in self._instances:
                instance = self.problem.instance(self.cases[case], self._seeds[call] ^ (case * 7919))
                file = self.folder / f"case-{case}-{call}"
                write(instance.inputs, file)
                self._instances[case, call] = instance, file
            return self._instances[case, call]

    def locked(self, function: Callable[[], T]) -> T:
        """The function's result, while no other thread runs the problem's code."""
        with self._lock:
            return function()

    def bytes(self, case: int) -> int:
        """Bytes of a case's inputs and outputs."""
        instance, _ = self.instance(case, 0)
        return sum(tensor.nbytes for tensor in (*tensors(instance.inputs), *tensors(instance.expected)))


class Processes:
    """Processes that serve one submission after the other: one that forks for each, and the device's.

    Args:
        folder: folder for their messages.
        options: the device of the first.
    """

    def __init__(self, folder: Path, options: Options) -> None:
        self._folder = folder
        self._options = options
        self._forks: _Child | None = None
        self._device: _Child | None = None

    def fork_server(self) -> _Child:
        """The process that forks, started if it does not run."""
        if self._forks is None or not self._forks.is_alive:
            variables = environment(rocm_folder(), os.environ)
            emulated = device(self._options.device)
            variables["HIPKITTENS_DEVICE"] = emulated.name
            variables.setdefault("PYTORCH_ROCM_ARCH", emulated.arch)
            # A fork has no threads of its parent, and what they hold stays held.
            variables.update(OMP_NUM_THREADS="1", HIPKITTENS_HISTORY="off")
            # Submissions have another home, and read what is compiled already.
            variables["HIPKITTENS_CACHE"] = str(cache.folder())
            self._forks = _Child("submission_process", variables, self._folder / "forks.log")
            self._forks.line()
        return self._forks

    def replayed(self, request: Replay) -> Replayed:
        """The device's answer; one that says so if its process ends."""
        if self._device is None or not self._device.is_alive:
            variables = {**os.environ, "HIPKITTENS_HISTORY": "off"}
            self._device = _Child("device_process", variables, self._folder / "device.log")
        try:
            pickle.dump(request, self._device.requests)
            self._device.requests.flush()
            answer = pickle.load(self._device.answers)
        except (EOFError, OSError):
            self._device.close()
            self._device = None
            return Replayed(error="the device's process ended while it repeated the launches")
        assert isinstance(answer, Replayed)
        return answer

    def close(self) -> None:
        """Ends the processes."""
        for child in (self._forks, self._device):
            if child is not None:
                child.close()
        self._forks = self._device = None


class Bench:
    """Judges one submission to a problem after the other.

    Args:
        references: shared with other benches.
        folder: folder for what processes exchange.
        processes: used by one bench at a time.
    """

    def __init__(self, references: References, folder: Path, options: Options, processes: Processes) -> None:
        self._references = references
        self._folder = folder
        self._options = options
        self._processes = processes

    def judge(self, submission: Path, digest: str = "") -> Verdict:
        """The verdict on a submission."""
        folder = Path(tempfile.mkdtemp(prefix="submission-", dir=self._folder))
        of, forks = self._references.problem, self._processes.fork_server()
        try:
            with _Process(forks, folder, of, submission, self._options) as run:
                trial = _Trial(self._references, run, self._processes.replayed, self._options)
                return trial.verdict(submission, digest)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


class _Child:
    """A process of the judge, which answers on a pipe."""

    def __init__(self, module: str, variables: dict[str, str], log: Path) -> None:
        theirs, ours = os.pipe()
        read_end, write_end = os.pipe()
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"workbench.judge.{module}", str(theirs), str(write_end)],
            pass_fds=(theirs, write_end),
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            start_new_session=True,
        )
        os.close(theirs)
        os.close(write_end)
        self.requests: IO[bytes] = os.fdopen(ours, "wb")
        self.answers: IO[bytes] = os.fdopen(read_end, "rb")

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def line(self) -> dict[str, Any]:
        data = self.answers.readline()
        if not data:
            raise WorkbenchError(
                f"the judge's process ended: {Path(self._log.name).read_text(errors='replace')[-500:]}"
            )
        answer: dict[str, Any] = json.loads(data)
        return answer

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.requests.close()
        self.answers.close()
        end(self._process)
        self._log.close()


class _Process:
    """A submission's process."""

    def __init__(self, forks: _Child, folder: Path, of: Problem, submission: Path, options: Options) -> None:
        self._forks, self.folder, self._options = forks, folder, options
        self.own = folder / "own"
        self.own.mkdir()
        name = _lay_out(of, submission, self.own)
        self._request = {
            "folder": str(folder),
            "form": of.form,
            "file": name,
            "device": options.device,
            "enclosed": options.enclosed,
            "compilation": of.compilation,
        }
        self.enclosure = ""
        self._seconds = 0.0
        self._buffer = b""

    def __enter__(self) -> _Process:
        for name in ("calls", "answers"):
            os.mkfifo(self.folder / name)
        # Opened for both, so that no open waits for the other side.
        self._calls = os.open(self.folder / "calls", os.O_RDWR)
        self._answers = os.open(self.folder / "answers", os.O_RDWR | os.O_NONBLOCK)
        self._forks.requests.write(f"{json.dumps(self._request)}\n".encode())
        self._forks.requests.flush()
        self._group = int(self._forks.line()["process"])
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self._group, 9)
        with contextlib.suppress(OSError):
            os.kill(self._group, 9)
        os.close(self._calls)
        os.close(self._answers)

    def started(self) -> None:
        """Waits until the submission is imported.

        Raises:
            _EndedError: it could not be.
        """
        self.enclosure = str(self._answer()["enclosure"]["text"])
        self._checked(self._answer())

    def ask(self, command: dict[str, Any]) -> None:
        """Has a command done.

        Raises:
            _EndedError: it raised an error, or a limit ended it.
        """
        os.write(self._calls, f"{json.dumps(command)}\n".encode())
        self._checked(self._answer())

    @property
    def seconds(self) -> float:
        """Processor time so far; what was last seen, if it has ended."""
        return used(self._group)[0] or self._seconds

    def _checked(self, answer: dict[str, Any]) -> None:
        if "error" in answer:
            # Its author does not know the judge's temporary folder.
            raise _EndedError(str(answer["error"]).replace(f"{self.own}/", ""))

    def _answer(self) -> dict[str, Any]:
        begin = time.monotonic()
        while True:
            line, newline, rest = self._buffer.partition(b"\n")
            if newline:
                self._buffer = rest
                try:
                    answer = json.loads(line)
                except ValueError:
                    answer = None
                if not isinstance(answer, dict):
                    raise _EndedError("its process wrote to the judge's pipe")
                return answer
            if len(self._buffer) > _LINE:
                raise _EndedError("its process wrote to the judge's pipe")
            if select.select([self._answers], [], [], _INTERVAL)[0]:
                self._buffer += os.read(self._answers, 1 << 16)
                continue
            self._look(time.monotonic() - begin)

    def _look(self, wall: float) -> None:
        self._seconds, resident = used(self._group)
        if self._seconds > self._options.seconds or wall > 3 * self._options.seconds:
            raise _EndedError(f"it was not done after {self._options.seconds:g} s of processor time")
        if resident > self._options.memory:
            raise _EndedError(f"it needs more than {self._options.memory / 2**30:.1f} GiB of memory")
        if not _is_running(self._group):
            raise _EndedError(f"its process ended: {self._log()}")

    def _log(self) -> str:
        with contextlib.suppress(OSError):
            return (self.folder / "log").read_text(errors="replace").strip()[-300:]
        return ""


def _is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


class _Trial:
    """The trial of one submission."""

    def __init__(
        self,
        references: References,
        process: _Process,
        replayed: Callable[[Replay], Replayed],
        options: Options,
    ) -> None:
        self._references, self._process, self._replayed = references, process, replayed
        self._options = options
        self._number = 0
        self._kernels: dict[str, None] = {}
        self._operators: dict[str, int] = {}
        self._findings: tuple[str, ...] = ()
        self._notes: tuple[str, ...] = ()

    def verdict(self, submission: Path, digest: str) -> Verdict:
        name = submission.name
        cases: list[CaseVerdict] = []
        notes: list[str] = []
        result, text = Result.RIGHT, ""
        try:
            self._process.started()
            for index, case in enumerate(self._references.cases):
                if self._references.bytes(index) > self._options.largest:
                    notes.append(f"{case.role} {case.name} was left out: too large")
                    continue
                case_verdict = self._case(index, case)
                if case.role == "strided" and case_verdict.result is not Result.RIGHT:
                    notes.append(f"with strided inputs: {case_verdict.text}")
                    continue
                cases.append(case_verdict)
                if case_verdict.result is not Result.RIGHT:
                    result = case_verdict.result
                    text = f"{' '.join(filter(None, (case.role, case.name)))}: {case_verdict.text}"
                    break
        except _EndedError as error:
            result, text = Result.FAILS, str(error)
        if result is Result.RIGHT and not cases:
            result, text = Result.FAILS, "all cases are too large; raise --largest"
        verdict = Verdict(
            name,
            digest,
            result,
            text,
            tuple(cases),
            kernels=tuple(self._kernels),
            operators=self._operators,
            findings=self._findings,
            notes=(*self._notes, *notes),
            enclosure=self._process.enclosure,
            seconds=round(self._process.seconds, 2),
        )
        return scored(verdict)

    def _case(self, index: int, case: Case) -> CaseVerdict:
        calls: list[int] = []
        for call in range(_SEEDS):
            instance, file = self._references.instance(index, call)
            if call == 0:
                setup = self._process.own / f"setup-{index}"
                write(instance.setup, setup)
                self._process.ask({"begin": setup.name})
            number = self._number
            self._number += 1
            target = self._process.own / f"inputs-{number}"
            for suffix in ("", ".json"):
                shutil.copyfile(file.with_suffix(suffix), target.with_suffix(suffix))
            try:
                self._process.ask({"call": number, "reuse": call > 0})
            except _EndedError as error:
                return CaseVerdict(case.name, case.role, Result.FAILS, str(error))
            calls.append(number)
        verdict = CaseVerdict(case.name, case.role, Result.RIGHT)
        for call, number in enumerate(calls):
            instance, file = self._references.instance(index, call)
            request = Replay(
                number,
                self._process.folder,
                file,
                self._references.folder / f"results-{id(self._process)}",
                self._options.device,
                sanitize=index == 0 and call == 0,
                time=case.role == "benchmark" and call == 0,
                peer=calls[1 - call],
            )
            outcome = self._compared(request, instance, case)
            if outcome.result is not Result.RIGHT:
                return outcome
            if call == 0:
                verdict = outcome
        return verdict

    def _compared(self, request: Replay, instance: Instance, case: Case) -> CaseVerdict:
        answer = self._replayed(request)
        self._kernels.update(dict.fromkeys(answer.launches))
        self._operators.update(answer.operators)
        self._notes = tuple(dict.fromkeys((*self._notes, *answer.notes)))

        def ended(result: Result, text: str = "") -> CaseVerdict:
            time, low, high = answer.time or (None, None, None)
            return CaseVerdict(case.name, case.role, result, text, len(answer.launches), time, low, high)

        if answer.error:
            return ended(Result.FAILS, answer.error)
        if not answer.launches:
            return ended(Result.HOST_WORK, f"it launched no kernel{self._called()}")
        if (source := next((s for s in answer.outputs if s != "launch"), "")) != "":
            origin = "is an input" if source == "input" else "was written by host code"
            right = self._is_right_trusting(request, instance)
            if source == "input" or right:
                return ended(Result.HOST_WORK, f"an output {origin}, not by a launch{self._called()}")
        right, text = self._output(request, instance)
        unknown = [block for block in answer.host if block.provenance is Provenance.HOST]
        if not right and unknown and self._is_right_trusting(request, instance):
            size = max(block.size for block in unknown)
            why = f"the result depends on {size:,} bytes that host code computed{self._called()}"
            return ended(Result.HOST_WORK, why)
        if not right:
            return ended(Result.WRONG, text)
        if self._holds_result(request, answer, instance):
            return ended(Result.HOST_WORK, f"the result was in memory before the launches{self._called()}")
        if answer.findings:
            self._findings = tuple(dict.fromkeys((*self._findings, *answer.findings)))
            return ended(Result.FINDINGS, answer.findings[0])
        return ended(Result.RIGHT)

    def _is_right_trusting(self, request: Replay, instance: Instance) -> bool:
        """Whether the output is right with all that host code left in memory."""
        request = replace(request, trusting=True, sanitize=False, time=False)
        return not self._replayed(request).error and self._output(request, instance)[0]

    def _output(self, request: Replay, instance: Instance) -> tuple[bool, str]:
        """The problem's comparison of the outputs that a replay wrote, and that in float64."""
        try:
            output = read(request.results).value
        except ValueError as error:
            return False, str(error)

        def check() -> tuple[bool, str]:
            right, text = instance.check(output)
            if right and (worse := compared(output, instance)):
                return False, worse
            return right, " ".join(text.split())[:300]

        return self._references.locked(check)

    def _holds_result(self, request: Replay, answer: Replayed, instance: Instance) -> bool:
        permitted = (Provenance.CONSTANT, Provenance.COPY)
        blocks = [block for block in answer.host if block.provenance in permitted and not block.is_after]
        if not blocks or instance.expected is None:
            return False
        content = np.memmap(self._process.own / f"host-{request.number}", np.uint8, "r")
        results, inputs = list(tensors(instance.expected)), list(tensors(instance.inputs))
        return any(
            holds_result(np.array(content[b.place : b.place + b.size]), results, inputs) for b in blocks
        )

    def _called(self) -> str:
        """PyTorch's operators by name, most calls first."""
        names = sorted(self._operators, key=lambda name: -self._operators[name])[:_MOST_OPERATORS]
        return f"; PyTorch's operators that it called: {', '.join(names)}" if names else ""


def _lay_out(of: Problem, submission: Path, folder: Path) -> str:
    """Copies a submission and what it may import; returns the name of its file."""
    for name, data in of.files(submission).items():
        (folder / name).write_bytes(data)
    if submission.is_file():
        name = "submission.py" if of.form != "plain" else submission.name
        shutil.copyfile(submission, folder / name)
        return name
    shutil.copytree(submission, folder, dirs_exist_ok=True)
    return "submission.py"


def submissions(path: Path, of: Problem) -> list[Path]:
    """The submissions in a folder, by name; or a single one.

    Raises:
        UsageError: there are none.
    """
    suffixes = _SUFFIXES[of.form]
    if path.is_file() or (path / "submission.py").is_file():
        return [path]
    entries = sorted(
        entry
        for entry in (path.iterdir() if path.is_dir() else ())
        if (entry.suffix in suffixes and entry.is_file()) or (entry / "submission.py").is_file()
    )
    if not entries:
        raise UsageError(
            f"judge: {path} has no submission; expected a file ({', '.join(suffixes)}), or a folder of such "
            "files or of folders with submission.py"
        )
    return entries


def judge(
    of: Problem,
    path: str | Path,
    options: Options | None = None,
    *,
    out: str | Path | None = None,
    jobs: int = 1,
    again: bool = False,
    report: Report = lambda line: None,
) -> list[Verdict]:
    """Judges a submission, or those of a folder, and continues a run that was stopped.

    Args:
        of: the problem.
        path: a submission, or a folder of them.
        out: folder for results, a JSON file a submission; those that it has are not judged again.
        jobs: submissions at a time.
        again: True to judge those again whose results are there.
        report: gets a line for each submission that is judged.

    Raises:
        UsageError: there is no submission, or `jobs` is not positive.
    """
    options = options or Options()
    entries = submissions(Path(path), of)
    if jobs < 1:
        raise UsageError(f"judge: jobs is {jobs}; expected a positive number of submissions at a time")
    results = VerdictStore(out)
    with tempfile.TemporaryDirectory(prefix="hipkittens-judge-") as scratch, unreadable():
        private = Path(scratch) / "references"
        private.mkdir(mode=0o700)
        references = References(of, private, options)
        local = threading.local()
        started: list[Processes] = []

        def one(submission: Path) -> Verdict:
            digest = submission_digest(of, submission, options)
            if not again and (earlier := results.find(digest)) is not None:
                return earlier
            if not hasattr(local, "bench"):
                folder = Path(tempfile.mkdtemp(prefix="bench-", dir=scratch))
                started.append(Processes(folder, options))
                local.bench = Bench(references, folder, options, started[-1])
            bench: Bench = local.bench
            verdict = bench.judge(submission, digest)
            results.put(verdict)
            report(str(verdict))
            return verdict

        try:
            if jobs == 1:
                return [one(submission) for submission in entries]
            with ThreadPoolExecutor(jobs) as pool:
                try:
                    return list(pool.map(one, entries))
                except BaseException:
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
        finally:
            for processes in started:
                processes.close()


class VerdictStore:
    """Verdicts in a folder, a JSON file a submission.

    Args:
        out: the folder, which is made; None to store nothing.
    """

    def __init__(self, out: str | Path | None) -> None:
        self._folder = Path(out) / "submissions" if out is not None else None
        if self._folder is not None:
            self._folder.mkdir(parents=True, exist_ok=True)

    def find(self, digest: str) -> Verdict | None:
        """The verdict with a digest; None if there is none, or if it is of another version."""
        if self._folder is None:
            return None
        try:
            return Verdict.of_json((self._folder / f"{digest}.json").read_text(encoding="utf-8"))
        except (OSError, KeyError, TypeError, ValueError):
            return None

    def put(self, verdict: Verdict) -> None:
        """Stores a verdict by its digest."""
        if self._folder is not None:
            write_atomically(self._folder / f"{verdict.digest}.json", verdict.to_json().encode())


def submission_digest(of: Problem, submission: Path, options: Options) -> str:
    """Digest of a submission, its problem, how it is judged, and the judge."""
    content = hashlib.sha256(f"{of.digest} {options} {tool()} {submission.name}".encode())
    files = [submission] if submission.is_file() else sorted(f for f in submission.rglob("*") if f.is_file())
    for file in files:
        content.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return content.hexdigest()[:24]


__all__ = [
    "Bench",
    "Options",
    "Processes",
    "References",
    "VerdictStore",
    "judge",
    "submission_digest",
    "submissions",
]
