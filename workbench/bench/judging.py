"""Judges submissions on a cluster that Dask schedules: each worker has a judge's processes of its own.

Workers read the problem and the submissions where they lie, so those of other machines need the same folders.
"""

from __future__ import annotations

import atexit
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.bench.engine import Engine, Task
from workbench.judge.enclosure import unreadable
from workbench.judge.judging import (
    Bench,
    Options,
    Processes,
    References,
    VerdictStore,
    submission_digest,
    submissions,
)
from workbench.judge.problems import Problem
from workbench.judge.verdicts import Result, Verdict

_LIMITS = 20
"""Times the limit of a submission's process that its whole judgement may take, with the other processes."""

_benches: dict[tuple[str, Options], Bench] = {}
_lock = threading.Lock()


def judge_on_cluster(
    of: Problem,
    path: str | Path,
    options: Options | None = None,
    *,
    cluster: Any,
    out: str | Path | None = None,
    again: bool = False,
    report: Callable[[str], None] = lambda line: None,
) -> list[Verdict]:
    """Judges submissions as `judge` does, on the workers of a cluster.

    Args:
        of: the problem, whose paths are absolute.
        path: a submission, or a folder of them.
        cluster: "local", a number of worker processes, a scheduler's address, or a cluster of
            `dask.distributed`.
        out: folder for results, which this process writes; those that it has are not judged again.
        again: True to judge those again whose results are there.
        report: gets a line for each submission that is judged.

    Raises:
        UsageError: there is no submission, or `cluster` is none of the above.
        WorkbenchError: Dask is not installed, or no scheduler answers.
    """
    options = options or Options()
    results = VerdictStore(out)
    entries = submissions(Path(path).absolute(), of)
    digests = {submission_digest(of, entry, options): entry for entry in entries}
    verdicts = {digest: None if again else results.find(digest) for digest in digests}
    tasks = [
        Task(digest, (of, entry, digest, options))
        for digest, entry in digests.items()
        if verdicts[digest] is None
    ]
    engine = Engine(cluster, seconds=_LIMITS * options.seconds)
    for outcome in engine.run(judged_by_worker, tasks):
        verdict = outcome.value
        if verdict is None:
            # Not stored: another run may have more luck with its workers.
            verdict = Verdict(digests[outcome.key].name, outcome.key, Result.FAILS, outcome.failure)
        else:
            results.put(verdict)
        verdicts[outcome.key] = verdict
        report(str(verdict))
    return [verdict for verdict in verdicts.values() if verdict is not None]


def judged_by_worker(of: Problem, submission: Path, digest: str, options: Options) -> Verdict:
    """The verdict on a submission, by processes that this one starts with its first and stops at its end."""
    with _lock, unreadable():
        bench = _benches.get((of.digest, options))
        if bench is None:
            scratch = tempfile.TemporaryDirectory(prefix="hipkittens-judge-")
            private = Path(scratch.name) / "references"
            private.mkdir(mode=0o700)
            processes = Processes(Path(scratch.name), options)
            # Last in, first out: processes end before their folder goes.
            atexit.register(scratch.cleanup)
            atexit.register(processes.close)
            bench = Bench(References(of, private, options), Path(scratch.name), options, processes)
            _benches[of.digest, options] = bench
        return bench.judge(submission, digest)


__all__ = ["judge_on_cluster", "judged_by_worker"]
